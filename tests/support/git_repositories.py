"""Real repositories, commands in them, and their verdicts."""

from __future__ import annotations

import os
import subprocess

from truecall_py import judge
from truecall_py.api import look_before

NAMES = {
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "Dev", "GIT_AUTHOR_EMAIL": "dev@example.invalid", "GIT_EDITOR": "true",
    "GIT_COMMITTER_NAME": "Dev", "GIT_COMMITTER_EMAIL": "dev@example.invalid",
}  # fmt: skip
PROLOGUE = """\
git init -q --bare -b main {root}/r.git
git init -q -b main {root}/w; cd {root}/w
git config commit.gpgsign false
echo 1 > a; git add a; git commit -qm one
git remote add origin ../r.git; git push -qu origin main
"""


def sh(folder, line, check=True):
    env = {**os.environ, **NAMES}
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=env, capture_output=True, text=True, timeout=30)
    assert not check or done.returncode == 0, done
    return done


def words(judgement):
    return judgement.correction.text if judgement.correction else ""


def state(place, check, run="", before=True, folder="w", **more):
    """(state, what was found) of one check after `run`, of an MCP tool's call."""
    contracts = {"version": 1, "contracts": [{"id": "c", "tool": "mcp__g__x", "post": {"git": check}, **more}]}
    payload = {
        "session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "mcp__g__x", "tool_use_id": "t",
        "tool_input": {}, "cwd": str(place / folder),
    }  # fmt: skip
    snapshot = look_before(payload, contracts) if before else None
    if run:
        sh(place / folder, run)
    answer = {**payload, "hook_event_name": "PostToolUse", "tool_response": "ok"}
    (verdict,) = judge(answer, contracts, snapshot=snapshot).verdicts
    return verdict.state, "; ".join(outcome.found for outcome in verdict.outcomes)
