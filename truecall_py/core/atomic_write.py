"""Writes a file so that a reader sees the old one or the new one, never a part. Never follows a link at the
path itself, never takes a file away from its owner, and leaves no draft behind, whatever stops it short of
a kill; what a kill left is taken away by the next one that writes the same file."""

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
    """Writes `data` to `path` with that mode, through a draft beside it. `last` looks once more right before the
    draft takes the file's place, and stops it by raising. Raises OSError."""
    write_pieces(path, (data,), mode, last)


def write_pieces(
    path: str, pieces: Iterable[bytes], mode: int = 0o600, last: Callable[[], None] | None = None
) -> None:
    """The same for data that comes in pieces, and need not be held whole."""
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
    """(A new draft beside the path, its descriptor), locked as long as that is open. Raises OSError."""
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
    """Whether the file behind a descriptor still has that name."""
    try:
        return os.path.samestat(os.lstat(draft), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def hold_stale_drafts(path: str) -> Iterator[str]:
    """The drafts of this very file that a killed process left: our names, our regular files, locked by nobody. Each
    is held locked until the next one is asked for."""
    folder, name = os.path.split(path)
    try:
        names = sorted(os.listdir(folder or "."))
    except OSError:
        return
    for each in names:
        middle = each[len(name) + 1 : -len(SUFFIX)]
        if each != f"{name}.{middle}{SUFFIX}" or len(middle) != 8 or middle.strip(LETTERS):
            continue
        draft = os.path.join(folder, each)
        with contextlib.suppress(OSError):
            descriptor = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                about = os.fstat(descriptor)
                if modes.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and about.st_nlink == 1:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    yield draft
            finally:
                os.close(descriptor)


def remove_stale_drafts(path: str) -> None:
    """Removes the stale drafts of a file, as far as we may."""
    for draft in hold_stale_drafts(path):
        with contextlib.suppress(OSError):
            os.unlink(draft)


def keep_owner(path: str, descriptor: int) -> None:
    """Gives a draft the owner and, where we may, the group of the file that it replaces. Raises PermissionError
    where the file would become somebody else's."""
    try:
        before = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return
    ours = os.fstat(descriptor)
    if before.st_uid != ours.st_uid:
        os.fchown(descriptor, before.st_uid, before.st_gid)
    elif before.st_gid != ours.st_gid:
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, -1, before.st_gid)
