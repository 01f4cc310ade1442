"""A sample of what `bench/detect.py` runs: honest work is never blocked, and what the packs claim to see they see."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from typing import Any

import pytest
from support.project import ROOT

BENCH = os.path.join(ROOT, "bench")


@pytest.fixture(scope="module")
def detect() -> Any:
    sys.path.insert(0, BENCH)
    try:
        import detect
    finally:
        sys.path.remove(BENCH)
    return detect


def test_no_false_block_and_no_missed_twin(detect: Any) -> None:
    """Sixty calls of one seed, from every pack that this machine has the programs for."""
    cases = random.Random(11).sample(detect.generated(11), 60)
    text, failed = detect.report(cases, detect.ran(cases))
    assert not failed, text


def test_a_seed_gives_the_same_calls(detect: Any) -> None:
    """The calls are many, of all packs, a fifth of them from Codex, and the same for the same seed."""
    cases = detect.generated(1)
    assert cases == detect.generated(1) and cases != detect.generated(2)
    assert len(cases) >= 450 and {case.pack for case in cases} >= {"files", "gates", "git", "mcp", "self", "shell"}
    assert sum(case.harness == "codex" for case in cases) >= len(cases) / 7
    assert sum(bool(case.refutes) for case in cases) >= 200


def test_a_false_block_and_a_missed_twin_are_told(detect: Any) -> None:
    """Work that was not done counts as a false block here, and a claim that no contract sees as a missed twin."""
    cases = [
        detect.Case("shell", "mkdir made", "shell-cp"),
        detect.Case("files", tool="Write", args={"file_path": "@WORLD@/a.md", "content": "x"}),
    ]
    text, failed = detect.report(cases, detect.ran(cases, workers=1))
    assert failed and "MISSED TWIN: 'mkdir made'" in text and "FALSE BLOCK: Write" in text


def test_the_command(detect: Any) -> None:
    """--check ends with 0 where all is well."""
    argv = [sys.executable, os.path.join(BENCH, "detect.py"), "--only", "self", "--most", "3", "--check"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "BLOCKED" in done.stdout, done.stdout + done.stderr
