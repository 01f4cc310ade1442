"""What was seen before a call, kept from the hook before it to the hook after it, and joined by the call's id.
Never guesses: a snapshot that is not there, is cut short or is another call's is none.

One file a call, `snapshots/SESSION/CALL.json` in the state folder, written whole and never written again: a hook
that is registered twice keeps the first look, and calls that run side by side share nothing. `CALL.done` beside it
says when the call had ended.
"""

from __future__ import annotations

import os
import stat as modes

from truecall_py.core.fast_json import JsonError, dumps, loads
from truecall_py.core.hashing import sha256
from truecall_py.core.record import record
from truecall_py.core.types import ABSENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FOLDER, SUFFIX, DONE, DRAFT = "snapshots", ".json", ".done", ".draft"
LARGEST = 8 << 20  # bytes of one snapshot; facts above it are left out
KEPT = 24 * 3600.0  # seconds that an old session's snapshots are kept for calls that still run
MANY = 1000  # entries of one session, above which old ones are cleared
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


@record(frozen=True)
class Snapshot:
    """The world before one call: `at` is the time in seconds since the epoch, `cwd` the folder in which the call
    started (None: not said), `facts` what was seen, by `key`; `agent` and `turn` are those of the call; `folder` and
    `name` say where it is kept; `over` asks the client whether a call, by the name of its snapshot, had ended before
    this one was announced (None: nobody can be asked)."""

    at: float
    cwd: str | None
    facts: dict[str, Any]
    agent: str = ""
    turn: str = ""
    folder: str = ""
    name: str = ""
    over: Callable[[str], bool] | None = None

    def fact(self, check: str, base: str | None, params: dict[str, Any]) -> Any:
        """What a check saw of these parameters; ABSENT where it did not look."""
        return self.facts.get(make_key(check, base, params), ABSENT)

    def alone(self, check: str, base: str | None, params: dict[str, Any]) -> bool:
        """Whether no other call of the session that looked at the same fact ran at the same time."""
        wanted = make_key(check, base, params)
        for name in list_entries(self.folder):
            if not name.endswith(SUFFIX) or name == self.name + SUFFIX:
                continue
            path = os.path.join(self.folder, name)
            ended = read_mtime(path.removesuffix(SUFFIX) + DONE)
            other = read_snapshot(path) if ended is None or ended >= self.at else None
            if other is None or wanted not in other.facts:
                continue
            if ended is not None or not (self.outlived(other) or self.told_over(other, name)):
                return False
        return True

    def told_over(self, other: Snapshot, name: str) -> bool:
        """Whether the client says of a call, by the file of its snapshot, that it was over before this one."""
        return self.over is not None and other.at < self.at and self.over(name.removesuffix(SUFFIX))

    def outlived(self, other: Snapshot) -> bool:
        """Whether a call that nobody told the end of (a person refused it, or its client tells of no failure) is over
        all the same: it was of another turn of the same agent, or a call that was announced after it had ended
        before this one was announced. A model waits for all calls of a batch."""
        if other.at >= self.at or other.agent != self.agent:
            return False
        if other.turn != self.turn:
            return True
        for name in list_entries(self.folder):
            path = os.path.join(self.folder, name)
            ended = read_mtime(path.removesuffix(SUFFIX) + DONE) if name.endswith(SUFFIX) else None
            if ended is None or ended > self.at:
                continue
            between = read_snapshot(path)
            if between is not None and between.agent == self.agent and other.at < between.at < self.at:
                return True
        return False


def make_key(check: str, base: str | None, params: dict[str, Any]) -> str:
    """By what a fact is found again: the check, what it was asked with every template filled in, and the folder
    in which relative paths start."""
    text = dumps([check, base, sorted(params.items())])
    return f"{check} {sha256(text.encode())}"


def make_name(text: str) -> str:
    """An id as the name of a file: as it is where that is safe, else its digest."""
    return text if 0 < len(text) <= 128 and not set(text) - PLAIN else f"x{sha256(text.encode('utf-8', 'replace'))}"


def locate_snapshot(state: str, session: str, call: str) -> tuple[str, str]:
    """(folder, name without suffix) of a call's snapshot."""
    return os.path.join(state, FOLDER, make_name(session)), make_name(call)


def list_entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def read_mtime(path: str) -> float | None:
    """When a file was last changed, in seconds since the epoch; None where there is none."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return None


def read_snapshot(path: str) -> Snapshot | None:
    """The snapshot in a file; None for anything that this program would not have written."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        if not modes.S_ISREG(found.st_mode) or found.st_size > 2 * LARGEST:
            return None
        pieces = []
        while piece := os.read(descriptor, 1 << 20):
            pieces.append(piece)
        plain = loads(b"".join(pieces).decode(), own=True)
        at, cwd, facts = plain["at"], plain["cwd"], plain["facts"]
        if not isinstance(at, float) or not isinstance(facts, dict) or not isinstance(cwd, (str, type(None))):
            return None
        return Snapshot(at, cwd, facts, str(plain.get("agent", "")), str(plain.get("turn", "")))
    except (OSError, JsonError, ValueError, LookupError, TypeError, AttributeError):
        return None
    finally:
        os.close(descriptor)


def find_snapshot(state: str, session: str, call: str) -> Snapshot | None:
    """The snapshot of a call; None where there is none that can be used."""
    if not session or not call:
        return None
    folder, name = locate_snapshot(state, session, call)
    snapshot = read_snapshot(os.path.join(folder, name + SUFFIX))
    return None if snapshot is None else Snapshot(**{**snapshot.__dict__, "folder": folder, "name": name})


def keep_snapshot(state: str, session: str, call: str, snapshot: Snapshot) -> bool:
    """Writes the snapshot of a call, unless there is one of a call that has not ended: the first look is the one from
    before. False where it could not be kept."""
    if not session or not call:
        return False
    folder, name = locate_snapshot(state, session, call)
    text = dumps({"at": float(snapshot.at), "cwd": snapshot.cwd, "agent": snapshot.agent, "turn": snapshot.turn,
                  "facts": bound_facts(snapshot.facts)})  # fmt: skip
    draft = os.path.join(folder, f"{name}-{os.getpid()}{DRAFT}")
    try:
        descriptor = open_draft(draft, lambda: prepare_folder(folder, snapshot.at))
    except OSError:
        return False
    try:
        data = text.encode()
        while data:
            data = data[os.write(descriptor, data) :]
        publish_draft(draft, os.path.join(folder, name))
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
        remove_file(draft)


def open_draft(draft: str, ready: Callable[[], None]) -> int:
    """The descriptor of a new draft; `ready` makes its folder, once more where another process cleared it away in
    between, since it was empty and of a session of which nothing was heard for long. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    ready()
    try:
        return os.open(draft, flags, 0o600)
    except FileNotFoundError:
        ready()
        return os.open(draft, flags, 0o600)


def prepare_folder(folder: str, at: float) -> None:
    """Makes the folder of a session, and room in it. Raises OSError for one that is not ours to write in."""
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        os.makedirs(folder, 0o700, exist_ok=True)
        clear_sessions(os.path.dirname(folder), at - KEPT)
        found = os.lstat(folder)
    if not modes.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise NotADirectoryError(20, "it is not a folder of ours", folder)
    if len(list_entries(folder)) > MANY:
        clear_session(folder, at - 3600.0)


def publish_draft(draft: str, stem: str) -> None:
    """Gives the draft its name. An earlier call under the same id that has ended makes way. Raises OSError."""
    try:
        os.link(draft, stem + SUFFIX)
    except FileExistsError:
        if read_mtime(stem + DONE) is not None:
            os.replace(draft, stem + SUFFIX)
            remove_file(stem + DONE)  # a second copy of the hook may have done that


def remove_file(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def bound_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts that fit; what is left out is one that nobody saw."""
    kept, left = {}, LARGEST
    for name, value in facts.items():
        left -= len(dumps(value))
        if left < 0:
            break
        kept[name] = value
    return kept


def mark_ended(snapshot: Snapshot) -> None:
    """Marks that the call is over."""
    try:
        path = os.path.join(snapshot.folder, snapshot.name + DONE)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError:
        pass  # marked before, or nowhere to mark: then it counts as one that still runs


def clear_session(folder: str, before: float) -> None:
    """Removes our own files that are older than `before` (seconds since the epoch) from one session."""
    for name in list_entries(folder):
        path = os.path.join(folder, name)
        when = read_mtime(path)
        if name.endswith((SUFFIX, DONE, DRAFT)) and when is not None and when < before:
            remove_file(path)


def clear_sessions(root: str, before: float) -> None:
    """Removes sessions in which nothing happened since `before`. A link is nobody's session."""
    for name in list_entries(root):
        folder = os.path.join(root, name)
        try:
            found = os.lstat(folder)
            if modes.S_ISDIR(found.st_mode) and found.st_mtime < before:
                clear_session(folder, before)
                os.rmdir(folder)
        except OSError:
            continue
