"""Captured payloads for `verify`, `explain` and `record`: finds and reads them. Judges nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator

from truecall_py.api import call_of, parse_announced
from truecall_py.contracts.model import FILE_NAME
from truecall_py.core import paths
from truecall_py.core.errors import PayloadError, UsageError
from truecall_py.core.types import ToolCall
from truecall_py.trust.pin import load_untrusted
from truecall_py.trust.store import Source


def list_files(
    names: Iterable[str], what: str, ending: str, stdin: bool = False, accept: Callable[[str], bool] = bool
) -> list[str]:
    """The files to read: those that are named, `-` if `stdin`, and below each folder all accepted ones with this
    ending. `what` names one in an error. Raises UsageError."""
    files: list[str] = []
    for name in names:
        if os.path.isfile(name) or (stdin and name == "-"):
            files.append(name)
        elif os.path.isdir(name):
            below = [os.path.join(folder, file) for folder, _, found in os.walk(name) for file in found]
            files += sorted(path for path in below if path.endswith(ending) and accept(path))
        else:
            raise UsageError(f"there is no such {what}", name,
                             f"give a file, or a folder of *{ending} files{', or -' if stdin else ''}")  # fmt: skip
    if not files:
        raise UsageError(f"there is no {what} in", ", ".join(names), f"give a folder that has *{ending} files")
    return files


def iterate_upward(folder: str) -> Iterator[str]:
    """The path of every truecall.yaml in this folder and in those above, the nearest first."""
    while True:
        path = os.path.join(folder, FILE_NAME)
        if os.path.exists(path):
            yield path
        if folder == os.path.dirname(folder):
            return
        folder = os.path.dirname(folder)


def read(name: str, what: str = "payload") -> bytes:
    """The bytes of a file, or of standard input for `-`; `what` names it in an error. Raises UsageError."""
    try:
        if name == "-":
            return sys.stdin.buffer.read()
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"cannot read the {what}: {error.strerror}", name, "give a file, or -") from None


def call(name: str, harness: str | None) -> ToolCall | None:
    """The finished or announced call of a payload. Raises PayloadError with the file's name."""
    try:
        data = read(name)
        return call_of(data, harness) or parse_announced(data, harness)
    except PayloadError as error:
        do = error.do or "give what a client writes to a hook's standard input: one JSON object per file"
        raise PayloadError(error.what, error.where or name, do) from None


def find_sources(given: str | None) -> list[Source]:
    """The given contract file, or every truecall.yaml from here upward and the user's own. Raises ContractError and
    UsageError."""
    if given:
        path = os.path.join(given, FILE_NAME) if os.path.isdir(given) else given
        return [load_untrusted(path)]
    files = list(iterate_upward(os.getcwd()))
    if os.path.exists(paths.find_user_file()):
        files.append(paths.find_user_file())
    if not files:
        do = "give one with --contracts PATH, or create one with: truecall init"
        raise UsageError(f"there is no {FILE_NAME} here or in a folder above", os.getcwd(), do)
    return [load_untrusted(path) for path in files]
