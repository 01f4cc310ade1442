"""Codex as a program: how it is found, and what it leaves and sets."""

from __future__ import annotations

from truecall_py.clients.program import Program

PROGRAM = Program(
    executable="codex",
    marks=(".codex",),
    agent_variables=("CODEX_SANDBOX", "CODEX_THREAD_ID"),
    scratch=(".codex",),
    home_servers=(".codex/config.toml",),
    project_servers=(".codex/config.toml",),
    beside_servers=("config.toml",),
    own_servers=("codex_apps",),
)
