"""Cline as a program: how it is found, and what it leaves and sets."""

from __future__ import annotations

from truecall_py.clients.program import Program

PROGRAM = Program(
    executable="cline",
    marks=(".clinerules",),
    agent_variables=(),
    home_servers=(".cline/mcp.json", ".cline/data/settings/cline_mcp_settings.json"),
)
