"""The end of a client's transcript, which may be large: read backwards, line by line, and bounded."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from truecall_py.world.world import World

TAIL = 32 * 1024 * 1024  # bytes from the end of the transcript that are looked through
PIECE = 256 * 1024


def read_backwards(descriptor: int, world: World) -> Iterator[bytes]:
    """The lines of a transcript from its end, at most TAIL bytes of them. Raises OSError, Unverified."""
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
