"""Claude Code as a program: how it is found, and what it leaves and sets."""

from __future__ import annotations

from truecall_py.clients.program import Program

PROGRAM = Program(
    executable="claude",
    marks=(".claude", "CLAUDE.md"),
    agent_variables=("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"),
    scratch=(".claude",),
    home_servers=(".claude.json",),
    project_servers=(".mcp.json", ".claude/settings.json", ".claude/settings.local.json"),
    beside_servers=("settings.json", ".claude.json"),
    own_servers=("plugin_", "claude_ai", "ide", "claude-in-chrome", "computer-use"),
)
