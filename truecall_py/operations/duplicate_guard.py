"""Refuses a second call of an operation that is done or has an unknown end. Records an intent before the call, and
weighs the source's receipt afterwards. Only a receipt from the source settles an operation, not an approval and not
the tool's own words.

Events are only added; a later one changes no intent. Without a ledger the history is unknown, and the call is refused
unless its contract only observes.
"""

from __future__ import annotations

import time

from truecall_py.contracts.facts import find_reported
from truecall_py.core.record import record
from truecall_py.core.types import (
    DUPLICATE,
    REFUTED,
    UNRESOLVED,
    UNVERIFIED,
    VERIFIED,
    Correction,
    Outcome,
    ToolCall,
    Verdict,
)
from truecall_py.judging.engine import Moment, classify_claim, make_world
from truecall_py.judging.polling import worst_state
from truecall_py.ledger.events import receipt_of
from truecall_py.ledger.store import ENDED, LedgerError
from truecall_py.operations.intents import Intent, find_intents, make_intent_event, select_with_receipt
from truecall_py.operations.lookup import list_applications, look_up_earlier
from truecall_py.operations.precedence import weigh_receipt
from truecall_py.operations.view import (
    Operation,
    fold_events,
    read_events,
    select_others,
)
from truecall_py.world.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecall_py.contracts.model import Contract
    from truecall_py.judging.recorder import Recorder
    from truecall_py.operations.recover import Left
    from truecall_py.trust.store import Source

TIME_LIMIT = 5.0  # seconds for all look-ups before one call
NO_LEDGER = "the ledger cannot be used, so it is not known whether it was begun before"


@record(frozen=True)
class Refusal:
    """Why a call is refused: an earlier call of the same operation, and its state."""

    contract: Contract
    operation: Operation


# -- before the call -----------------------------------------------------------------------------------------------


def explain_refusal(
    recorder: Recorder | None, contracts: Sequence[Contract], call: ToolCall, ends: float, folder: str,
    transcript: str | None = None,
) -> str:  # fmt: skip
    """Returns why a call is refused, or "". Records its intents. `transcript` is the session's, which may say that an
    earlier call was never made. `recorder` is None if the ledger cannot be used."""
    from truecall_py.messages.operations import render_duplicate as words
    from truecall_py.messages.operations import render_unknown_duplicate

    mine = select_with_receipt(contracts)
    if recorder is not None:
        try:
            refusal = announce_call(recorder, mine, call, ends, folder, transcript)
            return "" if refusal is None else words(refusal.contract, refusal.operation, call)
        except LedgerError as error:
            recorder.trouble = error
    moment = Moment(min(ends, time.monotonic() + TIME_LIMIT), time.time(), folder)
    blind = next((contract for contract in filter(is_strict, mine)
                  if list_applications(contract, call, make_world(contract, call, moment))), None)  # fmt: skip
    return "" if blind is None else render_unknown_duplicate(blind, call)


def is_strict(contract: Contract) -> bool:
    """Tells whether a second call of an operation is refused rather than only reported."""
    return bool(contract.plain["mode"] != "observe" and contract.plain["receipt"].get("duplicates") != "report")


def announce_call(
    recorder: Recorder, contracts: Sequence[Contract], call: ToolCall, ends: float, folder: str,
    transcript: str | None,
) -> Refusal | None:  # fmt: skip
    """Records the intents of a call. Returns the Refusal, or None. Raises LedgerError."""
    moment = Moment(min(ends, time.monotonic() + TIME_LIMIT), recorder.at, folder)
    intents_ = [
        intent for contract in contracts for intent in find_intents(contract, call, moment, recorder.history.key)
    ]
    if not intents_:
        return None
    orphans = recover_orphans(recorder, contracts, moment)
    refusals = (check_intent(recorder, intent, call, moment, transcript) for intent in intents_)
    orphaned = (
        Refusal(intent.contract, operation)
        for intent in intents_
        if is_strict(intent.contract) and (operation := orphans.match_contract(intent.contract)) is not None
    )
    refusal = (
        next(filter(None, refusals), None) or next(orphaned, None) or record_intents(recorder, intents_, call, folder)
    )
    if refusal is not None:
        record_refusal(recorder, refusal)
    return refusal


def recover_orphans(recorder: Recorder, contracts: Sequence[Contract], moment: Moment) -> Left:
    """Recovers kept calls that the ledger does not know, and returns what remains. Raises LedgerError."""
    from truecall_py.operations.recover import recover_calls

    return recover_calls(recorder.ledger, recorder.history.key, recorder.state, contracts, moment.ends)


def check_intent(
    recorder: Recorder, intent: Intent, call: ToolCall, moment: Moment, transcript: str | None
) -> Refusal | None:
    """Returns the Refusal of one operation, or None. Asks the source about open ones first. Raises LedgerError."""
    refusal = find_refusal(recorder, intent, call)
    if refusal is None or refusal.operation.state not in UNRESOLVED:
        return refusal
    drop_never_made(recorder, refusal.operation, moment, transcript)
    look_up_earlier(recorder, intent.contract, refusal.operation, call, moment)
    return find_refusal(recorder, intent, call)


def find_refusal(recorder: Recorder, intent: Intent, call: ToolCall) -> Refusal | None:
    """Returns the Refusal of one operation from the ledger alone, or None. Raises LedgerError."""
    if intent.contract.plain["mode"] == "observe":
        return None
    earlier = fold_events(
        intent.identity, select_others(read_events(recorder.ledger, intent.identity), call, recorder.at)
    )
    return None if earlier is None or is_allowed(intent, earlier) else Refusal(intent.contract, earlier)


def is_allowed(intent: Intent, earlier: Operation) -> bool:
    """Tells whether a call may follow the earlier ones: they were rejected, it is a retry with the same key, or the
    contract only observes."""
    if earlier.state == REFUTED or intent.key in earlier.keys:
        return True
    done = earlier.state in (VERIFIED, DUPLICATE)
    return done and intent.contract.plain["receipt"].get("duplicates") == "report"


def drop_never_made(
    recorder: Recorder, earlier: Operation, moment: Moment, transcript: str | None
) -> None:
    """Records which earlier calls were never made, because the transcript says that the user refused them. Raises
    LedgerError."""
    from truecall_py.clients.call_outcomes import read_fates
    from truecall_py.operations.precedence import drop_intents

    endless = [
        attempt for attempt in earlier.attempts if recorder.ledger.find(attempt.session, attempt.call, ENDED) is None
    ]
    outcomes = read_fates(
        recorder.call.harness, transcript, [event.call for event in endless], World(ends=moment.ends)
    )
    drop_intents(
        recorder.ledger,
        [event for event in endless if event.call in outcomes and outcomes[event.call].never],
        "transcript",
    )


def record_intents(recorder: Recorder, meant: Sequence[Intent], call: ToolCall, folder: str) -> Refusal | None:
    """Records all intents or none, checking for others in the same transaction, so that of two simultaneous calls the
    second is refused. The call is kept first, so that a kill in between leaves no intent that cannot be looked up.
    Raises LedgerError."""
    events = [
        make_intent_event(intent, call, folder, recorder.at, recorder.history.key, recorder.private)
        for intent in meant
    ]

    def write() -> Refusal | None:
        refusal = next(filter(None, (find_refusal(recorder, intent, call) for intent in meant)), None)
        if refusal is None:
            keep_call(recorder, call, folder)
            recorder.ledger.insert(events)
        return refusal

    return recorder.ledger.change(write)  # type: ignore[no-any-return]


def keep_call(recorder: Recorder, call: ToolCall, folder: str) -> None:
    """Keeps a call until its source has settled it, with the folder whose contracts apply."""
    if not recorder.private:
        from truecall_py.ledger.pending_calls import OPERATIONS, keep_call

        keep_call(recorder.state, call, recorder.at, recorder.history.identity(call), OPERATIONS, folder)


def record_refusal(recorder: Recorder, refusal: Refusal) -> None:
    """Records that a call was refused. Raises LedgerError."""
    from truecall_py.ledger.store import REFUSED

    earlier = refusal.operation
    data = {"args": recorder.keep_args(), "why": "duplicate", "contract": refusal.contract.id,
            "operation": earlier.identity,
            "earlier": [earlier.last.session, earlier.last.call, earlier.state]}  # fmt: skip
    recorder.ledger.add(recorder.make_event(REFUSED, REFUTED, data))


# -- after the call ------------------------------------------------------------------------------------------------


def apply_history(
    recorder: Recorder | None, contracts: Sequence[Contract], call: ToolCall, verdicts: Sequence[Verdict], folder: str
) -> list[Verdict]:  # fmt: skip
    """Returns the verdicts after weighing their receipts against the ledger, and records what is new. If the ledger
    cannot be written, the source's verdicts stand."""
    if recorder is None:
        return [mark_unknown_history(verdict) for verdict in verdicts]
    by_id, mine = {(contract.id, contract.source): contract for contract in contracts}, select_with_receipt(contracts)
    try:
        recover_orphans(recorder, mine, Moment(time.monotonic() + TIME_LIMIT, recorder.at, folder))
        for contract in mine:
            record_late_intent(recorder, contract, call, folder)
        return [
            reconcile_verdict(recorder, by_id.get((verdict.contract, verdict.source)), call, verdict)
            for verdict in verdicts
        ]
    except LedgerError as error:
        recorder.trouble = error
        return [mark_unknown_history(verdict) for verdict in verdicts]


def rejudge_with_history(
    state: str, contracts: Sequence[Contract], call: ToolCall, verdicts: Sequence[Verdict], folder: str
) -> list[Verdict]:
    """Does the same for a call that is judged once more. Raises LedgerError."""
    from truecall_py.judging.recorder import Recorder

    private = any(contract.plain.get("store") == "none" for contract in contracts)
    return apply_history(Recorder(state, call, {}, private, named=True), contracts, call, verdicts, folder)


def mark_unknown_history(verdict: Verdict) -> Verdict:
    """Returns a verdict that says that the history could not be read."""
    outcomes = tuple(
        Outcome(**{**outcome.__dict__, "found": f"{outcome.found}; {NO_LEDGER}"}) if outcome.receipt else outcome
        for outcome in verdict.outcomes
    )  # fmt: skip
    return Verdict(**{**verdict.__dict__, "outcomes": outcomes})


def record_late_intent(recorder: Recorder, contract: Contract, call: ToolCall, folder: str) -> None:
    """Records the intents of a call that no hook saw before it was made. Raises LedgerError."""
    moment = Moment(time.monotonic() + TIME_LIMIT, recorder.at, folder)
    for intent in find_intents(contract, call, moment, recorder.history.key, before=False):
        events = read_events(recorder.ledger, intent.identity)
        if len(select_others(events, call, recorder.at)) == len(events):
            keep_call(recorder, call, folder)
            key, private = recorder.history.key, recorder.private
            recorder.ledger.add(make_intent_event(intent, call, folder, recorder.at, key, private, late=True))


def reconcile_verdict(recorder: Recorder, contract: Contract | None, call: ToolCall, verdict: Verdict) -> Verdict:
    """Returns one verdict after weighing its receipt against the ledger. Raises LedgerError."""
    receipt = receipt_of(verdict)
    if contract is None or receipt is None or receipt["match"] is None:
        return verdict
    outcomes = tuple(
        weigh_receipt(recorder.ledger, recorder.history.key, contract, call, outcome, recorder.at, "call")
        if outcome.receipt is not None else outcome
        for outcome in verdict.outcomes
    )  # fmt: skip
    state = worst_state(outcomes)
    said = find_reported(call, make_world(contract, call, Moment(time.monotonic() + TIME_LIMIT, recorder.at)))
    causes = [outcome.cause for outcome in outcomes if outcome.state == UNVERIFIED]
    cause = next((name for name in causes if name in ("tool", "world")), causes[0] if causes else "")
    return Verdict(**{**verdict.__dict__, "outcomes": outcomes, "state": state, "cause": cause,
                      "outcome": classify_claim(state, said, outcomes)})  # fmt: skip


def add_progress(correction: Correction, recorder: Recorder, sources: Sequence[Source], call: ToolCall) -> Correction:
    """Returns the correction of a failed step with the progress of its operation. Records that progress."""
    from truecall_py.messages.operations import append_progress as words
    from truecall_py.operations.steps import STEPS, list_for_call

    try:
        recorder.history.loaded = None  # this call has ended since they were read
        progress = list_for_call(sources, recorder.ledger, recorder.history.events, call.call_id)
        if progress:
            recorder.ledger.add(*(recorder.make_event(STEPS + name, "", {"found": said}) for name, said in progress))
    except LedgerError as error:
        recorder.trouble = error
        return correction
    return words(correction, [said for _, said in progress])
