"""Chooses the name of a call in the ledger. A client's id usually serves; but a model that restarts its numbering
reuses ids. Then the later call gets its own name, so that it is not taken for a second copy of the earlier one's
hook. All copies of one hook choose the same name."""

from __future__ import annotations

from truecall_py.ledger.events import name_turn
from truecall_py.ledger.store import ENDED, REFUSED, REQUESTED, Ledger, fit_column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from truecall_py.core.types import ToolCall

BEFORE = "PreToolUse"
COPY_WINDOW = 30.0  # seconds within which a second copy of a hook answers for a call that was refused
MAX_ID = 200  # letters of an id that may be a counter
MAX_EVENTS = 60  # events under one id that are looked at
# A range and `+id`, so that it is found by the index of names and not by that of the whole session.
CHAIN_SQL = """SELECT call, event, identity, turn, at FROM events
    WHERE session = ? AND call >= ? AND call < ? AND (call = ? OR call >= ?) AND event IN (?, ?, ?)
    ORDER BY +id DESC LIMIT ?"""


class KnownCall:
    """What the ledger knows of the calls under one name."""

    def __init__(self, name: str) -> None:
        self.name, self.identity, self.turn, self.refused = name, "", "", 0.0
        self.over = False

    def take(self, event: str, identity: str, turn: str, at: float) -> None:
        self.identity, self.turn = self.identity or identity, self.turn or turn
        self.over = self.over or event == ENDED
        self.refused = at if event == REFUSED else self.refused


def find_name(ledger: Ledger, call: ToolCall, identity: str, at: float) -> str:
    """Returns the name of `call`. `identity` is its keyed digest, `at` the time now in seconds since the epoch.
    Raises LedgerError."""
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
    """Returns the names under which another copy of the hook may have recorded a call that is about to be made. Every
    copy answers before the call is made."""
    for call_ in known:
        if not call_.over and call_.identity == identity and (not call_.refused or at - call_.refused < COPY_WINDOW):
            yield call_.name


def find_after(known: list[KnownCall], call: ToolCall, identity: str, at: float) -> Iterator[Any]:
    """Returns the names under which an ended call may be known: as requested, as recorded by another copy of the
    hook, or as requested before some other hook changed its arguments."""
    turn = name_turn(call)
    yield from (call_.name for call_ in known if not call_.over and call_.identity == identity)
    yield from (
        call_.name for call_ in known if call_.over and call_.identity == identity and call_.turn in ("", turn)
    )
    yield from (call_.name for call_ in known if not call_.over and call_.turn == turn)
