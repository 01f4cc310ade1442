"""Finds what is unresolved when an agent wants to stop: from the ledger, the client's transcript and one more probe.
A call counts as ended only if something says so.

Unresolved calls (kept by `pending_calls`) are judged once more. Calls whose end no hook saw are looked up in the
client's transcript. Background tasks that have ended are judged. Unresolved calls of earlier turns (the user
interrupted one, or background work ended after one) count until a stop has reported them.
"""

from __future__ import annotations

import os
import time

from truecall_py.clients import call_outcomes
from truecall_py.clients.call_outcomes import RUNNING, Fate
from truecall_py.core.errors import TrustError
from truecall_py.core.types import FAILURE, UNKNOWN, UNVERIFIED, VERIFIED, Stop, ToolCall, Verdict
from truecall_py.judging.judge import conclude
from truecall_py.judging.recorder import Recorder
from truecall_py.ledger import open_calls, pending_calls, unrecorded_calls
from truecall_py.ledger.cooldowns import find_route
from truecall_py.ledger.events import COOLDOWNS, PENDING
from truecall_py.ledger.open_calls import Open
from truecall_py.ledger.pending_calls import KeptCall
from truecall_py.ledger.session_history import SessionHistory
from truecall_py.ledger.session_marks import record_loss
from truecall_py.ledger.store import ENDED, JUDGED, LOST, SETTLED, STOP, Event
from truecall_py.operations.precedence import drop_call, find_unresolved, list_begun
from truecall_py.operations.settle import MAX_EVENTS, Rejudge, change_call, end_background
from truecall_py.operations.steps import widen_events
from truecall_py.stop import claims
from truecall_py.world.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from types import ModuleType
    from typing import Any

    from truecall_py.trust.store import Source

MAX_REFUTED = 200  # refuted calls before the last MANY events that are looked at
NO_END = "no hook was told how the call ended"


class Gate(Rejudge):
    """One stop: who stops, which contracts apply, and what the ledger knows. Raises LedgerError."""

    def __init__(
        self, harness: ModuleType, stop: Stop, found: Sequence[Source], state: str, folder: str, ends: float
    ) -> None:
        super().__init__(found, state, folder, ends)
        self.harness, self.stop = harness, stop
        self.unjudgeable: set[str] = set()  # calls that could not be judged again
        name = f"{LOST} {stop.turn}"
        event = Event(stop.session, name, LOST, time.time(), stop.harness, stop.turn, stop.agent)
        record_loss(self.ledger, self.ledger.read_key(), event)
        self.read()
        self.note_unrecorded(event)

    def note_unrecorded(self, event: Event) -> None:
        """Records that the ledger missed a call of this turn, so that this stop reports it."""
        marks = unrecorded_calls.list_marks(self.state, self.stop.session, self.stop.agent)
        if not marks:
            return
        if unrecorded_calls.has_other(marks, (event.call for event in self.events if event.event == ENDED)):
            self.ledger.add(event)
            self.read()
        unrecorded_calls.remove_marks(marks)

    def read(self) -> None:
        stop = self.stop
        self.stops = self.ledger.stops(stop.session)
        self.shown = open_calls.list_shown(self.stops, stop)
        self.shown_now = open_calls.list_shown([event for event in self.stops if event.turn == stop.turn], stop)
        self.events = self.ledger.session(stop.session, MAX_EVENTS)
        self.complete = len(self.events) < MAX_EVENTS
        if not self.complete:
            self.events = [*self.read_older(), *self.events]
        self.own_events = open_calls.select_answered(self.events, self.stops, stop)
        self.turn_ids = {event.id for event in open_calls.select_turn(self.own_events, self.stops, stop)}

    def read_older(self) -> list[Event]:
        """Returns the events of calls that may be unresolved and are older than the last MANY events."""
        first, session = self.events[0].id, self.stop.session
        floor = open_calls.find_last_stop(self.stops, self.stop)
        calls = {event.call for event in self.ledger.refuted(session, first, MAX_REFUTED) if event.id > floor}
        calls |= set(pending_calls.list_ids(self.state, session))
        events = [event for call in calls for event in self.ledger.of(session, call) if event.id < first]
        return sorted(events, key=lambda event: event.id)

    def is_due(self, call: Open) -> bool:
        """Tells whether an unresolved verdict is reported at this stop: it is of this turn, or no earlier turn's stop
        reported it."""
        return call.event.id in self.turn_ids or call.key not in self.shown or call.key in self.shown_now

    # -- looking again -------------------------------------------------------------------------------------

    def resolve_endless(self) -> list[Open]:
        """Finds how the calls ended whose end no hook saw. The rest stays unresolved."""
        floor = open_calls.find_last_stop(self.stops, self.stop)
        endless = [
            event
            for event in open_calls.list_endless(self.own_events)
            if event.id in self.turn_ids or event.id > floor
        ]
        if not endless:
            return []
        fates = call_outcomes.read_fates(
            self.stop.harness, self.stop.transcript, [event.call for event in endless], World(ends=self.ends)
        )
        unresolved, ended = [], False
        for event in endless:
            fate = fates.get(event.call)
            kept = pending_calls.find_any(self.state, self.stop.session, event.call)
            about = self.list_possible(event, kept)
            if fate is not None and fate.never and list_begun(self.events, event.call):
                drop_call(self.ledger, event)
            elif fate is not None and fate.said == RUNNING:
                unresolved += make_unknown(event, about, "the command still runs", PENDING)
            elif kept is not None and (fate is not None or self.is_short(kept.call)):
                self.record_end(kept, fate)
                ended = True
            elif begun := find_unresolved(self.ledger, self.events, event.call):  # and it cannot be looked up
                row = {"state": UNVERIFIED, "cause": "tool", "found": NO_END, "expected": "a call that has ended"}
                unresolved.append(Open(event, {**row, **begun}, UNVERIFIED))
            elif fate is not None and fate.said != FAILURE:
                unresolved += make_unknown(event, about, NO_END)
            elif fate is None and event.data.get("untold"):
                unresolved += make_unknown(event, about, f"{NO_END}, and the transcript does not say it")
            elif fate is None and not call_outcomes.is_readable(self.stop.transcript):
                unresolved += make_unknown(event, about, f"{NO_END}, and no transcript could be read")
            # else: it was refused or failed, and that was reported; or the user of Claude Code denied it.
        if ended:
            self.read()
        return [call for call in unresolved if self.is_due(call)]

    def is_short(self, call: ToolCall) -> bool:
        """Tells whether a call must be over when the agent stops, although no event says so. A command may still
        run."""
        return "shell" not in (self.harness.unwrap_call(call) if hasattr(self.harness, "unwrap_call") else call).kinds

    def record_end(self, kept: KeptCall, fate: Fate | None) -> None:
        """Judges a call whose end no hook saw, and records that it ended."""
        fate = fate or Fate(UNKNOWN)
        call = change_call(kept.call, reported=fate.said, exit_code=fate.code, text=fate.text or None)
        if hasattr(self.harness, "unwrap_call"):
            call = self.harness.unwrap_call(call)
        recorder = Recorder(self.state, call, self.find_policy(), named=True)
        if kept.masked:
            recorder.history.known = kept.identity
        recorder.stops = claims.match_calls(self.sources, call, self.ends)
        conclude(call, self.judge_now(KeptCall(call, kept.at)), (), recorder)
        if recorder.trouble is not None:
            raise recorder.trouble  # its verdict was not recorded, so the call would look resolved

    def find_policy(self) -> dict[str, Any]:
        return next((call.policy for call in self.sources if call.policy), {})

    def rejudge_open(self) -> dict[str, list[dict[str, Any]]]:
        """Returns new verdicts on the unresolved calls, by call. Records the resolved ones."""
        fresh: dict[str, list[dict[str, Any]]] = {}
        over = {event.call: event for event in self.events if event.event == JUDGED}
        unresolved = open_calls.list_open(self.events, self.own_events, {})
        opened = [call for call in unresolved if call.state == PENDING or self.is_due(call)]
        notified = self.read_notifications() if any(call.state == PENDING for call in opened) else {}
        for event in {call.event.call: call.event for call in opened}.values():
            kept, waits = pending_calls.find_any(self.state, self.stop.session, event.call), event.state == PENDING
            fate = notified.get(event.call)
            by_source = any(row.get("operation") for row in event.data.get("verdicts", ()))
            if waits and event.call not in over and fate is None and not (by_source or self.has_ended(event)):
                continue
            if kept is None:
                self.unjudgeable.add(event.call)
                if waits and event.call not in over:  # it has ended, and nobody can judge it any more
                    fresh[event.call] = [
                        {**row, "state": UNVERIFIED, "cause": "tool", "found": "nobody looked when it had ended"}
                        if row.get("state") == PENDING else row
                        for row in event.data.get("verdicts", ())
                    ]  # fmt: skip
                continue
            judged = over.get(event.call, event)
            fresh[event.call] = self.rejudge_call(event, KeptCall(end_background(kept.call, fate), kept.at), judged)
        return fresh

    def read_notifications(self) -> dict[str, Fate]:
        """Returns how background work ended, as far as the transcript says."""
        return call_outcomes.read_notices(self.stop.harness, self.stop.transcript, 1, World(ends=self.ends))[0]

    def has_ended(self, event: Event) -> bool:
        """Tells whether a background task has ended, as far as the stop payload says."""
        task, running = event.data.get("background"), self.stop.running
        return bool(task) and running is not None and task not in running

    def has_lost_ledger(self) -> bool:
        """Tells whether the ledger was replaced during this turn."""
        turn = self.stop.turn.partition("/")[0]
        return any(event.event == LOST and event.turn.partition("/")[0] == turn for event in self.events)

    def list_running(self) -> set[str]:
        """Returns the calls that a later stop answers for: background work, and those of sub-agents that still
        run."""
        over = {event.call for event in self.events if event.event in (JUDGED, SETTLED)}
        gone = {event.agent for event in self.events if event.event == STOP}
        return {
            event.call for event in self.events
            if (event.state == PENDING and event.call not in over) or (event.agent and event.agent not in gone)
        }  # fmt: skip

    # -- the decision --------------------------------------------------------------------------------------

    def list_open(self, lost: Sequence[Open]) -> list[Open]:
        """Returns the unresolved verdicts to report, with the facts that decide their orders."""
        unresolved = [*open_calls.list_open(self.events, self.own_events, self.rejudge_open()), *lost]
        marked = os.path.exists(os.path.join(self.state, COOLDOWNS))
        rests = SessionHistory(self.ledger, self.stop.session, self.find_policy()).find_cooldowns() if marked else {}
        return [
            Open(call.event, without_paused(call.row, rests), call.state, call.event.call not in self.unjudgeable,
                 open_calls.is_overtaken(call.event, self.events), find_route(call.row) in rests,
                 call.event.id not in self.turn_ids)
            for call in unresolved if self.is_due(call)
        ]  # fmt: skip

    def judge_claims(self) -> tuple[list[Verdict], list[str]]:
        """Returns the verdicts of the stop contracts, and the faults of contract files."""
        events = self.ledger.session(self.stop.session, MAX_EVENTS)  # with what was settled only now
        whole = events if self.complete and not self.has_lost_ledger() else None
        mine = open_calls.select_delegated(events, self.stop)
        begun = widen_events(self.ledger, events, {event.call for event in mine})
        return judge_sources(self.sources, self.stop, whole, mine, self.ends, begun)

    def list_doubts(self) -> list[Open]:
        return open_calls.list_doubts([event for event in self.own_events if event.id in self.turn_ids])


def without_paused(row: dict[str, Any], rests: Container[str]) -> dict[str, Any]:
    """Returns a verdict without the alternatives that are paused themselves."""
    return {**row, "alternatives": [route for route in row.get("alternatives", ()) if route not in rests]}


def judge_sources(
    sources: Sequence[Source], stop: Stop, events: Sequence[Event] | None, mine: Sequence[Event], ends: float,
    begun: Sequence[Event] = (),
) -> tuple[list[Verdict], list[str]]:
    verdicts, wrong = [], []
    for source in sources:
        try:
            for contract in source.load_stop_contracts():
                verdict = claims.judge_contract(contract, stop, events, mine, ends, begun)
                if verdict is not None and verdict.state != VERIFIED:
                    verdicts.append(verdict)
        except TrustError as error:
            wrong.append(error.what)
    return verdicts, wrong


def make_unknown(event: Event, contracts: Sequence[str], why: str, state: str = UNVERIFIED) -> list[Open]:
    """Returns a call of unknown end as unresolved; nothing if no contract can apply to it."""
    row = {"contract": ", ".join(contracts), "state": state, "cause": "tool", "found": why,
           "expected": "a call that has ended"}  # fmt: skip
    return [Open(event, row, state)] if contracts else []
