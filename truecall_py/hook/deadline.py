"""The hook's deadline as a signal. It ends the work and never the answer. No other module sets signal handlers."""

from __future__ import annotations

import sys

from truecall_py.core.errors import DeadlineReached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, ModuleType


def import_signal() -> ModuleType:
    """Returns CPython's `_signal`, or `signal` on other Pythons. `signal` builds enums, a third of the start-up
    time."""
    try:
        return __import__("_signal")
    except ImportError:
        return __import__("signal")


def arm_deadline(seconds: float) -> None:
    """Raises DeadlineReached in the main thread after `seconds`, or when the client sends SIGTERM, SIGINT or
    SIGHUP."""
    signals = import_signal()

    def raise_deadline(number: int, frame: FrameType | None) -> None:
        for other in (signals.SIGTERM, signals.SIGINT, signals.SIGHUP):
            signals.signal(other, signals.SIG_IGN)
        raise DeadlineReached("the hook was told to end" if number != signals.SIGALRM else "the time was over")

    for number in (signals.SIGTERM, signals.SIGINT, signals.SIGHUP, signals.SIGALRM):
        signals.signal(number, raise_deadline)
    signals.signal(signals.SIGCHLD, signals.SIG_DFL)  # if the client ignores SIGCHLD, exit codes are lost
    signals.setitimer(signals.ITIMER_REAL, seconds)


def disarm_deadline() -> None:
    """Stops the timer, ignores further signals and kills all probe processes. After this only the answer is
    written."""
    signals = import_signal()
    signals.setitimer(signals.ITIMER_REAL, 0)
    for number in (signals.SIGTERM, signals.SIGINT, signals.SIGHUP):
        signals.signal(number, signals.SIG_IGN)
    process = sys.modules.get("truecall_py.world.run_program")
    if process is not None:
        process.kill_all()
