"""Writes a report of a bug in truecall: the exception types and the code positions. Leaves out messages and payload
values, which may be confidential."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


def list_frames(trace: TracebackType | None) -> list[str]:
    """Returns one line per stack frame: file, line number, function."""
    frames = []
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append(f"  {os.path.basename(code.co_filename)}:{trace.tb_lineno} in {code.co_name}")
        trace = trace.tb_next
    return frames


def write_report(error: BaseException, state: str) -> str:
    """Writes the report below the state folder, readable only by its owner. Returns its path, or "" if that failed:
    reporting a bug must not raise another one."""
    from truecall_py.core.version import __version__

    lines = [f"truecall {__version__}, Python {sys.version.split()[0]}, {sys.platform}"]
    current: BaseException | None = error
    while current is not None and len(lines) < 200:
        lines.append(type(current).__name__)
        lines += list_frames(current.__traceback__)
        current = current.__cause__ or current.__context__
    try:
        folder = os.path.join(state, "reports")
        os.makedirs(state, 0o700, exist_ok=True)
        os.makedirs(folder, 0o700, exist_ok=True)
        pid = os.getpid()
        path = os.path.join(folder, f"bug-{pid}.txt")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    except (OSError, ValueError):
        return ""
    return path
