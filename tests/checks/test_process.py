"""process: real processes that live, die, stay unwaited for, and get each other's numbers."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from support.project import ROOT

from truecall_py.checks import process
from truecall_py.core.errors import Unverified
from truecall_py.core.types import NEW, OLD, REFUTED, UNVERIFIED, VERIFIED, ToolCall
from truecall_py.world import process_table
from truecall_py.world.snapshots import Snapshot, make_key
from truecall_py.world.world import World

CALL = ToolCall("claude-code", "PostToolUse", "Bash", frozenset({"shell"}), {})


@pytest.fixture(params=["proc", "ps"])
def source(request, monkeypatch):
    """Both ways of looking: the kernel's files, and ps, as on macOS."""
    if request.param == "ps":
        monkeypatch.setattr(process_table, "has_proc", lambda: False)
    elif not process_table.has_proc():
        pytest.skip("no /proc here")
    return request.param


@pytest.fixture
def start():
    """Starts programs that live until they are told otherwise."""
    started = []

    def begin(*argv):
        started.append(subprocess.Popen(argv or ("sleep", "30"), start_new_session=True))
        return started[-1]

    yield begin
    for each in started:
        each.kill()
        each.wait()


def look(tmp_path, world=None, **params):
    return process.run(params, CALL, world or World(str(tmp_path)))


def why(tmp_path, **params):
    with pytest.raises(Unverified) as caught:
        look(tmp_path, **params)
    return caught.value


def snapshot(tmp_path, at=0.0, **params):
    fact = process.take_snapshot(params, CALL, World(str(tmp_path)))
    return World(str(tmp_path), snapshot=Snapshot(at, None, {make_key("process", str(tmp_path), params): fact}))


def marked(word):
    """A command line that no other process has."""
    return (sys.executable, "-c", "import time; time.sleep(30)", f"mark-{word}-{os.getpid()}")


def test_a_living_process_is_found_by_id_file_and_command(tmp_path, source, start):
    """All three ways lead to the same process, and its command line can be asked beside its id."""
    one = start(*marked("found"))
    (tmp_path / "a.pid").write_text(f"{one.pid}\n")
    for params in ({"pid": one.pid}, {"pid": str(one.pid)}, {"pid_file": "a.pid"},
                   {"command": {"contains": f"mark-found-{os.getpid()}"}},
                   {"pid": one.pid, "command": {"contains": "mark-found"}}):  # fmt: skip
        found = look(tmp_path, **params)
        assert found.state == VERIFIED and f"process {one.pid} (" in found.found, params
    found = look(tmp_path, pid=one.pid, command={"contains": "another"})
    assert found.state == REFUTED and "is another one" in found.found


def test_a_dead_process_is_refuted_also_before_it_is_waited_for(tmp_path, source, start):
    """A zombie is dead; so is what has disappeared."""
    one = start("true")
    os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
    found = look(tmp_path, pid=one.pid)
    assert (found.state, "not yet waited for" in found.found) == (REFUTED, True)
    one.wait()
    assert look(tmp_path, pid=one.pid).found == f"there is no process {one.pid}"
    assert look(tmp_path, pid=one.pid).blank


def test_it_must_live_as_long_as_it_should(tmp_path, source, start):
    """One that dies a moment later is refuted at once; one that stays is not."""
    short = start("sleep", "2")
    began = time.monotonic()
    found = look(tmp_path, World(str(tmp_path), ends=began + 60), pid=short.pid, alive_for=25.0)
    assert found.state == REFUTED and "ended within 25 s" in found.found
    assert time.monotonic() - began < 20
    assert look(tmp_path, pid=start().pid, alive_for=0.3).state == VERIFIED


def test_a_restarted_process_is_not_the_one_that_lived(tmp_path, start):
    """A supervisor that starts it again and again does not make it alive: it must be the very same one."""
    word = f"mark-loop-{os.getpid()}"
    start("sh", "-c", f"while :; do {sys.executable} -c 'import time; time.sleep(0.2)' {word}; done")
    time.sleep(0.3)
    found = look(tmp_path, command={"contains": word, "not_contains": "while"}, alive_for=1.5)
    assert found.state == REFUTED


def test_the_number_of_processes_is_a_matcher(tmp_path, start):
    """Two are two; none is refuted, whatever was asked."""
    for _ in range(2):
        start(*marked("many"))
    command = {"contains": f"mark-many-{os.getpid()}"}
    assert look(tmp_path, command=command, count={"equals": 2}).state == VERIFIED
    found = look(tmp_path, command=command, count={"equals": 1})
    assert found.state == REFUTED and found.found.count("mark-many") == 2
    assert look(tmp_path, command={"contains": "no-such-mark"}).state == REFUTED


def test_the_number_is_compared_with_the_one_before_the_call(tmp_path, start):
    """One more than there were; without a look before nobody can tell."""
    start(*marked("more"))
    params = {"command": {"contains": f"mark-more-{os.getpid()}"}, "count": {"increased_by": 1}}
    world = snapshot(tmp_path, **params)
    assert look(tmp_path, world, **params).state == REFUTED
    start(*marked("more"))
    assert look(tmp_path, world, **params).state == VERIFIED
    assert why(tmp_path, **params).cause == "harness"
    world.alone = lambda *_: False
    start(*marked("more"))
    with pytest.raises(Unverified, match="another call"):
        look(tmp_path, world, **params)


def test_truecall_and_what_started_it_are_never_meant(tmp_path, source):
    """Its own command line and its parents' match nothing; their ids prove nothing."""
    word = f"mark-self-{os.getpid()}"
    code = "import sys; from truecall_py.world import process_table as processes; from truecall_py.checks import process as p; " \
           "from truecall_py.world.world import World; processes.has_proc = lambda: sys.argv[2] == 'proc'; " \
           "print(p.run({'command': {'contains': sys.argv[1]}}, None, World()).state)"  # fmt: skip
    argv = ("sh", "-c", f'"$0" -c "$1" {word} {source}; true', sys.executable, code)
    root = ROOT
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": root}, check=True)
    assert done.stdout.strip() == REFUTED, done
    for pid in (os.getpid(), os.getppid(), 1):
        assert why(tmp_path, pid=pid).cause == "tool"


def test_a_thread_is_no_process(tmp_path, start):
    """The kernel numbers threads like processes and shows them in the same place."""
    if not process_table.has_proc():
        pytest.skip("no /proc here")
    one = start(sys.executable, "-c", "import threading, time; threading.Thread(target=time.sleep, args=(30,)).start(); time.sleep(30)")
    until = time.monotonic() + 10
    while len(os.listdir(f"/proc/{one.pid}/task")) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    thread = next(int(name) for name in os.listdir(f"/proc/{one.pid}/task") if int(name) != one.pid)
    assert look(tmp_path, pid=thread).state == REFUTED


@pytest.mark.parametrize("value", [0, -1, 2**40, True, 1.5, "12a", "", None, [1]])
def test_what_is_no_id_is_no_verdict(tmp_path, value):
    """Never the group of processes that a zero or a negative number means to the system."""
    assert why(tmp_path, pid=value, command={"contains": "x"}).cause == "tool" if value is not None else True


@pytest.mark.parametrize("content", ["", "server\n", "-1", "x" * 5000])
def test_a_file_without_an_id_is_no_verdict(tmp_path, content):
    """It may be about to be written."""
    (tmp_path / "a.pid").write_text(content)
    assert why(tmp_path, pid_file="a.pid").cause == "world"


def test_a_file_that_is_not_there_is_refuted(tmp_path):
    """Whoever was to write it has not."""
    assert look(tmp_path, pid_file="a.pid").state == REFUTED


def test_a_process_younger_than_its_file_is_no_verdict(tmp_path, start):
    """The number was given again: the file is about another process."""
    (tmp_path / "a.pid").write_text(str(start().pid))
    os.utime(tmp_path / "a.pid", (time.time() - 3600, time.time() - 3600))
    assert "younger than" in why(tmp_path, pid_file="a.pid").why


def test_it_must_have_begun_in_the_call(tmp_path, start):
    """By the snapshot; without one by the duration of the call, and only where that is clear."""
    old = start(*marked("since"))
    params = {"command": {"contains": f"mark-since-{os.getpid()}"}, "since": "call"}
    world = snapshot(tmp_path, **params)
    found = look(tmp_path, world, **params)
    assert found.state == REFUTED and "ran before the call already" in found.found
    new = start(*marked("since"))
    found = look(tmp_path, world, **params)
    assert found.state == VERIFIED and f"{new.pid} " in found.found and f"{old.pid} " not in found.found
    assert why(tmp_path, **params).cause == "harness"

    def called(duration, received):
        call = ToolCall("claude-code", "PostToolUse", "Bash", frozenset({"shell"}), {}, duration=duration)
        return process.run({"pid": old.pid, "since": "call"}, call, World(str(tmp_path), received=received))

    now = time.time()
    assert called(3600.0, now).state == VERIFIED
    assert called(10.0, now + 3600).state == REFUTED
    with pytest.raises(Unverified, match="began within"):
        called(0.0, now + 1)


def test_the_effect_is_another_process(tmp_path, start):
    """The same process as before is old, another one new."""
    word = {"command": {"contains": f"mark-effect-{os.getpid()}"}}
    one = start(*marked("effect"))
    world = snapshot(tmp_path, **word)
    assert look(tmp_path, world, **word).effect == OLD
    one.kill()
    one.wait()
    start(*marked("effect"))
    assert look(tmp_path, world, **word).effect == NEW


def test_it_must_be_gone(tmp_path, start):
    """Proof of before, or no verdict; a file that was removed does not hide the process."""
    one = start()
    (tmp_path / "a.pid").write_text(str(one.pid))
    worlds = {name: snapshot(tmp_path, absent=True, **{name: value}) for name, value in (("pid", one.pid), ("pid_file", "a.pid"))}
    assert look(tmp_path, worlds["pid"], pid=one.pid, absent=True).state == REFUTED
    (tmp_path / "a.pid").unlink()
    found = look(tmp_path, worlds["pid_file"], pid_file="a.pid", absent=True)
    assert found.state == REFUTED and "still there" in found.found
    one.kill()
    one.wait()
    assert look(tmp_path, worlds["pid"], pid=one.pid, absent=True).effect == NEW
    assert look(tmp_path, worlds["pid_file"], pid_file="a.pid", absent=True).effect == NEW
    found = look(tmp_path, pid=one.pid, absent=True)
    assert (found.state, found.cause) == (UNVERIFIED, "harness")
    assert look(tmp_path, pid=one.pid, absent=True, vacuous="ok").state == VERIFIED
    never = snapshot(tmp_path, pid=one.pid, absent=True)
    assert look(tmp_path, never, pid=one.pid, absent=True).effect == OLD


@pytest.mark.parametrize(
    "params",
    [{"pid": 1, "pid_file": "x"}, {"pid": 1, "count": {"equals": 1}}, {"pid": 1, "absent": True, "alive_for": 1.0}],
)
def test_fields_that_contradict_each_other_are_no_verdict(tmp_path, params):
    """A contract that says two things says neither."""
    assert why(tmp_path, **params).cause == "contract"


def test_there_must_be_time_to_see_it_live(tmp_path, start):
    """A time beyond the deadline is not cut short."""
    world = World(str(tmp_path), ends=time.monotonic() + 1)
    with pytest.raises(Unverified, match="no time left"):
        look(tmp_path, world, pid=start().pid, alive_for=5.0)


def test_an_old_process_is_not_started_by_writing_its_id(tmp_path, start):
    """The look before the call saw no file: that the process is younger than the call must its own start show."""
    old = start()
    began = time.time() + 60  # as if the process had run for a minute
    for params in ({"pid_file": "a.pid", "since": "call"}, {"pid_file": "a.pid"}):
        (tmp_path / "a.pid").unlink(missing_ok=True)
        world = snapshot(tmp_path, at=began, **params)
        (tmp_path / "a.pid").write_text(str(old.pid))
        found = look(tmp_path, world, **params)
        assert (found.state, found.effect) == ((REFUTED, "") if "since" in params else (VERIFIED, OLD)), params
    params = {"pid_file": "b.pid", "since": "call"}
    world = snapshot(tmp_path, at=time.time(), **params)
    new = start()
    (tmp_path / "b.pid").write_text(str(new.pid))
    found = look(tmp_path, world, **params)
    assert (found.state, found.effect) == (VERIFIED, NEW)
    near = snapshot(tmp_path, at=time.time() + 1, pid_file="c.pid", since="call")
    (tmp_path / "c.pid").write_text(str(new.pid))
    with pytest.raises(Unverified, match="began within"):
        look(tmp_path, near, pid_file="c.pid", since="call")


def test_a_process_that_changed_its_command_line_is_not_gone(tmp_path, source, start):
    """It still runs: that no process has such a command line any more proves nothing."""
    code = ("import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
            "os.execv('/bin/sleep', ['sleep', '30'])")  # fmt: skip
    one = start(sys.executable, "-c", code, str(tmp_path / "now"), f"mark-title-{os.getpid()}")
    params = {"command": {"contains": f"mark-title-{os.getpid()}"}, "absent": True}
    world = snapshot(tmp_path, **params)
    (tmp_path / "now").touch()
    until = time.monotonic() + 20
    while look(tmp_path, world, **params).state == REFUTED and time.monotonic() < until:
        time.sleep(0.05)
    found = look(tmp_path, world, **params)
    assert (found.state, found.cause) == (UNVERIFIED, "world") and "another command line" in found.found
    one.kill()
    one.wait()
    assert look(tmp_path, world, **params).state == VERIFIED


def test_that_no_process_is_there_proves_nothing_by_itself(tmp_path, start):
    """`not: {process: …}` holds only where the look before the call saw one."""
    one = start()
    params = {"pid": one.pid}
    world = snapshot(tmp_path, **params)
    one.kill()
    one.wait()
    assert look(tmp_path, **params).blank
    found = look(tmp_path, world, **params)
    assert (found.state, found.blank) == (REFUTED, False)
