"""What a call means to do is written down before it is made, and what its source says of it afterwards is weighed
against what was known. Refuses a second call of an operation that is done or whose end is not known, and lets
nothing older replace what is newer. Never takes an approval, or the tool's own word, for a receipt.

What is written is only ever added to: a later event changes no intent. Where the ledger cannot be used nobody knows
whether an operation was begun before, and its call is refused, unless its contract only wants to hear of duplicates.
"""

from __future__ import annotations

import time

from truecall_py.contracts.facts import Facts, reported
from truecall_py.contracts.template import resolve_text
from truecall_py.core.errors import Unverified
from truecall_py.core.record import record
from truecall_py.core.types import DUPLICATE, REFUTED, UNVERIFIED, VERIFIED, Outcome, ToolCall, Verdict
from truecall_py.judging.engine import Moment, applications, claim, inside, world_of
from truecall_py.judging.polling import worst
from truecall_py.judging.receipt import wanted
from truecall_py.ledger.events import phrase, receipt_of, turn_of
from truecall_py.ledger.store import ENDED, Event, LedgerError
from truecall_py.operations.lookup import applications_of, look_up
from truecall_py.operations.precedence import weighed
from truecall_py.operations.view import (
    INTENT,
    OPEN,
    Operation,
    digest,
    fold,
    identity,
    instance,
    name_of,
    others,
    told_of,
)
from truecall_py.world.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.contracts.model import Contract
    from truecall_py.core.types import Correction
    from truecall_py.judging.recorder import Remembering
    from truecall_py.operations.recover import Left
    from truecall_py.trust.store import Source

PATIENCE = 5.0  # seconds for all look-ups before one call
UNTOLD = "whether it was begun before cannot be told, since the ledger cannot be used"


@record(frozen=True)
class Intent:
    """One operation that a call is about to begin, or began: `match` resolved, `key` the digest of its idempotency
    key ("": it carries none), `name` that of its event."""

    contract: Contract
    match: dict[str, Any]
    identity: str
    key: str
    name: str


@record(frozen=True)
class Refusal:
    """Why a call is not let through: an earlier one of the same operation, and how that stands."""

    contract: Contract
    operation: Operation


def settled_by_receipt(contracts: Sequence[Contract]) -> list[Contract]:
    return [each for each in contracts if "receipt" in each.plain]


# -- before the call -----------------------------------------------------------------------------------------------


def begun_before(
    memory: Remembering | None, contracts: Sequence[Contract], call: ToolCall, ends: float, folder: str,
    transcript: str | None = None,
) -> str:  # fmt: skip
    """Why a call may not be made, in words; "" where it may. What it means to do is noted; `transcript` is the
    session's, which may say that an earlier call was never made; `memory` is None where the ledger cannot be used."""
    from truecall_py.messages.operations import begun_before as words
    from truecall_py.messages.operations import untold

    mine = settled_by_receipt(contracts)
    if memory is not None:
        try:
            refusal = announced(memory, mine, call, ends, folder, transcript)
            return "" if refusal is None else words(refusal.contract, refusal.operation, call)
        except LedgerError as error:
            memory.trouble = error
    moment = Moment(min(ends, time.monotonic() + PATIENCE), time.time(), folder)
    untellable = (each for each in mine if strict(each) and applications_of(each, call, world_of(each, call, moment)))
    blind = next(untellable, None)
    return "" if blind is None else untold(blind, call)


def strict(contract: Contract) -> bool:
    """Whether a second call of an operation is refused, and not only told of."""
    return bool(contract.plain["mode"] != "observe" and contract.plain["receipt"].get("duplicates") != "report")


def announced(
    memory: Remembering, contracts: Sequence[Contract], call: ToolCall, ends: float, folder: str,
    transcript: str | None,
) -> Refusal | None:  # fmt: skip
    """Notes what a call means to do; the Refusal where it may not be made. Raises LedgerError."""
    moment = Moment(min(ends, time.monotonic() + PATIENCE), memory.at, folder)
    meant = [each for contract in contracts for each in intents(contract, call, moment, memory.memory.key)]
    if not meant:
        return None
    left = orphans_of(memory, contracts, moment)
    looked = (refused(memory, each, call, moment, transcript) for each in meant)
    orphaned = (Refusal(each.contract, untold) for each in meant
                if strict(each.contract) and (untold := left.of(each.contract)) is not None)  # fmt: skip
    refusal = next(filter(None, looked), None) or next(orphaned, None) or noted(memory, meant, call, folder)
    if refusal is not None:
        note_refusal(memory, refusal)
    return refusal


def orphans_of(memory: Remembering, contracts: Sequence[Contract], moment: Moment) -> Left:
    """What is left of calls that are kept and that the ledger did not know until now. Raises LedgerError."""
    from truecall_py.operations.recover import taken_in

    return taken_in(memory.ledger, memory.memory.key, memory.state, contracts, moment.ends)


def intents(
    contract: Contract, call: ToolCall, moment: Moment, key: bytes, before: bool = True,
    unsure: list[str] | None = None,
) -> list[Intent]:  # fmt: skip
    """The operations that a call is, by one contract; none where that cannot be told (which is said after it): why
    goes into `unsure`."""
    world = world_of(contract, call, moment)
    unsure = [] if unsure is None else unsure
    try:
        applying = applications(contract, call, world, before)
    except Unverified as error:
        unsure.append(error.why)
        return []
    found = []
    for number, each in enumerate(applying if not isinstance(applying, str) else ()):
        facts = Facts(call, inside(world, each), each.file, each.match)
        try:
            match = wanted(contract.plain["receipt"]["match"], facts)
        except Unverified as error:
            unsure.append(error.why)
            continue
        name = f"{INTENT}{contract.id}{f' {number}' if number else ''}"
        found.append(Intent(contract, match, identity(contract, match, key), key_of(contract, facts, key), name))
    return found


def key_of(contract: Contract, facts: Facts, key: bytes) -> str:
    """The digest of the idempotency key that the call carries; "" where it carries none."""
    given = contract.plain.get("key")
    try:
        text = resolve_text(given, facts, "text") if given else ""
    except Unverified:
        return ""
    return digest(key, "key", text) if text else ""


def refused(
    memory: Remembering, intent: Intent, call: ToolCall, moment: Moment, transcript: str | None
) -> Refusal | None:
    """The Refusal of one operation, after its source was asked about what is open; None where the call may be made.
    Raises LedgerError."""
    found = in_the_way(memory, intent, call)
    if found is None or found.operation.state not in OPEN:
        return found
    free_those_never_made(memory, found.operation, moment, transcript)
    look_up(memory, intent.contract, found.operation, call, moment)
    return in_the_way(memory, intent, call)


def in_the_way(memory: Remembering, intent: Intent, call: ToolCall) -> Refusal | None:
    """The Refusal of one operation by what the ledger holds now. Raises LedgerError."""
    if intent.contract.plain["mode"] == "observe":
        return None
    earlier = fold(intent.identity, others(told_of(memory.ledger, intent.identity), call, memory.at))
    return None if earlier is None or allowed(intent, earlier) else Refusal(intent.contract, earlier)


def allowed(intent: Intent, earlier: Operation) -> bool:
    """Whether a call may be made beside what there was: what was rejected, a retry with the same key, or what the
    contract only wants to hear of."""
    if earlier.state == REFUTED or intent.key in earlier.keys:
        return True
    done = earlier.state in (VERIFIED, DUPLICATE)
    return done and intent.contract.plain["receipt"].get("duplicates") == "report"


def free_those_never_made(
    memory: Remembering, earlier: Operation, moment: Moment, transcript: str | None
) -> None:
    """Notes which earlier calls were never made, by the client's own words in its transcript: a person said no.
    Raises LedgerError."""
    from truecall_py.clients.call_outcomes import fates
    from truecall_py.operations.precedence import drop

    endless = [each for each in earlier.attempts if memory.ledger.find(each.session, each.call, ENDED) is None]
    told = fates(transcript, [each.call for each in endless], World(ends=moment.ends))
    drop(memory.ledger, [each for each in endless if each.call in told and told[each.call].never], "transcript")


def noted(memory: Remembering, meant: Sequence[Intent], call: ToolCall, folder: str) -> Refusal | None:
    """Writes the intents down, all or none: what is in their way is looked at in the same transaction, so that of
    two that begin in one moment the second is refused. The call is kept first: whoever is killed in between leaves no
    intent that nobody can look up. Raises LedgerError."""
    events = [event_of(each, call, folder, memory.at, memory.memory.key, memory.private) for each in meant]

    def write() -> Refusal | None:
        refusal = next(filter(None, (in_the_way(memory, each, call) for each in meant)), None)
        if refusal is None:
            hold(memory, call, folder)
            memory.ledger.insert(events)
        return refusal

    return memory.ledger.changed(write)  # type: ignore[no-any-return]


def hold(memory: Remembering, call: ToolCall, folder: str) -> None:
    """Keeps a call until its source has settled it, with the folder whose contracts counted for it."""
    if not memory.private:
        from truecall_py.ledger.pending_calls import OPERATIONS, keep

        keep(memory.state, call, memory.at, memory.memory.identity(call), OPERATIONS, folder)


def event_of(
    intent: Intent, call: ToolCall, folder: str, at: float, key: bytes, private: bool = False, late: bool = False
) -> Event:  # fmt: skip
    contract = intent.contract
    receipt = contract.plain["receipt"]
    data: dict[str, Any] = {
        "contract": contract.id, "source": contract.source, "project": contract.project, "folder": folder,
        "key": intent.key, "owner": receipt.get("owner", ""),
    }  # fmt: skip
    if not private:
        data["match"] = {path[:80]: phrase(str(value)) for path, value in intent.match.items()}
    if told := instance(intent.match, key):
        data["instance"] = told
    if receipt.get("review") is not None:
        data["review"] = at + float(receipt["review"])
    data |= {"late": True} if late else {}
    data |= {"observe": True} if contract.plain["mode"] == "observe" else {}
    return Event(call.session, name_of(call, at), intent.name, at, call.harness,
                 turn_of(call), call.agent, call.tool, intent.identity, "", data)  # fmt: skip


def note_refusal(memory: Remembering, refusal: Refusal) -> None:
    """Writes down that a call was not let through. Raises LedgerError."""
    from truecall_py.ledger.store import REFUSED

    earlier = refusal.operation
    data = {"args": memory.args(), "why": "duplicate", "contract": refusal.contract.id, "operation": earlier.identity,
            "earlier": [earlier.last.session, earlier.last.call, earlier.state]}  # fmt: skip
    memory.ledger.add(memory.event(REFUSED, REFUTED, data))


# -- after the call ------------------------------------------------------------------------------------------------


def recalled(memory: Remembering | None, contracts: Sequence[Contract], call: ToolCall, made: Sequence[Verdict],
             folder: str) -> list[Verdict]:  # fmt: skip
    """The verdicts, as they are when what was known of the operations is taken into account; what is learnt is
    written down. Where the ledger takes nothing they stay as the source alone makes them."""
    if memory is None:
        return [forgotten(each) for each in made]
    by_id, mine = {(each.id, each.source): each for each in contracts}, settled_by_receipt(contracts)
    try:
        orphans_of(memory, mine, Moment(time.monotonic() + PATIENCE, memory.at, folder))
        for contract in mine:
            late(memory, contract, call, folder)
        return [reweighed(memory, by_id.get((each.contract, each.source)), call, each) for each in made]
    except LedgerError as error:
        memory.trouble = error
        return [forgotten(each) for each in made]


def again(
    state: str, contracts: Sequence[Contract], call: ToolCall, made: Sequence[Verdict], folder: str
) -> list[Verdict]:
    """The same for a call that is judged once more. Raises LedgerError."""
    from truecall_py.judging.recorder import Remembering

    private = any(each.plain.get("store") == "none" for each in contracts)
    return recalled(Remembering(state, call, {}, private, named=True), contracts, call, made, folder)


def forgotten(verdict: Verdict) -> Verdict:
    """A verdict that says that nobody could look at what was there before."""
    outcomes = tuple(
        Outcome(**{**each.__dict__, "found": f"{each.found}; {UNTOLD}"}) if each.receipt is not None else each
        for each in verdict.outcomes
    )  # fmt: skip
    return Verdict(**{**verdict.__dict__, "outcomes": outcomes})


def late(memory: Remembering, contract: Contract, call: ToolCall, folder: str) -> None:
    """Notes what a call meant to do where no hook was asked before it. Raises LedgerError."""
    moment = Moment(time.monotonic() + PATIENCE, memory.at, folder)
    for each in intents(contract, call, moment, memory.memory.key, before=False):
        events = told_of(memory.ledger, each.identity)
        if len(others(events, call, memory.at)) == len(events):
            hold(memory, call, folder)
            memory.ledger.add(event_of(each, call, folder, memory.at, memory.memory.key, memory.private, late=True))


def reweighed(memory: Remembering, contract: Contract | None, call: ToolCall, verdict: Verdict) -> Verdict:
    """One verdict, with its receipt weighed against the ledger. Raises LedgerError."""
    receipt = receipt_of(verdict)
    if contract is None or receipt is None or receipt["match"] is None:
        return verdict
    outcomes = tuple(
        weighed(memory.ledger, memory.memory.key, contract, call, each, memory.at, "call")
        if each.receipt is not None else each
        for each in verdict.outcomes
    )  # fmt: skip
    state = worst(outcomes)
    said = reported(call, world_of(contract, call, Moment(time.monotonic() + PATIENCE, memory.at)))
    causes = [each.cause for each in outcomes if each.state == UNVERIFIED]
    cause = next((name for name in causes if name in ("tool", "world")), causes[0] if causes else "")
    return Verdict(**{**verdict.__dict__, "outcomes": outcomes, "state": state, "cause": cause,
                      "outcome": claim(state, said, outcomes)})  # fmt: skip


def with_progress(correction: Correction, memory: Remembering, found: Sequence[Source], call: ToolCall) -> Correction:
    """The correction of a step that did not land, with how far the whole has come, which is written down as well."""
    from truecall_py.messages.operations import with_progress as words
    from truecall_py.operations.steps import STEPS, of_call

    try:
        memory.memory.loaded = None  # this call has ended since they were read
        told = of_call(found, memory.ledger, memory.memory.events, call.call_id)
        if told:
            memory.ledger.add(*(memory.event(STEPS + name, "", {"found": said}) for name, said in told))
    except LedgerError as error:
        memory.trouble = error
        return correction
    return words(correction, [said for _, said in told])
