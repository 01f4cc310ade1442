"""Runs the checks of one contract as often as its timing says: once, `within`, `stable_for`, `agree`. Decides no
verdict."""

from __future__ import annotations

from truecall_py.checks import NAMES, load_check
from truecall_py.contracts.facts import Facts, find_reported
from truecall_py.contracts.model import COMBINATORS, Contract
from truecall_py.contracts.template import fill_fields
from truecall_py.core.errors import Unverified
from truecall_py.core.types import (
    FAILURE,
    NEW,
    OLD,
    REFUTED,
    UNTOLD,
    UNVERIFIED,
    VERIFIED,
    CheckSpec,
    File,
    Outcome,
    ToolCall,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any

    from truecall_py.world.world import World

RANK = {REFUTED: 2, UNVERIFIED: 1, VERIFIED: 0}
PRESENCE, ABSENCE = ("add", "update"), ("delete", "move")
WRITING = frozenset(("write", "edit"))  # the kinds of calls that touch each file that they name as added or updated


def is_about(item: dict[str, Any], file: File, contract: Contract) -> bool:
    """Tells whether a check is about a file of the call: a removal check about deleted and moved files, any other
    check about the rest. A condition on file.action decides alone."""
    if "file.action" in contract.plain.get("when", {}):
        return True
    if item["check"] in COMBINATORS:
        inside = item["params"]
        return any(is_about(item, file, contract) for item in (inside if isinstance(inside, list) else [inside]))
    return file.action in (ABSENCE if item.get("removal") else PRESENCE)


def poll(contract: Contract, call: ToolCall, facts: Facts) -> tuple[Outcome, ...]:
    """Returns the outcomes of the last probe. `within` probes until the checks hold, `stable_for` as long as they
    hold."""
    world = facts.world
    if call.background:
        why = "the command goes on in the background and is not finished"
        return (Outcome("background", UNVERIFIED, "a command that has ended", why, "harness"),)
    outcomes = run_checks(contract, call, facts)
    if find_reported(call, world) == FAILURE and "receipt" not in contract.plain:
        return outcomes
    interval = contract.seconds("every") or 0.25
    patience = world.now() + (contract.seconds("within") or 0.0)
    while may_change(outcomes) and world.now() < patience and not is_over(world):
        world.sleep(min(interval, patience - world.now()))
        outcomes = run_checks(contract, call, facts)
    if worst_state(outcomes) == REFUTED and world.now() < patience and is_over(world):
        why = "the time for all checks together was over before it had to hold; the last look found {}"
        return tuple(
            Outcome(old.check, UNVERIFIED, old.expected, why.format(old.found), "probe", (), old.seconds)
            if old.state == REFUTED else old
            for old in outcomes
        )  # fmt: skip
    settle = contract.seconds("stable_for")
    until = world.now() + (settle or 0.0)
    while settle and worst_state(outcomes) == VERIFIED and world.now() < until:
        if is_over(world):
            why = f"the time was over before it had held for {settle:g} s"
            return (*outcomes, Outcome("stable_for", UNVERIFIED, f"holds for {settle:g} s", why, "contract"))
        world.sleep(min(interval, until - world.now()))
        outcomes = run_checks(contract, call, facts)
    return confirm_agreement(contract, call, facts, outcomes)


def confirm_agreement(
    contract: Contract, call: ToolCall, facts: Facts, outcomes: tuple[Outcome, ...]
) -> tuple[Outcome, ...]:
    """Returns the outcomes if as many probes in a row as `agree` says have the same result. One reading can be wrong;
    probes that disagree are unverified."""
    world, state = facts.world, worst_state(outcomes)
    wanted = int(contract.plain.get("agree", 1))
    for number in range(2, wanted + 1):
        if worst_state(outcomes) == UNVERIFIED:
            break
        expected = f"{wanted} looks in a row that agree"
        if is_over(world):
            why = f"the time was over after {number - 1} of them"
            return (*outcomes, Outcome("agree", UNVERIFIED, expected, why, "contract"))
        world.sleep(contract.seconds("every") or 0.25)
        outcomes = run_checks(contract, call, facts)
        if worst_state(outcomes) not in (state, UNVERIFIED):
            why = f"look {number} found it {worst_state(outcomes)}, and the one before {state}"
            return (Outcome("agree", UNVERIFIED, expected, why, "probe"),)
    return outcomes


def may_change(outcomes: Sequence[Outcome]) -> bool:
    """Tells whether another probe could end differently: not if the contract itself is at fault, nor after a receipt
    refuted."""
    if any(outcome.receipt is not None and outcome.state == REFUTED for outcome in outcomes):
        return False
    own = any(outcome.cause in ("contract", "truecall") for outcome in outcomes)
    return worst_state(outcomes) != VERIFIED and not own


def is_over(world: World) -> bool:
    """Tells whether the deadline has passed."""
    return world.now() >= world.ends


def run_checks(contract: Contract, call: ToolCall, facts: Facts) -> tuple[Outcome, ...]:
    """Runs the post-conditions that are about the file at hand, and asks for the receipt if the contract has one."""
    outcomes = tuple(
        evaluate_check(CheckSpec(item["check"], item["params"]), call, facts)
        for item in contract.plain["post"]
        if facts.file is None or is_about(item, facts.file, contract)
    )
    return (*outcomes, ask_source(contract, call, facts)) if "receipt" in contract.plain else outcomes


def ask_source(contract: Contract, call: ToolCall, facts: Facts) -> Outcome:
    """Returns the Outcome of the contract's receipt, from the source of the operation."""
    try:
        from truecall_py.judging.receipt import judge_receipt

        return judge_receipt(contract, call, facts)
    except Exception as error:
        return report_crash("receipt", error)


def evaluate_check(spec: CheckSpec, call: ToolCall, facts: Facts) -> Outcome:
    """Returns the Outcome of one check or combinator. Every exception becomes an unverified one."""
    world = facts.world
    began = world.now()
    try:
        outcome = combine_outcomes(spec, call, facts) if spec.name in COMBINATORS else run_check(spec, call, facts)
    except Unverified as why:
        outcome = Outcome("", UNVERIFIED, why.expected or "a look at it", why.why, why.cause)
    except Exception as error:
        outcome = report_crash(spec.name, error)
    return Outcome(
        outcome.check or spec.name, outcome.state, outcome.expected, outcome.found, outcome.cause,
        outcome.candidates, world.now() - began, outcome.blank, outcome.effect, failure=outcome.failure,
    )  # fmt: skip


def report_crash(name: str, error: Exception) -> Outcome:
    """Returns the unverified Outcome of a check that raised: a bug in truecall, not the agent's fault."""
    why = f"{name} ended with {type(error).__name__}: {str(error)[:200]}"
    return Outcome(name, UNVERIFIED, f"{name} to reach a verdict", why, "truecall")


def run_check(spec: CheckSpec, call: ToolCall, facts: Facts) -> Outcome:
    """Runs one check with its parameters resolved. Raises Unverified."""
    try:
        check = load_check(spec.name)
    except (KeyError, ImportError) as error:
        raise Unverified(f"the check {spec.name} is not in this version of truecall ({error})", "truecall") from None
    if not spec.params or (check.ASSERTS and not any(name in spec.params for name in check.ASSERTS)):
        raise Unverified(f"{spec.name} asserts nothing", "contract")
    lacking = getattr(check, "lacking", None) if facts.asks else None
    missing: Outcome | None = lacking(spec.params, facts) if lacking else None
    if missing is not None:
        return missing
    params = fill_fields(check.FIELDS, spec.params, facts)
    try:
        outcome = check.run(params, call, facts.world)
    except Unverified as why:
        return Outcome("", UNVERIFIED, why.expected or check.expect(params), why.why, why.cause)
    if not isinstance(outcome, Outcome) or outcome.state not in RANK:
        raise Unverified(f"{spec.name} answered {type(outcome).__name__} instead of an outcome", "truecall")
    by_before = outcome.state == VERIFIED and depends_on_before(check, spec.params, outcome)
    if by_before and not facts.world.alone(spec.name, params):
        doubt = f"{outcome.found}, and another call about the same ran at the same time"
        return Outcome("", UNVERIFIED, outcome.expected, doubt, "probe")
    if outcome.state == REFUTED and check.FAILURE_CLASS:
        return Outcome(**{**outcome.__dict__, "failure": check.FAILURE_CLASS})
    return outcome


def depends_on_before(check: ModuleType, params: dict[str, Any], outcome: Outcome) -> bool:
    """Tells whether a verification rests on a change since the call began, which another call may have caused."""
    needs = getattr(check, "needs_snapshot", None)
    return outcome.effect == NEW or bool(needs is not None and needs(params))


def combine_outcomes(spec: CheckSpec, call: ToolCall, facts: Facts) -> Outcome:
    """Combines outcomes. all_of: the worst. any_of: the best, or all failures together. not: the opposite of a
    verdict; unverified stays unverified."""
    inside = spec.params if isinstance(spec.params, list) else [spec.params]
    outcomes = [evaluate_check(CheckSpec(item["check"], item["params"]), call, facts) for item in inside]
    if not outcomes:
        raise Unverified(f"{spec.name} holds no check", "contract")
    if spec.name == "not":
        only = outcomes[0]
        if only.state == REFUTED and only.blank:
            raise Unverified(f"{only.found}: that proves nothing about its opposite", "tool", f"not: {only.expected}")
        state = {VERIFIED: REFUTED, REFUTED: VERIFIED}.get(only.state, UNVERIFIED)
        return Outcome("not", state, f"not: {only.expected}", only.found, only.cause)
    ranked = sorted(outcomes, key=lambda outcome: RANK[outcome.state])
    if spec.name == "all_of":
        chosen = ranked[-1]
        return Outcome("all_of", chosen.state, chosen.expected, chosen.found, chosen.cause, chosen.candidates,
                       blank=any(outcome.blank for outcome in outcomes), effect=merge_effects(outcomes))
    if ranked[0].state == VERIFIED:
        held = [outcome for outcome in outcomes if outcome.state == VERIFIED]
        return Outcome("any_of", VERIFIED, ranked[0].expected, ranked[0].found, effect=merge_effects(held))
    # An unverified one might have held, so there is no verdict then.
    chosen = ranked[0]
    expected = " or ".join(outcome.expected for outcome in outcomes)
    evidence = "; ".join(outcome.found for outcome in outcomes)
    blank = any(outcome.blank for outcome in outcomes)
    return Outcome("any_of", chosen.state, expected, evidence, chosen.cause, blank=blank)


def merge_effects(outcomes: Sequence[Outcome]) -> str:
    """Combines the effects of the outcomes: one NEW is enough."""
    effects = [outcome.effect for outcome in outcomes]
    return NEW if NEW in effects else OLD if OLD in effects else UNTOLD


def is_untouched(contract: Contract, call: ToolCall, outcomes: Sequence[Outcome]) -> bool:
    """Tells whether a file that the call was to write or edit has not been touched. Every write changes the file's
    metadata, even with the same bytes; so the tool did nothing."""
    if not call.kinds & WRITING or not any(
        outcome.effect == OLD and marks_file(outcome.check) for outcome in outcomes
    ):
        return False
    checks = [item for item in contract.plain["post"] if marks_file(item["check"])]
    return any(item["params"].get("path") == "{{file.path}}" for item in checks)


def marks_file(name: str) -> bool:
    """Tells whether a check's effect is the metadata of its file, rather than its content."""
    return name in NAMES and getattr(load_check(name), "MARKS_FILE", False)


def mark_vacuous(outcomes: tuple[Outcome, ...], cause: str = "vacuous") -> tuple[Outcome, ...]:
    """Turns verified outcomes whose effect was there before the call into unverified ones."""
    why = "it was so before the call already, and nothing has changed since: {}"
    return tuple(
        Outcome(outcome.check, UNVERIFIED, outcome.expected, why.format(outcome.found), cause, (), outcome.seconds)
        if outcome.effect == OLD else outcome
        for outcome in outcomes
    )  # fmt: skip


def worst_state(outcomes: Sequence[Outcome]) -> str:
    """Returns the deciding state. No outcome is no evidence; and an unverified receipt decides, since only the source
    knows whether the operation is done."""
    if any(outcome.receipt is not None and outcome.state == UNVERIFIED for outcome in outcomes):
        return UNVERIFIED
    return max((outcome.state for outcome in outcomes), key=RANK.__getitem__, default=UNVERIFIED)
