"""The calls that the ledger could not take down: a mark for each beside it, so that a lie told while it was locked or
full does not end in silence at the stop. Never says which call it was; where no mark can be set, nobody will miss it.

A mark is a file without content, `missed/SESSION-AGENT-CALL`, all three by their digests.
"""

from __future__ import annotations

import os

from truecall_py.core.hashing import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = "missed"
LETTERS = 24  # of a digest


def make_digest(text: str) -> str:
    return sha256(text.encode("utf-8", "replace"))[:LETTERS]


def locate_mark(state: str, session: str, agent: str, call: str) -> str:
    return os.path.join(state, FOLDER, f"{make_digest(session)}-{make_digest(agent)}-{make_digest(call)}")


def mark_call(state: str, session: str, agent: str, call: str) -> None:
    """Notes that the ledger did not take down a call."""
    try:
        os.makedirs(os.path.join(state, FOLDER), 0o700, exist_ok=True)
        path = locate_mark(state, session, agent, call)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except OSError:
        return


def unmark_call(state: str, session: str, agent: str, call: str) -> None:
    """Forgets that: how the call ended is known, and leaves nothing open."""
    remove_marks((locate_mark(state, session, agent, call),))


def list_marks(state: str, session: str, agent: str) -> list[str]:
    """The marks of an agent's calls; for the main one, of all of its session."""
    try:
        names = os.listdir(os.path.join(state, FOLDER))
    except OSError:
        return []
    mine = f"{make_digest(session)}-{make_digest(agent)}-" if agent else f"{make_digest(session)}-"
    return [os.path.join(state, FOLDER, name) for name in names if name.startswith(mine)]


def has_other(paths: Iterable[str], calls: Iterable[str]) -> bool:
    """Whether any of these marks is of none of these calls, of which the ledger knows how they ended."""
    known = {make_digest(call) for call in calls}
    return any(path.rpartition("-")[2] not in known for path in paths)


def remove_marks(paths: Iterable[str]) -> None:
    for path in paths:
        try:
            os.unlink(path)
        except OSError:
            continue
