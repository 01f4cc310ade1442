"""OpenCode as a program: how it is found, and what it leaves and sets."""

from __future__ import annotations

from truecall_py.clients.program import Program

PROGRAM = Program(
    executable="opencode",
    marks=(".opencode", "opencode.json", "opencode.jsonc"),
    agent_variables=("OPENCODE",),
    home_servers=(".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"),
    project_servers=("opencode.json", "opencode.jsonc"),
)
