"""Looks up the names that a contract may use in one call. A fact that costs something is looked up only if a contract
uses it. A fact that the client does not give stays absent."""

from __future__ import annotations

from truecall_py.clients.payload import find_text
from truecall_py.core.types import ABSENT, FAILURE, SUCCESS, UNKNOWN, File, ToolCall, Withheld

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.world.world import World

ROOTS = (
    "args", "file", "files", "result", "text", "tool", "kind", "reported", "exit_code", "is_error", "cwd",
    "start_cwd", "project", "match", "session", "duration",
)  # fmt: skip


def value_at(value: Any, path: str) -> Any:
    """Return the value at a dotted path: keys of objects, positions in lists. ABSENT if there is none."""
    for name in path.split("."):
        if isinstance(value, dict):
            if name not in value:
                return ABSENT
            value = value[name]
        elif isinstance(value, list) and name.isascii() and name.isdigit():
            if int(name) >= len(value):
                return ABSENT
            value = value[int(name)]
        else:
            return ABSENT
    return value


def find_exit_code(call: ToolCall, world: World) -> int | None:
    """Return the exit code of a call, from its transcript if the client reports it only there. None if it is
    unknown."""
    if call.exit_code is not None or call.transcript is None:
        return call.exit_code
    return read_transcript(call, world)[0]


def find_reported(call: ToolCall, world: World) -> str:
    """Return what the tool reported: SUCCESS, FAILURE or UNKNOWN of core.types."""
    if call.reported in (SUCCESS, FAILURE) or call.transcript is None:
        return call.reported
    return read_transcript(call, world)[1]


def read_transcript(call: ToolCall, world: World) -> tuple[int | None, str]:
    """Return (exit code or None, SUCCESS | FAILURE | UNKNOWN) of a call, from the transcript of its client."""
    from truecall_py.clients import find_part

    reader = find_part(call.harness, "exit_codes")
    return (None, UNKNOWN) if reader is None else reader.read_outcome(call, world)


def to_plain(file: File) -> dict[str, Any]:
    """Return a file of a call as plain data."""
    plain: dict[str, Any] = {"path": file.path, "action": file.action}
    if file.content is not None:
        plain["content"] = file.content
    return plain


class Facts:
    """The scope of templates and of `when`: one call, one of its files, and one `runs` capture."""

    def __init__(
        self, call: ToolCall, world: World, file: File | None = None, match: dict[str, str] | None = None
    ) -> None:
        self.call = call
        self.world = world
        self.file = file
        self.match = match
        self.asks = False  # True in a guard: the call is not made yet

    def get(self, path: str) -> Any:
        """Return the value of a dotted name, ABSENT if this call has none. Raises Unverified for a value that is not
        stored."""
        root, _, rest = path.partition(".")
        value = self.root(root)
        if value is None:
            return ABSENT
        value = value_at(value, rest) if rest else value
        stored = isinstance(self.call.args, Withheld)  # the call is judged again, from the ledger
        if stored and (isinstance(value, Withheld) or (root == "match" and Withheld.holds_mask(value))):
            Withheld.refuse(path)
        return value

    def root(self, name: str) -> Any:
        """Return the value of the first part of a dotted name, None if this call has none."""
        call = self.call
        if name == "text":
            return find_text(call)
        if name in ("args", "tool", "cwd", "start_cwd", "session", "duration", "is_error"):
            return getattr(call, name)
        if name == "result":
            return call.result
        if name == "kind":
            return sorted(call.kinds)
        if name == "files":
            return [to_plain(file) for file in call.files]
        if name == "file":
            return None if self.file is None else to_plain(self.file)
        if name == "match":
            return self.match
        if name == "project":
            return self.world.project
        if name == "exit_code":
            return find_exit_code(call, self.world)
        if name == "reported":
            return find_reported(call, self.world)
        return None


def to_plain_call(call: ToolCall, world: World) -> dict[str, Any]:
    """Return the call as the JSON data that a custom check gets: every name of ROOTS that the call has, its client
    and its event."""
    facts = Facts(call, world)
    plain: dict[str, Any] = {"harness": call.harness, "event": call.event}
    for name in ROOTS:
        value = facts.get(name)
        if value is not ABSENT:
            plain[name] = value
    return plain
