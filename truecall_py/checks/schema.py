"""schema: the arguments, or the structured result, match a JSON Schema. It never fetches a schema. A missing result,
or a schema that asserts nothing, is no match."""

from __future__ import annotations

import os

from truecall_py.checks import STRUCTURE
from truecall_py.checks.support.outcomes import refuted, verified
from truecall_py.contracts.facts import value_at
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import quote_value
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.world.world import World

NAME = "schema"
SUMMARY = "The call's arguments, or the tool's structured result, match a JSON Schema."
STAGE = STRUCTURE
FAILURE_CLASS = "schema"
COST = 12.5
FIELDS = (
    field("schema", "json-schema", "The schema, draft 2020-12 unless it names another; or the path of a JSON file."),
    # Of the same kind, so that `truecall trust` pins its content.
    field("file", "json-schema", "A JSON file with the schema, relative to the contract's folder."),
    field("path", "text", "The path in the value, e.g. `items.0`; default: all of it."),
    field("of", "choice", "args or result; default: the result in `post`, the arguments in `pre`.",
          choices=("args", "result")),
)  # fmt: skip
ASSERTS = ("schema", "file")
EXCLUSIVE = ("schema", "file")
GUARD_DEFAULTS = {"of": "args"}
ONLY_AFTER = {"of": ("result",)}
WORKER = "truecall_py.worker.schemas"
EXAMPLES = (
    {
        "title": "the issue has a number",
        "files": {},
        "result": {"id": 7},
        "check": {"schema": {"required": ["id"], "properties": {"id": {"type": "integer"}}}},
        "verdict": "verified",
    },
    {
        "title": "the answer is an error in the shape of a success",
        "files": {"schemas/issue.json": '{"type": "object", "required": ["id"]}\n'},
        "result": {"error": "rate limit"},
        "check": {"file": "schemas/issue.json"},
        "verdict": "refuted",
    },
    {
        "title": "a misspelt argument",
        "args": {"titel": "a"},
        "check": {"of": "args", "schema": {"properties": {"title": {}}, "additionalProperties": False}},
        "verdict": "refuted",
    },
)
NAMES = {"args": "the arguments", "result": "the result"}


def list_sent_args(call: ToolCall) -> dict[str, Any]:
    """Return the arguments as the client sent them, without the neutral names that truecall adds."""
    return {name: value for name, value in call.args.items() if name not in call.added}


def describe_subject(params: dict[str, Any]) -> str:
    of = params.get("of", "result")
    return f"{of}.{params['path']}" if params.get("path") else NAMES[of]


def expect(params: dict[str, Any]) -> str:
    rules = params.get("schema", params.get("file"))
    which = f"the schema {rules}" if isinstance(rules, str) else "the contract's schema"
    many = params.get("of") == "args" and not params.get("path")
    return f"{describe_subject(params)} {'are' if many else 'is'} valid by {which}"


def payload_only(params: dict[str, Any]) -> bool:
    """Always: it uses only the call and the contract's own schema."""
    return True


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    if ("schema" in params) == ("file" in params):
        raise Unverified("schema takes either schema or file", "contract")
    rules = params.get("schema", params.get("file"))
    if "file" in params and not isinstance(rules, str):
        raise Unverified("file is the path of a schema; the schema itself goes under schema", "contract")
    expected = expect(params)
    args = params.get("of") == "args"
    whole = list_sent_args(call) if args else call.result
    if whole is ABSENT:
        raise Unverified("the tool's answer holds no structured result", "tool", expected)
    value = value_at(whole, params["path"]) if params.get("path") else whole
    if value is ABSENT:
        return refuted(expected, f"there is nothing at {params['path']} in {NAMES['args' if args else 'result']}")
    job: dict[str, object] = {"do": "schema", "value": value, "project": world.project}
    if isinstance(rules, str):
        job["file"] = os.path.join(world.project, rules)
    else:
        job["schema"] = rules
    found: Any = world.slow(job)
    if not found["errors"]:
        return verified(expected,
                        f"{describe_subject(params)} {'are' if args and not params.get('path') else 'is'} valid")
    if args:
        from truecall_py.checks.support.schema_errors import describe_errors

        return refuted(expected, describe_errors(found["errors"], found["count"]))
    lines = [f"{error['path']}: {shorten_message(error['message'])}" for error in found["errors"]]
    more = found["count"] - len(lines)
    return refuted(expected, "; ".join(lines) + (f"; and {more} more" if more > 0 else ""))


def shorten_message(message: str) -> str:
    """Return a message of jsonschema, which quotes the whole value, without its middle."""
    return quote_value(message, 200)[1:-1] if len(message) > 198 else message
