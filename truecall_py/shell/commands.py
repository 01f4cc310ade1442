"""Reads a shell command (bash, sh) into its simple commands, and says how certain each one was run.

It must never call a command certain that the shell may have skipped, and never guess a word: what it
cannot know is `None`, what it cannot parse at all makes the whole answer `None`. It runs nothing, looks
at nothing outside the text, and takes time in proportion to its length.

How certain a simple command is (`Simple.certain`):
  always    the first command: the shell began with it
  if_ended  a later one of a `;` or newline sequence: run, unless the shell was killed on the way
  if_zero   run if the exit code of the whole command is 0 (`&&` chains, after `set -e`, ...)
  no        anything else: branches, loops, functions, subshells, substitutions, `&`, behind `||`
"""

from __future__ import annotations

from truecall_py.shell.lexer import Simple
from truecall_py.shell.parser import Parser
from truecall_py.shell.tokens import UnsureError
from truecall_py.shell.unwrap import DIRECTORY

__all__ = ["Simple", "changes_directory", "parse_simple_commands"]

LIMIT = 256 * 1024
_INDIRECT = frozenset(("eval", "source", ".", "trap", "alias", "builtin"))

_last: tuple[str, list[Simple] | None] = ("", [])


def parse_simple_commands(command: str) -> list[Simple] | None:
    """Every simple command of the line in the order of their ends, also nested ones; None: not sure."""
    global _last
    if command == _last[0]:  # several contracts ask about the same command
        return _last[1]
    simples: list[Simple] | None = None
    if len(command) <= LIMIT and "\0" not in command:
        try:
            simples = Parser(command).parse()
        except UnsureError:
            simples = None
    _last = (command, simples)
    return simples


def changes_directory(command: str) -> bool:
    """True unless it is certain that the shell stays where it is, also inside subshells and functions."""
    simples = parse_simple_commands(command)
    if simples is None:
        return True
    for simple in simples:
        name = simple.argv[0] if simple.argv else ""
        if name is None or name in DIRECTORY or name in _INDIRECT:
            return True
        if name == "command" and (None in simple.argv or DIRECTORY.intersection(simple.argv)):
            return True
    return False
