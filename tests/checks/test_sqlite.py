"""sqlite: what a database holds, read without a trace, however hostile the file is."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

import pytest

from truecall_py.checks import sqlite
from truecall_py.core.errors import Unverified
from truecall_py.core.types import NEW, OLD, REFUTED, VERIFIED, ToolCall
from truecall_py.world.snapshots import Snapshot, make_key
from truecall_py.world.sqlite import authorize_action, find_first_word
from truecall_py.world.world import World

CALL = ToolCall("claude-code", "PostToolUse", "mcp__db__add", frozenset({"mcp"}), {})
ONE = {"at_least": 1}


@pytest.fixture
def base(tmp_path):
    """A database with a table of two users, opened by `base.write(sql, *values)`."""

    class Base:
        path = tmp_path / "app.db"
        folder = tmp_path

        def write(self, *statements, mode=None):
            with sqlite3.connect(self.path) as connection:
                if mode:
                    connection.execute(f"PRAGMA journal_mode={mode}")
                for statement in statements:
                    connection.execute(statement)
            connection.close()

        def world(self, **named):
            return World(str(tmp_path), str(tmp_path), **named)

        def names(self):
            return sorted(os.listdir(tmp_path))

        def look(self, query="SELECT id FROM users", world=None, **params):
            given = {"file": "app.db", **({"query": query} if query else {}), **params}
            return sqlite.run(given, CALL, world or self.world())

        def why(self, *args, **params):
            with pytest.raises(Unverified) as caught:
                self.look(*args, **params)
            return caught.value

    found = Base()
    found.write("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, score REAL)",
                "INSERT INTO users (name, score) VALUES ('Ada', 1.5), ('Bob', NULL)")  # fmt: skip
    return found


def test_rows_and_value_are_compared(base):
    """The number of rows, by default at least one; the first column of the first row, with its type."""
    assert base.look().state == VERIFIED
    assert base.look(rows={"equals": 2}).state == VERIFIED
    assert base.look(rows={"equals": 1}).state == REFUTED
    assert base.look("SELECT id FROM users WHERE id = 9").state == REFUTED
    assert base.look("SELECT name FROM users ORDER BY id", value={"equals": "Ada"}).state == VERIFIED
    assert base.look("SELECT id FROM users", value={"equals": "1"}).state == REFUTED
    assert base.look("SELECT score FROM users WHERE id = 2", value={"equals": None}).state == VERIFIED
    found = base.look("SELECT count(*) FROM users", value={"equals": 3})
    assert (found.state, found.found) == (REFUTED, "1 row, first value 2")


def test_values_of_the_call_are_bound(base):
    """A list for ?, a map for names; quotes in a value are data, and types are kept."""
    assert base.look("SELECT 1 FROM users WHERE name = ?", params=["Ada"]).state == VERIFIED
    assert base.look("SELECT 1 FROM users WHERE name = :name", params={"name": "Ada"}).state == VERIFIED
    assert base.look("SELECT 1 FROM users WHERE name = ?", params=["x' OR '1'='1"]).state == REFUTED
    assert base.look("SELECT typeof(?)", params=[7], value={"equals": "integer"}).state == VERIFIED
    assert base.why("SELECT 1 WHERE ? = 1", params=[{"a": 1}]).cause == "tool"
    assert base.why("SELECT 1 WHERE ? = 1", params=[2**70]).cause == "tool"
    assert base.why("SELECT 1 WHERE ? = 1", params=[]).cause == "contract"
    assert base.why("SELECT 1 WHERE ? = 1", params="Ada").cause == "contract"


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO users (name) VALUES ('x')", "DELETE FROM users", "UPDATE users SET name = 'x'", "DROP TABLE users",
        "PRAGMA user_version", "PRAGMA writable_schema = 1", "ATTACH 'other.db' AS o", "VACUUM INTO 'copy.db'",
        "EXPLAIN SELECT 1", "SELECT 1; DELETE FROM users", "WITH x AS (SELECT 1) DELETE FROM users",
        "SELECT load_extension('x.so')", "SELECT randomblob(1000000000)", "SELECT printf('%.*c', 900000000, 'x')",
        "SELECT * FROM pragma_table_info('users')", "SELECT value FROM json_each('[1]')", "BEGIN", "", "-- nothing",
        "SELECT nothing FROM users", "SELECT 1 FROM missing", "SELECT",
    ],
)  # fmt: skip
def test_only_a_select_is_asked(base, query):
    """Whatever writes, opens, explains, loads or looks into the engine is no verdict, and nothing happens."""
    before = base.path.read_bytes()
    error = base.why(query) if query else None
    assert error is None or error.cause == "contract", error.why
    assert base.path.read_bytes() == before and base.names() == ["app.db"]


def test_a_query_may_compute(base):
    """Functions that only compute, sub-queries, common tables, windows and the schema are read."""
    for query in (
        "SELECT upper(name) || count(*) FROM users", "WITH x AS (SELECT id FROM users) SELECT * FROM x",
        "/* so */ -- many\n SELECT max(id) FROM users", "SELECT row_number() OVER (ORDER BY id) FROM users",
        "SELECT name FROM sqlite_master WHERE type = 'table'", "VALUES (1)", "SELECT json_extract('{\"a\":1}', '$.a')",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
    ):  # fmt: skip
        assert base.look(query).state == VERIFIED, query


def test_a_table_and_its_columns(base):
    """The schema is compared without case; the nearest names are offered."""
    assert base.look(None, table="Users", columns=["ID", "name"]).state == VERIFIED
    found = base.look(None, table="users", columns=["id", "nam"])
    assert (found.state, found.candidates) == (REFUTED, ("name",))
    assert found.found == "users has the columns id, name, score, and no nam"
    found = base.look(None, table="user")
    assert (found.state, found.candidates) == (REFUTED, ("users",))
    base.write('CREATE TABLE "a""b; DROP TABLE users" (x)')
    assert base.look(None, table='a"b; DROP TABLE users', columns=["x"]).state == VERIFIED


def test_a_query_and_a_table_at_once(base):
    """Both are looked at, and the table first."""
    assert base.look(table="users", columns=["id"], rows={"equals": 2}).state == VERIFIED
    assert base.look(table="users", columns=["mail"], rows={"equals": 2}).state == REFUTED
    assert base.look(table="users", rows={"equals": 3}).state == REFUTED


def test_fields_that_belong_to_another_are_no_verdict_alone(base):
    """`columns` without `table` would be passed over."""
    with pytest.raises(Unverified, match="holds columns and no table"):
        base.look(columns=["id"])


def test_a_database_that_is_not_there(base):
    """It has no rows and no tables; it is never made, and never proves that something is gone."""
    base.path.unlink()
    assert base.look().state == REFUTED
    assert base.look().blank
    assert base.look(None, table="users").state == REFUTED
    assert base.look(rows={"at_most": 5}, value={"equals": 1}).state == REFUTED
    assert base.why(rows={"equals": 0}).why.startswith("there is no database at ")
    assert base.why(rows={"increased_by": 1}).cause == "world"
    assert base.names() == []


def test_a_database_with_a_log_is_read_without_a_trace(base):
    """WAL: closed (no log), crashed (log and index), in use, log without index; nothing is made or changed."""
    base.write(mode="wal")
    assert base.names() == ["app.db"]
    assert base.look(rows={"equals": 2}).state == VERIFIED
    assert base.names() == ["app.db"]

    writer = f"import os, sqlite3\nb = sqlite3.connect({str(base.path)!r})\n" \
             "b.execute(\"INSERT INTO users (name) VALUES ('Eve')\")\nb.commit()\nos._exit(0)"  # fmt: skip
    subprocess.run([sys.executable, "-c", writer], check=True)
    assert base.names() == ["app.db", "app.db-shm", "app.db-wal"]
    state = {name: os.stat(base.folder / name).st_mtime_ns for name in base.names()}
    assert base.look(rows={"equals": 3}).state == VERIFIED
    assert {name: os.stat(base.folder / name).st_mtime_ns for name in base.names()} == state

    (base.folder / "app.db-shm").unlink()
    assert base.why().cause == "world"
    assert base.names() == ["app.db", "app.db-wal"]


def test_a_database_in_use_is_read(base):
    """An open writer with a committed change: that is seen; one that is not committed is not."""
    base.write(mode="wal")
    with sqlite3.connect(base.path, isolation_level=None) as writer:
        writer.execute("INSERT INTO users (name) VALUES ('Eve')")
        assert base.look(rows={"equals": 3}).state == VERIFIED
        writer.execute("BEGIN")
        writer.execute("INSERT INTO users (name) VALUES ('Mallory')")
        assert base.look(rows={"equals": 3}).state == VERIFIED
        writer.execute("ROLLBACK")
    writer.close()


def test_a_locked_database_is_no_verdict(base):
    """Who holds it alone may change everything; the look waits for a while, and not for ever."""
    with sqlite3.connect(base.path, isolation_level=None) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        error = base.why(world=base.world(look=0.3))
        assert (error.cause, "locked" in error.why) == ("probe", True)
        writer.execute("ROLLBACK")
    writer.close()


def test_a_write_that_was_not_finished_is_no_verdict(base):
    """A journal that must be rolled back is left alone."""
    writer = f"import os, sqlite3\nb = sqlite3.connect({str(base.path)!r}, isolation_level=None)\n" \
             "b.execute('PRAGMA cache_size = 1')\nb.execute('PRAGMA cache_spill = 1')\nb.execute('BEGIN')\n" \
             "b.execute(\"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 20000) " \
             "INSERT INTO users (name) SELECT hex(i) || 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' FROM n\")\nos._exit(0)"  # fmt: skip
    subprocess.run([sys.executable, "-c", writer], check=True)
    assert "app.db-journal" in base.names()
    size = (base.folder / "app.db-journal").stat().st_size
    assert base.why().cause == "world"
    assert (base.folder / "app.db-journal").stat().st_size == size


def test_a_file_that_is_no_database_is_no_verdict(base):
    """Text, half a database, a scrambled one, a folder, a pipe, a link: told in time, none followed."""
    whole = base.path.read_bytes()
    for content in (b"SQLite format 4\0" + whole[16:], b"hello " * 100, whole[:600], whole[:100] + os.urandom(len(whole) - 100)):
        base.path.write_bytes(content)
        assert base.why().cause == "world"
    base.path.unlink()
    base.path.mkdir()
    assert base.why().cause == "world"
    base.path.rmdir()
    os.mkfifo(base.path)
    assert base.why().cause == "world"
    base.path.unlink()
    (base.folder / "real.db").write_bytes(whole)
    base.path.symlink_to("real.db")
    assert "link" in base.why().why


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_a_pipe_beside_the_database_is_not_waited_for(base, suffix):
    """SQLite opens these files itself, and would wait for ever."""
    os.mkfifo(f"{base.path}{suffix}")
    assert "not a plain file" in base.why().why


def test_virtual_tables_and_triggers_are_left_alone(base):
    """A trigger never fires; a virtual table, or a view on one, is no verdict; the plain tables beside it are read."""
    base.write("CREATE TRIGGER t AFTER INSERT ON users BEGIN DELETE FROM users; END",
               "CREATE VIRTUAL TABLE search USING fts5(text)", "CREATE VIEW found AS SELECT text FROM search",
               "CREATE VIEW again AS SELECT * FROM found", "CREATE VIEW plain AS SELECT name FROM users")  # fmt: skip
    assert base.look().state == VERIFIED
    assert base.look("SELECT * FROM plain").state == VERIFIED
    for name in ("search", "SEARCH", "found", "again"):
        assert "virtual table" in base.why(f"SELECT * FROM {name}").why, name
    assert base.look("SELECT name AS research, 'searching' FROM users").state == VERIFIED
    base.write('CREATE VIRTUAL TABLE "f" USING fts5(text)', 'CREATE VIRTUAL TABLE "a "" b" USING fts5(text)')
    assert base.look("SELECT 1 FROM users").state == VERIFIED
    for query in ("SELECT 1 FROM f", "SELECT 1 FROM[f]", 'SELECT 1 FROM"F"', 'SELECT 1 FROM "a "" b"', "SELECT 1 FROM main.f,users"):
        assert "virtual table" in base.why(query).why, query
    assert "virtual" in base.why(None, table="search").why
    assert "view" in base.why(None, table="plain").why


def test_a_hostile_view_does_not_run_its_function(base):
    """What a view computes is bound by the same rules as the query."""
    base.write("CREATE VIEW v AS SELECT load_extension('/tmp/x.so') AS x")
    assert base.why("SELECT x FROM v").cause == "contract"


def test_an_endless_query_ends_with_its_time(base):
    """A recursion without an end, in a view of the database's own, is stopped."""
    base.write("CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n")
    error = base.why("SELECT count(*) FROM v", world=base.world(look=0.3))
    assert (error.cause, "not finished in its time" in error.why) == ("probe", True)
    assert "more than" in base.why("SELECT i FROM v").why


def test_names_that_mean_something_in_a_uri_are_paths(base):
    """A question mark or percent sign in a path is a character, and no parameter."""
    odd = base.folder / "a?mode=rwc&x%20#.db"
    odd.write_bytes(base.path.read_bytes())
    assert base.look(file=odd.name).state == VERIFIED
    assert base.look(file="b?mode=rwc.db").state == REFUTED
    assert base.names() == [odd.name, "app.db"]


def snapshot(base, params):
    fact = sqlite.take_snapshot(params, CALL, base.world())
    return base.world(snapshot=Snapshot(0.0, None, {make_key("sqlite", str(base.folder), params): fact}))


def test_what_changed_since_before_the_call(base):
    """Rows by a number, the value, and whether anything was written at all."""
    params = {"file": "app.db", "query": "SELECT id FROM users WHERE name = 'Eve'", "rows": {"increased_by": 1}}
    world = snapshot(base, params)
    found = sqlite.run(params, CALL, world)
    assert (found.state, found.found) == (REFUTED, "0 rows (before the call 0)")
    base.write("INSERT INTO users (name) VALUES ('Eve')")
    found = sqlite.run(params, CALL, world)
    assert (found.state, found.effect) == (VERIFIED, NEW)
    with pytest.raises(Unverified) as caught:
        sqlite.run(params, CALL, base.world())
    assert caught.value.cause == "harness"


def test_a_row_that_was_there_before_proves_nothing_unless_something_was_written(base):
    """The same answer is old, also where the call wrote something else into the same file; another answer is new.
    What only compares with before is new with every write."""
    params = {"file": "app.db", "query": "SELECT id FROM users WHERE name = 'Ada'"}
    world = snapshot(base, params)
    assert sqlite.run(params, CALL, world).effect == OLD
    none = {"file": "app.db", "query": "SELECT id FROM users WHERE name = 'Zoe'", "rows": {"equals": 0}}
    table = {"file": "app.db", "table": "users"}
    same = {"file": "app.db", "query": "SELECT name FROM users", "rows": {"changed": False}}
    worlds = [snapshot(base, each) for each in (none, table, same)]
    base.write("UPDATE users SET score = 2.5 WHERE id = 1")
    assert sqlite.run(params, CALL, world).effect == OLD
    effects = [sqlite.run(each, CALL, there).effect for each, there in zip((none, table, same), worlds, strict=True)]
    assert effects == [OLD, OLD, NEW]
    base.write("UPDATE users SET id = 77 WHERE name = 'Ada'")
    assert sqlite.run(params, CALL, world).effect == NEW
    base.write("ALTER TABLE users ADD COLUMN extra TEXT")
    assert sqlite.run(table, CALL, worlds[1]).effect == NEW


def test_that_nothing_is_there_proves_nothing_by_itself(base):
    """No row, no table: `not` makes nothing of it, unless the look before the call saw rows."""
    params = {"file": "app.db", "query": "SELECT id FROM users WHERE name = 'Ada'"}
    world = snapshot(base, params)
    assert sqlite.run({**params, "query": "SELECT id FROM users WHERE name = 'Zoe'"}, CALL, base.world()).blank
    assert sqlite.run({"file": "app.db", "table": "typo"}, CALL, base.world()).blank
    base.write("DELETE FROM users")
    found = sqlite.run(params, CALL, world)
    assert (found.state, found.blank) == (REFUTED, False)


def test_a_view_that_would_fill_the_memory_is_no_verdict(base):
    """Sorting happens in memory, since a file would be a write; SQLite gets only so much of it."""
    big = f"replace(hex('{'a' * 700}'), '61', '{'b' * 2000}')"
    base.write(f"CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000) "
               f"SELECT {big} || x AS name FROM c ORDER BY 1")  # fmt: skip
    error = base.why("SELECT name FROM v")
    assert (error.cause, "MB of memory" in error.why) == ("probe", True)
    assert base.why("SELECT name FROM v", world=base.world(look=30.0)).cause == "probe"


def test_a_database_that_the_call_made_is_new(base):
    """Before the call there was none: no rows."""
    whole = base.path.read_bytes()
    base.path.unlink()
    params = {"file": "app.db", "query": "SELECT id FROM users", "rows": {"increased_by": 2}}
    world = snapshot(base, params)
    base.path.write_bytes(whole)
    assert sqlite.run(params, CALL, world).effect == NEW


def test_a_table_that_the_call_made_is_new(base):
    """Before the call there was none: no rows. After it, that is a fault of the query."""
    params = {"file": "app.db", "query": "SELECT id FROM orders", "rows": {"increased_by": 1}}
    world = snapshot(base, params)
    with pytest.raises(Unverified, match="no table: orders"):
        sqlite.run(params, CALL, world)
    base.write("CREATE TABLE orders (id)", "INSERT INTO orders VALUES (1)")
    assert sqlite.run(params, CALL, world).state == VERIFIED


def test_the_first_word_is_found_behind_comments():
    """Blanks and comments do not hide what a statement is."""
    assert find_first_word("  -- a\n/* b */ SELECT 1") == "select"
    assert find_first_word("/* never closed SELECT") == ""
    assert authorize_action(31, None, "LOAD_EXTENSION") == 1


def test_a_blob_is_no_value(base):
    """Bytes have no JSON form; hex() has."""
    assert "blob" in base.why("SELECT x'00ff'", value={"equals": "00FF"}).why
    assert base.look("SELECT hex(x'00ff')", value={"equals": "00FF"}).state == VERIFIED
