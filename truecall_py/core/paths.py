"""Where truecall's own files and the person's are, and the bytes of one. Looks nothing up that it does not need."""

from __future__ import annotations

import os
import stat as modes

from truecall_py.core.errors import PayloadError

MAX_BYTES = 32 << 20  # bytes of a contract file, a pin or a settings file
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLD_CONTRACTS = os.path.join(PACKAGE, "contracts")  # the starter packs' folder in wheels up to 0.1.0


def find_shipped(installed: str, checkout: str) -> str:
    """The folder `installed` inside the package (a wheel), or else `checkout` beside it (the repository)."""
    inside = os.path.join(PACKAGE, installed)
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(PACKAGE), checkout)


def find_hooks_folder() -> str:
    """The folder of the launcher. Its place in the wheel never changes: registered settings name it."""
    return find_shipped("hooks", "hooks")


def find_packs_folder() -> str:
    """The folder of the starter packs."""
    return find_shipped("data/packs", "contracts")


def find_launcher() -> str:
    """The launcher that a harness registers."""
    return os.path.join(find_hooks_folder(), "run.sh")


def find_state_folder() -> str:
    """The folder of the trust store: $XDG_STATE_HOME/truecall or its default."""
    given = os.environ.get("XDG_STATE_HOME", "")
    root = given if given.startswith("/") else os.path.expanduser("~/.local/state")
    return os.path.join(root, "truecall")


def locate_runs_mark(state: str, session: str) -> str:
    """The file that is there while work of a session goes on in the background (unsettled.set_mark); `session` as the
    name of a folder."""
    return os.path.join(state, "open", session, "runs.done")


def find_user_file() -> str:
    """The person's own contract file, judged in every project."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    root = given if given.startswith("/") else os.path.expanduser("~/.config")
    return os.path.join(root, "truecall", "truecall.yaml")


def find_project_folder(variable: str) -> str:
    """The folder whose contracts count: the project's, never one that the agent chose for a command. `variable` is
    the one in which the harness names it, if it has one."""
    given = os.environ.get(variable, "") if variable else ""
    if given.startswith("/"):
        return given
    try:
        return os.getcwd()
    except OSError:  # the folder was deleted under us: Linux still knows its name, elsewhere the shell may
        try:
            named = os.readlink("/proc/self/cwd").removesuffix(" (deleted)")
        except OSError:
            named = os.environ.get("PWD", "")
    if not named.startswith("/"):
        raise PayloadError("the working folder was deleted, so its contracts cannot be found")
    return named


def read_bytes(path: str, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file, never through a FIFO or device. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not modes.S_ISREG(found.st_mode):
            raise OSError(22, "it is not a regular file", path)
        if found.st_size > limit:
            raise OSError(27, f"it is larger than {limit >> 20} MB", path)
        pieces = []
        size = 0
        while size <= limit and (piece := os.read(descriptor, 1 << 20)):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)
