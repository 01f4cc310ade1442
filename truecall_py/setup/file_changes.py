"""Changes to a person's files: looked at, shown, made. A file that anybody changed since it was looked at is left
alone; a link stays one, a mode is kept, and a reader sees the old file or the new one."""

from __future__ import annotations

import os

from truecall_py.clients.settings_files import ChangeError, Seen, look
from truecall_py.core.atomic_write import write_whole
from truecall_py.core.record import record
from truecall_py.setup import backups
from truecall_py.setup.backups import Record

UNTOUCHED = "; nothing was changed"


@record(frozen=True)
class Change:
    """What a file shall hold (None: it goes), and the record to keep (None: forgotten) under `name`."""

    seen: Seen
    data: bytes | None
    record: Record | None
    name: str
    mode: int = 0o666  # of a new file, before the person's umask


def may(change: Change) -> None:
    """Raises ChangeError for a file that its owner has closed, or whose replacing would lose something."""
    seen = change.seen
    if seen.data is None:
        return
    about = os.stat(seen.target)
    if not about.st_mode & 0o222 or not os.access(seen.target, os.W_OK):
        do = f"chmod u+w {seen.target}, or paste by hand what `--dry-run` shows"
        raise ChangeError("the file is read-only", seen.path, do)
    if about.st_nlink > 1:
        do = "make it a symbolic link, or paste by hand what `--dry-run` shows"
        raise ChangeError("the file has a second name (a hard link), which would keep the old content", seen.path, do)


def require_unchanged(seen: Seen) -> None:
    """Raises ChangeError where the file is no longer what was looked at."""
    now = look(seen.path)
    if (now.target, now.data) != (seen.target, seen.data):
        raise ChangeError(f"another program changed it at this very moment{UNTOUCHED}", seen.path, "run this again")


def make(changes: list[Change], state: str) -> list[str]:
    """Makes the changes, all or none; where the backups are. Raises ChangeError."""
    for change in changes:
        may(change)
    done: list[tuple[Change, Record | None]] = []
    saved = []
    for change in changes:
        old = backups.load(state, change.name)
        try:
            saved.append(apply_change(change, old, state))
        except BaseException as error:
            for earlier, record_then in reversed(done):
                revert(earlier, record_then, state)
            if not isinstance(error, OSError):
                raise
            what = f"it cannot be written: {error.strerror}{UNTOUCHED}"
            do = "make room or mend the permissions, and run this again"
            raise ChangeError(what, error.filename or change.seen.path, do) from None
        done.append((change, old))
    return [path for path in saved if path]


def apply_change(change: Change, old: Record | None, state: str) -> str:
    """Makes one change, or leaves everything as it was; where its backup is, or ""."""
    seen, new, backup = change.seen, change.record, ""
    folders = list_missing_folders(seen.target) if change.data is not None else ()
    if new is not None:
        new = Record(new.path, new.before, new.after, new.pieces, new.created, (*new.folders, *folders))
    try:
        if new is not None:
            backup = backups.save(state, new)
        for folder in folders:
            os.mkdir(folder)
        if change.data is not None:
            write_whole(seen.target, change.data, find_mode(change), lambda: require_unchanged(seen))
        else:
            require_unchanged(seen)
            if seen.data is not None:
                os.unlink(seen.target)
    except BaseException:
        restore(old, change.name, state)
        leave(folders)
        raise
    if new is None:
        backups.drop(state, change.name)
    if change.data is None and old is not None:
        leave(old.folders)
    return backup


def revert(change: Change, old: Record | None, state: str) -> None:
    """Takes a change back that was made."""
    seen = change.seen
    if seen.data is None:
        os.unlink(seen.target)
        now = backups.load(state, change.name)
        leave(now.folders if now else ())
    else:
        os.makedirs(os.path.dirname(seen.target), exist_ok=True)
        write_whole(seen.target, seen.data, seen.mode)
    restore(old, change.name, state)


def restore(old: Record | None, path: str, state: str) -> None:
    if old is not None:
        backups.save(state, old)
    else:
        backups.drop(state, path)


def find_mode(change: Change) -> int:
    if change.seen.data is not None:
        return change.seen.mode | (change.mode & 0o111)
    mask = os.umask(0)
    os.umask(mask)
    return change.mode & ~mask


def list_missing_folders(path: str) -> tuple[str, ...]:
    """The folders that a new file needs, the outermost first."""
    missing = []
    folder = os.path.dirname(path)
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return tuple(reversed(missing))


def leave(folders: tuple[str, ...]) -> None:
    """Removes folders that were made for a file, as far as they are empty."""
    for folder in reversed(folders):
        try:
            os.rmdir(folder)
        except OSError:
            return


def render_difference(change: Change) -> str:
    """A change as a unified diff."""
    from difflib import unified_diff

    old, new = (split_lines(data) for data in (change.seen.data, change.data))
    before = "/dev/null" if change.seen.data is None else change.seen.path
    after = "/dev/null" if change.data is None else change.seen.path
    found = unified_diff(old, new, before, after)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in found)


def split_lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8", "replace")
    return [line + "\n" for line in text.split("\n")[:-1]] + ([last] if (last := text.rpartition("\n")[2]) else [])
