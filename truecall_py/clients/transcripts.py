"""What past transcripts tell, read as a stream: the calls that were made, and the last messages of turns. One module
for each client. Judges nothing, and never passes over a line in silence: what is damaged or not known is counted.

A call is what the harness module makes of the payload that the client would have sent to a hook; nobody else reads
that shape.
"""

from __future__ import annotations

from truecall_py.core.fast_json import Refused, loads
from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from truecall_py.clients.claude_code import transcript
    from truecall_py.clients.codex import transcript as codex
    from truecall_py.core.types import Stop, ToolCall

    Reader = transcript.Reader | codex.Reader

LONGEST = 64 << 20  # bytes of a line
TOLD = 5  # places that are named of each kind of trouble
NO_ANSWER = "the transcript holds no answer to it"
REPLACED = "its answer was replaced by a correction of truecall's, and the tool's own words are lost"


@record(frozen=True)
class Made:
    """A call that was made. `line` is that of its answer, or of the call where it has none; `trouble` says why its
    answer cannot be judged ("": it can)."""

    line: int
    call: ToolCall
    trouble: str = ""


@record(frozen=True)
class Said:
    """The last message of a turn. `whole` says whether every call that may stand behind it is known."""

    line: int
    stop: Stop
    whole: bool = True


class Lines:
    """What came of the lines of one transcript: how many there were, and what could not be read."""

    def __init__(self) -> None:
        self.number = 0
        self.harness = ""  # whose transcript it is; "" while nobody knows
        self.damaged = 0
        self.places: list[tuple[int, str]] = []
        self.unknown: dict[str, int] = {}
        self.scripts = 0  # of Codex' code mode, with calls that the rollout does not hold

    def damage(self, why: str, line: int = 0) -> None:
        self.damaged += 1
        if len(self.places) < TOLD:
            self.places.append((line or self.number, why))

    def stranger(self, kind: object) -> None:
        """Counts a line of a kind that is not known."""
        name = str(kind)[:60]
        name = name if name in self.unknown or len(self.unknown) < 50 else "others"
        self.unknown[name] = self.unknown.get(name, 0) + 1


def told(path: str, lines: Lines) -> Iterator[Made | Said]:
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
            plain = decoded(piece, lines) if piece.strip() else None
            if plain is None:
                continue
            reader = reader or recognised(plain, lines)
            if reader is None:
                lines.stranger(plain.get("type"))
            else:
                yield from reader.line(plain)
    if reader is not None:
        yield from reader.end()


def decoded(piece: bytes, lines: Lines) -> dict[str, Any] | None:
    """The object that a line holds; None, and counted, for anything else."""
    try:
        plain = loads(piece.decode("utf-8"), own=True)  # a client's own writing holds no key twice
    except UnicodeDecodeError:
        lines.damage("not UTF-8")
        return None
    except Refused as why:
        lines.damage(f"not JSON: {why}")
        return None
    if not isinstance(plain, dict):
        lines.damage(f"a {type(plain).__name__} where an object was expected")
        return None
    if not isinstance(plain.get("type", ""), str):
        lines.damage("a type that is no text")
        return None
    return plain


def recognised(plain: dict[str, Any], lines: Lines) -> Reader | None:
    """Who reads the transcript that holds this line; None where the line does not tell."""
    from truecall_py.clients.claude_code import transcript
    from truecall_py.clients.codex import transcript as codex

    for module in (codex, transcript):
        if module.fits(plain):
            lines.harness = module.NAME
            found: Reader = module.Reader(lines)
            return found
    return None
