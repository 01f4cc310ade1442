"""result: the answer of the tool, compared as data. It never interprets words."""

from __future__ import annotations

from truecall_py.checks import STRUCTURE
from truecall_py.checks.support.outcomes import refuted, unverified, verified
from truecall_py.clients.payload import find_text
from truecall_py.contracts.facts import find_exit_code, find_reported, value_at
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import DELTAS, describe, is_comparable, matches, quote_value, refuse_unreachable
from truecall_py.contracts.matchers import FIELDS as OPERATORS
from truecall_py.core.types import ABSENT, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.world.world import World

# An answer is not a command, and there is none before the call.
MATCHER_FIELDS = tuple(item for item in OPERATORS if item.name not in ("runs", *DELTAS))

NAME = "result"
SUMMARY = "A value of the tool's own answer: its structured result, text or exit code."
STAGE = STRUCTURE
FAILURE_CLASS = ""
COST = 2.4
FIELDS = (
    field("path", "text", "The path in the structured result, e.g. `items.0.id`; default: the whole result."),
    field("of", "choice", "The value to compare instead of the structured result.",
          default="result", choices=("result", "text", "exit_code", "reported", "is_error")),
    *MATCHER_FIELDS,
)  # fmt: skip
ASSERTS = tuple(item.name for item in MATCHER_FIELDS)
ONLY_AFTER = {"": "the answer of the call"}
EXIT_CODE_FIELD = ("of", "exit_code")
EXAMPLES = (
    {
        "title": "the issue has an id",
        "files": {},
        "result": {"id": 7},
        "check": {"path": "id", "type": "integer"},
        "verdict": "verified",
    },
    {
        "title": "success was reported, but ok is false",
        "files": {},
        "result": {"ok": False},
        "check": {"path": "ok", "equals": True},
        "verdict": "refuted",
    },
)


def build_matcher(params: dict[str, Any]) -> dict[str, Any]:
    return {name: params[name] for name in ASSERTS if name in params}


def describe_subject(params: dict[str, Any]) -> str:
    of = str(params.get("of", "result"))
    name = {"text": "the result's text", "exit_code": "the exit code", "reported": "what was reported"}.get(of, of)
    path = params.get("path")
    return f"{name}.{path}" if path else name


def expect(params: dict[str, Any]) -> str:
    return f"{describe_subject(params)} {describe(build_matcher(params))}"


def payload_only(params: dict[str, Any]) -> bool:
    """Always: it uses only the answer."""
    return True


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    expected = expect(params)
    of = params.get("of", "result")
    value: Any
    if of == "exit_code":
        value = find_exit_code(call, world)
        if value is None:
            return unverified(expected, "the harness gives no exit code for this call", "harness")
    elif of == "reported":
        value = find_reported(call, world)
    elif of == "is_error":
        value = ABSENT if call.is_error is None else call.is_error
    elif of == "text":
        value = find_text(call)
        if value is None:
            return unverified(expected, "the call has no answer", "tool")
    else:
        if call.result is ABSENT:
            return unverified(expected, "the tool's answer holds no structured result", "tool")
        value = call.result
    if params.get("path"):
        whole, value = value, value_at(value, params["path"])
        refuse_unreachable(build_matcher(params), value, whole, params["path"].split("."))
    found = f"{describe_subject(params)} is {quote_value(value)}"
    if matches(build_matcher(params), value, world):
        return verified(expected, found)
    return refuted(expected, found, blank=not is_comparable(build_matcher(params), value))
