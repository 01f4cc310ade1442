"""A bug of truecall's own, written down for whoever mends it: the kind of error and the places in the code.
Never a value of a payload, never a message that could hold one."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


def places(trace: TracebackType | None) -> list[str]:
    found = []
    while trace is not None:
        code = trace.tb_frame.f_code
        found.append(f"  {os.path.basename(code.co_filename)}:{trace.tb_lineno} in {code.co_name}")
        trace = trace.tb_next
    return found


def write(error: BaseException, state: str) -> str:
    """Writes a report, readable by its owner alone, below the state folder. Its path, or "" where that is
    not possible: a bug must not bring another."""
    from truecall_py.core.version import __version__

    lines = [f"truecall {__version__}, Python {sys.version.split()[0]}, {sys.platform}"]
    seen: BaseException | None = error
    while seen is not None and len(lines) < 200:
        lines.append(type(seen).__name__)
        lines += places(seen.__traceback__)
        seen = seen.__cause__ or seen.__context__
    try:
        folder = os.path.join(state, "reports")
        os.makedirs(state, 0o700, exist_ok=True)
        os.makedirs(folder, 0o700, exist_ok=True)
        number = os.getpid()
        path = os.path.join(folder, f"bug-{number}.txt")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    except (OSError, ValueError):
        return ""
    return path
