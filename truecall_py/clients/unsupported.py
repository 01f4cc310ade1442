"""Clients that truecall does not support: they are known from documentation, or cannot correct a call. A payload of
theirs is refused under its own name."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# (name, keys that nobody else sends together); the first that fits.
KEYS = (
    ("Windsurf", ("agent_action_name", "tool_info")),
    ("Cursor", ("cursor_version",)),
    ("Grok Build", ("hookEventName", "hook_event_name", "workspaceRoot")),
    ("VS Code", ("hookEventName", "tool_name")),
    ("Antigravity", ("toolCall", "conversationId")),
    ("Antigravity", ("toolCall", "stepIdx")),
    ("Kimi Code", ("client_type",)),
    ("Goose", ("event", "matcher_context")),
)
EVENTS = {"after_tool": "Mistral Vibe", "post_tool": "Mistral Vibe", "postToolUse": "Kiro or Amazon Q"}
AGENT_VARIABLES = ("CURSOR_AGENT",)  # what they set for the commands that an agent runs


def find_by_keys(payload: dict[str, Any]) -> str:
    """The client that sent a payload, by its keys; "" for none of these."""
    return next((name for name, keys in KEYS if all(key in payload for key in keys)), "")
