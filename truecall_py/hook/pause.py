"""Whether a person has switched truecall off for a while: one small file in the state folder, read before every call.
Never takes a doubtful file for a switch: what is damaged, somebody else's or too far ahead switches nothing off.
"""

from __future__ import annotations

import os

from truecall_py.core.fast_json import Refused, loads

FILE = "off"
LONGEST = 24 * 3600.0  # seconds
SKEW = 60.0  # seconds by which a clock may have been put back since
LARGEST = 200  # bytes
REGULAR, KIND = 0o100000, 0o170000  # of a file's mode, without `import stat`


def path(state: str) -> str:
    return os.path.join(state, FILE)


def until(state: str, now: float) -> float | None:
    """Until when (seconds since the epoch) truecall is off; None where it is on, or where that can be doubted."""
    text = read(path(state))
    if not text:
        return None
    try:
        plain = loads(text)
        since, ends = plain["since"], plain["until"]
    except (Refused, LookupError, TypeError):
        return None
    if type(since) not in (int, float) or type(ends) not in (int, float):
        return None
    if not since - SKEW <= now < ends or ends - since > LONGEST:
        return None
    return float(ends)


def read(file: str) -> str:
    """What stands in a regular file that is ours and that nobody else may write; "" for any other."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        about = os.fstat(descriptor)
        if about.st_mode & KIND != REGULAR or about.st_mode & 0o022 or about.st_uid != os.geteuid():
            return ""
        data = os.read(descriptor, LARGEST + 1)
        return data.decode() if len(data) <= LARGEST else ""
    except (OSError, ValueError):
        return ""
    finally:
        os.close(descriptor)
