"""The matcher `runs`: does a shell command, as parsed by `shell`, certainly run what a pattern describes?

A pattern is words split on blanks, each compared with one word of the command that was run:
  git push *              `*` and `?` are wild inside one word; a last word `*` is any rest, also none
  rm {path}               captures one operand: a word that is no option; after `--` every word is one
  touch {file...}         captures every operand that is left, at least one, each judged by itself
  mkdir [-pv] [--parents] {dir...}   these options may stand anywhere, short ones combined in any order
  git push !--dry-run !-n *          these words must not stand anywhere, `-n` also not within `-nv`
  git commit -m "a b"     quotes hold a word together and take the meaning from all the characters above
A word that the parser does not know is matched by a last `*` only. Leading `VAR=x`, env, sudo, time,
nohup, nice, timeout, command, the folder of the program (unless the pattern names one) and git's global
options are dropped before. The key "directory" in a capture is where the command ran, if that is not
where the shell began (`cd x && ...`, `git -C x ...`).

It must never match a command that was not certainly executed, nor one whose effect a later command of
the same line may have undone or changed: a false match blocks honest work, a missed one is only silent.
"""

from __future__ import annotations

from truecall_py.shell import simple_commands
from truecall_py.shell_aftermath import Aftermath
from truecall_py.shell_calls import WRAPPERS, Place, base, git_call, moves_meaning, unwrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_METACHARACTERS = frozenset(";&|<>()$\\`\n")
_RESERVED = "directory"  # set in a capture by us
_PROGRAM = "a pattern begins with the name of a program"


class _Pattern:
    __slots__ = ("folder", "forbidden", "long", "names", "rest", "short", "words")

    def __init__(self) -> None:
        self.words: list[tuple[str, str | list[str]]] = []  # ("word", glob), ("one", name), ("all", name)
        self.short = ""
        self.long: list[str] = []
        self.forbidden: list[str] = []
        self.names: list[str] = []
        self.rest = False
        self.folder = False


def runs(pattern: str, command: str, exit_code: int | None) -> list[dict[str, str]] | None:
    """None: it does not match; else the captures, one dict for each operand (an empty one without any)."""
    form = _compile(pattern)
    if isinstance(form, str) or exit_code in (126, 127):  # something was not found; which is not known
        return None
    program = form.words[0][1]
    if "".join(program) not in command and not any(len(char) > 1 for char in program):
        return None
    simples = simple_commands(command)
    if simples is None or any(moves_meaning(each) for each in simples):
        return None
    found: list[dict[str, str]] = []
    later: Aftermath | None = None
    place = Place()
    for index, simple in enumerate(simples):
        if _executed(simple.certain, exit_code):
            argv = unwrap(simple.argv)
            directory = place.of(simple)
            if argv and argv[0] and base(argv[0]) == "git":
                argv, directory = git_call(argv, directory)
            captures = _match(form, argv) if argv else None
            if captures is not None and argv is not None:
                later = later or Aftermath(simples)
                found += _standing(form, captures, argv, directory, later, index)
        place.follow(simple)
    return found or None


def check_pattern(pattern: str) -> str | None:
    """None if the pattern is well formed, else what is wrong with it."""
    form = _compile(pattern)
    return form if isinstance(form, str) else None


# -- patterns --------------------------------------------------------------------------------------------


def _compile(pattern: str) -> _Pattern | str:
    """The pattern in parts, or what is wrong with it."""
    words = _split(pattern)
    if isinstance(words, str):
        return words
    form = _Pattern()
    for position, (bare, glob) in enumerate(words):
        wrong = _part(form, bare, glob, last=position == len(words) - 1)
        if wrong:
            return wrong
    if not form.words or form.words[0][0] != "word":
        return _PROGRAM
    program = "".join(form.words[0][1])
    if program in WRAPPERS:
        return f"{program} is dropped before matching: begin with the program that it starts"
    form.folder = "/" in program
    return form


def _split(pattern: str) -> list[tuple[str, list[str]]] | str:
    """Words as (text if nothing in it was quoted else "", characters; the wild ones are "**" and "??")."""
    words: list[tuple[str, list[str]]] = []
    glob: list[str] | None = None
    text, quote, quoted = "", "", False
    for char in pattern + " ":
        if quote:
            if char == quote:
                quote = ""
            elif glob is not None:
                glob.append(char)
        elif char in " \t":
            if glob is not None:
                words.append(("" if quoted else text, glob))
            glob, text, quoted = None, "", False
        elif char in _METACHARACTERS:
            return f"{char!r} cannot match outside quotes: a pattern is for the words of one command"
        else:
            glob = [] if glob is None else glob
            if char in "'\"":
                quote, quoted = char, True
            else:
                text += char
                glob.append(char * 2 if char in "*?" else char)
    if quote:
        return f"the quote {quote} is not closed"
    return words or "the pattern is empty"


def _part(form: _Pattern, bare: str, glob: list[str], last: bool) -> str | None:
    """Adds one word to the form; what is wrong with it, if anything."""
    if bare == "*" and last:
        form.rest = True
        if not form.words:
            return _PROGRAM
        return "nothing may follow {name...}" if form.words[-1][0] == "all" else None
    if bare.startswith("!") and len(bare) > 1:
        form.forbidden.append(bare[1:])
        return None
    if bare.startswith("["):
        options = bare[1:-1]
        formed = bare.endswith("]") and len(options) > 1 and options[0] == "-"
        if not formed or options == "--" or "=" in options:
            return f"{bare}: write [-pv] or [--name], or quote it if it is meant as a word"
        if options.startswith("--"):
            form.long.append(options)
        else:
            form.short += options[1:]
        return None
    if form.words and form.words[-1][0] == "all":
        return "nothing may follow {name...}"
    if "{" not in bare and "}" not in bare:
        form.words.append(("word", glob))
        return None
    name = bare[1:-1].removesuffix("...")
    if not bare.startswith("{") or not bare.endswith("}") or "{" in name or "}" in name:
        return f"{bare}: a capture is a whole word, {{name}} or {{name...}}; quote literal braces"
    if not name.isascii() or not name.replace("-", "_").isidentifier():
        return f"{bare}: a name is letters, digits, _ and -, and begins with a letter"
    if name in form.names or name == _RESERVED:
        return f"{bare}: the name is {'reserved' if name == _RESERVED else 'used twice'}"
    form.names.append(name)
    form.words.append(("all" if bare.endswith("...}") else "one", name))
    return None


def _match(form: _Pattern, argv: list[str | None]) -> list[dict[str, str]] | None:
    if _refused(form, argv):
        return None
    at = 0
    ended = False
    captured: dict[str, str] = {}
    many: list[dict[str, str]] = []
    for kind, value in form.words:
        while at < len(argv) and not ended and _optional(form, argv[at]):
            at += 1
        if kind == "word":
            word = argv[at] if at < len(argv) else None
            if at == 0 and word is not None and not form.folder:
                word = base(word)
            if word is None or not _glob(value, word):
                return None
            ended = ended or word == "--"
            at += 1
            continue
        while at < len(argv):
            word = argv[at]
            at += 1
            if not ended and (word == "--" or _optional(form, word)):
                ended = word == "--"
                continue
            if not word or (word.startswith("-") and not ended):
                return None
            if kind == "one":
                captured["".join(value)] = word
                break
            many.append({"".join(value): word})
        if (kind == "one" and "".join(value) not in captured) or (kind == "all" and not many):
            return None
    while at < len(argv) and not ended and _optional(form, argv[at]):
        at += 1
    if at < len(argv) and not form.rest:
        return None
    return [captured | each for each in many] or [captured]


def _optional(form: _Pattern, word: str | None) -> bool:
    if word is None or len(word) < 2 or word[0] != "-":
        return False
    return word in form.long if word.startswith("--") else not word[1:].strip(form.short)


def _refused(form: _Pattern, argv: list[str | None]) -> bool:
    """True for a word that must not be there, or may be, and for a call that only asks for help."""
    if form.forbidden and None in argv:
        return True
    for no in form.forbidden:
        for word in argv[1:]:
            if word is None or word == no:
                return True
            if no.startswith("--") and len(word) > 2 and no.startswith(word.partition("=")[0]):
                return True  # programs take a long option also when it is cut short
            if len(no) == 2 and no[0] == "-" and word[:1] == "-" and word[:2] != "--" and no[1] in word:
                return True
    return "--help" in argv and not any("".join(value) == "--help" for _, value in form.words)


def _glob(glob: Iterable[str], word: str) -> bool:
    parts = list(glob)
    at, part, star, mark = 0, 0, -1, 0
    while at < len(word):
        if part < len(parts) and (parts[part] == "??" or parts[part] == word[at]):
            at, part = at + 1, part + 1
        elif part < len(parts) and parts[part] == "**":
            star, mark = part, at
            part += 1
        elif star >= 0:
            mark += 1
            at, part = mark, star + 1
        else:
            return False
    return all(rest == "**" for rest in parts[part:])


# -- commands --------------------------------------------------------------------------------------------


def _executed(certain: str, exit_code: int | None) -> bool:
    if certain == "always":
        return True
    if exit_code is None or certain == "no":
        return False
    # From 124 on the shell may have been killed, by a time-out for one, before it came so far.
    return exit_code == 0 if certain == "if_zero" else 0 <= exit_code < 124


def _standing(
    form: _Pattern,
    captures: list[dict[str, str]],
    argv: list[str | None],
    directory: str | None,
    later: Aftermath,
    index: int,
) -> list[dict[str, str]]:
    """Those captures that no later command may have touched, with where they are."""
    standing = []
    for capture in captures:
        operands = list(capture.values())
        relative = not operands or any(word[0] not in "/~" for word in operands)
        if (directory is None and relative) or later.spoils(index, argv, operands):
            continue
        standing.append(capture | ({_RESERVED: directory} if directory else {}))
    return standing
