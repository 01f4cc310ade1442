"""What of a turn stands open, by the ledger alone: calls that were refuted, could not be verified or are not
finished, and were not put right since. Judges nothing, words nothing.

What stands open is what the agent was told of and can do something about: not what the tool itself said had failed,
not what a contract in observe mode says, not a doubt that is the contract's, the harness's or truecall's.
"""

from __future__ import annotations

from truecall_py.core.record import record
from truecall_py.core.types import REFUTED, REPORTED_FAILURE, UNVERIFIED, VERIFIED
from truecall_py.ledger.events import PENDING, identify_contract
from truecall_py.ledger.store import ENDED, JUDGED, REFUSED, REQUESTED, SETTLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from truecall_py.core.types import Stop
    from truecall_py.ledger.store import Event

ACTIONABLE_CAUSES = ("tool", "world")


# Tools that only look: a call of one puts nothing in the place of what an earlier one was to bring about.
READ_ONLY_TOOLS = frozenset(("Read", "Glob", "Grep", "LS", "WebFetch", "WebSearch", "TodoWrite", "TaskOutput",
                             "ToolSearch", "view_image", "update_plan", "list_mcp_resources"))  # fmt: skip


@record(frozen=True)
class Open:
    """One unresolved verdict of one call. `event` is the event by which the call is known; `row` is the verdict
    as the ledger keeps it (events.encode_verdict); `state` is refuted, unverified or pending. `looked`: whether the
    verdict describes the present; `overtaken`: whether other calls came later; `rests`: whether its route is
    paused now; `earlier`: whether the call belongs to an earlier turn."""

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


def select_answered(events: Sequence[Event], stops: Sequence[Event], stop: Stop) -> list[Event]:
    """The events of the calls that a stop answers for, of all turns: those of the agent itself; for the main one also
    those of sub-agents that have stopped since, or do not run any more."""
    if stop.agent:
        return [event for event in events if event.agent == stop.agent]
    over = {event.agent: event.id for event in stops if event.agent}
    return [
        event for event in events
        if not event.agent or event.id < over.get(event.agent, 0)
        or (stop.running is not None and event.agent not in stop.running)
    ]  # fmt: skip


def select_turn(events: Sequence[Event], stops: Sequence[Event], stop: Stop) -> list[Event]:
    """Those of `events` that are of the turn that ends: the agent's own, and what sub-agents of the main one did
    since it began (where it made no call itself: since it stopped before)."""
    if stop.agent:
        return [event for event in events if event.turn == stop.turn]
    began = next(
        (event.id for event in events if event.turn == stop.turn and not event.agent), find_last_stop(stops, stop) + 1
    )
    return [event for event in events if event.turn == stop.turn or (event.agent and event.id >= began)]


def find_last_stop(stops: Sequence[Event], stop: Stop) -> int:
    """The id of the last stop of the agent; 0 where it has not stopped yet."""
    return max((event.id for event in stops if event.agent == stop.agent), default=0)


def select_delegated(events: Sequence[Event], stop: Stop) -> list[Event]:
    """The events of the calls that may stand behind the last message: those of the agent itself, and of every
    sub-agent that it had in this turn."""
    if stop.agent:
        return [event for event in events if event.agent == stop.agent]
    began = next((event.id for event in events if event.turn == stop.turn and not event.agent), None)
    mine = [event for event in events if not event.agent and event.turn == stop.turn]
    return mine + [event for event in events if event.agent and began is not None and event.id > began]


def list_open(
    events: Sequence[Event], mine: Sequence[Event], fresh: Mapping[str, list[dict[str, Any]]]
) -> list[Open]:
    """What stands open of the calls `mine`, of all `events` of the session. `fresh` are verdicts that were reached
    only now, by call, and count before those of the ledger."""
    since = {event.call: event for kind in (JUDGED, SETTLED) for event in events if event.event == kind}
    ended = [event for event in mine if event.event == ENDED]
    latest = {name: event.id for event in ended for name in list_effects(event)}
    used: set[tuple[int, int]] = set()
    open_calls = []
    for event in ended:
        rows = since.get(event.call, event).data.get("verdicts", ())
        for row in fresh.get(event.call, rows):
            if latest.get(identify_effect(event, row), event.id) > event.id:
                continue  # the same call was made again: what came of that counts
            state = find_open_state(row)
            if state and not is_put_right(event, row, events, used):
                open_calls.append(Open(event, row, state))
    return open_calls


def list_effects(event: Event) -> list[tuple[str, ...]]:
    """What a call was about, by the names of effect_of."""
    return [(event.identity,), *(identify_effect(event, row) for row in event.data.get("verdicts", ()))]


def identify_effect(event: Event, row: Mapping[str, Any]) -> tuple[str, ...]:
    """A call and one effect of it, as one name; without an effect that is known, the call alone."""
    effect = row.get("effect")
    return (event.identity, *identify_contract(row), str(effect)) if effect else (event.identity,)


def is_overtaken(event: Event, events: Sequence[Event]) -> bool:
    """Whether other calls came after a call, so that making it again may undo what they did."""
    others = (other for other in events if other.event == ENDED and other.identity != event.identity)
    return any(other.id > event.id and other.tool not in READ_ONLY_TOOLS for other in others)


def find_open_state(row: Mapping[str, Any]) -> str:
    """As what a verdict stands open; "" where it does not."""
    state = str(row.get("state", ""))
    if row.get("mode") == "observe" or row.get("outcome") == REPORTED_FAILURE:
        return ""
    if state in (REFUTED, PENDING):
        return state
    # A doubt after a failure that the tool reported was told to nobody.
    return state if state == UNVERIFIED and is_grave(row) and row.get("form") != "silent" else ""


def is_grave(row: Mapping[str, Any]) -> bool:
    """Whether a doubt is one about the world; that about an operation always is, whatever hid it."""
    return bool(row.get("operation")) or row.get("cause") in ACTIONABLE_CAUSES


def list_doubts(mine: Sequence[Event]) -> list[Open]:
    """What could not be verified through no fault of the agent's."""
    return [
        Open(event, row, UNVERIFIED) for event in mine if event.event == ENDED
        for row in event.data.get("verdicts", ())
        if row.get("state") == UNVERIFIED and row.get("mode") != "observe" and row.get("form") != "silent"
        and not is_grave(row)
    ]  # fmt: skip


def is_put_right(event: Event, row: Mapping[str, Any], events: Sequence[Event], used: set[tuple[int, int]]) -> bool:
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
            if identify_contract(other) == identify_contract(row):
                if row.get("effect") and row.get("effect") == other.get("effect"):
                    return True
            elif row.get("grants") and row.get("grants") == other.get("grants") and (later.id, number) not in used:
                used.add((later.id, number))
                return True
    return False


def list_endless(mine: Sequence[Event]) -> list[Event]:
    """The calls that a contract names and of whose end no hook was told."""
    ended = {event.call for event in mine if event.event in (ENDED, REFUSED)}
    events = [event for event in mine if event.event == REQUESTED and event.call not in ended]
    return [event for event in events if event.data.get("contracts") or event.data.get("untold")]


def list_shown(stops: Sequence[Event], stop: Stop) -> set[tuple[str, ...]]:
    """The keys of what was told at an earlier stop of this agent, to it or to the person: nothing holds twice."""
    return {
        tuple(map(str, key)) for event in stops if event.agent == stop.agent
        for key in event.data.get("open", ()) if isinstance(key, list)
    }  # fmt: skip


def list_held(stops: Sequence[Event], stop: Stop) -> set[tuple[str, ...]]:
    """The contracts at the stop, and how they stood, for which this agent was held in this turn already."""
    return {
        tuple(map(str, pair)) for event in stops
        if stop.turn and (event.turn, event.agent) == (stop.turn, stop.agent) and event.data.get("held")
        for pair in event.data.get("claims", ()) if isinstance(pair, list)
    }  # fmt: skip
