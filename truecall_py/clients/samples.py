"""The call with which `doctor` tests a hook: no agent made it, and each client tells of it in its own shape. Its
session has no name, so that no session is marked as told."""

from __future__ import annotations

from typing import Any

TOOL, CALL, SAID = "truecall_doctor", "truecall-doctor", "The canary sang."
TIME = "2026-01-01T00:00:00.000Z"


def build_call(event: str, folder: str) -> dict[str, Any]:
    """What the payloads of all clients hold that have the shape of Claude Code's."""
    return {"session_id": "", "cwd": folder, "hook_event_name": event, "tool_name": TOOL, "tool_input": {}}
