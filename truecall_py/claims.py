"""What is judged when an agent wants to stop: contracts with `event: stop`, and the claims of its last message. Tells
nobody of it; what cannot be told is never a pass, and never a lie."""

from __future__ import annotations

from truecall_py.engine import condition, untold, verdict
from truecall_py.errors import TrustError, Unverified
from truecall_py.facts import Facts
from truecall_py.globs import fits
from truecall_py.ledger import ENDED, REQUESTED
from truecall_py.looks import watched
from truecall_py.memory import filed
from truecall_py.trust import changed_code
from truecall_py.types import REFUTED, UNVERIFIED, Outcome, ToolCall
from truecall_py.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecall_py.contract import Contract
    from truecall_py.ledger import Event
    from truecall_py.trust import Source
    from truecall_py.types import Stop, Verdict

UNKNOWN = "no such call is known of this turn, and it may have been made"
SEARCHED = 200_000  # characters of a message, from its end


def names(contract: Contract, call: ToolCall) -> bool:
    """Whether a contract's `tool` or `kind` is this call's."""
    plain = contract.plain
    return bool(call.kinds & set(plain.get("kind") or ())) or any(
        pattern == call.tool or fits(pattern, call.tool) for pattern in plain.get("tool") or ()
    )


def known_by(contract: Contract) -> str:
    """The name of a contract among those of all files."""
    return f"{contract.id} of {filed(contract.file)}"


def about_calls(contract: Contract) -> bool:
    return bool(contract.plain.get("tool") or contract.plain.get("kind"))


def stands_behind(contract: Contract, call: ToolCall, ends: float) -> bool | None:
    """Whether a call that has ended is one that the contract asks for; None where a condition cannot be told."""
    if not names(contract, call):
        return False
    world = World(call.start_cwd, contract.project, ends)
    unsure = False
    for file in call.files if contract.plain.get("per_file") else (None,):
        try:
            facts = Facts(call, world, file)
            if all(condition(path, matcher, facts) is not None for path, matcher in contract.plain["when"].items()):
                return True
        except Unverified:
            unsure = True
    return None if unsure else False


def asked_for(found: Sequence[Source], call: ToolCall, ends: float) -> dict[str, bool | None]:
    """For each contract at the stop that asks for calls, whether this is one (None: it cannot be told)."""
    told: dict[str, bool | None] = {}
    for source in found:
        try:
            mine = [each for each in source.at_stop() if about_calls(each)]
            told |= {known_by(each): stands_behind(each, call, ends) for each in mine}
        except TrustError:
            continue  # told at the stop
    return told


def judged(
    contract: Contract, stop: Stop, events: Sequence[Event] | None, mine: Sequence[Event], ends: float
) -> Verdict | None:
    """The Verdict at a stop; None where the contract is not about it. `events` are those of the session (None:
    nobody knows them all), `mine` those of the calls in it that may stand behind the message."""
    call = ToolCall(stop.harness, stop.event, "", frozenset(), {}, cwd=stop.cwd, start_cwd=contract.project,
                    session=stop.session, agent=stop.agent)  # fmt: skip
    world = World(contract.project, contract.project, ends, None, contract.seconds("timeout"),
                  contract.plain.get("interpreter"), contract.project)  # fmt: skip
    began = world.now()
    claims = contract.plain.get("claims")
    if stop.agent and not claims:
        return None  # what must hold at the end is the main agent's
    try:
        if claims and not claimed(claims, stop, world):
            return None
    except Unverified as why:
        return untold(contract, call, "to read the last message", why.why, why.cause)
    if about_calls(contract):
        made = found(contract, events, mine)
        if made is False and not claims:
            return None
        if made is not True:
            told = (REFUTED, "no call was made", "") if made is False else (UNVERIFIED, UNKNOWN, "harness")
            outcome = Outcome("claims", told[0], f"a call of {wanted(contract)} in this turn", *told[1:])
            return verdict(contract, call, world, None, (outcome,), began)
        if not contract.plain["post"]:
            return None
    if changed := changed_code(contract.plain) if contract.plain.get("pins") else "":
        return untold(contract, call, "the code that was trusted", f"{changed} was changed since it was trusted")
    return verdict(contract, call, world, None, watched(contract, call, Facts(call, world)), began)


def claimed(claims: Sequence[str], stop: Stop, world: World) -> bool:
    """Whether the last message claims it. Raises Unverified."""
    if stop.message is None:
        raise Unverified("the last message was not told", "harness")
    text = stop.message[-SEARCHED:]
    return any(world.search(pattern, text) for pattern in claims)


def found(contract: Contract, events: Sequence[Event] | None, mine: Sequence[Event]) -> bool | None:
    """Whether a call that the contract asks for was made; None where that cannot be told: it may still run, was made
    before anybody asked for it, or in an earlier turn, of which the message may speak."""
    calls = [each for each in mine if each.event == ENDED]
    name = known_by(contract)
    told = [each.data.get("stop", {}).get(name) for each in calls]
    if True in told:
        return True
    ended = {each.call for each in calls}
    begun = any(each.event == REQUESTED and each.call not in ended and each.data.get("untold") for each in mine)
    earlier = any(each.data.get("stop", {}).get(name) for each in events or () if each.event == ENDED)
    return None if events is None or None in told or begun or earlier else False


def wanted(contract: Contract) -> str:
    plain = contract.plain
    what = " or ".join([*(plain.get("tool") or ()), *(f"kind {kind}" for kind in plain.get("kind") or ())])
    return what + (" that its `when` is about" if plain.get("when") else "")


