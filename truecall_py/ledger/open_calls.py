"""What of a turn stands open, by the ledger alone: calls that were refuted, could not be verified or are not
finished, and were not put right since. Judges nothing, words nothing.

What stands open is what the agent was told of and can do something about: not what the tool itself said had failed,
not what a contract in observe mode says, not a doubt that is the contract's, the harness's or truecall's.
"""

from __future__ import annotations

from truecall_py.core.record import record
from truecall_py.core.types import REFUTED, REPORTED_FAILURE, UNVERIFIED, VERIFIED
from truecall_py.ledger.events import PENDING, contract_of
from truecall_py.ledger.store import ENDED, JUDGED, REFUSED, REQUESTED, SETTLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from truecall_py.core.types import Stop
    from truecall_py.ledger.store import Event

OF_THE_WORLD = ("tool", "world")


# Tools that only look: a call of one puts nothing in the place of what an earlier one was to bring about.
LOOKING = frozenset(("Read", "Glob", "Grep", "LS", "WebFetch", "WebSearch", "TodoWrite", "TaskOutput", "ToolSearch",
                     "view_image", "update_plan", "list_mcp_resources"))  # fmt: skip


@record(frozen=True)
class Open:
    """One verdict of one call that stands open. `event` is the one by which the call is known; `row` is the verdict
    as the ledger keeps it (memory.as_data); `state` refuted, unverified or pending. `looked`: whether that is how
    things are now; `overtaken`: whether other calls came after it; `rests`: whether its route rests now; `earlier`:
    whether it is of an earlier turn."""

    event: Event
    row: dict[str, Any]
    state: str
    looked: bool = True
    overtaken: bool = False
    rests: bool = False
    earlier: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """By what it is known again at a later stop."""
        return self.event.call, str(self.row.get("contract", ""))[:80], self.state


def answered(events: Sequence[Event], stops: Sequence[Event], stop: Stop) -> list[Event]:
    """The events of the calls that a stop answers for, of all turns: those of the agent itself; for the main one also
    those of sub-agents that have stopped since, or do not run any more."""
    if stop.agent:
        return [each for each in events if each.agent == stop.agent]
    over = {each.agent: each.id for each in stops if each.agent}
    return [
        each for each in events
        if not each.agent or each.id < over.get(each.agent, 0)
        or (stop.running is not None and each.agent not in stop.running)
    ]  # fmt: skip


def of_turn(events: Sequence[Event], stops: Sequence[Event], stop: Stop) -> list[Event]:
    """Those of `events` that are of the turn that ends: the agent's own, and what sub-agents of the main one did
    since it began (where it made no call itself: since it stopped before)."""
    if stop.agent:
        return [each for each in events if each.turn == stop.turn]
    began = next((each.id for each in events if each.turn == stop.turn and not each.agent), last(stops, stop) + 1)
    return [each for each in events if each.turn == stop.turn or (each.agent and each.id >= began)]


def last(stops: Sequence[Event], stop: Stop) -> int:
    """The id of the last stop of the agent; 0 where it has not stopped yet."""
    return max((each.id for each in stops if each.agent == stop.agent), default=0)


def delegated(events: Sequence[Event], stop: Stop) -> list[Event]:
    """The events of the calls that may stand behind the last message: those of the agent itself, and of every
    sub-agent that it had in this turn."""
    if stop.agent:
        return [each for each in events if each.agent == stop.agent]
    began = next((each.id for each in events if each.turn == stop.turn and not each.agent), None)
    mine = [each for each in events if not each.agent and each.turn == stop.turn]
    return mine + [each for each in events if each.agent and began is not None and each.id > began]


def standing(
    events: Sequence[Event], mine: Sequence[Event], fresh: Mapping[str, list[dict[str, Any]]]
) -> list[Open]:
    """What stands open of the calls `mine`, of all `events` of the session. `fresh` are verdicts that were reached
    only now, by call, and count before those of the ledger."""
    since = {each.call: each for kind in (JUDGED, SETTLED) for each in events if each.event == kind}
    ended = [each for each in mine if each.event == ENDED]
    latest = {name: each.id for each in ended for name in effects(each)}
    used: set[tuple[int, int]] = set()
    found = []
    for event in ended:
        told = since.get(event.call, event).data.get("verdicts", ())
        for row in fresh.get(event.call, told):
            if latest.get(effect_of(event, row), event.id) > event.id:
                continue  # the same call was made again: what came of that counts
            state = opened(row)
            if state and not put_right(event, row, events, used):
                found.append(Open(event, row, state))
    return found


def effects(event: Event) -> list[tuple[str, ...]]:
    """What a call was about, by the names of effect_of."""
    return [(event.identity,), *(effect_of(event, row) for row in event.data.get("verdicts", ()))]


def effect_of(event: Event, row: Mapping[str, Any]) -> tuple[str, ...]:
    """A call and one effect of it, as one name; without an effect that is known, the call alone."""
    effect = row.get("effect")
    return (event.identity, *contract_of(row), str(effect)) if effect else (event.identity,)


def overtaken(event: Event, events: Sequence[Event]) -> bool:
    """Whether other calls came after a call, so that making it again may undo what they did."""
    others = (each for each in events if each.event == ENDED and each.identity != event.identity)
    return any(each.id > event.id and each.tool not in LOOKING for each in others)


def opened(row: Mapping[str, Any]) -> str:
    """As what a verdict stands open; "" where it does not."""
    state = str(row.get("state", ""))
    if row.get("mode") == "observe" or row.get("outcome") == REPORTED_FAILURE:
        return ""
    if state in (REFUTED, PENDING):
        return state
    # A doubt after a failure that the tool reported was told to nobody.
    return state if state == UNVERIFIED and grave(row) and row.get("form") != "silent" else ""


def grave(row: Mapping[str, Any]) -> bool:
    """Whether a doubt is one about the world; that about an operation always is, whatever hid it."""
    return bool(row.get("operation")) or row.get("cause") in OF_THE_WORLD


def doubts(mine: Sequence[Event]) -> list[Open]:
    """What could not be verified through no fault of the agent's."""
    return [
        Open(event, row, UNVERIFIED) for event in mine if event.event == ENDED
        for row in event.data.get("verdicts", ())
        if row.get("state") == UNVERIFIED and row.get("mode") != "observe" and row.get("form") != "silent"
        and not grave(row)
    ]  # fmt: skip


def put_right(event: Event, row: Mapping[str, Any], events: Sequence[Event], used: set[tuple[int, int]]) -> bool:
    """Whether a later call brought about what this one did not: the same contract over the same effect; another
    contract that grants the same. Of the last each makes up for one call only (`used`), since nobody can tell for
    which."""
    for later in events:
        if later.id <= event.id or later.event not in (ENDED, SETTLED) or later.call == event.call:
            continue
        if not row.get("effect") and later.identity == event.identity and later.state == VERIFIED:
            return True
        for number, other in enumerate(later.data.get("verdicts", ())):
            if other.get("state") != VERIFIED:
                continue
            if contract_of(other) == contract_of(row):
                if row.get("effect") and row.get("effect") == other.get("effect"):
                    return True
            elif row.get("grants") and row.get("grants") == other.get("grants") and (later.id, number) not in used:
                used.add((later.id, number))
                return True
    return False


def endless(mine: Sequence[Event]) -> list[Event]:
    """The calls that a contract names and of whose end no hook was told."""
    ended = {each.call for each in mine if each.event in (ENDED, REFUSED)}
    asked = [each for each in mine if each.event == REQUESTED and each.call not in ended]
    return [each for each in asked if each.data.get("contracts") or each.data.get("untold")]


def told_before(stops: Sequence[Event], stop: Stop) -> set[tuple[str, ...]]:
    """The keys of what was told at an earlier stop of this agent, to it or to the person: nothing holds twice."""
    return {
        tuple(map(str, key)) for each in stops if each.agent == stop.agent
        for key in each.data.get("open", ()) if isinstance(key, list)
    }  # fmt: skip


def held_before(stops: Sequence[Event], stop: Stop) -> set[tuple[str, ...]]:
    """The contracts at the stop, and how they stood, for which this agent was held in this turn already."""
    return {
        tuple(map(str, pair)) for each in stops
        if stop.turn and (each.turn, each.agent) == (stop.turn, stop.agent) and each.data.get("held")
        for pair in each.data.get("claims", ()) if isinstance(pair, list)
    }  # fmt: skip
