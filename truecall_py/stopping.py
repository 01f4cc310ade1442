"""The gate at the stop: whether an agent may end its turn, by what the ledger says of it and what is there now. Holds
an agent once, and never again for the same; never lets a doubt pass for a success.

Before it holds anybody it looks again: calls that stand open are judged once more (`unsettled` keeps them), those of
whose end no hook was told are looked up in the client's transcript, and background tasks that have ended are judged.
"""

from __future__ import annotations

import os
import time

from truecall_py import claims, standing, stop_words, unsettled
from truecall_py.contract import Contract
from truecall_py.errors import TrustError
from truecall_py.fates import RUNNING, Fate, fates
from truecall_py.judging import concluded, snapshot_of, verdicts
from truecall_py.ledger import ENDED, JUDGED, LOST, SETTLED, STOP, Event, Ledger, LedgerError
from truecall_py.memory import PENDING, as_data, contract_of, filed, turn_of, worst
from truecall_py.remembering import Remembering, lost, mark
from truecall_py.sessions import LedgerLost
from truecall_py.snapshots import Snapshot
from truecall_py.standing import Open
from truecall_py.types import FAILURE, LIE, REFUTED, SUCCESS, UNKNOWN, UNVERIFIED, VERIFIED, Correction, ToolCall
from truecall_py.unsettled import Kept
from truecall_py.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any

    from truecall_py.trust import Source
    from truecall_py.types import Reply, Stop, Verdict

MANY = 2000  # events of a session that are looked at


class Gate:
    """One stop: who stops, what is enforced, what the ledger knows. `ends` is the monotonic time of the deadline,
    `folder` that of the session. Raises LedgerError."""

    def __init__(
        self, harness: ModuleType, stop: Stop, found: Sequence[Source], state: str, folder: str, ends: float
    ) -> None:
        self.harness, self.stop, self.found = harness, stop, found
        self.state, self.folder, self.ends = state, folder, ends
        self.ledger = Ledger(state)
        event = Event(stop.session, LOST, LOST, time.time(), stop.harness, stop.turn, stop.agent)
        lost(self.ledger, self.ledger.key(), event)
        self.read()

    def read(self) -> None:
        self.events = self.ledger.session(self.stop.session, MANY)
        self.mine = standing.of_turn(self.events, self.stop)

    # -- looking again -------------------------------------------------------------------------------------

    def learn(self) -> list[Open]:
        """Finds out how calls ended of whose end no hook was told; what nobody can tell stands open."""
        endless = standing.endless(self.mine)
        if not endless:
            return []
        told = fates(self.stop.transcript, [each.call for each in endless], World(ends=self.ends))
        lost, ended = [], False
        for event in endless:
            fate = told.get(event.call)
            kept = unsettled.find(self.state, self.stop.session, event.call)
            if fate is not None and fate.said == RUNNING:
                lost.append(unknown(event, "the command still runs", PENDING))
            elif kept is not None and (fate is not None or self.short(kept.call)):
                self.end(kept, fate)
                ended = True
            elif fate is not None and fate.said != FAILURE:
                lost.append(unknown(event, "no hook was told how the call ended"))
            elif fate is None and event.data.get("untold"):
                lost.append(unknown(event, "no hook was told how the call ended, and the transcript does not say it"))
            # else: it was refused or failed, and that was told; or Claude Code's user denied it.
        if ended:
            self.read()
        return lost

    def short(self, call: ToolCall) -> bool:
        """Whether a call is over when the agent stops, though nothing says so: a command may still run."""
        return "shell" not in (self.harness.inner(call) if hasattr(self.harness, "inner") else call).kinds

    def end(self, kept: Kept, fate: Fate | None) -> None:
        """Judges a call of whose end no hook was told, and writes down that it ended."""
        fate = fate or Fate(UNKNOWN)
        call = changed(kept.call, reported=fate.said, exit_code=fate.code, text=fate.text or None)
        if hasattr(self.harness, "inner"):
            call = self.harness.inner(call)
        memory = Remembering(self.state, call, next((each.policy for each in self.found if each.policy), {}))
        if kept.masked:
            memory.memory.known = kept.identity
        memory.stops = claims.asked_for(self.found, call, self.ends)
        contracts = named(self.found, call)
        made = self.judge(Kept(call, kept.at), contracts) if contracts else []
        concluded(call, made, (), memory)

    def judge(self, kept: Kept, contracts: Sequence[Contract]) -> list[Verdict]:
        """The verdicts on a call as things are now: one look, without patience."""
        call = kept.guarded()
        once = [
            Contract(each.id, each.source, each.project, {**each.plain, "within": None}, each.file)
            for each in contracts
        ]  # fmt: skip
        before = snapshot_of(contracts, call, self.state)
        # What others did since is what may have put it right: here no call needs to have been alone.
        before = before and Snapshot(before.at, before.cwd, before.facts)
        return verdicts(once, call, self.ends, self.folder, before, kept.at)

    def again(self) -> dict[str, list[dict[str, Any]]]:
        """New verdicts on the calls that stand open, by call; what is settled now is written down."""
        fresh: dict[str, list[dict[str, Any]]] = {}
        over = {each.call for each in self.events if each.event == JUDGED}
        for event in {each.event.call: each.event for each in standing.standing(self.events, self.mine, {})}.values():
            kept = unsettled.find(self.state, self.stop.session, event.call)
            if event.state == PENDING and event.call not in over and not self.over(event):
                continue
            if kept is None:
                if event.state == PENDING:  # it has ended, and nobody can judge it any more
                    fresh[event.call] = [
                        {**row, "state": UNVERIFIED, "cause": "tool", "found": "nobody looked when it had ended"}
                        if row.get("state") == PENDING else row
                        for row in event.data.get("verdicts", ())
                    ]  # fmt: skip
                continue
            fresh[event.call] = settle(self, event, Kept(changed(kept.call, background=False), kept.at))
        return fresh

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

    def claims(self) -> tuple[list[Verdict], list[str]]:
        """The verdicts of what is judged at the stop, and what is wrong with contract files."""
        whole = self.events if len(self.events) < MANY and not self.lost() else None
        return at_stop(self.found, self.stop, whole, standing.delegated(self.events, self.stop), self.ends)


def at_stop(
    found: Sequence[Source], stop: Stop, events: Sequence[Event] | None, mine: Sequence[Event], ends: float
) -> tuple[list[Verdict], list[str]]:
    made, wrong = [], []
    for source in found:
        try:
            for contract in source.at_stop():
                verdict = claims.judged(contract, stop, events, mine, ends)
                if verdict is not None and verdict.state != VERIFIED:
                    made.append(verdict)
        except TrustError as error:
            wrong.append(error.what)
    return made, wrong


def reply(
    harness: ModuleType, stop: Stop, found: Sequence[Source], state: str, folder: str, ends: float,
    notices: tuple[str, ...],
) -> Reply:  # fmt: skip
    """The answer to an agent that wants to stop."""
    if not stop.session or not any(source.index is not None for source in found):
        return answer(harness, stop, "", notices)
    try:
        gate = Gate(harness, stop, found, state, folder, ends)
        lost = gate.learn()
        opened = [*standing.standing(gate.events, gate.mine, gate.again()), *lost]
        judged, wrong = gate.claims()
        doubts = standing.doubts(gate.mine)
        before = standing.held_before(gate.events, stop)
        if gate.lost() and not opened:
            raise LedgerLost("the ledger was begun anew while this turn went on, and what it knew of it is gone")
    except LedgerError as error:
        return forgetful(harness, stop, found, state, ends, error, notices)
    holding = [each for each in judged if each.mode != "observe" and held_for(each)]
    new = [each for each in opened if tuple(map(str, each.key)) not in before]
    hold = not stop.active and bool(new or holding)
    remember(gate, hold, opened, judged)
    if not hold and not stop.agent and (stop.active or not opened):
        unsettled.end(state, stop.session, gate.staying(), time.time())
    notices += tuple(stop_words.damaged(why) for why in wrong)
    if hold:
        return answer(harness, stop, stop_words.held(opened, holding), notices + told(judged, holding))
    if opened or holding:
        notices += (stop_words.left_open(opened, holding, doubts),)
    return answer(harness, stop, "", notices + told(judged, holding))


def held_for(verdict: Verdict) -> bool:
    """Whether what was found at the stop is the agent's to mend."""
    return verdict.state == REFUTED or verdict.cause in standing.OF_THE_WORLD


def told(judged: Sequence[Verdict], holding: Sequence[Verdict]) -> tuple[str, ...]:
    """What the person is told of the rest."""
    return tuple(stop_words.at_stop(each) for each in judged if each not in holding)


def remember(gate: Gate, hold: bool, opened: Sequence[Open], judged: Sequence[Verdict]) -> None:
    """Writes the stop down. Raises nothing: what was decided stays decided."""
    at, stop = time.time(), gate.stop
    data = {"held": hold, "open": [list(each.key) for each in opened][:100],
            "claims": [[each.contract, each.state] for each in judged][:100]}  # fmt: skip
    name = f"stop {at:.6f} {os.getpid()}"
    try:
        gate.ledger.add(Event(stop.session, name, STOP, at, stop.harness, stop.turn, stop.agent, data=data))
    except LedgerError:
        return


def forgetful(
    harness: ModuleType, stop: Stop, found: Sequence[Source], state: str, ends: float, error: LedgerError,
    notices: tuple[str, ...],
) -> Reply:  # fmt: skip
    """The answer where nobody can say what was done: the agent is held once, to tell the person so."""
    from truecall_py.notices import told_before

    judged, wrong = at_stop(found, stop, None, (), ends)
    holding = [each for each in judged if each.mode != "observe" and held_for(each)]
    notices += (stop_words.unknown(error.what), *(stop_words.damaged(why) for why in wrong), *told(judged, holding))
    if stop.active or told_before(state, f"{stop.session}{stop.turn}", stop.agent, "stop"):
        return answer(harness, stop, "", notices)
    return answer(harness, stop, stop_words.cannot_say(error.what, holding), notices)


def answer(harness: ModuleType, stop: Stop, text: str, notices: tuple[str, ...]) -> Reply:
    made: Reply = harness.hold(stop.event, text, notices)
    return made


# -- single calls --------------------------------------------------------------------------------------------


def settle(gate: Gate, event: Event, kept: Kept) -> list[dict[str, Any]]:
    """Judges a call that stands open once more: its verdicts as the ledger keeps them. What is verified now, or is no
    longer pending, is written down; what no contract is about any more stays as it was."""
    made = gate.judge(kept, named(gate.found, kept.call))
    old = {contract_of(row): row for row in event.data.get("verdicts", ())}
    rows = []
    for verdict in made:
        before = old.get((filed(verdict.file), verdict.contract), {})
        if kept.masked and not before:
            continue  # whether it is about the call cannot be told of a masked one
        if before.get("state") == REFUTED and verdict.state == UNVERIFIED:
            rows.append(before)  # a doubt takes nothing back: only what holds now does
            continue
        rows.append({**as_data(verdict, ""), **{name: before[name] for name in ("order", "form") if name in before}})
    judged = {(filed(verdict.file), verdict.contract) for verdict in made}
    for contract, row in old.items():
        if contract not in judged:
            ended = {"state": UNVERIFIED, "cause": "harness", "found": "it ended, and nobody could look at it"}
            rows.append({**row, **(ended if row.get("state") == PENDING else {})})
    state = worst([row["state"] for row in rows])
    if state == VERIFIED or event.state == PENDING:
        write(gate.ledger, event, state, "stop", rows)
    if state == VERIFIED:
        unsettled.forget(gate.state, event.session, event.call)
    return rows


def write(ledger: Ledger, event: Event, state: str, by: str, rows: list[dict[str, Any]]) -> None:
    if any(row.get("outcome") == LIE for row in rows):
        mark(os.path.dirname(ledger.path))  # what was pending has lied, and may rest
    kind = SETTLED if state == VERIFIED else JUDGED
    ledger.add(Event(event.session, event.call, kind, time.time(), event.harness, event.turn, event.agent,
                     event.tool, event.identity, state, {"by": by, "verdicts": rows}))  # fmt: skip


def unknown(event: Event, why: str, state: str = UNVERIFIED) -> Open:
    """A call of whose end nobody knows, as it stands open."""
    contracts = ", ".join(map(str, event.data.get("contracts", ())))
    row = {"contract": contracts, "state": state, "cause": "tool", "found": why, "expected": "a call that has ended"}
    return Open(event, row, state)


def changed(call: ToolCall, **more: Any) -> ToolCall:
    return ToolCall(**{**call.__dict__, **more})


def named(found: Sequence[Source], call: ToolCall) -> list[Contract]:
    """The contracts that name a call; a file that cannot be read is told of elsewhere."""
    contracts: list[Contract] = []
    for source in found:
        try:
            contracts += source.named(call)
        except TrustError:
            continue
    return contracts


def ended(
    harness: ModuleType, call: ToolCall, found: Sequence[Source], state: str, folder: str, ends: float
) -> list[Correction]:
    """What is to be told of background tasks that have ended by the answer of `call`."""
    tasks: dict[str, int | None] = harness.finished(call)
    if not tasks:
        return []
    from truecall_py.types import Stop

    stop = Stop(call.harness, call.event, call.session, turn_of(call), call.agent)
    made = []
    try:
        gate = Gate(harness, stop, found, state, folder, ends)
        over = {each.call for each in gate.events if each.event in (JUDGED, SETTLED)}
        for event in gate.events:
            task = event.data.get("background")
            if event.event != ENDED or event.state != PENDING or task not in tasks or event.call in over:
                continue
            kept = unsettled.find(state, call.session, event.call)
            if kept is None:
                continue
            code = tasks[task]
            said = UNKNOWN if code is None else SUCCESS if code == 0 else FAILURE
            call_then = changed(kept.call, background=False, exit_code=code, reported=said)
            made_now = gate.judge(Kept(call_then, kept.at), named(found, call_then))
            rows = [as_data(each, "") for each in made_now]
            state_now = worst([row["state"] for row in rows]) or UNVERIFIED
            write(gate.ledger, event, state_now, f"call {call.call_id}", rows)
            judgement = concluded(call_then, made_now)
            if judgement.correction is not None:
                made.append(Correction(judgement.correction.text, False))
            if all(each.state == VERIFIED for each in made_now):
                unsettled.forget(state, call.session, event.call)
    except LedgerError:
        return made  # told of at the call itself
    return made
