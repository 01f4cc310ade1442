"""Judges the guards of a call before it is made: `pre` and `requires` of the contracts that name it, cheapest stage
first. A call passes only if every enforced guard was judged and verified.

Guards do not poll: each check probes once, all within one deadline. Judging ends after the first stage in which an
enforced guard fails.
"""

from __future__ import annotations

import os
import time

from truecall_py.checks import LOGIC, NAMES, STAGES, STRUCTURE, load_check, stage_of
from truecall_py.contracts.facts import Facts
from truecall_py.contracts.model import Contract, is_guard
from truecall_py.core.errors import Unverified
from truecall_py.core.record import record
from truecall_py.core.types import (
    FAILURE,
    READ_ONLY,
    REFUTED,
    UNVERIFIED,
    VERIFIED,
    CheckSpec,
    Correction,
    Outcome,
    Reply,
    ToolCall,
    Verdict,
)
from truecall_py.judging.engine import (
    Application,
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

    from truecall_py.guards.granted_effects import DeclaredEffects, GrantedEffects
    from truecall_py.judging.recorder import Recorder
    from truecall_py.ledger.events import Trial
    from truecall_py.trust.store import Source
    from truecall_py.world.world import World

    Effects = DeclaredEffects | GrantedEffects

TIME_LIMIT = 10.0  # seconds for all guards of one call, half of the hook's deadline
OBSERVE, ASK = "observe", "ask"
ALLOWED, NOT_MADE = "allowed", "not made"  # the outcome of a guard's verdict
NO_REPOSITORY = "not a git repository"
# Evidence of probe trouble that a retry does not cure.
LASTING_PHRASES = ("permission denied", "operation not permitted", "no such file or directory", "command not found",
           "does not trust", "certificate verify failed", "name or service not known",
           "no address associated with hostname", "is not read", "is not searched", "nested too deeply")  # fmt: skip


@record(frozen=True)
class GuardResult:
    """The verdicts of all guards of one call: `enforced` ones refuse it, `observed` ones only report, `passed` ones
    allow it. `asks_user` says that the client may ask the user instead of refusing."""

    call: ToolCall
    verdicts: tuple[Verdict, ...] = ()
    asking: frozenset[int] = frozenset()  # id() of the verdicts whose contract asks the user when unverified

    @property
    def enforced(self) -> tuple[Verdict, ...]:
        """The verdicts that are not verified, of contracts that enforce."""
        return tuple(verdict for verdict in self.verdicts if verdict.mode != OBSERVE and verdict.state != VERIFIED)

    @property
    def observed(self) -> tuple[Verdict, ...]:
        """The verdicts that are not verified, of contracts in observe mode."""
        return tuple(verdict for verdict in self.verdicts if verdict.mode == OBSERVE and verdict.state != VERIFIED)

    @property
    def passed(self) -> tuple[Verdict, ...]:
        """The verified verdicts."""
        return tuple(verdict for verdict in self.verdicts if verdict.state == VERIFIED)

    @property
    def asks_user(self) -> bool:
        """Whether the call is only unverified, and each contract concerned has `on_unverified: ask`."""
        verdicts = self.enforced
        return bool(verdicts) and all(
            verdict.state == UNVERIFIED and id(verdict) in self.asking for verdict in verdicts
        )


class Guard:
    """One application of a contract to a call before it is made, with the outcomes of its checks so far."""

    def __init__(self, contract: Contract, call: ToolCall, world: World, application: Application) -> None:
        self.contract, self.call, self.application = contract, call, application
        self.world = enter_application(world, application)
        self.facts = Facts(call, self.world, application.file, application.match)
        self.facts.asks = True
        self.began = world.now()
        self.outcomes: list[Outcome] = []

    def run_stage(self, stage: str, granted: Effects | None) -> bool:
        """Runs the checks of one stage. Returns whether all of them hold."""
        outcomes: list[Outcome] = []
        for item in self.contract.plain.get("pre", ()):
            if stage_of(item) == stage:
                outcomes.append(evaluate_check(CheckSpec(item["check"], item["params"]), self.call, self.facts))
        if stage == LOGIC:
            for effect in self.contract.plain.get("requires", ()):
                outcomes.append(judge_requirement(effect, granted))
        self.outcomes += outcomes
        return all(outcome.state == VERIFIED for outcome in outcomes)

    @property
    def refuses(self) -> bool:
        """Whether the outcomes so far refuse the call, whatever the user would answer."""
        plain = self.contract.plain
        state = worst_state(self.outcomes)
        return plain.get("mode") != OBSERVE and (state == REFUTED or plain.get("on_unverified") != ASK)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the outcomes so far; None if no check ran."""
        if not self.outcomes:
            return None
        outcomes = tuple(self.outcomes)
        verdict = make_verdict(self.contract, self.call, self.world, self.application, outcomes, self.began)
        return make_guard_verdict(verdict)


def judge_requirement(effect: str, granted: Effects | None) -> Outcome:
    """Returns the Outcome of one `requires`: verified if the effect was verified in this session and not refuted
    since. Unverified without a ledger."""
    expected = f"the effect {effect} was verified in this session"
    if granted is None:
        why = "what was verified in this session is not remembered (no session, or the ledger cannot be used)"
        return Outcome("requires", UNVERIFIED, expected, why, "truecall")
    try:
        return granted.judge_effect(effect)
    except Unverified as error:
        return Outcome("requires", UNVERIFIED, expected, error.why, error.cause)


def make_guard_verdict(verdict: Verdict) -> Verdict:
    """Turns a verdict into one on a call that is not made yet: its outcome is ALLOWED or NOT_MADE, and its class of
    failure comes from the guard's checks."""
    failure_class = verdict.kind or classify_guard(verdict)
    outcome = ALLOWED if verdict.state == VERIFIED else NOT_MADE
    return Verdict(**{**verdict.__dict__, "outcome": outcome, "kind": failure_class})


def classify_guard(verdict: Verdict) -> str:
    """Returns the class of failure of a guard's verdict (retry_budgets.CLASSES), which decides the order to the
    agent."""
    deciding = next((outcome for outcome in verdict.outcomes if outcome.state == verdict.state), None)
    if verdict.state == UNVERIFIED:
        return classify_trouble(deciding) if deciding and deciding.cause == "probe" else retry_budgets.OTHER
    if deciding and deciding.check in NAMES:
        is_transient = getattr(load_check(deciding.check), "is_transient", None)
        if is_transient and is_transient(deciding):
            return retry_budgets.TRANSIENT
    return retry_budgets.classify_failure(verdict, FAILURE, "")


def classify_trouble(outcome: Outcome) -> str:
    """Returns the class of an outcome whose probe had trouble: transient, unless its evidence says that it lasts."""
    evidence = outcome.found.lower()
    if NO_REPOSITORY in evidence:
        return retry_budgets.MISSING
    return retry_budgets.OTHER if any(word in evidence for word in LASTING_PHRASES) else retry_budgets.TRANSIENT


def judge_guards(
    contracts: Sequence[Contract], call: ToolCall, ends: float, session: str | None = None,
    granted: Effects | None = None, stages: Sequence[str] = STAGES,
) -> GuardResult:  # fmt: skip
    """Judges the guards among `contracts` for a call. `ends` is the monotonic time of the hook's deadline, `session`
    the project folder, `granted` the effects verified in this session (None: not known)."""
    from truecall_py.trust.store import find_changed_code

    now = time.monotonic()
    moment = Moment(min(ends, now + TIME_LIMIT), time.time(), session)
    if call.start_cwd is None and call.cwd is not None:  # its first command runs in that folder
        call = type(call)(**{**call.__dict__, "start_cwd": call.cwd})
    verdicts: list[Verdict] = []
    asking: set[int] = set()

    def add_verdict(contract: Contract, verdict: Verdict | None) -> None:
        if verdict is not None:
            verdicts.append(verdict)
            if contract.plain.get("on_unverified") == ASK:
                asking.add(id(verdict))

    pending: list[Guard] = []
    for contract in contracts:
        if not is_guard(contract.plain):
            continue
        world = make_world(contract, call, moment)
        applications = find_guarded(contract, call, world)
        if isinstance(applications, Outcome):
            add_verdict(contract, make_guard_verdict(make_verdict(contract, call, world, None, (applications,), now)))
            continue
        if not applications:
            continue
        changed_file = find_changed_code(contract.plain) if contract.plain.get("pins") else ""
        if changed_file:
            reason = f"{changed_file} was changed since the contract was trusted; the user can run: truecall trust"
            unjudged = make_unjudged(contract, call, "the code that was trusted", reason)
            add_verdict(contract, make_guard_verdict(unjudged))
            continue
        pending += [Guard(contract, call, world, application) for application in applications]
    run_stages(pending, stages, granted)
    for guard in pending:
        add_verdict(guard.contract, guard.verdict)
    return GuardResult(call, tuple(verdicts), frozenset(asking))


def run_stages(pending: Sequence[Guard], stages: Sequence[str], granted: Effects | None) -> None:
    """Runs every guard stage by stage, and ends after the first stage in which an enforced guard fails. A guard that
    only observes and fails leaves the run alone."""
    remaining = list(pending)
    for stage in stages:
        results = {id(guard): guard.run_stage(stage, granted) for guard in remaining}
        if any(not results[id(guard)] and guard.refuses for guard in remaining):
            return
        remaining = [guard for guard in remaining if results[id(guard)]]


def answer_guards(
    client: ModuleType, sources: Sequence[Source], calls: tuple[ToolCall, ToolCall], state: str, ends: float,
    session: str, recorder: Recorder | None, notices: tuple[str, ...],
) -> tuple[Reply | None, tuple[str, ...]]:  # fmt: skip
    """Returns (the reply that refuses the call or asks the user, or None; `notices` with those of observing guards).
    `calls` are the announced call and the call that its client makes of it, mostly the same."""
    from truecall_py.messages import guards as guard_words

    call, inner = calls
    contracts, trouble = find_contracts(sources, call, state)
    if trouble:
        reply: Reply = client.refuse(call.event, guard_words.render_unasked(trouble), notices)
        return reply, notices
    granted = None
    if recorder is not None:
        from truecall_py.guards.granted_effects import GrantedEffects

        granted = GrantedEffects(recorder, sources)
    result = judge_guards(contracts, call, ends, session, granted)
    if inner is not call:
        inner_result = judge_guards(find_contracts(sources, inner, state)[0], inner, ends, session, granted)
        result = GuardResult(call, (*result.verdicts, *inner_result.verdicts), result.asking | inner_result.asking)
    notices += tuple(guard_words.render_observe_notice(verdict, call) for verdict in result.observed)
    if recorder is not None:
        recorder.note_guards(result.observed, result.passed)
    if not result.enforced:
        return None, notices
    trials = read_trials(recorder, result.enforced)
    text = guard_words.render_refusal(result.enforced, call, trials)
    if result.asks_user and hasattr(client, "ask"):
        reply = client.ask(call.event, text, notices)
        return reply, notices
    if recorder is not None:
        orders = {
            id(verdict): guard_words.choose_order(verdict, trials.get(id(verdict))) for verdict in result.enforced
        }
        recorder.record_refusal(result.enforced, trials, orders)
        notices += recorder.take_complaint()
    reply = client.refuse(call.event, text, notices)
    return reply, notices


def find_contracts(sources: Sequence[Source], call: ToolCall, state: str) -> tuple[list[Contract], str]:
    """Returns (the contracts that name a call, "" or why a contract file that may hold refusing guards cannot be
    read). A call that only reads passes a damaged pin, as it does after the call."""
    from truecall_py.core.errors import TrustError

    contracts: list[Contract] = []
    trouble = ""
    for source in sources:
        may_refuse = source.may_refuse(call)
        try:
            contracts += source.find_contracts(call)
            fault = source.why if source.damaged else ""
        except TrustError as error:
            fault = error.what if may_refuse else ""
        harmless = source.damaged and (call.kinds <= READ_ONLY or not has_refusing_guards(state))
        if fault and not trouble and not harmless:
            trouble = f"{source.path} {fault}"
    return contracts, trouble


def has_refusing_guards(state: str) -> bool:
    """Tells whether some trusted contract may refuse calls."""
    from truecall_py.trust.store import GUARDS

    return os.path.exists(os.path.join(state, GUARDS))


def read_trials(recorder: Recorder | None, verdicts: Sequence[Verdict]) -> dict[int, Trial]:
    """Returns the attempts so far by the id() of each verdict; {} if the ledger cannot be read."""
    if recorder is None:
        return {}
    from truecall_py.ledger.store import LedgerError

    try:
        return {id(verdict): recorder.history.find_trial(recorder.call, verdict, FAILURE, "") for verdict in verdicts}
    except LedgerError as error:
        recorder.trouble = error
        return {}


def explain_client_refusal(sources: Sequence[Source], call: ToolCall, ends: float, session: str) -> Correction | None:
    """Returns a Correction that explains a call which its client refused by itself, or None. Only cheap checks run:
    the form of the arguments and missing paths."""
    from truecall_py.core.errors import TrustError

    contracts: list[Contract] = []
    for source in sources:
        try:
            contracts += source.find_contracts(call) if source.may_guard(call) else ()
        except TrustError:
            continue  # reported with the verdict on the call itself
    if not contracts:
        return None
    from truecall_py.clients.payload import make_unanswered
    from truecall_py.core.types import Correction as CorrectionType
    from truecall_py.messages import guards as guard_words

    result = judge_guards(contracts, make_unanswered(call, call.event), ends, session, None, (STRUCTURE, LOGIC))
    kinds = (retry_budgets.SCHEMA, retry_budgets.MISSING)
    wrong = [verdict for verdict in result.enforced if verdict.state == REFUTED and verdict.kind in kinds]
    return CorrectionType(guard_words.render_client_refusal(wrong, call), False) if wrong else None
