"""The table of harnesses, and which one sent a payload. One module each; never a second parser of the same
shape elsewhere."""

from __future__ import annotations

from truecall_py.core.errors import PayloadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

NAMES = ("claude-code", "codex", "gemini-cli", "qwen-code", "copilot-cli", "opencode", "cline")

# Whose payload it is, by keys that nobody else sends; the first that fits. A name that is not in NAMES is known from
# documentation, or cannot correct a call (docs/reference/clients.md).
SENDERS = (
    ("Windsurf", ("agent_action_name", "tool_info")),
    ("cline", ("clineVersion", "hookName")),
    ("Cursor", ("cursor_version",)),
    ("Grok Build", ("hookEventName", "hook_event_name", "workspaceRoot")),
    ("VS Code", ("hookEventName", "tool_name")),
    ("copilot-cli", ("toolName", "toolArgs", "sessionId")),
    ("Antigravity", ("toolCall", "conversationId")),
    ("Antigravity", ("toolCall", "stepIdx")),
    ("Kimi Code", ("client_type",)),
    ("Goose", ("event", "matcher_context")),
)
EVENTS = {
    "after_tool": "Mistral Vibe", "post_tool": "Mistral Vibe", "postToolUse": "Kiro or Amazon Q",
    **dict.fromkeys(("AfterTool", "BeforeTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel",
                     "BeforeToolSelection", "PreCompress"), "gemini-cli"),
}  # fmt: skip


def module(name: str) -> ModuleType:
    """The module of a harness. Raises PayloadError for a name that is not in the table."""
    if name not in NAMES:
        raise PayloadError(
            f"the harness {name[:60]!r} is not known", do=f"use one of {', '.join(NAMES)}, or leave --harness out"
        )
    full = f"{__name__}.{name.replace('-', '_')}.hook"
    __import__(full)
    from sys import modules

    return modules[full]


def sender(payload: dict[str, Any]) -> str:
    """Who sent a payload: a name of NAMES, or that of a harness without an adapter; "" for an unknown shape."""
    for name, keys in SENDERS:
        if all(key in payload for key in keys):
            return name
    event = payload.get("hook_event_name")
    if not isinstance(event, str):
        asks = payload.get("input")
        return "opencode" if isinstance(asks, dict) and "callID" in asks else ""
    if event in EVENTS:
        return EVENTS[event]
    if "turn_id" in payload:
        return "codex"
    if "timestamp" in payload:  # neither Claude Code nor Codex sends one
        response = payload.get("tool_response")
        if "tool_call_id" in payload or event == "PostToolBatch":
            return "qwen-code"
        if isinstance(response, dict) and "llmContent" in response:
            return "qwen-code"
        if "transcript_path" not in payload and "tool_use_id" not in payload:
            return "copilot-cli"
    return "claude-code"


def recognise(payload: dict[str, Any]) -> str:
    """The harness that sent `payload`, by its keys alone. Raises PayloadError for an unknown shape."""
    name = sender(payload)
    if not name:
        keys = ", ".join(sorted(str(key) for key in payload)[:8]) or "none"
        raise PayloadError(f"the payload names no hook_event_name (its keys: {keys[:200]})")
    if name not in NAMES:
        raise PayloadError(
            f"this payload has the shape of {name}, which truecall does not support yet",
            do=f"register truecall in one of {', '.join(NAMES)}",
        )
    return name
