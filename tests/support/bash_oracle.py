r"""Runs a command line in real bash and tells which simple commands really started, with their words and statuses.

Goes in: a record of `tests/data/shell_lines.yaml`: `line`, and, where needed, `setup` (bash that prepares the folder),
`fails` (calls of stand-in programs that end with 1: "make" or "make test"), `exit` (the same with another code),
`varies` (what is printed differs from run to run), `broken` (bash cannot read the line), `note`.
Comes out: a `Trace`: the exit code of the line, and every simple command that started, in the order of the starts.

How it sees them. Nothing here reads the line as shell text.
  programs      a wrapper stands in PATH before every program whose name occurs in the line. It logs the words, runs the
                real program or the stand-in, and logs the status. A path with a slash (`./build.sh`) gets a function of
                that name, which calls the same wrapper.
  built-ins     functions of their names log, and call the built-in (`cd`, `echo`, `[`, `exit`, `eval`, ...).
  the rest      what a function cannot stand in for (`export`, `set`, `return`, `exec`, ...) and the functions of the
                line are taken from bash's own trace (`set -x`); the status from the DEBUG trap of the next command.
  `bash -c`     and `sh -c` get the same; timeout, env, nice, nohup, sudo, xargs and find hand on what they run.

What it cannot see, or tells in its own way:
  - Assignments alone, `[[ ]]`, `(( ))`, `for` and `case` are no simple commands: they are not in the trace.
  - A command whose redirection fails did not start; a program that does not exist did, with status 127.
  - Commands of a pipe, and of the background, stand in the order in which they happened to start. One that is
    killed at once may be missing.
  - A runner is there twice: `timeout 5 make` and `make`; so are `bash -c "make"`, `eval`, `exec`, `command` and sudo.
  - The inside of scripts, hooks and Makefiles is no part of the line and not in the trace; that of a script that is
    sourced is, since the shell itself runs it. Of a script that a shell reads from its input, only programs are seen.
  - The status is None where a command had no end (killed, replaced by `exec` in a subshell, `eval` left by `set -e`)
    and, for `export`, `set`, ... and functions of the line, before and at the end of a subshell, at the end of a pipe,
    of a line with `if` or `while`, and in any line with `!`.
  - A function of the line that has the name of a program or built-in, or that is unset and then called, may be missing.
  - A `trap` without words prints the tracer's own trap, and `type cd` a function: no line may print these.
  - A program in a folder that the line itself puts in front of PATH, one called by path behind a runner, built-ins
    behind `builtin`, and everything after `set +x` of that third kind are not seen.
  - `sh` is bash, with and without the tracer: other shells give no trace. A text printed to stderr may differ.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

LINES = Path(__file__).parent.parent / "data" / "shell_lines.yaml"
KEYS = {"line", "setup", "fails", "exit", "varies", "broken", "note"}
Record = Mapping[str, Any]


def _find_bash() -> str:
    """The path of a bash that can trace into a file of its own (4.4 and later); "" if there is none."""
    bash = shutil.which("bash") or ""
    asked = [bash, "--norc", "-c", "echo $((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1]))"]
    return bash if bash and int(subprocess.run(asked, capture_output=True, check=True).stdout) >= 404 else ""


BASH = _find_bash()

# Programs that exist nowhere or need a network: they print their own words and end with 0, or as the record says.
STUBS = frozenset((
    "pytest", "tox", "ruff", "mypy", "black", "isort", "flake8", "uv", "poetry", "pip", "pip3", "pre-commit",
    "alembic", "uvicorn", "django-admin", "npm", "npx", "yarn", "pnpm", "bun", "node", "tsc", "eslint",
    "prettier", "jest", "vitest", "vite", "playwright", "next", "make", "cmake", "ninja", "gcc", "cargo",
    "rustc", "go", "gofmt", "golangci-lint", "gradle", "mvn", "java", "dotnet", "docker", "docker-compose",
    "kubectl", "helm", "terraform", "aws", "gcloud", "gh", "ssh", "scp", "rsync", "curl", "wget", "psql",
    "mysql", "redis-cli", "sqlite3", "systemctl", "bundle", "rails", "rspec", "php", "composer", "phpunit",
    "jq", "rg", "deploy",
))  # fmt: skip
# These run what their words say, so what they start is part of the line.
RUNNERS = frozenset(("timeout", "env", "nice", "nohup", "sudo", "xargs", "find", "setsid", "stdbuf"))
# Built-ins that run no text of the line, as functions.
LEAVES = (
    "cd", "pushd", "popd", "dirs", "pwd", "echo", "printf", "test", "[", "true", "false", ":", "read",
    "mapfile", "readarray", "kill", "wait", "umask", "unset", "type", "hash", "shopt", "trap", "jobs", "disown",
    "command", "let", "alias", "unalias", "times", "ulimit",
)  # fmt: skip
FUNCTIONS = frozenset((*LEAVES, "exit", "eval", "source", "."))

_PATH = re.compile(r"(?:\.{0,2}/)?[\w.@+-]+(?:/[\w.@+-]+)+|\.{0,2}/[\w.@+-]+")
_NAME = re.compile(r"[\w\[][\w.+-]*|\[")
_LIMIT = 20.0


@dataclass
class Traced:
    """A simple command that started: its words after all expansions, and its own exit status; None: not known."""

    words: list[str]
    status: int | None


@dataclass
class Trace:
    """What came of a line: its exit code, its simple commands, what it printed, and the files it left (by path)."""

    exit_code: int
    commands: list[Traced]
    stdout: str
    files: dict[str, str]

    def find(self, *words: str) -> list[Traced]:
        """The commands that start with these words."""
        return [each for each in self.commands if each.words[: len(words)] == list(words)]


def load_lines() -> list[dict[str, Any]]:
    """All records of the table."""
    records: list[dict[str, Any]] = yaml.load(LINES.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for record in records:
        assert not set(record) - KEYS, f"unknown keys: {record}"
    return records


def run_line(record: Record, root: Path) -> Trace:
    """Run the record under the tracer, in a new folder `root`."""
    return _Run(record, root, traced=True).run()


def run_plain(record: Record, root: Path) -> Trace:
    """Run the record without the tracer; the trace has no commands then."""
    return _Run(record, root, traced=False).run()


class _Run:
    """One run of one record: `root` holds the programs, the home and the working folder."""

    def __init__(self, record: Record, root: Path, traced: bool) -> None:
        self.record, self.traced = record, traced
        self.root = Path(os.path.realpath(root))
        self.work, self.home, self.plain = self.root / "work", self.root / "home", self.root / "plain"
        self.wrapped, self.log, self.prologue = self.root / "traced", self.root / "log", self.root / "prologue"
        self.line: str = record["line"]
        for folder in (self.work, self.home, self.plain, self.wrapped):
            folder.mkdir(parents=True)
        self.log.touch()
        self.paths = sorted({*_PATH.findall(self.line)})

    def run(self) -> Trace:
        """Prepare the folder, run the line, read the log."""
        self.add_programs()
        if self.record.get("setup"):
            code, out, err = self.start("set -e\n" + self.record["setup"], self.plain)
            assert code == 0, f"the setup failed: {code}\n{out}\n{err}"
        if not self.traced:
            code, out, _ = self.start(self.line, self.plain)
            return Trace(code, [], self.normal(out), self.read_files())
        self.add_tracer()
        code, out, _ = self.start(f". '{self.prologue}'\n{self.line}", self.wrapped)
        log = self.log.read_bytes().decode("utf-8", "surrogateescape")
        return Trace(code, read_log(log, {*self.names, *self.paths}, self.line, code), self.normal(out), self.read_files())

    def add_programs(self) -> None:
        """Link every program that the line or its setup names, stand-ins among them, into `plain`."""
        text = f"{self.line}\n{self.record.get('setup', '')}".replace("\\n", " ")
        found = set(_NAME.findall(text)) | {"bash", "sh"}
        scripts = {"sudo": _SUDO, "sh": f'#!/bin/sh\nexec {BASH} "$@"\n'}
        python = f'#!/bin/sh\n[ "$1" = -m ] && [ "$2" != json.tool ] && exec "{self.plain}/.stub" "${{0##*/}}" "$@"\nexec {_python()} "$@"\n'
        stub = self.plain / ".stub"
        codes = {**dict.fromkeys(self.record.get("fails", ()), 1), **self.record.get("exit", {})}
        cases = "".join(f"'{call}'|'{call} '*) code={code};;\n" for call, code in codes.items())
        _write_program(stub, _STUB.replace("CASES", cases))
        self.names = set()
        for name in sorted(found):
            target = self.plain / name
            if name in scripts:
                _write_program(target, scripts[name])
            elif name in ("python", "python3"):
                _write_program(target, python)
            elif name in STUBS:
                _write_program(target, f'#!/bin/sh\nexec "{stub}" {name} "$@"\n')
            elif real := shutil.which(name, path=os.defpath + ":/usr/local/bin"):
                target.symlink_to(real)
            else:
                continue
            self.names.add(name)

    def add_tracer(self) -> None:
        """Write the wrappers and what a traced shell reads first."""
        wrapper = self.wrapped / ".wrapper"
        _write_program(wrapper, self.fill(_WRAPPER))
        for name in self.names:
            (self.wrapped / name).symlink_to(wrapper)
        leaves = "".join(
            f'{name}() {{ local __tc_id; __tc_begin {name} "$@"; if builtin {name} "$@"; then __tc_done 0; else __tc_done $?; fi; }}\n'
            for name in LEAVES
        )
        paths = "".join(f"function {path} {{ '{wrapper}' '{path}' \"$@\"; }}\n" for path in self.paths)
        self.prologue.write_text(self.fill(_PROLOGUE).replace("LEAVES", leaves).replace("PATHS", paths))

    def fill(self, text: str) -> str:
        """The text of a script with the folders of this run in it."""
        text = text.replace("<LOG>", str(self.log)).replace("<PLAIN>", str(self.plain))
        return text.replace("<TRACED>", str(self.wrapped)).replace("<PROLOGUE>", str(self.prologue)).replace("<BASH>", BASH)

    def start(self, line: str, programs: Path) -> tuple[int, str, str]:
        """Run a line with these programs in front; its exit code and output, once all that it started has ended."""
        path = f"{programs}:{os.defpath}"
        (self.home / ".bash_profile").write_text(f"PATH='{path}'\n")
        env = {"PATH": path, "HOME": str(self.home), "LC_ALL": "C", "TERM": "dumb", "TMPDIR": str(self.home)}
        env.update({"GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"})
        for who in ("AUTHOR", "COMMITTER"):
            env.update({f"GIT_{who}_NAME": "a", f"GIT_{who}_EMAIL": "a@b.c", f"GIT_{who}_DATE": "2024-01-01T00:00:00Z"})
        ended, low = os.pipe()
        held = fcntl.fcntl(low, fcntl.F_DUPFD, 100)  # every process that the line starts holds it
        os.close(low)
        try:
            with subprocess.Popen(
                [BASH, "--norc", "-c", line], cwd=self.work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True, pass_fds=(held,),
            ) as process:  # fmt: skip
                os.close(held)
                quiet: list[Any] = []
                try:
                    out, err = process.communicate(timeout=_LIMIT)
                    quiet = select.select([ended], [], [], _LIMIT)[0]
                finally:
                    if not quiet:
                        _end_group(process.pid)
        finally:
            os.close(ended)
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        return code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def read_files(self) -> dict[str, str]:
        """Every file below the working folder and its text; of a repository only what its names point to."""
        found = {}
        for folder, _, names in os.walk(self.work):
            place = Path(folder).relative_to(self.work)
            found[f"{place}/"] = ""
            if ".git" in place.parts and "refs" not in place.parts:
                continue
            for name in names:
                file = Path(folder) / name
                found[str(place / name)] = self.normal(file.read_bytes().decode("utf-8", "replace")) if file.is_file() else ""
        return {name: text for name, text in found.items() if "/objects" not in name}

    def normal(self, text: str) -> str:
        """Text without the folders of this run."""
        return text.replace(str(self.wrapped), "PROGRAMS").replace(str(self.plain), "PROGRAMS").replace(str(self.root), "ROOT")


def read_log(log: str, logged: set[str], line: str, code: int) -> list[Traced]:
    """The commands that a log tells of; `logged` are the names that log themselves, `code` is how the line ended."""
    hidden = re.search(r"(?<![^\s;&|()])!\s", line)  # `! f`: what the next command sees is not the status of f
    last = not re.search(r"\b(if|elif|while|until)\b", line)  # else the exit code may not be that of the last command
    commands: list[Traced] = []
    open_: dict[str, Traced] = {}
    waiting: list[tuple[str, int, Traced]] = []  # process and depth of commands whose status shows later
    main = ""
    entries = [entry for entry in log.split("\x1e") if entry]
    missing = {entry.split("\x1f")[1] for entry in entries if entry.startswith("S n")}
    for entry in entries:
        head, _, rest = entry.partition("\x1f")
        kind, who, *more = head.split(" ")
        if kind == "P":
            main = main or who
        elif kind == "S":
            open_[who] = Traced(rest.split("\x1f")[:-1], None)
            commands.append(open_[who])
        elif kind == "E" and who in open_:
            open_.pop(who).status = int(more[0])
        elif kind == "D":
            for item in [item for item in waiting if item[0] == who and item[1] >= int(more[1] or 0)]:
                item[2].status = None if hidden else int(more[0])
                waiting.remove(item)
        elif kind == "X":
            # A subshell began since: what comes later is no word about the commands before it.
            waiting = [item for item in waiting if item[0] == who or item[1] < int(more[0] or 0)]
            words = split_trace(rest)
            if words and not _is_own(words, more[1]) and words[0] not in {*logged, *FUNCTIONS, *missing}:
                commands.append(Traced(words, None))
                waiting.append((who, int(more[0] or 0), commands[-1]))
    for who, _, traced in waiting:
        traced.status = code if who == main and last and not hidden else None
    return commands


def _is_own(words: list[str], function: str) -> bool:
    """Whether a line of bash's trace is no simple command, or one of the tracer itself."""
    if function.startswith(("__tc", "command_not_found")) or words[0].startswith("__tc"):
        return True
    if words[0] == "builtin" and words[1:2] in (["printf"], [":"]):
        return True
    if function in ("eval", "source", ".") and words[0] in ("local", "builtin"):
        return True
    if function in FUNCTIONS - {"eval", "source", "."} or "/" in function:
        return True
    if re.match(r"[A-Za-z_]\w*(\[.*\])?\+?=", words[0]):
        return True
    return words[0] in ("[[", "((", "for", "case", "select") or words[0].startswith("((")


def split_trace(text: str) -> list[str]:
    """The words of a line that `set -x` printed."""
    words: list[str] = []
    word: str | None = None
    at = 0
    text = text[:-1] if text.endswith("\n") else text
    while at < len(text):
        char = text[at]
        if char == "'":
            end = text.find("'", at + 1)
            end = len(text) if end < 0 else end
            word, at = (word or "") + text[at + 1 : end], end + 1
        elif text.startswith("$'", at):
            end = at + 2
            while end < len(text) and text[end] != "'":
                end += 2 if text[end] == "\\" else 1
            raw = text[at + 2 : end].replace("\\'", "'").replace('"', '\\"')
            word, at = (word or "") + raw.encode("latin-1", "backslashreplace").decode("unicode_escape"), end + 1
        elif char == "\\":
            word, at = (word or "") + text[at + 1 : at + 2], at + 2
        elif char == " ":
            if word is not None:
                words.append(word)
            word, at = None, at + 1
        else:
            word, at = (word or "") + char, at + 1
    return words if word is None else [*words, word]


def _python() -> str:
    """A Python without the environment that runs the tests."""
    return os.path.realpath(sys.executable) + " -I"


def _write_program(path: Path, text: str) -> None:
    """Write an executable file."""
    path.write_text(text)
    path.chmod(0o755)


def _end_group(group: int) -> None:
    """End what a line left running."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing is left
        os.killpg(group, signal.SIGKILL)


_SUDO = """#!/bin/sh
while :; do
  case "$1" in
    -u) shift 2;;
    -*) shift;;
    *) break;;
  esac
done
exec "$@"
"""

_STUB = """#!/bin/sh
code=0
case "$*" in
CASES
esac
echo "$*"
case "$1:$code" in
  pytest:0) echo "3 passed in 0.01s";;
  pytest:*) echo "1 failed, 2 passed in 0.01s";;
esac
[ "$code" = 0 ] || echo "$1: error" >&2
exit "$code"
"""

# Runs in place of every program. It hands on signals, since `kill %1` and timeout reach only the wrapper.
_WRAPPER = """#!/bin/sh
name=${0##*/} real=<PLAIN>/${0##*/} keep=
if [ "$name" = .wrapper ]; then name=$1 real=$1; shift; fi
printf '%s\x1f' "\x1eS w$$" "$name" "$@" >>'<LOG>'
case $name in
  timeout|env|nice|nohup|sudo|xargs|find|setsid|stdbuf) keep=1;;
  bash|sh)
    keep=1 seen= last= over= count=$#
    while [ "$count" -gt 0 ]; do
      word=$1; shift; count=$((count - 1))
      if [ -z "$over" ]; then
        case $word in
          --*) ;;
          -*c*) seen=1;;
          -s) over=1;;
          -*|+*) ;;
          *)
            if [ "$seen" ]; then
              over=1 word=". '<PROLOGUE>'
$word"
            else
              case $last in [-+]*o) ;; *) over=1 keep=;; esac
            fi;;
        esac
      fi
      last=$word
      set -- "$@" "$word"
    done;;
esac
if [ -z "$keep" ]; then
  case $PATH in *'<TRACED>'*) PATH=${PATH%%'<TRACED>'*}'<PLAIN>'${PATH#*'<TRACED>'};; esac
fi
exec 9<&0
child= signal=
for each in TERM HUP INT USR1; do trap "signal=$each; [ -z \\"\\$child\\" ] || kill -$each \\$child 2>/dev/null" $each; done
"$real" "$@" <&9 9<&- &
child=$!
[ -z "$signal" ] || kill -$signal "$child"
wait "$child"
status=$?
while kill -0 "$child" 2>/dev/null; do wait "$child"; status=$?; done
printf '%s\x1f' "\x1eE w$$ $status" >>'<LOG>'
exit "$status"
"""

# The marks of the log stand only in formats, escaped, so that bash's own trace of these lines does not hold them.
_PROLOGUE = r"""exec {__tc_fd}>>'<LOG>'
__tc_n=0
__tc_log() {
  local __tc_format="\036$1" __tc_word
  shift
  for __tc_word; do __tc_format+='\037%s'; done
  builtin printf "$__tc_format\037" "$@" >&"$__tc_fd"
}
__tc_begin() { __tc_id=b$BASHPID.$((__tc_n += 1)); __tc_log "S $__tc_id" "$@"; }
__tc_done() { builtin printf '\036E %s %s\037' "$__tc_id" "$1" >&"$__tc_fd"; return "$1"; }
__tc_set() { return "$1"; }
LEAVES
eval() { local __tc_old=$? __tc_id; __tc_begin eval "$@"; __tc_set "$__tc_old" || builtin :; builtin eval "$@"; __tc_done "$?"; }
source() { local __tc_id; __tc_begin source "$@"; builtin source "$@"; __tc_done "$?"; }
.() { local __tc_id; __tc_begin . "$@"; builtin . "$@"; __tc_done "$?"; }
exit() { local __tc_old=$? __tc_id; __tc_begin exit "$@"; __tc_done "${1-$__tc_old}" || builtin :; builtin exit "${1-$__tc_old}"; }
command_not_found_handle() {
  __tc_log "S n$BASHPID" "$@"
  builtin printf '\036E %s 127\037' "n$BASHPID" >&"$__tc_fd"
  builtin echo "bash: $1: command not found" >&2
  return 127
}
PATHS
builtin printf '\036P %s\037' "$BASHPID" >&"$__tc_fd"
PS4=$'\x1eX $BASHPID ${FUNCNAME[0]+${#FUNCNAME[@]}} ${FUNCNAME[0]-}\x1f'
BASH_XTRACEFD=$__tc_fd
builtin set -T
builtin trap '__tc_last=$_ __tc_code=$?
builtin printf "\036D %s %s %s\037" "$BASHPID" "$__tc_code" "${FUNCNAME[0]+${#FUNCNAME[@]}}" >&"$__tc_fd"
builtin : "$__tc_last"' DEBUG
builtin set -x
"""
