"""Writes a file so that a reader sees the old one or the new one, never a part. Never follows a link at the
path itself, never takes a file away from its owner, and leaves no draft behind, whatever stops it short of
a kill."""

from __future__ import annotations

import contextlib
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def write_whole(path: str, data: bytes, mode: int = 0o600, last: Callable[[], None] | None = None) -> None:
    """Writes `data` to `path` with that mode, through a draft beside it. `last` looks once more right before the
    draft takes the file's place, and stops it by raising. Raises OSError."""
    draft = f"{path}.{os.urandom(4).hex()}.draft"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            keep_owner(path, file.fileno())
            if mode != 0o600:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        if last is not None:
            last()
        os.replace(draft, path)
    except BaseException:
        if os.path.lexists(draft):
            os.unlink(draft)
        raise


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
