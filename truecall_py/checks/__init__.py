"""The table of checks: one module each, imported only when a contract asks for it. Holds nothing else."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

NAMES = (
    "file_exists", "file_absent", "file_changed", "files", "inside", "value", "parses", "http_status",
    "command", "result", "schema", "given", "sql", "custom", "git", "process", "port", "sqlite", "package", "tests",
)  # fmt: skip
# What a check costs as a guard, cheapest first: the call's own values; files and what the system tells of itself;
# children, databases, the network.
STRUCTURE, LOGIC, EXECUTION = STAGES = ("structure", "logic", "execution")
STAGE = {
    **dict.fromkeys(("schema", "given", "sql", "result"), STRUCTURE),
    **dict.fromkeys(("file_exists", "file_absent", "file_changed", "files", "inside", "value", "parses", "process",
                     "tests"), LOGIC),
    **dict.fromkeys(("http_status", "command", "custom", "git", "port", "sqlite", "package"), EXECUTION),
}  # fmt: skip


def module(name: str) -> ModuleType:
    """The module of a check. Raises KeyError for a name that is not in the table."""
    if name not in NAMES:
        raise KeyError(name)
    __import__(f"{__name__}.{name}")
    from sys import modules

    return modules[f"{__name__}.{name}"]
