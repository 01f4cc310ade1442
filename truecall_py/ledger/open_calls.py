"""Lists the unresolved calls of a turn from the ledger alone: refuted, unverified or unfinished, and not fixed since.

Only what the agent was told and can act on counts: not a reported failure, not a contract in observe mode, and not an
unverified result caused by the contract, the client or truecall.
"""

from __future__ import annotations

from truecall_py.core.record import record
from truecall_py.core.types import REFUTED, REPORTED_FAILURE, UNVERIFIED, VERIFIED, Stop
from truecall_py.ledger.events import PENDING, identify_contract
from truecall_py.ledger.store import ENDED, JUDGED, REFUSED, REQUESTED, SETTLED, Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


ACTIONABLE_CAUSES = ("tool", "world")


# Read-only tools: their calls cannot overtake an earlier call.
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
        """What identifies it at a later stop."""
        return self.event.call, str(self.row.get("contract", ""))[:80], self.state


def select_answered(events: Sequence[Event], stops: Sequence[Event], stop: Stop) -> list[Event]:
    """Returns the events of the calls that a stop answers for, of all turns: the agent's own; for the main agent also
    those of sub-agents that have stopped or no longer run."""
    if stop.agent:
        return [event for event in events if event.agent == stop.agent]
    over = {event.agent: event.id for event in stops if event.agent}
    return [
        event for event in events
        if not event.agent or event.id < over.get(event.agent, 0)
        or (stop.running is not None and event.agent not in stop.running)
    ]  # fmt: skip


def select_turn(events: Sequence[Event], stops: Sequence[Event], stop: Stop) -> list[Event]:
    """Returns those of `events` in the turn that ends: the agent's own, and for the main agent those of its
    sub-agents since the turn began (or since its last stop, if it made no call)."""
    if stop.agent:
        return [event for event in events if event.turn == stop.turn]
    began = next(
        (event.id for event in events if event.turn == stop.turn and not event.agent), find_last_stop(stops, stop) + 1
    )
    return [event for event in events if event.turn == stop.turn or (event.agent and event.id >= began)]


def find_last_stop(stops: Sequence[Event], stop: Stop) -> int:
    """Returns the id of the agent's last stop; 0 without one."""
    return max((event.id for event in stops if event.agent == stop.agent), default=0)


def select_delegated(events: Sequence[Event], stop: Stop) -> list[Event]:
    """Returns the events of the calls that may support the last message: the agent's own, and those of its sub-agents
    in this turn."""
    if stop.agent:
        return [event for event in events if event.agent == stop.agent]
    began = next((event.id for event in events if event.turn == stop.turn and not event.agent), None)
    mine = [event for event in events if not event.agent and event.turn == stop.turn]
    return mine + [event for event in events if event.agent and began is not None and event.id > began]


def list_open(
    events: Sequence[Event], mine: Sequence[Event], fresh: Mapping[str, list[dict[str, Any]]]
) -> list[Open]:
    """Returns what is unresolved in the calls `mine`, given all `events` of the session. `fresh` are verdicts reached
    just now, by call; they precede those of the ledger."""
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
    """Returns the effects that a call was about."""
    return [(event.identity,), *(identify_effect(event, row) for row in event.data.get("verdicts", ()))]


def identify_effect(event: Event, row: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns one name for a call and one of its effects; for an unknown effect the call alone."""
    effect = row.get("effect")
    return (event.identity, *identify_contract(row), str(effect)) if effect else (event.identity,)


def is_overtaken(event: Event, events: Sequence[Event]) -> bool:
    """Tells whether other calls came after a call, so that repeating it may undo them."""
    others = (other for other in events if other.event == ENDED and other.identity != event.identity)
    return any(other.id > event.id and other.tool not in READ_ONLY_TOOLS for other in others)


def find_open_state(row: Mapping[str, Any]) -> str:
    """Returns the state in which a verdict is unresolved; "" if it is resolved."""
    state = str(row.get("state", ""))
    if row.get("mode") == "observe" or row.get("outcome") == REPORTED_FAILURE:
        return ""
    if state in (REFUTED, PENDING):
        return state
    # An unverified result after a reported failure was not delivered.
    return state if state == UNVERIFIED and is_grave(row) and row.get("form") != "silent" else ""


def is_grave(row: Mapping[str, Any]) -> bool:
    """Tells whether an unverified result is about the world. One about an operation always is."""
    return bool(row.get("operation")) or row.get("cause") in ACTIONABLE_CAUSES


def list_doubts(mine: Sequence[Event]) -> list[Open]:
    """Returns what is unverified through no fault of the agent."""
    return [
        Open(event, row, UNVERIFIED) for event in mine if event.event == ENDED
        for row in event.data.get("verdicts", ())
        if row.get("state") == UNVERIFIED and row.get("mode") != "observe" and row.get("form") != "silent"
        and not is_grave(row)
    ]  # fmt: skip


def is_put_right(event: Event, row: Mapping[str, Any], events: Sequence[Event], used: set[tuple[int, int]]) -> bool:
    """Tells whether a later call achieved the missing effect: the same contract verified it, or another one that
    grants the same. The latter offsets one call each (`used`)."""
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
    """Returns the calls that a contract names and whose end no hook saw."""
    ended = {event.call for event in mine if event.event in (ENDED, REFUSED)}
    events = [event for event in mine if event.event == REQUESTED and event.call not in ended]
    return [event for event in events if event.data.get("contracts") or event.data.get("untold")]


def list_shown(stops: Sequence[Event], stop: Stop) -> set[tuple[str, ...]]:
    """Returns the keys that an earlier stop reported, to this agent or the user. None of them holds the agent
    again."""
    return {
        tuple(map(str, key)) for event in stops if event.agent == stop.agent
        for key in event.data.get("open", ()) if isinstance(key, list)
    }  # fmt: skip


def list_held(stops: Sequence[Event], stop: Stop) -> set[tuple[str, ...]]:
    """Returns the stop contracts, with their states, for which this agent was already held in this turn."""
    return {
        tuple(map(str, pair)) for event in stops
        if stop.turn and (event.turn, event.agent) == (stop.turn, stop.agent) and event.data.get("held")
        for pair in event.data.get("claims", ()) if isinstance(pair, list)
    }  # fmt: skip
