"""The Contract that the engine judges. Knows no check and no YAML. contract_files.fields declares its fields, which
the hook does not need."""

from __future__ import annotations

from truecall_py.core.glob import matches_glob
from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.core.types import ToolCall

FILE_NAME = "truecall.yaml"
COMBINATORS = ("all_of", "any_of", "not")
# The names of a call that are unknown until it has an answer.
ANSWERED = frozenset(("result", "text", "reported", "exit_code", "is_error", "duration"))


@record(frozen=True)
class Contract:
    """One contract as the engine judges it. `plain` is its compiled form: lists where one or a list is allowed,
    durations in seconds, matchers as maps. `file` is the path of the contract file, "" without one: an id is unique
    only in its file."""

    id: str
    source: str  # file:line, shown in the correction
    project: str  # the folder of {{project}}
    plain: dict[str, Any]
    file: str = ""

    def seconds(self, name: str) -> float | None:
        """Return a duration of the contract in seconds, None if it has none."""
        value = self.plain.get(name)
        return None if value is None else float(value)

    def names(self, call: ToolCall) -> bool:
        """Whether `tool` or `kind` of the contract is that of the call."""
        patterns = self.plain.get("tool") or ()
        kinds = call.kinds & set(self.plain.get("kind") or ())
        return bool(kinds) or any(matches_glob(pattern, call.tool) for pattern in patterns)


def is_guard(plain: dict[str, Any]) -> bool:
    """Whether a compiled contract runs before the call."""
    return bool(plain.get("pre") or plain.get("requires"))


def may_refuse(plain: dict[str, Any]) -> bool:
    """Whether a compiled contract may refuse a call. One in observe mode never does."""
    return is_guard(plain) and plain.get("mode") != "observe"


def is_guard_only(plain: dict[str, Any]) -> bool:
    """Whether a compiled contract checks nothing after the call."""
    return is_guard(plain) and not plain["post"] and "receipt" not in plain


def make_contract(plain: dict[str, Any], source: str, project: str, file: str = "") -> Contract:
    """Return the Contract of one compiled entry of a file or pack; `file` is the path of the contract file."""
    where = source if plain.get("pack") else f"{source}:{plain['line']}"
    return Contract(plain["id"], where, project, plain, file)
