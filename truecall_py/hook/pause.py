"""Reads whether the user has switched truecall off for a while, from one small file in the state folder. A file that
is damaged, owned by another user, writable by others or set too far ahead switches nothing off."""

from __future__ import annotations

import os

from truecall_py.core.fast_json import JsonError, loads

FILE = "off"
MAX_SECONDS = 24 * 3600.0  # seconds
SKEW = 60.0  # seconds that the clock may have been set back in between
MAX_BYTES = 200  # bytes
REGULAR, KIND = 0o100000, 0o170000  # S_IFREG and S_IFMT, without `import stat`


def switch_path(state: str) -> str:
    return os.path.join(state, FILE)


def read_end(state: str, now: float) -> float | None:
    """Returns when the pause ends (seconds since the epoch). None if truecall is on or the file cannot be relied on.
    `now` is in the same unit."""
    text = read_switch(switch_path(state))
    if not text:
        return None
    try:
        record = loads(text)
        since, ends = record["since"], record["until"]
    except (JsonError, LookupError, TypeError):
        return None
    if type(since) not in (int, float) or type(ends) not in (int, float):
        return None
    if not since - SKEW <= now < ends or ends - since > MAX_SECONDS:
        return None
    return float(ends)


def read_switch(path: str) -> str:
    """Returns the text of a regular file that is ours and that no other user may write; "" for any other."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        status = os.fstat(descriptor)
        if status.st_mode & KIND != REGULAR or status.st_mode & 0o022 or status.st_uid != os.geteuid():
            return ""
        data = os.read(descriptor, MAX_BYTES + 1)
        return data.decode() if len(data) <= MAX_BYTES else ""
    except (OSError, ValueError):
        return ""
    finally:
        os.close(descriptor)
