"""What was seen before a call, kept from the hook before it to the hook after it, and joined by the call's id.
Never guesses: a snapshot that is not there, is cut short or is another call's is none.

One file a call, `snapshots/SESSION/CALL.json` in the state folder, written whole and never written again: a hook
that is registered twice keeps the first look, and calls that run side by side share nothing. `CALL.done` beside it
says when the call had ended.
"""

from __future__ import annotations

import os

from truecall_py.digest import sha256
from truecall_py.records import record
from truecall_py.types import ABSENT
from truecall_py.wire import Refused, dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER, SUFFIX, DONE, DRAFT = "snapshots", ".json", ".done", ".draft"
LARGEST = 8 << 20  # bytes of one snapshot; facts above it are left out
KEPT = 24 * 3600.0  # seconds that an old session's snapshots are kept for calls that still run
MANY = 1000  # entries of one session, above which old ones are cleared
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


@record(frozen=True)
class Snapshot:
    """The world before one call: `at` is the time in seconds since the epoch, `cwd` the folder in which the call
    started (None: not said), `facts` what was seen, by `key`; `folder` and `name` say where it is kept."""

    at: float
    cwd: str | None
    facts: dict[str, Any]
    folder: str = ""
    name: str = ""

    def fact(self, check: str, base: str | None, params: dict[str, Any]) -> Any:
        """What a check saw of these parameters; ABSENT where it did not look."""
        return self.facts.get(key(check, base, params), ABSENT)

    def alone(self, check: str, base: str | None, params: dict[str, Any]) -> bool:
        """Whether no other call of the session that looked at the same fact ran at the same time."""
        wanted = key(check, base, params)
        for name in entries(self.folder):
            if not name.endswith(SUFFIX) or name == self.name + SUFFIX:
                continue
            path = os.path.join(self.folder, name)
            ended = changed(path.removesuffix(SUFFIX) + DONE)
            other = read(path) if ended is None or ended >= self.at else None
            if other is not None and wanted in other.facts:
                return False
        return True


def key(check: str, base: str | None, params: dict[str, Any]) -> str:
    """By what a fact is found again: the check, what it was asked with every template filled in, and the folder
    in which relative paths start."""
    text = dumps([check, base, sorted(params.items())])
    return f"{check} {sha256(text.encode())}"


def word(text: str) -> str:
    """An id as the name of a file: as it is where that is safe, else its digest."""
    return text if 0 < len(text) <= 128 and not set(text) - PLAIN else f"x{sha256(text.encode('utf-8', 'replace'))}"


def place(state: str, session: str, call: str) -> tuple[str, str]:
    """(folder, name without suffix) of a call's snapshot."""
    return os.path.join(state, FOLDER, word(session)), word(call)


def entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def changed(path: str) -> float | None:
    """When a file was last changed, in seconds since the epoch; None where there is none."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return None


def read(path: str) -> Snapshot | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = b""
        while piece := os.read(descriptor, 1 << 20):
            data += piece
        plain = loads(data.decode(), own=True)
        return Snapshot(float(plain["at"]), plain["cwd"], plain["facts"])
    except (OSError, Refused, ValueError, LookupError, TypeError):
        return None
    finally:
        os.close(descriptor)


def find(state: str, session: str, call: str) -> Snapshot | None:
    """The snapshot of a call; None where there is none that can be used."""
    if not session or not call:
        return None
    folder, name = place(state, session, call)
    found = read(os.path.join(folder, name + SUFFIX))
    return None if found is None else Snapshot(found.at, found.cwd, found.facts, folder, name)


def keep(state: str, session: str, call: str, at: float, cwd: str | None, facts: dict[str, Any]) -> bool:
    """Writes the snapshot of a call, unless there is one: the first look is the one from before. False where it
    could not be kept."""
    if not session or not call:
        return False
    folder, name = place(state, session, call)
    text = dumps({"at": at, "cwd": cwd, "facts": bounded(facts)})
    try:
        new = not os.path.isdir(folder)
        os.makedirs(folder, 0o700, exist_ok=True)
        if new:
            clear(os.path.dirname(folder), at - KEPT)
        elif len(entries(folder)) > MANY:
            clear_session(folder, at - 3600.0)
        draft = os.path.join(folder, f"{name}-{os.getpid()}{DRAFT}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            data = text.encode()
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)
        try:
            os.link(draft, os.path.join(folder, name + SUFFIX))
        except FileExistsError:
            pass
        finally:
            os.unlink(draft)
    except OSError:
        return False
    return True


def bounded(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts that fit; what is left out is one that nobody saw."""
    kept, left = {}, LARGEST
    for name, value in facts.items():
        left -= len(dumps(value))
        if left < 0:
            break
        kept[name] = value
    return kept


def ended(snapshot: Snapshot) -> None:
    """Marks that the call is over."""
    try:
        path = os.path.join(snapshot.folder, snapshot.name + DONE)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError:
        pass  # marked before, or nowhere to mark: then it counts as one that still runs


def clear_session(folder: str, before: float) -> None:
    """Removes what is older than `before` (seconds since the epoch) from one session."""
    for name in entries(folder):
        path = os.path.join(folder, name)
        when = changed(path)
        if when is not None and when < before:
            try:
                os.unlink(path)
            except OSError:
                continue


def clear(root: str, before: float) -> None:
    """Removes sessions in which nothing happened since `before`."""
    for name in entries(root):
        folder = os.path.join(root, name)
        when = changed(folder)
        if when is not None and when < before:
            clear_session(folder, before)
            try:
                os.rmdir(folder)
            except OSError:
                continue
