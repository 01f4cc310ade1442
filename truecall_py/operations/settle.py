"""Judges calls once more on which the last word is not said: what was refuted or could not be verified, and work in
the background that has ended. Never takes a doubt for more than what was known, and never says that work has ended
which nobody has said the end of.

Claude Code 2.1.197 and 2.1.332 tell no hook of the end of a background task; they write a notification for the model
into the transcript, at once (fates.notified). From the next hook of the session on that is known here. Codex tells of
it by a late PostToolUse, or by its transcript alone: that is looked into at the stop.
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
)
from truecall_py.judging.engine import Moment
from truecall_py.judging.judge import conclude, find_snapshot, judge_contracts, may_apply
from truecall_py.judging.recorder import mark_cooldowns
from truecall_py.ledger import pending_calls
from truecall_py.ledger.events import PENDING, as_data, contract_of, filed, worst
from truecall_py.ledger.pending_calls import Kept
from truecall_py.ledger.store import ENDED, JUDGED, SETTLED, Event, Ledger, LedgerError
from truecall_py.trust.store import contracts_naming
from truecall_py.world.snapshots import Snapshot
from truecall_py.world.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any

    from truecall_py.clients.call_outcomes import Fate
    from truecall_py.core.types import Verdict
    from truecall_py.trust.store import Source

MANY = 2000  # events of a session that are looked at; what stands open before them is found by itself


class Judge:
    """What judging again needs: the contracts in force, the state folder, that of the session, and the monotonic time
    of the deadline. Raises LedgerError."""

    def __init__(self, found: Sequence[Source], state: str, folder: str, ends: float) -> None:
        self.found, self.state, self.folder, self.ends = found, state, folder, ends
        self.ledger = Ledger(state)

    def judge(self, kept: Kept) -> list[Verdict]:
        """The verdicts on a call as things are now: one look, without patience."""
        call, contracts = kept.guarded(), contracts_naming(self.found, kept.call)
        if not contracts:
            return []
        once = [
            Contract(each.id, each.source, each.project, {**each.plain, "within": None}, each.file)
            for each in contracts
        ]  # fmt: skip
        before = find_snapshot(contracts, call, self.state)
        # What others did since is what may have put it right: here no call needs to have been alone.
        before = before and Snapshot(before.at, before.cwd, before.facts)
        made = judge_contracts(once, call, self.ends, self.folder, before, kept.at)
        if not any("receipt" in each.plain for each in contracts):
            return made
        from truecall_py.operations.duplicate_guard import again

        return again(self.state, contracts, call, made, self.folder)

    def about(self, event: Event, kept: Kept | None) -> list[str]:
        """The contracts that may be about a call of whose end nobody knows: of all that name its tool and do more
        than observe, those that what was told before it does not rule out."""
        if kept is None:
            observing = event.data.get("observing", ())
            return [str(each) for each in event.data.get("contracts", ()) if each not in observing]
        call, moment = kept.guarded(), Moment(self.ends, kept.at, self.folder)
        mine = [each for each in contracts_naming(self.found, kept.call) if each.plain.get("mode") != "observe"]
        return [each.id for each in mine if may_apply(each, call, moment, before=True)]

    def rows(self, made: Sequence[Verdict], event: Event) -> list[dict[str, Any]]:
        """Verdicts on the call of an event as the ledger keeps them."""
        key = self.ledger.key()
        return [as_data(each, "", key, event.identity) for each in made]

    def settle(self, event: Event, kept: Kept, told: Event | None = None) -> list[dict[str, Any]]:
        """Judges a call that stands open once more: its verdicts as the ledger keeps them. What is verified now, or
        is no longer pending, is written down; what no contract is about any more stays as it was `told` last (None:
        when it ended)."""
        made = self.judge(kept)
        old = {contract_of(row): row for row in (told or event).data.get("verdicts", ())}
        rows = []
        for row in self.rows(made, event):
            before = old.get(contract_of(row), {})
            if kept.masked and not before:
                continue  # whether it is about the call cannot be told of a masked one
            if before.get("state") == REFUTED and row["state"] == UNVERIFIED:
                rows.append(before)  # a doubt takes nothing back: only what holds now does
                continue
            rows.append({**row, **{name: before[name] for name in ("order", "form", "route") if name in before}})
        judged = {(filed(verdict.file), verdict.contract) for verdict in made}
        for contract, row in old.items():
            if contract not in judged:
                ended = {"state": UNVERIFIED, "cause": "harness", "found": "it ended, and nobody could look at it"}
                rows.append({**row, **(ended if row.get("state") == PENDING else {})})
        state = worst([row["state"] for row in rows])
        if state == VERIFIED or over(event, state, rows):
            self.write(event, state, "stop", rows)
        if state == VERIFIED:
            pending_calls.forget(self.state, event.session, event.call)
        return rows

    def write(self, event: Event, state: str, by: str, rows: list[dict[str, Any]]) -> bool:
        """Writes a new judgement down; whether it is the first one."""
        if any(row.get("outcome") == FALSE_SUCCESS for row in rows):
            mark_cooldowns(self.state)  # what was pending has lied, and may rest
        kind = SETTLED if state == VERIFIED else JUDGED
        new = self.ledger.add(Event(event.session, event.call, kind, time.time(), event.harness, event.turn,
                                    event.agent, event.tool, event.identity, state,
                                    {"by": by, "verdicts": rows}))  # fmt: skip
        return new[0]

    def ended(self, event: Event, kept: Kept, fate: Fate, by: str) -> Correction | None:
        """Judges background work that has ended, writes that down, and returns what is to be told of it:
        nothing where the hook of another call that ran beside this one has done so in this moment."""
        call = finished(kept.call, fate)
        made = self.judge(Kept(call, kept.at))
        rows = self.rows(made, event)
        state = worst([row["state"] for row in rows]) or UNVERIFIED
        first = self.write(event, state, by, rows)
        if state == VERIFIED:
            pending_calls.forget(self.state, event.session, event.call)
        if not first:
            return None
        told = conclude(call, made).correction
        return None if told is None else Correction(told.text, False)


def over(event: Event, state: str, rows: Sequence[dict[str, Any]]) -> bool:
    """Whether a call that stood open, by its event, is so no longer, though not verified. A source that did not
    answer leaves an operation as it was; one that says that it is not done ends it."""
    if any(row.get("operation") for row in rows):
        return event.state != REFUTED and state == REFUTED
    return event.state == PENDING and state != PENDING


def finished(call: ToolCall, fate: Fate | None) -> ToolCall:
    """A call that went on in the background, as it is when it has ended."""
    if fate is None:
        return changed(call, background=False)
    return changed(call, background=False, exit_code=fate.code, reported=fate.said)


def changed(call: ToolCall, **more: Any) -> ToolCall:
    return ToolCall(**{**call.__dict__, **more})


def pending(events: Sequence[Event]) -> list[Event]:
    """The calls whose work goes on in the background, as far as the ledger knows."""
    over = {each.call for each in events if each.event in (JUDGED, SETTLED)}
    return [each for each in events if each.event == ENDED and each.state == PENDING and each.call not in over]


def told_of(
    harness: ModuleType, call: ToolCall, found: Sequence[Source], state: str, folder: str, ends: float,
    path: str | None,
) -> list[Correction]:  # fmt: skip
    """What is to be told of background work that has ended by the answer of `call`, or by what stands in the
    transcript at `path` since it was looked at."""
    tasks: dict[str, int | None] = harness.finished(call) if hasattr(harness, "finished") else {}
    since = pending_calls.mark(state, call.session)
    notified: dict[str, Fate] = {}
    upto = 0
    if since is not None:
        notified, upto = call_outcomes.notified(harness.NAME, path, since, World(ends=ends))
    made: list[Correction] = []
    if not tasks and not notified:
        if since is not None:
            pending_calls.set_mark(state, call.session, upto)
        return made
    try:
        judge = Judge(found, state, folder, ends)
        waiting = pending(judge.ledger.session(call.session, MANY))
        for event in waiting:
            task, fate = event.data.get("background"), notified.get(event.call)
            if task in tasks:
                code = tasks[task]
                fate = call_outcomes.Fate(UNKNOWN if code is None else SUCCESS if code == 0 else FAILURE, code)
            kept = pending_calls.find(state, call.session, event.call)
            if fate is None or kept is None:
                continue
            correction = judge.ended(event, kept, fate, f"call {call.call_id}")
            made += [correction] if correction is not None else []
        if since is not None:
            more = pending(judge.ledger.session(call.session, MANY))
            pending_calls.set_mark(state, call.session, upto if more else None)
            if not more and pending(judge.ledger.session(call.session, MANY)):
                pending_calls.set_mark(state, call.session, 0)  # begun in this moment, when there was a mark still
    except LedgerError:
        return made  # told of at the call itself
    return made
