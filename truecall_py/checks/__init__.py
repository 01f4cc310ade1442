"""The checks, one module each. A module is imported only when a contract uses it; `interface` describes the parts
of a check."""

from __future__ import annotations

from truecall_py.contracts.model import COMBINATORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

NAMES = (
    "file_exists", "file_absent", "file_changed", "files", "inside", "value", "parses", "http_status",
    "command", "result", "schema", "given", "sql", "custom", "git", "process", "port", "sqlite", "package", "tests",
)  # fmt: skip
# The stages in which guards run, cheapest first: the call's own values; files and the system's own tables; child
# processes, databases, the network.
STRUCTURE, LOGIC, EXECUTION = STAGES = ("structure", "logic", "execution")


def load_check(name: str) -> ModuleType:
    """Import the module of a check. Raises KeyError for an unknown name."""
    if name not in NAMES:
        raise KeyError(name)
    __import__(f"{__name__}.{name}")
    from sys import modules

    return modules[f"{__name__}.{name}"]


def stage_of(check: dict[str, Any]) -> str:
    """Return the stage of a compiled check of `pre`. The compiler stores it with the outermost check; inside a
    combinator, the slowest check decides."""
    if "stage" in check:
        return str(check["stage"])
    if check["check"] not in COMBINATORS:
        return str(load_check(check["check"]).STAGE) if check["check"] in NAMES else EXECUTION
    inner = check["params"] if isinstance(check["params"], list) else [check["params"]]
    return max(map(stage_of, inner), key=STAGES.index, default=STRUCTURE)
