"""Payloads of Copilot CLI that truecall makes itself."""

from __future__ import annotations

from typing import Any

from truecall_py.clients.samples import SAID, TIME, TOOL, build_call


def build_self_test(event: str, folder: str) -> dict[str, Any]:
    """The payload of an event that tells of the call with which `doctor` tests a hook, in a session in `folder`."""
    failed = event.endswith("Failure")
    if event[0] == "p":
        report = {"error": SAID} if failed else {"toolResult": {"resultType": "success", "textResultForLlm": SAID}}
        return {"sessionId": "", "timestamp": 0, "cwd": folder, "toolName": TOOL, "toolArgs": {}, **report}
    report = {"error": SAID} if failed else {"tool_result": {"result_type": "success", "text_result_for_llm": SAID}}
    return {**build_call(event, folder), "timestamp": TIME, **report}
