"""Fail-closed at the process: signals, interpreters, installations and surroundings that are broken."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid

import pytest
from support.faults import (
    CUSTOM,
    GOOD,
    as_root,
    finish,
    installation,
    living,
    marked,
    probed,
    refuted,
    unverified,
)
from support.project import NOTE, PATIENCE, ROOT, Answer

# -- the process ---------------------------------------------------------------------------------------------


def waiting(project, marker, **more):
    """A hook process in the middle of a probe."""
    project.trust(probed(["sh", "-c", f"touch started; sleep 20 # {marker}"], "15s"))
    process = project.start(**more)
    process.stdin.write(json.dumps(project.mcp()).encode())
    process.stdin.close()
    process.stdin = None
    until = time.monotonic() + PATIENCE
    while not os.path.exists(os.path.join(project.root, "started")) and time.monotonic() < until:
        time.sleep(0.01)
    return process


def python_of(launcher):
    """The Python that a launcher started."""
    return next(pid for pid, parent, args in living() if parent == launcher and "start.py" in args)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("whom", ["python", "group"])
def test_a_signal_ends_the_work_but_not_the_answer(project, whom, number):
    """A client that has had enough and signals Python or the whole group still gets an answer."""
    marker = f"marker-{uuid.uuid4()}"
    process = waiting(project, marker)
    if whom == "group":
        os.killpg(process.pid, number)
    else:
        os.kill(python_of(process.pid), number)
    assert unverified(finish(process), "told to end")
    assert not marked(marker)


def test_a_signal_to_the_launcher_alone_changes_nothing(project):
    """The launcher answers although it was told to end: it waits for Python."""
    process = waiting(project, f"marker-{uuid.uuid4()}", options=("--deadline", "1"))
    os.kill(process.pid, signal.SIGTERM)
    assert unverified(finish(process))


def test_signals_again_and_again(project):
    """Many signals in a row do not shoot down the answer to the first."""
    process = waiting(project, f"marker-{uuid.uuid4()}")
    for _ in range(20):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        time.sleep(0.01)
    assert unverified(finish(process))


def test_a_python_that_is_killed_is_answered_for(project):
    """Python killed in the middle: the launcher gives the static answer."""
    process = waiting(project, f"marker-{uuid.uuid4()}")
    python = python_of(process.pid)
    os.kill(python, signal.SIGKILL)
    assert unverified(finish(process), "its program failed")


def stand_in(script):
    """A program that takes the place of Python."""
    return lambda project: project.write("python", f"#!/bin/sh\n{script}\n", 0o755)


INTERPRETERS = {
    "gone": lambda project: "/nonexistent",
    "silent": lambda project: "/bin/true",
    "failing": lambda project: "/bin/false",
    "talking": lambda project: "/bin/echo",
    "not executable": lambda project: project.contract,
    "a folder": lambda project: project.root,
    "another program": stand_in("echo '{}'"),
    "killed": stand_in("kill -9 $$"),
    "exit 2": stand_in("exit 2"),
    "sealed and failed": stand_in("echo; echo '#truecall:end'; exit 1"),
    "not sealed": stand_in("echo '{\"decision\": \"x\"}'"),
    "more behind the seal": stand_in("echo; echo '#truecall:end'; echo x"),
}


@pytest.mark.parametrize("name", INTERPRETERS)
def test_an_interpreter_that_does_not_answer_is_answered_for(project, harness, name):
    """Whatever stands in for Python, only a sealed answer of a process that ended well gets through."""
    project.trust()
    answer = project.hook(project.mcp(harness), harness, env={"TRUECALL_PYTHON": INTERPRETERS[name](project)})
    assert unverified(answer, "its program failed")


STATIC = {
    ("claude-code", "PostToolUse"): "append",
    ("claude-code", "PostToolUseFailure"): "append",
    ("claude-code", "PostToolBatch"): "append",
    ("claude-code", "PreToolUse"): "append",
    ("codex", "PostToolUse"): "append",
    ("codex", "PreToolUse"): "append",
    ("nonsense", "PostToolUse"): "",
    ("claude-code", "Nonsense"): "",
    ("", ""): "",
}


@pytest.mark.parametrize(("name", "event"), STATIC)
def test_the_static_answer_of_every_event(project, name, event):
    """A dead Python is answered for in the form of the harness and event, and by exit code 2 where there is
    none."""
    # The text without which the launcher starts nothing after a batch.
    answer = project.hook(b'{"a": "<tool_use_error>"}', name, event, env={"TRUECALL_PYTHON": "/nonexistent"})
    form = STATIC[name, event]
    if not form:
        assert answer.blocked and not answer.out, answer
        return
    assert answer.form == form
    assert answer.json.get("hookSpecificOutput", {}).get("hookEventName", event) == event


@pytest.mark.parametrize("event", ["Stop", "SubagentStop"])
def test_a_dead_python_blocks_the_stop_only_once(project, harness, event):
    """At the stop a broken installation is told to the agent once, and never keeps it from stopping."""
    env = {"TRUECALL_PYTHON": "/nonexistent"}
    payload = {"hook_event_name": event, "session_id": "s", "stop_hook_active": False}
    assert project.hook(payload, harness, event, env=env).json["decision"] == "block"
    for separators in ((",", ":"), (", ", ": ")):
        again = json.dumps({**payload, "stop_hook_active": True}, separators=separators).encode()
        assert project.hook(again, harness, event, env=env).form == "notice"


SABOTAGE = {
    "a syntax error": ("hook/main.py", "def main(:\n"),
    "an empty module": ("hook/main.py", ""),
    "a missing module": ("core/types.py", None),
    "a missing package file": ("clients/__init__.py", None),
    "a module that raises": ("core/fast_json.py", "raise ValueError\n"),
    "a module that exits": ("core/errors.py", "raise SystemExit(0)\n"),
    "a module that ends it all": ("core/errors.py", "import os\nos._exit(0)\n"),
    "a module that prints": ("core/errors.py", "\nprint('{}')\nimport os\nos._exit(0)\n"),
    "a seal that was changed": ("hook/main.py", "\nSEAL = '#other'\n"),
}


@pytest.mark.parametrize("name", SABOTAGE)
def test_a_broken_installation_is_answered_for(project, harness, name):
    """A package that cannot be imported, or ends the process, brings the static answer."""
    project.trust()
    run = installation(project, *SABOTAGE[name])
    assert unverified(project.hook(project.mcp(harness), harness, run=run))


def test_a_module_that_is_missing_when_it_is_needed(project, harness):
    """A module that is loaded late and cannot be is told, not passed over."""
    project.trust()
    run = installation(project, "checks/file_exists.py", None)
    answer = project.hook(project.mcp(harness), harness, run=run)
    assert unverified(answer, "the check file_exists is not in this version")


PLANTED = "open({ran!r}, 'w').close()\nraise ImportError('planted')\n"


def test_planted_modules_are_not_imported(project, harness):
    """Nothing in the project or on PYTHONPATH is imported in place of the standard library or of truecall."""
    project.write("checks/own.py", "import json\ndef holds(call):\n    return {'verdict': 'refuted', 'found': 'x'}\n")
    project.trust(CUSTOM)
    ran = os.path.join(project.base, "ran")
    planted = ("json", "os", "sitecustomize", "usercustomize", "time", "types", "_json", "truecall_py/__init__",
               "truecall_py/hook/main", "yaml")  # fmt: skip
    for folder in ("", "lib/"):
        for name in planted:
            project.write(f"{folder}{name}.py", PLANTED.format(ran=ran))
    env = {"PYTHONPATH": f"{project.root}:{project.root}/lib", "PYTHONHOME": None, "PYTHONSTARTUP": "json.py",
           "PYTHONINSPECT": "1"}  # fmt: skip
    assert refuted(project.hook(project.mcp(harness), harness, env=env), "own-check")
    assert not os.path.exists(ran)


@pytest.mark.parametrize("how", [">&-", ">/dev/full"])
def test_an_answer_that_cannot_be_written_is_no_success(project, harness, how):
    """Where standard output cannot be written, the process does not end with 0."""
    if "full" in how and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    project.trust()
    answer = project.hook(project.mcp(harness), harness, shell=f'"$@" {how}')
    assert answer.code == 2 and b"Traceback" not in answer.err, answer
    dead = project.hook(project.mcp(harness), harness, env={"TRUECALL_PYTHON": "/nonexistent"}, shell=f'"$@" {how}')
    assert dead.code == 2, dead


def test_a_reader_that_left_is_no_success(project):
    """A client that closed its end of the pipe does not make the hook end with 0."""
    process = project.start()
    process.stdout.close()
    process.stdin.write(GOOD[:-1])
    process.stdin.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(PATIENCE) != 0
    assert b"Traceback" not in err


def test_a_closed_stderr_changes_nothing(project, harness):
    """Without a standard error the answer is the same."""
    project.trust()
    assert refuted(project.hook(project.mcp(harness), harness, shell='"$@" 2>&-'))
    assert refuted(project.hook(project.mcp(harness), harness, shell='exec "$@" 2>&- 3>&- 4>&-'))


@pytest.mark.parametrize("deleted", ["the folder", "the whole project"])
def test_a_deleted_working_folder_is_survived(project, harness, deleted):
    """A hook whose working folder is gone judges what was trusted for it."""
    project.trust()
    inside = project.folder("project", "deep")
    where = inside if deleted == "the folder" else project.root
    shell = f'cd {where}; rm -rf {where}; exec "$@"'
    env = {"PWD": where}
    assert refuted(project.hook(project.mcp(harness), harness, shell=shell, env=env), "note-saved")


def test_without_a_home_the_contracts_are_judged(project, harness):
    """HOME that is not set changes nothing for a trust store named otherwise."""
    project.trust()
    assert refuted(project.hook(project.mcp(harness), harness, env={"HOME": None}), "note-saved")


def test_without_any_home_the_working_folder_is_not_the_store(project, harness):
    """Where nobody knows an absolute home folder, one below the working folder is not taken for it."""
    project.trust(path=project.write("planted.yaml", NOTE))
    shutil.copytree(project.state, os.path.join(project.root, "~", ".local", "state", "truecall"))
    project.write("truecall.yaml", NOTE)
    env = {"HOME": "~", "XDG_STATE_HOME": None, "XDG_CONFIG_HOME": None}
    assert unverified(project.hook(project.mcp(harness), harness, env=env))


LOCALES = {
    "C": {"LC_ALL": "C", "PYTHONIOENCODING": "cp950"},
    "POSIX": {"LC_ALL": "POSIX", "LANG": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "one that is not there": {"LC_ALL": "xx_XX.ISO-8859-1"},
}


@pytest.mark.parametrize("name", LOCALES)
def test_a_hostile_locale_changes_nothing(project, harness, name):
    """Names beyond ASCII are found, and the answer is ASCII, whatever the locale."""
    project.trust()
    env = {"LANG": None, **LOCALES[name]}
    payload = project.mcp(harness, args={"title": "café 中", "body": "ö\U0001f600"})
    assert refuted(project.hook(payload, harness, env=env), "caf")
    project.write("notes/café 中.md", "ö\U0001f600")
    assert project.hook(payload, harness, env=env).form == "silent"


def test_a_folder_whose_name_is_no_text(project, harness):
    """A project folder with bytes that are no UTF-8 is judged, and its notices do not void the answer."""
    project.root = project.folder("pr\udcff\x1b[1m")
    project.contract = os.path.join(project.root, "truecall.yaml")
    project.trust()
    os.unlink(project.contract)
    answer = project.hook(project.mcp(harness, cwd="/"), harness)
    assert refuted(answer, "note-saved") and "deleted" in answer.notice and "\x1b" not in answer.notice


@as_root
def test_a_state_folder_that_cannot_be_written(project):
    """A read-only trust store is read all the same; the person is then told each time."""
    project.trust()
    project.write("truecall.yaml", "version: 1\n")
    mount = f"mount --bind {project.state} {project.state} && mount -o remount,ro,bind {project.state} && "
    shell = f"unshare -m sh -c '{mount} exec \"$@\"' sh \"$@\""
    for _ in range(2):
        answer = project.hook(project.mcp(), shell=shell)
        if answer.code and b"unshare" in answer.err + b"mount":
            pytest.skip("mounting is not permitted here")
        assert refuted(answer, "note-saved") and answer.notice


def test_a_state_folder_without_write_permission(project, harness):
    """A trust store that its owner may not write is read all the same."""
    project.trust()
    project.write("truecall.yaml", "version: 1\n")
    for folder, _, _ in os.walk(project.state):
        os.chmod(folder, 0o500)
    answer = project.hook(project.mcp(harness), harness)
    for folder, _, _ in os.walk(project.state):
        os.chmod(folder, 0o700)
    assert refuted(answer, "note-saved") and answer.notice


def test_a_temporary_folder_that_is_not_there(project, harness):
    """TMPDIR that leads nowhere changes nothing."""
    project.trust()
    env = {"TMPDIR": "/nonexistent", "TMP": "/nonexistent", "TEMP": "/nonexistent"}
    assert refuted(project.hook(project.mcp(harness), harness, env=env), "note-saved")


@pytest.mark.parametrize("limit", ["-n 4", "-n 5", "-n 6", "-n 8", "-n 12", "-v 4000", "-v 9000", "-v 12000",
                                   "-v 14000", "-v 16000", "-v 20000", "-v 40000"])  # fmt: skip
def test_a_process_that_is_short_of_everything(project, limit):
    """With hardly any descriptors or memory there is an answer, or exit code 2; never a pass."""
    project.trust()
    answer = project.hook(project.mcp(), shell=f'ulimit {limit}; exec "$@"')
    assert b"Traceback" not in answer.out + answer.err, answer
    # A shell that cannot even start ends with 127 or a signal; that is beyond any hook's reach.
    if answer.code or not answer.out:
        assert answer.code == 2 or (limit.startswith("-v") and answer.code in (126, 127)), answer
    else:
        assert answer.text


def test_a_payload_that_does_not_fit_into_memory(project, harness):
    """A payload larger than the memory brings an answer."""
    project.trust(NOTE)
    payload = project.mcp(harness, args={"title": "a", "body": "x" * 60_000_000})
    answer = project.hook(payload, harness, shell='ulimit -v 90000; exec "$@"')
    assert unverified(answer)


def test_a_payload_beyond_all_measure(project):
    """A payload above the limit of 128 MB is given up, not read without end."""
    process = project.start(options=("--deadline", "15"))
    piece = b"[" * (1 << 20)
    with contextlib.suppress(BrokenPipeError):
        for _ in range(140):
            process.stdin.write(piece)
    assert unverified(finish(process), "larger than 128 MB")


# -- trust on a full disk, and many at once ------------------------------------------------------------------


def test_a_loop_in_truecalls_own_code_ends_with_the_deadline(project):
    """A bug that never ends is ended by the alarm, and the agent is told; nothing waits for the client's patience."""
    project.trust()
    code = (
        "import sys; sys.path.append(sys.argv[1]); from truecall_py.checks import file_exists\n"
        "def loop(*_):\n    while True: pass\n"
        "file_exists.run = loop\n"
        "from truecall_py.hook.main import main; sys.exit(main(['claude-code', 'PostToolUse', '--deadline', '0.5']))"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, ROOT]
    done = subprocess.run(argv, input=json.dumps(project.mcp()).encode(), capture_output=True, timeout=PATIENCE,
                          env=project.environment("claude-code"), cwd=project.root)  # fmt: skip
    assert Answer(done.returncode, done.stdout, done.stderr).form == "append"
