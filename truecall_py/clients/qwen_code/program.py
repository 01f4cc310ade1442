"""Qwen Code as a program: how it is found, and what it leaves and sets."""

from __future__ import annotations

from truecall_py.clients.program import Program

PROGRAM = Program(
    executable="qwen",
    marks=(".qwen", "QWEN.md"),
    agent_variables=("QWEN_CODE_SESSION_ID",),
    home_servers=(".qwen/settings.json",),
    project_servers=(".qwen/settings.json",),
    beside_servers=("settings.json",),
)
