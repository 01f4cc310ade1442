"""The table of harnesses, and which one sent a payload. One module each; never a second parser of the same
shape elsewhere."""

from __future__ import annotations

from truecall_py.errors import PayloadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

NAMES = ("claude-code", "codex")

# Seen or documented shapes of harnesses that have no adapter here yet: (name, keys that tell it).
FOREIGN = (
    ("Windsurf", ("agent_action_name", "tool_info")),
    ("Cline", ("clineVersion", "hookName")),
    ("Cursor", ("cursor_version",)),
    ("Grok Build", ("hookEventName", "hook_event_name", "workspaceRoot")),
    ("VS Code", ("hookEventName", "tool_name")),
    ("GitHub Copilot CLI", ("toolName", "toolArgs", "sessionId")),
    ("Antigravity", ("toolCall", "stepIdx")),
    ("Kimi Code", ("client_type",)),
    ("Goose", ("event", "matcher_context")),
    ("OpenCode", ("input", "output")),
)
FOREIGN_EVENTS = {"AfterTool": "Gemini CLI", "after_tool": "Mistral Vibe", "post_tool": "Mistral Vibe",
                  "postToolUse": "Kiro or Amazon Q"}  # fmt: skip


def module(name: str) -> ModuleType:
    """The module of a harness. Raises PayloadError for a name that is not in the table."""
    if name not in NAMES:
        raise PayloadError(
            f"the harness {name[:60]!r} is not known", do=f"use one of {', '.join(NAMES)}, or leave --harness out"
        )
    full = f"{__name__}.{name.replace('-', '_')}"
    __import__(full)
    from sys import modules

    return modules[full]


def foreign(payload: dict[str, Any]) -> str:
    """The name of a harness without an adapter whose payload this is, or ""."""
    for name, keys in FOREIGN:
        if all(key in payload for key in keys):
            return name
    event = payload.get("hook_event_name")
    if isinstance(event, str) and event in FOREIGN_EVENTS:
        return FOREIGN_EVENTS[event]
    if "timestamp" in payload and "hook_event_name" in payload:
        response = payload.get("tool_response")
        qwens = "tool_call_id" in payload or event == "PostToolBatch"  # Claude Code sends no timestamp with it
        if qwens or (isinstance(response, dict) and "llmContent" in response):
            return "Qwen Code"
        if "transcript_path" not in payload and "tool_use_id" not in payload:
            return "GitHub Copilot CLI"
    return ""


def recognise(payload: dict[str, Any]) -> str:
    """The harness that sent `payload`, by its keys alone. Raises PayloadError for an unknown shape."""
    name = foreign(payload)
    if name:
        raise PayloadError(
            f"this payload has the shape of {name}, which truecall does not support yet",
            do=f"register truecall in one of {', '.join(NAMES)}",
        )
    event = payload.get("hook_event_name")
    if not isinstance(event, str):
        keys = ", ".join(sorted(str(key) for key in payload)[:8]) or "none"
        raise PayloadError(f"the payload names no hook_event_name (its keys: {keys[:200]})")
    return "codex" if "turn_id" in payload else "claude-code"
