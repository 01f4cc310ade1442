"""A progress bar for commands that work through many items."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TypeVar

T = TypeVar("T")
MANY = 10  # with fewer items, there is no bar


def track(items: Iterator[T], label: str, count: int) -> Iterator[T]:
    """The items as they come, with a progress bar on standard error for many in a terminal."""
    if count < MANY or not sys.stderr.isatty():
        return items
    from rich.console import Console
    from rich.progress import track

    return iter(track(items, label, total=count, console=Console(stderr=True), transient=True))
