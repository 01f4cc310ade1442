"""The one deadline as a signal: it ends the work, never the answer. Nothing else in the program sets a signal."""

from __future__ import annotations

import sys

from truecall_py.core.errors import DeadlineReached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, ModuleType


def signal_module() -> ModuleType:
    """`signal` without its enums, which cost a third of the whole start; the module itself elsewhere."""
    try:
        return __import__("_signal")
    except ImportError:
        return __import__("signal")


def arm(seconds: float) -> None:
    """A signal at the deadline, or from a client that has had enough, ends the work but not the answer."""
    signals = signal_module()

    def ended(number: int, frame: FrameType | None) -> None:
        for each in (signals.SIGTERM, signals.SIGINT, signals.SIGHUP):
            signals.signal(each, signals.SIG_IGN)
        raise DeadlineReached("the hook was told to end" if number != signals.SIGALRM else "the time was over")

    for number in (signals.SIGTERM, signals.SIGINT, signals.SIGHUP, signals.SIGALRM):
        signals.signal(number, ended)
    signals.signal(signals.SIGCHLD, signals.SIG_DFL)  # a client that ignores it would cost every exit code
    signals.setitimer(signals.ITIMER_REAL, seconds)


def disarm() -> None:
    """From here on only the answer is left to be written, and no signal may cost it."""
    signals = signal_module()
    signals.setitimer(signals.ITIMER_REAL, 0)
    for number in (signals.SIGTERM, signals.SIGINT, signals.SIGHUP):
        signals.signal(number, signals.SIG_IGN)
    process = sys.modules.get("truecall_py.world.run_program")
    if process is not None:
        process.kill_all()
