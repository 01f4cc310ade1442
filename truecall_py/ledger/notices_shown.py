"""Which notices a session has had already: each is shown to the person once. Where no mark can be set, it is shown
again; nothing here is ever told to an agent."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.trust.store import Source


def mark_shown(state: str, session: str, path: str, status: str) -> bool:
    """Whether this session was told before. Marks it as told; where no mark can be set, it is told again."""
    if not session:
        return False
    name = locate_mark(state, session, path, status)
    try:
        os.makedirs(os.path.dirname(name), 0o700, exist_ok=True)
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return True
    except OSError:
        return False
    return False


def locate_mark(state: str, session: str, path: str, status: str) -> str:
    """The file that is there when a session was told."""
    name = "".join(letter if letter.isalnum() else "-" for letter in f"{session[:80]}{status}{path[-120:]}")
    return os.path.join(state, "notices", name)


def report_changed(source: Source, session: str, state: str) -> tuple[str, ...]:
    """The notice of a contract file that is not as it was trusted, once a session."""
    from truecall_py.messages.failures import render_changed_notice

    shown = mark_shown(state, session, source.path, source.status)
    return () if shown else (render_changed_notice(source.path, source.status, source.why),)


def report_unkept_snapshot(state: str, session: str) -> tuple[str, ...]:
    """The notice of a look before a call that could not be kept, once a session."""
    from truecall_py.messages.failures import render_snapshot_notice

    return () if mark_shown(state, session, "snapshots", "forgetful") else (render_snapshot_notice(state),)
