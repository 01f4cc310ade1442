"""Past transcripts, read as a stream. Judges nothing, and never passes over a line in silence: what is damaged or not
known is counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from truecall_py import clients
from truecall_py.clients.transcripts import Lines, Made, Said
from truecall_py.core.fast_json import JsonError, loads
from truecall_py.messages.corrections import HEADLINES

LONGEST = 64 << 20  # bytes of a line


def read_events(path: str, lines: Lines) -> Iterator[Made | Said]:
    """What the transcript at `path` tells, in order; `lines` counts along. Raises OSError."""
    reader = None
    with open(path, "rb") as file:
        # Split on \n alone: the records hold raw U+2028.
        while piece := file.readline(LONGEST):
            lines.number += 1
            if len(piece) == LONGEST and not piece.endswith(b"\n"):
                lines.damage(f"longer than {LONGEST >> 20} MB")
                while piece and not piece.endswith(b"\n"):
                    piece = file.readline(LONGEST)
                continue
            plain = decode_line(piece, lines) if piece.strip() else None
            if plain is None:
                continue
            reader = reader or find_reader(plain, lines)
            if reader is None:
                lines.stranger(plain.get("type"))
            else:
                yield from reader.line(plain)
    if reader is not None:
        yield from reader.end()


def decode_line(piece: bytes, lines: Lines) -> dict[str, Any] | None:
    """The object that a line holds; None, and counted, for anything else."""
    try:
        plain = loads(piece.decode("utf-8"), own=True)  # a client's own writing holds no key twice
    except UnicodeDecodeError:
        lines.damage("not UTF-8")
        return None
    except JsonError as why:
        lines.damage(f"not JSON: {why}")
        return None
    if not isinstance(plain, dict):
        lines.damage(f"a {type(plain).__name__} where an object was expected")
        return None
    if not isinstance(plain.get("type", ""), str):
        lines.damage("a type that is no text")
        return None
    return plain


def find_reader(plain: dict[str, Any], lines: Lines) -> Any:
    """A reader for the transcript that holds this line, the client's own; None where the line does not tell."""
    for name in clients.NAMES:
        module = clients.find_part(name, "transcript")
        if module is not None and module.fits(plain):
            lines.harness = name
            return module.Reader(lines, HEADLINES)
    return None
