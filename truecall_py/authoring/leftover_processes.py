"""What a small world started and what left its process group (a daemon, `setsid`), to be ended with the world. Ends
nothing but that: a process is known by a variable that it inherited, or by where it stands and when it began."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator

from truecall_py.world import process_table

MARK = "TRUECALL_WORLD"  # the variable that every process of a world inherits: its folder
LARGEST = 256 * 1024  # bytes of one environment
PATIENCE = 1.0  # seconds, for processes that start others while they are looked for
PAUSE = 0.01


def end(root: str, first: int) -> None:
    """Ends every process of the world in the folder `root`, the first of which has the id `first` and is not waited
    for yet. Where the system has no /proc, nothing is found, and what left its group lives on."""
    began = process_table.read_proc(first) if process_table.has_proc() else None
    if began is None:
        return
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = list(list_processes(os.fsencode(root), int(began.mark)))
        if not found:
            return
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE)


def list_processes(root: bytes, began: int) -> Iterator[int]:
    """The ids of a world's living processes; none of them started before `began`, in ticks of the kernel."""
    spared = process_table.find_ancestors()
    names = [name for name in os.listdir(process_table.PROC) if name.isdigit()]
    for pid in map(int, names[: process_table.MOST]):
        if pid in spared or not (is_marked(pid, root) or runs_inside(pid, root)):
            continue
        process = process_table.read_proc(pid)
        if process is not None and not process.dead and int(process.mark) >= began:
            yield pid


def is_marked(pid: int, root: bytes) -> bool:
    """Whether a process was started with the variable of this world."""
    try:
        with open(f"{process_table.PROC}/{pid}/environ", "rb") as file:
            return b"\0%s=%s\0" % (MARK.encode(), root) in b"\0" + file.read(LARGEST)
    except OSError:
        return False  # it ended, or is another person's


def runs_inside(pid: int, root: bytes) -> bool:
    """Whether the working folder of a process lies in this world, removed or not."""
    try:
        return os.readlink(b"%s/%d/cwd" % (process_table.PROC.encode(), pid)).startswith(root + b"/")
    except OSError:
        return False
