"""Marks with which ledger a session began, so that a ledger that was deleted, emptied or replaced is not taken for an
empty session. A new session never reports a loss. An older copy of the same ledger cannot be detected.

A mark is an empty file, `sessions/SESSION-LEDGER`, both as digests.
"""

from __future__ import annotations

import os

from truecall_py.core.hashing import sha256
from truecall_py.core.types import ToolCall
from truecall_py.ledger.store import Event, Ledger, LedgerError

FOLDER = "sessions"
ID_LENGTHS = 8, 24  # letters of a ledger's id, and of a session's


class LedgerLost(LedgerError):
    """The session's ledger is gone, and another one is in its place."""


def has_other_ledger(state: str, session: str, key: bytes) -> bool:
    """Tells whether this session has had another ledger than the one with this key."""
    ledger, name = sha256(key)[: ID_LENGTHS[0]], sha256(session.encode("utf-8", "replace"))[: ID_LENGTHS[1]]
    if os.path.exists(os.path.join(state, FOLDER, f"{name}-{ledger}")):
        return False
    try:
        others = os.listdir(os.path.join(state, FOLDER))
    except OSError:
        others = []
    if f"{name}-{ledger}" in others:  # set by another hook in this moment
        return False
    if any(other.startswith(f"{name}-") for other in others):
        return True
    mark_session(state, session, key)
    return False


def mark_session(state: str, session: str, key: bytes) -> None:
    """Marks that this session has this ledger and no other: one that returns later lacks what was done meanwhile.
    Without a mark, a loss goes unnoticed."""
    ledger, name = sha256(key)[: ID_LENGTHS[0]], sha256(session.encode("utf-8", "replace"))[: ID_LENGTHS[1]]
    try:
        folder = os.path.join(state, FOLDER)
        os.makedirs(folder, 0o700, exist_ok=True)
        os.close(os.open(os.path.join(folder, f"{name}-{ledger}"), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        for other in os.listdir(folder):
            if other.startswith(f"{name}-") and other != f"{name}-{ledger}":
                os.unlink(os.path.join(folder, other))
    except OSError:
        return


def record_loss(ledger: Ledger, key: bytes, event: Event) -> LedgerError | None:
    """Returns the LedgerLost if the session of `event` had another ledger before, and records that event, so that its
    turn is known. Raises LedgerError."""
    state = os.path.dirname(ledger.path)
    if not has_other_ledger(state, event.session, key):
        return None
    ledger.add(event)
    mark_session(state, event.session, key)
    why = "the ledger was deleted, emptied or exchanged in the middle of this session, and what it knew of it is gone"
    return LedgerLost(why, ledger.path)


def mark_unrecorded(state: str, call: ToolCall, matters: bool = True) -> None:
    """Marks that the ledger missed an event of a call, unless nothing of it `matters` any more."""
    from truecall_py.ledger import unrecorded_calls

    (unrecorded_calls.mark_call if matters else unrecorded_calls.unmark_call)(
        state, call.session, call.agent, call.call_id
    )
