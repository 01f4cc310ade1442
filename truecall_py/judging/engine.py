"""Finds how contracts apply to a call and decides their verdicts. The only module that decides a verdict; how it is
delivered is decided elsewhere."""

from __future__ import annotations

from truecall_py.checks import STRUCTURE, stage_of
from truecall_py.contracts.facts import Facts, find_reported
from truecall_py.contracts.matchers import describe, matches, quote_value
from truecall_py.contracts.model import ANSWERED, Contract
from truecall_py.contracts.template import resolve
from truecall_py.core.errors import Unverified
from truecall_py.core.record import record
from truecall_py.core.types import (  # fmt: skip
    ABSENT,
    DUPLICATE,
    FAILURE,
    FALSE_SUCCESS,
    LANDED,
    NOT_LANDED,
    OLD,
    REFUTED,
    REPORTED_FAILURE,
    SUCCESS,
    UNKNOWN,
    UNVERIFIED,
    VERIFIED,
    File,
    Outcome,
    ToolCall,
    Verdict,
)
from truecall_py.judging.polling import (
    is_about,
    is_untouched,
    mark_vacuous,
    merge_effects,
    poll,
    report_crash,
    worst_state,
)
from truecall_py.world.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.world.snapshots import Snapshot


@record(frozen=True)
class Moment:
    """When and where a call is judged: `ends` is the monotonic time of the deadline, `received` when the hook got the
    call (seconds since the epoch), `session` the project folder (None: not known), `snapshot` the facts taken before
    the call (None: none)."""

    ends: float
    received: float
    session: str | None = None
    snapshot: Snapshot | None = None


@record(frozen=True)
class Application:
    """One way in which a contract applies: to one file of the call, with one capture of `runs`."""

    file: File | None = None
    match: dict[str, str] | None = None


def match_condition(
    path: str, matcher: dict[str, Any], facts: Facts, before: bool = False, guard: bool = False,
    anywhere: bool = False,
) -> list[dict[str, str]] | None:  # fmt: skip
    """Returns the captures of one `when` (one empty capture without `runs`), or None if it does not hold. With
    `before` the call is not made yet, so a condition on its answer counts as holding."""
    if before and path.partition(".")[0] in ANSWERED:
        return [{}]
    value = facts.get(path)
    captures: list[dict[str, str]] = [{}]
    if "runs" in matcher:
        if not isinstance(value, str):
            return None
        captures = []
        for pattern in matcher["runs"]:
            captured = match_runs(pattern, value, facts, before, guard, anywhere)
            captures += [match for match in captured if match not in captures]
        if not captures:
            return None
    rest = {operator: wanted for operator, wanted in matcher.items() if operator != "runs"}
    wanted = resolve(rest, facts)
    return captures if not rest or matches(wanted, value, facts.world, condition=True) else None


def match_runs(
    pattern: str, command: str, facts: Facts, before: bool, guard: bool = False, anywhere: bool = False
) -> list[dict[str, str]]:
    """Returns the captures of a `runs` pattern in a command; [] if it does not match."""
    program = pattern.partition(" ")[0]
    redirects = " > " in pattern or " >> " in pattern
    if (program.isalnum() and program not in command) or (redirects and ">" not in command):
        return []  # without loading the parser
    from truecall_py.shell.runs import runs

    # The exit code may need a look-up, so it is read only if the command can match.
    found = runs(pattern, command, 0, guard, anywhere)
    return (found if before or not found else runs(pattern, command, get_exit_code(facts))) or []


def get_exit_code(facts: Facts) -> int | None:
    """Returns the exit code of the call; None if it is not known."""
    value = facts.get("exit_code")
    return value if isinstance(value, int) else None


def find_applications(
    contract: Contract, call: ToolCall, world: World, before: bool = False, guard: bool = False
) -> list[Application] | str:
    """Returns every way in which a contract that names this call applies to it, or the reason why it does not.
    `before` the call: every way in which it may apply. A `guard` is about every file of the call, since none has
    changed yet. Raises Unverified if a condition cannot be evaluated."""
    files: Sequence[File | None] = (None,)
    if contract.plain.get("per_file"):
        files = call.files if guard else select_files(contract, call)
        if not files:
            return "the call names no file that this contract is about"
    # A guard on the arguments alone needs no folder.
    anywhere = guard and all(stage_of(check) == STRUCTURE for check in contract.plain.get("pre", ()))
    applying: list[Application] = []
    why = ""
    for file in files:
        facts = Facts(call, world, file)
        captures: list[dict[str, str]] = [{}]
        for path, matcher in contract.plain.get("when", {}).items():
            here = match_condition(path, matcher, facts, before, guard, anywhere)
            if here is None:
                why = f"when: {path} must be one that {describe(matcher)}, and is {quote_value(facts.get(path), 80)}"
                break
            captures = [{**left, **right} for left in captures for right in here]
        else:
            applying.extend(Application(file, match or None) for match in captures)
    return applying or why


def find_guarded(contract: Contract, call: ToolCall, world: World) -> list[Application] | Outcome:
    """Returns every way in which a contract guards a call before it is made; an Outcome if a condition cannot be
    evaluated."""
    try:
        applying = find_applications(contract, call, world, before=True, guard=True)
    except Unverified as why:
        return Outcome("when", UNVERIFIED, "to see whether the guard is about this call", why.why, why.cause)
    except Exception as error:
        return report_crash("when", error)
    return [] if isinstance(applying, str) else applying


def select_files(contract: Contract, call: ToolCall) -> list[File]:
    """Returns the files that at least one check of the contract is about."""
    if "receipt" in contract.plain:
        return list(call.files)
    return [file for file in call.files if any(is_about(item, file, contract) for item in contract.plain["post"])]


def make_world(contract: Contract, call: ToolCall, moment: Moment) -> World:
    """Returns the world as this contract sees it, before files and captures are known."""
    return World(
        call.start_cwd, contract.project, moment.ends, None, contract.seconds("timeout"),
        contract.plain.get("interpreter"), moment.session, moment.received, moment.snapshot,
    )  # fmt: skip


def judge_contract(contract: Contract, call: ToolCall, moment: Moment) -> list[Verdict]:
    """Returns one Verdict for each way in which a contract applies to the call; none if it does not apply. With
    `doubts: silent` unverified verdicts are dropped, except for truecall's own errors."""
    world, receipt = make_world(contract, call, moment), "receipt" in contract.plain
    began = world.now()
    try:
        # A lost answer must not decide whether an operation was begun.
        applying = find_applications(contract, call, world, before=receipt)
    except Unverified as why:
        return [make_unjudged(contract, call, "to see whether the contract applies", why.why, why.cause)]
    except Exception as error:
        return [make_verdict(contract, call, world, None, (report_crash("when", error),), began)]
    if isinstance(applying, str):
        return []
    verdicts = []
    for application in applying:
        began = world.now()
        here = enter_application(world, application)
        facts = Facts(call, here, application.file, application.match)
        outcomes = poll(contract, call, facts)
        verdict = make_verdict(contract, call, here, application, outcomes, began)
        silent = contract.plain.get("doubts") == "silent" and not receipt
        if verdict.state != UNVERIFIED or verdict.cause == "truecall" or not silent:
            verdicts.append(verdict)
    return verdicts


def make_unjudged(contract: Contract, call: ToolCall, expected: str, why: str, cause: str = "contract") -> Verdict:
    """Returns the unverified Verdict of a contract that could not be judged."""
    world = World()
    outcome = Outcome("contract", UNVERIFIED, expected, why, cause)
    return make_verdict(contract, call, world, None, (outcome,), world.now())


def enter_application(world: World, application: Application) -> World:
    """Returns the world of one application: relative paths start in the folder where the captured command ran."""
    folder = (application.match or {}).get("directory")
    if not folder:
        return world
    base = world.base
    if folder.startswith("/"):
        base = folder
    elif base is not None:
        base = world.resolve(folder)
    return world.at(base)


def classify_claim(state: str, said: str, outcomes: Sequence[Outcome] = ()) -> str:
    """Returns the outcome of the tool's claim (the outcomes of the contract format). An effect that is there twice is
    DUPLICATE, not a false success."""
    if state == VERIFIED:
        return LANDED
    if state == UNVERIFIED:
        return UNKNOWN
    wrong = [outcome.receipt or {} for outcome in outcomes if outcome.state == REFUTED]
    if wrong and all(receipt.get("state") == DUPLICATE for receipt in wrong):
        return DUPLICATE
    return {SUCCESS: FALSE_SUCCESS, FAILURE: REPORTED_FAILURE}.get(said, NOT_LANDED)


def make_verdict(
    contract: Contract,
    call: ToolCall,
    world: World,
    application: Application | None,
    outcomes: tuple[Outcome, ...],
    began: float,
) -> Verdict:
    """Builds the Verdict from the outcomes of one application. `began` is a time of `world.now()`."""
    plain = contract.plain
    if plain.get("vacuous") != "ok" and worst_state(outcomes) == VERIFIED and merge_effects(outcomes) == OLD:
        outcomes = mark_vacuous(outcomes, "tool" if is_untouched(contract, call, outcomes) else "vacuous")
    state = worst_state(outcomes)
    # Delivery follows the cause: one of the tool or the world outweighs one of truecall.
    causes = [outcome.cause for outcome in outcomes if outcome.state == UNVERIFIED]
    cause = next((name for name in causes if name in ("tool", "world")), causes[0] if causes else "")
    subject = ""
    if application and application.file:
        subject = application.file.path
    elif application and application.match:
        subject = ", ".join(value[:200] for name, value in application.match.items() if name != "directory")
    said = ABSENT if state == VERIFIED else find_reported(call, world)
    about = () if application is None else identify_effect(contract, call, world, application)
    marks = bool(plain.get("claims")), plain.get("store") == "none"
    return Verdict(
        contract.id, state, classify_claim(state, str(said), outcomes), outcomes, contract.source,
        plain.get("mode", "enforce"), plain.get("repeat", ""), plain.get("remedy", ""),
        tuple(plain.get("alternatives", ())), cause, subject,
        world.now() - began, plain.get("class", ""), plain.get("grants", ""), contract.file, about, *marks,
    )  # fmt: skip


def identify_effect(contract: Contract, call: ToolCall, world: World, application: Application) -> tuple[Any, ...]:
    """Returns what identifies an effect: contract file, project, base folder, and file or captures. () if the folder
    of a command is not known."""
    if world.base is None and "shell" in call.kinds:
        return ()
    path = application.file.path if application.file else None
    match = sorted((name, value) for name, value in (application.match or {}).items() if name != "directory")
    return contract.file, contract.project, world.base, path, match
