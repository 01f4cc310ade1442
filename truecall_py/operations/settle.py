"""Judges unresolved calls once more: refuted and unverified ones, and background work that has ended. An unverified
result never replaces a better-known one, and work has ended only if something says so.

Claude Code 2.1.197 and 2.1.332 tell no hook of the end of a background task. They write a notification for the model
into the transcript at once (call_outcomes), so the next hook of the session finds it. Codex reports it by a late
PostToolUse, or only in its transcript, which is read at the stop.
"""

from __future__ import annotations

import time

from truecall_py.clients import call_outcomes
from truecall_py.contracts.model import Contract
from truecall_py.core.types import (
    FAILURE,
    FALSE_SUCCESS,
    REFUTED,
    SUCCESS,
    UNKNOWN,
    UNVERIFIED,
    VERIFIED,
    Correction,
    ToolCall,
    Verdict,
)
from truecall_py.judging.engine import Moment
from truecall_py.judging.judge import conclude, find_snapshot, judge_contracts, may_apply
from truecall_py.judging.recorder import mark_cooldowns
from truecall_py.ledger import pending_calls
from truecall_py.ledger.events import PENDING, encode_verdict, identify_contract, shorten_path, worst_state
from truecall_py.ledger.pending_calls import KeptCall
from truecall_py.ledger.store import ENDED, JUDGED, SETTLED, Event, Ledger, LedgerError
from truecall_py.trust.store import Source, find_contracts
from truecall_py.world.snapshots import Snapshot
from truecall_py.world.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any

    from truecall_py.clients.call_outcomes import Fate

MAX_EVENTS = 2000  # events of a session that are read; older unresolved calls have a query of their own


class Rejudge:
    """What rejudging needs: the contracts, the state folder, the project folder, and the monotonic time of the
    deadline. Raises LedgerError."""

    def __init__(self, sources: Sequence[Source], state: str, folder: str, ends: float) -> None:
        self.sources, self.state, self.folder, self.ends = sources, state, folder, ends
        self.ledger = Ledger(state)

    def judge_now(self, kept: KeptCall) -> list[Verdict]:
        """Returns the verdicts on a call as of now: one probe, no waiting."""
        call, contracts = kept.guarded(), find_contracts(self.sources, kept.call)
        if not contracts:
            return []
        once = [Contract(**{**old.__dict__, "plain": {**old.plain, "within": None}}) for old in contracts]
        before = find_snapshot(contracts, call, self.state)
        # What others did since is what may have put it right: here no call needs to have been alone.
        before = before and Snapshot(before.at, before.cwd, before.facts)
        verdicts = judge_contracts(once, call, self.ends, self.folder, before, kept.at)
        if not any("receipt" in contract.plain for contract in contracts):
            return verdicts
        from truecall_py.operations.duplicate_guard import rejudge_with_history

        return rejudge_with_history(self.state, contracts, call, verdicts, self.folder)

    def list_possible(self, event: Event, kept: KeptCall | None) -> list[str]:
        """Returns the enforcing contracts that may apply to a call of unknown end: those that name its tool and that
        the request does not rule out."""
        if kept is None:
            observing = event.data.get("observing", ())
            return [str(contract) for contract in event.data.get("contracts", ()) if contract not in observing]
        call, moment = kept.guarded(), Moment(self.ends, kept.at, self.folder)
        mine = [
            contract
            for contract in find_contracts(self.sources, kept.call)
            if contract.plain.get("mode") != "observe"
        ]
        return [contract.id for contract in mine if may_apply(contract, call, moment, before=True)]

    def make_rows(self, verdicts: Sequence[Verdict], event: Event) -> list[dict[str, Any]]:
        """Returns verdicts on the call of an event as the ledger stores them."""
        key = self.ledger.read_key()
        return [encode_verdict(verdict, "", key, event.identity) for verdict in verdicts]

    def rejudge_call(self, event: Event, kept: KeptCall, previous: Event | None = None) -> list[dict[str, Any]]:
        """Judges an unresolved call once more and returns its verdicts as the ledger stores them. Records new ones
        that are verified or no longer pending. A verdict whose contract no longer applies stays as it was `told` last
        (None: at its end)."""
        verdicts = self.judge_now(kept)
        old = {identify_contract(row): row for row in (previous or event).data.get("verdicts", ())}
        rows = []
        for row in self.make_rows(verdicts, event):
            before = old.get(identify_contract(row), {})
            if kept.masked and not before:
                continue  # a masked argument cannot show whether it applies
            if before.get("state") == REFUTED and row["state"] == UNVERIFIED:
                rows.append(before)  # a doubt takes nothing back: only what holds now does
                continue
            rows.append({**row, **{name: before[name] for name in ("order", "form", "route") if name in before}})
        judged = {(shorten_path(verdict.file), verdict.contract) for verdict in verdicts}
        for contract, row in old.items():
            if contract not in judged:
                ended = {"state": UNVERIFIED, "cause": "harness", "found": "it ended, and nobody could look at it"}
                rows.append({**row, **(ended if row.get("state") == PENDING else {})})
        state = worst_state([row["state"] for row in rows])
        if state == VERIFIED or is_over(event, state, rows):
            self.record_judgement(event, state, "stop", rows)
        if state == VERIFIED:
            pending_calls.forget_call(self.state, event.session, event.call)
        return rows

    def record_judgement(self, event: Event, state: str, by: str, rows: list[dict[str, Any]]) -> bool:
        """Records a new judgement. Returns whether it is the first one."""
        if any(row.get("outcome") == FALSE_SUCCESS for row in rows):
            mark_cooldowns(self.state)  # a pending success was false, and its route may be paused
        kind = SETTLED if state == VERIFIED else JUDGED
        new = self.ledger.add(Event(event.session, event.call, kind, time.time(), event.harness, event.turn,
                                    event.agent, event.tool, event.identity, state,
                                    {"by": by, "verdicts": rows}))  # fmt: skip
        return new[0]

    def judge_background(self, event: Event, kept: KeptCall, fate: Fate, by: str) -> Correction | None:
        """Judges background work that has ended, records that, and returns the correction; nothing if a parallel hook
        has just done so."""
        call = end_background(kept.call, fate)
        verdicts = self.judge_now(KeptCall(call, kept.at))
        rows = self.make_rows(verdicts, event)
        state = worst_state([row["state"] for row in rows]) or UNVERIFIED
        first = self.record_judgement(event, state, by, rows)
        if state == VERIFIED:
            pending_calls.forget_call(self.state, event.session, event.call)
        if not first:
            return None
        correction = conclude(call, verdicts).correction
        return None if correction is None else Correction(correction.text, False)


def is_over(event: Event, state: str, rows: Sequence[dict[str, Any]]) -> bool:
    """Tells whether an unresolved call is resolved now, though not verified. A source without an answer leaves an
    operation as it was; one that says "not done" ends it."""
    if any(row.get("operation") for row in rows):
        return event.state != REFUTED and state == REFUTED
    return event.state == PENDING and state != PENDING


def end_background(call: ToolCall, fate: Fate | None) -> ToolCall:
    """Returns a background call as it is after its end."""
    if fate is None:
        return change_call(call, background=False)
    return change_call(call, background=False, exit_code=fate.code, reported=fate.said)


def change_call(call: ToolCall, **more: Any) -> ToolCall:
    return ToolCall(**{**call.__dict__, **more})


def list_pending(events: Sequence[Event]) -> list[Event]:
    """Returns the calls with work in the background, as far as the ledger knows."""
    over = {event.call for event in events if event.event in (JUDGED, SETTLED)}
    return [event for event in events if event.event == ENDED and event.state == PENDING and event.call not in over]


def judge_ended(
    harness: ModuleType, call: ToolCall, sources: Sequence[Source], state: str, folder: str, ends: float,
    path: str | None,
) -> list[Correction]:  # fmt: skip
    """Returns the corrections for background work that has ended, according to the answer of `call` or the new part
    of the transcript at `path`."""
    tasks: dict[str, int | None] = harness.list_ended_tasks(call) if hasattr(harness, "list_ended_tasks") else {}
    since = pending_calls.read_mark(state, call.session)
    notified: dict[str, Fate] = {}
    upto = 0
    if since is not None:
        notified, upto = call_outcomes.read_notices(harness.NAME, path, since, World(ends=ends))
    corrections: list[Correction] = []
    if not tasks and not notified:
        if since is not None:
            pending_calls.set_mark(state, call.session, upto)
        return corrections
    try:
        judge = Rejudge(sources, state, folder, ends)
        waiting = list_pending(judge.ledger.session(call.session, MAX_EVENTS))
        for event in waiting:
            task, fate = event.data.get("background"), notified.get(event.call)
            if task in tasks:
                code = tasks[task]
                fate = call_outcomes.Fate(UNKNOWN if code is None else SUCCESS if code == 0 else FAILURE, code)
            kept = pending_calls.find_call(state, call.session, event.call)
            if fate is None or kept is None:
                continue
            correction = judge.judge_background(event, kept, fate, f"call {call.call_id}")
            corrections += [correction] if correction is not None else []
        if since is not None:
            more = list_pending(judge.ledger.session(call.session, MAX_EVENTS))
            pending_calls.set_mark(state, call.session, upto if more else None)
            if not more and list_pending(judge.ledger.session(call.session, MAX_EVENTS)):
                pending_calls.set_mark(state, call.session, 0)  # begun in this moment, when there was a mark still
    except LedgerError:
        return corrections  # reported at the call itself
    return corrections
