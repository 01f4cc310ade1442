"""What a call left behind, for `record`: files that changed while it ran, and the places in them at which a value of
the call stands again. Looks, bounded, at the session's folder alone; never runs anything of it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from typing import Any

from truecall_py.clients import NAMES, load_registration
from truecall_py.core.errors import UsageError
from truecall_py.core.record import record
from truecall_py.core.types import ToolCall

SKIPPED = (".git", ".hg", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache",
           *(folder for name in NAMES for folder in load_registration(name).scratch))  # fmt: skip
MAX_FILES, MAX_DEPTH, TIME_LIMIT = 20_000, 12, 3.0  # files, levels and seconds of one look around
MAX_BYTES = 4 << 20  # bytes of a file that is searched or compared
SLACK = 2.0  # seconds: clocks of file systems, and a hook that starts a little later
VALUES, LEVELS, SHORTEST, LONGEST = 200, 3, 3, 100_000
PART = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
EDGES = "/._- "


@record(frozen=True)
class Window:
    """When the call ran, in seconds since the epoch; or, with `before`, a copy of its folder from before it."""

    since: float
    until: float
    before: str = ""


@record(frozen=True)
class Change:
    """One file of the session's folder that the call added, changed or removed, by its path in that folder."""

    path: str
    action: str  # changed | removed


def list_values(call: ToolCall) -> list[tuple[str, str]]:
    """(template, text) of every text and number in the arguments, the longest first."""
    found = [(name, text) for name, text in iterate_leaves(call.args, "args", LEVELS) if 0 < len(text) <= LONGEST]
    return sorted(found[:VALUES], key=lambda pair: (-len(pair[1]), len(pair[0])))


def iterate_leaves(value: Any, name: str, levels: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield "{{" + name + "}}", value
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield "{{" + name + "}}", str(value)
    elif isinstance(value, dict) and levels:
        for key, item in value.items():
            if isinstance(key, str) and PART.match(key):
                yield from iterate_leaves(item, f"{name}.{key}", levels - 1)
    elif isinstance(value, list) and levels:
        for number, item in enumerate(value[:20]):
            yield from iterate_leaves(item, f"{name}.{number}", levels - 1)


def replace_values(path: str, known: list[tuple[str, str]]) -> str:
    """A relative path in which each value of the call that stands there as a word is its template."""
    pieces: list[tuple[bool, str]] = [(False, path)]
    for template, value in known:
        value = value.strip("/")
        if not value or "\n" in value or len(value) > 255 or (value.isdigit() and len(value) < 2):
            continue
        parts = ([(done, text)] if done else split_at_value(text, value, template) for done, text in pieces)
        pieces = [piece for part in parts for piece in part]
    return "".join(text for _, text in pieces)


def split_at_value(text: str, value: str, template: str) -> Iterator[tuple[bool, str]]:
    """A text at every place where the value is a word of its own: a short one must be a whole name."""
    edges = EDGES if len(value) > 2 else "/."
    rest = ""
    while True:
        before, found, after = text.partition(value)
        if not found:
            break
        rest += before
        if (not rest or rest[-1] in edges) and (not after or after[0] in edges):
            yield False, rest
            yield True, template
            rest = ""
        else:
            rest += value
        text = after
    yield False, rest + text


def find_hidden_value(path: str, known: list[tuple[str, str]]) -> str:
    """The template of a value that stands in the path in another spelling, which no template can say; or ""."""
    bare = re.sub(r"[^a-z0-9]+", "", path.lower())
    for template, value in known:
        word = re.sub(r"[^a-z0-9]+", "", value.lower())
        if len(word) >= 4 and word in bare and len(value) < 200:
            return template
    return ""


def read_text(path: str) -> str:
    """The text of a file; "" for one that is large, no text, or not to be read."""
    try:
        # One without a size has no text, or is the kernel's, and reading it could wait for ever.
        if not os.path.isfile(path) or not 0 < os.path.getsize(path) <= MAX_BYTES:
            return ""
        return read_bytes(path).decode("utf-8").replace("\r\n", "\n")
    except (OSError, ValueError):
        return ""


def find_held_value(text: str, known: list[tuple[str, str]]) -> str:
    """The template of the longest value that a text holds; "" where it holds none."""
    words = (pair for pair in known if len(pair[1]) >= SHORTEST and not pair[0].endswith("path}}"))
    return next((template for template, value in words if value in text), "")


def find_changes(folder: str, window: Window) -> list[Change]:
    """What changed in a folder while the call ran, sorted. Raises UsageError for a `before` that is none."""
    if window.before:
        return compare_folders(folder, window.before)
    changes = [
        Change(name, "changed")
        for name, about in walk_files(folder)
        if window.since - SLACK <= max(about.st_mtime, 0) <= window.until + SLACK
    ]
    return sorted(changes, key=lambda change: change.path)


def compare_folders(folder: str, before: str) -> list[Change]:
    if not os.path.isdir(before):
        raise UsageError("there is no such folder", before, "--before names a copy of the session's folder")
    now, then = dict(walk_files(folder)), dict(walk_files(before))
    changes = [Change(name, "removed") for name in then if name not in now]
    for name, about in now.items():
        earlier = then.get(name)
        same = (
            earlier is not None
            and earlier.st_size == about.st_size
            and (
                not 0 < about.st_size <= MAX_BYTES
                or read_bytes(os.path.join(folder, name)) == read_bytes(os.path.join(before, name))
            )
        )
        if not same:
            changes.append(Change(name, "changed"))
    return sorted(changes, key=lambda change: change.path)


def find_file_size(path: str) -> int:
    """The size of a file; 0 for one that is gone."""
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def read_bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(MAX_BYTES)
    except OSError:
        return b""


def walk_files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """(path in the folder, what is known of it) of every regular file, as far as one look goes. What disappears
    meanwhile or cannot be read is passed over."""
    ends, count = time.monotonic() + TIME_LIMIT, 0
    pending = [("", 0)]
    while pending:
        inside, depth = pending.pop()
        for entry in scan_folder(os.path.join(folder, inside)):
            count += 1
            if count > MAX_FILES or time.monotonic() > ends:
                return
            name = os.path.join(inside, entry.name)
            try:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED and depth < MAX_DEPTH:
                        pending.append((name, depth + 1))
                elif entry.is_file(follow_symlinks=False):
                    yield name, entry.stat(follow_symlinks=False)
            except OSError:
                continue


def scan_folder(folder: str) -> Iterator[os.DirEntry[str]]:
    """What stands in a folder, as far as it can be read."""
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return
