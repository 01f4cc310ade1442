"""Judges what counts at a stop: contracts with `event: stop`, and the claims of the agent's last message. An unknown
result is neither a pass nor a false success."""

from __future__ import annotations

from truecall_py.contracts.facts import Facts, find_exit_code, find_reported
from truecall_py.core.errors import TrustError, Unverified
from truecall_py.core.types import FAILURE, REFUTED, SUCCESS, UNVERIFIED, VERIFIED, Outcome, Stop, ToolCall, Verdict
from truecall_py.judging.engine import make_unjudged, make_verdict, match_condition
from truecall_py.judging.polling import poll
from truecall_py.ledger.events import shorten_path
from truecall_py.ledger.store import ENDED, JUDGED, REQUESTED, SETTLED, Event
from truecall_py.trust.store import Source, find_changed_code
from truecall_py.world.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.contracts.model import Contract

# Conditions by which a contract says itself how a call must have ended.
OUTCOME_FIELDS = frozenset(("reported", "exit_code", "is_error"))
FAILED = "failed"
NO_CALL = "no call was made"
NONE_LANDED = "no call was made that succeeded: each that was made failed, or its effect was not there"
SINCE = "such a call succeeded, and the same call failed when it was made again"
UNKNOWN = "no such call is known to have ended well in this turn, and it may have been made"
MESSAGE_LIMIT = 200_000  # characters of a message, from its end


def name_contract(contract: Contract) -> str:
    """Returns the name of a contract, unique among all files."""
    return f"{contract.id} of {shorten_path(contract.file)}"


def needs_calls(contract: Contract) -> bool:
    return bool(contract.plain.get("tool") or contract.plain.get("kind"))


def supports_claim(contract: Contract, call: ToolCall, ends: float) -> bool | str | None:
    """Tells whether an ended call is one that the contract asks for. FAILED if it reported a failure (unless a `when`
    of the contract decides about that); None if a condition or the end of the call is not known."""
    if not contract.names(call):
        return False
    world = World(call.start_cwd, contract.project, ends)
    when, unsure = contract.plain["when"], False
    for file in call.files if contract.plain.get("per_file") else (None,):
        try:
            facts = Facts(call, world, file)
            if all(match_condition(path, matcher, facts) is not None for path, matcher in when.items()):
                decided = not contract.plain.get("claims") or any(path in OUTCOME_FIELDS for path in when)
                return True if decided else has_succeeded(call, world)
        except Unverified:
            unsure = True
    return None if unsure else False


def has_succeeded(call: ToolCall, world: World) -> bool | str | None:
    """Tells whether a call reported success: True, FAILED, or None if that is not known or it still runs."""
    if call.background:
        return None
    if find_exit_code(call, world) not in (None, 0):
        return FAILED
    said = find_reported(call, world)
    return FAILED if said == FAILURE else True if said == SUCCESS else None


def match_calls(sources: Sequence[Source], call: ToolCall, ends: float) -> dict[str, bool | str | None]:
    """Returns, for each stop contract that asks for calls, whether this call is one (see supports_claim)."""
    answers: dict[str, bool | str | None] = {}
    for source in sources:
        try:
            mine = [contract for contract in source.load_stop_contracts() if needs_calls(contract)]
            answers |= {name_contract(event): supports_claim(event, call, ends) for event in mine}
        except TrustError:
            continue  # reported at the stop
    return answers


def judge_contract(
    contract: Contract, stop: Stop, events: Sequence[Event] | None, mine: Sequence[Event], ends: float,
    steps: Sequence[Event] = (),
) -> Verdict | None:  # fmt: skip
    """Returns the Verdict at a stop; None if the contract does not apply. `events` are those of the session (None:
    not all are known), `mine` the events of calls that may support the message, `begun` those of operations with
    several steps."""
    call = ToolCall(stop.harness, stop.event, "", frozenset(), {}, cwd=stop.cwd, start_cwd=contract.project,
                    session=stop.session, agent=stop.agent)  # fmt: skip
    world = World(contract.project, contract.project, ends, None, contract.seconds("timeout"),
                  contract.plain.get("interpreter"), contract.project)  # fmt: skip
    began = world.now()
    claims = contract.plain.get("claims")
    if stop.agent and not claims:
        return None  # what must hold at the end is the main agent's
    if contract.plain.get("steps"):
        from truecall_py.operations.steps import judge_at_stop

        return judge_at_stop(contract, call, world, steps, mine, stop)
    try:
        if claims and not has_claim(claims, stop, world):
            return None
    except Unverified as why:
        return make_unjudged(contract, call, "to read the last message", why.why, why.cause)
    if needs_calls(contract):
        own = events if events is None or not stop.agent else [event for event in events if event.agent == stop.agent]
        state, known = judge_calls(contract, own, mine)
        if state == REFUTED and not claims:
            return None
        if state != VERIFIED:
            expected = f"a call of {describe_calls(contract)} in this turn"
            outcome = Outcome("claims", state, expected, known, "" if state == REFUTED else "harness")
            return make_verdict(contract, call, world, None, (outcome,), began)
        if not contract.plain["post"]:
            return None
    if changed := find_changed_code(contract.plain) if contract.plain.get("pins") else "":
        return make_unjudged(contract, call, "the code that was trusted", f"{changed} changed since it was trusted")
    return make_verdict(contract, call, world, None, poll(contract, call, Facts(call, world)), began)


def has_claim(claims: Sequence[str], stop: Stop, world: World) -> bool:
    """Tells whether the last message makes the contract's claim. Raises Unverified."""
    if stop.message is None:
        raise Unverified("the last message was not told", "harness")
    text = stop.message[-MESSAGE_LIMIT:]
    return any(world.search(pattern, text) for pattern in claims)


def judge_calls(contract: Contract, events: Sequence[Event] | None, mine: Sequence[Event]) -> tuple[str, str]:
    """Returns (state, evidence) of the calls that the contract asks for. VERIFIED if one supports the message.
    UNVERIFIED if that is not known: the call still runs, or belongs to an earlier turn that the message may mean."""
    calls = [event for event in mine if event.event == ENDED]
    ended_calls = [event for event in events or mine if event.event == ENDED]
    over = find_failed_since(contract, ended_calls, events or mine)
    answers = [FAILED if event.id in over else recheck_support(event, contract, events or ()) for event in calls]
    if True in answers:
        return VERIFIED, ""
    ended = {event.call for event in calls}
    begun = any(event.event == REQUESTED and event.call not in ended and event.data.get("untold") for event in mine)
    earlier = any(
        recheck_support(event, contract, events or ()) is True and event.id not in over for event in ended_calls
    )
    if events is None or None in answers or begun or earlier:
        return UNVERIFIED, UNKNOWN
    return REFUTED, SINCE if over & {event.id for event in calls} else NONE_LANDED if FAILED in answers else NO_CALL


def find_failed_since(contract: Contract, ended: Sequence[Event], events: Sequence[Event]) -> set[int]:
    """Returns the ids of successful calls that failed when the same agent repeated them, in the same folder if known.
    The repetition counts."""
    folders = {event.call: event.data.get("cwd") for event in events if event.event == REQUESTED}
    failed: dict[tuple[str, str, Any], int] = {}
    over = set()
    for event in sorted(ended, key=lambda event: -event.id):
        answer = recheck_support(event, contract, events)
        key = (event.agent, event.identity, folders.get(event.call))
        if answer == FAILED:
            failed.setdefault(key, event.id)
        elif answer is True and key in failed:
            over.add(event.id)
    return over


def recheck_support(event: Event, contract: Contract, events: Sequence[Event]) -> bool | str | None:
    """Tells whether a call still supports the message: not if its effect was missing at the last probe. A background
    call must have ended well."""
    answer: bool | str | None = event.data.get("stop", {}).get(name_contract(contract))
    if not contract.plain.get("claims"):
        return answer
    since = [other for other in events if other.call == event.call and other.event in (JUDGED, SETTLED)]
    rows = since[-1].data.get("verdicts", ()) if since else event.data.get("verdicts", ())
    if answer is not False and any(row.get("state") == REFUTED and row.get("mode") != "observe" for row in rows):
        return FAILED
    if answer is None and "background" in event.data and since and since[-1].state == VERIFIED:
        return True
    return answer


def describe_calls(contract: Contract) -> str:
    """Describes the calls that a stop contract asks for."""
    from truecall_py.contracts.matchers import describe

    plain = contract.plain
    what = " or ".join([*(plain.get("tool") or ()), *(f"kind {kind}" for kind in plain.get("kind") or ())])
    conditions = [f"{path} {describe(matcher)}" for path, matcher in (plain.get("when") or {}).items()]
    return what + (f" whose {' and '.join(conditions)}" if conditions else "")


