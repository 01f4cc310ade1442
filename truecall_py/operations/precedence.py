"""A receipt that was found now is weighed against what was known of the operation before: nothing older replaces what
is newer, a second effect is a duplicate, and the receipt of an attempt that was rejected says nothing of the next
one. What is learnt is written down once, whoever looks; asks no source itself.
"""

from __future__ import annotations

import os
import time

from truecall_py.core.errors import Unverified
from truecall_py.core.types import DUPLICATE, REFUTED, UNRESOLVED, UNVERIFIED, VERIFIED, Outcome
from truecall_py.judging.receipt import CHECK, FINAL, choose_later
from truecall_py.ledger.events import phrase, turn_of
from truecall_py.ledger.pending_calls import OPERATIONS, forget
from truecall_py.ledger.store import SELECT, Event, Kept
from truecall_py.operations.view import (
    DROPPED,
    INTENT,
    OF_OPERATIONS,
    RECEIPT,
    STATES,
    Operation,
    another,
    fold,
    identity,
    name_of,
    named,
    others,
    stale,
    told_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.contracts.model import Contract
    from truecall_py.core.types import ToolCall
    from truecall_py.judging.receipt import Receipt
    from truecall_py.ledger.store import Ledger


def weighed(
    ledger: Ledger, key: bytes, contract: Contract, call: ToolCall, found: Outcome, at: float, by: str
) -> Outcome:
    """The outcome of a look-up after what is known of the operation; writes down what is new. Both in one
    transaction: what another process learns meanwhile is known to whoever comes second. Raises LedgerError."""
    assert found.receipt is not None
    name = identity(contract, found.receipt["match"], key)
    receipt, over = ledger.changed(lambda: weigh(ledger, name, contract, call, found, at, by))
    ledger.copy_log()
    if over:
        forget(os.path.dirname(ledger.path), call.session, call.call_id, OPERATIONS)
    return as_outcome(found, receipt)


def weigh(
    ledger: Ledger, name: str, contract: Contract, call: ToolCall, found: Outcome, at: float, by: str
) -> tuple[Receipt, bool]:
    """The same inside of a transaction: (the receipt as it is to be believed, whether its call need not be kept any
    longer). Raises LedgerError."""
    assert found.receipt is not None
    events = told_of(ledger, name)
    theirs = others(events, call, at)
    mine = [each for each in events if each not in theirs and each.event.startswith(INTENT)]
    began = mine[0].id if mine else 1 << 62
    earlier = fold(name, [each for each in theirs if each.id < began])
    receipt = {**found.receipt, "found": found.found, "operation": name}
    receipt = against(receipt, earlier, fold(name, events), mine)
    if not receipt["state"] and (why := reused(ledger, mine)):
        receipt["found"] += why
    if receipt["state"] in STATES and (not receipt.get("known")):
        ledger.insert([learnt(contract, call, receipt, at, by, mine[0] if mine else None)])
    return receipt, receipt["state"] in FINAL and not others_open(ledger, call.session, call.call_id, name)


def against(receipt: Receipt, earlier: Operation | None, now: Operation | None, mine: Sequence[Event]) -> Receipt:
    """A receipt as it is to be believed after what was there before the call (`earlier`) and what is known `now`."""
    if receipt["state"] not in STATES:
        return receipt
    keys = {str(each.data.get("key", "")) for each in mine} - {""}
    if earlier is not None and earlier.state != REFUTED and receipt["state"] == VERIFIED and not keys & earlier.keys:
        how = "was done already" if earlier.state in (VERIFIED, DUPLICATE) else "may have been done already"
        return {**receipt, "state": DUPLICATE,
                "found": f"this operation {how}, by call {earlier.last.call}, and was begun again with "
                f"{'another key' if keys else 'no key'}: {receipt['found']}"}  # fmt: skip
    if earlier is not None and stale(earlier.rejections, receipt):
        return {**receipt, "state": "", "found": f"the source has only the receipt of the attempt before this one: "
                f"{receipt['found']}"}  # fmt: skip
    known = now.receipt if now is not None else None
    if known is None:
        return receipt
    if now is not None and now.state == DUPLICATE:
        return {**receipt, **known, "state": DUPLICATE, "known": True, "found": known["found"] or receipt["found"]}
    if another(known, receipt):
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


def others_open(ledger: Ledger, session: str, call: str, name: str) -> bool:
    """Whether a call began another operation that is not settled, so that it is still to be looked up. Raises
    LedgerError."""
    names = {each.identity for each in ledger.of(session, call) if each.event.startswith(INTENT)}
    return any((each := named(ledger, other)) is not None and each.state in UNRESOLVED for other in names - {name})


def reused(ledger: Ledger, mine: Sequence[Event]) -> str:
    """Which call carried the idempotency key of this one for another operation, in words; "" where none did. With
    such a key a service may answer with what it did then. Raises LedgerError."""
    key = str(mine[0].data.get("key", "")) if mine else ""
    if not key:
        return ""
    sql = f"{SELECT} {OF_OPERATIONS} AND identity <> ? AND id < ? AND instr(data, ?) ORDER BY id LIMIT 50"
    earlier = map(Kept, ledger.query(sql, (mine[0].identity, mine[0].id, key)))
    told = next((each.call for each in earlier if each.data.get("key") == key), "")
    return f"; its idempotency key is that of another operation, of call {told}" if told else ""


def learnt(contract: Contract, call: ToolCall, receipt: Receipt, at: float, by: str, mine: Event | None) -> Event:
    """The event of a receipt; the same receipt of the same call is written once, whoever looks."""
    from truecall_py.core.fast_json import dumps
    from truecall_py.core.hashing import sha256

    mark = sha256(dumps([receipt["as_of"], receipt["effect"], receipt["which"]]).encode())[:12]
    data = {"contract": contract.id, "by": by, **{name: receipt[name] for name in ("as_of", "effect", "which")}}
    if contract.plain.get("store") != "none":
        data["found"] = phrase(receipt["found"])
    name = mine.call if mine is not None else name_of(call, at)
    return Event(call.session, name, f"{RECEIPT}{contract.id} {receipt['state']} {mark}", time.time(), call.harness,
                 turn_of(call), call.agent, call.tool, receipt["operation"], receipt["state"], data)  # fmt: skip


def as_outcome(found: Outcome, receipt: Receipt) -> Outcome:
    """The outcome that a receipt makes, in the place of the one that was found."""
    states = {VERIFIED: VERIFIED, REFUTED: REFUTED, DUPLICATE: REFUTED}
    state = states.get(receipt["state"], UNVERIFIED)
    cause = (found.cause or "world") if state == UNVERIFIED else ""
    about = {name: receipt.get(name) for name in (*(found.receipt or ()), "operation")}
    return Outcome(CHECK, state, found.expected, receipt["found"], cause, seconds=found.seconds, receipt=about)


def meant(events: Sequence[Event], call: str) -> list[str]:
    """The operations that a call began, by the events of its session."""
    return [each.identity for each in events if each.call == call and each.event.startswith(INTENT)]


def in_doubt(ledger: Ledger, events: Sequence[Event], call: str) -> dict[str, Any]:
    """The operation that a call began, by the `events` of its session, and of which nobody knows how it stands, as a
    verdict names it; empty where there is none, or where it is only observed. Raises LedgerError."""
    for each in (named(ledger, name) for name in meant(events, call)):
        if each is not None and each.state in UNRESOLVED and not each.last.data.get("observe"):
            return {"contract": each.contract, "operation": each.identity, "owner": each.owner}
    return {}


def never_made(ledger: Ledger, event: Event) -> None:
    """Notes that a call was never made, so that its operations are free. Raises LedgerError."""
    drop(ledger, [each for each in ledger.of(event.session, event.call) if each.event.startswith(INTENT)], "stop")


def drop(ledger: Ledger, intents: Sequence[Event], by: str) -> None:
    """Notes that intents are given up, and keeps no call for them any longer. Raises LedgerError."""
    ledger.add(*dropped(intents, by))
    release(ledger, intents)


def dropped(intents: Sequence[Event], by: str) -> list[Event]:
    """The events that say of intents that they are given up."""
    return [
        Event(each.session, each.call, f"{RECEIPT}{each.event.removeprefix(INTENT)} {DROPPED}", time.time(),
              each.harness, each.turn, each.agent, each.tool, each.identity, DROPPED,
              {"by": by, "contract": each.data.get("contract", "")})
        for each in intents
    ]  # fmt: skip


def release(ledger: Ledger, intents: Sequence[Event]) -> None:
    """Keeps no call any longer for intents that are given up. Raises LedgerError."""
    state = os.path.dirname(ledger.path)
    for each in intents:
        if not others_open(ledger, each.session, each.call, each.identity):
            forget(state, each.session, each.call, OPERATIONS)
