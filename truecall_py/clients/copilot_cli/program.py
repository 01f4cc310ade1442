"""GitHub Copilot CLI as a program: how it is found, and what it leaves and sets."""

from __future__ import annotations

from truecall_py.clients.program import Program

PROGRAM = Program(
    executable="copilot",
    marks=(".github/hooks", ".github/copilot-instructions.md"),
    agent_variables=("COPILOT_CLI",),
    home_servers=(".copilot/mcp-config.json",),
    project_servers=(".github/mcp.json", ".vscode/mcp.json"),
    beside_servers=("mcp-config.json", "../mcp-config.json"),
)
