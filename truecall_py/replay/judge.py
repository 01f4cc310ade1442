"""What contracts say of a past call, as far as the call itself tells. Never looks at today's world, which is not that
of then, and never runs anything: whatever would have to is said to need the world of then, and is not judged."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from truecall_py.checks import load_check
from truecall_py.clients.payload import make_unanswered
from truecall_py.clients.transcripts import Made
from truecall_py.contracts.facts import Facts
from truecall_py.contracts.model import COMBINATORS, Contract, is_guard, is_guard_only
from truecall_py.contracts.template import fill_fields
from truecall_py.core.errors import Unverified
from truecall_py.core.record import record
from truecall_py.core.types import DEADLINE, REFUTED, UNVERIFIED, VERIFIED, CheckSpec, Outcome, ToolCall
from truecall_py.guards.barrier import ALLOWED
from truecall_py.judging import polling
from truecall_py.judging.engine import Application, classify_claim, enter_application, find_applications, find_guarded
from truecall_py.trust.store import Source
from truecall_py.world.bounded_regex import Interrupted
from truecall_py.world.world import World

THEN = "needs the world of then"
WOULD_REFUSE = "would be refused"  # of a guard: the call was made, since nobody asked it then
STATES = (REFUTED, UNVERIFIED, THEN, VERIFIED)  # the worst first
ALLOWED_NAMES = ("at", "now", "remaining", "budget", "resolve", "search", "slow", "earlier", "alone")
SCHEMA_TIMEOUT = 5.0  # seconds for one schema


@record(frozen=True)
class Replayed:
    """What one contract says of one past call (with `{{file.…}}`: of one of its files)."""

    contract: str
    source: str
    mode: str
    state: str  # one of STATES
    outcome: str  # as engine.claim; of a guard ALLOWED or BARRED; "" where the world of then is needed
    outcomes: tuple[Outcome, ...]
    subject: str = ""


class Then(World):
    """The world of a past call: a clock, and nothing to look at. Every way out of it is shut."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if callable(found) and not name.startswith("_") and name not in ALLOWED_NAMES:
            raise Unverified(THEN, "harness")
        return found

    def at(self, base: str | None) -> World:
        return Then(base, self.project, self.ends, self.home, self.look, self.interpreter, self.session)

    def slow(self, job: dict[str, object], timeout: float = 5.0) -> dict[str, object]:
        """A schema, in this very process: a child for each of a million calls would take days."""
        if job.get("do") != "schema":
            raise Unverified(THEN, "harness")
        return validate_value(job)


def validate_value(job: dict[str, object]) -> dict[str, object]:
    """What is wrong with a value by a schema, within PATIENCE. Raises Unverified."""
    import signal

    from truecall_py.worker.schemas import validate

    def ended(number: int, frame: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, ended)
    signal.setitimer(signal.ITIMER_REAL, SCHEMA_TIMEOUT)
    try:
        return validate(job)
    except Unverified as trouble:
        raise Unverified(trouble.why, "contract") from None
    except Interrupted:
        raise Unverified(f"the schema took longer than {SCHEMA_TIMEOUT:g} s", "contract") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def judge_past_call(made: Made, sources: Sequence[Source]) -> list[Replayed]:
    """What every contract that applies says of a call; where nobody can tell whether one applies, that."""
    replayeds: list[Replayed] = []
    for source in sources:
        for contract in source.find_contracts(made.call):
            if is_guard(contract.plain):
                replayeds += judge_guards(contract, made)
            if not is_guard_only(contract.plain):
                replayeds += judge_contract(contract, made)
    return replayeds


def judge_guards(contract: Contract, made: Made) -> list[Replayed]:
    """What a contract would have said before the call was made, by what the call itself carries."""
    call = make_unanswered(made.call, made.call.event)
    if call.start_cwd is None and call.cwd is not None:  # as guarding.judged has it
        call = type(call)(**{**call.__dict__, "start_cwd": call.cwd})
    world = Then(call.start_cwd, contract.project, time.monotonic() + DEADLINE)
    applying = find_guarded(contract, call, world)
    if isinstance(applying, Outcome):
        return [build_verdict(contract, call, None, (applying,), guard=True)]
    replayeds = []
    for application in applying:
        facts = Facts(call, enter_application(world, application), application.file, application.match)
        specs = [CheckSpec(item["check"], item["params"]) for item in contract.plain.get("pre", ())]
        outcomes = [evaluate_check(spec, call, facts, "") for spec in specs]
        for effect in contract.plain.get("requires", ()):
            wanted = f"the effect {effect} was verified in that session"
            outcomes.append(Outcome("requires", THEN, wanted, THEN, "harness"))
        replayeds.append(build_verdict(contract, call, application, tuple(outcomes), guard=True))
    return replayeds


def judge_contract(contract: Contract, made: Made) -> list[Replayed]:
    call = made.call
    world = Then(call.start_cwd, contract.project, time.monotonic() + DEADLINE)
    try:
        # What only an answer tells may have held where there is none.
        applying = find_applications(contract, call, world, before=bool(made.trouble))
    except Unverified as why:
        expected = "to see whether the contract applies"
        return [build_verdict(contract, call, None, (Outcome("when", UNVERIFIED, expected, why.why, why.cause),))]
    if isinstance(applying, str):
        return []
    replayeds = []
    for application in applying:
        facts = Facts(call, enter_application(world, application), application.file, application.match)
        one = build_verdict(contract, call, application, check_contract(contract, made, facts))
        if one.state != UNVERIFIED or contract.plain.get("doubts") != "silent":
            replayeds.append(one)
    return replayeds


def check_contract(contract: Contract, made: Made, facts: Facts) -> tuple[Outcome, ...]:
    """What each check of a contract says; a receipt is its source's, which is not asked."""
    trouble = "the command went on in the background" if made.call.background else made.trouble
    outcomes = [
        evaluate_check(CheckSpec(item["check"], item["params"]), made.call, facts, trouble)
        for item in contract.plain["post"]
        if facts.file is None or polling.is_about(item, facts.file, contract)
    ]
    if "receipt" in contract.plain:
        outcomes.append(Outcome("receipt", THEN, describe_receipt(contract.plain["receipt"], facts), THEN, "harness"))
    return tuple(outcomes)


def describe_receipt(spec: dict[str, Any], facts: Facts) -> str:
    """The receipt that would settle the operation which a call is, in words."""
    from truecall_py.judging.receipt import describe_expected, resolve_match

    try:
        return describe_expected(spec, resolve_match(spec["match"], facts))
    except Unverified:
        return "a receipt of this operation from its source"


def needs_payload_only(spec: CheckSpec) -> bool:
    """Whether a check, or all that a combinator holds, looks at the call alone."""
    if spec.name in COMBINATORS:
        return all(needs_payload_only(check) for check in list_inner_checks(spec))
    try:
        declared = getattr(load_check(spec.name), "payload_only", None)
    except (KeyError, ImportError):
        return True  # looks says what is wrong with it
    return bool(declared is not None and declared(spec.params))


def list_inner_checks(spec: CheckSpec) -> list[CheckSpec]:
    """The checks of a combinator."""
    items = spec.params if isinstance(spec.params, list) else [spec.params]
    return [CheckSpec(item["check"], item["params"]) for item in items]


def evaluate_check(spec: CheckSpec, call: ToolCall, facts: Facts, trouble: str) -> Outcome:
    """The Outcome of one check; its state is THEN where only the world of then could tell."""
    if needs_payload_only(spec):
        if trouble:
            return Outcome(spec.name, UNVERIFIED, describe_expectation(spec, facts), trouble, "harness")
        return polling.evaluate_check(spec, call, facts)
    if spec.name not in COMBINATORS:
        return Outcome(spec.name, THEN, describe_expectation(spec, facts), THEN, "harness")
    outcomes = [evaluate_check(check, call, facts, trouble) for check in list_inner_checks(spec)]
    if spec.name == "not":
        return Outcome("not", THEN, f"not: {outcomes[0].expected}", THEN, "harness")
    # One that is refuted settles all_of whatever the world was, one that is verified any_of.
    settles = REFUTED if spec.name == "all_of" else VERIFIED
    sure = next((outcome for outcome in outcomes if outcome.state == settles), None)
    if sure is not None:
        return Outcome(spec.name, settles, sure.expected, sure.found, sure.cause)
    joined = (" and " if spec.name == "all_of" else " or ").join(outcome.expected for outcome in outcomes)
    return Outcome(spec.name, THEN, joined, THEN, "harness")


def describe_expectation(spec: CheckSpec, facts: Facts) -> str:
    """What a check asserts of this call, in words; its name where that cannot be said."""
    if spec.name in COMBINATORS:
        return spec.name
    try:
        check = load_check(spec.name)
        return str(check.expect(fill_fields(check.FIELDS, spec.params, facts)))
    except (Unverified, KeyError, ImportError, TypeError, ValueError):
        return f"{spec.name} holds"


def build_verdict(
    contract: Contract, call: ToolCall, application: Application | None, found: tuple[Outcome, ...],
    guard: bool = False,
) -> Replayed:  # fmt: skip
    """One contract's word on a call: the worst that its checks say; of a `guard`, whether it would have been made."""
    state = min((outcome.state for outcome in found), key=STATES.index, default=UNVERIFIED)
    subject = ""
    if application and application.file:
        subject = application.file.path
    elif application and application.match:
        subject = ", ".join(value for name, value in application.match.items() if name != "directory")
    outcome = "" if state == THEN else classify_claim(state, call.reported)
    if guard and outcome:
        outcome = ALLOWED if state == VERIFIED else WOULD_REFUSE
    mode = str(contract.plain.get("mode", "enforce"))
    return Replayed(contract.id, contract.source, mode, state, outcome, found, subject[:200])
