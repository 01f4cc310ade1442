"""Payloads of Cline that truecall makes itself."""

from __future__ import annotations

from typing import Any

from truecall_py.clients.samples import CALL, SAID, TOOL


def build_self_test(event: str, folder: str) -> dict[str, Any]:
    """The payload of an event that tells of the call with which `doctor` tests a hook, in a session in `folder`."""
    row = {"id": CALL, "name": TOOL, "input": {}, "output": {"query": "", "result": SAID, "success": True}}
    return {"clineVersion": "", "hookName": "tool_result", "taskId": "", "workspaceRoots": [folder],
            "workspaceInfo": {"rootPath": folder}, "tool_result": row}  # fmt: skip
