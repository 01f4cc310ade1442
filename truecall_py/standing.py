"""What of a turn stands open, by the ledger alone: calls that were refuted, could not be verified or are not
finished, and were not put right since. Judges nothing, words nothing.

What stands open is what the agent was told of and can do something about: not what the tool itself said had failed,
not what a contract in observe mode says, not a doubt that is the contract's, the harness's or truecall's.
"""

from __future__ import annotations

from truecall_py.ledger import ENDED, JUDGED, REFUSED, REQUESTED, SETTLED, STOP
from truecall_py.memory import PENDING, contract_of
from truecall_py.records import record
from truecall_py.types import HONEST_FAILURE, REFUTED, UNVERIFIED, VERIFIED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from truecall_py.ledger import Event
    from truecall_py.types import Stop

OF_THE_WORLD = ("tool", "world")


@record(frozen=True)
class Open:
    """One verdict of one call that stands open. `event` is the one by which the call is known; `row` is the verdict
    as the ledger keeps it (memory.as_data); `state` refuted, unverified or pending."""

    event: Event
    row: dict[str, Any]
    state: str

    @property
    def key(self) -> tuple[str, str, str]:
        """By what it is known again at a later stop."""
        return self.event.call, str(self.row.get("contract", "")), self.state


def of_turn(events: Sequence[Event], stop: Stop) -> list[Event]:
    """The events of the calls that a stop answers for: those of the agent itself in this turn; for the main one also
    those of sub-agents that have stopped in it."""
    if stop.agent:
        return [each for each in events if each.agent == stop.agent]
    began = next((each.id for each in events if each.turn == stop.turn and not each.agent), None)
    over = {each.agent for each in events if each.event == STOP and each.agent}
    return [
        each for each in events
        if (not each.agent and each.turn == stop.turn)
        or (each.agent in over and began is not None and each.id > began)
    ]  # fmt: skip


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
    latest = {each.identity: each.id for each in mine if each.event == ENDED}
    used: set[tuple[int, int]] = set()
    found = []
    for event in mine:
        if event.event != ENDED or latest[event.identity] != event.id:
            continue  # the same call was made again: what came of that counts
        told = since.get(event.call, event).data.get("verdicts", ())
        for row in fresh.get(event.call, told):
            state = opened(row)
            if state and not put_right(event, row, events, used):
                found.append(Open(event, row, state))
    return found


def opened(row: Mapping[str, Any]) -> str:
    """As what a verdict stands open; "" where it does not."""
    state = str(row.get("state", ""))
    if row.get("mode") == "observe" or row.get("outcome") == HONEST_FAILURE:
        return ""
    if state in (REFUTED, PENDING):
        return state
    # A doubt after a failure that the tool reported was told to nobody.
    doubted = state == UNVERIFIED and row.get("cause") in OF_THE_WORLD and row.get("form") != "silent"
    return state if doubted else ""


def doubts(mine: Sequence[Event]) -> list[Open]:
    """What could not be verified through no fault of the agent's."""
    return [
        Open(event, row, UNVERIFIED) for event in mine if event.event == ENDED
        for row in event.data.get("verdicts", ())
        if row.get("state") == UNVERIFIED and row.get("mode") != "observe" and row.get("form") != "silent"
        and row.get("cause") not in OF_THE_WORLD
    ]  # fmt: skip


def put_right(event: Event, row: Mapping[str, Any], events: Sequence[Event], used: set[tuple[int, int]]) -> bool:
    """Whether a later call brought about what this one did not: the same call; the same contract over the same
    subject; another contract that grants the same. Of the last each makes up for one call only (`used`), since
    nobody can tell for which."""
    for later in events:
        if later.id <= event.id or later.event not in (ENDED, SETTLED) or later.call == event.call:
            continue
        if later.identity == event.identity and later.state == VERIFIED:
            return True
        for number, other in enumerate(later.data.get("verdicts", ())):
            if other.get("state") != VERIFIED:
                continue
            if contract_of(other) == contract_of(row):
                if row.get("subject") and row.get("subject") == other.get("subject"):
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


def held_before(events: Sequence[Event], stop: Stop) -> set[tuple[str, ...]]:
    """The keys of what an earlier stop of this agent was held for: nothing holds twice."""
    return {
        tuple(map(str, key)) for each in events
        if each.event == STOP and each.agent == stop.agent and each.turn == stop.turn and each.data.get("held")
        for key in each.data.get("open", ()) if isinstance(key, list)
    }  # fmt: skip
