"""The matcher `runs`: does a shell command, as parsed by `shell`, certainly run what a pattern describes?

A pattern is words split on blanks, each compared with one word of the command that was run:
  git push *              `*` and `?` are wild inside one word; a last word `*` is any rest, also none
  rm {path}               captures one operand: a word that is no option; after `--` every word is one
  touch {file...}         captures every operand that is left, at least one, each judged by itself
  cp {source...} {target} after it, single words: each source is captured with the one target
  mkdir [-pv] [--parents] {dir...}   these options may stand anywhere, short ones combined in any order
  mkdir [-m=] [--mode=] {dir...}     these take a value, in the same word or the next, which is passed over
  curl [-fsS] [-o={file}] {url}      this one must be there, and its value is captured; so `-` never is
  psql [-c={sql...}] *               this one as often as it is there, each value judged by itself
  mysql [-p=?] [--password=?] *      these may have a value, in the same word only
  git push !--dry-run !-n *          these words must not stand anywhere, `-n` also not within `-nv`
  rm !sudo {path}                    not by way of sudo
  git commit -m "a b"     quotes hold a word together and take the meaning from all the characters above
After the words:
  cp {source} {target} {inside}={target}/{source}   makes a value of captured ones; after a `/` only the last
                          part of a path, and no match where that is no name
  sort * > {file}         the file to which the standard output goes (`>`, `>|`, `&>`); `>> {file}` where it is
                          added to. `* > {file}` is any command, also none. Nothing below /dev and /proc
  cat > {file} << {text}  the text of the here-document that is its input, where nothing in it is expanded
  mkdir {dir} &&          a last `&&`: only where it certainly ended with 0. Without it, it may have failed
A word that the parser does not know is matched by a last `*` only. Leading `VAR=x`, env, sudo, time,
nohup, nice, timeout, command, the folder of the program (unless the pattern names one) and git's global
options are dropped before. The key "directory" in a capture is where the command ran, if that is not
where the shell began (`cd x && ...`, `git -C x ...`).

Every command of a pipe is started, so each one in it may match; how one ended is known of the last alone.

It must never match a command that was not certainly executed, nor (but for a guard, which asks before) one whose
effect a later command of the same line, or one beside it in the same pipe, may have undone or changed: a false match
blocks honest work, a missed one is only silent.
"""

from __future__ import annotations

from truecall_py.shell.commands import parse_simple_commands
from truecall_py.shell.later_effects import Aftermath
from truecall_py.shell.match import capture_redirections, match_words
from truecall_py.shell.pattern import DIRECTORY, Pattern, compile_pattern
from truecall_py.shell.tokens import LOST
from truecall_py.shell.unwrap import Place, base_name, changes_meaning, turns_back, unwrap, unwrap_exec, unwrap_git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.shell.lexer import Simple


def runs(
    pattern: str, command: str, exit_code: int | None, guard: bool = False, anywhere: bool = False
) -> list[dict[str, str]] | None:
    """None: it does not match; else the captures, one dict for each operand (an empty one without any). With `guard`
    it is asked what will be run, and not what will stand of it: what comes afterwards takes nothing back, and what is
    in a subshell, a group or the background, or behind `!` or exec, is run as well. `anywhere`: also where it is not
    known in which folder, since nobody asks."""
    form = compile_pattern(pattern)
    if isinstance(form, str) or exit_code in (126, 127):  # something was not found; which is not known
        return None
    if not _may_match(form, command) or (form.ended and exit_code != 0):
        return None
    simples = parse_simple_commands(command)
    if simples is None or any(changes_meaning(simple) for simple in simples):
        return None
    found: list[dict[str, str]] = []
    later: Aftermath | None = None
    place = Place()
    for index, simple in enumerate(simples):
        told = _was_executed(simple.certain, exit_code) and (simple.decides or not form.ended)
        if told or (guard and simple.plain and simple.risk != LOST and not form.ended):
            directory = place.of(simple)
            captures, argv, directory = _capture_command(form, simple, directory, guard)
            if captures is not None:
                if not guard:
                    later = later or Aftermath(simples)
                since = simple.since if simple.piped else -1
                folder = directory or "" if anywhere else directory
                found += _keep_untouched(form, captures, argv, folder, later, index, since, anywhere)
        place.follow(simple)
    return found or None


def check_pattern(pattern: str) -> str | None:
    """None if the pattern is well formed, else what is wrong with it."""
    form = compile_pattern(pattern)
    return form if isinstance(form, str) else None


def _may_match(form: Pattern, command: str) -> bool:
    """False where the text of a command cannot match, whatever it means."""
    if form.redirected and ">" not in command:
        return False
    return not form.words or form.program in command or any(len(char) > 1 for char in form.words[0][1])


def _capture_command(
    form: Pattern, simple: Simple, directory: str | None, guard: bool
) -> tuple[list[dict[str, str]] | None, list[str | None], str | None]:
    """The captures of one simple command (None: it is another one), its words without those that are dropped, and
    where it ran."""
    argv = unwrap(unwrap_exec(simple.argv) if guard else simple.argv) if simple.argv else []
    if argv is None or (argv and not argv[0]) or (not argv and form.words):
        return None, [], directory
    dropped = simple.argv[: len(simple.argv) - len(argv)]
    if argv and base_name(argv[0] or "") == "git":
        argv, directory = unwrap_git(argv, directory)
    elsewhere = capture_redirections(form, simple)
    if argv is None or elsewhere is None:
        return None, [], directory
    captures = match_words(form, argv, dropped, elsewhere)
    return captures, argv, directory


def _was_executed(certain: str, exit_code: int | None) -> bool:
    """Whether a command of this certainty ran, given the exit code of the whole line (None: unknown)."""
    if certain == "always":
        return True
    if exit_code is None or certain == "no":
        return False
    # From 124 on the shell may have been killed, by a time-out for one, before it came so far.
    return exit_code == 0 if certain == "if_zero" else 0 <= exit_code < 124


def _keep_untouched(
    form: Pattern,
    captures: list[dict[str, str]],
    argv: list[str | None],
    directory: str | None,
    later: Aftermath | None,
    index: int,
    since: int,
    anywhere: bool,
) -> list[dict[str, str]]:
    """Those captures that no other command may have touched (`later` knows them; None: nobody asks), with where they
    are."""
    standing = []
    for capture in captures:
        operands = [value for name, value in capture.items() if name != form.text]
        relative = not operands or any(word[:1] not in ("/", "~") for word in operands)
        if (any(map(turns_back, operands)) and not anywhere) or (directory is None and relative):
            continue
        if later is not None and later.spoils(index, argv, operands, since, form.redirected is not None):
            continue
        standing.append(capture | ({DIRECTORY: directory} if directory else {}))
    return standing
