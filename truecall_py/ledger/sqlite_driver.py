"""Loads SQLite by its C module alone, which halves the start of Python."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def load_driver() -> Any:
    """Returns SQLite without what `import sqlite3` loads (datetime and others, half of Python's start) and without
    functools: its C module needs one decorator for statements, and gets a stand-in while it is imported."""
    import sys

    try:
        lent = None if "functools" in sys.modules or "_sqlite3" in sys.modules else make_decorator()
        if lent is not None:
            sys.modules["functools"] = lent
        try:
            return __import__("_sqlite3")
        finally:
            if lent is not None:
                del sys.modules["functools"]
    except ImportError:
        return __import__("sqlite3")


def make_decorator() -> Any:
    """Returns a module with `lru_cache` alone, made as functools makes it; None without the C function for it."""
    try:
        wrapper = __import__("_functools")._lru_cache_wrapper
    except (ImportError, AttributeError):
        return None
    lent = type(os)("functools")
    vars(lent)["lru_cache"] = lambda maxsize=128: lambda function: wrapper(function, maxsize, False, tuple)
    return lent
