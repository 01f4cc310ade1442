"""One contract more in a contract file that a person wrote: everything that is there stays as it is, to the byte.
Where that cannot be done, nothing is changed and the way out is said."""

from __future__ import annotations

import itertools
import os
import re
import stat as modes
from collections.abc import Sequence
from typing import Any

from truecall_py.contract_files import loader
from truecall_py.contract_files.yaml_reader import Document, parse
from truecall_py.core.atomic_write import write_whole
from truecall_py.core.errors import UsageError

HEADER = ("version: 1", "contracts:")
EMPTY = re.compile(r"(contracts:)([ \t]*)\[[ \t]*\]")
ADD_BY_HAND = "print it without --add, and paste it where it belongs"


def read_existing(path: str) -> bytes | None:
    """The content of a contract file, None where there is none. Raises UsageError, and ContractError for one with
    errors."""
    try:
        data = read_bytes(path)
    except OSError as error:
        what = f"the contract file cannot be read: {error.strerror}"
        raise UsageError(what, path, "check its permissions") from None
    if data is not None:
        loader.load(data, path)
    return data


def list_ids(data: bytes | None) -> set[str]:
    """The ids that are taken in a contract file (its packs' not: a file's own may replace those)."""
    entries = (parse(data).data or {}).get("contracts") if data else None
    return {entry["id"] for entry in entries or ()}


def make_id(name: str, taken: set[str], default: str) -> str:
    """An id made of the letters and digits of a name that is not taken yet; `default` for a name without any."""
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:80] or default
    numbered = (f"{stem}-{number}" for number in itertools.count(2))
    return next(id for id in itertools.chain([stem], numbered) if id not in taken)


def render_file(lines: Sequence[str]) -> str:
    """A contract file of this one contract."""
    return "\n".join([*HEADER, *lines]) + "\n"


def append_contract(data: bytes, lines: Sequence[str], path: str) -> bytes:
    """The content with one contract more, at the end of `contracts`. `lines` are indented by two. Raises UsageError
    where its place cannot be told."""
    text = data.decode("utf-8")
    ending = "\r\n" if "\r\n" in text else "\n"
    old = text.split(ending)
    new = insert_lines(old, list(lines), parse(data))
    contents = ending.join(new or ()).encode("utf-8")
    if new is None or not adds_one_contract(data, contents):
        raise UsageError("there is no place in this file at which a contract can be added safely", path, ADD_BY_HAND)
    return contents


def insert_lines(old: list[str], lines: list[str], document: Document) -> list[str] | None:
    """The lines of the file with the contract in them; None where its place cannot be told."""
    data = document.data
    if "contracts" not in data:
        end = len(old)
        while end and not old[end - 1].strip():
            end -= 1
        return [*old[:end], "contracts:", *lines, ""]
    at = document.place(("contracts",), True)[0] - 1
    if not data["contracts"]:
        opened = EMPTY.sub(r"\1", old[at], count=1)
        return None if opened == old[at] else [*old[:at], opened.rstrip(), *lines, *old[at + 1 :]]
    first = document.place(("contracts", 0))[0] - 1
    while first > at and not old[first].lstrip().startswith("-"):
        first -= 1
    if first <= at:
        return None  # a list in brackets
    indent = len(old[first]) - len(old[first].lstrip())
    end = find_end(old, at, document)
    return [*old[:end], "", *(indent_line(line, indent - 2) for line in lines), *(old[end:] or [""])]


def find_end(old: list[str], at: int, document: Document) -> int:
    """The line behind the last contract: comments at the left edge before what follows belong to that."""
    later = [place[0] - 1 for path, place in document.keys.items() if len(path) == 1 and place[0] - 1 > at]
    end = min(later, default=len(old))
    while end and (not old[end - 1].strip() or old[end - 1].startswith(("#", "..."))):
        end -= 1
    return end


def indent_line(line: str, by: int) -> str:
    return " " * by + line if by >= 0 else line[-by:]


def adds_one_contract(before: bytes, after: bytes) -> bool:
    """Whether the new content loads, and says the same as the old one and one contract more at the end."""
    old, new = parse(before), parse(after)
    if any(problem.severity == "error" for problem in loader.find_problems(after, "")):
        return False
    was: dict[str, Any] = dict(old.data)
    now: dict[str, Any] = dict(new.data)
    return [*was.pop("contracts", [])] == now.pop("contracts")[:-1] and was == now


def write_file(path: str, before: bytes | None, after: bytes) -> None:
    """Writes the file, unless somebody else did since it was read. Raises UsageError."""
    path = os.path.realpath(path)

    def unchanged() -> None:
        if read_bytes(path) != before:
            raise UsageError("the file was changed while this ran; nothing was written", path, "run it again")

    try:
        mode = modes.S_IMODE(os.stat(path).st_mode) if before is not None else 0o644
        write_whole(path, after, mode, unchanged)
    except OSError as error:
        raise UsageError(f"the file cannot be written: {error.strerror}", path, "name another with --add") from None


def read_bytes(path: str) -> bytes | None:
    """The content of a file, None if there is none. Raises OSError."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
