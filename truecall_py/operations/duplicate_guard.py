"""What a call means to do is written down before it is made, and what its source says of it afterwards is weighed
against what was known. Refuses a second call of an operation that is done or whose end is not known, and lets
nothing older replace what is newer. Never takes an approval, or the tool's own word, for a receipt.

What is written is only ever added to: a later event changes no intent. Where the ledger cannot be used nobody knows
whether an operation was begun before, and its call is refused, unless its contract only wants to hear of duplicates.
"""

from __future__ import annotations

import time

from truecall_py.contracts.facts import reported
from truecall_py.core.record import record
from truecall_py.core.types import DUPLICATE, REFUTED, UNRESOLVED, UNVERIFIED, VERIFIED, Outcome, ToolCall, Verdict
from truecall_py.judging.engine import Moment, classify_claim, make_world
from truecall_py.judging.polling import worst_state
from truecall_py.ledger.events import receipt_of
from truecall_py.ledger.store import ENDED, LedgerError
from truecall_py.operations.intents import Intent, event_of, intents, settled_by_receipt
from truecall_py.operations.lookup import applications_of, look_up
from truecall_py.operations.precedence import weighed
from truecall_py.operations.view import (
    Operation,
    fold,
    others,
    told_of,
)
from truecall_py.world.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecall_py.contracts.model import Contract
    from truecall_py.core.types import Correction
    from truecall_py.judging.recorder import Recorder
    from truecall_py.operations.recover import Left
    from truecall_py.trust.store import Source

PATIENCE = 5.0  # seconds for all look-ups before one call
UNTOLD = "whether it was begun before cannot be told, since the ledger cannot be used"


@record(frozen=True)
class Refusal:
    """Why a call is not let through: an earlier one of the same operation, and how that stands."""

    contract: Contract
    operation: Operation


# -- before the call -----------------------------------------------------------------------------------------------


def begun_before(
    recorder: Recorder | None, contracts: Sequence[Contract], call: ToolCall, ends: float, folder: str,
    transcript: str | None = None,
) -> str:  # fmt: skip
    """Why a call may not be made, in words; "" where it may. What it means to do is noted; `transcript` is the
    session's, which may say that an earlier call was never made; `memory` is None where the ledger cannot be used."""
    from truecall_py.messages.operations import render_duplicate as words
    from truecall_py.messages.operations import render_unknown_duplicate

    mine = settled_by_receipt(contracts)
    if recorder is not None:
        try:
            refusal = announced(recorder, mine, call, ends, folder, transcript)
            return "" if refusal is None else words(refusal.contract, refusal.operation, call)
        except LedgerError as error:
            recorder.trouble = error
    moment = Moment(min(ends, time.monotonic() + PATIENCE), time.time(), folder)
    blind = next((each for each in filter(strict, mine)
                  if applications_of(each, call, make_world(each, call, moment))), None)  # fmt: skip
    return "" if blind is None else render_unknown_duplicate(blind, call)


def strict(contract: Contract) -> bool:
    """Whether a second call of an operation is refused, and not only told of."""
    return bool(contract.plain["mode"] != "observe" and contract.plain["receipt"].get("duplicates") != "report")


def announced(
    recorder: Recorder, contracts: Sequence[Contract], call: ToolCall, ends: float, folder: str,
    transcript: str | None,
) -> Refusal | None:  # fmt: skip
    """Notes what a call means to do; the Refusal where it may not be made. Raises LedgerError."""
    moment = Moment(min(ends, time.monotonic() + PATIENCE), recorder.at, folder)
    meant = [each for contract in contracts for each in intents(contract, call, moment, recorder.history.key)]
    if not meant:
        return None
    left = orphans_of(recorder, contracts, moment)
    looked = (refused(recorder, each, call, moment, transcript) for each in meant)
    orphaned = (Refusal(each.contract, untold) for each in meant
                if strict(each.contract) and (untold := left.of(each.contract)) is not None)  # fmt: skip
    refusal = next(filter(None, looked), None) or next(orphaned, None) or noted(recorder, meant, call, folder)
    if refusal is not None:
        note_refusal(recorder, refusal)
    return refusal


def orphans_of(recorder: Recorder, contracts: Sequence[Contract], moment: Moment) -> Left:
    """What is left of calls that are kept and that the ledger did not know until now. Raises LedgerError."""
    from truecall_py.operations.recover import taken_in

    return taken_in(recorder.ledger, recorder.history.key, recorder.state, contracts, moment.ends)


def refused(
    recorder: Recorder, intent: Intent, call: ToolCall, moment: Moment, transcript: str | None
) -> Refusal | None:
    """The Refusal of one operation, after its source was asked about what is open; None where the call may be made.
    Raises LedgerError."""
    found = in_the_way(recorder, intent, call)
    if found is None or found.operation.state not in UNRESOLVED:
        return found
    free_those_never_made(recorder, found.operation, moment, transcript)
    look_up(recorder, intent.contract, found.operation, call, moment)
    return in_the_way(recorder, intent, call)


def in_the_way(recorder: Recorder, intent: Intent, call: ToolCall) -> Refusal | None:
    """The Refusal of one operation by what the ledger holds now. Raises LedgerError."""
    if intent.contract.plain["mode"] == "observe":
        return None
    earlier = fold(intent.identity, others(told_of(recorder.ledger, intent.identity), call, recorder.at))
    return None if earlier is None or allowed(intent, earlier) else Refusal(intent.contract, earlier)


def allowed(intent: Intent, earlier: Operation) -> bool:
    """Whether a call may be made beside what there was: what was rejected, a retry with the same key, or what the
    contract only wants to hear of."""
    if earlier.state == REFUTED or intent.key in earlier.keys:
        return True
    done = earlier.state in (VERIFIED, DUPLICATE)
    return done and intent.contract.plain["receipt"].get("duplicates") == "report"


def free_those_never_made(
    recorder: Recorder, earlier: Operation, moment: Moment, transcript: str | None
) -> None:
    """Notes which earlier calls were never made, by the client's own words in its transcript: a person said no.
    Raises LedgerError."""
    from truecall_py.clients.call_outcomes import fates
    from truecall_py.operations.precedence import drop

    endless = [each for each in earlier.attempts if recorder.ledger.find(each.session, each.call, ENDED) is None]
    told = fates(recorder.call.harness, transcript, [each.call for each in endless], World(ends=moment.ends))
    drop(recorder.ledger, [each for each in endless if each.call in told and told[each.call].never], "transcript")


def noted(recorder: Recorder, meant: Sequence[Intent], call: ToolCall, folder: str) -> Refusal | None:
    """Writes the intents down, all or none: what is in their way is looked at in the same transaction, so that of
    two that begin in one moment the second is refused. The call is kept first: whoever is killed in between leaves no
    intent that nobody can look up. Raises LedgerError."""
    events = [event_of(each, call, folder, recorder.at, recorder.history.key, recorder.private) for each in meant]

    def write() -> Refusal | None:
        refusal = next(filter(None, (in_the_way(recorder, each, call) for each in meant)), None)
        if refusal is None:
            hold(recorder, call, folder)
            recorder.ledger.insert(events)
        return refusal

    return recorder.ledger.changed(write)  # type: ignore[no-any-return]


def hold(recorder: Recorder, call: ToolCall, folder: str) -> None:
    """Keeps a call until its source has settled it, with the folder whose contracts counted for it."""
    if not recorder.private:
        from truecall_py.ledger.pending_calls import OPERATIONS, keep

        keep(recorder.state, call, recorder.at, recorder.history.identity(call), OPERATIONS, folder)


def note_refusal(recorder: Recorder, refusal: Refusal) -> None:
    """Writes down that a call was not let through. Raises LedgerError."""
    from truecall_py.ledger.store import REFUSED

    earlier = refusal.operation
    data = {"args": recorder.keep_args(), "why": "duplicate", "contract": refusal.contract.id,
            "operation": earlier.identity,
            "earlier": [earlier.last.session, earlier.last.call, earlier.state]}  # fmt: skip
    recorder.ledger.add(recorder.make_event(REFUSED, REFUTED, data))


# -- after the call ------------------------------------------------------------------------------------------------


def recalled(recorder: Recorder | None, contracts: Sequence[Contract], call: ToolCall, made: Sequence[Verdict],
             folder: str) -> list[Verdict]:  # fmt: skip
    """The verdicts, as they are when what was known of the operations is taken into account; what is learnt is
    written down. Where the ledger takes nothing they stay as the source alone makes them."""
    if recorder is None:
        return [forgotten(each) for each in made]
    by_id, mine = {(each.id, each.source): each for each in contracts}, settled_by_receipt(contracts)
    try:
        orphans_of(recorder, mine, Moment(time.monotonic() + PATIENCE, recorder.at, folder))
        for contract in mine:
            late(recorder, contract, call, folder)
        return [reweighed(recorder, by_id.get((each.contract, each.source)), call, each) for each in made]
    except LedgerError as error:
        recorder.trouble = error
        return [forgotten(each) for each in made]


def again(
    state: str, contracts: Sequence[Contract], call: ToolCall, made: Sequence[Verdict], folder: str
) -> list[Verdict]:
    """The same for a call that is judged once more. Raises LedgerError."""
    from truecall_py.judging.recorder import Recorder

    private = any(each.plain.get("store") == "none" for each in contracts)
    return recalled(Recorder(state, call, {}, private, named=True), contracts, call, made, folder)


def forgotten(verdict: Verdict) -> Verdict:
    """A verdict that says that nobody could look at what was there before."""
    outcomes = tuple(
        Outcome(**{**each.__dict__, "found": f"{each.found}; {UNTOLD}"}) if each.receipt is not None else each
        for each in verdict.outcomes
    )  # fmt: skip
    return Verdict(**{**verdict.__dict__, "outcomes": outcomes})


def late(recorder: Recorder, contract: Contract, call: ToolCall, folder: str) -> None:
    """Notes what a call meant to do where no hook was asked before it. Raises LedgerError."""
    moment = Moment(time.monotonic() + PATIENCE, recorder.at, folder)
    for each in intents(contract, call, moment, recorder.history.key, before=False):
        events = told_of(recorder.ledger, each.identity)
        if len(others(events, call, recorder.at)) == len(events):
            hold(recorder, call, folder)
            key, private = recorder.history.key, recorder.private
            recorder.ledger.add(event_of(each, call, folder, recorder.at, key, private, late=True))


def reweighed(recorder: Recorder, contract: Contract | None, call: ToolCall, verdict: Verdict) -> Verdict:
    """One verdict, with its receipt weighed against the ledger. Raises LedgerError."""
    receipt = receipt_of(verdict)
    if contract is None or receipt is None or receipt["match"] is None:
        return verdict
    outcomes = tuple(
        weighed(recorder.ledger, recorder.history.key, contract, call, each, recorder.at, "call")
        if each.receipt is not None else each
        for each in verdict.outcomes
    )  # fmt: skip
    state = worst_state(outcomes)
    said = reported(call, make_world(contract, call, Moment(time.monotonic() + PATIENCE, recorder.at)))
    causes = [each.cause for each in outcomes if each.state == UNVERIFIED]
    cause = next((name for name in causes if name in ("tool", "world")), causes[0] if causes else "")
    return Verdict(**{**verdict.__dict__, "outcomes": outcomes, "state": state, "cause": cause,
                      "outcome": classify_claim(state, said, outcomes)})  # fmt: skip


def with_progress(correction: Correction, recorder: Recorder, found: Sequence[Source], call: ToolCall) -> Correction:
    """The correction of a step that did not land, with how far the whole has come, which is written down as well."""
    from truecall_py.messages.operations import append_progress as words
    from truecall_py.operations.steps import STEPS, of_call

    try:
        recorder.history.loaded = None  # this call has ended since they were read
        told = of_call(found, recorder.ledger, recorder.history.events, call.call_id)
        if told:
            recorder.ledger.add(*(recorder.make_event(STEPS + name, "", {"found": said}) for name, said in told))
    except LedgerError as error:
        recorder.trouble = error
        return correction
    return words(correction, [said for _, said in told])
