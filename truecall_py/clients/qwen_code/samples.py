"""Payloads of Qwen Code that truecall makes itself."""

from __future__ import annotations

from typing import Any

from truecall_py.clients.samples import CALL, SAID, TIME, build_call


def build_self_test(event: str, folder: str) -> dict[str, Any]:
    """The payload of an event that tells of the call with which `doctor` tests a hook, in a session in `folder`."""
    plain = {**build_call(event, folder), "transcript_path": "", "timestamp": TIME}
    plain |= {"tool_use_id": CALL, "tool_call_id": CALL}
    if event == "PostToolUseFailure":
        return {**plain, "error": SAID}
    return {**plain, "tool_response": {"llmContent": SAID, "returnDisplay": SAID}}
