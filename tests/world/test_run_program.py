"""Probes: real processes, and nothing of them left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from support.project import ROOT

from truecall_py.world import run_program
from truecall_py.world.environment import build_environment, filter_path, locate_program

LONG = 30.0


def run(argv, cwd, seconds=LONG, env=None, stdin=b"", ends=None, **named):
    until = time.monotonic() + seconds if ends is None else ends
    return run_program.run(argv, env or {}, str(cwd), stdin, seconds, until, **named)


def script(folder, name, text, mode=0o755):
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def living():
    """Every (process, group) that runs; the dead whom nobody has waited for are not among them."""
    listed = subprocess.check_output(["ps", "-A", "-o", "pid=,pgid=,stat="], text=True).splitlines()
    return {(int(pid), int(group)) for pid, group, state in (line.split() for line in listed) if state[0] != "Z"}


def gone(*pids, seconds=5.0):
    """Whether none of these processes and groups is left; a busy machine may take a while to bury the killed."""
    until = time.monotonic() + seconds
    while any(pid in pids or group in pids for pid, group in living()):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture(params=["alone", "among threads"])
def threads(request):
    """Both ways of starting: by ourselves, and where other threads run."""
    if request.param == "alone":
        yield
        return
    stop = threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    yield
    stop.set()
    other.join()


def test_exit_code_and_both_outputs_are_reported(tmp_path, threads):
    """A probe's exit code, standard output and standard error come back as they were."""
    finished = run(["sh", "-c", "echo out; echo err >&2; exit 3"], tmp_path)
    assert (finished.exit_code, finished.stdout, finished.stderr, finished.trouble) == (3, "out\n", "err\n", "")


def test_the_folder_is_the_one_that_was_asked_for(tmp_path, threads):
    """The probe runs in its folder, and this process stays in its own."""
    before = os.getcwd()
    finished = run(["pwd", "-P"], tmp_path)
    assert finished.stdout.strip() == os.path.realpath(tmp_path)
    assert os.getcwd() == before


def test_standard_input_is_given_and_closed(tmp_path, threads):
    """What is given arrives whole, however large, while the probe answers; then there is an end."""
    data = b"x" * 3_000_000
    finished = run(["sh", "-c", "tee /dev/null | wc -c"], tmp_path, stdin=data)
    assert finished.stdout.strip() == "3000000"


def test_a_probe_that_does_not_read_its_input_is_no_trouble(tmp_path):
    """The exit code counts even though the input was never read."""
    assert run(["true"], tmp_path, stdin=b"x" * 1_000_000).exit_code == 0


def test_without_input_there_is_none_to_wait_for(tmp_path):
    """A probe that reads from standard input sees its end at once."""
    assert run(["cat"], tmp_path, 5).exit_code == 0


def test_a_grandchild_that_keeps_the_pipe_does_not_delay_the_answer(tmp_path, threads):
    """The probe's own end counts; what it left behind is killed."""
    leaky = script(tmp_path, "leaky.sh", "#!/bin/sh\nsleep 300 &\necho $!\nexit 0\n")
    began = time.monotonic()
    finished = run([leaky], tmp_path)
    assert finished.exit_code == 0
    assert time.monotonic() - began < 8
    assert gone(int(finished.stdout))
    assert run_program.LIVE == []


def test_a_grandchild_that_writes_for_ever_does_not_delay_the_answer(tmp_path):
    """Draining the pipe ends, too."""
    finished = run(["sh", "-c", "yes & exit 4"], tmp_path, 10)
    assert finished.exit_code == 4


def test_a_probe_that_hangs_is_stopped_at_its_time(tmp_path, threads):
    """A time-out is no verdict; the whole group is gone, even where it ignores every polite signal."""
    hang = script(tmp_path, "hang.sh", "#!/bin/sh\ntrap '' TERM INT HUP\necho $$\nsleep 300\n")
    began = time.monotonic()
    finished = run([hang], tmp_path, 0.4)
    assert finished.exit_code is None
    assert finished.cause == "probe"
    assert "did not end within 0.4 s" in finished.trouble
    assert time.monotonic() - began < 15
    assert gone(int(finished.stdout))


def test_the_deadline_counts_before_the_time_of_one_look(tmp_path):
    """A look of 30 s ends at the deadline."""
    began = time.monotonic()
    finished = run(["sleep", "20"], tmp_path, 30, ends=time.monotonic() + 0.2)
    assert finished.exit_code is None
    assert time.monotonic() - began < 15


def test_a_crowd_of_children_is_gone(tmp_path):
    """Children that go on having children do not outlive the kill."""
    text = "#!/bin/sh\n[ $1 -gt 0 ] && for i in 1 2 3; do $0 $(($1 - 1)) & done\necho $$ >> pids\nsleep 300\n"
    crowd = script(tmp_path, "crowd.sh", text)
    finished = run([crowd, "3"], tmp_path, 1.0)
    assert finished.exit_code is None
    pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(pids) > 10
    assert gone(*pids)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_an_end_by_a_signal_is_no_verdict(tmp_path, number, threads):
    """A probe that was killed has no exit code."""
    finished = run(["sh", "-c", f"kill -{int(number)} $$"], tmp_path)
    assert finished.exit_code is None
    assert f"signal {int(number)}" in finished.trouble
    assert finished.cause == "probe"


@pytest.mark.parametrize("code", [126, 127])
def test_126_and_127_are_no_verdict(tmp_path, code):
    """A shell's own way of saying that it could not run something is the contract's trouble."""
    finished = run(["sh", "-c", f"echo why >&2; exit {code}"], tmp_path)
    assert finished.exit_code is None
    assert finished.cause == "contract"
    assert str(code) in finished.trouble
    assert "why" in finished.trouble


def test_what_cannot_be_started_says_why(tmp_path, threads):
    """Not found, not executable, a folder, no #! line, a missing interpreter, NUL: each has its own words."""
    plain = script(tmp_path, "plain.txt", "hello", 0o644)
    script(tmp_path, "lost.sh", "#!/no/such/interpreter\n")
    script(tmp_path, "bare.sh", "echo hello\n")
    for argv, words in (
        (["no-such-program-anywhere"], "is not found on PATH"),
        (["./nothing.sh"], "is not there"),
        ([plain], "is not executable"),
        (["./"], "is not a program but a folder"),
        (["./lost.sh"], "interpreter that its first line names"),
        (["./bare.sh"], "without a #! line"),
        (["true", "a\0b"], "NUL"),
        ([""], "empty"),
        ([], "empty"),
    ):
        finished = run(argv, tmp_path)
        assert finished.exit_code is None
        assert words in finished.trouble
        assert finished.cause == "contract"


def test_a_folder_that_is_gone_is_the_worlds_doing(tmp_path):
    """Nothing is run anywhere else instead."""
    finished = run(["true"], tmp_path / "deleted")
    assert (finished.exit_code, finished.cause) == (None, "world")
    assert "is not there" in finished.trouble


def test_a_huge_output_is_kept_at_both_ends(tmp_path):
    """The probe is never blocked by its own output; the middle is dropped, and that is said."""
    finished = run(["sh", "-c", "echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo last"], tmp_path)
    assert finished.exit_code == 0
    assert finished.stdout.startswith("first\n")
    assert finished.stdout.endswith("\nlast\n")
    assert len(finished.stdout) < run_program.LIMIT + 100
    assert "not kept" in finished.trouble


def test_output_that_is_not_utf8_is_replaced(tmp_path):
    """Bytes of another encoding never raise."""
    assert run(["printf", "a\\377b"], tmp_path).stdout == "a\ufffdb"


def test_a_planted_program_is_not_run(tmp_path, monkeypatch):
    """With `.`, an empty entry or the folder itself in PATH, the agent's ./git is not what `git` means."""
    script(tmp_path, "git", "#!/bin/sh\ntouch hijacked\n")
    (tmp_path / "bin").mkdir()
    for path in (".", "", str(tmp_path), f"{tmp_path}/", "bin/.."):
        monkeypatch.setenv("PATH", f"{path}:/nonexistent")
        finished = run(["git", "--version"], tmp_path)
        assert finished.exit_code is None
        assert "git is" in finished.trouble
    assert "which is not searched" in finished.trouble
    monkeypatch.setenv("PATH", f".::{tmp_path}:/usr/bin:/bin")
    run(["git", "--version"], tmp_path)
    run(["sh", "-c", "git --version"], tmp_path)  # nor by way of the PATH that the probe is given
    assert not (tmp_path / "hijacked").exists()


def test_a_program_named_by_its_path_is_run(tmp_path, monkeypatch):
    """`./git` is the contract's own word."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    script(tmp_path, "git", "#!/bin/sh\nexit 5\n")
    assert run(["./git"], tmp_path).exit_code == 5


def test_the_persons_own_programs_are_found_from_the_home_folder(tmp_path, monkeypatch):
    """A call that starts at home, or at /, does not hide ~/bin and /usr/bin."""
    own = str(tmp_path / "bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert filter_path(f"{own}:/usr/bin", str(tmp_path)) == [own, "/usr/bin"]
    assert filter_path(f"{own}:/usr/bin", "/") == [own, "/usr/bin"]
    assert filter_path(f"{own}:/usr/bin", own) == ["/usr/bin"]


def test_the_environment_is_minimal(tmp_path, monkeypatch, threads):
    """Nothing that could change what a probe does comes along, not even noise from BASH_ENV."""
    noise = script(tmp_path, "noise.sh", "echo noise\ntouch hijacked\n")
    for name in ("BASH_ENV", "ENV", "LD_PRELOAD", "PYTHONPATH", "VIRTUAL_ENV", "GIT_DIR", "SECRET_TOKEN"):
        monkeypatch.setenv(name, noise)
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/c")
    finished = run(["env"], tmp_path, env={"MINE": "1"})
    names = {line.partition("=")[0] for line in finished.stdout.splitlines()}
    assert {"PATH", "LC_ALL", "XDG_CONFIG_HOME", "MINE"} <= names
    assert not names & {"BASH_ENV", "ENV", "LD_PRELOAD", "PYTHONPATH", "VIRTUAL_ENV", "GIT_DIR", "SECRET_TOKEN"}
    assert run(["bash", "-c", "echo quiet"], tmp_path).stdout == "quiet\n"
    assert not (tmp_path / "hijacked").exists()


def test_the_contracts_own_path_is_taken(tmp_path):
    """A PATH that the contract gives is its own word; only what depends on the folder is dropped."""
    script(tmp_path, "tool", "#!/bin/sh\nexit 6\n")
    assert run(["tool"], tmp_path, env={"PATH": f".:{tmp_path}"}).exit_code == 6
    assert build_environment({"PATH": ".::/a"}, str(tmp_path))["PATH"] == "/a"
    assert locate_program("tool", str(tmp_path), "/nonexistent")[0] == ""


def test_a_descriptor_left_open_by_the_client_is_not_handed_on(tmp_path):
    """A probe holds its three descriptors and no others."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        finished = run(["sh", "-c", f"echo x >&{writing} && echo inherited"], tmp_path)
        assert "inherited" not in finished.stdout
    finally:
        os.close(reading)
        os.close(writing)


def test_no_descriptor_is_left_open(tmp_path, threads):
    """However a run ends, this process holds as many descriptors as before."""
    before = len(os.listdir("/dev/fd"))
    run(["true"], tmp_path)
    run(["cat"], tmp_path, stdin=b"x")
    run(["sleep", "9"], tmp_path, 0.1, stdin=b"x" * 1_000_000)
    run(["./nothing"], tmp_path)
    assert len(os.listdir("/dev/fd")) == before


def test_it_works_where_standard_descriptors_are_closed(tmp_path):
    """A hook that is started with 0 to 2 closed still gets its answer."""
    code = (
        "import os, sys, time\n"
        f"sys.path.append({ROOT!r})\n"
        "for number in range(3): os.close(number)\n"
        "from truecall_py.world.run_program import run\n"
        "f = run(['sh', '-c', 'cat; echo out; echo err >&2'], {}, '/', b'in ', 5, time.monotonic() + 5)\n"
        "os._exit(0 if (f.exit_code, f.stdout, f.stderr) == (0, 'in out\\n', 'err\\n') else 1)\n"
    )
    assert subprocess.run([sys.executable, "-I", "-S", "-c", code]).returncode == 0


INTERRUPTED = """
import os, signal, sys, time
sys.path.append({parent!r})
from truecall_py.world import run_program
from truecall_py.core.errors import DeadlineReached

def ended(number, frame):
    raise DeadlineReached

signal.signal(signal.SIGTERM, ended)
try:
    script = "echo $$ > pid; mv pid pid.done; sleep 300 & sleep 300"
    run_program.run(["sh", "-c", script], {{}}, {folder!r}, b"", 60, time.monotonic() + 60)
except DeadlineReached:
    print("reached", run_program.LIVE)
"""


def test_a_signal_to_the_hook_takes_the_probe_with_it(tmp_path):
    """DeadlineReached, raised by a signal handler in the middle, leaves nothing of the probe behind."""
    parent = ROOT
    code = INTERRUPTED.format(parent=parent, folder=str(tmp_path))
    hook = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE, text=True)
    pid_file = tmp_path / "pid.done"
    until = time.monotonic() + 10
    while not pid_file.exists() and time.monotonic() < until:
        time.sleep(0.01)
    hook.send_signal(signal.SIGTERM)
    out, _ = hook.communicate(timeout=10)
    assert out == "reached []\n"
    assert gone(int(pid_file.read_text()))


# The signal comes before the first bytecode instruction of `run`, then before the second, and so on until it runs; in
# `subprocess`, before every line. No handler runs at a NOP, and the NOP of a `finally` is outside of its `try`.
STEP_BY_STEP = """
import dis, os, signal, sys, time
sys.path.append({parent!r})
from truecall_py.world import run_program
from truecall_py.core.errors import DeadlineReached

def ended(number, frame):
    raise DeadlineReached

def traced(frame, event, _):
    if frame.f_code.co_name == "attend":  # the probe runs
        sys.settrace(None)
        return None
    ours = frame.f_code.co_filename == run_program.__file__
    if not ours and not frame.f_code.co_filename.endswith("/subprocess.py"):
        return None
    frame.f_trace_opcodes = ours
    global steps, sent
    if ours and event == "opcode":
        steps += frame.f_code.co_code[frame.f_lasti] != dis.opmap["NOP"]
    steps += not ours and event == "line"
    if steps == number and not sent:
        sent = True
        os.kill(os.getpid(), signal.SIGTERM)
    return traced

if {among_threads}:
    import subprocess, threading
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
sys._getframe().f_trace_opcodes = True  # Python 3.12 looks for this once
number, sent = 0, True
while sent:
    number += 1
    steps, sent = 0, False
    signal.signal(signal.SIGTERM, ended)
    try:
        sys.settrace(traced)
        run_program.run(["sleep", "300"], {{}}, "/", b"", 0, time.monotonic() + 60)
        assert not sent, f"the signal before step {{number}} was lost"
    except DeadlineReached:
        assert sent
    finally:
        sys.settrace(None)
    assert signal.getsignal(signal.SIGTERM) is ended, number
    assert run_program.LIVE == [], number
    try:
        os.waitpid(-1, os.WNOHANG)
        raise SystemExit(f"the signal before step {{number}} left the probe behind")
    except ChildProcessError:
        os.closerange(3, 32)  # what the interrupted run had open
print(number, flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("among_threads", [False, True])
def test_a_signal_at_any_step_of_the_start_takes_the_probe_with_it(among_threads):
    """There is no moment between the start of a probe and the record of it at which a signal leaves it behind, loses
    its own handler, or is lost."""
    code = STEP_BY_STEP.format(parent=ROOT, among_threads=among_threads)
    argv = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, start_new_session=True)
    assert done.returncode == 0 and int(done.stdout) > 200, done.stdout + done.stderr


def test_signals_of_the_hook_are_not_blocked_in_the_probe(tmp_path):
    """The probe starts with its signals as they are by default, so that SIGPIPE and SIGTERM end it."""
    finished = run(["sh", "-c", "yes | head -n 1"], tmp_path, 10)
    assert (finished.exit_code, finished.stdout, finished.stderr) == (0, "y\n", "")
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()


def test_kill_all_ends_what_still_runs(tmp_path):
    """The hook's own way out: whatever is noted as live is gone afterwards."""
    probe = subprocess.Popen(["sleep", "300"], start_new_session=True)
    run_program.LIVE.append(probe.pid)
    run_program.kill_all()
    assert run_program.LIVE == []
    assert gone(probe.pid)
    probe.returncode = 0


def test_an_exit_code_taken_by_somebody_else_is_no_verdict(tmp_path):
    """Where the program that embeds us waits for every child, the exit code is unknown, never 0."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        finished = run(["false"], tmp_path)
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert (finished.exit_code, finished.cause) == (None, "harness")


def test_importing_it_loads_no_subprocess(tmp_path):
    """A probe of a hook without threads needs neither subprocess nor signal nor threading."""
    code = (
        f"import sys, time; sys.path.append({ROOT!r})\n"
        "from truecall_py.world.run_program import run\n"
        "assert run(['true'], {}, '/', b'', 5, time.monotonic() + 5).exit_code == 0\n"
        "print(sorted({'subprocess', 'signal', 'threading', 'selectors', 're', 'enum'} & set(sys.modules)))\n"
    )
    assert subprocess.check_output([sys.executable, "-I", "-S", "-c", code], text=True) == "[]\n"
