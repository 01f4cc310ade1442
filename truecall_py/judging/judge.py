"""Judges one call against the enforced contracts: from contracts to verdicts, correction and notices. The hook,
`verify` and `judge()` share it. Reads no standard input."""

from __future__ import annotations

from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecall_py.contracts.model import Contract
    from truecall_py.core.types import Correction, ToolCall, Verdict
    from truecall_py.judging.engine import Moment
    from truecall_py.judging.recorder import Recorder
    from truecall_py.trust.store import Source
    from truecall_py.world.snapshots import Snapshot


@record(frozen=True)
class Judgement:
    """The result of one call. `correction` is for the agent (None: nothing), `notices` are for the user."""

    call: ToolCall | None
    verdicts: tuple[Verdict, ...] = ()
    correction: Correction | None = None
    notices: tuple[str, ...] = ()

    @property
    def applied(self) -> tuple[str, ...]:
        """The ids of the contracts that were judged, without duplicates."""
        return tuple(dict.fromkeys(verdict.contract for verdict in self.verdicts))


def find_contracts(sources: Sequence[Source], call: ToolCall) -> list[Contract]:
    """Returns the contracts of all sources that name this call. Raises TrustError."""
    return [contract for source in sources for contract in source.find_contracts(call)]


def judge_contracts(
    contracts: Sequence[Contract], call: ToolCall, ends: float, session: str | None = None,
    snapshot: Snapshot | None = None, received: float | None = None,
) -> list[Verdict]:  # fmt: skip
    """Returns the verdicts of all contracts that apply, without those that are guards only. Each is judged, whatever
    the others say. `ends` is the monotonic time of the deadline, `session` the project folder (None: not known),
    `snapshot` the facts taken before the call, `received` when the hook got the call, in seconds since the epoch
    (None: now)."""
    import time

    from truecall_py.contracts.model import is_guard_only
    from truecall_py.judging.engine import Moment, judge_contract, make_unjudged
    from truecall_py.trust.store import find_changed_code

    moment = Moment(ends, time.time() if received is None else received, session, snapshot)
    call = restore_folder(call, snapshot)
    verdicts: list[Verdict] = []
    for contract in contracts:
        if is_guard_only(contract.plain):
            continue
        changed = find_changed_code(contract.plain) if contract.plain.get("pins") else ""
        if not changed:
            verdicts.extend(judge_contract(contract, call, moment))
        elif may_apply(contract, call, moment):
            why = f"{changed} was changed since the contract was trusted (or was not there then)"
            why += "; the user can run: truecall trust"
            verdicts.append(make_unjudged(contract, call, "the code that was trusted", why))
    return verdicts


def loses_folder(call: ToolCall) -> bool:
    """Tells whether a command changes its folder, so that its client cannot say afterwards where it started."""
    return call.start_cwd is None and "shell" in call.kinds


def find_snapshot(
    contracts: Sequence[Contract], call: ToolCall, state: str, ends: float | None = None,
    transcript: str | None = None,
) -> Snapshot | None:  # fmt: skip
    """Returns the snapshot taken before a call, or None. It is read only if a contract needs it, or if only it knows
    the folder in which the command started. `transcript` is searched until the monotonic time `ends` for the end of
    parallel calls that the hook never saw end."""
    if not loses_folder(call) and not any(contract.plain.get("before") for contract in contracts):
        return None
    from truecall_py.world import snapshots

    taken = snapshots.find_snapshot(state, call.session, call.call_id)
    if taken is None:
        return None
    snapshots.mark_ended(taken)
    at = taken.at

    def over(name: str) -> bool:
        from truecall_py.clients.call_outcomes import has_ended_before
        from truecall_py.world.world import World

        return has_ended_before(call.harness, transcript, name, at, World(ends=ends))

    return snapshots.Snapshot(**{**taken.__dict__, "over": over if transcript else None})


def restore_folder(call: ToolCall, snapshot: Snapshot | None) -> ToolCall:
    """Returns the call with its start folder, if only the snapshot knows it."""
    if snapshot is None or call.start_cwd is not None or snapshot.cwd is None:
        return call
    from truecall_py.core.types import ToolCall as Call

    return Call(**{**call.__dict__, "start_cwd": snapshot.cwd})


def take_snapshot(
    contracts: Sequence[Contract], call: ToolCall, ends: float, session: str | None = None
) -> Snapshot | None:
    """Returns the snapshot that the contracts which may apply need before a call; None if they need nothing."""
    wanted = [contract for contract in contracts if loses_folder(call) or contract.plain.get("before")]
    if not wanted:
        return None
    import time

    from truecall_py.judging.engine import Moment
    from truecall_py.judging.snapshot_before import TIME_LIMIT, read_facts
    from truecall_py.world.snapshots import Snapshot

    at = time.time()
    call = restore_folder(call, Snapshot(at, call.cwd, {}))
    observed = read_facts(wanted, call, Moment(min(ends, time.monotonic() + TIME_LIMIT), at, session))
    return None if observed is None else Snapshot(at, call.cwd, observed, call.agent, call.turn)


def may_apply(contract: Contract, call: ToolCall, moment: Moment, before: bool = False) -> bool:
    """Tells whether a contract that names this call applies to it, or may (`before` its end is known). True if that
    cannot be determined."""
    from truecall_py.core.errors import Unverified
    from truecall_py.judging.engine import find_applications, make_world

    try:
        return not isinstance(find_applications(contract, call, make_world(contract, call, moment), before), str)
    except Unverified:
        return True


def conclude(
    call: ToolCall, verdicts: Sequence[Verdict], notices: tuple[str, ...] = (), recorder: Recorder | None = None
) -> Judgement:
    """Turns verdicts into a Judgement: chooses the order and form of each and builds the correction. `recorder` reads
    earlier attempts and records this one."""
    if not verdicts:
        if recorder is not None:
            recorder.record_end((), {}, call.reported, {})
        return Judgement(call, (), None, notices)
    from truecall_py.core.types import FAILURE, REFUTED, VERIFIED

    plain = call.reported != FAILURE and not call.transcript and not call.event.endswith("Failure")
    if plain and all(verdict.state == VERIFIED for verdict in verdicts):
        if recorder is not None:
            recorder.record_end(verdicts, {}, call.reported, {})
        return Judgement(call, tuple(verdicts), None, notices)
    from truecall_py.clients.payload import find_text
    from truecall_py.contracts.facts import find_reported
    from truecall_py.policy.orders import ALREADY_DONE, OBSERVE, SILENT, SUCCEEDED_ANYWAY, deliver
    from truecall_py.world.world import World

    said = find_reported(call, World())
    trials = {} if recorder is None else recorder.read_trials(verdicts, said, find_text(call) or "")
    delivered = [(verdict, deliver(verdict, call, said, trials.get(at))) for at, verdict in enumerate(verdicts)]
    if any(verdict.state == REFUTED for verdict in verdicts):  # then "it did land" would be half the truth
        delivered = [pair for pair in delivered if pair[1].order not in (SUCCEEDED_ANYWAY, ALREADY_DONE)]
    if recorder is not None:
        delivered_as = {id(verdict): (delivery.order, delivery.form) for verdict, delivery in delivered}
        forms = {at: delivered_as.get(id(verdict), ("", SILENT)) for at, verdict in enumerate(verdicts)}
        recorder.record_end(verdicts, trials, said, forms)
    if all(delivery.form == SILENT for _, delivery in delivered):
        return Judgement(call, tuple(verdicts), None, notices)
    from truecall_py.messages.corrections import build_correction, render_hand_over_notice, render_observe_notice

    notes = tuple(render_observe_notice(verdict, call) for verdict, delivery in delivered if delivery.form == OBSERVE)
    by_verdict = {id(verdict): trials[at] for at, verdict in enumerate(verdicts) if at in trials}
    sent = build_correction(delivered, call, said, by_verdict, recorder is not None and recorder.ends)
    if sent is not None and sent.ends:
        notes += (render_hand_over_notice(call),)
    return Judgement(call, tuple(verdicts), sent, notices + notes)
