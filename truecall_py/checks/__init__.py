"""The table of checks: one module each, imported only when a contract asks for it. Holds nothing else."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

NAMES = (
    "file_exists", "file_absent", "file_changed", "files", "inside", "value", "parses", "http_status",
    "command", "result", "schema", "custom", "git", "process", "port", "sqlite", "package", "tests",
)  # fmt: skip


def module(name: str) -> ModuleType:
    """The module of a check. Raises KeyError for a name that is not in the table."""
    if name not in NAMES:
        raise KeyError(name)
    __import__(f"{__name__}.{name}")
    from sys import modules

    return modules[f"{__name__}.{name}"]
