"""The calls on which the last word is not said, kept whole so that they can be judged again: what was refuted, could
not be verified, or is not finished. Never keeps a call whose contract says `store: none`, and nothing longer than it
stands open and KEPT.

One file a call, `open/SESSION/CALL.json` in the state folder, for its owner alone, written whole.
"""

from __future__ import annotations

import os

from truecall_py.records import record
from truecall_py.snapshots import clear, word
from truecall_py.types import ABSENT, File, ToolCall
from truecall_py.wire import Refused, dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "open"
LARGEST = 1 << 20  # characters of one call; a larger one is not kept
KEPT = 3 * 24 * 3600.0  # seconds after which an old session's calls are forgotten


@record(frozen=True)
class Kept:
    """A call as it was told of, and when that was, in seconds since the epoch."""

    call: ToolCall
    at: float


def place(state: str, session: str, call: str) -> str:
    return os.path.join(state, FOLDER, word(session), f"{word(call)}.json")


def keep(state: str, call: ToolCall, at: float) -> bool:
    """Keeps a call; False where it could not be, or is too large."""
    if not call.session or not call.call_id:
        return False
    fields = {name: value for name, value in call.__dict__.items() if value is not ABSENT}
    fields["kinds"] = sorted(call.kinds)
    fields["files"] = [file.__dict__ for file in call.files]
    text = dumps({"at": at, "call": fields})
    if len(text) > LARGEST:
        return False
    path = place(state, call.session, call.call_id)
    folder, draft = os.path.dirname(path), f"{path}-{os.getpid()}.draft"
    try:
        if not os.path.isdir(folder):
            os.makedirs(folder, 0o700, exist_ok=True)
            clear(os.path.dirname(folder), at - KEPT)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            data = text.encode()
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)
        os.rename(draft, path)
    except OSError:
        return False
    return True


def find(state: str, session: str, call: str) -> Kept | None:
    """A call that was kept; None where there is none that can be read whole."""
    try:
        descriptor = os.open(place(state, session, call), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = b""
        while len(data) <= LARGEST and (piece := os.read(descriptor, LARGEST)):
            data += piece
        return read(loads(data.decode(), own=True))
    except (OSError, Refused, ValueError, LookupError, TypeError, AttributeError):
        return None
    finally:
        os.close(descriptor)


def read(plain: dict[str, Any]) -> Kept:
    fields = dict(plain["call"])
    fields["kinds"] = frozenset(fields["kinds"])
    fields["files"] = tuple(File(**file) for file in fields["files"])
    fields["notes"] = tuple(fields.get("notes", ()))
    return Kept(ToolCall(**fields), float(plain["at"]))


def forget(state: str, session: str, call: str) -> None:
    """Removes a call on which the last word is said."""
    try:
        os.unlink(place(state, session, call))
    except OSError:
        return  # there is none
