"""How the ledger loads SQLite: the C module alone, for a start of Python that is half as long. Does nothing else."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def load_driver() -> Any:
    """SQLite without what `import sqlite3` loads beside it (datetime and others, half a start of Python), and without
    functools, of which the C module wants one decorator for its statements: it is lent that one for its import."""
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
    """A module with `lru_cache` alone, made as functools makes it; None where the C function for it is not there."""
    try:
        wrapper = __import__("_functools")._lru_cache_wrapper
    except (ImportError, AttributeError):
        return None
    lent = type(os)("functools")
    vars(lent)["lru_cache"] = lambda maxsize=128: lambda function: wrapper(function, maxsize, False, tuple)
    return lent
