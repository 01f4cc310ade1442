"""Under which name a call stands in the ledger. A client's id for it is one, but models that number their calls anew
give the same one again: then the later call gets a name of its own, or it would be taken for a second copy of the
earlier one's hook and forgotten. Never gives the copies of one hook different names.
"""

from __future__ import annotations

from truecall_py.ledger import ENDED, REFUSED, column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecall_py.ledger import Event, Ledger
    from truecall_py.types import ToolCall

BEFORE = "PreToolUse"
COPY = 30.0  # seconds within which a second copy of a hook answers for a call that was refused
LONGEST = 200  # letters of an id that may be a counter


def apart(ledger: Ledger, call: ToolCall, first: Sequence[Event], identity: str, at: float) -> str:
    """The name of `call`, of whose id the events `first` are known; `identity` is its keyed digest, `at` the time now
    in seconds since the epoch. Raises LedgerError."""
    if len(call.call_id) > LONGEST:
        return call.call_id
    name = latest(ledger, call.session, call.call_id)
    events = first if name == call.call_id else ledger.of(call.session, name)
    if not (begun if call.event == BEFORE else over)(call, events, identity, at):
        return name
    number = int(name.rpartition("~")[2]) if name != call.call_id else 1
    return f"{call.call_id}~{number + 1:04}"


def latest(ledger: Ledger, session: str, call: str) -> str:
    """The last name that was given for an id; the id itself where none was. Raises LedgerError."""
    rows = ledger.query(
        "SELECT call FROM events WHERE session = ? AND call >= ? AND call < ? ORDER BY call DESC LIMIT 1",
        (column(session), column(f"{call}~0"), column(f"{call}~:")),
    )
    return str(rows[0][0]) if rows else call


def begun(call: ToolCall, events: Sequence[Event], identity: str, at: float) -> bool:
    """Whether a call that is about to be made is another one: that of the events has ended, is not the same, or was
    refused some time ago. Every copy of this hook answers before the call is made."""
    return any(
        each.event == ENDED or each.identity != identity or (each.event == REFUSED and at - each.at > COPY)
        for each in events
    )


def over(call: ToolCall, events: Sequence[Event], identity: str, at: float) -> bool:
    """Whether a call that has ended is another one than that of the events, which has ended too."""
    return any(
        each.event == ENDED
        and (each.identity != identity or bool(call.turn and each.turn and each.turn.partition("/")[0] != call.turn))
        for each in events
    )
