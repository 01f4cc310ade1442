"""Remembers which notices a session has had, so that the user sees each once. If no mark can be written, the notice
is shown again. Agents never see these."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.trust.store import Source


def mark_shown(state: str, session: str, path: str, status: str) -> bool:
    """Tells whether this session has had the notice, and marks it as shown. False if no mark can be written."""
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
    """Returns the path of the mark of a notice that was shown."""
    name = "".join(letter if letter.isalnum() else "-" for letter in f"{session[:80]}{status}{path[-120:]}")
    return os.path.join(state, "notices", name)


def report_changed(source: Source, session: str, state: str) -> tuple[str, ...]:
    """Returns the notice of a contract file that differs from its trusted content, once a session."""
    from truecall_py.messages.failures import render_changed_notice

    shown = mark_shown(state, session, source.path, source.status)
    return () if shown else (render_changed_notice(source.path, source.status, source.why),)


def report_unkept_snapshot(state: str, session: str) -> tuple[str, ...]:
    """Returns the notice of a snapshot that could not be stored, once a session."""
    from truecall_py.messages.failures import render_snapshot_notice

    return () if mark_shown(state, session, "snapshots", "forgetful") else (render_snapshot_notice(state),)
