"""Queries over the whole ledger for a person: calls, sessions, stops; and pruning. Never used while a hook answers,
and never blocks one for long."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from truecall_py.core.errors import UsageError
from truecall_py.core.record import record
from truecall_py.core.types import UNRESOLVED
from truecall_py.ledger.store import FILE, SELECT, STOP, SWITCH, Event, Ledger, StoredEvent, fit_column

# The events that make a call.
OF_CALLS = "event IN ('requested', 'ended', 'refused', 'judged', 'settled')"
LAST = chr(0x10FFFF)  # sorts after every letter
PAGES = 250  # returned to the file system at a time


@record(frozen=True)
class Stopped:
    """A stop of an agent, and its verdicts as the ledger stores them (events.encode_verdict)."""

    event: Event
    verdicts: tuple[dict[str, Any], ...]

    @property
    def held(self) -> bool:
        return bool(self.event.data.get("held"))

    @property
    def opened(self) -> list[list[Any]]:
        """The call, contract and state of each unresolved verdict."""
        rows = self.event.data.get("open")
        return [row for row in rows if isinstance(row, list) and len(row) == 3] if isinstance(rows, list) else []

    @property
    def contracts(self) -> list[str]:
        """The contracts of its unresolved and judged verdicts, each once."""
        rows = self.event.data.get("claims")
        judged = [row[0] for row in rows if isinstance(row, list) and row] if isinstance(rows, list) else []
        return list(dict.fromkeys(map(str, [*(row[1] for row in self.opened), *judged])))


def open_ledger(state: str) -> Ledger | None:
    """The ledger of a state folder; None if there is none yet. Raises LedgerError."""
    path = os.path.join(state, FILE)
    if not os.path.lexists(path) or (os.path.isfile(path) and not os.path.getsize(path)):
        return None
    return Ledger(state, create=False)


def list_sessions(ledger: Ledger, since: float = 0.0) -> list[str]:
    """The sessions with a call since `since` (seconds since the epoch), the last used one at the end."""
    sql = f"SELECT session FROM events WHERE at >= ? AND {OF_CALLS} GROUP BY session ORDER BY max(id)"  # noqa: S608
    return [row[0] for row in ledger.query(sql, (since,))]


def find_session_id(ledger: Ledger, session: str) -> str:
    """The full id of the session with this id or unique start of one; "" for "". Raises UsageError."""
    if not session:
        return ""
    name = fit_column(session)
    sql = "SELECT DISTINCT session FROM events WHERE session >= ? AND session < ? LIMIT 20"
    sessions = [row[0] for row in ledger.query(sql, (name, name + LAST))]
    if name in sessions:
        return name
    if not sessions:
        raise UsageError(f"the ledger has no session {session[:80]!r}", do="list the newest with: truecall log")
    if len(sessions) > 1:
        some = ", ".join(sessions[:4])
        raise UsageError(f"{len(sessions)} sessions start with {session[:80]!r}: {some}", do="give more of the id")
    return str(sessions[0])


def list_calls(ledger: Ledger, since: float = 0.0, session: str = "") -> Iterator[tuple[str, str]]:
    """The session and id of each call, newest first; of one session if given."""
    seen_calls: set[tuple[str, str]] = set()
    where, values = ("session = ? AND ", (fit_column(session), since)) if session else ("", (since,))
    sql = (
        f"SELECT id, session, call FROM events WHERE {where}at >= ? AND {OF_CALLS} AND id < ? "  # noqa: S608
        "ORDER BY id DESC LIMIT 1000"
    )
    last = 1 << 62
    while rows := ledger.query(sql, (*values, last)):  # in pieces, so that no reader blocks a checkpoint of the log
        for last, name, call in rows:  # noqa: B007 - the next piece begins below the last one
            if (name, call) not in seen_calls:
                seen_calls.add((name, call))
                yield name, call


def find_held_stop(ledger: Ledger, after: int = 0, session: str = "") -> Event | None:
    """The last stop that held an agent, if its event is newer than the one with the id `after`."""
    where, values = ("session = ? AND ", (fit_column(session), STOP, after)) if session else ("", (STOP, after))
    sql = f"{SELECT} {where}event = ? AND id > ? AND id < ? ORDER BY id DESC LIMIT 100"
    last = 1 << 62
    while rows := ledger.query(sql, (*values, last)):
        for stop in map(StoredEvent, rows):
            if stop.data.get("held"):
                return stop
            last = stop.id
    return None


def list_stops(ledger: Ledger, session: str, since: float = 0.0) -> list[Stopped]:
    """The stops of a session, newest first."""
    events = ledger.stops(session)
    return [
        Stopped(event, tuple(row for part in events if part.call.startswith(f"{event.call} ")
                            for row in part.data.get("verdicts", ()) if isinstance(row, dict)))
        for event in reversed(events) if "held" in event.data and event.at >= since
    ]  # fmt: skip


def list_switches(ledger: Ledger, since: float = 0.0) -> list[Event]:
    """The events of a person turning truecall off or on, newest first."""
    sql = f"{SELECT} session = '' AND event = ? AND at >= ? ORDER BY id DESC LIMIT 1000"
    return [StoredEvent(row) for row in ledger.query(sql, (SWITCH, since))]


def list_begun(ledger: Ledger, since: float = 0.0, session: str = "") -> Iterator[tuple[str, str]]:
    """The session and id of each call, in the order in which they began. Holds none in memory, so a ledger of any
    size fits."""
    where, values = ("session = ? AND ", (fit_column(session),)) if session else ("", ())
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


def find_by_id(ledger: Ledger, call: str, session: str = "") -> list[tuple[str, str]]:
    """The session and id of the calls with this id, or with this start of one, newest first."""
    sql = f"SELECT session, call FROM events WHERE substr(call, 1, ?) = ? AND {OF_CALLS} "  # noqa: S608
    rows = ledger.query(sql + "GROUP BY session, call ORDER BY max(id) DESC", (len(call), call))
    matching = [(row[0], row[1]) for row in rows if not session or row[0] == session]
    return [pair for pair in matching if pair[1] == call] or matching


def find_last_events(ledger: Ledger) -> dict[str, float]:
    """The time of each client's last event, in seconds since the epoch."""
    rows = ledger.query("SELECT harness, max(at) FROM events WHERE event <> 'switch' GROUP BY harness")
    return {row[0]: float(row[1]) for row in rows}


def prune(ledger: Ledger, before: float) -> tuple[int, int]:
    """Deletes and overwrites sessions without an event since `before` (seconds since the epoch); returns the number
    of sessions and events. Works session by session, so that no hook waits for long."""
    old = ledger.query("SELECT session FROM events GROUP BY session HAVING max(at) < ?", (before,))
    staying = list_unresolved_sessions(ledger)
    old = [(session,) for (session,) in old if session not in staying]
    ledger.query("PRAGMA secure_delete=ON")
    gone = [forget(ledger, session, before) for (session,) in old]
    names = [session for (session,), count in zip(old, gone, strict=True) if count]
    delete_session_files(os.path.dirname(ledger.path), before, names, staying)
    while (free := ledger.query("PRAGMA freelist_count")[0][0]) > PAGES:
        ledger.query(f"PRAGMA incremental_vacuum({PAGES})")
        if ledger.query("PRAGMA freelist_count")[0][0] >= free:
            break
    ledger.query("PRAGMA wal_checkpoint(TRUNCATE)")
    return sum(1 for count in gone if count), sum(gone)


def count_left(ledger: Ledger, before: float) -> int:
    """The number of sessions without an event since `before` that were kept."""
    return len(ledger.query("SELECT 1 FROM events GROUP BY session HAVING max(at) < ?", (before,)))


def list_unresolved_sessions(ledger: Ledger) -> set[str]:
    """The sessions with an unresolved operation."""
    from truecall_py.operations import view

    sessions: set[str] = set()
    for operation in view.read_operations(ledger):
        if operation.state in UNRESOLVED:
            sessions |= {event.session for event in view.read_events(ledger, operation.identity)}
    return sessions


def delete_session_files(
    state: str, before: float, sessions: Sequence[str] = (), staying: Collection[str] = ()
) -> None:
    """Deletes the files of `sessions`, and of others that are older than `before`, except those `staying`: unresolved
    calls, snapshots, marks and notices."""
    from truecall_py.ledger import pending_calls, session_marks, unrecorded_calls
    from truecall_py.world import snapshots

    for folder in (pending_calls.FOLDER, pending_calls.OPERATIONS, snapshots.FOLDER):
        root = os.path.join(state, folder)
        gone, kept = ({snapshots.make_name(session) for session in names} for names in (sessions, staying))
        for name in snapshots.list_entries(root):
            path = os.path.join(root, name)
            if os.path.islink(path) or (folder == pending_calls.OPERATIONS and name in kept):
                continue  # not a session, or one with an unresolved operation
            snapshots.clear_session(path, float("inf") if name in gone else before)
            try:
                os.rmdir(path)
            except OSError:
                continue  # something is in it
    for folder in (session_marks.FOLDER, unrecorded_calls.FOLDER, "notices"):
        for name in snapshots.list_entries(os.path.join(state, folder)):
            path = os.path.join(state, folder, name)
            when = snapshots.read_mtime(path)
            if when is not None and when < before:
                snapshots.remove_file(path)


def forget(ledger: Ledger, session: str, before: float) -> int:
    """Deletes one session unless it has an event since `before`; returns the number of deleted events."""
    sql = (
        "DELETE FROM events WHERE session = ? AND NOT EXISTS "
        "(SELECT 1 FROM events AS later WHERE later.session = ? AND later.at >= ?)"
    )
    return int(ledger.change(lambda: ledger.db.execute(sql, (session, session, before)).rowcount))
