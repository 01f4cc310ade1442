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
from truecall_py.ledger.events import PENDING, worst
from truecall_py.ledger.store import ENDED, REQUESTED, SELECT, SETTLED, Event, Kept, LedgerError
from truecall_py.operations import lookup, precedence, settle, view
from truecall_py.operations.steps import of_call
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

FEW = 50  # look-ups in one round
LOOK = 10.0  # seconds that one of them may take
PAUSES = (0.0, 30.0, 60.0, 120.0, 300.0, 900.0)  # seconds between two looks at the same, in the order of its looks
UNKNOWN, GIVEN_UP = "unknown", "given up"
HELD = (PENDING, VERIFIED, DUPLICATE)  # what a person cannot take for never made
UNSETTLED = (
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


def work(ledger: Ledger) -> list[Item]:
    """Everything that stands open, the oldest first. Raises LedgerError."""
    found = []
    for each in view.every(ledger):
        if each.state in UNRESOLVED:
            last = each.last
            said = str(each.receipt["found"]) if each.receipt else ""
            ended = ledger.find(last.session, last.call, ENDED)
            found.append(Item(each.identity, last.session, last.call, last.tool, each.contract, each.state,
                              each.since, each, ended, said))  # fmt: skip
    known = {(each.session, each.call) for each in found}
    for event in map(Kept, ledger.query(UNSETTLED)):
        told = [row for row in event.data.get("verdicts", ()) if not row.get("operation") and open_calls.opened(row)]
        if told and (event.session, event.call) not in known:
            found.append(Item(f"{event.session} {event.call}", event.session, event.call, event.tool,
                              ", ".join(str(row.get("contract", "")) for row in told), event.state, event.at, None,
                              event, str(told[0].get("found", ""))))  # fmt: skip
    return sorted(found, key=lambda each: each.since)


def looked(item: Item, state: str) -> float:
    """When it was looked at last, in seconds since the epoch; 0 where nobody can look any more."""
    try:
        return os.stat(place(item, state)).st_mtime
    except OSError:
        return 0.0


def place(item: Item, state: str) -> str:
    """Where the call is kept until the thing is settled."""
    root = pending_calls.FOLDER if item.operation is None else pending_calls.OPERATIONS
    return pending_calls.place(state, item.session, item.call, root)


def rounds(ledger: Ledger, state: str, items: Sequence[Item]) -> Iterator[Result]:
    """Looks at each once, at most FEW, those first that were looked at least lately; the others stay as they were.
    What is learnt is written down one by one. Raises LedgerError."""
    ordered = sorted(items, key=lambda each: looked(each, state))
    left = FEW
    for each in ordered:
        if not looked(each, state):
            yield unkept(ledger, each)
        elif left <= 0:
            yield Result(each, each.state, each.found, f"more than {FEW} stand open: it comes in the next round")
        else:
            left -= 1
            yield look(ledger, state, each)


def look(ledger: Ledger, state: str, item: Item) -> Result:
    """One look at one thing. Raises LedgerError."""
    kept = pending_calls.find(state, item.session, item.call)  # with its answer, as long as the turn goes on
    if item.operation is not None and (kept is None or item.ended is None):
        kept = pending_calls.find(state, item.session, item.call, pending_calls.OPERATIONS)
    if kept is None:
        return unkept(ledger, item)
    touch(place(item, state))
    try:
        folder = folder_of(ledger, item, kept.call)
        found = store.sources(folder, state, paths.user_file(), None)
        if item.operation is not None and item.ended is None:
            made = by_source(ledger, item, kept.guarded(), found, folder)
        else:
            made = by_gate(ledger, state, item, kept, found, folder)
        whole = of_call(found, ledger, ledger.session(item.session, settle.MANY), item.call)
        return Result(made.item, made.state, made.found, made.why, tuple(words for _, words in whole))
    except LedgerError:
        raise
    except TruecallError as error:
        return Result(item, item.state, item.found, f"its contracts cannot be read: {error.what}")


def unkept(ledger: Ledger, item: Item) -> Result:
    """A thing of which there is no call to look with: another process may have settled it in this moment. Raises
    LedgerError."""
    why = "its call is not kept, so that nobody can look it up"
    if item.operation is not None:
        return as_it_is(ledger, item, why)
    if ledger.find(item.session, item.call, SETTLED) is not None:
        return Result(item, VERIFIED, "it was settled in this moment")
    return Result(item, item.state, item.found, why)


def touch(path: str) -> None:
    try:
        os.utime(path)
    except OSError:
        return  # it was settled by another process in this moment


def folder_of(ledger: Ledger, item: Item, call: ToolCall) -> str:
    """The folder whose contracts counted for a call."""
    told = item.operation.last.data.get("folder") if item.operation else None
    asked = ledger.find(item.session, item.call, REQUESTED)
    return str(told or (asked.data.get("cwd") if asked else None) or call.cwd or "/")


def by_source(ledger: Ledger, item: Item, call: ToolCall, found: Sequence[Source], folder: str) -> Result:
    """Asks the source of an operation of whose call no end was told: the call may still run, so that nothing is
    written of its end. Raises LedgerError."""
    assert item.operation is not None
    why = f"no trusted contract {item.contract} is about it any more"
    for contract in receipts_of(found, call, item.contract):
        moment = Moment(time.monotonic() + LOOK, time.time(), folder)
        why = lookup.look(ledger, ledger.key(), contract, call, moment, "reconcile")
    return as_it_is(ledger, item, why)


def by_gate(
    ledger: Ledger, state: str, item: Item, kept: pending_calls.Kept, found: Sequence[Source], folder: str
) -> Result:
    """Judges a call again as the gate at the stop does, and writes down what is settled. Raises LedgerError."""
    assert item.ended is not None
    call = kept.call
    judge = settle.Judge(found, state, folder, time.monotonic() + LOOK)
    if not store.contracts_naming(found, call):
        return Result(item, item.state, item.found, f"no trusted contract {item.contract} is about it any more")
    now = pending_calls.Kept(settle.changed(call, background=False), kept.at)
    if call.background and any(each.state != VERIFIED for each in judge.judge(now)):
        return Result(item, item.state, item.found, "it was sent to the background, and may still run")
    rows = judge.settle(item.ended, now)
    if item.operation is not None:
        return as_it_is(ledger, item, said([row for row in rows if row.get("operation") == item.name] or rows))
    left = [row for row in rows if row.get("state") != VERIFIED]
    return Result(item, worst([str(row["state"]) for row in rows]), said(left or rows), "")


def said(rows: Sequence[dict[str, Any]]) -> str:
    return str(rows[0].get("found", "")) if rows else ""


def as_it_is(ledger: Ledger, item: Item, why: str) -> Result:
    """An operation as the ledger knows it now. Raises LedgerError."""
    now = view.named(ledger, item.name)
    if now is None:
        return Result(item, REFUTED, "it was given up", "")
    found = str(now.receipt["found"]) if now.receipt else ""
    return Result(item, now.state, found, why if now.state in UNRESOLVED and why != found else "")


def named(ledger: Ledger, call: str) -> list[Item]:
    """What one call began and stands open, by its id (`SESSION/CALL` where two sessions have it) or the beginning of
    its id. Raises LedgerError, and UsageError where several calls are meant."""
    opened = [each for each in work(ledger) if each.operation]
    whole = [each for each in opened if call in (each.call, f"{each.session}/{each.call}")]
    mine = whole or [each for each in opened if each.call.startswith(call)]
    names = sorted({f"{each.session}/{each.call}" for each in mine})
    if len(names) > 1:
        raise UsageError(f"{call[:80]!r} names {len(names)} calls: {', '.join(names[:4])}", do="name one of them")
    return mine


def given_up(ledger: Ledger, state: str, item: Item) -> Result:
    """Notes that a person gives an operation up, unless its source says now that it is accepted or done: then nobody
    can take it for never made. `why` is what the source said else, or why it cannot be asked. Raises LedgerError."""
    assert item.operation is not None
    try:
        found, why = asked(ledger, state, item)
    except LedgerError:
        raise
    except TruecallError as error:
        found, why = None, f"its contracts cannot be read: {error.what}"
    said = "" if found is None or found.receipt is None else str(found.receipt["state"])
    if found is not None and said in HELD:
        return Result(item, said, found.found)
    if said != REFUTED:  # else it is free already, and its rejection must be known to the next attempt
        held = dropped(ledger, item)
        if held is not None:
            return Result(item, held.state, str(held.receipt["found"]) if held.receipt else "")
    return Result(item, GIVEN_UP, "", found.found if found is not None else why)


def dropped(ledger: Ledger, item: Item) -> Operation | None:
    """Gives an operation up, unless it was heard since it was looked at that it is accepted or done, by another
    process: the operation as it is then. Raises LedgerError."""
    assert item.operation is not None
    before, attempts = item.operation.state, item.operation.attempts

    def write() -> Operation | None:
        now = view.named(ledger, item.name)
        if now is not None and now.state in HELD and now.state != before:
            return now
        ledger.insert(precedence.dropped(attempts, "person"))
        return None

    held: Operation | None = ledger.changed(write)
    if held is None:
        precedence.release(ledger, attempts)
    return held


def asked(ledger: Ledger, state: str, item: Item) -> tuple[Outcome | None, str]:
    """What the source of an operation says of it now, and "", or None and why it cannot be asked. Raises LedgerError,
    and TruecallError for contracts that cannot be read."""
    assert item.operation is not None
    every = [
        pending_calls.find(state, each.session, each.call, pending_calls.OPERATIONS)
        for each in item.operation.attempts
    ]
    kept = next((each for each in reversed(every) if each is not None), None)
    if kept is None:
        return None, "its call is not kept, so that nobody can look it up"
    call, folder = kept.guarded(), folder_of(ledger, item, kept.call)
    found = store.sources(folder, state, paths.user_file(), None)
    why = f"no trusted contract {item.contract} is about it any more"
    for contract in receipts_of(found, call, item.contract):
        moment = Moment(time.monotonic() + LOOK, time.time(), folder)
        for told in lookup.answers(ledger, ledger.key(), contract, call, moment, "reconcile"):
            if told.receipt is not None and told.receipt.get("operation") == item.name:
                return told, ""
            why = told.found
    return None, why


def receipts_of(found: Sequence[Source], call: ToolCall, contract: str) -> list[Contract]:
    """The trusted contracts of that id which settle a call by receipt."""
    return [each for each in store.contracts_naming(found, call) if each.id == contract and "receipt" in each.plain]
