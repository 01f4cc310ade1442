"""Reads an SQLite database and nothing else of it: no write, no file beside it, no extension, no trigger, no virtual
table. Never waits for a named pipe, never follows a link at the end of the path, never runs beyond its time, and
never lets SQLite take more memory than HEAP, a limit that holds for the whole process from then on."""

from __future__ import annotations

import stat as modes

from truecall_py.core.errors import Unverified

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from sqlite3 import Connection
    from typing import Any

    from truecall_py.world.world import World

    Values = Sequence[Any] | dict[str, Any]

ROWS = 100_000  # rows of an answer that are counted
LISTED = 1000  # rows that are handed out whole
LONGEST = 4 << 20  # bytes of one value or row
HEAP = 64 << 20  # bytes that SQLite may take: sorting and views are done in memory, since a file would be a write
OPCODES = 2000  # steps of SQLite's machine between two looks at the clock
MAGIC = b"SQLite format 3\0"
SIDES = ("-wal", "-shm", "-journal")
FIRST_WORDS = ("select", "with", "values")
# Functions that only compute, and none that can make much out of little.
FUNCTIONS = frozenset(
    """
    abs avg char coalesce concat concat_ws count date datetime glob hex ifnull iif if instr julianday length like
    lower ltrim max min nullif octet_length quote replace round rtrim sign strftime substr substring sum time total
    trim typeof unhex unicode unixepoch upper group_concat string_agg -> ->> json json_array json_array_length
    json_extract json_object json_quote json_type json_valid row_number rank dense_rank lag lead first_value
    last_value nth_value ceil ceiling floor mod trunc
    """.split()  # noqa: SIM905 - a column of seventy strings would hide what they are
)
SELECT, READ, FUNCTION, RECURSIVE = 21, 20, 31, 33  # the numbers of what a statement does
ALLOWED, DENIED = 0, 1


class Missing(Unverified):
    """There is no such database. Whoever does not care has no verdict."""


class Lacking(Unverified):
    """The database is there and lacks a table or a column that the query names."""


class Database:
    """A database that is open for reading. `close` must be called."""

    def __init__(self, path: str, world: World, seconds: float) -> None:
        """Opens the file at an absolute path. Raises Missing, Unverified."""
        import sqlite3

        self.path = path
        self.world = world
        self.ends = world.now() + seconds
        self.immutable = False
        self.seen = self.stamp()
        where = f"file:{quote_path(path)}?mode=ro&cache=private&{self.way()}"
        try:
            patience = max(0.05, seconds / 2)
            self.base: Connection = sqlite3.connect(where, timeout=patience, uri=True, isolation_level=None)
        except sqlite3.Error as error:
            raise Unverified(f"{path} cannot be opened: {error}", "world") from None
        try:
            self.prepare()
        except (sqlite3.Error, MemoryError) as error:
            self.close()
            raise self.trouble(error) from None
        except Unverified:
            self.close()
            raise

    def way(self) -> str:
        """How it can be read without writing. A database with a write-ahead log is mostly opened by making its index
        file: here the one that is there is used, or none, where the log is empty and all stands in the file."""
        head = self.head()
        if head and head[: len(MAGIC)] != MAGIC:
            raise Unverified(f"{self.path} is not an SQLite database", "world")
        if head[18:20] != b"\x02\x02":
            return "immutable=0"
        wal, shm = (self.side(name) for name in SIDES[:2])
        if not wal:
            self.immutable = True
            return "immutable=1"
        if shm is None:
            why = f"{self.path} has changes in its write-ahead log, and no index to read them without writing one"
            raise Unverified(why, "world")
        return "readonly_shm=1"

    def head(self) -> bytes:
        """The first bytes of the file, which must be a plain one, as must be those beside it."""
        import os

        found = self.world.stat(self.path, follow=False)
        if found is None:
            raise Missing(f"there is no database at {self.path}", "world")
        if not modes.S_ISREG(found.st_mode):
            raise Unverified(f"{self.path} is a link, a pipe or a folder, and no database file", "world")
        for name in SIDES:
            self.side(name)
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise Unverified(f"{self.path} cannot be read: {error.strerror}", "world") from None
        try:
            return os.read(descriptor, 100)
        finally:
            os.close(descriptor)

    def side(self, suffix: str) -> int | None:
        """The size of a file beside the database, None where there is none."""
        found = self.world.stat(self.path + suffix, follow=False)
        if found is not None and not modes.S_ISREG(found.st_mode):
            raise Unverified(f"{self.path}{suffix} is not a plain file", "world")
        return None if found is None else found.st_size

    def stamp(self) -> list[list[int] | None]:
        """What changes with every write to the database: of the file and of its log, and the file's own counter."""
        found = [self.world.stat(path, follow=False) for path in (self.path, self.path + SIDES[0])]
        marks = [None if info is None else [info.st_ino, info.st_size, info.st_mtime_ns] for info in found]
        return [*marks, [int.from_bytes(self.head()[24:28], "big")]]

    def prepare(self) -> None:
        base = self.base
        limited = base.execute(f"PRAGMA hard_heap_limit={HEAP}").fetchone()
        if limited is None or not 0 < limited[0] <= HEAP:
            raise Unverified("this SQLite (before 3.31) cannot be kept from taking all memory", "harness")
        for pragma in ("trusted_schema=OFF", "query_only=ON", "mmap_size=0", "cell_size_check=ON",
                       "temp_store=MEMORY", "cache_size=-16000"):  # fmt: skip
            base.execute(f"PRAGMA {pragma}").close()
        if hasattr(base, "setlimit"):  # Python 3.11 and later
            base.setlimit(0, LONGEST)  # SQLITE_LIMIT_LENGTH
        base.text_factory = lambda data: data.decode("utf-8", "replace")
        base.set_progress_handler(self.late, OPCODES)

    def late(self) -> int:
        now = self.world.now()
        return int(now > self.ends or now > self.world.ends)

    def trouble(self, error: Exception) -> Unverified:
        """What an error of SQLite's means."""
        words = str(error)
        if isinstance(error, MemoryError):
            return Unverified(f"the query of {self.path} takes more than {HEAP >> 20} MB of memory", "probe")
        if self.late() or "interrupted" in words:
            return Unverified(f"the query of {self.path} was not finished in its time", "probe")
        if "locked" in words:
            return Unverified(f"{self.path} is locked by somebody who writes", "probe")
        if words.startswith(("no such table", "no such column")):
            return Lacking(f"{self.path} has {words.replace('no such', 'no', 1)}", "contract")
        if words.startswith(("not authorized", "access to", "unsafe use", "prohibited")):
            return Unverified(f"the query does more than read tables: {words}", "contract")
        if "readonly" in words:
            return Unverified(f"{self.path} was left in the middle of a write, and is not mended here", "world")
        if any(name in words for name in ("malformed", "not a database", "disk I/O", "unsupported file format",
                                          "unable to open")):  # fmt: skip
            return Unverified(f"{self.path} cannot be read: {words}", "world")
        return Unverified(f"the query cannot be answered: {words}", "contract")

    # -- questions -----------------------------------------------------------------------------------------

    def ask(self, query: str, values: Values) -> tuple[int, Any, bool, str]:
        """(rows, the first value of the first row, whether there is one, a digest of all rows in any order) of one
        SELECT. Raises Unverified."""
        from zlib import crc32

        count, value, digests = 0, None, 0
        for row, _ in self.answers(query, values):
            value = row[0] if count == 0 else value
            count += 1
            digests += crc32(repr(row).encode("utf-8", "replace"))
            if count > ROWS:
                raise Unverified(f"the query gives more than {ROWS} rows; let it count them", "contract")
        return count, value, count > 0, f"{digests:x}"

    def rows(self, query: str, values: Values) -> list[dict[str, Any]]:
        """The rows of one SELECT by the names of their columns. Raises Unverified, also for more than LISTED."""
        found: list[dict[str, Any]] = []
        for row, names in self.answers(query, values):
            if len(found) >= LISTED:
                raise Unverified(f"the query gives more than {LISTED} rows; let it name the operation", "contract")
            if len(set(names)) != len(names):
                raise Unverified("two columns of the query have the same name", "contract")
            found.append({name: None if isinstance(value, bytes) else value for name, value in zip(names, row)})  # noqa: B905
        return found

    def answers(self, query: str, values: Values) -> Iterator[tuple[tuple[Any, ...], list[str]]]:
        """(row, names of the columns) of one SELECT. Raises Unverified, at the end too."""
        import sqlite3

        if find_first_word(query) not in FIRST_WORDS:
            raise Unverified("the query is no SELECT", "contract")
        try:
            self.refuse_virtual(query)
            self.base.set_authorizer(authorize_action)
            cursor = self.base.execute(query, values)
            names = [str(column[0]) for column in cursor.description or ()]
            for row in cursor:
                yield row, names
        except (sqlite3.Error, sqlite3.Warning, MemoryError) as error:
            raise self.trouble(error) from None
        except (OverflowError, UnicodeEncodeError) as error:
            raise Unverified(f"a value cannot be given to the query: {error}", "tool") from None
        self.settled()

    def columns(self, table: str) -> list[str] | None:
        """The columns of a table or view, None where there is none of that name."""
        import sqlite3

        try:
            found = self.base.execute(
                "SELECT name, rootpage, type FROM sqlite_master"
                " WHERE lower(name) = lower(?) AND type IN ('table', 'view')", (table,),
            ).fetchone()  # fmt: skip
            if found is None:
                self.settled()
                return None
            if found[2] == "table" and not found[1]:
                raise Unverified(f"{table} is a virtual table, which is not looked into", "world")
            if found[2] == "view":
                raise Unverified(f"{table} is a view, whose columns are only known by running it", "contract")
            name = found[0].replace('"', '""')
            rows = self.base.execute(f'PRAGMA table_xinfo("{name}")').fetchall()
        except (sqlite3.Error, sqlite3.Warning, MemoryError) as error:
            raise self.trouble(error) from None
        self.settled()
        return [str(row[1]) for row in rows]

    def tables(self) -> list[str]:
        """The names of the tables."""
        rows = self.base.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 500").fetchall()
        return [str(name) for (name,) in rows]

    def refuse_virtual(self, query: str) -> None:
        """Raises Unverified where a query names a virtual table, or a view on one: that would run its module."""
        rows = self.base.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE type = 'view' OR (type = 'table' AND rootpage = 0)"
        ).fetchall()
        text, names = query.lower(), [str(name) for kind, name, _ in rows if kind == "table"]
        views = [(str(name).lower(), str(sql).lower()) for kind, name, sql in rows if kind == "view"]
        if not names:
            return
        while True:
            mentioned = [view for view in views if mentions(text, view[0])]
            if not mentioned:
                break
            views = [view for view in views if view not in mentioned]
            text += "".join(f"\n{sql}" for _, sql in mentioned)
        for name in names:
            if mentions(text, name.lower()):
                raise Unverified(f"{name} is a virtual table, which is not looked into", "world")

    def settled(self) -> None:
        """Raises Unverified where a database that was read without locks was written meanwhile."""
        if self.immutable and (self.stamp() != self.seen or self.side(SIDES[0])):
            raise Unverified(f"{self.path} was written while it was read", "probe")

    def close(self) -> None:
        self.base.close()


def authorize_action(action: int, what: str | None, more: str | None, *_: Any) -> int:
    """What a query may do: read, and compute with the functions that are known."""
    if action in (SELECT, READ, RECURSIVE):
        return ALLOWED
    return ALLOWED if action == FUNCTION and str(more).lower() in FUNCTIONS else DENIED


def mentions(text: str, name: str) -> bool:
    """Whether a name stands in a statement, as a word of its own: in quotes, in a comment or plain."""
    for written in {name, name.replace('"', '""'), name.replace("`", "``"), name.replace("'", "''")}:
        at = text.find(written)
        while at >= 0:
            around = text[at - 1 : at] + text[at + len(written) : at + len(written) + 1]
            if not any(character.isalnum() or character in "_$" for character in around):
                return True
            at = text.find(written, at + 1)
    return False


def find_first_word(query: str) -> str:
    """The first word of a statement, in lower case, after blanks and comments."""
    rest = query.lstrip()
    while rest.startswith(("--", "/*")):
        end = "\n" if rest.startswith("--") else "*/"
        rest = rest[2:].partition(end)[2].lstrip()
    word = ""
    for character in rest:
        if not character.isalpha():
            break
        word += character
    return word.lower()


def quote_path(path: str) -> str:
    """A path as it stands in a URI: what means something there is written as a number."""
    import os

    if "\0" in path:
        raise Unverified("the path holds a NUL character", "tool")
    safe = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
    return "".join(chr(byte) if byte in safe else f"%{byte:02X}" for byte in os.fsencode(path))
