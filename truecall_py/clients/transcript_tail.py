"""The end of a client's transcript, which may be large: read backwards, line by line, and bounded."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from truecall_py.world.world import World

TAIL = 32 * 1024 * 1024  # bytes from the end of the transcript that are looked through
PIECE = 256 * 1024


def open_transcript(path: str | None) -> int:
    """The descriptor of a transcript, -1 for none that can be opened."""
    try:
        return os.open(path or "", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return -1


def read_backwards(path: str | None, world: World) -> Iterator[bytes]:
    """The lines of a transcript from its end, at most TAIL bytes of them; none where it cannot be opened. Raises
    OSError, Unverified."""
    descriptor = open_transcript(path)
    if descriptor < 0:
        return
    try:
        end = os.fstat(descriptor).st_size
        floor = max(0, end - TAIL)
        rest = b""
        while end > floor:
            start = max(floor, end - PIECE)
            os.lseek(descriptor, start, os.SEEK_SET)
            piece = os.read(descriptor, end - start) + rest
            end = start
            # Lines are split on \n only: the records hold raw U+2028. The first may begin before this piece.
            lines = piece.split(b"\n")
            rest = lines.pop(0) if start > floor else b""
            yield from reversed(lines)
            world.remaining()
    finally:
        os.close(descriptor)
