"""Records the client events that are not about a finished call: the user is asked to approve a call (WAITING), and a
batch of calls is over (BATCH). Judges nothing. If the ledger cannot be written, the next call reports that."""

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

IDLE_SECONDS = 3600.0  # this long after the last false success, batches need no counting
MAX_CALLS = 50  # calls of a batch that are stored


def record_waiting(state: str, call: ToolCall) -> None:
    """Records that the user is asked to approve `call`. The arguments are already stored with the request."""
    if not call.session:
        return
    try:
        recorder = Recorder(state, call, {})
        recorder.ledger.add(recorder.make_event(WAITING, "", {}, call.call_id or find_waiting_call(recorder)))
    except LedgerError:
        return


def find_waiting_call(recorder: Recorder) -> str:
    """Returns the id of the call that waits for approval: the newest request of this turn with the same arguments
    that has neither ended nor been refused. Without one, returns a name made of turn and arguments. The question may
    lack the call's `description`, so both forms are compared. Raises LedgerError."""
    call = recorder.call
    args = {name: value for name, value in call.args.items() if name != "description"}
    without_description = ToolCall(**{**call.__dict__, "args": args})
    identities = {make_identity(variant, recorder.history.key) for variant in (call, without_description)}
    turn, events = name_turn(call), recorder.history.events
    ended_ids = {event.call for event in events if event.event in (ENDED, REFUSED)}
    waiting_ids = {event.call for event in events if event.event == WAITING}
    requested_ids = [
        event.call for event in reversed(events)
        if event.event == REQUESTED and event.turn == turn
        and event.identity in identities and event.call not in ended_ids
    ]  # fmt: skip
    fallback = next(iter(requested_ids), f"{turn} {min(identities)}")
    # A second copy of this hook may have recorded the first of them as waiting already.
    return next((call_id for call_id in requested_ids if call_id not in waiting_ids), fallback)


def record_batch(state: str, client: str, payload: dict[str, Any]) -> Event | None:
    """Records one PostToolBatch event of this client. Returns the refusal in the batch that ends the agent's loop (a
    used-up budget with `on_exhausted: stop`), else None."""
    session, tool_calls = str(payload.get("session_id", "")), payload.get("tool_calls")
    rows = tool_calls if isinstance(tool_calls, list) else []
    calls = [str(row.get("tool_use_id", "")) for row in rows if isinstance(row, dict)]
    now = time.time()
    batch_name = f"batch {(calls[0] if calls else '') or f'{now:.6f}'}"
    turn, cooldowns = str(payload.get("prompt_id", "")), os.path.join(state, COOLDOWNS)
    if not session:
        return None
    try:
        ledger = Ledger(state, create=False)
        ledger.add(Event(session, batch_name, BATCH, now, client, turn, data={"calls": calls[:MAX_CALLS]}))
        events = (event for call in calls[:MAX_CALLS] for event in ledger.of(session, call))
        ending_refusal = next((event for event in events if event.data.get("ends")), None)
        if os.stat(cooldowns).st_mtime < now - IDLE_SECONDS:
            os.unlink(cooldowns)
        return ending_refusal
    except (LedgerError, OSError):
        return None
