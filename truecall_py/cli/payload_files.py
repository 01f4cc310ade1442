"""Captured payloads for `verify` and `explain`: found, read, and each given its name. Judges nothing."""

from __future__ import annotations

import os
import sys

from truecall_py.api import announced_of, call_of
from truecall_py.contracts.model import FILE_NAME
from truecall_py.core import paths
from truecall_py.core.errors import PayloadError, UsageError
from truecall_py.trust.pin import source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from truecall_py.core.types import ToolCall
    from truecall_py.trust.store import Source


def found(names: Iterable[str]) -> list[str]:
    """Every payload named: a file is itself, a folder all *.json files below it, `-` standard input.
    Raises UsageError for a name that is not there."""
    every: list[str] = []
    for name in names:
        if name == "-" or os.path.isfile(name):
            every.append(name)
        elif os.path.isdir(name):
            below = [os.path.join(folder, each) for folder, _, files in os.walk(name) for each in files]
            every += sorted(each for each in below if each.endswith(".json"))
        else:
            raise UsageError("there is no such payload", name, "name a file, a folder of *.json files, or -")
    if not every:
        raise UsageError("no payload was found", ", ".join(names), "a folder is searched for *.json files")
    return every


def read(name: str, what: str = "payload") -> bytes:
    """The bytes of one payload, or of `what` else a command takes. Raises UsageError."""
    try:
        if name == "-":
            return sys.stdin.buffer.read()
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"the {what} cannot be read: {error.strerror}", name, "name a file, or -") from None


def call(name: str, harness: str | None) -> ToolCall | None:
    """The call that a payload tells of, or announces. Raises PayloadError that names the file."""
    try:
        data = read(name)
        return call_of(data, harness) or announced_of(data, harness)
    except PayloadError as error:
        do = error.do or "a payload is what a harness writes to a hook's standard input: one JSON object a file"
        raise PayloadError(error.what, error.where or name, do) from None


def sources(given: str | None) -> list[Source]:
    """The contract files that count: the given one, or every truecall.yaml from here upward and the person's
    own. Raises ContractError and UsageError."""
    if given:
        path = os.path.join(given, FILE_NAME) if os.path.isdir(given) else given
        return [source(path)]
    every = []
    folder = os.getcwd()
    while True:
        path = os.path.join(folder, FILE_NAME)
        if os.path.exists(path):
            every.append(source(path))
        if folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    if os.path.exists(paths.user_file()):
        every.append(source(paths.user_file()))
    if not every:
        raise UsageError(
            f"no {FILE_NAME} here or in any folder above",
            os.getcwd(),
            "name a contract file with --contracts PATH; truecall init writes a first one",
        )
    return every
