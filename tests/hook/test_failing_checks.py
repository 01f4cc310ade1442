"""Fail-closed at the checks: one that raises, hangs or cannot be started is no verdict."""

from __future__ import annotations

import os
import stat
import time
import uuid

import pytest
from support.faults import (
    CUSTOM,
    SOON,
    installation,
    marked,
    probed,
    refuted,
    unverified,
)
from support.project import NOTE


def test_a_template_that_leads_nowhere_is_no_verdict(project, harness):
    """An argument that the call does not have makes the check unverified, never an empty string."""
    project.trust()
    assert unverified(project.hook(project.mcp(harness, args={"title": "a"}), harness), "args.body")


RAISING = {
    "an exception": "def holds(call):\n    raise ValueError('no')\n",
    "an exit": "import sys\ndef holds(call):\n    sys.exit(0)\n",
    "an exit in C": "import os\ndef holds(call):\n    os._exit(0)\n",
    "a kill": "import os, signal\ndef holds(call):\n    os.kill(os.getpid(), signal.SIGKILL)\n",
    "a syntax error": "def holds(call:\n",
    "no such function": "def other(call):\n    return True\n",
    "an answer of another kind": "def holds(call):\n    return 'yes'\n",
    "no answer": "def holds(call):\n    pass\n",
    "noise": "import os\nos.write(1, b'{\"verdict\": \"verified\"}\\n')\ndef holds(call):\n    pass\n",
    "no end": "def holds(call):\n    while True: pass\n",
}


@pytest.mark.parametrize("name", RAISING)
def test_a_check_of_ones_own_that_fails_is_no_verdict(project, name):
    """A person's own check that raises, ends, hangs or answers nonsense is unverified."""
    project.write("checks/own.py", RAISING[name])
    project.trust(CUSTOM + "    timeout: 500ms\n")
    assert unverified(project.hook(project.mcp()), "own-check")


ERRORS = ["ValueError('no')", "SystemExit(0)", "KeyboardInterrupt", "MemoryError", "RecursionError"]


@pytest.mark.parametrize("error", ERRORS)
def test_a_check_that_raises_is_a_fault_of_ours(project, harness, error):
    """A bug in a check is no verdict, whatever it raises, and leaves no traceback in the answer."""
    project.trust()
    run = installation(
        project, "checks/file_exists.py", f"\ndef run(params, call, world):\n    raise {error}\n"
    )
    assert unverified(project.hook(project.mcp(harness), harness, run=run), error.partition("(")[0])


def test_a_bug_leaves_a_report_without_data(project):
    """A bug of truecall's own is answered, and the report holds places in the code and nothing of the call."""
    project.trust()
    run = installation(project, "judging/judge.py", "\ndef judge_contracts(*values):\n    raise ValueError('hello')\n")
    answer = project.hook(project.mcp(), run=run)
    assert unverified(answer, "a bug of its own (ValueError)", project.state + "/reports/")
    (report,) = os.listdir(project.state + "/reports")
    path = os.path.join(project.state, "reports", report)
    with open(path) as file:
        text = file.read()
    assert "ValueError" in text and "judge.py" in text and "hello" not in text
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


PROBES = {
    "hangs": ("sleep 20 # {marker}", "did not end within"),
    "ignores TERM": ("trap '' TERM HUP INT; sleep 20 # {marker}", "did not end within"),
    "could not be executed": ("exit 126", "could not be executed"),
    "was not found": ("exit 127", "not found"),
    "was killed": ("kill -9 $$", "signal 9"),
}


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_that_cannot_tell_is_no_verdict(project, harness, name):
    """A probe that hangs, is killed or cannot be run is unverified, and nothing of it is left."""
    script, why = PROBES[name]
    marker = f"marker-{uuid.uuid4()}"
    project.trust(probed(["sh", "-c", script.format(marker=marker)], "400ms"))
    assert unverified(project.hook(project.mcp(harness), harness), why)
    assert not marked(marker)


@pytest.mark.parametrize("code", [0, 1])
def test_a_child_that_keeps_the_pipe_changes_nothing(project, code):
    """The probe's own exit code counts at once, though its child holds the output open; the child is ended."""
    marker = f"marker-{uuid.uuid4()}"
    child = f"sh -c 'sleep 20; : {marker}' &"
    project.trust(probed(["sh", "-c", f"{child} exit {code}"], "15s"))
    began = time.monotonic()
    answer = project.hook(project.mcp())
    assert time.monotonic() - began < SOON
    assert refuted(answer, "exit code 1") if code else answer.form == "silent"
    assert not marked(marker)


def test_a_probe_that_is_not_there_is_no_verdict(project, harness):
    """A program that cannot be found says nothing about the call."""
    project.trust(probed(["no-such-program-here"]))
    assert unverified(project.hook(project.mcp(harness), harness), "no-such-program-here")


def test_a_pattern_without_end_is_no_verdict(project, harness):
    """A regular expression that does not end is stopped, and proves nothing."""
    text = NOTE.replace('contains: "{{args.body}}"', "matches: '^(a+)+$'") + "    timeout: 400ms\n"
    project.trust(text)
    project.write("notes/a.md", "a" * 60 + "b")
    assert unverified(project.hook(project.mcp(harness), harness), "did not end within")


@pytest.mark.parametrize("script", ["sleep 20", "exit 1"])
def test_one_deadline_covers_all(project, harness, script):
    """A contract that would look for a minute is answered at the deadline of the hook."""
    marker = f"marker-{uuid.uuid4()}"
    text = probed(["sh", "-c", f"{script} # {marker}"], "50s") + "    within: 60s\n"
    project.trust(text)
    began = time.monotonic()
    answer = project.hook(project.mcp(harness), harness, options=("--deadline", "1"))
    assert time.monotonic() - began < SOON
    assert unverified(answer)  # not refuted: it might have held within the minute
    assert not marked(marker)
