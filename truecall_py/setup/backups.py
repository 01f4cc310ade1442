"""What `install` changed, so that it can be taken back to the byte: the file as it was and what it became, under
`installs/` in the state folder. Readable by its owner alone; never the only way to take an install back."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

from truecall_py.core.atomic_write import remove_stale_drafts, write_whole
from truecall_py.core.errors import TruecallError
from truecall_py.core.hashing import sha256
from truecall_py.core.paths import read_bytes
from truecall_py.core.record import record
from truecall_py.trust.store import check_state_folder

FOLDER = "installs"


@record(frozen=True)
class Record:
    """One file that truecall has written to. `path` is the file itself, no link; `before` what it held without
    us (None: it was not there), `after` the digests of what we made of it; `pieces` and `created` as in
    entries.Merged, `folders` the folders made for it, the outermost first."""

    path: str
    before: bytes | None
    after: tuple[str, ...]
    pieces: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    def wrote(self, data: bytes | None) -> bool:
        """Whether a content is one that we made, to the byte."""
        return data is not None and sha256(data) in self.after


def locate_files(state: str, path: str) -> tuple[str, str]:
    """(Where the record of a file is, where its backup is)."""
    name = os.path.join(state, FOLDER, sha256(os.fsencode(path))[:32])
    return f"{name}.json", f"{name}.before"


def load(state: str, path: str) -> Record | None:
    """The record of a file; None where there is none, or a damaged one. Raises TruecallError for a store that
    somebody else could have written."""
    if not check_state_folder(state):
        return None
    about, backup = locate_files(state, path)
    try:
        plain = json.loads(read_bytes(about))
        if plain["path"] != path:
            return None
        before = read_bytes(backup) if plain["existed"] else None
        if before is not None and sha256(before) != plain["before"]:
            return None
        lists = {name: tuple(map(str, plain[name])) for name in ("after", "pieces", "created", "folders")}
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return Record(path, before, **lists)


def save(state: str, new: Record) -> str:
    """Keeps a record; where the backup is, or "". Raises OSError."""
    about, backup = locate_files(state, new.path)
    plain = {
        "path": new.path, "existed": new.before is not None,
        "before": sha256(new.before) if new.before is not None else "", "after": new.after[-9:],
        "pieces": new.pieces, "created": new.created, "folders": new.folders,
    }  # fmt: skip
    if new.before is not None:
        write_whole(backup, new.before)
    write_whole(about, json.dumps(plain).encode() + b"\n")
    return backup if new.before is not None else ""


def drop(state: str, path: str) -> None:
    """Forgets a record and its backup, and takes away what a killed install left beside them and beside the file
    itself. Raises OSError."""
    remove_stale_drafts(path)
    for name in locate_files(state, path):
        remove_stale_drafts(name)
        if os.path.lexists(name):
            os.unlink(name)


@contextmanager
def locked(state: str) -> Iterator[None]:
    """One install at a time. Makes the folder. Raises TruecallError."""
    folder = os.path.join(state, FOLDER)
    try:
        os.makedirs(os.path.dirname(state), exist_ok=True)
        for name in (state, folder):
            if not os.path.isdir(name):
                os.mkdir(name, 0o700)
        check_state_folder(state)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        what, do = f"the folder for backups cannot be made: {error.strerror}", "mend its permissions"
        raise TruecallError(what, error.filename or folder, f"{do}, or name another with --state") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
