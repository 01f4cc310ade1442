"""Payloads of Codex that truecall makes itself."""

from __future__ import annotations

from typing import Any

from truecall_py.clients.samples import CALL, SAID, build_call

# What every payload holds; an example of a contract gives only what is its own.
EXAMPLE: dict[str, Any] = {
    "session_id": "00000000-0000-7000-8000-00000000000b",
    "turn_id": "00000000-0000-7000-8000-000000000001",
    "transcript_path": "@HOME@/.codex/sessions/rollout-1.jsonl",
    "cwd": "@WORLD@",
    "hook_event_name": "PostToolUse",
    "model": "gpt-5.5",
    "permission_mode": "default",
    "tool_name": "Bash",
    "tool_use_id": "call_00000000000000000001",
}
SHELL_ANSWER = ""  # of a shell command that ended well, where an example gives none


def build_self_test(event: str, folder: str) -> dict[str, Any]:
    """The payload of an event that tells of the call with which `doctor` tests a hook, in a session in `folder`."""
    plain = {**build_call(event, folder), "turn_id": CALL, "model": "none", "transcript_path": None}
    plain |= {"permission_mode": "default", "tool_use_id": CALL}
    return {**plain, **({"session_id": CALL} if event == "PreToolUse" else {"tool_response": SAID})}
