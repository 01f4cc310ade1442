"""What a person asks of the whole ledger: what there was, in which sessions, and to forget what is old. Never on the
way of a call, and never holds up a hook for long."""

from __future__ import annotations

import os

from truecall_py.ledger import FILE, Ledger, column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# What belongs to a call, and so is listed as one.
OF_CALLS = "event IN ('requested', 'ended', 'refused', 'judged', 'settled')"
PAGES = 250  # given back to the file system at a time


def opened(state: str) -> Ledger | None:
    """The ledger of a state folder; None where nothing was ever written. Raises LedgerError."""
    path = os.path.join(state, FILE)
    if not os.path.lexists(path) or (os.path.isfile(path) and not os.path.getsize(path)):
        return None
    return Ledger(state, create=False)


def sessions(ledger: Ledger, since: float = 0.0) -> list[str]:
    """The sessions in which a call was told of since then, the one that was used last at the end."""
    sql = f"SELECT session FROM events WHERE at >= ? AND {OF_CALLS} GROUP BY session ORDER BY max(id)"  # noqa: S608
    rows = ledger.query(sql, (since,))
    return [row[0] for row in rows]


def keys(ledger: Ledger, since: float = 0.0, session: str = "") -> Iterator[tuple[str, str]]:
    """(session, call) of every call, the newest first; of one session if it is given."""
    told: set[tuple[str, str]] = set()
    where, values = ("session = ? AND ", (column(session), since)) if session else ("", (since,))
    last = 1 << 62
    while True:  # in pieces, so that no reader stands in the way of the log's copy
        rows = ledger.query(
            f"SELECT id, session, call FROM events WHERE {where}at >= ? AND {OF_CALLS} AND id < ? "  # noqa: S608
            "ORDER BY id DESC LIMIT 1000",
            (*values, last),
        )
        for number, name, call in rows:
            last = number
            if (name, call) not in told:
                told.add((name, call))
                yield name, call
        if not rows:
            return


def begun(ledger: Ledger, since: float = 0.0, session: str = "") -> Iterator[tuple[str, str]]:
    """(session, call) of the same calls, in the order in which they began; remembers none, so that a ledger of any
    size can be gone through."""
    where, values = ("session = ? AND ", (column(session),)) if session else ("", ())
    # `+at`: not by the index of times, which would have to be sorted anew for every piece.
    sql = (
        f"SELECT id, session, call FROM events AS told WHERE {where}+at >= ? AND {OF_CALLS} AND id > ? "  # noqa: S608
        "AND NOT EXISTS (SELECT 1 FROM events AS earlier WHERE earlier.session = told.session AND "
        f"earlier.call = told.call AND earlier.id < told.id AND +at >= ? AND {OF_CALLS}) ORDER BY id LIMIT 1000"
    )
    last = 0
    while rows := ledger.query(sql, (*values, since, last, since)):
        for last, name, call in rows:  # noqa: B007 - the last one is where the next piece begins
            yield name, call


def named(ledger: Ledger, call: str, session: str = "") -> list[tuple[str, str]]:
    """(session, call) of the calls that have this id, or whose id begins so, the newest first."""
    sql = f"SELECT session, call FROM events WHERE substr(call, 1, ?) = ? AND {OF_CALLS} "  # noqa: S608
    rows = ledger.query(sql + "GROUP BY session, call ORDER BY max(id) DESC", (len(call), call))
    found = [(row[0], row[1]) for row in rows if not session or row[0] == session]
    return [each for each in found if each[1] == call] or found


def seen(ledger: Ledger) -> dict[str, float]:
    """When the hook was last asked by each harness, in seconds since the epoch."""
    rows = ledger.query("SELECT harness, max(at) FROM events WHERE event <> 'switch' GROUP BY harness")
    return {row[0]: float(row[1]) for row in rows}


def prune(ledger: Ledger, before: float) -> tuple[int, int]:
    """Forgets whole sessions in which nothing happened since `before`, and overwrites what they held; how many
    sessions and events went. Session by session, so that no hook waits for long."""
    old = ledger.query("SELECT session FROM events GROUP BY session HAVING max(at) < ?", (before,))
    ledger.query("PRAGMA secure_delete=ON")
    gone = [forget(ledger, session, before) for (session,) in old]
    names = [session for (session,), count in zip(old, gone, strict=True) if count]
    beside(os.path.dirname(ledger.path), before, names)
    while (free := ledger.query("PRAGMA freelist_count")[0][0]) > PAGES:
        ledger.query(f"PRAGMA incremental_vacuum({PAGES})")
        if ledger.query("PRAGMA freelist_count")[0][0] >= free:
            break
    ledger.query("PRAGMA wal_checkpoint(TRUNCATE)")
    return sum(1 for count in gone if count), sum(gone)


def beside(state: str, before: float, sessions: Sequence[str] = ()) -> None:
    """Forgets what lies beside the ledger of `sessions`, and of others since `before`: calls that stood open, looks
    before a call, marks of sessions and notices."""
    from truecall_py import sessions as marks
    from truecall_py import snapshots, unsettled

    for folder in (unsettled.FOLDER, unsettled.OPERATIONS, snapshots.FOLDER):
        root = os.path.join(state, folder)
        gone = {snapshots.word(session) for session in sessions}
        for name in snapshots.entries(root):
            path = os.path.join(root, name)
            if os.path.islink(path):
                continue  # nobody's session
            snapshots.clear_session(path, float("inf") if name in gone else before)
            try:
                os.rmdir(path)
            except OSError:
                continue  # something is in it
    for folder in (marks.FOLDER, "notices"):
        for name in snapshots.entries(os.path.join(state, folder)):
            path = os.path.join(state, folder, name)
            when = snapshots.changed(path)
            if when is not None and when < before:
                snapshots.forget(path)


def forget(ledger: Ledger, session: str, before: float) -> int:
    """Forgets one session, unless something happened in it meanwhile; how many events went."""
    sql = (
        "DELETE FROM events WHERE session = ? AND NOT EXISTS "
        "(SELECT 1 FROM events AS later WHERE later.session = ? AND later.at >= ?)"
    )
    return int(ledger.changed(lambda: ledger.db.execute(sql, (session, session, before)).rowcount))
