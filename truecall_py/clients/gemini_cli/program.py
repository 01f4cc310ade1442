"""Gemini CLI as a program: how it is found, and what it leaves and sets."""

from __future__ import annotations

from truecall_py.clients.program import Program

PROGRAM = Program(
    executable="gemini",
    marks=(".gemini", "GEMINI.md"),
    agent_variables=("GEMINI_CLI", "GEMINI_SESSION_ID"),
    home_servers=(".gemini/settings.json",),
    project_servers=(".gemini/settings.json",),
    beside_servers=("settings.json",),
)
