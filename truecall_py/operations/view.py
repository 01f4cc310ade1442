"""Operations: what must happen once, the calls that attempt it, and its state. A view over the ledger's events. Asks
no source and changes no event; silence and elapsed time never count as an end.

Two kinds of events are about them, both with the operation's keyed digest (`make_identity`) and the call's name:

  intent CONTRACT                  before the call: contract, source, project, folder, match, key, owner, review,
                                   late, observe
  receipt CONTRACT STATE DIGEST    what the source, or a person, said: contract, as_of, effect, which, found, by
"""

from __future__ import annotations

from truecall_py.core.errors import Unverified
from truecall_py.core.record import record
from truecall_py.core.types import DUPLICATE, PENDING, REFUTED, UNRESOLVED, VERIFIED
from truecall_py.judging.receipt import choose_later, compare_times
from truecall_py.ledger.store import SELECT, StoredEvent

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
OPERATION_EVENTS = (
    "substr(event, 1, 7) IN ('intent ', 'receipt')"  # as the ledger's index has it, else it is not used
)
INSTANCE_FIELDS = ("tenant", "resource")  # distinguish two operations of several steps


@record(frozen=True)
class Operation:
    """One operation. `attempts` are its intent events, `keys` the digests of their idempotency keys; `state` is
    unknown, pending, verified, refuted or duplicate; `receipt` is the one that is believed (None: none); `closed` are
    the earlier attempts that were rejected."""

    identity: str
    attempts: tuple[Event, ...]
    state: str
    receipt: Receipt | None = None
    closed: tuple[Receipt, ...] = ()

    @property
    def rejections(self) -> list[Receipt]:
        """The receipts of all rejected attempts."""
        last = [self.receipt] if self.state == REFUTED and self.receipt is not None else []
        return [*self.closed, *last]

    @property
    def last(self) -> Event:
        return self.attempts[-1]

    @property
    def keys(self) -> set[str]:
        return {str(attempt.data["key"]) for attempt in self.attempts if attempt.data.get("key")}

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
        """When it became unsettled, in seconds since the epoch."""
        return self.attempts[0].at

    @property
    def deadline(self) -> float | None:
        """When a person should review it; None if its contract does not say."""
        review = [
            attempt.data["review"]
            for attempt in self.attempts
            if isinstance(attempt.data.get("review"), (int, float))
        ]
        return float(min(review)) if review else None

    def overdue(self, now: float) -> bool:
        return self.state in UNRESOLVED and self.deadline is not None and now > self.deadline


@record(frozen=True)
class Operations:
    """Counts of operations: how many there were, how many were done or requested more than once (`duplicates`), and
    how many were neither settled nor given up by their deadline (`overdue`)."""

    count: int = 0
    duplicates: int = 0
    overdue: int = 0

    def __add__(self, other: Operations) -> Operations:
        """The sum over sessions."""
        return Operations(
            self.count + other.count, self.duplicates + other.duplicates, self.overdue + other.overdue
        )  # fmt: skip


def make_digest(key: bytes, what: str, text: str) -> str:
    """Returns the keyed digest of a text, for one purpose."""
    from truecall_py.core.fast_json import dumps
    from truecall_py.core.hashing import hmac_sha256

    return hmac_sha256(key, dumps([what, text]).encode())[:32]


def make_identity(contract: Contract, match: dict[str, Any], key: bytes) -> str:
    """Returns what identifies an operation in any session: the contract's id, its source as written, and the required
    fields of the receipt. A source on this machine belongs to its project, except a database at an absolute path."""
    from truecall_py.core.fast_json import dumps

    receipt = contract.plain["receipt"]
    where = "" if receipt.get("shared") else contract.project
    fields = [(path, normalize_value(value)) for path, value in sorted(match.items())]
    return make_digest(key, "operation", dumps([contract.id, receipt["from"], where, fields]))


def make_instance(match: dict[str, Any], key: bytes) -> str:
    """Returns the digest that distinguishes operations of several steps; "" without one."""
    from truecall_py.core.fast_json import dumps

    values = [normalize_value(match[name]) for name in INSTANCE_FIELDS if name in match]
    return make_digest(key, "instance", dumps(values)) if values else ""


def normalize_value(value: Any) -> Any:
    """Returns a value in one form for all that a receipt treats as equal: 5 and 5.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def list_operations(events: Iterable[Event]) -> list[Operation]:
    """Returns the operations in the events of any calls, in the order in which they began."""
    groups: dict[str, list[Event]] = {}
    for event in events:
        if event.event.startswith((INTENT, RECEIPT)):
            groups.setdefault(event.identity, []).append(event)
    operations = [fold_events(name, group) for name, group in groups.items()]
    return sorted(
        (operation for operation in operations if operation is not None),
        key=lambda operation: operation.attempts[0].id,
    )


def fold_events(name: str, events: Sequence[Event]) -> Operation | None:
    """Returns an operation from all of its events; None if none began it."""
    dropped = {(event.session, event.call) for event in events if event.state == DROPPED}
    events = [event for event in events if (event.session, event.call) not in dropped]
    attempts: list[Event] = []
    receipt: Receipt | None = None
    closed: list[Receipt] = []  # of the attempts that were rejected before these
    state = "unknown"
    for event in events:
        if event.event.startswith(INTENT):
            if state == REFUTED:  # it was free to be begun anew
                closed += [receipt] if receipt is not None else []
                attempts, state, receipt = [], "unknown", None
            attempts.append(event)
        elif event.event.startswith(RECEIPT) and event.state in STATES and state != DUPLICATE:
            newest = read_receipt(event)
            if not is_stale(closed, newest):
                receipt, state = choose_receipt(receipt, newest, state)
    return Operation(name, tuple(attempts), state, receipt, tuple(closed)) if attempts else None


def choose_receipt(old: Receipt | None, new: Receipt, state: str) -> tuple[Receipt | None, str]:
    """Returns (the receipt to believe, the state) after another receipt. A second effect is a duplicate;
    contradicting receipts leave the operation unknown."""
    if old is None or new["state"] == DUPLICATE:
        return new, str(new["state"])
    if is_second_effect(old, new):
        return new, DUPLICATE
    try:
        chosen = choose_later(old, new)
    except Unverified:
        return old, "unknown"
    return chosen, str(chosen["state"])


def is_stale(closed: Iterable[Receipt], new: Receipt) -> bool:
    """Tells whether a receipt belongs to an attempt that was rejected before this one."""
    return any(is_not_newer(receipt, new) for receipt in closed)


def is_not_newer(old: Receipt, new: Receipt) -> bool:
    """Tells whether a receipt is no newer than a rejection: identical, not later, or without times the same state of
    the same effect."""
    if old["which"] == new["which"]:
        return True
    try:
        order = compare_times(old["as_of"], new["as_of"])
    except Unverified:
        return old["as_of"] is not None
    if order or has_other_effect(old, new):
        return order > 0
    return old["as_of"] is not None or bool(old["effect"] and old["state"] == new["state"])


def is_second_effect(old: Receipt, new: Receipt) -> bool:
    """Tells whether two receipts are about two effects that are both done."""
    return old["state"] == new["state"] == VERIFIED and has_other_effect(old, new)


def has_other_effect(old: Receipt, new: Receipt) -> bool:
    return bool(old["effect"] and new["effect"]) and old["effect"] != new["effect"]


def read_receipt(event: Event) -> Receipt:
    """Returns a receipt from the ledger, in the form of judging/receipt.py."""
    data = event.data
    return {"state": event.state, "as_of": data.get("as_of"), "effect": str(data.get("effect", "")),
            "which": str(data.get("which", "")), "found": str(data.get("found", ""))}  # fmt: skip


def select_others(events: Sequence[Event], call: ToolCall, at: float) -> list[Event]:
    """Returns the events of an operation that are not this call's own."""
    return [event for event in events if (event.session, event.call) != (call.session, name_call(call, at))]


def name_call(call: ToolCall, at: float) -> str:
    """Returns the name of a call in its events. Without an id or a time from the client it is unique: two such calls
    in one moment may be two payments."""
    return call.call_id or f"{at:.6f}"


def read_events(ledger: Ledger, name: str) -> list[Event]:
    """Returns all events of one operation, of every session, in writing order. Raises LedgerError."""
    rows = ledger.query(f"{SELECT} identity = ? AND {OPERATION_EVENTS} ORDER BY id", (name,))
    return [StoredEvent(row) for row in rows]


def read_operation(ledger: Ledger, name: str) -> Operation | None:
    """Returns one operation. Raises LedgerError."""
    return fold_events(name, read_events(ledger, name))


def read_operations(ledger: Ledger, since: float = 0.0) -> list[Operation]:
    """Returns all operations with an event since then. Raises LedgerError."""
    recent = f"SELECT identity FROM events WHERE at >= ? AND {OPERATION_EVENTS}"  # noqa: S608 - our own words
    rows = ledger.query(f"{SELECT} {OPERATION_EVENTS} AND identity IN ({recent}) ORDER BY id", (since,))
    return list_operations(StoredEvent(row) for row in rows)


def count_states(operations: Iterable[Operation], now: float) -> dict[str, int]:
    """Counts the operations and their states; an `overdue` one is pending or unknown as well."""
    all_operations = list(operations)
    states = {"done": VERIFIED, "refuted": REFUTED, "duplicate": DUPLICATE, "pending": PENDING, "unknown": "unknown"}
    stand = {name: sum(operation.state == state for operation in all_operations) for name, state in states.items()}
    return {
        "count": len(all_operations),
        **stand,
        "overdue": sum(operation.overdue(now) for operation in all_operations),
    }


def count_operations(events: Iterable[Event], now: float) -> Operations:
    """Counts the operations of one session from its events in writing order. Deadlines are compared with `now`, in
    seconds since the epoch."""
    operations = list_operations(events)
    twice, late = (
        (operation.state == DUPLICATE for operation in operations),
        (operation.overdue(now) for operation in operations),
    )
    return Operations(len(operations), sum(twice), sum(late))
