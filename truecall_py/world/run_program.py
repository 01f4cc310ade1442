"""Runs a probe: one program, from an argv list, in a process group that is gone when the answer is there.

Never a shell, never the caller's whole environment. The probe's own end counts, not the end of its output:
what it leaves behind is killed and cannot delay the answer. (A process that moves to another session escapes;
nothing portable holds it.) `subprocess` costs one and a half bare interpreters, so it is used only where
other threads run.
"""

from __future__ import annotations

import os
import time

from truecall_py.core.types import Finished
from truecall_py.world.environment import build_environment, locate_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LIMIT = 1 << 20  # bytes kept of each output: its first and its last half
PIECE = 1 << 16
# Seconds that a killed group may take to disappear. What is killed is over in a few milliseconds; but in a
# container whose PID 1 waits for nobody, the dead stay in their group for ever.
GRACE = 0.1
KILL = 9
# The import of `signal` costs most of a bare interpreter (it loads enum); these numbers are the same on Linux
# and macOS. Python ignores SIGPIPE and SIGXFSZ, and a hook may be started with the others ignored.
RESTORED = (1, 2, 3, 13, 14, 15, 25)

LIVE: list[int] = []  # groups that are not known to be gone


class Output:
    """What a probe wrote to one descriptor: its beginning and its end, the middle counted and dropped."""

    __slots__ = ("descriptor", "dropped", "first", "half", "last")

    def __init__(self, descriptor: int, keep: int) -> None:
        self.descriptor = descriptor
        self.half = keep // 2
        self.first = bytearray()
        self.last = bytearray()
        self.dropped = 0

    def read(self) -> int:
        """Takes in what can be read now: its size, 0 at the end of the output, -1 where there is nothing."""
        try:
            piece = os.read(self.descriptor, PIECE)
        except BlockingIOError:
            return -1
        except OSError:
            return 0
        room = self.half - len(self.first)
        self.first += piece[:room]
        self.last += piece[room:] if room < len(piece) else b""
        if len(self.last) > 2 * self.half:  # cut seldom: every cut moves half of it
            self.cut()
        return len(piece)

    def cut(self) -> None:
        """Drop the middle, so that at most `half` remains of the end."""
        excess = len(self.last) - self.half
        if excess > 0:
            del self.last[:excess]
            self.dropped += excess

    def text(self) -> str:
        """Return the output as text, with a note where the middle was dropped."""
        self.cut()
        gap = f"\n[{self.dropped} bytes left out]\n".encode() if self.dropped else b""
        return (bytes(self.first) + gap + bytes(self.last)).decode("utf-8", "replace")


def run(
    argv: list[str],
    env: Mapping[str, str],
    cwd: str | None,
    stdin: bytes,
    seconds: float,
    ends: float,
    keep: int = LIMIT,
) -> Finished:
    """How `argv` ended, run in `cwd` for at most `seconds` and not beyond `ends` (monotonic).

    `exit_code` is None where there is no answer, and `trouble` says why. With an exit code, `trouble` says
    that an output was longer than `keep` and lacks its middle.
    """
    began = time.monotonic()
    until = min(ends, began + seconds)
    try:
        folder = os.getcwd() if cwd is None else os.path.abspath(cwd)
    except OSError:
        return make_failure("the working folder is gone", "world")
    if not os.path.isdir(folder):
        return make_failure(f"the folder {folder} is not there", "world")
    if not argv or not argv[0]:
        return make_failure("the command is empty", "contract")
    environment = build_environment(env, folder)
    program, why = locate_program(argv[0], folder, environment["PATH"])
    if why:
        return make_failure(why, "contract")
    ours: list[int] = []
    theirs: list[int] = []
    group: list[int] = []
    try:
        try:
            open_channels(ours, theirs, bool(stdin))
            start_probe(program, argv, environment, folder, theirs, group)
        except (OSError, ValueError) as error:
            return make_failure(explain_start_error(argv[0], error), "contract")
        finally:
            close_all(theirs)
        (pid,) = group
        outputs = [Output(ours[0], keep), Output(ours[1], keep)]
        ended = wait_for_end(pid, outputs, ours, stdin, until)
        kill_group(pid)
        for output in outputs:  # after the kill, so that nobody goes on writing
            pieces = keep // PIECE + 1
            while output.read() > 0 and pieces:
                pieces -= 1
        return make_result(argv[0], ended, outputs, until - began)
    finally:
        # Whatever is on its way out, DeadlineReached included: nothing of the probe stays behind.
        for pid in group:
            if pid in LIVE:
                kill_group(pid)
        close_all(ours)


def make_result(name: str, ended: int | str, outputs: list[Output], allowed: float) -> Finished:
    """Return the result for an exit code, "time", or the name of what else took the exit code."""
    stdout, stderr = (output.text() for output in outputs)
    if ended == "time":
        why = f"{name} did not end within {allowed:.1f} s and was stopped"
        return Finished(None, stdout, stderr, why, "probe")
    if isinstance(ended, str):
        return Finished(None, stdout, stderr, f"the exit code of {name} was taken by {ended}", "harness")
    if ended < 0:
        return Finished(None, stdout, stderr, f"{name} was ended by signal {-ended}", "probe")
    if ended in (126, 127):
        what = "could not be executed" if ended == 126 else "or a program in it was not found"
        why = f"{name} {what} (exit code {ended}): {stderr.strip()[:200]}"
        return Finished(None, stdout, stderr, why.rstrip(": "), "contract")
    dropped = sum(output.dropped for output in outputs)
    return Finished(ended, stdout, stderr, f"{dropped} bytes of its output were not kept" if dropped else "")


def make_failure(why: str, cause: str) -> Finished:
    return Finished(None, "", "", why, cause)


def explain_start_error(name: str, error: OSError | ValueError) -> str:
    """Return why a program could not be started, as a sentence."""
    if not isinstance(error, OSError):
        return f"{name} cannot be started: its arguments or environment hold a NUL character"
    if error.errno == 2:  # the file is there, so it is what its first line names that is not
        return f"{name} cannot be started: the interpreter that its first line names is not there"
    if error.errno == 8:
        return f"{name} cannot be started: it is no program for this machine, or a script without a #! line"
    return f"{name} cannot be started: {error.strerror}"


def open_channels(ours: list[int], theirs: list[int], writes: bool) -> None:
    """Fills in `theirs` (standard input, output, error of the probe) and `ours` (the other ends: output,
    error, input). Both lists are filled as descriptors open, so that the caller can close them."""
    if writes:
        reading, writing = avoid_standard(os.pipe())
    else:
        (reading,) = avoid_standard((os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC),))
    theirs.append(reading)
    for _ in ("stdout", "stderr"):
        mine, yours = avoid_standard(os.pipe())
        os.set_blocking(mine, False)
        ours.append(mine)
        theirs.append(yours)
    if writes:
        os.set_blocking(writing, False)
        ours.append(writing)


def avoid_standard(descriptors: Sequence[int]) -> list[int]:
    """The same descriptors, none of them 0 to 2: a hook may be started with those closed."""
    low = []
    found = []
    for descriptor in descriptors:
        while descriptor <= 2:
            low.append(descriptor)
            descriptor = os.dup(descriptor)
        found.append(descriptor)
    close_all(low)
    return found


def close_all(descriptors: list[int]) -> None:
    while descriptors:
        os.close(descriptors.pop())


def start_probe(
    program: str, argv: list[str], env: dict[str, str], folder: str, theirs: list[int], group: list[int]
) -> None:
    """Starts the probe as leader of a new session and records its number in `group` and LIVE. A signal handler runs
    before both or after both: one that raises in between would leave the probe behind. Raises OSError, ValueError."""
    from _signal import getsignal, signal  # type: ignore[import-not-found]
    from _thread import _count

    arrived: list[tuple[int, object]] = []

    def postpone(number: int, frame: object) -> None:
        arrived.append((number, frame))

    handlers = {number: handler for number in range(1, 32) if callable(handler := getsignal(number))}
    try:
        try:
            for number in handlers:
                signal(number, postpone)
        except ValueError:
            pass  # not the main thread, so no handler can run here
        launch = start_among_threads if _count() else start_alone
        pid = launch(program, argv, env, folder, theirs)
        group.append(pid)
        LIVE.append(pid)
    finally:
        for number, handler in handlers.items():
            if getsignal(number) is postpone:
                signal(number, handler)
        for number, frame in arrived:
            handlers[number](number, frame)


def start_alone(program: str, argv: list[str], env: dict[str, str], folder: str, theirs: list[int]) -> int:
    """The probe's number. The working folder is changed for a moment, which nobody else uses while no other thread
    and no signal handler runs."""
    try:
        back = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        back = -1  # deleted, or not to be read: nothing to go back to
    try:
        os.chdir(folder)
        return spawn(program, argv, env, theirs)
    finally:
        if back >= 0:
            os.fchdir(back)
            os.close(back)


def spawn(program: str, argv: list[str], env: dict[str, str], theirs: list[int]) -> int:
    """Start the probe with posix_spawn in a new session; return its process id."""
    actions: list[tuple[int, ...]] = [(os.POSIX_SPAWN_DUP2, theirs[number], number) for number in range(3)]
    # Python's own descriptors close by themselves; one that the harness left open must not go on living.
    for name in os.listdir("/dev/fd"):
        number = int(name)
        try:
            if number > 2 and os.get_inheritable(number):
                actions.append((os.POSIX_SPAWN_CLOSE, number))
        except OSError:
            continue  # the one that listdir itself had open
    try:
        # A new session, so that a probe which asks for a password at the terminal fails instead of waiting.
        return os.posix_spawn(
            program, argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=RESTORED
        )
    except NotImplementedError:
        return os.posix_spawn(
            program, argv, env, file_actions=actions, setpgroup=0, setsigmask=(), setsigdef=RESTORED
        )


def start_among_threads(
    program: str, argv: list[str], env: dict[str, str], folder: str, theirs: list[int]
) -> int:
    """The same where other threads run, whose working folder must not change under them."""
    from subprocess import Popen

    started = Popen(  # noqa: S603 - the contract's own argv, and no shell
        argv, executable=program, env=env, cwd=folder, start_new_session=True,
        stdin=theirs[0], stdout=theirs[1], stderr=theirs[2],
    )  # fmt: skip
    started.returncode = 0  # it is waited for here; Popen must not wait for it as well
    return started.pid


def wait_for_end(pid: int, outputs: list[Output], ours: list[int], stdin: bytes, until: float) -> int | str:
    """Feeds and reads the probe until it ends: its exit code (negative: a signal), "time" at `until`, or who
    else took its exit code. A third one in `ours` is its standard input, closed when all is written."""
    from select import POLLIN, POLLOUT, poll

    ready = poll()
    reading = {output.descriptor: output for output in outputs}
    for descriptor in reading:
        ready.register(descriptor, POLLIN)
    for descriptor in ours[2:]:
        ready.register(descriptor, POLLOUT)
    rest = memoryview(stdin)
    pause = 0.001
    while True:
        try:
            ended, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return "another part of this program"
        if ended:
            return os.waitstatus_to_exitcode(status)
        left = until - time.monotonic()
        if left <= 0:
            return "time"
        # The end of its output mostly wakes us; a child that keeps the pipe open must not hide its end.
        pause = min(pause * 1.25, 0.02, left)
        if not reading and not ours[2:]:
            time.sleep(pause)
            continue
        for descriptor, _ in ready.poll(max(1, int(pause * 1000))):
            if descriptor in ours[2:]:
                rest = rest[write_some(descriptor, rest) :]
                if not rest:
                    ready.unregister(descriptor)
                    os.close(ours.pop())
            elif not reading[descriptor].read():
                ready.unregister(descriptor)
                del reading[descriptor]
                pause = 0.001


def write_some(descriptor: int, rest: memoryview) -> int:
    """How much of `rest` is done with."""
    try:
        return os.write(descriptor, rest[:PIECE])
    except BlockingIOError:
        return 0
    except OSError:  # the probe does not read its standard input; that is its own affair
        return len(rest)


def kill_group(pid: int) -> None:
    """Kills what is left of a group, again and again until it is gone, and takes its leader's exit code."""
    limit = time.monotonic() + GRACE
    while True:
        try:
            os.killpg(pid, KILL)
        except ProcessLookupError:
            break
        except PermissionError:
            pass  # macOS says so of a group that has ended and is not yet waited for
        try:  # noqa: SIM105 - contextlib is not loaded on the path of every call
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            pass  # waited for already; its children may still be there
        if time.monotonic() > limit:
            break
        time.sleep(0.001)
    if pid in LIVE:
        LIVE.remove(pid)


def kill_all() -> None:
    """Ends every probe that still runs; for the hook's own way out."""
    for pid in tuple(LIVE):
        kill_group(pid)
