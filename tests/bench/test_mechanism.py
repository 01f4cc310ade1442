"""The benchmark of the mechanism, small: what it finds is what it must find, and finds it again."""

from __future__ import annotations

import os
import subprocess
import sys

from support.project import ROOT


def run(*options: str) -> str:
    argv = [sys.executable, os.path.join(ROOT, "bench", "mechanism.py"), "--check", "--tasks", "1", *options]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_agent_that_obeys_leaves_nothing_broken_or_doubled() -> None:
    """Every lie is caught, no true claim is replaced, and the same seed gives the same figures."""
    found = run("--agent", "obeys", "--seed", "3")
    rows = {line[:26].strip(): [int(each) for each in line[26:].split()] for line in found.splitlines()
            if line.startswith(("without ", "default ")) and line[26:].split()[0].isdigit()}  # fmt: skip
    tasks, _done, broken, doubled, *_ = rows["default"]
    assert (tasks, broken, doubled) == (10, 0, 0) and sum(rows["without"][2:4]) > 0
    assert run("--agent", "obeys", "--seed", "3") == found
