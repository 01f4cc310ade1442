"""Where truecall's own files and the person's are. Looks nothing up that it does not need."""

from __future__ import annotations

import os

PACKAGE = os.path.dirname(os.path.abspath(__file__))


def shipped(name: str) -> str:
    """A folder that the wheel carries inside the package and the repository beside it."""
    inside = os.path.join(PACKAGE, name)
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(PACKAGE), name)


def contracts() -> str:
    """The folder of the starter packs."""
    return shipped("contracts")


def launcher() -> str:
    """The launcher that a harness registers."""
    return os.path.join(shipped("hooks"), "run.sh")


def state() -> str:
    """The folder of the trust store: $XDG_STATE_HOME/truecall or its default."""
    given = os.environ.get("XDG_STATE_HOME", "")
    root = given if given.startswith("/") else os.path.expanduser("~/.local/state")
    return os.path.join(root, "truecall")


def runs(state: str, session: str) -> str:
    """The file that is there while work of a session goes on in the background (unsettled.set_mark); `session` as the
    name of a folder."""
    return os.path.join(state, "open", session, "runs.done")


def user_file() -> str:
    """The person's own contract file, judged in every project."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    root = given if given.startswith("/") else os.path.expanduser("~/.config")
    return os.path.join(root, "truecall", "truecall.yaml")
