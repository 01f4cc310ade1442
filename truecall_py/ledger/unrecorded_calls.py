"""Marks the calls that the ledger could not record, one file each, so that a false success during a locked or full
ledger is still reported at the stop. A mark does not name the call. Without a mark the call goes unnoticed.

A mark is an empty file, `missed/SESSION-AGENT-CALL`, all three as digests.
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
    """Marks that the ledger could not record a call."""
    try:
        os.makedirs(os.path.join(state, FOLDER), 0o700, exist_ok=True)
        path = locate_mark(state, session, agent, call)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except OSError:
        return


def unmark_call(state: str, session: str, agent: str, call: str) -> None:
    """Removes the mark: the call's end is known and leaves nothing unresolved."""
    remove_marks((locate_mark(state, session, agent, call),))


def list_marks(state: str, session: str, agent: str) -> list[str]:
    """Returns the marks of an agent's calls; for the main agent, of the whole session."""
    try:
        names = os.listdir(os.path.join(state, FOLDER))
    except OSError:
        return []
    mine = f"{make_digest(session)}-{make_digest(agent)}-" if agent else f"{make_digest(session)}-"
    return [os.path.join(state, FOLDER, name) for name in names if name.startswith(mine)]


def has_other(paths: Iterable[str], calls: Iterable[str]) -> bool:
    """Tells whether any of these marks belongs to a call outside `calls`, whose ends the ledger knows."""
    known = {make_digest(call) for call in calls}
    return any(path.rpartition("-")[2] not in known for path in paths)


def remove_marks(paths: Iterable[str]) -> None:
    for path in paths:
        try:
            os.unlink(path)
        except OSError:
            continue
