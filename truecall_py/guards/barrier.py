"""Asks the guards before a call is made: `pre` and `requires` of the contracts that name it, the cheapest first.
Decides whether the call may be made, and never lets one through that a guard could not be asked about.

A guard waits for nothing: one look each, all of them within one deadline, and the chain ends with the first stage in
which one does not hold."""

from __future__ import annotations

import os
import time

from truecall_py.checks import LOGIC, NAMES, STAGES, STRUCTURE, load_check, stage_of
from truecall_py.contracts.facts import Facts
from truecall_py.contracts.model import is_guard
from truecall_py.core.errors import Unverified
from truecall_py.core.record import record
from truecall_py.core.types import FAILURE, REFUTED, UNVERIFIED, VERIFIED, CheckSpec, Outcome, Verdict
from truecall_py.judging.engine import (
    Moment,
    enter_application,
    find_guarded,
    make_unjudged,
    make_verdict,
    make_world,
)
from truecall_py.judging.polling import evaluate_check, worst_state
from truecall_py.policy import retry_budgets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from truecall_py.contracts.model import Contract
    from truecall_py.core.types import Correction, Reply, ToolCall
    from truecall_py.guards.granted_effects import Given, Granted
    from truecall_py.judging.engine import Application
    from truecall_py.judging.recorder import Recorder
    from truecall_py.ledger.events import Trial
    from truecall_py.trust.store import Source
    from truecall_py.world.world import World

LOOKING = frozenset(("read", "fetch", "agent"))
PATIENCE = 10.0  # seconds for all guards of one call: half of what a hook may take
OBSERVE, ASK = "observe", "ask"
ALLOWED, NOT_MADE = "allowed", "not made"  # the outcome of a guard's verdict
NO_REPOSITORY = "not a git repository"
# Trouble of a look that is the same in a moment: what is not permitted, not trusted, not known, or never read.
LASTING = ("permission denied", "operation not permitted", "no such file or directory", "command not found",
           "does not trust", "certificate verify failed", "name or service not known",
           "no address associated with hostname", "is not read", "is not searched", "nested too deeply")  # fmt: skip


@record(frozen=True)
class Bar:
    """What the guards say of one call: `refused` by verdicts that stand in its way, `asks` where a person is to
    decide, `observed` where a contract only looks on, `met` by those that let it through. All that was judged is in
    `verdicts`."""

    call: ToolCall
    verdicts: tuple[Verdict, ...] = ()
    asking: frozenset[int] = frozenset()  # the id() of verdicts whose contract has a person asked in doubt

    @property
    def enforced(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.mode != OBSERVE and verdict.state != VERIFIED)

    @property
    def observed(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.mode == OBSERVE and verdict.state != VERIFIED)

    @property
    def met(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.state == VERIFIED)

    @property
    def asks(self) -> bool:
        """Whether nothing refuses, and a person may decide about what could not be told."""
        verdicts = self.enforced
        return bool(verdicts) and all(
            verdict.state == UNVERIFIED and id(verdict) in self.asking for verdict in verdicts
        )


class Guard:
    """One way in which one contract guards a call, and what its checks found so far."""

    def __init__(self, contract: Contract, call: ToolCall, world: World, application: Application) -> None:
        self.contract, self.call, self.application = contract, call, application
        self.world = enter_application(world, application)
        self.facts = Facts(call, self.world, application.file, application.match)
        self.facts.asks = True
        self.began = world.now()
        self.outcomes: list[Outcome] = []

    def look(self, stage: str, granted: Granted | Given | None) -> bool:
        """Asks the checks of one stage; whether all of them hold."""
        outcomes: list[Outcome] = []
        for item in self.contract.plain.get("pre", ()):
            if stage_of(item) == stage:
                outcomes.append(evaluate_check(CheckSpec(item["check"], item["params"]), self.call, self.facts))
        if stage == LOGIC:
            for effect in self.contract.plain.get("requires", ()):
                outcomes.append(required(effect, granted))
        self.outcomes += outcomes
        return all(outcome.state == VERIFIED for outcome in outcomes)

    @property
    def refuses(self) -> bool:
        """Whether what was found so far keeps the call from being made, whatever a person says."""
        plain = self.contract.plain
        state = worst_state(self.outcomes)
        return plain.get("mode") != OBSERVE and (state == REFUTED or plain.get("on_unverified") != ASK)

    @property
    def told(self) -> Verdict | None:
        """The verdict on what was asked; None where nothing was."""
        if not self.outcomes:
            return None
        outcomes = tuple(self.outcomes)
        return as_guard(make_verdict(self.contract, self.call, self.world, self.application, outcomes, self.began))


def required(effect: str, granted: Granted | Given | None) -> Outcome:
    """Whether an effect was verified in this session, and not refuted since."""
    expected = f"the effect {effect} was verified in this session"
    if granted is None:
        why = "what was verified in this session is not remembered (no session, or the ledger cannot be used)"
        return Outcome("requires", UNVERIFIED, expected, why, "truecall")
    try:
        return granted.outcome(effect)
    except Unverified as error:
        return Outcome("requires", UNVERIFIED, expected, error.why, error.cause)


def as_guard(found: Verdict) -> Verdict:
    """A verdict as one on a call that is not made yet: it has no outcome of its own, and its class is by what the
    guard found."""
    kind = found.kind or class_of(found)
    outcome = ALLOWED if found.state == VERIFIED else NOT_MADE
    return Verdict(**{**found.__dict__, "outcome": outcome, "kind": kind})


def class_of(found: Verdict) -> str:
    """The class of failure, by which it is known what to do next: the form of the arguments, something that is not
    there, what passes by, or another."""
    first = next((outcome for outcome in found.outcomes if outcome.state == found.state), None)
    if found.state == UNVERIFIED:
        return trouble(first) if first and first.cause == "probe" else retry_budgets.OTHER
    is_transient = getattr(load_check(first.check), "is_transient", None) if first and first.check in NAMES else None
    if is_transient and is_transient(first):
        return retry_budgets.TRANSIENT
    return retry_budgets.classify_failure(found, FAILURE, "")


def trouble(found: Outcome) -> str:
    """The class of a look that had trouble: it passes by, unless it says of itself that it lasts."""
    said = found.found.lower()
    if NO_REPOSITORY in said:
        return retry_budgets.MISSING
    return retry_budgets.OTHER if any(word in said for word in LASTING) else retry_budgets.TRANSIENT


def judged(
    contracts: Sequence[Contract], call: ToolCall, ends: float, session: str | None = None,
    granted: Granted | Given | None = None, stages: Sequence[str] = STAGES,
) -> Bar:  # fmt: skip
    """What the guards among `contracts` say of a call. `ends` is the monotonic time of the hook's deadline, `session`
    the folder of the session, `granted` what was verified in it (None: nobody knows)."""
    from truecall_py.trust.store import changed_code

    now = time.monotonic()
    moment = Moment(min(ends, now + PATIENCE), time.time(), session)
    if call.start_cwd is None and call.cwd is not None:  # what runs first runs in the folder that is named
        call = type(call)(**{**call.__dict__, "start_cwd": call.cwd})
    verdicts: list[Verdict] = []
    asking: set[int] = set()

    def tell(contract: Contract, found: Verdict | None) -> None:
        if found is not None:
            verdicts.append(found)
            if contract.plain.get("on_unverified") == ASK:
                asking.add(id(found))

    pending: list[Guard] = []
    for contract in contracts:
        if not is_guard(contract.plain):
            continue
        world = make_world(contract, call, moment)
        applying = find_guarded(contract, call, world)
        if isinstance(applying, Outcome):
            tell(contract, as_guard(make_verdict(contract, call, world, None, (applying,), now)))
            continue
        if not applying:
            continue
        changed = changed_code(contract.plain) if contract.plain.get("pins") else ""
        if changed:
            why_changed = f"{changed} was changed since the contract was trusted; the user can run: truecall trust"
            tell(contract, as_guard(make_unjudged(contract, call, "the code that was trusted", why_changed)))
            continue
        pending += [Guard(contract, call, world, application) for application in applying]
    chain(pending, stages, granted)
    for guard in pending:
        tell(guard.contract, guard.told)
    return Bar(call, tuple(verdicts), frozenset(asking))


def chain(pending: Sequence[Guard], stages: Sequence[str], granted: Granted | Given | None) -> None:
    """Asks stage by stage, every guard of a stage, and stops behind the first in which one does not hold. One that
    only observes stops nobody else."""
    waiting = list(pending)
    for stage in stages:
        held = {id(guard): guard.look(stage, granted) for guard in waiting}
        if any(not held[id(guard)] and guard.refuses for guard in waiting):
            return
        waiting = [guard for guard in waiting if held[id(guard)]]


def barrier(
    harness: ModuleType, found: Sequence[Source], calls: tuple[ToolCall, ToolCall], state: str, ends: float,
    session: str, recorder: Recorder | None, notices: tuple[str, ...],
) -> tuple[Reply | None, tuple[str, ...]]:  # fmt: skip
    """(the answer that keeps a call from being made, or None; `notices` with what else the person is told). `calls`
    are the call that was announced, and the one that its client makes of it (the same, mostly)."""
    from truecall_py.messages import guards as guard_words

    call, inner = calls
    contracts, lost = named(found, call, state)
    if lost:
        reply: Reply = harness.refuse(call.event, guard_words.render_unasked(lost), notices)
        return reply, notices
    granted = None
    if recorder is not None:
        from truecall_py.guards.granted_effects import Granted

        granted = Granted(recorder, found)
    bar = judged(contracts, call, ends, session, granted)
    if inner is not call:
        more = judged(named(found, inner, state)[0], inner, ends, session, granted)
        bar = Bar(call, (*bar.verdicts, *more.verdicts), bar.asking | more.asking)
    notices += tuple(guard_words.render_observe_notice(verdict, call) for verdict in bar.observed)
    if recorder is not None:
        recorder.note_guards(bar.observed, bar.met)
    if not bar.enforced:
        return None, notices
    trials = trials_of(recorder, bar.enforced)
    text = guard_words.render_refusal(bar.enforced, call, trials)
    if bar.asks and hasattr(harness, "ask"):
        reply = harness.ask(call.event, text, notices)
        return reply, notices
    if recorder is not None:
        orders = {id(verdict): guard_words.choose_order(verdict, trials.get(id(verdict))) for verdict in bar.enforced}
        recorder.record_refusal(bar.enforced, trials, orders)
        notices += recorder.take_complaint()
    reply = harness.refuse(call.event, text, notices)
    return reply, notices


def named(found: Sequence[Source], call: ToolCall, state: str) -> tuple[list[Contract], str]:
    """(the contracts that name a call, why that cannot be told where it cannot and there are guards). What only looks
    is let through then, as it is after the call."""
    from truecall_py.core.errors import TrustError

    contracts: list[Contract] = []
    lost = ""
    for source in found:
        refuses = source.refuses(call)
        try:
            contracts += source.named(call)
            wrong = source.why if source.damaged else ""
        except TrustError as error:
            wrong = error.what if refuses else ""
        if wrong and not lost and not (source.damaged and (call.kinds <= LOOKING or not marked(state))):
            lost = f"{source.path} {wrong}"
    return contracts, lost


def marked(state: str) -> bool:
    """Whether some trusted contract may refuse calls."""
    from truecall_py.trust.store import GUARDS

    return os.path.exists(os.path.join(state, GUARDS))


def trials_of(recorder: Recorder | None, verdicts: Sequence[Verdict]) -> dict[int, Trial]:
    """Where a refused call stands, by the id() of each verdict. An unreadable ledger knows nothing."""
    if recorder is None:
        return {}
    from truecall_py.ledger.store import LedgerError

    try:
        return {id(verdict): recorder.history.find_trial(recorder.call, verdict, FAILURE, "") for verdict in verdicts}
    except LedgerError as error:
        recorder.trouble = error
        return {}


def helped(found: Sequence[Source], call: ToolCall, ends: float, session: str) -> Correction | None:
    """What the guards would have said of a call that its client itself refused, as a Correction; None where they have
    nothing to say. Only what costs little is asked: the form of the arguments, and paths that are not there."""
    from truecall_py.core.errors import TrustError

    contracts: list[Contract] = []
    for source in found:
        try:
            contracts += source.named(call) if source.guards(call) else ()
        except TrustError:
            continue  # told with the call itself
    if not contracts:
        return None
    from truecall_py.clients.payload import unanswered
    from truecall_py.core.types import Correction as Told
    from truecall_py.messages import guards as guard_words

    bar = judged(contracts, unanswered(call, call.event), ends, session, None, (STRUCTURE, LOGIC))
    kinds = (retry_budgets.SCHEMA, retry_budgets.MISSING)
    wrong = [verdict for verdict in bar.enforced if verdict.state == REFUTED and verdict.kind in kinds]
    return Told(guard_words.render_client_refusal(wrong, call), False) if wrong else None
