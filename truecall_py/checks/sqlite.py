"""sqlite: a database has the wanted rows, value or columns. It only reads, by one SELECT of the contract. Values of
the call are bound, and never become part of the query."""

from __future__ import annotations

from truecall_py.checks import EXECUTION
from truecall_py.checks.support.nearest_names import find_nearest, score_likeness
from truecall_py.checks.support.outcomes import compare_effect, refuted, verified
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import describe, has_delta, matches, quote_value
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.world.sqlite import Database
    from truecall_py.world.world import World

NAME = "sqlite"
SUMMARY = "An SQLite database has the expected rows, value, table or columns."
STAGE = EXECUTION
FAILURE_CLASS = ""
COST = 3.4
FIELDS = (
    field("file", "path", "The database, relative to the folder in which the call started. It is never created.",
          required=True, templated=True),
    field("query", "text", "One SELECT. `params` binds values of the call; they are never written into it."),
    field("params", "value", "A list for `?`, or a map for `:name`; a template keeps the type of its value.",
          templated=True),
    field("rows", "matcher", "The number of rows; default without `value`: at least one.",
          templated=True),
    field("value", "matcher", "The first column of the first row.", templated=True),
    field("table", "text", "A table that exists.", templated=True),
    field("columns", "texts", "Columns of the table.", templated=True),
)  # fmt: skip
ASSERTS = ("query", "table")
LOOK_UP, NEEDED = ("file", "query", "params"), ("file", "query")
USERS = """python3 - <<'PY'
import sqlite3
base = sqlite3.connect("app.db")
base.execute("create table if not exists users (id integer primary key, name text)")
%s
base.commit()
PY
"""
EXAMPLES = (
    {
        "title": "the added row is there, and there is one more than before",
        "before": {"setup": USERS % ""},
        "setup": USERS % "base.execute(\"insert into users (name) values ('Ada')\")",
        "args": {"name": "Ada"},
        "check": {
            "file": "app.db", "query": "SELECT id FROM users WHERE name = ?", "params": ["{{args.name}}"],
            "rows": {"increased_by": 1},
        },
        "verdict": "verified",
    },
    {
        "title": "reported as deleted, but still there",
        "setup": USERS % "base.execute(\"insert into users (name) values ('Ada')\")",
        "check": {"file": "app.db", "query": "SELECT count(*) FROM users WHERE name = 'Ada'", "value": 0},
        "verdict": "refuted",
    },
    {
        "title": "reported as migrated, but the column is missing",
        "setup": USERS % "",
        "check": {"file": "app.db", "table": "users", "columns": ["id", "email"]},
        "verdict": "refuted",
    },
    {
        "title": "the row was there before, and nothing was written",
        "before": {"setup": USERS % "base.execute(\"insert into users (name) values ('Ada')\")"},
        "check": {"file": "app.db", "query": "SELECT 1 FROM users WHERE name = 'Ada'"},
        "verdict": "unverified",
    },
)  # fmt: skip

LONGEST = 1 << 16  # characters of a value in a snapshot


def expect(params: dict[str, Any]) -> str:
    words = []
    if params.get("query"):
        query = " ".join(params["query"].split())
        values = f" with {quote_value(params['params'], 80)}" if params.get("params") is not None else ""
        asked = [f"a number of rows that {describe(build_row_matcher(params))}"] if build_row_matcher(params) else []
        asked += [f"a first value that {describe(params['value'])}"] if params.get("value") else []
        words.append(f"`{query[:200]}`{values} gives {' and '.join(asked)}")
    if params.get("table"):
        named = f" with the columns {', '.join(params['columns'])}" if params.get("columns") else ""
        words.append(f"the table {params['table']}{named} is there")
    return f"in {params['file']}: {', '.join(words)}"


def build_row_matcher(params: dict[str, Any]) -> dict[str, Any]:
    """Return the matcher on the number of rows."""
    given: dict[str, Any] | None = params.get("rows")
    return given or ({} if params.get("value") else {"at_least": 1})


def require_consistent(params: dict[str, Any]) -> None:
    """Raise Unverified for a field that needs another field, which is missing."""
    for name, owner in (("params", "query"), ("rows", "query"), ("value", "query"), ("columns", "table")):
        if params.get(name) is not None and not params.get(owner):
            raise Unverified(f"sqlite holds {name} and no {owner}", "contract")


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    from truecall_py.world.sqlite import Missing

    require_consistent(params)
    expected = expect(params)
    path = world.resolve(params["file"])
    earlier = world.earlier(NAME, params)
    try:
        base = open_database(path, world)
    except Missing as nothing:
        if params.get("query") and not params.get("table") and holds_without_rows(params, world):
            raise
        return refuted(expected, nothing.why, find_nearest(path, world), blank=is_unproven_before(earlier))
    try:
        wrong, candidates = explain_lacking(params, base)
        if wrong:
            return refuted(expected, wrong, candidates, blank=is_unproven_before(earlier))
        now = read_fact(params, base)
    finally:
        base.close()
    if params.get("query"):
        wrong = judge_rows(params, now, earlier, world)
        compares = has_delta(build_row_matcher(params)) or has_delta(params.get("value"))
        if wrong and compares and earlier is not ABSENT and not world.alone(NAME, params):
            why = "another call about the same rows ran at the same time, so what this one changed cannot be told"
            raise Unverified(f"{wrong}; {why}", "probe")
        if wrong:
            return refuted(expected, wrong, blank=not now["rows"] and is_unproven_before(earlier))
    return verified(expected, describe_rows(params, now), find_effect(params, now, earlier))


def is_unproven_before(earlier: Any) -> bool:
    """Whether no snapshot shows that there was something before: then an absence proves nothing."""
    return earlier is ABSENT or not (earlier.get("rows") or earlier.get("columns"))


def find_effect(params: dict[str, Any], now: dict[str, Any], earlier: Any) -> str:
    """Return the effect: whether the answer to the contract's questions changed. Another write to the same file is no
    effect, unless the contract only compares with the state before."""
    rows, value = build_row_matcher(params), params.get("value")
    if not params.get("table") and all(has_delta(matcher) for matcher in (rows, value) if matcher):
        return compare_effect(earlier, now)
    names = ("rows", "digest", "columns")
    was = earlier if earlier is ABSENT else [earlier.get(name) for name in names]
    return compare_effect(was, [now.get(name) for name in names])


def open_database(path: str, world: World) -> Database:
    from truecall_py.world.sqlite import Database as Base

    return Base(path, world, world.budget(2.0))


def holds_without_rows(params: dict[str, Any], world: World) -> bool:
    """Whether a database without rows could meet the contract, so that a missing database is no refutation."""
    rows, value = build_row_matcher(params), params.get("value")
    if has_delta(rows) or has_delta(value):
        return True
    try:
        return (not rows or matches(rows, 0, world)) and (not value or matches(value, ABSENT, world))
    except Unverified:
        return True


def take_snapshot(params: dict[str, Any], call: ToolCall, world: World) -> dict[str, Any]:
    """Return the answer to the query before the call, and the stamp of the database files. A missing database or
    table has no rows."""
    from truecall_py.core.fast_json import dumps
    from truecall_py.world.sqlite import Lacking, Missing

    require_consistent(params)
    try:
        base = open_database(world.resolve(params["file"]), world)
    except Missing:
        return build_empty_fact(params, None)
    try:
        found = read_fact(params, base)
    except Lacking:
        return build_empty_fact(params, base.stamp())
    finally:
        base.close()
    if len(dumps(found)) > LONGEST:
        raise Unverified("the value is too long to be kept from before the call", "contract")
    return found


def build_empty_fact(params: dict[str, Any], stamp: Any) -> dict[str, Any]:
    """Return the snapshot of a missing database or table: no rows."""
    found = {"rows": 0, "digest": "0"} if params.get("query") else {}
    return {"stamp": stamp, **found, **({"columns": None} if params.get("table") else {})}


def needs_snapshot(params: dict[str, Any]) -> bool:
    return has_delta(params.get("rows")) or has_delta(params.get("value"))


def read_fact(params: dict[str, Any], base: Database) -> dict[str, Any]:
    """Return `rows`, `digest` and `value` (left out without a row) of the query, the `columns` of the table, and
    `stamp`, which every write changes."""
    found: dict[str, Any] = {"stamp": base.stamp()}
    if params.get("table"):
        found["columns"] = base.columns(params["table"])
    if params.get("query"):
        found["rows"], value, there, found["digest"] = base.ask(params["query"], check_values(params.get("params")))
        if isinstance(value, bytes):
            if params.get("value"):
                raise Unverified("the value is a blob; ask for hex() of it", "contract")
            there = False
        if there:
            found["value"] = value
    return found


def is_shared_source(params: dict[str, Any]) -> bool:
    """Whether all projects look up their receipts in the same database: if its path is absolute."""
    return str(params.get("file", "")).startswith(("/", "~"))


def evidence(params: dict[str, Any], call: ToolCall, world: World) -> list[dict[str, Any]]:
    """Return the rows of the query, each as a map by column name. Raises Unverified."""
    base = open_database(world.resolve(params["file"]), world)
    try:
        return base.rows(params["query"], check_values(params.get("params")))
    finally:
        base.close()


def check_values(given: Any) -> list[Any] | dict[str, Any]:
    """Return the values of a query, each of a type that SQLite has. Raises Unverified."""
    if given is None:
        return []
    if not isinstance(given, (list, dict)):
        raise Unverified("params is neither a list nor a map", "contract")
    for value in given.values() if isinstance(given, dict) else given:
        if isinstance(value, (list, dict)):
            raise Unverified(f"{quote_value(value, 60)} is no single value that could be bound to a query", "tool")
    return given


def explain_lacking(params: dict[str, Any], base: Database) -> tuple[str, tuple[str, ...]]:
    """Return what the database lacks of the required table, and the most similar names."""
    table = params.get("table")
    if not table:
        return "", ()
    columns = base.columns(table)
    if columns is None:
        names = base.tables()
        return f"there is no table {table} in {base.path}", rank_names(table, names)
    known = {name.lower() for name in columns}
    missing = [name for name in params.get("columns") or () if name.lower() not in known]
    if missing:
        what = f"{table} has the columns {', '.join(columns[:40])}, and no {', '.join(missing)}"
        return what, rank_names(missing[0], columns)
    return "", ()


def rank_names(name: str, names: list[str]) -> tuple[str, ...]:
    ranked = sorted(((score_likeness(name, other), other) for other in names), reverse=True)
    return tuple(other for score, other in ranked[:3] if score >= 0.5)


def judge_rows(params: dict[str, Any], now: dict[str, Any], earlier: Any, world: World) -> str:
    """Return what is wrong with the answer to the query, "" if it is right."""

    def old(name: str) -> tuple[Any] | None:
        return None if earlier is ABSENT else (earlier.get(name, ABSENT),)

    rows = build_row_matcher(params)
    if rows and not matches(rows, now["rows"], world, before=old("rows")):
        was = f" (before the call {earlier.get('rows')})" if has_delta(rows) and earlier is not ABSENT else ""
        return f"{describe_rows(params, now)}{was}"
    value = params.get("value")
    if value and not matches(value, now.get("value", ABSENT), world, before=old("value")):
        then = quote_value(earlier.get("value", ABSENT), 80) if has_delta(value) and earlier else ""
        was = f" (before the call {then})" if then else ""
        return f"{describe_rows(params, now)}{was}"
    return ""


def describe_rows(params: dict[str, Any], now: dict[str, Any]) -> str:
    if "rows" not in now:
        return f"the table {params['table']} is there"
    words = f"{now['rows']} row{'' if now['rows'] == 1 else 's'}"
    return words + (f", first value {quote_value(now['value'])}" if "value" in now else "")
