"""What a client tells of no call that has ended: that a person is asked to approve one, and that a batch of calls is
over, which is a tick and where a refusal ends the loop. Judges nothing; a ledger that takes nothing is told of at the
next call."""

from __future__ import annotations

import os
import time

from truecall_py.core.types import ToolCall
from truecall_py.judging.recorder import Recorder
from truecall_py.ledger.events import COOLDOWNS, make_identity, name_turn
from truecall_py.ledger.store import BATCH, ENDED, REFUSED, REQUESTED, WAITING, Event, Ledger, LedgerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

IDLE = 3600.0  # seconds after the last lie, when batches need not be counted any more
MANY = 50  # calls of a batch that are kept


def waiting(state: str, call: ToolCall) -> None:
    """Notes that a person is asked to approve a call; what is asked about stands with the request itself."""
    if not call.session:
        return
    try:
        recorder = Recorder(state, call, {})
        recorder.ledger.add(recorder.make_event(WAITING, "", {}, call.call_id or asked_about(recorder)))
    except LedgerError:
        return


def asked_about(recorder: Recorder) -> str:
    """The id of the call that waits: the last one of this turn with these arguments that was asked for and has not
    ended; else a name of its own. The question may hold a description that the call does not. Raises LedgerError."""
    call = recorder.call
    args = {name: value for name, value in call.args.items() if name != "description"}
    plain = ToolCall(**{**call.__dict__, "args": args})
    mine = {make_identity(each, recorder.history.key) for each in (call, plain)}
    turn, events = name_turn(call), recorder.history.events
    over = {event.call for event in events if event.event in (ENDED, REFUSED)}
    waits = {event.call for event in events if event.event == WAITING}
    asked = [
        event.call for event in reversed(events)
        if event.event == REQUESTED and event.turn == turn and event.identity in mine and event.call not in over
    ]  # fmt: skip
    # One that waits already is asked about by a second copy of this hook.
    return next((each for each in asked if each not in waits), next(iter(asked), f"{turn} {min(mine)}"))


def batch(state: str, harness: str, payload: dict[str, Any]) -> Event | None:
    """Notes one tick, as a PostToolBatch of this client tells it. The refusal of one of its calls with which the
    budget was gone, where the policy ends the loop then; else None."""
    session, told = str(payload.get("session_id", "")), payload.get("tool_calls")
    rows = told if isinstance(told, list) else []
    calls = [str(row.get("tool_use_id", "")) for row in rows if isinstance(row, dict)]
    at = time.time()
    name = f"batch {(calls[0] if calls else '') or f'{at:.6f}'}"
    turn, path = str(payload.get("prompt_id", "")), os.path.join(state, COOLDOWNS)
    if not session:
        return None
    try:
        ledger = Ledger(state, create=False)
        ledger.add(Event(session, name, BATCH, at, harness, turn, data={"calls": calls[:MANY]}))
        events = (event for call in calls[:MANY] for event in ledger.of(session, call))
        ends = next((event for event in events if event.data.get("ends")), None)
        if os.stat(path).st_mtime < at - IDLE:
            os.unlink(path)
        return ends
    except (LedgerError, OSError):
        return None
