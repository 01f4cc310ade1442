"""Payloads of OpenCode that truecall makes itself."""

from __future__ import annotations

from typing import Any

from truecall_py.clients.samples import CALL, SAID, TOOL


def build_self_test(event: str, folder: str) -> dict[str, Any]:
    """The payload of an event that tells of the call with which `doctor` tests a hook, in a session in `folder`."""
    asks = {"tool": TOOL, "sessionID": "", "callID": CALL, "args": {}}
    return {"cwd": folder, "input": asks, "output": {"title": TOOL, "metadata": {}, "output": SAID}}
