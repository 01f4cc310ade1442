"""Payloads of Claude Code that truecall makes itself."""

from __future__ import annotations

from typing import Any

from truecall_py.clients.samples import CALL, SAID, TOOL, build_call

# What every payload holds; an example of a contract gives only what is its own.
EXAMPLE: dict[str, Any] = {
    "session_id": "00000000-0000-4000-8000-00000000000a",
    "transcript_path": "@HOME@/.claude/projects/app/session.jsonl",
    "cwd": "@WORLD@",
    "permission_mode": "default",
    "hook_event_name": "PostToolUse",
    "tool_name": "Bash",
    "tool_use_id": "toolu_000000000000000000000001",
}
# The answer of a shell command that ended well, where an example gives none.
SHELL_ANSWER = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}


def build_self_test(event: str, folder: str) -> dict[str, Any]:
    """The payload of an event that tells of the call with which `doctor` tests a hook, in a session in `folder`."""
    plain = {**build_call(event, folder), "transcript_path": "", "permission_mode": "default", "tool_use_id": CALL}
    if event == "PreToolUse":
        return {**plain, "session_id": CALL}
    if event == "PostToolBatch":
        answer = f"<tool_use_error>{SAID}</tool_use_error>"
        call = {"tool_name": TOOL, "tool_input": {}, "tool_use_id": CALL, "tool_response": answer}
        return {**plain, "tool_calls": [call]}
    return {**plain, ("error" if event == "PostToolUseFailure" else "tool_response"): SAID}
