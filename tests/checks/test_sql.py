"""sql: what is certainly without a WHERE, and what is not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecall_py.checks import sql
from truecall_py.checks.support.sql_tokens import find_sweeping
from truecall_py.core.errors import Unverified
from truecall_py.core.types import REFUTED, VERIFIED, ToolCall
from truecall_py.world.world import World

SWEEPS = (
    "DELETE FROM users",
    "delete from users;",
    "DELETE FROM users RETURNING id",
    "DELETE FROM users /* WHERE id = 1 */",
    "DELETE FROM users -- WHERE id = 1",
    "DELETE FROM users -- WHERE id = 1\n",
    "UPDATE users SET name = 'x where y'",
    'UPDATE "where" SET a = 1',
    "UPDATE users SET a = 1, b = (SELECT c FROM d WHERE e = 1)",
    "SELECT 1; DELETE FROM users",
    "BEGIN; DELETE FROM users; COMMIT",
    "BEGIN TRANSACTION; UPDATE t SET a = 1; COMMIT;",
    "WITH x AS (SELECT 1 WHERE true) DELETE FROM users",
    "WITH gone AS (DELETE FROM users RETURNING *) SELECT * FROM gone WHERE id = 1",
    "DELETE FROM users USING other",
    "UPDATE users SET note = $$it's WHERE$$",
    "UPDATE users SET a = 'it''s' || ' WHERE '",
    "UPDATE users SET (a, b) = (1, 2)",
    "DELETE LOW_PRIORITY QUICK FROM users",
    "UPDATE IGNORE users SET a = 1",
    "EXPLAIN ANALYZE DELETE FROM users",
    "EXPLAIN ANALYZE VERBOSE UPDATE users SET a = 1",
    "ROLLBACK; DELETE FROM users",
    "BEGIN; DELETE FROM a; ROLLBACK; DELETE FROM users",
    "CREATE TABLE IF NOT EXISTS users (id int); DELETE FROM users",
    "CREATE TABLE fresh (id int); DELETE FROM users",
    "CREATE TABLE fresh.users (id int); DELETE FROM users",
)
NOT = (
    "DELETE FROM users WHERE id = 1",
    "delete from users\nwhere id in (1, 2)",
    "UPDATE users SET a = 1 WHERE CURRENT OF c",
    "UPDATE a JOIN b ON a.id = b.id SET a.x = 1",
    "DELETE FROM users LIMIT 10",
    "UPDATE TOP (5) users SET a = 1",
    "SELECT * FROM users FOR UPDATE",
    "INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET a = 1",
    "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1",
    "CREATE TABLE t (id int REFERENCES u ON DELETE CASCADE ON UPDATE SET NULL)",
    "CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; UPDATE c SET d = 1; END;",
    "CREATE FUNCTION f() RETURNS void AS $$ DELETE FROM users $$ LANGUAGE sql",
    "DO $$ BEGIN DELETE FROM users; END $$",
    "BEGIN; DELETE FROM users; ROLLBACK",
    "EXPLAIN DELETE FROM users",
    "EXPLAIN ANALYZE DELETE FROM users WHERE id = 1",
    "EXPLAIN ANALYZE",
    "EXPLAIN ANALYZE " * 5000 + "DELETE FROM users",
    "BEGIN; DELETE FROM users; ABORT",
    "CREATE TEMP TABLE t AS SELECT 1 AS a; UPDATE t SET a = 2; SELECT * FROM t",
    "CREATE TABLE t (a int); INSERT INTO t VALUES (1); DELETE FROM t",
    "update the docs set, and see (what) is left",
    "GRANT DELETE ON users TO app",
    "MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN DELETE",
    "SELECT 'DELETE FROM users'",
    "-- DELETE FROM users",
    "UPDATE t SET a = 5--1 WHERE id = 3",
    "UPDATE t SET a = 'it\\'s' WHERE id = 3",
    "DELETE FROM t /*! WHERE id = 1 */",
    "UPDATE t SET a = 1 # WHERE id = 2",
    "DELETE FROM 'unclosed",
    "DELETE FROM users)",
    "WITH x AS " + "(" * 100_000 + ")" * 100_000 + " DELETE FROM users",
    "DELETE",
    "UPDATE STATISTICS t",
    "update the settings, so that the dark mode is set",
    "update dark mode set",
    "\\i file.sql",
    ".read file.sql",
    "DELIMITER //\nDELETE FROM t//",
    "",
)


@pytest.mark.parametrize("text", SWEEPS)
def test_what_certainly_sweeps(text):
    """A DELETE or UPDATE whose own words leave no row out."""
    assert len(find_sweeping(text)) == 1


@pytest.mark.parametrize("text", NOT)
def test_what_does_not_or_not_for_certain(text):
    """Whatever is bounded, only named, rolled back, or read differently by some database."""
    assert find_sweeping(text) == []


@given(st.text(alphabet="DELETE FROM UPDATE SET WHERE'\"`$;()-*/#\\ \n=1a", max_size=60))
@settings(max_examples=300, deadline=None)
def test_no_text_makes_it_fail(text):
    """Whatever is sent, it is read without an error."""
    assert all(each.upper().startswith(("DELETE", "UPDATE", "WITH", "EXPLAIN")) for each in find_sweeping(text))


@pytest.mark.parametrize(("text", "kinds", "state"), [
    ("select 1; SELECT 2", ["select"], VERIFIED),
    ("EXPLAIN SELECT 1", ["select", "explain"], VERIFIED),
    ("EXPLAIN ANALYZE DELETE FROM a WHERE b", ["select", "explain"], REFUTED),
    ("(SELECT 1) UNION (SELECT 2)", ["select"], VERIFIED),
    ("PRAGMA journal_mode=OFF", ["select"], REFUTED),
    ("SELECT 1; DROP TABLE a", ["select"], REFUTED),
    ("SELECT * INTO copy FROM users", ["select"], REFUTED),
    ("SELECT * INTO OUTFILE '/tmp/a' FROM users", ["select"], REFUTED),
    ("SELECT * INTO copy FROM users", ["select", "into"], VERIFIED),
    ("WITH x AS (SELECT 1) SELECT * INTO copy FROM x", ["select"], REFUTED),
    ("(SELECT * INTO copy FROM users)", ["select"], REFUTED),
    ("SELECT 1 UNION SELECT a INTO copy FROM b", ["select"], REFUTED),
    ("INSERT INTO a SELECT 1", ["insert"], VERIFIED),
    ("LOAD DATA INFILE 'a' INTO TABLE b", ["load"], VERIFIED),
    ("WITH x AS (DELETE FROM a RETURNING *) SELECT * FROM x", ["select"], REFUTED),
    ("WITH x (a) AS NOT MATERIALIZED (DELETE FROM a RETURNING *) SELECT * FROM x", ["select"], REFUTED),
    ("WITH x AS (WITH y AS (SELECT 1) DELETE FROM a RETURNING *) SELECT * FROM x", ["select"], REFUTED),
    ("(WITH x AS (DELETE FROM a RETURNING *) SELECT * FROM x)", ["select"], REFUTED),
    ("(WITH x AS (SELECT 1) SELECT * FROM x)", ["select"], VERIFIED),
    ("WITH x AS (SELECT 1), y AS (SELECT 2) (SELECT * FROM x)", ["select"], VERIFIED),
    ("WITH x AS (SELECT 1) (SELECT 1) UNION SELECT 2", ["select"], VERIFIED),
    ("WITH RECURSIVE x (a) AS (SELECT 1 UNION ALL SELECT 2) SELECT * FROM x FOR UPDATE", ["select"], VERIFIED),
    ("WITH values AS (SELECT 1) DELETE FROM a", ["select", "values"], REFUTED),
    ("WITH x AS (SELECT trim(replace(a, 'b', 'c')) FROM d) SELECT insert(a, 1, 1, 'b') FROM x", ["select"], VERIFIED),
    ("SELECT a FROM FINAL TABLE (INSERT INTO b VALUES (1))", ["select"], REFUTED),
    ("INSERT INTO a WITH x AS (DELETE FROM b RETURNING *) SELECT * FROM x", ["select", "insert"], REFUTED),
    ("EXPLAIN ANALYSE DELETE FROM a", ["select", "explain"], REFUTED),
    ("EXPLAIN (ANALYZE, BUFFERS) DELETE FROM a", ["select", "explain"], REFUTED),
    ("EXPLAIN (ANALYZE off) DELETE FROM a", ["select", "explain"], VERIFIED),
    ("EXPLAIN (COSTS off) DELETE FROM a", ["select", "explain"], VERIFIED),
    ("EXPLAIN ANALYZE SELECT * INTO b FROM a", ["select", "explain"], REFUTED),
    ("EXPLAIN ANALYZE CREATE TABLE b AS SELECT 1", ["select", "explain"], REFUTED),
    ("EXPLAIN ANALYZE WITH x AS (DELETE FROM a RETURNING *) SELECT * FROM x", ["select", "explain"], REFUTED),
    ("EXPLAIN ANALYZE SELECT 1", ["explain"], VERIFIED),
    ("EXPLAIN ANALYZE FORMAT=TREE SELECT replace(a, 'b', 'c') FROM d", ["explain"], VERIFIED),
    ("ANALYZE FORMAT=JSON UPDATE a SET b = 1", ["select", "explain", "analyze"], REFUTED),
    ("ANALYZE a", ["select", "explain"], REFUTED),
    ("EXPLAIN QUERY PLAN DELETE FROM a", ["explain"], VERIFIED),
    ("DESCRIBE a", ["explain"], VERIFIED),
    ("COPY users TO '/tmp/a'", ["select"], REFUTED),
    ("COPY (SELECT 1) TO STDOUT", ["select"], REFUTED),
    ("COPY (DELETE FROM a RETURNING *) TO STDOUT", ["select", "copy"], REFUTED),
    ("COPY (SELECT 1) TO STDOUT", ["copy"], VERIFIED),
    ("SELECT ARRAY['a', 'b'], b[1] FROM c", ["select"], VERIFIED),
    ("BEGIN READ ONLY; SELECT 1; COMMIT", ["begin", "select", "commit"], VERIFIED),
])  # fmt: skip
def test_only_some_kinds(text, kinds, state):
    """By the first word of each statement, and by what a WITH or an EXPLAIN ANALYZE changes on the way."""
    call = ToolCall("claude-code", "PreToolUse", "mcp__a__b", frozenset({"mcp"}), {})
    assert sql.run({"text": text, "only": kinds}, call, World()).state == state


def test_a_body_is_no_kind():
    """What runs in a block cannot be told by its words, nor what some databases read as a name."""
    call = ToolCall("claude-code", "PreToolUse", "mcp__a__b", frozenset({"mcp"}), {})
    for text in ("DO $$ x $$", "BEGIN DELETE FROM a END", "SELECT 1 AS [it's]; DROP TABLE a --'", "SELECT [a;b]"):
        with pytest.raises(Unverified):
            sql.run({"text": text, "only": ["select", "begin"]}, call, World())
