"""sql: what a text of SQL would do, by its words alone. It asks no database. It calls a statement sweeping only if
every database reads it so."""

from __future__ import annotations

from truecall_py.checks import STRUCTURE
from truecall_py.checks.support.outcomes import refuted, verified
from truecall_py.checks.support.sql_tokens import (
    Unsure,
    find_sweeping,
    list_kinds,
    require_balanced,
    split_statements,
)
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import quote_value
from truecall_py.core.errors import Unverified

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.core.types import Outcome, ToolCall
    from truecall_py.world.world import World

NAME = "sql"
SUMMARY = "An SQL text has no DELETE or UPDATE without a WHERE, or only statements of some kinds."
STAGE = STRUCTURE
FAILURE_CLASS = ""
COST = None
FIELDS = (
    field("text", "text", "The SQL.", required=True, templated=True),
    field("sweeping", "choice", "refused: no DELETE or UPDATE that certainly reaches every row of its table.",
          choices=("refused",)),
    field("only", "texts", "The allowed kinds of statements, by their first word, e.g. select. With `into`, a SELECT "
          "may also create a table or a file."),
)  # fmt: skip
ASSERTS = ("sweeping", "only")
EXAMPLES = (
    {
        "title": "one row is deleted",
        "check": {"text": "DELETE FROM users WHERE id = 7", "sweeping": "refused"},
        "verdict": "verified",
    },
    {
        "title": "every row is deleted, since the condition is a comment",
        "check": {"text": "DELETE FROM users -- WHERE id = 7", "sweeping": "refused"},
        "verdict": "refuted",
    },
    {
        "title": "a query that also changes rows",
        "check": {"text": "WITH gone AS (DELETE FROM a RETURNING *) SELECT * FROM gone", "only": ["select"]},
        "verdict": "refuted",
    },
)


def payload_only(params: dict[str, Any]) -> bool:
    """Always: it uses only the text."""
    return True


def expect(params: dict[str, Any]) -> str:
    words = []
    if params.get("sweeping"):
        words.append("no DELETE or UPDATE without a WHERE")
    if params.get("only"):
        words.append(f"only {', '.join(word.upper() for word in params['only'])}")
    return f"SQL with {' and '.join(words)}"


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    expected, text = expect(params), params["text"]
    if params.get("sweeping"):
        found = find_sweeping(text)
        if found:
            more = f", and {len(found) - 1} more" if len(found) > 1 else ""
            return refuted(expected, f"{quote_value(found[0])} would reach every row of its table{more}")
    if params.get("only"):
        allowed = {word.upper() for word in params["only"]}
        try:
            statements = split_statements(text)
            for statement in statements:
                require_balanced(statement.words)
            told = sorted({kind for each in statements for kind in list_kinds(each)} - allowed)
        except Unsure as why:
            raise Unverified(f"the SQL cannot be read for certain: {why}", "tool", expected) from None
        if told:
            return refuted(expected, f"{', '.join(told)} in {quote_value(text)}")
    return verified(expected, "nothing else in it")
