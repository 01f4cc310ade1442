"""The settings files of clients: where they are, and what they say as the client itself reads them. Never writes."""

from __future__ import annotations

import os
import stat as modes

from truecall_py.clients import settings_rules
from truecall_py.clients.jsonc import Document, SettingsError
from truecall_py.clients.registration import BOM, COMMENTS, GROUPS, Registration
from truecall_py.core.errors import TruecallError, UsageError
from truecall_py.core.paths import read_bytes
from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


USER, PROJECT = "user", "project"  # the scopes of a registration


class ChangeError(TruecallError):
    """A file that cannot be changed as it must be; nothing was."""


@record(frozen=True)
class Seen:
    """A file as it was found: `path` as it is named, `target` behind all links, `data` None where none is."""

    path: str
    target: str
    data: bytes | None
    mode: int = 0

    def decode(self) -> str:
        """The text of the file. Raises SettingsError where it is not UTF-8."""
        try:
            return (self.data or b"").decode()
        except UnicodeDecodeError as error:
            raise SettingsError(f"it is not UTF-8: byte {error.start}", 0, "save it as UTF-8") from None


def look(path: str) -> Seen:
    """The file as it is. Raises ChangeError for one that cannot be read or must not be replaced."""
    target = os.path.realpath(path)
    try:
        data = read_bytes(target)
        about = os.stat(target)
    except FileNotFoundError:
        return Seen(path, target, None, 0)
    except OSError as error:
        what = f"it cannot be read: {error.strerror}"
        raise ChangeError(what, path, "look at what it is and at its permissions") from None
    return Seen(path, target, data, modes.S_IMODE(about.st_mode))


def place(about: Registration, scope: str, project: str) -> str:
    """The file that a client reads in a scope. Raises UsageError."""
    if scope == PROJECT:
        return os.path.join(project, about.project)
    variable, below, home = about.home
    given = os.environ.get(variable, "")
    if given:
        return os.path.join(os.path.abspath(given), below, about.user)
    if about.here and variable in os.environ:  # set and empty, which the client takes for the current folder
        raise UsageError(f"{variable} is set and empty", do=f"unset {variable}, or give it a folder")
    own = os.environ.get("HOME") if "HOME" in os.environ else os.path.expanduser("~")
    if not own or not own.startswith("/"):
        raise UsageError("there is no home folder to write to", do="set HOME to an absolute path")
    return os.path.join(os.path.normpath(own), home, about.user)


def find_repository(folder: str) -> str:
    """The git work tree that a folder is in, or ""."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        if folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)
    return folder


def list_names(folder: str) -> list[str]:
    """The names in a folder, sorted; none where it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


# -- what a file says ------------------------------------------------------------------------------------------


def parse_toml(text: str) -> dict[str, Any]:
    """A TOML text as plain data. Raises SettingsError."""
    import tomlkit
    from tomlkit.exceptions import ParseError, TOMLKitError

    try:
        return tomlkit.parse(text.removeprefix("\ufeff")).unwrap()
    except ParseError as error:
        lines = text.split("\n")[: error.line - 1]
        offset = sum(len(line) + 1 for line in lines) + error.col
        raise SettingsError(f"it is no TOML that can be read: {error}", offset, "mend it") from None
    except TOMLKitError as error:
        raise SettingsError(f"it is no TOML that can be read: {error}", 0, "mend it") from None


def read_plain(path: str) -> dict[str, Any]:
    """A file of TOML, or of JSON with comments, as plain data; empty where there is none that can be read."""
    try:
        text = look(path).decode()
        found = parse_toml(text) if path.endswith(".toml") else Document(text).root.plain()
    except TruecallError:
        return {}
    return found if isinstance(found, dict) else {}


def read_as_client(path: str, about: Registration) -> dict[str, Any]:
    """What a settings file tells this client; empty for one that it does not read."""
    try:
        doc = Document(look(path).decode())
    except TruecallError:
        return {}
    if doc.trailing or (doc.comments and COMMENTS not in about.reads) or (doc.bom and BOM not in about.reads):
        return {}
    if about.form == GROUPS and any(
        not fault.hooks and not fault.only for fault in settings_rules.find_faults(doc, about)
    ):
        return {}
    plain = doc.root.plain()
    return plain if isinstance(plain, dict) else {}


def find_last_switch(files: list[str], about: Registration, dotted: str) -> tuple[bool | None, str]:
    """(what the last file that says true or false at a dotted path says, that file)."""
    said, where = None, ""
    for path in files:
        found: Any = read_as_client(path, about)
        for key in dotted.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, bool):
            said, where = found, path
    return said, where
