"""Under which name a call stands in the ledger. A client's id for it is one, but models that number their calls anew
give the same one again: then the later call gets a name of its own, or it would be taken for a second copy of the
earlier one's hook and forgotten. Never gives the copies of one hook different names.
"""

from __future__ import annotations

from truecall_py.ledger.events import name_turn
from truecall_py.ledger.store import ENDED, REFUSED, REQUESTED, fit_column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from truecall_py.core.types import ToolCall
    from truecall_py.ledger.store import Ledger

BEFORE = "PreToolUse"
COPY_WINDOW = 30.0  # seconds within which a second copy of a hook answers for a call that was refused
MAX_ID = 200  # letters of an id that may be a counter
MAX_EVENTS = 60  # events under one id that are looked at
# A range and `+id`, so that it is found by the index of names and not by that of the whole session.
CHAIN_SQL = """SELECT call, event, identity, turn, at FROM events
    WHERE session = ? AND call >= ? AND call < ? AND (call = ? OR call >= ?) AND event IN (?, ?, ?)
    ORDER BY +id DESC LIMIT ?"""


class KnownCall:
    """What the ledger knows of the calls that came under one name."""

    def __init__(self, name: str) -> None:
        self.name, self.identity, self.turn, self.refused = name, "", "", 0.0
        self.over = False

    def take(self, event: str, identity: str, turn: str, at: float) -> None:
        self.identity, self.turn = self.identity or identity, self.turn or turn
        self.over = self.over or event == ENDED
        self.refused = at if event == REFUSED else self.refused


def find_name(ledger: Ledger, call: ToolCall, identity: str, at: float) -> str:
    """The name of `call`; `identity` is its keyed digest, `at` the time now in seconds since the epoch. Raises
    LedgerError."""
    if len(call.call_id) > MAX_ID:
        return call.call_id
    known: dict[str, KnownCall] = {}
    name, low, high = (fit_column(call.call_id + end) for end in ("", "~0", "~:"))
    values = (fit_column(call.session), name, high, name, low, REQUESTED, ENDED, REFUSED, MAX_EVENTS)
    for name, *fields in ledger.query(CHAIN_SQL, values):
        known.setdefault(name, KnownCall(name)).take(*fields)
    mine = (find_before if call.event == BEFORE else find_after)(list(known.values()), call, identity, at)
    if (name := next(mine, "")) or not known:
        return name or call.call_id
    last = max(int(name.rpartition("~")[2]) if name != call.call_id else 1 for name in known)
    return f"{call.call_id}~{last + 1:04}"


def find_before(known: list[KnownCall], call: ToolCall, identity: str, at: float) -> Iterator[Any]:
    """The names under which a call that is about to be made may have been told of already, by another copy of the
    hook. Every copy answers before the call is made."""
    for call_ in known:
        if not call_.over and call_.identity == identity and (not call_.refused or at - call_.refused < COPY_WINDOW):
            yield call_.name


def find_after(known: list[KnownCall], call: ToolCall, identity: str, at: float) -> Iterator[Any]:
    """The names under which a call that has ended may be known: as it was asked for; by another copy of the hook; as
    it was asked for before some other hook changed its arguments."""
    turn = name_turn(call)
    yield from (call_.name for call_ in known if not call_.over and call_.identity == identity)
    yield from (
        call_.name for call_ in known if call_.over and call_.identity == identity and call_.turn in ("", turn)
    )
    yield from (call_.name for call_ in known if not call_.over and call_.turn == turn)
