"""Finds what an argv list of a contract runs: the programs and script files it names, and the code inside it."""

from __future__ import annotations

import os

from truecall_py.contracts import template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHELLS = ("sh", "bash", "zsh", "dash", "ksh", "ash", "fish")
# The options after which an interpreter takes code, and the options whose value is the next word.
CODE_FLAGS = {
    **dict.fromkeys(SHELLS, "c"), "python": "c", "node": "ep", "bun": "ep", "ruby": "e", "perl": "eE", "php": "r",
}  # fmt: skip
VALUED = ("-o", "+o", "-O", "-W", "-X", "-r", "--rcfile", "--init-file", "--require", "--import")
INTERPRETERS = (*SHELLS, "python", "node", "ruby", "perl", "php", "deno", "bun", "Rscript", "osascript")
# After these, the code is the next word or a module, or the file is only checked.
NO_SCRIPT = ("-m", "-p", "-r", "--eval", "--print", "-n", "-l", "--check", "--syntax-check")


def mark_as_file(name: str) -> str:
    """Return a name as that of a file. A bare name would be a program of PATH."""
    return name if "/" in name or not name else f"./{name}"


def list_programs(argv: list[str]) -> list[str]:
    """Return argv[0], the program that `env` starts, and the script after an interpreter."""
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
    """Return the position of inline code in an argv list, None without any. Wrappers such as env, timeout and sudo do
    not matter."""
    for start, word in enumerate(argv):
        flags = CODE_FLAGS.get(os.path.basename(word).rstrip("0123456789."))
        at = find_code(argv, start, flags) if flags else None
        if at is not None:
            return at
    return None


def find_code(argv: list[Any], start: int, flags: str) -> int | None:
    """Return the position of inline code after an interpreter at `start`, None without any."""
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
