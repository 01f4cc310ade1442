"""What an argv list of a contract runs: the programs and script files it names, and the code inside it."""

from __future__ import annotations

import os

from truecall_py.contracts import template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHELLS = ("sh", "bash", "zsh", "dash", "ksh", "ash", "fish")
# The letters after which an interpreter takes code, and options whose value stands in the next word.
CODE_FLAGS = {
    **dict.fromkeys(SHELLS, "c"), "python": "c", "node": "ep", "bun": "ep", "ruby": "e", "perl": "eE", "php": "r",
}  # fmt: skip
VALUED = ("-o", "+o", "-O", "-W", "-X", "-r", "--rcfile", "--init-file", "--require", "--import")
INTERPRETERS = (*SHELLS, "python", "node", "ruby", "perl", "php", "deno", "bun", "Rscript", "osascript")
# The code stands in the next word or is a module; or the file is only looked at, and is no code of ours.
NO_SCRIPT = ("-m", "-p", "-r", "--eval", "--print", "-n", "-l", "--check", "--syntax-check")


def mark_as_file(name: str) -> str:
    """A file's name, told from a program's: a bare program is looked up on PATH and never in the project."""
    return name if "/" in name or not name else f"./{name}"


def list_programs(argv: list[str]) -> list[str]:
    """argv[0], what `env` starts, and the script after an interpreter."""
    at = 0
    while os.path.basename(argv[at]) == "env" and at + 1 < len(argv):
        at += 1
        while at + 1 < len(argv) and (argv[at].startswith("-") or "=" in argv[at]):
            at += 1
    found = [argv[0], argv[at]]
    if os.path.basename(argv[at]).rstrip("0123456789.") not in INTERPRETERS:
        return found
    for word in argv[at + 1 :]:
        if word in NO_SCRIPT or (word.startswith("-") and not word.startswith("--") and word[-1:] in "ce"):
            break
        if word != "run" and not word.startswith("-"):
            return [*found, mark_as_file(word)]
    return found


def find_script(argv: list[Any]) -> int | None:
    """The place of the code in an argv list that a shell or another interpreter is to run from its command
    line; None where there is none. What starts the interpreter (env, timeout, sudo) does not matter."""
    for start, word in enumerate(argv):
        flags = CODE_FLAGS.get(os.path.basename(word).rstrip("0123456789."))
        at = find_code(argv, start, flags) if flags else None
        if at is not None:
            return at
    return None


def find_code(argv: list[Any], start: int, flags: str) -> int | None:
    at = start + 1
    while at < len(argv) and argv[at].startswith(("-", "+")) and argv[at] != "--":
        word = argv[at]
        if word in ("--eval", "--print") or (word[1:2] not in "-" and any(flag in word[1:] for flag in flags)):
            if template.OPEN in word:
                return at  # -c and its code in one word
            rest = (here for here in range(at + 1, len(argv)) if not argv[here].startswith(("-", "+")))
            return next(rest, None)
        at += 2 if word in VALUED else 1
    return None
