"""Codex' own record of a call: its exit code and status. Read from the end, bounded, only when asked for.

When PostToolUse runs, the rollout already holds the item_completed event of the call (seen in 58 of 58
calls). A record that is not found stays unknown; it is never guessed from the tool's text.
"""

from __future__ import annotations

from truecall_py.clients.transcript_tail import read_backwards
from truecall_py.core.fast_json import JsonError, loads
from truecall_py.core.types import FAILURE, SUCCESS, UNKNOWN, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.world.world import World

STATUSES = {"completed": SUCCESS, "failed": FAILURE, "declined": FAILURE}


def read_outcome(call: ToolCall, world: World) -> tuple[int | None, str]:
    """(exit code or None, success | failure | unknown) of `call` in its transcript."""
    wanted = call.call_id.encode("utf-8", "replace")
    try:
        for line in read_backwards(call.transcript, world) if wanted else ():
            if wanted in line and b"item_completed" in line and (outcome := read_line(line, call.call_id)):
                return outcome
    except OSError:
        pass
    return None, UNKNOWN


def read_line(line: bytes, call_id: str) -> tuple[int | None, str] | None:
    try:
        record = loads(line.decode("utf-8", "replace"))
    except JsonError:
        return None
    payload = record.get("payload") if isinstance(record, dict) else None
    item = payload.get("item") if isinstance(payload, dict) else None
    if not isinstance(item, dict) or not isinstance(payload, dict) or item.get("id") != call_id:
        return None
    code = item.get("exit_code")
    if isinstance(code, int) and not isinstance(code, bool):
        return code, SUCCESS if code == 0 else FAILURE
    return None, STATUSES.get(str(item.get("status", "")).lower(), UNKNOWN)
