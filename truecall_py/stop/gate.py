"""What stands open when an agent wants to stop: by the ledger, by the client's transcript, and by one more look at
what is there now. Tells nobody of it, and never takes a call for ended of which nobody has said so.

Calls that stand open are judged once more (`unsettled` keeps them), those of whose end no hook was told are looked up
in the client's transcript, and background tasks that have ended are judged. What stands open of earlier turns (the
person interrupted one, work in the background ended after one) counts until it was told at a stop.
"""

from __future__ import annotations

import os
import time

from truecall_py.clients import call_outcomes
from truecall_py.clients.call_outcomes import RUNNING, Fate
from truecall_py.core.errors import TrustError
from truecall_py.core.types import FAILURE, UNKNOWN, UNVERIFIED, VERIFIED
from truecall_py.judging.judge import conclude
from truecall_py.judging.recorder import Recorder
from truecall_py.ledger import open_calls, pending_calls, unrecorded_calls
from truecall_py.ledger.cooldowns import route_of
from truecall_py.ledger.events import PENDING, RESTS
from truecall_py.ledger.open_calls import Open
from truecall_py.ledger.pending_calls import Kept
from truecall_py.ledger.session_history import SessionHistory
from truecall_py.ledger.session_marks import lost
from truecall_py.ledger.store import ENDED, JUDGED, LOST, SETTLED, STOP, Event
from truecall_py.operations.precedence import in_doubt, meant, never_made
from truecall_py.operations.settle import MANY, Judge, changed, finished
from truecall_py.operations.steps import widened
from truecall_py.stop import claims
from truecall_py.world.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from types import ModuleType
    from typing import Any

    from truecall_py.core.types import Stop, ToolCall, Verdict
    from truecall_py.trust.store import Source

OLDER = 200  # refuted calls before the last MANY events that are looked at
NO_END = "no hook was told how the call ended"


class Gate(Judge):
    """One stop: who stops, what is enforced, what the ledger knows. Raises LedgerError."""

    def __init__(
        self, harness: ModuleType, stop: Stop, found: Sequence[Source], state: str, folder: str, ends: float
    ) -> None:
        super().__init__(found, state, folder, ends)
        self.harness, self.stop = harness, stop
        self.blind: set[str] = set()  # calls that could not be judged again
        name = f"{LOST} {stop.turn}"
        event = Event(stop.session, name, LOST, time.time(), stop.harness, stop.turn, stop.agent)
        lost(self.ledger, self.ledger.key(), event)
        self.read()
        self.miss(event)

    def miss(self, event: Event) -> None:
        """Writes down, as that event, that the ledger could not take down every call, so that this turn tells it."""
        marks = unrecorded_calls.marks(self.state, self.stop.session, self.stop.agent)
        if not marks:
            return
        if unrecorded_calls.of(marks, (each.call for each in self.events if each.event == ENDED)):
            self.ledger.add(event)
            self.read()
        unrecorded_calls.forget(marks)

    def read(self) -> None:
        stop = self.stop
        self.stops = self.ledger.stops(stop.session)
        self.told = open_calls.told_before(self.stops, stop)
        self.now = open_calls.told_before([each for each in self.stops if each.turn == stop.turn], stop)
        self.events = self.ledger.session(stop.session, MANY)
        self.whole = len(self.events) < MANY
        if not self.whole:
            self.events = [*self.older(), *self.events]
        self.mine = open_calls.answered(self.events, self.stops, stop)
        self.turn = {each.id for each in open_calls.of_turn(self.mine, self.stops, stop)}

    def older(self) -> list[Event]:
        """The events of calls that may stand open and were made before the last MANY events."""
        first, session = self.events[0].id, self.stop.session
        floor = open_calls.last(self.stops, self.stop)
        calls = {each.call for each in self.ledger.refuted(session, first, OLDER) if each.id > floor}
        calls |= set(pending_calls.calls(self.state, session))
        found = [each for call in calls for each in self.ledger.of(session, call) if each.id < first]
        return sorted(found, key=lambda each: each.id)

    def counts(self, each: Open) -> bool:
        """Whether what stands open is to be told at this stop: it is of this turn, was told at none, or was told at
        one in this turn."""
        return each.event.id in self.turn or each.key not in self.told or each.key in self.now

    # -- looking again -------------------------------------------------------------------------------------

    def learn(self) -> list[Open]:
        """Finds out how calls ended of whose end no hook was told; what nobody can tell stands open."""
        floor = open_calls.last(self.stops, self.stop)
        endless = [each for each in open_calls.endless(self.mine) if each.id in self.turn or each.id > floor]
        if not endless:
            return []
        told = call_outcomes.fates(
            self.stop.harness, self.stop.transcript, [each.call for each in endless], World(ends=self.ends)
        )
        lost, ended = [], False
        for event in endless:
            fate = told.get(event.call)
            kept = pending_calls.either(self.state, self.stop.session, event.call)
            about = self.about(event, kept)
            if fate is not None and fate.never and meant(self.events, event.call):
                never_made(self.ledger, event)
            elif fate is not None and fate.said == RUNNING:
                lost += unknown(event, about, "the command still runs", PENDING)
            elif kept is not None and (fate is not None or self.short(kept.call)):
                self.end(kept, fate)
                ended = True
            elif begun := in_doubt(self.ledger, self.events, event.call):  # and nobody can look it up
                row = {"state": UNVERIFIED, "cause": "tool", "found": NO_END, "expected": "a call that has ended"}
                lost.append(Open(event, {**row, **begun}, UNVERIFIED))
            elif fate is not None and fate.said != FAILURE:
                lost += unknown(event, about, NO_END)
            elif fate is None and event.data.get("untold"):
                lost += unknown(event, about, f"{NO_END}, and the transcript does not say it")
            elif fate is None and not call_outcomes.readable(self.stop.transcript):
                lost += unknown(event, about, f"{NO_END}, and no transcript could be read")
            # else: it was refused or failed, and that was told; or Claude Code's user denied it.
        if ended:
            self.read()
        return [each for each in lost if self.counts(each)]

    def short(self, call: ToolCall) -> bool:
        """Whether a call is over when the agent stops, though nothing says so: a command may still run."""
        return "shell" not in (self.harness.inner(call) if hasattr(self.harness, "inner") else call).kinds

    def end(self, kept: Kept, fate: Fate | None) -> None:
        """Judges a call of whose end no hook was told, and writes down that it ended."""
        fate = fate or Fate(UNKNOWN)
        call = changed(kept.call, reported=fate.said, exit_code=fate.code, text=fate.text or None)
        if hasattr(self.harness, "inner"):
            call = self.harness.inner(call)
        recorder = Recorder(self.state, call, self.policy(), named=True)
        if kept.masked:
            recorder.history.known = kept.identity
        recorder.stops = claims.asked_for(self.found, call, self.ends)
        conclude(call, self.judge(Kept(call, kept.at)), (), recorder)
        if recorder.trouble is not None:
            raise recorder.trouble  # what it found is not written down, so that nothing would stand open

    def policy(self) -> dict[str, Any]:
        return next((each.policy for each in self.found if each.policy), {})

    def again(self) -> dict[str, list[dict[str, Any]]]:
        """New verdicts on the calls that stand open, by call; what is settled now is written down."""
        fresh: dict[str, list[dict[str, Any]]] = {}
        over = {each.call: each for each in self.events if each.event == JUDGED}
        found = open_calls.standing(self.events, self.mine, {})
        opened = [each for each in found if each.state == PENDING or self.counts(each)]
        notified = self.notified() if any(each.state == PENDING for each in opened) else {}
        for event in {each.event.call: each.event for each in opened}.values():
            kept, waits = pending_calls.either(self.state, self.stop.session, event.call), event.state == PENDING
            fate = notified.get(event.call)
            by_source = any(row.get("operation") for row in event.data.get("verdicts", ()))
            if waits and event.call not in over and fate is None and not (by_source or self.over(event)):
                continue
            if kept is None:
                self.blind.add(event.call)
                if waits and event.call not in over:  # it has ended, and nobody can judge it any more
                    fresh[event.call] = [
                        {**row, "state": UNVERIFIED, "cause": "tool", "found": "nobody looked when it had ended"}
                        if row.get("state") == PENDING else row
                        for row in event.data.get("verdicts", ())
                    ]  # fmt: skip
                continue
            told = over.get(event.call, event)
            fresh[event.call] = self.settle(event, Kept(finished(kept.call, fate), kept.at), told)
        return fresh

    def notified(self) -> dict[str, Fate]:
        """How work in the background ended, as far as the transcript says."""
        return call_outcomes.notified(self.stop.harness, self.stop.transcript, 1, World(ends=self.ends))[0]

    def over(self, event: Event) -> bool:
        """Whether a background task has ended, as far as the stop tells."""
        task, running = event.data.get("background"), self.stop.running
        return bool(task) and running is not None and task not in running

    def lost(self) -> bool:
        """Whether the ledger was begun anew while this turn went on."""
        turn = self.stop.turn.partition("/")[0]
        return any(each.event == LOST and each.turn.partition("/")[0] == turn for each in self.events)

    def staying(self) -> set[str]:
        """The calls that are asked for after this turn: what runs in the background, and what sub-agents do that
        have not stopped."""
        over = {each.call for each in self.events if each.event in (JUDGED, SETTLED)}
        gone = {each.agent for each in self.events if each.event == STOP}
        return {
            each.call for each in self.events
            if (each.state == PENDING and each.call not in over) or (each.agent and each.agent not in gone)
        }  # fmt: skip

    # -- the decision --------------------------------------------------------------------------------------

    def opened(self, lost: Sequence[Open]) -> list[Open]:
        """What stands open and is to be told, with what is known of each for the order that it gets."""
        found = [*open_calls.standing(self.events, self.mine, self.again()), *lost]
        marked = os.path.exists(os.path.join(self.state, RESTS))
        rests = SessionHistory(self.ledger, self.stop.session, self.policy()).resting() if marked else {}
        return [
            Open(each.event, awake(each.row, rests), each.state, each.event.call not in self.blind,
                 open_calls.overtaken(each.event, self.events), route_of(each.row) in rests,
                 each.event.id not in self.turn)
            for each in found if self.counts(each)
        ]  # fmt: skip

    def claims(self) -> tuple[list[Verdict], list[str]]:
        """The verdicts of what is judged at the stop, and what is wrong with contract files."""
        events = self.ledger.session(self.stop.session, MANY)  # with what was settled only now
        whole = events if self.whole and not self.lost() else None
        mine = open_calls.delegated(events, self.stop)
        begun = widened(self.ledger, events, {each.call for each in mine})
        return at_stop(self.found, self.stop, whole, mine, self.ends, begun)

    def doubts(self) -> list[Open]:
        return open_calls.doubts([each for each in self.mine if each.id in self.turn])


def awake(row: dict[str, Any], rests: Container[str]) -> dict[str, Any]:
    """A verdict with those of its alternatives that do not rest themselves."""
    return {**row, "alternatives": [each for each in row.get("alternatives", ()) if each not in rests]}


def at_stop(
    found: Sequence[Source], stop: Stop, events: Sequence[Event] | None, mine: Sequence[Event], ends: float,
    begun: Sequence[Event] = (),
) -> tuple[list[Verdict], list[str]]:
    made, wrong = [], []
    for source in found:
        try:
            for contract in source.at_stop():
                verdict = claims.judged(contract, stop, events, mine, ends, begun)
                if verdict is not None and verdict.state != VERIFIED:
                    made.append(verdict)
        except TrustError as error:
            wrong.append(error.what)
    return made, wrong


def unknown(event: Event, contracts: Sequence[str], why: str, state: str = UNVERIFIED) -> list[Open]:
    """A call of whose end nobody knows, as it stands open; none where no contract can be about it."""
    row = {"contract": ", ".join(contracts), "state": state, "cause": "tool", "found": why,
           "expected": "a call that has ended"}  # fmt: skip
    return [Open(event, row, state)] if contracts else []
