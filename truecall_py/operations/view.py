"""Operations: what was meant to be done once, by which calls, and how it stands, by the ledger alone. A view over
events; never asks a source, never changes an event, and never takes silence or time for an end.

Two kinds of events tell of them, both with the operation's keyed digest as `identity`, in the name of the call:
  intent CONTRACT                  before the call: contract, source, project, folder, match, key, owner, review,
                                   late, observe
  receipt CONTRACT STATE DIGEST    what the source, or a person, said: contract, as_of, effect, which, found, by
"""

from __future__ import annotations

from truecall_py.core.errors import Unverified
from truecall_py.core.record import record
from truecall_py.core.types import DUPLICATE, PENDING, REFUTED, UNRESOLVED, VERIFIED
from truecall_py.judging.receipt import choose_later, compare_times
from truecall_py.ledger.store import SELECT, Kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from truecall_py.contracts.model import Contract
    from truecall_py.core.types import ToolCall
    from truecall_py.judging.receipt import Receipt
    from truecall_py.ledger.store import Event, Ledger

INTENT, RECEIPT = "intent ", "receipt "  # how the names of their events begin
DROPPED = "dropped"  # a call that was never made, or that a person gave up
STATES = (VERIFIED, REFUTED, PENDING, DUPLICATE)
OF_OPERATIONS = "substr(event, 1, 7) IN ('intent ', 'receipt')"  # as the ledger's index has it, else it is not used
INSTANCE = ("tenant", "resource")  # what tells two operations of several steps apart


@record(frozen=True)
class Operation:
    """One operation. `attempts` are the events of its intents, `keys` their idempotency keys' digests; `state` is
    unknown, pending, verified, refuted or duplicate; `receipt` is the one that is believed (None: none); `closed` are
    those of the attempts that were rejected before these."""

    identity: str
    attempts: tuple[Event, ...]
    state: str
    receipt: Receipt | None = None
    closed: tuple[Receipt, ...] = ()

    @property
    def rejections(self) -> list[Receipt]:
        """The receipts of all attempts that were rejected."""
        last = [self.receipt] if self.state == REFUTED and self.receipt is not None else []
        return [*self.closed, *last]

    @property
    def last(self) -> Event:
        return self.attempts[-1]

    @property
    def keys(self) -> set[str]:
        return {str(each.data["key"]) for each in self.attempts if each.data.get("key")}

    @property
    def contract(self) -> str:
        return str(self.last.data.get("contract", ""))

    @property
    def owner(self) -> str:
        return str(self.last.data.get("owner", ""))

    @property
    def match(self) -> dict[str, Any]:
        found = self.last.data.get("match")
        return found if isinstance(found, dict) else {}

    @property
    def since(self) -> float:
        """When it began to be as it is not settled now, in seconds since the epoch."""
        return self.attempts[0].at

    @property
    def deadline(self) -> float | None:
        """When somebody should look at it; None where its contract does not say."""
        review = [each.data["review"] for each in self.attempts if isinstance(each.data.get("review"), (int, float))]
        return float(min(review)) if review else None

    def overdue(self, now: float) -> bool:
        return self.state in UNRESOLVED and self.deadline is not None and now > self.deadline


@record(frozen=True)
class Operations:
    """How many operations there were; how many of them were done, or asked for, more than once (`duplicates`); how
    many were neither settled nor given up when their deadline had passed (`overdue`)."""

    count: int = 0
    duplicates: int = 0
    overdue: int = 0

    def __add__(self, other: Operations) -> Operations:
        """The sum over sessions."""
        return Operations(
            self.count + other.count, self.duplicates + other.duplicates, self.overdue + other.overdue
        )  # fmt: skip


def digest(key: bytes, what: str, text: str) -> str:
    """The keyed digest of a text, for one purpose."""
    from truecall_py.core.fast_json import dumps
    from truecall_py.core.hashing import keyed

    return keyed(key, dumps([what, text]).encode())[:32]


def identity(contract: Contract, match: dict[str, Any], key: bytes) -> str:
    """By what an operation is known again, in any session: the contract's id, its source as it is written, and what
    must stand in the receipt. A source on this machine belongs to its project, but a database in a fixed place."""
    from truecall_py.core.fast_json import dumps

    receipt = contract.plain["receipt"]
    where = "" if receipt.get("shared") else contract.project
    named = [(path, alike(value)) for path, value in sorted(match.items())]
    return digest(key, "operation", dumps([contract.id, receipt["from"], where, named]))


def instance(match: dict[str, Any], key: bytes) -> str:
    """The digest of what tells two operations of several steps apart; "" where nothing does."""
    from truecall_py.core.fast_json import dumps

    told = [alike(match[name]) for name in INSTANCE if name in match]
    return digest(key, "instance", dumps(told)) if told else ""


def alike(value: Any) -> Any:
    """A value in the one form of all that are the same to a receipt: 5 and 5.0 are one number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def begun(events: Iterable[Event]) -> list[Operation]:
    """The operations that events of any calls tell of, in the order in which they were begun."""
    groups: dict[str, list[Event]] = {}
    for each in events:
        if each.event.startswith((INTENT, RECEIPT)):
            groups.setdefault(each.identity, []).append(each)
    found = [fold(name, group) for name, group in groups.items()]
    return sorted((each for each in found if each is not None), key=lambda each: each.attempts[0].id)


def fold(name: str, events: Sequence[Event]) -> Operation | None:
    """How an operation stands by all that was told of it; None where nothing was ever begun."""
    dropped = {(each.session, each.call) for each in events if each.state == DROPPED}
    events = [each for each in events if (each.session, each.call) not in dropped]
    attempts: list[Event] = []
    receipt: Receipt | None = None
    closed: list[Receipt] = []  # of the attempts that were rejected before these
    state = "unknown"
    for each in events:
        if each.event.startswith(INTENT):
            if state == REFUTED:  # it was free to be begun anew
                closed += [receipt] if receipt is not None else []
                attempts, state, receipt = [], "unknown", None
            attempts.append(each)
        elif each.event.startswith(RECEIPT) and each.state in STATES and state != DUPLICATE:
            told = as_receipt(each)
            if not stale(closed, told):
                receipt, state = believed(receipt, told, state)
    return Operation(name, tuple(attempts), state, receipt, tuple(closed)) if attempts else None


def believed(old: Receipt | None, new: Receipt, state: str) -> tuple[Receipt | None, str]:
    """(the receipt to believe, the state) after another receipt was seen. A second effect is a duplicate; receipts
    that contradict each other leave the operation unknown."""
    if old is None or new["state"] == DUPLICATE:
        return new, str(new["state"])
    if another(old, new):
        return new, DUPLICATE
    try:
        chosen = choose_later(old, new)
    except Unverified:
        return old, "unknown"
    return chosen, str(chosen["state"])


def stale(closed: Iterable[Receipt], new: Receipt) -> bool:
    """Whether a receipt is still that of an attempt that was rejected before this one was made."""
    return any(as_old(each, new) for each in closed)


def as_old(old: Receipt, new: Receipt) -> bool:
    """Whether a receipt says nothing newer than a rejection: it is the very same, one as of no later time, or, where
    nothing says a time, the same word on the same effect."""
    if old["which"] == new["which"]:
        return True
    try:
        order = compare_times(old["as_of"], new["as_of"])
    except Unverified:
        return old["as_of"] is not None
    if order or another_effect(old, new):
        return order > 0
    return old["as_of"] is not None or bool(old["effect"] and old["state"] == new["state"])


def another(old: Receipt, new: Receipt) -> bool:
    """Whether two receipts tell of two effects that are both done."""
    return old["state"] == new["state"] == VERIFIED and another_effect(old, new)


def another_effect(old: Receipt, new: Receipt) -> bool:
    return bool(old["effect"] and new["effect"]) and old["effect"] != new["effect"]


def as_receipt(event: Event) -> Receipt:
    """A receipt as receipts.py has it, from the ledger."""
    data = event.data
    return {"state": event.state, "as_of": data.get("as_of"), "effect": str(data.get("effect", "")),
            "which": str(data.get("which", "")), "found": str(data.get("found", ""))}  # fmt: skip


def others(events: Sequence[Event], call: ToolCall, at: float) -> list[Event]:
    """The events of an operation that are not this call's own."""
    return [each for each in events if (each.session, each.call) != (call.session, name_of(call, at))]


def name_of(call: ToolCall, at: float) -> str:
    """The name of a call in its events. One that its client neither names nor dates stands for itself: two of them in
    one moment may be two payments."""
    return call.call_id or f"{at:.6f}"


def told_of(ledger: Ledger, name: str) -> list[Event]:
    """All events of one operation, in whatever session, in the order of their writing. Raises LedgerError."""
    rows = ledger.query(f"{SELECT} identity = ? AND {OF_OPERATIONS} ORDER BY id", (name,))
    return [Kept(row) for row in rows]


def named(ledger: Ledger, name: str) -> Operation | None:
    """One operation. Raises LedgerError."""
    return fold(name, told_of(ledger, name))


def every(ledger: Ledger, since: float = 0.0) -> list[Operation]:
    """All operations that something was told of since then. Raises LedgerError."""
    told = f"SELECT identity FROM events WHERE at >= ? AND {OF_OPERATIONS}"  # noqa: S608 - our own words
    rows = ledger.query(f"{SELECT} {OF_OPERATIONS} AND identity IN ({told}) ORDER BY id", (since,))
    return begun(Kept(row) for row in rows)


def counts(found: Iterable[Operation], now: float) -> dict[str, int]:
    """How many operations there are, and how many stand how; what is `overdue` is pending or unknown as well."""
    every_ = list(found)
    states = {"done": VERIFIED, "refuted": REFUTED, "duplicate": DUPLICATE, "pending": PENDING, "unknown": "unknown"}
    stand = {name: sum(each.state == state for each in every_) for name, state in states.items()}
    return {"count": len(every_), **stand, "overdue": sum(each.overdue(now) for each in every_)}


def of(events: Iterable[Event], now: float) -> Operations:
    """The operations of one session, by its events in the order in which they were written; `now`, in seconds since
    the epoch, is what deadlines are compared with."""
    found = begun(events)
    twice, late = (each.state == DUPLICATE for each in found), (each.overdue(now) for each in found)
    return Operations(len(found), sum(twice), sum(late))
