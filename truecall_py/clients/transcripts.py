"""What a client's module `transcript` makes of the lines of a transcript: the calls that were made, the last messages
of turns, and a count of what could not be read.

A call is what the client's module `hook` makes of the payload that the client would have sent; nobody else reads that
shape.
"""

from __future__ import annotations

from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.core.types import Stop, ToolCall

MANY = 10_000  # calls without an answer that are waited for
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
        self.scripts = 0  # that made calls which the transcript does not hold

    def damage(self, why: str, line: int = 0) -> None:
        self.damaged += 1
        if len(self.places) < TOLD:
            self.places.append((line or self.number, why))

    def stranger(self, kind: object) -> None:
        """Counts a line of a kind that is not known."""
        name = str(kind)[:60]
        name = name if name in self.unknown or len(self.unknown) < 50 else "others"
        self.unknown[name] = self.unknown.get(name, 0) + 1


def join_words(content: Any) -> str:
    """The text that the model read as an answer."""
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else ""
