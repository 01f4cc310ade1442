"""Parses and formats times as people write them. Rejects anything ambiguous."""

from __future__ import annotations

import re
import time
from datetime import datetime

from truecall_py.core.errors import UsageError

UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
STEPS = ((86400, "day"), (3600, "h"), (60, "min"), (1, "s"))


def parse_duration(text: str) -> float:
    """Parses a duration such as 90s, 30m, 2h, 7d or 4w into seconds. Raises UsageError."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)(s|m|min|h|d|w)", text.strip())
    if not match or not float(match[1]):
        raise UsageError(f"{text!r} is not a duration", do="write it like 30m, 2h or 7d")
    return float(match[1]) * UNITS[match[2]]


def parse_time(text: str, now: float) -> float:
    """Parses a time into seconds since the epoch: a duration ago (2h), or an ISO 8601 date or time, local without a
    zone. Raises UsageError."""
    if re.fullmatch(r"[\d.]+[a-z]+", text.strip()):
        return now - parse_duration(text)
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        do = "write it like 2h, 7d, 2026-11-29 or 2026-11-29T14:30"
        raise UsageError(f"{text!r} is not a time", do=do) from None


def format_local_time(at: float) -> str:
    """Formats seconds since the epoch as local time with its offset."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(at))
    except (OverflowError, OSError, ValueError):
        return f"{at} s since the epoch"


def format_duration(seconds: float) -> str:
    """Formats a duration in its two largest units."""
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
