"""Codex CLI: where and how it is told of a hook."""

from __future__ import annotations

from truecall_py.clients.codex.settings_rules import RULES
from truecall_py.clients.registration import Plugin, Registration

REGISTRATION = Registration(
    name="codex",
    client="Codex",
    events=("PostToolUse", "PreToolUse", "PermissionRequest", "Stop", "SubagentStop"),
    slow=(("Stop", 660), ("SubagentStop", 660)),
    home=("CODEX_HOME", "", ".codex"),
    user="hooks.json",
    project=".codex/hooks.json",
    example="install/codex.json",
    # Each of these was seen to void the whole file in silence.
    keys=("description", "hooks"),
    types=("command", "mcp_tool", "prompt", "agent"),
    one_scope=True,
    untold="Codex tells no hook of a patch that failed, of an MCP tool's error, of an apply_patch inside a shell "
    "command, and of a command that was still running: such calls are judged at the stop alone",
    plugin=Plugin(
        root="CLAUDE_PLUGIN_ROOT",
        hooks="hooks/codex.json",
        manifest=".codex-plugin/plugin.json",
        install="codex plugin add truecall",
        remove="codex plugin remove truecall",
        names_hooks=True,
    ),
    rules=RULES,
)
