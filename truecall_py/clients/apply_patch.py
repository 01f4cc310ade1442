"""The files that an apply_patch text names. Reads headers and added lines only; never applies anything."""

from __future__ import annotations

import os

from truecall_py.core.types import File

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ADD, UPDATE, DELETE, MOVE = "*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "
HEADERS = (ADD, UPDATE, DELETE)
ACTIONS = {"add": "write", "update": "edit", "move": "edit", "delete": "delete"}


def classify_patch(changed: tuple[File, ...]) -> frozenset[str]:
    """The kinds of a call that applies a patch."""
    return frozenset(ACTIONS[file.action] for file in changed) or frozenset(("edit",))


def split_sections(patch: str) -> Iterator[tuple[str, str, list[str]]]:
    """(header, path, lines below it) of every file section, in order."""
    header = path = ""
    body: list[str] = []
    for line in patch.split("\n"):
        line = line[:-1] if line.endswith("\r") else line
        # Between two sections Codex trims the line; inside an update a blank is a mark of the diff.
        loose = line.strip() if header != UPDATE and not line.startswith("+") else line
        line = loose if loose.startswith("*** ") else line
        found = next((name for name in HEADERS if line.startswith(name)), "")
        if found or line.startswith("*** End Patch"):
            if header:
                yield header, path, body
            header, path, body = found, line[len(found) :].strip() if found else "", []
        elif header:
            body.append(line)
    if header:
        yield header, path, body


def list_files(patch: str, folder: str | None) -> tuple[File, ...]:
    """Every file that the patch changes, its path made absolute against `folder`. A move gives two: the
    old path as `move`, the new one as `update`."""
    files = []
    for header, path, body in split_sections(patch):
        target = os.path.join(folder, path) if folder else path
        if header == ADD:
            lines = [line[1:] for line in body if line.startswith("+")]
            files.append(File(target, "add", "".join(f"{line}\n" for line in lines)))
        elif header == DELETE:
            files.append(File(target, "delete"))
        else:
            moved = next((line[len(MOVE) :].strip() for line in body if line.startswith(MOVE)), "")
            if moved:
                files.append(File(target, "move"))
                target = os.path.join(folder, moved) if folder else moved
            files.append(File(target, "update"))
    return tuple({file.path: file for file in files}.values())  # of one file, the last section has the say
