"""Settles unresolved operations and calls from outside a session, with one bounded probe each, as the stop gate does.
Never repeats a call, and never takes elapsed time for an end. What it learns is kept even if it is interrupted.

Only trusted contracts are used, in their trusted form and with their trusted code.
"""

from __future__ import annotations

import os
import time

from truecall_py.core import paths
from truecall_py.core.errors import TruecallError, UsageError
from truecall_py.core.record import record
from truecall_py.core.types import DUPLICATE, REFUTED, UNRESOLVED, UNVERIFIED, VERIFIED, Outcome, ToolCall
from truecall_py.judging.engine import Moment
from truecall_py.ledger import open_calls, pending_calls
from truecall_py.ledger.events import PENDING, worst_state
from truecall_py.ledger.store import ENDED, REQUESTED, SELECT, SETTLED, Event, Ledger, LedgerError, StoredEvent
from truecall_py.operations import lookup, precedence, settle, view
from truecall_py.operations.steps import list_for_call
from truecall_py.trust import store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from truecall_py.contracts.model import Contract
    from truecall_py.operations.view import Operation
    from truecall_py.trust.store import Source

MAX_LOOKUPS = 50  # look-ups in one round
LOOKUP_TIME = 10.0  # seconds that one of them may take
PAUSES = (0.0, 30.0, 60.0, 120.0, 300.0, 900.0)  # seconds before each further probe of the same item
UNKNOWN, GIVEN_UP = "unknown", "given up"
NOT_DROPPABLE = (PENDING, VERIFIED, DUPLICATE)  # what a person cannot take for never made
UNSETTLED_SQL = (
    f"{SELECT} event = 'ended' AND state IN ('{PENDING}', '{UNVERIFIED}') AND NOT EXISTS "  # noqa: S608 - our own words
    "(SELECT 1 FROM events AS later "
    f"WHERE later.session = events.session AND later.call = events.call AND later.event = '{SETTLED}') ORDER BY id"
)


@record(frozen=True)
class Item:
    """One unresolved operation, or an unresolved call without one. `ended` is the event that names its call (None: no
    end is known); `name` identifies it."""

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
    """The result of one probe: `state` is the state now, `why` says what keeps it unsettled."""

    item: Item
    state: str
    found: str = ""
    why: str = ""
    whole: tuple[str, ...] = ()  # how far an operation of several steps has come that it is a step of

    @property
    def open(self) -> bool:
        return self.state in (UNKNOWN, PENDING, UNVERIFIED)


def list_unresolved(ledger: Ledger) -> list[Item]:
    """Returns everything unresolved, oldest first. Raises LedgerError."""
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
    """Returns the time of the last look-up, in seconds since the epoch; 0 if no further one is possible."""
    try:
        return os.stat(locate_call(item, state)).st_mtime
    except OSError:
        return 0.0


def locate_call(item: Item, state: str) -> str:
    """Returns where the call is kept until it is settled."""
    root = pending_calls.FOLDER if item.operation is None else pending_calls.OPERATIONS
    return pending_calls.locate_call(state, item.session, item.call, root)


def reconcile(ledger: Ledger, state: str, items: Sequence[Item]) -> Iterator[Result]:
    """Probes each item once, those least recently probed first, at most FEW. Records each result at once. Raises
    LedgerError."""
    ordered = sorted(items, key=lambda item: read_last_lookup(item, state))
    left = MAX_LOOKUPS
    for item in ordered:
        if not read_last_lookup(item, state):
            yield report_unkept(ledger, item)
        elif left <= 0:
            yield Result(
                item, item.state, item.found, f"more than {MAX_LOOKUPS} are unresolved: it comes in the next round"
            )
        else:
            left -= 1
            yield reconcile_item(ledger, state, item)


def reconcile_item(ledger: Ledger, state: str, item: Item) -> Result:
    """Probes one item. Raises LedgerError."""
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
    """Returns the Result of an item whose call is not kept: another process may have just settled it. Raises
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
    """Returns the folder whose contracts apply to a call."""
    folder = item.operation.last.data.get("folder") if item.operation else None
    event = ledger.find(item.session, item.call, REQUESTED)
    return str(folder or (event.data.get("cwd") if event else None) or call.cwd or "/")


def reconcile_by_source(ledger: Ledger, item: Item, call: ToolCall, sources: Sequence[Source], folder: str) -> Result:
    """Asks the source of an operation whose call has no known end. The call may still run, so no end is recorded.
    Raises LedgerError."""
    assert item.operation is not None
    why = f"no trusted contract {item.contract} is about it any more"
    for contract in select_receipt_contracts(sources, call, item.contract):
        moment = Moment(time.monotonic() + LOOKUP_TIME, time.time(), folder)
        why = lookup.look_up_call(ledger, ledger.read_key(), contract, call, moment, "reconcile")
    return read_current(ledger, item, why)


def reconcile_by_gate(
    ledger: Ledger, state: str, item: Item, kept: pending_calls.KeptCall, sources: Sequence[Source], folder: str
) -> Result:
    """Judges a call again as the stop gate does, and records what is settled. Raises LedgerError."""
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
    """Returns an operation as the ledger knows it now. Raises LedgerError."""
    now = view.read_operation(ledger, item.name)
    if now is None:
        return Result(item, REFUTED, "it was given up", "")
    evidence = str(now.receipt["found"]) if now.receipt else ""
    return Result(item, now.state, evidence, why if now.state in UNRESOLVED and why != evidence else "")


def find_by_call(ledger: Ledger, call: str) -> list[Item]:
    """Returns the unresolved items of one call, by its id (`SESSION/CALL` if two sessions have it) or the start of
    it. Raises LedgerError, and UsageError if several calls match."""
    opened = [item for item in list_unresolved(ledger) if item.operation]
    whole = [item for item in opened if call in (item.call, f"{item.session}/{item.call}")]
    mine = whole or [item for item in opened if item.call.startswith(call)]
    names = sorted({f"{item.session}/{item.call}" for item in mine})
    if len(names) > 1:
        raise UsageError(f"{call[:80]!r} names {len(names)} calls: {', '.join(names[:4])}", do="name one of them")
    return mine


def give_up(ledger: Ledger, state: str, item: Item) -> Result:
    """Records that the user gives an operation up, unless its source says now that it is accepted or done. `why` is
    the source's other answer, or why it cannot be asked. Raises LedgerError."""
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
    """Gives an operation up, unless another process has learnt in the meantime that it is accepted or done; then
    returns it as it is. Raises LedgerError."""
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
    """Returns (what the source of an operation says now, "") or (None, why it cannot be asked). Raises LedgerError,
    and TruecallError for unreadable contracts."""
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
    """Returns the trusted contracts of that id that settle a call by receipt."""
    return [
        other for other in store.find_contracts(sources, call) if other.id == contract and "receipt" in other.plain
    ]
