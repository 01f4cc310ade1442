"""What is sabotaged in tests of the fail-closed boundary, and the answers that are wanted."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading

import pytest

from support.project import PATIENCE, ROOT, Answer

SOON = 6  # seconds: far more than any deadline that is set here, far less than what is waited for
ROOT_USER = os.geteuid() == 0
as_root = pytest.mark.skipif(not ROOT_USER, reason="needs root")
COMMAND = """\
version: 1
contracts:
  - id: probed
    tool: mcp__notes__save_note
    timeout: {timeout}
    post:
      - command: {{run: {run}}}
"""


def probed(run, timeout="1s"):
    return COMMAND.format(run=json.dumps(run), timeout=timeout)


def unverified(answer, *words):
    """The answer appends: the real output stays, and the agent reads that nothing was verified, and why."""
    assert answer.form == "append", answer
    assert answer.text.startswith("NOT CONFIRMED"), answer
    assert not [word for word in words if word not in answer.text], answer
    return True


def refuted(answer, *words):
    assert answer.form == "replace", answer
    assert answer.text.startswith("NOT DONE"), answer
    assert not [word for word in words if word not in answer.text], answer
    return True


def living():
    """(process, its parent, its arguments) of everything that runs."""
    listed = subprocess.check_output(["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], text=True, errors="replace")
    for line in listed.splitlines():
        pid, parent, args = line.split(None, 2)
        yield int(pid), int(parent), args


def marked(marker):
    """The living processes that have the marker among their arguments."""
    return [pid for pid, _, args in living() if marker in args]


def finish(process):
    """The answer of a process whose standard input is not touched; it is killed when it does not come."""
    watch = threading.Timer(PATIENCE, os.killpg, (process.pid, signal.SIGKILL))
    watch.start()
    try:
        out, err = process.stdout.read(), process.stderr.read()
        return Answer(process.wait(), out, err)
    finally:
        watch.cancel()
        for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


GOOD = b'{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"T","tool_input":{},"tool_response":""}'


def damage(project, pin, data):
    with open(pin, "rb") as file:
        whole = file.read()
    with open(pin, "wb") as file:
        file.write(data(whole) if callable(data) else data)


CUSTOM = """\
version: 1
contracts:
  - id: own-check
    tool: mcp__notes__save_note
    when: {args.title: {equals: a}}
    post:
      - custom: {python: "checks/own.py:holds"}
"""


def installation(project, module, text):
    """A copy of the hook of which one module is replaced, added to (a text that begins with a new line) or
    deleted (None); the copy's launcher."""
    place = os.path.join(project.base, "installed")
    for name in ("hooks", "truecall_py"):
        shutil.copytree(os.path.join(ROOT, name), os.path.join(place, name))
    path = os.path.join(place, "truecall_py", module)
    if text is None:
        os.unlink(path)
    else:
        with open(path, "a" if text.startswith("\n") else "w") as file:
            file.write(text)
    return os.path.join(place, "hooks", "run.sh")
