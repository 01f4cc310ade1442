"""Captured payloads for `verify`, `explain` and `record`: finds and reads them. Judges nothing."""

from __future__ import annotations

import os
import sys

from truecall_py.api import call_of, parse_announced
from truecall_py.contracts.model import FILE_NAME
from truecall_py.core import paths
from truecall_py.core.errors import PayloadError, UsageError
from truecall_py.trust.pin import load_untrusted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from truecall_py.core.types import ToolCall
    from truecall_py.trust.store import Source


def find_payloads(names: Iterable[str]) -> list[str]:
    """The payloads to read: files and `-` as named, and all *.json files below a folder. Raises UsageError."""
    paths: list[str] = []
    for name in names:
        if name == "-" or os.path.isfile(name):
            paths.append(name)
        elif os.path.isdir(name):
            below = [os.path.join(folder, file) for folder, _, files in os.walk(name) for file in files]
            paths += sorted(path for path in below if path.endswith(".json"))
        else:
            raise UsageError("there is no such payload", name, "give a file, a folder of *.json files, or -")
    if not paths:
        raise UsageError("there is no payload in", ", ".join(names), "give a folder that has *.json files")
    return paths


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
    every = []
    folder = os.getcwd()
    while True:
        path = os.path.join(folder, FILE_NAME)
        if os.path.exists(path):
            every.append(load_untrusted(path))
        if folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    if os.path.exists(paths.find_user_file()):
        every.append(load_untrusted(paths.find_user_file()))
    if not every:
        raise UsageError(
            f"there is no {FILE_NAME} here or in a folder above",
            os.getcwd(),
            "give one with --contracts PATH, or create one with: truecall init",
        )
    return every
