"""Times as people write and read them. Guesses nothing: what is no time is said to be none."""

from __future__ import annotations

import re
import time
from datetime import datetime

from truecall_py.core.errors import UsageError

UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
STEPS = ((86400, "day"), (3600, "h"), (60, "min"), (1, "s"))


def parse_duration(given: str) -> float:
    """A duration such as 90s, 30m, 2h, 7d, 4w, in seconds. Raises UsageError."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)(s|m|min|h|d|w)", given.strip())
    if not found or not float(found[1]):
        raise UsageError(f"{given!r} is no duration", do="write it like 30m, 2h or 7d")
    return float(found[1]) * UNITS[found[2]]


def parse_time(given: str, now: float) -> float:
    """A time in seconds since the epoch: so long ago (2h), or a date or time of ISO 8601, local if it names no zone.
    Raises UsageError."""
    if re.fullmatch(r"[\d.]+[a-z]+", given.strip()):
        return now - parse_duration(given)
    try:
        return datetime.fromisoformat(given.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{given!r} is no time", do="write it like 2h, 7d, 2026-11-29 or 2026-11-29T14:30") from None


def format_local_time(at: float) -> str:
    """A time as the clock on the wall shows it, with its offset."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(at))
    except (OverflowError, OSError, ValueError):
        return f"{at} s since the epoch"


def format_duration(seconds: float) -> str:
    """A duration in its two largest units."""
    if seconds < 0.9995:
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    left, parts = round(seconds), []
    for size, unit in STEPS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}{'s' if unit == 'day' and count != 1 else ''}")
    return " ".join(parts[:2])


def format_age(at: float, now: float) -> str:
    return "just now" if now - at < 1 else f"{format_duration(now - at)} ago"
