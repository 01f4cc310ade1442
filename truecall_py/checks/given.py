"""given: a value of the call itself is right. It reads nothing else, and a missing value never counts as one."""

from __future__ import annotations

from truecall_py.checks import STRUCTURE
from truecall_py.checks.support.outcomes import refuted, verified
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import describe, matches, quote_value
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, REFUTED, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.contracts.facts import Facts
    from truecall_py.world.world import World

NAME = "given"
SUMMARY = "A value of the call has the expected value: an argument, or a value that `runs` captured."
STAGE = STRUCTURE
FAILURE_CLASS = ""
COST = None
FIELDS = (
    field("value", "value", "The value, e.g. `{{args.amount}}`.", required=True, templated=True),
    field("is", "matcher", "The expected value.", required=True, templated=True),
)
ASSERTS = ("is",)
EXAMPLES = (
    {
        "title": "the amount is within the limit",
        "args": {"amount": 90},
        "check": {"value": "{{args.amount}}", "is": {"at_most": 100}},
        "verdict": "verified",
    },
    {
        "title": "the amount is above the limit",
        "args": {"amount": 900},
        "check": {"value": "{{args.amount}}", "is": {"at_most": 100}},
        "verdict": "refuted",
    },
)


def payload_only(params: dict[str, Any]) -> bool:
    """Always: it uses only the value that it is given."""
    return True


def expect(params: dict[str, Any]) -> str:
    return f"a value that {describe(params['is'])}"


def lacking(params: dict[str, Any], facts: Facts) -> Outcome | None:
    """Return the outcome if the call, which is not made yet, lacks the argument; None if the value is not an argument
    or exists. `params` still contain templates. After a call, a missing argument is unverified."""
    from truecall_py.contracts.template import Part, parse, resolve

    value, wanted = params.get("value"), params.get("is")
    pieces = parse(value) if isinstance(value, str) else []
    part = pieces[0] if len(pieces) == 1 else None
    if not wanted or not isinstance(part, Part) or part.default is not ABSENT or not part.path.startswith("args."):
        return None
    if facts.get(part.path) is not ABSENT:
        return None
    if wanted == {"exists": False}:
        return verified(expect(params), f"`{part.path[5:]}` is not given")
    from truecall_py.checks.support.schema_errors import find_nearest

    name, args = part.path[5:], facts.call.args
    meant = find_nearest(name, [each for each in args if each not in facts.call.added])
    told = f"`{name}` is missing from the arguments" + (f"; `{meant}` was sent" if meant else "")
    held = resolve(wanted, facts, "matcher")
    return Outcome("", REFUTED, f"an argument `{name}` that {describe(held)}", told, blank=True, failure="schema")


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    if not params["is"]:
        raise Unverified("given asserts nothing", "contract")
    told = quote_value(params["value"])
    if matches(params["is"], params["value"], world):
        return verified(expect(params), f"{told} is given")
    return refuted(expect(params), f"{told} is given")
