"""Weighs a new receipt against the ledger: an older one never replaces a newer one, a second effect is a duplicate,
and a rejected attempt says nothing about the next one. Each new fact is recorded once. Asks no source."""

from __future__ import annotations

import os
import time

from truecall_py.core.errors import Unverified
from truecall_py.core.types import DUPLICATE, REFUTED, UNRESOLVED, UNVERIFIED, VERIFIED, Outcome
from truecall_py.judging.receipt import CHECK, FINAL, choose_later
from truecall_py.ledger.events import name_turn, shorten_phrase
from truecall_py.ledger.pending_calls import OPERATIONS, forget_call
from truecall_py.ledger.store import SELECT, Event, StoredEvent
from truecall_py.operations.view import (
    DROPPED,
    INTENT,
    OPERATION_EVENTS,
    RECEIPT,
    STATES,
    Operation,
    fold_events,
    is_second_effect,
    is_stale,
    make_identity,
    name_call,
    read_events,
    read_operation,
    select_others,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.contracts.model import Contract
    from truecall_py.core.types import ToolCall
    from truecall_py.judging.receipt import Receipt
    from truecall_py.ledger.store import Ledger


def weigh_receipt(
    ledger: Ledger, key: bytes, contract: Contract, call: ToolCall, found: Outcome, at: float, by: str
) -> Outcome:
    """Returns the outcome of a look-up after weighing it against the ledger, and records what is new. One
    transaction, so that a concurrent process sees it. Raises LedgerError."""
    assert found.receipt is not None
    name = make_identity(contract, found.receipt["match"], key)
    receipt, over = ledger.change(lambda: weigh_in_transaction(ledger, name, contract, call, found, at, by))
    ledger.copy_log()
    if over:
        forget_call(os.path.dirname(ledger.path), call.session, call.call_id, OPERATIONS)
    return make_outcome(found, receipt)


def weigh_in_transaction(
    ledger: Ledger, name: str, contract: Contract, call: ToolCall, found: Outcome, at: float, by: str
) -> tuple[Receipt, bool]:
    """Does the same inside a transaction. Returns (the receipt to believe, whether its call need not be kept any
    longer). Raises LedgerError."""
    assert found.receipt is not None
    events = read_events(ledger, name)
    theirs = select_others(events, call, at)
    mine = [event for event in events if event not in theirs and event.event.startswith(INTENT)]
    began = mine[0].id if mine else 1 << 62
    earlier = fold_events(name, [event for event in theirs if event.id < began])
    receipt = {**found.receipt, "found": found.found, "operation": name}
    receipt = compare_with_ledger(receipt, earlier, fold_events(name, events), mine)
    if not receipt["state"] and (why := find_reused_key(ledger, mine)):
        receipt["found"] += why
    if receipt["state"] in STATES and (not receipt.get("known")):
        ledger.insert([make_receipt_event(contract, call, receipt, at, by, mine[0] if mine else None)])
    return receipt, receipt["state"] in FINAL and not has_other_open(ledger, call.session, call.call_id, name)


def compare_with_ledger(
    receipt: Receipt, earlier: Operation | None, now: Operation | None, mine: Sequence[Event]
) -> Receipt:
    """Returns the receipt to believe, given the operation before the call (`earlier`) and `now`."""
    if receipt["state"] not in STATES:
        return receipt
    keys = {str(event.data.get("key", "")) for event in mine} - {""}
    if earlier is not None and earlier.state != REFUTED and receipt["state"] == VERIFIED and not keys & earlier.keys:
        how = "was done already" if earlier.state in (VERIFIED, DUPLICATE) else "may have been done already"
        return {**receipt, "state": DUPLICATE,
                "found": f"this operation {how}, by call {earlier.last.call}, and was begun again with "
                f"{'another key' if keys else 'no key'}: {receipt['found']}"}  # fmt: skip
    if earlier is not None and is_stale(earlier.rejections, receipt):
        return {**receipt, "state": "", "found": f"the source has only the receipt of the attempt before this one: "
                f"{receipt['found']}"}  # fmt: skip
    known = now.receipt if now is not None else None
    if known is None:
        return receipt
    if now is not None and now.state == DUPLICATE:
        return {**receipt, **known, "state": DUPLICATE, "known": True, "found": known["found"] or receipt["found"]}
    if is_second_effect(known, receipt):
        names = f"{known['effect']} and {receipt['effect']}"
        return {**receipt, "state": DUPLICATE, "found": f"2 effects of this one operation are done: {names}"}
    try:
        chosen = choose_later(known, receipt)
    except Unverified as why:
        return {**receipt, "state": "", "found": why.why}
    if chosen is receipt:
        return {**receipt, "known": known["state"] == receipt["state"] and known["as_of"] == receipt["as_of"]}
    found = f"the source says {receipt['found']}, which is older than what it said before: {known['found']}"
    return {**receipt, **known, "found": found, "known": True}


def has_other_open(ledger: Ledger, session: str, call: str, name: str) -> bool:
    """Tells whether a call began another operation that is unsettled, so that it is still looked up. Raises
    LedgerError."""
    names = {event.identity for event in ledger.of(session, call) if event.event.startswith(INTENT)}
    operations = (read_operation(ledger, other) for other in names - {name})
    return any(operation is not None and operation.state in UNRESOLVED for operation in operations)


def find_reused_key(ledger: Ledger, mine: Sequence[Event]) -> str:
    """Describes the call that carried this call's idempotency key for another operation, or "". With a reused key a
    service may return its old answer. Raises LedgerError."""
    key = str(mine[0].data.get("key", "")) if mine else ""
    if not key:
        return ""
    sql = f"{SELECT} {OPERATION_EVENTS} AND identity <> ? AND id < ? AND instr(data, ?) ORDER BY id LIMIT 50"
    earlier = map(StoredEvent, ledger.query(sql, (mine[0].identity, mine[0].id, key)))
    call = next((event.call for event in earlier if event.data.get("key") == key), "")
    return f"; its idempotency key is that of another operation, of call {call}" if call else ""


def make_receipt_event(
    contract: Contract, call: ToolCall, receipt: Receipt, at: float, by: str, mine: Event | None
) -> Event:
    """Returns the event of a receipt. The same receipt of the same call is recorded once."""
    from truecall_py.core.fast_json import dumps
    from truecall_py.core.hashing import sha256

    mark = sha256(dumps([receipt["as_of"], receipt["effect"], receipt["which"]]).encode())[:12]
    data = {"contract": contract.id, "by": by, **{name: receipt[name] for name in ("as_of", "effect", "which")}}
    if contract.plain.get("store") != "none":
        data["found"] = shorten_phrase(receipt["found"])
    name = mine.call if mine is not None else name_call(call, at)
    return Event(call.session, name, f"{RECEIPT}{contract.id} {receipt['state']} {mark}", time.time(), call.harness,
                 name_turn(call), call.agent, call.tool, receipt["operation"], receipt["state"], data)  # fmt: skip


def make_outcome(found: Outcome, receipt: Receipt) -> Outcome:
    """Returns the outcome of a receipt, in place of the one that was found."""
    states = {VERIFIED: VERIFIED, REFUTED: REFUTED, DUPLICATE: REFUTED}
    state = states.get(receipt["state"], UNVERIFIED)
    cause = (found.cause or "world") if state == UNVERIFIED else ""
    about = {name: receipt.get(name) for name in (*(found.receipt or ()), "operation")}
    return Outcome(CHECK, state, found.expected, receipt["found"], cause, seconds=found.seconds, receipt=about)


def list_begun(events: Sequence[Event], call: str) -> list[str]:
    """Returns the operations that a call began, from the events of its session."""
    return [event.identity for event in events if event.call == call and event.event.startswith(INTENT)]


def find_unresolved(ledger: Ledger, events: Sequence[Event], call: str) -> dict[str, Any]:
    """Returns the unsettled operation that a call began, as a verdict names it, from the `events` of its session.
    Empty if there is none, or if its contract only observes. Raises LedgerError."""
    for operation in (read_operation(ledger, name) for name in list_begun(events, call)):
        if operation is not None and operation.state in UNRESOLVED and not operation.last.data.get("observe"):
            return {"contract": operation.contract, "operation": operation.identity, "owner": operation.owner}
    return {}


def drop_call(ledger: Ledger, event: Event) -> None:
    """Records that a call was never made, so that its operations are free. Raises LedgerError."""
    drop_intents(
        ledger, [event for event in ledger.of(event.session, event.call) if event.event.startswith(INTENT)], "stop"
    )


def drop_intents(ledger: Ledger, intents: Sequence[Event], by: str) -> None:
    """Records that intents are given up, and stops keeping calls for them. Raises LedgerError."""
    ledger.add(*make_dropped_events(intents, by))
    release_calls(ledger, intents)


def make_dropped_events(intents: Sequence[Event], by: str) -> list[Event]:
    """Returns the events that give intents up."""
    return [
        Event(intent.session, intent.call, f"{RECEIPT}{intent.event.removeprefix(INTENT)} {DROPPED}", time.time(),
              intent.harness, intent.turn, intent.agent, intent.tool, intent.identity, DROPPED,
              {"by": by, "contract": intent.data.get("contract", "")})
        for intent in intents
    ]  # fmt: skip


def release_calls(ledger: Ledger, intents: Sequence[Event]) -> None:
    """Stops keeping calls for intents that are given up. Raises LedgerError."""
    state = os.path.dirname(ledger.path)
    for intent in intents:
        if not has_other_open(ledger, intent.session, intent.call, intent.identity):
            forget_call(state, intent.session, intent.call, OPERATIONS)
