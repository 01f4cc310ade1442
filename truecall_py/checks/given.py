"""given: a value that the call itself carries is what it should be. Looks at nothing else, and never takes a value
that is not there for one."""

from __future__ import annotations

from truecall_py.checks.outcomes import refuted, verified
from truecall_py.errors import Unverified
from truecall_py.fields import field
from truecall_py.matchers import describe, holds, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.types import Outcome, ToolCall
    from truecall_py.world import World

NAME = "given"
SUMMARY = "A value of the call, such as an argument or what `runs` captured, is what it should be."
FIELDS = (
    field("value", "value", "The value, e.g. `{{args.amount}}`.", required=True, templated=True),
    field("is", "matcher", "What it must be.", required=True, templated=True),
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
        "title": "it is not",
        "args": {"amount": 900},
        "check": {"value": "{{args.amount}}", "is": {"at_most": 100}},
        "verdict": "refuted",
    },
)


def payload_only(params: dict[str, Any]) -> bool:
    """It looks at a value that is handed to it alone."""
    return True


def expect(params: dict[str, Any]) -> str:
    return f"a value that {describe(params['is'])}"


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    if not params["is"]:
        raise Unverified("given asserts nothing", "contract")
    told = shown(params["value"])
    if holds(params["is"], params["value"], world):
        return verified(expect(params), f"{told} is given")
    return refuted(expect(params), f"{told} is given")
