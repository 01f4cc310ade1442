"""One check around one call: what stands there before it, what after it, and how the check ends."""

from __future__ import annotations

import os
import subprocess

import truecall_py
from truecall_py.api import look_before

QUIET = {
    "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.invalid",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.invalid",
}


def put(folder, given):
    """Writes a world into a folder: a map of files (text or bytes; None: removed), or lines of sh."""
    if isinstance(given, str):
        env = {**os.environ, **QUIET}
        subprocess.run(["sh", "-e", "-c", given], cwd=folder, check=True, env=env, capture_output=True)
        return
    for name, content in (given or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)


def outcome(folder, check, params, before=(), after=(), tool="Edit", args=None, answer=None, looked=True, **contract):
    """The first Outcome of `check` for a call between `before` and `after`; `looked=False` leaves the look before
    the call out."""
    put(folder, before or {})
    payload = {
        "session_id": "s", "tool_use_id": "t", "cwd": str(folder), "tool_name": tool, "tool_input": args or {},
    }
    contracts = {"version": 1, "contracts": [{"id": "one", "tool": tool, "post": {check: params}, **contract}]}
    snapshot = look_before({**payload, "hook_event_name": "PreToolUse"}, contracts) if looked else None
    put(folder, after or {})
    done = {**payload, "hook_event_name": "PostToolUse", "tool_response": answer}
    (verdict,) = truecall_py.judge(done, contracts, snapshot=snapshot).verdicts
    return verdict.outcomes[0]
