"""Payloads of Gemini CLI that truecall makes itself."""

from __future__ import annotations

from typing import Any

from truecall_py.clients.samples import SAID, TIME, build_call

# What every payload holds; an example of a contract gives only what is its own.
EXAMPLE: dict[str, Any] = {
    "session_id": "00000000-0000-4000-8000-00000000000c",
    "transcript_path": "@HOME@/.gemini/tmp/app/chats/session.json",
    "cwd": "@WORLD@",
    "hook_event_name": "AfterTool",
    "timestamp": "2026-01-01T00:00:00.000Z",
    "tool_name": "run_shell_command",
}


def build_self_test(event: str, folder: str) -> dict[str, Any]:
    """The payload of an event that tells of the call with which `doctor` tests a hook, in a session in `folder`."""
    answer = {"llmContent": SAID, "returnDisplay": SAID}
    return {**build_call(event, folder), "transcript_path": "", "timestamp": TIME, "tool_response": answer}
