"""The ledger keeps what it acknowledged, once, for its owner alone; and says plainly where it cannot."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from support.project import ROOT

from truecall_py.core.errors import DeadlineReached
from truecall_py.ledger import store
from truecall_py.ledger.store import ENDED, KEPT_FIELDS, MAX_DATA, MIGRATIONS, REQUESTED, Event, Ledger, LedgerError
from truecall_py.reporting import queries

TORTURE = os.path.join(ROOT, "tests", "support", "torture_ledger.py")


@pytest.fixture
def state(tmp_path: Any) -> str:
    return str(tmp_path / "state")


def path(state: str) -> str:
    return os.path.join(state, store.FILE)


def ended(call: str = "c1", session: str = "s", **more: Any) -> Event:
    return Event(session, call, ENDED, more.pop("at", 1000.0), **more)


def child(code: str, *argv: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """A real process with the ledger at hand."""
    head = "import os, sys; sys.path.insert(0, sys.argv[1])\nfrom truecall_py.ledger.store import *\n"
    return subprocess.run([sys.executable, "-c", head + code, ROOT, *argv], capture_output=True, text=True,
                          timeout=30, check=False, **more)  # fmt: skip


def test_an_event_counts_once(state: str) -> None:
    """Unique by session, call and event: a doubled hook writes nothing twice, and is told so; the first one stays."""
    one = Ledger(state)
    assert one.add(ended(tool="Bash")) == [True]
    assert one.add(ended(tool="other"), ended("c2")) == [False, True]
    assert Ledger(state).add(ended()) == [False]
    assert one.add(ended(session="t"), Event("s", "c1", REQUESTED, 1.0)) == [True, True]
    assert [(each.call, each.event, each.tool) for each in one.session("s")] == [
        ("c1", ENDED, "Bash"), ("c2", ENDED, ""), ("c1", REQUESTED, ""),
    ]  # fmt: skip
    assert [each.id for each in one.session("s")] == [1, 2, 4]


def test_an_event_comes_back_as_it_was(state: str) -> None:
    """Every column and the data, through another process' eyes; letters that have no UTF-8 form are replaced."""
    given = Event("sé", "c\udc80", ENDED, 12.5, "codex", "t/1", "agent", "mcp__a__b", "f" * 32, "refuted",
                  {"args": {"a": "\ud800", "b": None}, "verdicts": [{"contract": "x"}]})  # fmt: skip
    Ledger(state).add(given)
    (found,) = Ledger(state).session("sé")
    assert found.call == "c?" and found.data["args"] == {"a": "\ud800", "b": None}
    for name in ("session", "event", "at", "harness", "turn", "agent", "tool", "identity", "state"):
        assert getattr(found, name) == getattr(given, name)
    assert Ledger(state).find("sé", "c\udc80", ENDED) is not None
    assert Ledger(state).find("sé", "c\udc80", REQUESTED) is None


def test_long_ids_are_told_apart_and_bounded(state: str) -> None:
    """Two ids that differ only far behind are two; neither fills the ledger."""
    one = Ledger(state)
    assert one.add(ended("a" * 5000 + "1"), ended("a" * 5000 + "2"), ended("a" * 5000 + "1")) == [True, True, False]
    assert all(len(each.call) < 300 for each in one.session("s"))
    assert one.find("s", "a" * 5000 + "2", ENDED) is not None


def test_what_is_too_large_keeps_its_verdicts(state: str) -> None:
    """Arguments go first, then evidence: attempts are counted by verdicts, which stay."""
    told = [{"contract": f"c{number}", "state": "refuted", "outcome": "lie", "found": "f" * 400} for number in range(4)]
    one = Ledger(state)
    one.add(ended("args", data={"args": {"a": "x" * MAX_DATA}, "verdicts": told}))
    one.add(ended("both", data={"args": {"a": "x" * MAX_DATA}, "verdicts": told * 40, "reported": "success"}))
    args, both = (each.data for each in one.session("s"))
    assert args["verdicts"] == told and "args" not in args and args["cut"] > MAX_DATA
    assert both["reported"] == "success" and both["verdicts"][0]["outcome"] == "lie"
    assert set(both["verdicts"][0]) <= set(KEPT_FIELDS)


def test_acknowledged_events_survive_a_kill(state: str) -> None:
    """kill -9 right after `add` returned, without closing anything: the event is there."""
    code = "import signal\none = Ledger(sys.argv[2]); one.add(Event('s', 'c', 'ended', 1.0)); os.kill(os.getpid(), 9)"
    assert child(code, state).returncode == -signal.SIGKILL
    assert Ledger(state).find("s", "c", ENDED)


def test_the_file_is_its_owners_alone(state: str) -> None:
    """0600 whatever the umask, the log beside it too; a file that was opened up is closed again."""
    code = "os.umask(0)\none = Ledger(sys.argv[2]); one.add(Event('s', 'c', 'ended', 1.0)); os._exit(0)"
    assert child(code, state).returncode == 0
    names = os.listdir(state)
    assert len(names) > 1
    assert {os.stat(os.path.join(state, name)).st_mode & 0o777 for name in names} == {0o600}
    assert os.stat(state).st_mode & 0o777 == 0o700
    os.chmod(path(state), 0o644)
    Ledger(state)
    assert os.stat(path(state)).st_mode & 0o777 == 0o600


def test_links_are_not_followed(state: str, tmp_path: Any) -> None:
    """A link in the ledger's place, to a file or to nothing: refused, and nothing is written behind it."""
    os.mkdir(state)
    for target in (tmp_path / "there", tmp_path / "not-there"):
        if target.name == "there":
            target.write_text("mine")
        os.symlink(target, path(state))
        with pytest.raises(LedgerError, match="not a file of yours"):
            Ledger(state)
        os.unlink(path(state))
    assert (tmp_path / "there").read_text() == "mine" and not (tmp_path / "not-there").exists()


@pytest.mark.parametrize("what", ["folder", "fifo"])
def test_something_else_in_its_place(state: str, what: str) -> None:
    """A folder or a pipe is told at once, with a way out."""
    os.mkdir(state)
    (os.mkdir if what == "folder" else os.mkfifo)(path(state))
    with pytest.raises(LedgerError, match="not a file of yours") as trouble:
        Ledger(state)
    assert trouble.value.do and trouble.value.where == path(state)


def test_a_locked_ledger_is_told_within_its_patience(state: str) -> None:
    """Another process holds the lock: LedgerError, in no more time than was said, and the next try works."""
    one = Ledger(state)
    other = store.load_driver().connect(path(state), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    with pytest.raises(LedgerError, match="locked"):
        one.add(ended())
    assert 0.5 < time.monotonic() - began < store.LOCK_TIMEOUT + 10
    other.execute("ROLLBACK")
    assert one.add(ended()) == [True]


def test_what_is_briefly_locked_is_waited_for(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that goes in time costs time, nothing else."""
    monkeypatch.setattr(store, "LOCK_TIMEOUT", 30.0)  # on a busy machine a moment is long
    one = Ledger(state)
    code = (
        "import time\none = Ledger(sys.argv[2]); one.db.execute('BEGIN IMMEDIATE'); print('held', flush=True)\n"
        "time.sleep(0.4); one.db.execute('COMMIT')"
    )
    head = "import os, sys; sys.path.insert(0, sys.argv[1])\nfrom truecall_py.ledger.store import *\n"
    other = subprocess.Popen([sys.executable, "-c", head + code, ROOT, state], stdout=subprocess.PIPE)
    assert other.stdout is not None and other.stdout.readline()
    assert one.add(ended()) == [True]
    assert other.wait(10) == 0
    other.stdout.close()


def test_an_error_in_the_middle_undoes_all_of_it(state: str) -> None:
    """Events of one `add` are kept together or not at all, and the ledger can be used after."""
    one = Ledger(state)
    with pytest.raises(LedgerError):
        one.add(ended("c1"), ended("c2", at=float("nan")))
    assert one.session("s") == []
    assert one.add(ended("c1")) == [True]


def test_the_deadline_in_the_middle_leaves_no_lock(state: str) -> None:
    """The hook's deadline may come at any moment: what was begun is undone, and others go on."""
    one = Ledger(state)

    def late() -> None:
        one.db.execute(store.INSERT, ("s", "c", ENDED, 1.0, "", "", "", "", "", "", "{}"))
        raise DeadlineReached("the time was over")

    with pytest.raises(DeadlineReached):
        one.change(late)
    assert not one.db.in_transaction and one.session("s") == []
    assert Ledger(state).add(ended()) == [True]


def test_a_second_ledger_in_one_process_takes_no_lock_away(state: str) -> None:
    """Opening the file again must not drop what another connection of the process holds (POSIX locks are like that)."""
    one = Ledger(state)
    one.add(ended())
    one.db.execute("BEGIN IMMEDIATE")
    Ledger(state).close()
    code = "Ledger(sys.argv[2]).add(Event('s', 'c2', 'ended', 1.0))"
    done = child(code, state)
    assert done.returncode and "locked" in done.stderr
    one.db.execute("ROLLBACK")


@pytest.mark.parametrize("damage", ["text", "truncated", "torn"])
def test_a_damaged_file_is_told(state: str, damage: str) -> None:
    """Not a database, cut short, or overwritten inside: LedgerError with a way out, and the file stays as it is."""
    one = Ledger(state)
    one.add(*(ended(f"c{number}", data={"a": "x" * 500}) for number in range(200)))
    one.close()
    with open(path(state), "r+b") as file:
        if damage == "text":
            file.truncate()
            file.write(b"this is no database at all" * 100)
        elif damage == "truncated":
            file.truncate(5000)
        else:
            file.seek(4096)
            file.write(b"\xff" * (os.path.getsize(path(state)) - 4096))
    with open(path(state), "rb") as file:
        before = file.read()
    with pytest.raises(LedgerError, match="damaged") as trouble:
        one = Ledger(state)
        one.session("s")
        one.add(ended("new"))
    assert "away" in trouble.value.do and trouble.value.exit_code == 3
    with open(path(state), "rb") as file:
        assert file.read() == before


def test_damaged_data_is_no_data(state: str) -> None:
    """An event whose data is not JSON still counts as an event."""
    one = Ledger(state)
    one.add(ended())
    one.query("UPDATE events SET data = '{'")
    assert [each.data for each in one.session("s")] == [{}]


def test_an_empty_file_is_begun(state: str) -> None:
    """A file of no bytes is what a process that died at once leaves."""
    os.mkdir(state)
    with open(path(state), "w"):
        pass
    assert Ledger(state).add(ended()) == [True]


def test_a_newer_ledger_is_left_alone(state: str) -> None:
    """A file that a newer truecall wrote is not read and not changed; the way out is to update."""
    one = Ledger(state)
    one.query(f"PRAGMA user_version={len(MIGRATIONS) + 1}")
    one.close()
    with pytest.raises(LedgerError, match="newer truecall") as trouble:
        Ledger(state)
    assert trouble.value.do == "update truecall"


@pytest.mark.parametrize("version", range(len(MIGRATIONS) + 1))
def test_every_older_version_is_brought_up(state: str, version: int) -> None:
    """From each version that ever was, the schema becomes the one of today, and events stay."""
    Ledger(os.path.join(state, "today")).close()
    os.makedirs(state, exist_ok=True)
    db = store.load_driver().connect(path(state), isolation_level=None)
    for number, script in enumerate(MIGRATIONS[:version], 1):
        db.executescript(script)
        db.execute(f"PRAGMA user_version={number}")
    if version:
        db.execute(
            "INSERT INTO events (session, call, event, at, harness, turn, agent, tool, identity, state, data) "
            "VALUES ('s', 'old', 'ended', 1, '', '', '', '', '', '', '{}')"
        )
        db.execute("INSERT INTO keys VALUES ('identity', ?)", (b"k" * 32,))
    db.close()
    one, today = Ledger(state), Ledger(os.path.join(state, "today"))
    schema = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
    assert one.query(schema) == today.query(schema) and one.read_version() == len(MIGRATIONS)
    assert [each.call for each in one.session("s")] == (["old"] if version else [])
    assert one.read_key() == b"k" * 32 if version else len(one.read_key()) == 32
    assert one.read_key() != today.read_key()


def test_many_begin_it_at_once(state: str) -> None:
    """Sixteen processes that find nothing make one ledger: none fails, none writes over another, one key."""
    code = (
        "import time\nfrom truecall_py.ledger import store as ledger\nledger.LOCK_TIMEOUT = 25.0\n"
        "time.sleep(max(0, float(sys.argv[3]) - time.time()))\n"
        "one = Ledger(sys.argv[2]); one.add(Event('s', sys.argv[4], 'ended', 1.0), Event('s', 'all', 'ended', 1.0))\n"
        "print(one.read_key().hex()); os._exit(0)"
    )
    head = "import os, sys; sys.path.insert(0, sys.argv[1])\nfrom truecall_py.ledger.store import *\n"
    begin = str(time.time() + 1.0)
    every = [
        subprocess.Popen([sys.executable, "-c", head + code, ROOT, state, begin, f"c{number}"], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for number in range(16)
    ]  # fmt: skip
    ends = [(each.communicate(timeout=60), each.returncode) for each in every]
    assert {code for _, code in ends} == {0}, ends
    one = Ledger(state)
    assert {out.strip() for (out, _), _ in ends} == {one.read_key().hex()}
    assert len(one.session("s")) == 17
    assert one.query("PRAGMA journal_mode") == [("wal",)]


def test_a_writer_at_the_beginning_is_waited_for(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite itself does not wait where it turns the log on: somebody who writes just then would cost the ledger."""
    monkeypatch.setattr(store, "LOCK_TIMEOUT", 30.0)  # on a busy machine a moment is long
    os.mkdir(state)
    code = (
        "import time\none = load_driver().connect(sys.argv[2], isolation_level=None); one.execute('CREATE TABLE x (y)')\n"
        "one.execute('BEGIN IMMEDIATE'); print('writes', flush=True)\n"
        "time.sleep(0.4); one.execute('COMMIT')"
    )
    head = "import os, sys; sys.path.insert(0, sys.argv[1])\nfrom truecall_py.ledger.store import *\n"
    other = subprocess.Popen([sys.executable, "-c", head + code, ROOT, path(state)], stdout=subprocess.PIPE)
    assert other.stdout is not None and other.stdout.readline()
    assert Ledger(state).query("PRAGMA journal_mode") == [("wal",)]
    assert other.wait(10) == 0
    other.stdout.close()


def full(state: str) -> subprocess.CompletedProcess[str]:
    """A process in which no file may grow beyond 300 kB; it writes until it is told, then reads."""
    code = (
        "import resource\none = Ledger(sys.argv[2])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))\n"
        "number = 0\n"
        "try:\n"
        "    while number < 5000:\n"
        "        one.add(Event('s', f'c{number}', 'ended', 1.0, data={'a': 'x' * 2000})); number += 1\n"
        "except LedgerError as error:\n"
        "    print(number, error.what)\n"
        "    assert len(one.session('s', 9999)) == number\n"
        "os._exit(0)"
    )
    return child(code, state)


def test_a_full_disk_is_told_and_loses_nothing(state: str) -> None:
    """Where a file cannot grow: LedgerError; what was acknowledged before is there, and it goes on with room."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    done = full(state)
    assert done.returncode == 0 and "ledger cannot" in done.stdout, done
    number = int(done.stdout.split()[0])
    one = Ledger(state)
    assert number > 5 and len(one.session("s", 9999)) == number
    assert one.add(ended("later")) == [True] and one.query("PRAGMA integrity_check") == [("ok",)]


def test_a_really_full_disk(tmp_path: Any) -> None:
    """The same on a file system that is full, where one may be mounted."""
    mounted = str(tmp_path / "small")
    os.mkdir(mounted)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", mounted], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("no file system may be mounted here")
    try:
        one = Ledger(os.path.join(mounted, "state"))
        number = 0
        with pytest.raises(LedgerError, match="disk is full"):
            while number < 500:
                one.add(ended(f"c{number}", data={"a": "x" * 2000}))
                number += 1
        assert number and len(one.session("s", 9999)) == number
        one.close()
    finally:
        subprocess.run(["umount", mounted], check=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(state: str) -> None:
    """No permission is a LedgerError, not a traceback."""
    os.mkdir(state, 0o500)
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(state)


def test_without_the_small_module_the_large_one_is_used(state: str) -> None:
    """A Python without `_sqlite3` by that name uses sqlite3; one without either says so."""
    code = "sys.modules['_sqlite3'] = None\n"
    fake = "import types; sys.modules['sqlite3'] = __import__('sqlite3')\n"
    done = child(fake + code + "print(Ledger(sys.argv[2]).add(Event('s', 'c', 'ended', 1.0)), load_driver().__name__)", state)
    assert done.stdout == "[True] sqlite3\n", done
    done = child(code + "sys.modules['sqlite3'] = None\nLedger(sys.argv[2])", state)
    assert "LedgerError: this Python has no SQLite" in done.stderr


def test_the_log_does_not_grow_for_ever(state: str) -> None:
    """Hooks end without closing: the log beside the file is copied and begun anew, so that each start stays cheap."""
    code = (
        "one = Ledger(sys.argv[2])\n"
        "for number in range(40): one.add(Event('s', f'{sys.argv[3]}-{number}', 'ended', 1.0, data={'a': 'x' * 3000}))\n"
        "os._exit(0)"
    )
    most = 0
    for number in range(12):
        assert child(code, state, str(number)).returncode == 0
        most = max(most, os.path.getsize(path(state) + "-wal"))
    assert most < 2 * store.MAX_LOG
    assert len(Ledger(state).session("s", 9999)) == 480 and os.path.getsize(path(state)) > 1_000_000


def test_a_reader_that_stands_in_the_way_of_the_copy_costs_nothing(state: str) -> None:
    """While somebody reads, the log only grows; adding goes on."""
    one, other = Ledger(state), Ledger(state)
    one.add(ended())
    rows = other.db.execute("SELECT * FROM events")
    rows.fetchone()
    other.db.execute("BEGIN")
    other.db.execute("SELECT count(*) FROM events").fetchone()
    for number in range(200):
        one.add(ended(f"d{number}", data={"a": "x" * 8000}))
    assert os.path.getsize(path(state) + "-wal") > store.MAX_LOG
    other.db.execute("ROLLBACK")
    rows.close()
    one.add(ended("last"))
    assert os.path.getsize(path(state) + "-wal") < store.MAX_LOG


def test_what_was_refuted_long_ago_is_found(state: str) -> None:
    """A hook reads the newest events of a session; what counts against it before them is found by itself."""
    one = Ledger(state)
    one.add(ended("bad", state="refuted"), Event("s", "no", "refused", 1.0), ended("other", "t", state="refuted"))
    one.add(*(ended(f"c{number}", state="verified") for number in range(300)))
    recent = one.session("s")
    assert len(recent) == store.RECENT_EVENTS and recent[-1].call == "c299"
    assert [each.call for each in one.refuted("s", recent[0].id)] == ["bad", "no"]
    plan = one.query("EXPLAIN QUERY PLAN SELECT id FROM events WHERE session = 's' "
                     "AND (event = 'refused' OR state = 'refuted') AND id < 9 ORDER BY id DESC")  # fmt: skip
    assert "events_refuted" in str(plan)


def test_the_same_call_is_found_in_any_session(state: str) -> None:
    """By its identity, without a walk through the ledger."""
    one = Ledger(state)
    one.add(*(ended(f"c{number}", f"s{number}", identity=f"{number % 7:032}") for number in range(70)))
    sql = "SELECT session FROM events WHERE identity = ? AND event = 'ended' ORDER BY id DESC LIMIT 3"
    assert [row[0] for row in one.query(sql, (f"{3:032}",))] == ["s66", "s59", "s52"]
    plan = str(one.query(f"EXPLAIN QUERY PLAN {sql}", ("x",)))
    assert "events_identity" in plan and "SCAN" not in plan and "TEMP B-TREE" not in plan


def old_ledger(state: str, version: int, events: int) -> None:
    """A ledger as an earlier version left it, with events in it."""
    os.makedirs(state)
    db = store.load_driver().connect(path(state), isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    for number, script in enumerate(MIGRATIONS[:version], 1):
        db.executescript(script)
        db.execute(f"PRAGMA user_version={number}")
    db.execute("INSERT INTO keys VALUES ('identity', ?)", (b"k" * 32,))
    db.execute("BEGIN")
    db.executemany(store.INSERT, (("old", f"o{number}", ENDED, 1.0, "", "", "", "", f"{number:032}", "", "{}")
                                   for number in range(events)))  # fmt: skip
    db.execute("COMMIT")
    db.close()
    os.chmod(path(state), 0o600)


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_many_bring_it_up_at_once(state: str, version: int) -> None:
    """Hooks of the new version find an old ledger, all in one moment: each writes its event, none is lost, the schema
    is that of a new one."""
    old_ledger(state, version, 3000)
    code = (
        "import time\nfrom truecall_py.ledger import store as ledger\nledger.LOCK_TIMEOUT = 25.0\n"
        "time.sleep(max(0, float(sys.argv[3]) - time.time()))\n"
        "Ledger(sys.argv[2]).add(Event('s', sys.argv[4], 'ended', 1.0)); os._exit(0)"
    )
    head = "import os, sys; sys.path.insert(0, sys.argv[1])\nfrom truecall_py.ledger.store import *\n"
    begin = str(time.time() + 1.0)
    every = [
        subprocess.Popen([sys.executable, "-c", head + code, ROOT, state, begin, f"c{number}"], stderr=subprocess.PIPE)
        for number in range(12)
    ]  # fmt: skip
    ends = [(each.communicate(timeout=60)[1], each.returncode) for each in every]
    assert {code for _, code in ends} == {0}, ends
    one, today = Ledger(state), Ledger(os.path.join(state, "today"))
    schema = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
    assert one.query(schema) == today.query(schema) and one.read_version() == len(MIGRATIONS)
    assert len(one.session("s")) == 12 and len(one.session("old", 9999)) == 3000 and one.read_key() == b"k" * 32


def test_pruning_forgets_whole_sessions(state: str) -> None:
    """A session that was used since stays whole; of the others not a byte is left in any file."""
    one = Ledger(state)
    one.add(ended("o1", "old", at=10.0, data={"a": "unforgotten"}), ended("n1", "new", at=10.0))
    one.add(*(ended(f"o{number}", "old", at=20.0, data={"a": "unforgotten" * 300}) for number in range(2, 900)))
    one.add(ended("n2", "new", at=100.0))
    one.close()
    size = os.path.getsize(path(state))
    one = Ledger(state)
    assert queries.prune(one, 50.0) == (1, 899)
    assert [each.call for each in one.session("new")] == ["n1", "n2"] and one.session("old") == []
    assert queries.prune(one, 50.0) == (0, 0)
    one.close()
    assert os.path.getsize(path(state)) < size / 2
    for name in os.listdir(state):
        with open(os.path.join(state, name), "rb") as file:
            assert b"unforgotten" not in file.read(), name


def test_no_ledger_is_made_by_looking(state: str) -> None:
    """Commands that only read make no file and no folder."""
    assert queries.open_ledger(state) is None and not os.path.exists(state)
    with pytest.raises(LedgerError):
        Ledger(state, create=False)
    os.mkdir(state)
    assert queries.open_ledger(state) is None and os.listdir(state) == []


@pytest.mark.parametrize("more", [[], ["--hook"]])
def test_torture(more: list[str]) -> None:
    """The short form of tests/support/torture_ledger.py: processes write while others are killed; nothing lost or doubled."""
    if more and not shutil.which("sh"):
        pytest.skip("no shell")
    kills = "20" if not more else "6"
    done = subprocess.run([sys.executable, TORTURE, "--procs", "6", "--kills", kills, *more],
                          capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing lost, nothing twice" in done.stdout
