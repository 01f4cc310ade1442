"""`truecall doctor` on the environment of the hooks."""

from __future__ import annotations

import os
from typing import Any

import pytest
from support.doctor import LOCAL, SHARED, doctor, edited, merge, said
from support.settings import HARNESSES, USER, home, read, run


def test_the_simple_mode_of_claude_code(healthy: Any) -> None:
    """CLAUDE_CODE_SIMPLE in the settings or in the environment: no hook runs. Settings win, and a project's count in
    2.1.197 alone; 0 is no simple mode, and other clients do not know it."""
    run(healthy, "install", "claude-code")
    for value in ("1", "TRUE", "on"):
        wrong = said(doctor(healthy, code=1, env={"CLAUDE_CODE_SIMPLE": value}), "error", "claude-code")
        assert "in the environment, so Claude Code runs no hook" in wrong and "-> unset CLAUDE_CODE_SIMPLE" in wrong
    doctor(healthy, env={"CLAUDE_CODE_SIMPLE": "0"})
    merge(healthy, "~/.claude/settings.json", {"env": {"CLAUDE_CODE_SIMPLE": "0"}})
    doctor(healthy, env={"CLAUDE_CODE_SIMPLE": "1"})
    merge(healthy, LOCAL, {"env": {"CLAUDE_CODE_SIMPLE": "1"}})
    wrong = said(doctor(healthy, code=1), "error")
    assert "so Claude Code 2.1.197 runs no hook" in wrong and f"{healthy.root}/{LOCAL}" in wrong
    merge(healthy, "~/.claude/settings.json", {"env": {"CLAUDE_CODE_SIMPLE": 1}})
    merge(healthy, LOCAL, {"env": {"CLAUDE_CODE_SIMPLE": ""}})
    assert "so Claude Code 2.1.332 runs no hook" in said(doctor(healthy, code=1), "error")
    run(healthy, "uninstall", "claude-code")
    run(healthy, "install", "qwen-code")
    doctor(healthy, env={"CLAUDE_CODE_SIMPLE": "1"})


def test_the_canary_has_the_environment_of_the_settings(healthy: Any) -> None:
    """Claude Code gives the env of its settings to every hook, a project's after the person's: with a PATH in which
    the launcher finds nothing the canary says so, and another client's does not."""
    for name in ("claude-code", "qwen-code"):
        run(healthy, "install", name)
    merge(healthy, "~/.claude/settings.json", {"env": {"PATH": "/nowhere"}})
    found = doctor(healthy, code=1)
    assert "PostToolBatch: " in said(found, "error", "claude-code") and not said(found, "error", "qwen-code")
    merge(healthy, SHARED, {"env": {"PATH": os.environ["PATH"]}})
    doctor(healthy)
    merge(healthy, LOCAL, {"env": {"PATH": "/nowhere"}})
    assert "PostToolBatch: " in said(doctor(healthy, code=1), "error", "claude-code")


def test_a_shell_prefix(healthy: Any) -> None:
    """Claude Code starts the program with every command: the canary goes through it, whether it runs it or not."""
    run(healthy, "install", "claude-code")
    good = healthy.write(os.path.join(healthy.base, "a wrapper"), '#!/bin/sh\necho x >> "$0.ran"\nexec sh -c "$1"\n', 0o755)
    bad = healthy.write(os.path.join(healthy.base, "dead"), "#!/bin/sh\nexit 0\n", 0o755)
    doctor(healthy, env={"CLAUDE_CODE_SHELL_PREFIX": good})
    assert read(f"{good}.ran")
    doctor(healthy, env={"CLAUDE_CODE_SHELL_PREFIX": "sh -c"})
    for prefix in (bad, "/nowhere"):
        merge(healthy, "~/.claude/settings.json", {"env": {"CLAUDE_CODE_SHELL_PREFIX": prefix}})
        assert f"(through CLAUDE_CODE_SHELL_PREFIX={prefix})" in said(doctor(healthy, code=1), "error", "claude-code")


@pytest.mark.parametrize("name", ["CLAUDE_CODE_SHELL_PREFIX", "LD_PRELOAD", "PATH", "TRUECALL_PYTHON"])
def test_what_a_project_would_load_is_not_run(healthy: Any, name: str) -> None:
    """A project's env may be anybody's: what it puts in the place of a program is told, and no hook is run with it."""
    run(healthy, "install", "claude-code")
    evil = healthy.write("bin/head", '#!/bin/sh\ntouch "$0.ran"\n', 0o755)
    merge(healthy, LOCAL, {"env": {name: os.path.dirname(evil) if name == "PATH" else evil, "OTHER": evil}})
    warned = said(doctor(healthy), "warning", "claude-code")
    assert f"{name} in {healthy.root}/{LOCAL}" in warned and "OTHER" not in warned
    assert not os.path.exists(f"{evil}.ran")


@pytest.mark.parametrize("name, most", [("claude-code", 2147483), ("gemini-cli", 2147483647), ("qwen-code", 2147483647)])
def test_a_time_out_that_no_client_can_count(healthy: Any, name: str, most: int) -> None:
    """Beyond 2^31-1 milliseconds the hook is ended at once; up to there, and in clients that can count, it is not."""
    run(healthy, "install", name)
    unit, given = HARNESSES[name].REGISTRATION.timeout
    path = home(healthy, USER[name])
    edited(path, f'"{unit}": {given}', f'"{unit}": {most}')
    doctor(healthy, name)
    edited(path, f'"{unit}": {most}', f'"{unit}": {most + 1}')
    assert "ends the hook at once" in said(doctor(healthy, name, code=1), "error", name)
    run(healthy, "install", "copilot-cli")
    edited(home(healthy, USER["copilot-cli"]), '"timeoutSec": 30', '"timeoutSec": 1000000000')
    doctor(healthy, "copilot-cli")
