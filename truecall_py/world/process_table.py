"""The processes of this machine: which run, since when, and with which command line. Sends none of them a signal
that does anything, and never takes a number that was given out again for the process that had it before."""

from __future__ import annotations

import os

from truecall_py.core.errors import Unverified
from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from truecall_py.world.world import World

PROC = "/proc"
MOST = 100_000  # processes that are looked at
LONGEST = 128 * 1024  # bytes of one command line
LARGEST = 2**31 - 1  # the largest id that a system gives
DEAD = ("Z", "X", "x")  # ended, and only not yet waited for
ZOMBIE = "dead, and not yet waited for by its parent"
COLUMNS = ("pid", "ppid", "uid", "stat", "lstart", "command")


@record(frozen=True)
class Process:
    """One process. `mark` tells it from another one that gets the same `pid` later; `started` is in seconds since
    the epoch, and can be off by `blur` seconds; `line` is its command line, its words joined by blanks."""

    pid: int
    parent: int
    state: str
    mark: str
    started: float
    blur: float
    line: str = ""

    @property
    def dead(self) -> bool:
        return self.state[:1] in DEAD

    @property
    def identity(self) -> list[int | str]:
        """What stays as long as it is the same process, in a form that JSON keeps."""
        return [self.pid, self.mark]


def find_process(pid: int, world: World) -> Process | None:
    """The process of an id, a dead one included; None where there is none. Raises Unverified where that cannot be
    told."""
    if not 0 < pid <= LARGEST:
        raise Unverified(f"{pid} is not the id of a process", "tool")
    if not has_proc():
        return next(list_by_ps(world, ["-p", str(pid)]), None)
    process = read_proc(pid)
    if process is not None:
        return process if is_process(pid) else None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError as error:
        raise Unverified(f"the process {pid} cannot be looked at: {error.strerror}", "world") from None
    process = read_proc(pid)  # it began just now; or it ended between the two looks
    if process is None and is_alive(pid):
        raise Unverified(f"the process {pid} is there, and nothing more is told of it", "world")
    return process


def is_alive(pid: int) -> bool:
    """Whether a process id is in use, by any user."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def list_own(world: World) -> list[Process]:
    """Every living process of this user that has a command line, but for truecall itself and what started it."""
    processes = list(scan_proc(world) if has_proc() else list_by_ps(world, ["-A"], os.getuid()))
    excluded = find_ancestors({process.pid: process.parent for process in processes})
    return [process for process in processes if process.pid not in excluded and process.line and not process.dead]


def find_ancestors(parents: dict[int, int] | None = None) -> set[int]:
    """The ids of this process and of all that started it, and 1."""
    known = parents or {}
    related = {1, os.getpid()}
    pid = os.getppid()
    while pid > 1 and pid not in related:
        related.add(pid)
        above = read_proc(pid) if has_proc() else None
        pid = above.parent if above else known.get(pid, 1)
    return related


def has_proc() -> bool:
    """Whether the kernel lists its processes as files, as Linux does."""
    return os.path.exists(f"{PROC}/self/stat")


def scan_proc(world: World) -> Iterator[Process]:
    """The processes of this user, from /proc."""
    user = os.getuid()
    for name in os.listdir(PROC)[:MOST]:
        if not name.isdigit():
            continue
        world.remaining()
        try:
            if os.stat(f"{PROC}/{name}").st_uid != user:
                continue
        except OSError:
            continue  # it ended between the two looks
        process = read_proc(int(name))
        if process is not None:
            yield process


def read_proc(pid: int) -> Process | None:
    """Return a process as /proc describes it; None if it is gone."""
    stat = read_text(f"{PROC}/{pid}/stat")
    # The second field is the program's name in brackets, and may hold blanks and brackets itself.
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 20:
        return None
    import time

    ticks = int(fields[19])
    second = os.sysconf("SC_CLK_TCK")
    started = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / second
    line = " ".join(read_text(f"{PROC}/{pid}/cmdline").rstrip("\0").split("\0")) if fields[0] not in DEAD else ""
    return Process(pid, int(fields[1]), fields[0], str(ticks), started, 2 / second, line)


def is_process(pid: int) -> bool:
    """Whether an id is that of a process and not of one of its threads, which the kernel numbers alike."""
    for line in read_text(f"{PROC}/{pid}/status").split("\n"):
        if line.startswith("Tgid:"):
            return line[5:].strip() == str(pid)
    return True


def read_text(path: str) -> str:
    """What a file below /proc says; "" where it is gone or not to be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        data = b""
        while len(data) < LONGEST:
            piece = os.read(descriptor, LONGEST)
            if not piece:
                break
            data += piece
        return data.decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def list_by_ps(world: World, which: list[str], user: int | None = None) -> Iterator[Process]:
    """The same by `ps`, for systems without /proc: the command lines are joined there already."""
    environment = {"LC_ALL": "C", "TZ": "UTC"}
    # One option for each: BSD takes all that follows the first `=` for the heading.
    columns = [word for name in COLUMNS for word in ("-o", f"{name}=")]
    finished = world.run(["ps", "-ww", *which, *columns], environment)
    if finished.exit_code is None or (finished.exit_code and finished.stderr.strip()):
        raise Unverified(finished.trouble or f"ps: {finished.stderr.strip()[:120]}", "probe")
    if finished.trouble:
        raise Unverified(f"there are too many processes: {finished.trouble}", "probe")
    for row in finished.stdout.split("\n"):
        # pid, parent, user, state, five words of a date, the command line
        words = row.split(None, 9)
        if len(words) < 9 or (user is not None and words[2] != str(user)):
            continue
        line = words[9].rstrip() if len(words) == 10 else ""
        date = " ".join(words[4:9])
        yield Process(int(words[0]), int(words[1]), words[3], date, parse_date(date), 1.0, line)


def parse_date(date: str) -> float:
    """The start that ps names, `Sun Nov 29 22:38:09 2026` in UTC, in seconds since the epoch."""
    from calendar import timegm
    from time import strptime

    try:
        return float(timegm(strptime(date, "%a %b %d %H:%M:%S %Y")))
    except ValueError:
        raise Unverified(f"ps tells a time in a form that is not known: {date[:40]}", "probe") from None
