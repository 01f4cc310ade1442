"""Finds the contracts that apply to a call and judges them against the world. The one place where a verdict
is decided; never speaks to anybody and never decides how a verdict is delivered."""

from __future__ import annotations

from truecall_py.checks import module
from truecall_py.contract import COMBINATORS
from truecall_py.errors import Unverified
from truecall_py.facts import Facts, reported
from truecall_py.matchers import describe, holds, shown
from truecall_py.records import record
from truecall_py.template import resolve
from truecall_py.types import (
    ABSENT,
    FAILURE,
    HONEST_FAILURE,
    LANDED,
    LIE,
    NOT_LANDED,
    REFUTED,
    SUCCESS,
    UNKNOWN,
    UNVERIFIED,
    VERIFIED,
    CheckSpec,
    Outcome,
    Verdict,
)  # fmt: skip
from truecall_py.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.contract import Contract
    from truecall_py.types import File, ToolCall

RANK = {REFUTED: 2, UNVERIFIED: 1, VERIFIED: 0}
PRESENCE, ABSENCE = ("add", "update"), ("delete", "move")


@record(frozen=True)
class Moment:
    """When and where a call is judged: `ends` is the monotonic time of the deadline, `received` the time since
    the epoch at which we were told of the call, `session` the folder of the session (None: not known)."""

    ends: float
    received: float
    session: str | None = None


@record(frozen=True)
class Application:
    """One way in which a contract applies: to one file of the call, with one capture of `runs`."""

    file: File | None = None
    match: dict[str, str] | None = None


def condition(path: str, matcher: dict[str, Any], facts: Facts) -> list[dict[str, str]] | None:
    """The captures of one `when` (one empty capture where it has no `runs`), None where it does not hold."""
    value = facts.get(path)
    captures: list[dict[str, str]] = [{}]
    if "runs" in matcher:
        if not isinstance(value, str):
            return None
        from truecall_py.runs import runs

        # The exit code may cost a look-up: it is asked for only if the command could match at all.
        found = runs(matcher["runs"], value, 0) and runs(matcher["runs"], value, exit_code_of(facts))
        if not found:
            return None
        captures = found
    rest = {operator: wanted for operator, wanted in matcher.items() if operator != "runs"}
    wanted = resolve(rest, facts)
    return captures if not rest or holds(wanted, value, facts.world, condition=True) else None


def exit_code_of(facts: Facts) -> int | None:
    value = facts.get("exit_code")
    return value if isinstance(value, int) else None


def applications(contract: Contract, call: ToolCall, world: World) -> list[Application] | str:
    """Every way in which a contract that names this call applies to it, or why it does not. Raises Unverified
    where a condition cannot be told."""
    files: Sequence[File | None] = (None,)
    if contract.plain.get("per_file"):
        files = relevant(contract, call)
        if not files:
            return "the call names no file that this contract is about"
    found: list[Application] = []
    why = ""
    for file in files:
        facts = Facts(call, world, file)
        captures: list[dict[str, str]] = [{}]
        for path, matcher in contract.plain.get("when", {}).items():
            here = condition(path, matcher, facts)
            if here is None:
                why = f"when: {path} must be one that {describe(matcher)}, and is {shown(facts.get(path), 80)}"
                break
            captures = [{**left, **right} for left in captures for right in here]
        else:
            found.extend(Application(file, match or None) for match in captures)
    return found or why


def relevant(contract: Contract, call: ToolCall) -> list[File]:
    """The files that at least one of the contract's checks is about."""
    return [file for file in call.files if any(about(item, file, contract) for item in contract.plain["post"])]


def about(item: dict[str, Any], file: File, contract: Contract) -> bool:
    """Whether a check is about a file of the call: that a file is gone is asked only of one that was deleted
    or moved away, all else only of the others. A condition on file.action decides alone."""
    if "file.action" in contract.plain.get("when", {}):
        return True
    if item["check"] in COMBINATORS:
        inside = item["params"]
        return any(about(each, file, contract) for each in (inside if isinstance(inside, list) else [inside]))
    gone = item["check"] == "file_absent" and item["params"].get("path") == "{{file.path}}"
    return file.action in (ABSENCE if gone else PRESENCE)


def world_of(contract: Contract, call: ToolCall, moment: Moment) -> World:
    """The world as this contract sees it, before anything is known of files and captures."""
    return World(
        call.start_cwd, contract.project, moment.ends, None, contract.seconds("timeout"),
        contract.plain.get("interpreter"), moment.session, moment.received,
    )  # fmt: skip


def judge(contract: Contract, call: ToolCall, moment: Moment) -> list[Verdict]:
    """One Verdict for every way in which a contract that names this call applies to it; none where it does
    not apply."""
    world = world_of(contract, call, moment)
    began = world.now()
    try:
        applying = applications(contract, call, world)
    except Unverified as why:
        return [untold(contract, call, "to see whether the contract applies", why.why, why.cause)]
    except Exception as error:
        return [verdict(contract, call, world, None, (broken("when", error),), began)]
    if isinstance(applying, str):
        return []
    found = []
    for application in applying:
        began = world.now()
        here = inside(world, application)
        facts = Facts(call, here, application.file, application.match)
        outcomes = watched(contract, call, facts)
        found.append(verdict(contract, call, here, application, outcomes, began))
    return found


def untold(contract: Contract, call: ToolCall, expected: str, why: str, cause: str = "contract") -> Verdict:
    """The Verdict of a contract that could not be judged at all."""
    world = World()
    outcome = Outcome("contract", UNVERIFIED, expected, why, cause)
    return verdict(contract, call, world, None, (outcome,), world.now())


def inside(world: World, application: Application) -> World:
    """The world of one application: relative paths start where the captured command itself ran."""
    folder = (application.match or {}).get("directory")
    if not folder:
        return world
    base = world.base
    if folder.startswith("/"):
        base = folder
    elif base is not None:
        base = world.resolve(folder)
    return World(
        base, world.project, world.ends, world.home, world.look, world.interpreter, world.session, world.received
    )


def watched(contract: Contract, call: ToolCall, facts: Facts) -> tuple[Outcome, ...]:
    """The outcomes of the last look. `within` looks until it holds; `stable_for` until it no longer does."""
    world = facts.world
    if call.background:
        why = "the command goes on in the background and is not finished"
        return (Outcome("background", UNVERIFIED, "a command that has ended", why, "harness"),)
    outcomes = look(contract, call, facts)
    if reported(call, world) == FAILURE:
        return outcomes
    every = contract.seconds("every") or 0.25
    patience = world.now() + (contract.seconds("within") or 0.0)
    while hopeful(outcomes) and world.now() < patience and not over(world):
        world.sleep(min(every, patience - world.now()))
        outcomes = look(contract, call, facts)
    if worst(outcomes) == REFUTED and world.now() < patience and over(world):
        why = "the time for all checks together was over before it had to hold; the last look found {}"
        return tuple(
            Outcome(each.check, UNVERIFIED, each.expected, why.format(each.found), "probe", (), each.seconds)
            if each.state == REFUTED else each
            for each in outcomes
        )  # fmt: skip
    settle = contract.seconds("stable_for")
    until = world.now() + (settle or 0.0)
    while settle and worst(outcomes) == VERIFIED and world.now() < until:
        if over(world):
            why = f"the time was over before it had held for {settle:g} s"
            return (*outcomes, Outcome("stable_for", UNVERIFIED, f"holds for {settle:g} s", why, "contract"))
        world.sleep(min(every, until - world.now()))
        outcomes = look(contract, call, facts)
    return outcomes


def hopeful(outcomes: Sequence[Outcome]) -> bool:
    """Whether another look could end otherwise: not where the contract itself is what is wrong."""
    return worst(outcomes) != VERIFIED and not any(outcome.cause in ("contract", "truecall") for outcome in outcomes)


def over(world: World) -> bool:
    return world.now() >= world.ends


def look(contract: Contract, call: ToolCall, facts: Facts) -> tuple[Outcome, ...]:
    return tuple(
        evaluate(CheckSpec(item["check"], item["params"]), call, facts)
        for item in contract.plain["post"]
        if facts.file is None or about(item, facts.file, contract)
    )


def evaluate(spec: CheckSpec, call: ToolCall, facts: Facts) -> Outcome:
    """The Outcome of one check or combinator, whatever goes wrong in it."""
    world = facts.world
    began = world.now()
    try:
        outcome = combined(spec, call, facts) if spec.name in COMBINATORS else checked(spec, call, facts)
    except Unverified as why:
        outcome = Outcome("", UNVERIFIED, why.expected or "a look at it", why.why, why.cause)
    except Exception as error:
        outcome = broken(spec.name, error)
    return Outcome(
        outcome.check or spec.name, outcome.state, outcome.expected, outcome.found, outcome.cause,
        outcome.candidates, world.now() - began, outcome.blank,
    )  # fmt: skip


def broken(name: str, error: Exception) -> Outcome:
    """A check that raises is a fault of truecall's: no verdict, and never the agent's to mend."""
    why = f"{name} ended with {type(error).__name__}: {str(error)[:200]}"
    return Outcome(name, UNVERIFIED, f"{name} to reach a verdict", why, "truecall")


def checked(spec: CheckSpec, call: ToolCall, facts: Facts) -> Outcome:
    try:
        check = module(spec.name)
    except (KeyError, ImportError) as error:
        raise Unverified(f"the check {spec.name} is not in this version of truecall ({error})", "truecall") from None
    if not spec.params or (check.ASSERTS and not any(name in spec.params for name in check.ASSERTS)):
        raise Unverified(f"{spec.name} asserts nothing", "contract")
    params = dict(spec.params)
    for field in check.FIELDS:
        if field.templated and field.name in params:
            params[field.name] = resolve(params[field.name], facts, field.kind)
    try:
        outcome = check.run(params, call, facts.world)
    except Unverified as why:
        return Outcome("", UNVERIFIED, why.expected or check.expect(params), why.why, why.cause)
    if not isinstance(outcome, Outcome) or outcome.state not in RANK:
        raise Unverified(f"{spec.name} answered {type(outcome).__name__} instead of an outcome", "truecall")
    return outcome


def combined(spec: CheckSpec, call: ToolCall, facts: Facts) -> Outcome:
    """all_of: the worst. any_of: the best, and its failures together. not: the opposite of a verdict. What
    could not be told stays so."""
    inside = spec.params if isinstance(spec.params, list) else [spec.params]
    outcomes = [evaluate(CheckSpec(item["check"], item["params"]), call, facts) for item in inside]
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
                       blank=any(outcome.blank for outcome in outcomes))
    if ranked[0].state == VERIFIED:
        return Outcome("any_of", VERIFIED, ranked[0].expected, ranked[0].found)
    # One that could not be told might have held: no verdict then.
    chosen = ranked[0]
    expected = " or ".join(outcome.expected for outcome in outcomes)
    found = "; ".join(outcome.found for outcome in outcomes)
    blank = any(outcome.blank for outcome in outcomes)
    return Outcome("any_of", chosen.state, expected, found, chosen.cause, blank=blank)


def worst(outcomes: Sequence[Outcome]) -> str:
    """The state that counts. No outcome at all is no evidence."""
    return max((outcome.state for outcome in outcomes), key=RANK.__getitem__, default=UNVERIFIED)


def claim(state: str, said: str) -> str:
    """What the verdict makes of the tool's claim (the outcomes of the contract format)."""
    if state == VERIFIED:
        return LANDED
    if state == UNVERIFIED:
        return UNKNOWN
    return {SUCCESS: LIE, FAILURE: HONEST_FAILURE}.get(said, NOT_LANDED)


def verdict(
    contract: Contract,
    call: ToolCall,
    world: World,
    application: Application | None,
    outcomes: tuple[Outcome, ...],
    began: float,
) -> Verdict:
    state = worst(outcomes)
    plain = contract.plain
    # Delivery follows the cause: a doubt that is the tool's or the world's doing outweighs one that is ours.
    causes = [outcome.cause for outcome in outcomes if outcome.state == UNVERIFIED]
    cause = next((name for name in causes if name in ("tool", "world")), causes[0] if causes else "")
    subject = ""
    if application and application.file:
        subject = application.file.path
    elif application and application.match:
        subject = ", ".join(value for name, value in application.match.items() if name != "directory")
    said = ABSENT if state == VERIFIED else reported(call, world)
    return Verdict(
        contract.id, state, claim(state, str(said)), outcomes, contract.source, plain.get("mode", "enforce"),
        plain.get("repeat", ""), plain.get("remedy", ""), tuple(plain.get("alternatives", ())), cause, subject,
        world.now() - began,
    )  # fmt: skip
