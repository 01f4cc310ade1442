"""The Contract that the engine judges. Knows no check and no YAML; its fields are declared in
`contract_fields`, which the hook does not need."""

from __future__ import annotations

from truecall_py.core.glob import fits
from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.core.types import ToolCall

FILE_NAME = "truecall.yaml"
COMBINATORS = ("all_of", "any_of", "not")
# The names of a call that are known only once it was answered.
ANSWERED = frozenset(("result", "text", "reported", "exit_code", "is_error", "duration"))


@record(frozen=True)
class Contract:
    """One contract as the engine judges it: `plain` is the compiled form, made by the loader from FIELDS
    (lists where one-or-list is allowed, durations in seconds, matchers as maps). `file` is the path of the contract
    file, "" for one that is in none: an id alone names a contract in one file only."""

    id: str
    source: str  # file:line, for the correction
    project: str  # the folder that {{project}} stands for
    plain: dict[str, Any]
    file: str = ""

    def seconds(self, name: str) -> float | None:
        """A duration of the contract in seconds, None where it is not given."""
        value = self.plain.get(name)
        return None if value is None else float(value)

    def names(self, call: ToolCall) -> bool:
        """Whether the contract's `tool` or `kind` is this call's."""
        patterns = self.plain.get("tool") or ()
        return bool(call.kinds & set(self.plain.get("kind") or ())) or any(fits(each, call.tool) for each in patterns)


def is_guard(plain: dict[str, Any]) -> bool:
    """Whether a compiled contract is asked before the call."""
    return bool(plain.get("pre") or plain.get("requires"))


def may_refuse(plain: dict[str, Any]) -> bool:
    """Whether it may keep a call from being made: one that only observes never does, whatever goes wrong."""
    return is_guard(plain) and plain.get("mode") != "observe"


def is_guard_only(plain: dict[str, Any]) -> bool:
    """Whether it says nothing of what is there after the call."""
    return is_guard(plain) and not plain["post"] and "receipt" not in plain


def make_contract(plain: dict[str, Any], source: str, project: str, file: str = "") -> Contract:
    """The Contract of one compiled entry of the file or pack called `source`, from the contract file at `file`."""
    where = source if plain.get("pack") else f"{source}:{plain['line']}"
    return Contract(plain["id"], where, project, plain, file)
