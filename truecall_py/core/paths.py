"""The paths of truecall's own files and the user's, and a safe way to read one."""

from __future__ import annotations

import os
import stat as modes

from truecall_py.core.errors import PayloadError

MAX_BYTES = 32 << 20  # bytes of a contract file, a pin or a settings file
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLD_CONTRACTS = os.path.join(PACKAGE, "contracts")  # the starter packs' folder in wheels up to 0.1.0


def find_shipped(installed: str, checkout: str) -> str:
    """Returns the folder `installed` inside the package (wheel), else `checkout` beside it (repository)."""
    inside = os.path.join(PACKAGE, installed)
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(PACKAGE), checkout)


def find_hooks_folder() -> str:
    """Returns the launcher's folder. It is fixed in the wheel, because registered settings name it."""
    return find_shipped("hooks", "hooks")


def find_packs_folder() -> str:
    """Returns the folder of the starter packs."""
    return find_shipped("data/packs", "contracts")


def find_launcher() -> str:
    """Returns the launcher that a client registers."""
    return os.path.join(find_hooks_folder(), "run.sh")


def find_state_folder() -> str:
    """Returns the state folder: $XDG_STATE_HOME/truecall or its default."""
    configured = os.environ.get("XDG_STATE_HOME", "")
    root = configured if configured.startswith("/") else os.path.expanduser("~/.local/state")
    return os.path.join(root, "truecall")


def locate_runs_mark(state: str, session: str) -> str:
    """Returns the path of the file that exists while a session has background work (pending_calls.set_mark).
    `session` is the name of its folder."""
    return os.path.join(state, "open", session, "runs.done")


def find_user_file() -> str:
    """Returns the user's own contract file, which applies in every project."""
    configured = os.environ.get("XDG_CONFIG_HOME", "")
    root = configured if configured.startswith("/") else os.path.expanduser("~/.config")
    return os.path.join(root, "truecall", "truecall.yaml")


def find_project_folder(variable: str) -> str:
    """Returns the project folder whose contracts apply. `variable` is the environment variable in which the client
    names it, or "". An agent's `cd` does not change it. Raises PayloadError if the working folder was deleted."""
    configured = os.environ.get(variable, "") if variable else ""
    if configured.startswith("/"):
        return configured
    try:
        return os.getcwd()
    except OSError:  # the folder was deleted under us: Linux still knows its name, elsewhere the shell may
        try:
            folder = os.readlink("/proc/self/cwd").removesuffix(" (deleted)")
        except OSError:
            folder = os.environ.get("PWD", "")
    if not folder.startswith("/"):
        raise PayloadError("the working folder was deleted, so its contracts cannot be found")
    return folder


def read_bytes(path: str, limit: int = MAX_BYTES) -> bytes:
    """Returns the bytes of a regular file of at most `limit` bytes; refuses FIFOs and devices. Raises
    OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not modes.S_ISREG(status.st_mode):
            raise OSError(22, "it is not a regular file", path)
        if status.st_size > limit:
            raise OSError(27, f"it is larger than {limit >> 20} MB", path)
        pieces = []
        size = 0
        while size <= limit and (piece := os.read(descriptor, 1 << 20)):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)
