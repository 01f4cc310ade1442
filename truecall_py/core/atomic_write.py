"""Writes a file so that a reader sees the old content or the new one, never a part. Does not follow a link at the
path and keeps the file's owner. A draft is removed on any failure; one left by a killed process is removed by the
next write of the same file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat as modes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SUFFIX, LETTERS = ".draft", "0123456789abcdef"


def write_whole(path: str, data: bytes, mode: int = 0o600, last: Callable[[], None] | None = None) -> None:
    """Writes `data` to `path` with that mode, through a draft beside it. `last` runs right before the draft replaces
    the file, and can stop it by raising. Raises OSError."""
    write_pieces(path, (data,), mode, last)


def write_pieces(
    path: str, pieces: Iterable[bytes], mode: int = 0o600, last: Callable[[], None] | None = None
) -> None:
    """Does the same for data that comes in pieces, so that it need not fit in memory."""
    remove_stale_drafts(path)
    draft, descriptor = open_draft(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            keep_owner(path, file.fileno())
            if mode != 0o600:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            if last is not None:
                last()
            os.replace(draft, path)  # before the file is closed: its lock says that somebody is at it
    except BaseException:
        if os.path.lexists(draft):
            os.unlink(draft)
        raise


def open_draft(path: str) -> tuple[str, int]:
    """Returns (path of a new draft beside `path`, its descriptor). The draft is locked while the descriptor is open.
    Raises OSError."""
    while True:
        draft = f"{path}.{os.urandom(4).hex()}{SUFFIX}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken = not has_name(draft, descriptor)
        except BlockingIOError:
            taken = True
        except OSError:  # a file system without locks, where nobody can take a draft for a stale one either
            taken = False
        if not taken:
            return draft, descriptor
        # Somebody cleared it in the moment before it was locked.
        os.close(descriptor)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)


def has_name(draft: str, descriptor: int) -> bool:
    """Tells whether the file of a descriptor still has this name."""
    try:
        return os.path.samestat(os.lstat(draft), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def hold_stale_drafts(path: str) -> Iterator[str]:
    """Yields the drafts of this file that a killed process left: named as ours, regular, owned by us and unlocked.
    Each stays locked until the next one is requested."""
    folder, name = os.path.split(path)
    try:
        names = sorted(os.listdir(folder or "."))
    except OSError:
        return
    for candidate in names:
        middle = candidate[len(name) + 1 : -len(SUFFIX)]
        if candidate != f"{name}.{middle}{SUFFIX}" or len(middle) != 8 or middle.strip(LETTERS):
            continue
        draft = os.path.join(folder, candidate)
        with contextlib.suppress(OSError):
            descriptor = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                status = os.fstat(descriptor)
                if modes.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_nlink == 1:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    yield draft
            finally:
                os.close(descriptor)


def remove_stale_drafts(path: str) -> None:
    """Removes the stale drafts of a file, where permissions allow it."""
    for draft in hold_stale_drafts(path):
        with contextlib.suppress(OSError):
            os.unlink(draft)


def keep_owner(path: str, descriptor: int) -> None:
    """Gives a draft the owner and, where permitted, the group of the file that it replaces. Raises PermissionError if
    the file would change its owner."""
    try:
        old_status = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return
    new_status = os.fstat(descriptor)
    if old_status.st_uid != new_status.st_uid:
        os.fchown(descriptor, old_status.st_uid, old_status.st_gid)
    elif old_status.st_gid != new_status.st_gid:
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, -1, old_status.st_gid)
