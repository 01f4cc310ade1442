"""The event store: append-only events in SQLite, in the state folder. Decides nothing, never changes or deletes an
event, and never stores a secret or a whole answer.

WAL with `synchronous=NORMAL`: acknowledged events survive the death of the process. An event is unique by (session,
call, event), so a hook that is registered twice counts once.
"""

from __future__ import annotations

import os

from truecall_py.core.errors import TruecallError
from truecall_py.core.fast_json import JsonError, dumps, loads
from truecall_py.core.record import record
from truecall_py.ledger.sqlite_driver import load_driver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

FILE = "ledger.db"
LOCK_TIMEOUT = 2.0  # seconds that one process waits for another
MAX_DATA = 16 << 10  # bytes of what one event keeps beside its columns
MAX_COLUMN = 256  # letters of one column
RECENT_EVENTS = 250  # events of a session that a hook reads; what was refuted before them is found by itself
# A hook ends without closing the file, and the next one reads all of the log beside it. SQLite's own count of what it
# has copied dies with each process, so that alone the log would only ever grow.
MAX_LOG = 1 << 20  # bytes from which on it is copied into the file and begun anew
REGULAR, KIND = 0o100000, 0o170000  # of a file's mode, without `import stat`

# The kinds of events about a call, in the order in which they happen.
REQUESTED, WAITING, ENDED, REFUSED, JUDGED, SETTLED = (
    "requested", "waiting", "ended", "refused", "judged", "settled",
)  # fmt: skip
# What belongs to no call.
BATCH, STOP, SWITCH, LOST = "batch", "stop", "switch", "lost"

# Each entry brings the file from the version of its place to the next. Never changed once released.
MIGRATIONS = (
    """
    CREATE TABLE events (
      id INTEGER PRIMARY KEY,
      session TEXT NOT NULL, call TEXT NOT NULL, event TEXT NOT NULL,
      at REAL NOT NULL,
      harness TEXT NOT NULL, turn TEXT NOT NULL, agent TEXT NOT NULL,
      tool TEXT NOT NULL, identity TEXT NOT NULL, state TEXT NOT NULL,
      data TEXT NOT NULL,
      UNIQUE (session, call, event)
    );
    CREATE INDEX events_session ON events (session, id);
    CREATE INDEX events_at ON events (at);
    CREATE INDEX events_refuted ON events (session, id) WHERE event = 'refused' OR state = 'refuted';
    CREATE TABLE keys (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    """,
    # The same call, in whatever session.
    "CREATE INDEX events_identity ON events (identity, id) WHERE event = 'requested' OR event = 'ended'",
    "CREATE INDEX events_operations ON events (identity, id) WHERE substr(event, 1, 7) IN ('intent ', 'receipt')",
)
COLUMNS = "id, session, call, event, at, harness, turn, agent, tool, identity, state, data"
NAMES = (*COLUMNS.split(", ")[:-1], "text")
SELECT = f"SELECT {COLUMNS} FROM events WHERE"  # noqa: S608 - our own words
INSERT = (
    "INSERT INTO events (session, call, event, at, harness, turn, agent, tool, identity, state, data) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, call, event) DO NOTHING"
)
# What a verdict is remembered by where an event is too large to be kept whole.
KEPT_FIELDS = ("contract", "file", "state", "outcome", "kind", "cause", "mode", "grants", "route", "source", "effect")


class LedgerError(TruecallError):
    """The ledger cannot be read or written: locked, full, damaged, or owned by another user."""

    exit_code = 3


@record(frozen=True)
class Event:
    """One thing that a hook learnt or decided. `at` is in seconds since the epoch; `identity` is the keyed digest of
    tool and arguments; `state` is the state of the call (ENDED and SETTLED: the worst verdict, "" if no contract
    applied); `data` is small and holds no secret. `id` increases in writing order (0: not written yet)."""

    session: str
    call: str
    event: str
    at: float
    harness: str = ""
    turn: str = ""
    agent: str = ""
    tool: str = ""
    identity: str = ""
    state: str = ""
    data: dict[str, Any] = {}  # noqa: RUF012 - a record, made whole for each event
    id: int = 0


class StoredEvent(Event):
    """An event as read. `data` is decoded on demand, since most of a session's is not needed."""

    def __init__(self, row: Sequence[Any]) -> None:
        self.__dict__.update(zip(NAMES, row))  # noqa: B905 - as many as COLUMNS

    __eq__, __hash__ = object.__eq__, object.__hash__

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] | None = self.__dict__.get("decoded")
        if found is None:
            try:
                value = loads(self.__dict__["text"], own=True)
            except JsonError:
                value = None
            found = self.__dict__["decoded"] = value if isinstance(value, dict) else {}
        return found


class Ledger:
    """The ledger of one state folder. Every method raises LedgerError if it fails; the object stays usable."""

    def __init__(self, state: str, create: bool = True) -> None:
        self.path = os.path.join(state, FILE)
        try:
            self.sqlite = load_driver()
        except ImportError:
            raise LedgerError("this Python has no SQLite", do="use one that has, for TRUECALL_PYTHON") from None
        try:
            self.ensure_file(create)
            self.open()
        except self.sqlite.Error as error:
            raise self.make_error(error) from None
        except OSError as error:
            do = "make its folder writable for you"
            raise LedgerError(f"the ledger cannot be opened: {error.strerror}", self.path, do) from None

    def ensure_file(self, create: bool) -> None:
        """Ensures that the file exists and that only its owner can read it. An existing file is not opened for that:
        closing it would drop the locks of every other connection in this process."""
        try:
            about = os.lstat(self.path)
        except FileNotFoundError:
            if not create:
                raise
            os.makedirs(os.path.dirname(self.path), 0o700, exist_ok=True)
            try:
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                os.close(os.open(self.path, flags, 0o600))
            except FileExistsError:  # made by another process in this moment
                pass
            about = os.lstat(self.path)
        if about.st_mode & KIND != REGULAR or about.st_uid != os.geteuid():
            do = f"move {self.path} away; a new one is made"
            raise LedgerError("the ledger is not a file of yours", self.path, do)
        if about.st_mode & 0o077:
            os.chmod(self.path, 0o600)

    def open(self) -> None:
        self.db = self.sqlite.connect(self.path, timeout=LOCK_TIMEOUT, isolation_level=None)
        version = self.read_version()
        if version == 0:
            self.db.execute("PRAGMA auto_vacuum=INCREMENTAL")
            self.enable_wal()
        self.db.execute("PRAGMA synchronous=NORMAL")
        self.db.execute("PRAGMA wal_autocheckpoint=0")
        if version < len(MIGRATIONS):
            self.change(self.migrate)
            version = self.read_version()
        if version > len(MIGRATIONS):
            raise LedgerError("the ledger was written by a newer truecall", self.path, "update truecall")

    def read_version(self) -> int:
        return int(self.db.execute("PRAGMA user_version").fetchone()[0])

    def enable_wal(self) -> None:
        """Turns WAL on. SQLite does not wait for a lock here, so this retries by hand."""
        import time

        ends = time.monotonic() + LOCK_TIMEOUT
        while True:
            try:
                self.db.execute("PRAGMA journal_mode=WAL").fetchone()
                return
            except self.sqlite.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > ends:
                    raise
            time.sleep(0.005)

    def migrate(self) -> None:
        """Migrates the file to this version; a concurrent process finds it done."""
        for number in range(self.read_version(), len(MIGRATIONS)):
            for statement in MIGRATIONS[number].split(";"):
                if statement.strip():
                    self.db.execute(statement)
            self.db.execute(f"PRAGMA user_version={number + 1}")
        self.db.execute("INSERT OR IGNORE INTO keys VALUES ('identity', ?)", (os.urandom(32),))

    def make_error(self, error: Exception) -> LedgerError:
        text = str(error)
        if "locked" in text or "busy" in text:
            return LedgerError("the ledger is locked by another process", self.path, "try again")
        if "full" in text:
            return LedgerError("the ledger cannot grow: the disk is full", self.path, "free disk space")
        if "malformed" in text or "not a database" in text or "no such" in text or "already exists" in text:
            do = f"move {self.path}, and what begins with that name, away; a new one is made"
            return LedgerError(f"the ledger is damaged: {text[:200]}", self.path, do)
        return LedgerError(f"the ledger cannot be used: {text[:200]}", self.path, "look at the disk and the folder")

    def change(self, work: Callable[[], Any]) -> Any:
        """Returns the result of `work`, done in one transaction that is rolled back on any error."""
        try:
            self.db.execute("BEGIN IMMEDIATE")
            result = work()
            self.db.execute("COMMIT")
            return result
        except self.sqlite.Error as error:
            raise self.make_error(error) from None
        finally:
            if self.db.in_transaction:  # SQLite ends some of them itself
                self.query("ROLLBACK")

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return list(self.db.execute(sql, tuple(values)))
        except self.sqlite.Error as error:
            raise self.make_error(error) from None

    def read_key(self) -> bytes:
        """Returns the secret key of identities: without it, nobody can guess arguments from them."""
        rows = self.query("SELECT value FROM keys WHERE name = 'identity'")
        if not rows:
            raise self.make_error(ValueError("no such key; the database is malformed"))
        return bytes(rows[0][0])

    def add(self, *events: Event) -> list[bool]:
        """Writes events in one transaction and returns, for each, whether it is new. They are durable on return."""
        new: list[bool] = self.change(lambda: self.insert(events))
        self.copy_log()
        return new

    def insert(self, events: Sequence[Event]) -> list[bool]:
        """The same inside of a transaction (`changed`)."""
        return [self.db.execute(INSERT, make_row(event)).rowcount == 1 for event in events]

    def add_first(self, event: Event, *kinds: str) -> Event:
        """Writes an event unless its call already has one of these kinds. Returns the event that is stored."""
        def work() -> Event:
            there = [event for event in self.of(event.session, event.call) if event.event in kinds]
            return there[0] if there else (self.db.execute(INSERT, make_row(event)), event)[1]

        return self.change(work)  # type: ignore[no-any-return]

    def copy_log(self) -> None:
        """Copies a long WAL into the file. Its content is durable already, so any error is ignored: a later hook
        tries again."""
        try:
            if os.stat(f"{self.path}-wal").st_size < MAX_LOG:
                return
            self.db.execute("PRAGMA busy_timeout=2")
            try:
                self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self.db.execute(f"PRAGMA busy_timeout={int(LOCK_TIMEOUT * 1000)}")
        except (OSError, self.sqlite.Error):
            return

    def session(self, session: str, last: int = RECENT_EVENTS) -> list[Event]:
        """Returns the events of a session in writing order, at most the `last` ones."""
        rows = self.query(f"{SELECT} session = ? ORDER BY id DESC LIMIT ?", (fit_column(session), last))
        return [StoredEvent(row) for row in reversed(rows)]

    def refuted(self, session: str, before: int, last: int = 50) -> list[Event]:
        """Returns what was refuted or refused in a session before the event with this id, however old."""
        rows = self.query(
            f"{SELECT} session = ? AND (event = 'refused' OR state = 'refuted') AND id < ? ORDER BY id DESC LIMIT ?",
            (fit_column(session), before, last),
        )
        return [StoredEvent(row) for row in reversed(rows)]

    def stops(self, session: str, last: int = 400) -> list[Event]:
        """Returns the last stops of a session, however old, by their names and the unique index."""
        rows = self.query(
            f"{SELECT} session = ? AND call >= 'stop ' AND call < 'stop!' AND event = ? ORDER BY call DESC LIMIT ?",
            (fit_column(session), STOP, last),
        )
        return sorted((StoredEvent(row) for row in rows), key=lambda each: each.id)

    def of(self, session: str, call: str) -> list[Event]:
        """Returns all events of one call, in writing order."""
        rows = self.query(f"{SELECT} session = ? AND call = ? ORDER BY id", (fit_column(session), fit_column(call)))
        return [StoredEvent(row) for row in rows]

    def find(self, session: str, call: str, kind: str) -> Event | None:
        """Returns one event of a call."""
        rows = self.query(
            f"{SELECT} session = ? AND call = ? AND event = ?", (fit_column(session), fit_column(call), kind)
        )
        return StoredEvent(rows[0]) if rows else None

    def close(self) -> None:
        self.db.close()


def make_row(event: Event) -> tuple[Any, ...]:
    texts = (event.harness, event.turn, event.agent, event.tool, event.identity, event.state)
    first = map(fit_column, (event.session, event.call, event.event))
    return (*first, event.at, *map(fit_column, texts), encode_data(event.data))


def fit_column(text: str) -> str:
    """Returns a text as a column stores it: text without a UTF-8 form replaced, a long one cut and marked with its
    digest."""
    if len(text) > MAX_COLUMN:
        from truecall_py.core.hashing import sha256

        return f"{fit_column(text[:180])}~{sha256(text.encode('utf-8', 'replace'))}"
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def encode_data(data: dict[str, Any]) -> str:
    """Returns an event's data as JSON. If it is too large, drops the arguments first, then all but the parts of its
    verdicts that attempts are counted by."""
    text = dumps(data)
    if len(text) <= MAX_DATA:
        return text
    less = {name: value for name, value in data.items() if name != "args"}
    less["cut"] = len(text)
    if len(text := dumps(less)) <= MAX_DATA:
        return text
    verdicts = data.get("verdicts")
    bones = [
        {name: str(verdict[name])[:100] for name in KEPT_FIELDS if name in verdict}
        for verdict in (verdicts if isinstance(verdicts, list) else [])[:20] if isinstance(verdict, dict)
    ]  # fmt: skip
    plain = {name: value for name, value in less.items() if isinstance(value, (int, float)) or
             (isinstance(value, str) and len(value) <= MAX_COLUMN)}  # fmt: skip
    text = dumps({**plain, "verdicts": bones})
    return text if len(text) <= MAX_DATA else dumps({"cut": less["cut"]})
