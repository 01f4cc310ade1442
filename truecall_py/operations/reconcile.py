"""Settles what stands open, from outside of any session: operations that are unknown or pending, and other calls that
are not confirmed, each by one bounded look as the stop gate makes it. Never makes a call again, never takes time
for an end, and keeps whatever it learnt when it is stopped in the middle.

Only contracts that are trusted are asked, in the form in which they are trusted, with the code that was trusted.
"""

from __future__ import annotations

import os
import time

from truecall_py.core import paths
from truecall_py.core.errors import TruecallError, UsageError
from truecall_py.core.record import record
from truecall_py.core.types import DUPLICATE, REFUTED, UNRESOLVED, UNVERIFIED, VERIFIED, ToolCall
from truecall_py.judging.engine import Moment
from truecall_py.ledger import open_calls, pending_calls
from truecall_py.ledger.events import PENDING, worst_state
from truecall_py.ledger.store import ENDED, REQUESTED, SELECT, SETTLED, Event, LedgerError, StoredEvent
from truecall_py.operations import lookup, precedence, settle, view
from truecall_py.operations.steps import list_for_call
from truecall_py.trust import store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from truecall_py.contracts.model import Contract
    from truecall_py.core.types import Outcome
    from truecall_py.ledger.store import Ledger
    from truecall_py.operations.view import Operation
    from truecall_py.trust.store import Source

MAX_LOOKUPS = 50  # look-ups in one round
LOOKUP_TIME = 10.0  # seconds that one of them may take
PAUSES = (0.0, 30.0, 60.0, 120.0, 300.0, 900.0)  # seconds between two looks at the same, in the order of its looks
UNKNOWN, GIVEN_UP = "unknown", "given up"
NOT_DROPPABLE = (PENDING, VERIFIED, DUPLICATE)  # what a person cannot take for never made
UNSETTLED_SQL = (
    f"{SELECT} event = 'ended' AND state IN ('{PENDING}', '{UNVERIFIED}') AND NOT EXISTS "  # noqa: S608 - our own words
    "(SELECT 1 FROM events AS later "
    f"WHERE later.session = events.session AND later.call = events.call AND later.event = '{SETTLED}') ORDER BY id"
)


@record(frozen=True)
class Item:
    """One thing that stands open: an operation, or a call without one. `ended` is the event by which its call is
    known (None: no end was told); `name` is what it is told apart by."""

    name: str
    session: str
    call: str
    tool: str
    contract: str
    state: str
    since: float
    operation: Operation | None = None
    ended: Event | None = None
    found: str = ""

    @property
    def owner(self) -> str:
        return self.operation.owner if self.operation else ""

    @property
    def deadline(self) -> float | None:
        return self.operation.deadline if self.operation else None

    def overdue(self, now: float) -> bool:
        return bool(self.operation and self.operation.overdue(now))


@record(frozen=True)
class Result:
    """What a look at one thing found: `state` is how it stands now, `why` says what keeps it from being settled."""

    item: Item
    state: str
    found: str = ""
    why: str = ""
    whole: tuple[str, ...] = ()  # how far an operation of several steps has come that it is a step of

    @property
    def open(self) -> bool:
        return self.state in (UNKNOWN, PENDING, UNVERIFIED)


def list_unresolved(ledger: Ledger) -> list[Item]:
    """Everything that stands open, the oldest first. Raises LedgerError."""
    items = []
    for operation in view.read_operations(ledger):
        if operation.state in UNRESOLVED:
            last = operation.last
            said = str(operation.receipt["found"]) if operation.receipt else ""
            ended = ledger.find(last.session, last.call, ENDED)
            items.append(Item(operation.identity, last.session, last.call, last.tool, operation.contract,
                              operation.state, operation.since, operation, ended, said))  # fmt: skip
    known = {(item.session, item.call) for item in items}
    for event in map(StoredEvent, ledger.query(UNSETTLED_SQL)):
        rows = [
            row
            for row in event.data.get("verdicts", ())
            if not row.get("operation") and open_calls.find_open_state(row)
        ]
        if rows and (event.session, event.call) not in known:
            items.append(Item(f"{event.session} {event.call}", event.session, event.call, event.tool,
                              ", ".join(str(row.get("contract", "")) for row in rows), event.state, event.at, None,
                              event, str(rows[0].get("found", ""))))  # fmt: skip
    return sorted(items, key=lambda item: item.since)


def read_last_lookup(item: Item, state: str) -> float:
    """When it was looked at last, in seconds since the epoch; 0 where nobody can look any more."""
    try:
        return os.stat(locate_call(item, state)).st_mtime
    except OSError:
        return 0.0


def locate_call(item: Item, state: str) -> str:
    """Where the call is kept until the thing is settled."""
    root = pending_calls.FOLDER if item.operation is None else pending_calls.OPERATIONS
    return pending_calls.locate_call(state, item.session, item.call, root)


def reconcile(ledger: Ledger, state: str, items: Sequence[Item]) -> Iterator[Result]:
    """Looks at each once, at most FEW, those first that were looked at least lately; the others stay as they were.
    What is learnt is written down one by one. Raises LedgerError."""
    ordered = sorted(items, key=lambda item: read_last_lookup(item, state))
    left = MAX_LOOKUPS
    for item in ordered:
        if not read_last_lookup(item, state):
            yield report_unkept(ledger, item)
        elif left <= 0:
            yield Result(
                item, item.state, item.found, f"more than {MAX_LOOKUPS} stand open: it comes in the next round"
            )
        else:
            left -= 1
            yield reconcile_item(ledger, state, item)


def reconcile_item(ledger: Ledger, state: str, item: Item) -> Result:
    """One look at one thing. Raises LedgerError."""
    kept = pending_calls.find_call(state, item.session, item.call)  # with its answer, as long as the turn goes on
    if item.operation is not None and (kept is None or item.ended is None):
        kept = pending_calls.find_call(state, item.session, item.call, pending_calls.OPERATIONS)
    if kept is None:
        return report_unkept(ledger, item)
    touch_file(locate_call(item, state))
    try:
        folder = find_folder(ledger, item, kept.call)
        sources = store.load_sources(folder, state, paths.find_user_file(), None)
        if item.operation is not None and item.ended is None:
            result = reconcile_by_source(ledger, item, kept.guarded(), sources, folder)
        else:
            result = reconcile_by_gate(ledger, state, item, kept, sources, folder)
        whole = list_for_call(sources, ledger, ledger.session(item.session, settle.MAX_EVENTS), item.call)
        return Result(result.item, result.state, result.found, result.why, tuple(words for _, words in whole))
    except LedgerError:
        raise
    except TruecallError as error:
        return Result(item, item.state, item.found, f"its contracts cannot be read: {error.what}")


def report_unkept(ledger: Ledger, item: Item) -> Result:
    """A thing of which there is no call to look with: another process may have settled it in this moment. Raises
    LedgerError."""
    why = "its call is not kept, so that nobody can look it up"
    if item.operation is not None:
        return read_current(ledger, item, why)
    if ledger.find(item.session, item.call, SETTLED) is not None:
        return Result(item, VERIFIED, "it was settled in this moment")
    return Result(item, item.state, item.found, why)


def touch_file(path: str) -> None:
    try:
        os.utime(path)
    except OSError:
        return  # it was settled by another process in this moment


def find_folder(ledger: Ledger, item: Item, call: ToolCall) -> str:
    """The folder whose contracts counted for a call."""
    folder = item.operation.last.data.get("folder") if item.operation else None
    event = ledger.find(item.session, item.call, REQUESTED)
    return str(folder or (event.data.get("cwd") if event else None) or call.cwd or "/")


def reconcile_by_source(ledger: Ledger, item: Item, call: ToolCall, sources: Sequence[Source], folder: str) -> Result:
    """Asks the source of an operation of whose call no end was told: the call may still run, so that nothing is
    written of its end. Raises LedgerError."""
    assert item.operation is not None
    why = f"no trusted contract {item.contract} is about it any more"
    for contract in select_receipt_contracts(sources, call, item.contract):
        moment = Moment(time.monotonic() + LOOKUP_TIME, time.time(), folder)
        why = lookup.look_up_call(ledger, ledger.read_key(), contract, call, moment, "reconcile")
    return read_current(ledger, item, why)


def reconcile_by_gate(
    ledger: Ledger, state: str, item: Item, kept: pending_calls.KeptCall, sources: Sequence[Source], folder: str
) -> Result:
    """Judges a call again as the gate at the stop does, and writes down what is settled. Raises LedgerError."""
    assert item.ended is not None
    call = kept.call
    judge = settle.Rejudge(sources, state, folder, time.monotonic() + LOOKUP_TIME)
    if not store.find_contracts(sources, call):
        return Result(item, item.state, item.found, f"no trusted contract {item.contract} is about it any more")
    now = pending_calls.KeptCall(settle.change_call(call, background=False), kept.at)
    if call.background and any(verdict.state != VERIFIED for verdict in judge.judge_now(now)):
        return Result(item, item.state, item.found, "it was sent to the background, and may still run")
    rows = judge.rejudge_call(item.ended, now)
    if item.operation is not None:
        return read_current(
            ledger, item, read_evidence([row for row in rows if row.get("operation") == item.name] or rows)
        )
    left = [row for row in rows if row.get("state") != VERIFIED]
    return Result(item, worst_state([str(row["state"]) for row in rows]), read_evidence(left or rows), "")


def read_evidence(rows: Sequence[dict[str, Any]]) -> str:
    return str(rows[0].get("found", "")) if rows else ""


def read_current(ledger: Ledger, item: Item, why: str) -> Result:
    """An operation as the ledger knows it now. Raises LedgerError."""
    now = view.read_operation(ledger, item.name)
    if now is None:
        return Result(item, REFUTED, "it was given up", "")
    evidence = str(now.receipt["found"]) if now.receipt else ""
    return Result(item, now.state, evidence, why if now.state in UNRESOLVED and why != evidence else "")


def find_by_call(ledger: Ledger, call: str) -> list[Item]:
    """What one call began and stands open, by its id (`SESSION/CALL` where two sessions have it) or the beginning of
    its id. Raises LedgerError, and UsageError where several calls are meant."""
    opened = [item for item in list_unresolved(ledger) if item.operation]
    whole = [item for item in opened if call in (item.call, f"{item.session}/{item.call}")]
    mine = whole or [item for item in opened if item.call.startswith(call)]
    names = sorted({f"{item.session}/{item.call}" for item in mine})
    if len(names) > 1:
        raise UsageError(f"{call[:80]!r} names {len(names)} calls: {', '.join(names[:4])}", do="name one of them")
    return mine


def give_up(ledger: Ledger, state: str, item: Item) -> Result:
    """Notes that a person gives an operation up, unless its source says now that it is accepted or done: then nobody
    can take it for never made. `why` is what the source said else, or why it cannot be asked. Raises LedgerError."""
    assert item.operation is not None
    try:
        outcome, why = ask_source(ledger, state, item)
    except LedgerError:
        raise
    except TruecallError as error:
        outcome, why = None, f"its contracts cannot be read: {error.what}"
    said = "" if outcome is None or outcome.receipt is None else str(outcome.receipt["state"])
    if outcome is not None and said in NOT_DROPPABLE:
        return Result(item, said, outcome.found)
    if said != REFUTED:  # else it is free already, and its rejection must be known to the next attempt
        held = drop_operation(ledger, item)
        if held is not None:
            return Result(item, held.state, str(held.receipt["found"]) if held.receipt else "")
    return Result(item, GIVEN_UP, "", outcome.found if outcome is not None else why)


def drop_operation(ledger: Ledger, item: Item) -> Operation | None:
    """Gives an operation up, unless it was heard since it was looked at that it is accepted or done, by another
    process: the operation as it is then. Raises LedgerError."""
    assert item.operation is not None
    before, attempts = item.operation.state, item.operation.attempts

    def write() -> Operation | None:
        now = view.read_operation(ledger, item.name)
        if now is not None and now.state in NOT_DROPPABLE and now.state != before:
            return now
        ledger.insert(precedence.make_dropped_events(attempts, "person"))
        return None

    held: Operation | None = ledger.change(write)
    if held is None:
        precedence.release_calls(ledger, attempts)
    return held


def ask_source(ledger: Ledger, state: str, item: Item) -> tuple[Outcome | None, str]:
    """What the source of an operation says of it now, and "", or None and why it cannot be asked. Raises LedgerError,
    and TruecallError for contracts that cannot be read."""
    assert item.operation is not None
    kept_calls = [
        pending_calls.find_call(state, attempt.session, attempt.call, pending_calls.OPERATIONS)
        for attempt in item.operation.attempts
    ]
    kept = next((operation for operation in reversed(kept_calls) if operation is not None), None)
    if kept is None:
        return None, "its call is not kept, so that nobody can look it up"
    call, folder = kept.guarded(), find_folder(ledger, item, kept.call)
    sources = store.load_sources(folder, state, paths.find_user_file(), None)
    why = f"no trusted contract {item.contract} is about it any more"
    for contract in select_receipt_contracts(sources, call, item.contract):
        moment = Moment(time.monotonic() + LOOKUP_TIME, time.time(), folder)
        for answer in lookup.ask_source(ledger, ledger.read_key(), contract, call, moment, "reconcile"):
            if answer.receipt is not None and answer.receipt.get("operation") == item.name:
                return answer, ""
            why = answer.found
    return None, why


def select_receipt_contracts(sources: Sequence[Source], call: ToolCall, contract: str) -> list[Contract]:
    """The trusted contracts of that id which settle a call by receipt."""
    return [
        other for other in store.find_contracts(sources, call) if other.id == contract and "receipt" in other.plain
    ]
