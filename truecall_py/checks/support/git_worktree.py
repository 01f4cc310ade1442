"""Whether a file is in the git worktree of the session, by the .git files alone. It runs no git and reads no
configuration, which could be hostile."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.world.world import World


def find_top(folder: str, world: World) -> tuple[str, bool] | None:
    """Return (top level, whether it is a linked worktree) of the checkout around a folder."""
    while True:
        mark = os.path.join(folder, ".git")
        found = world.stat(mark)
        if found is not None:
            return folder, not os.path.isdir(mark)
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)


def find_main_checkout(linked: str, world: World) -> str | None:
    """Return the main checkout of a linked worktree; None for a submodule and anything else that keeps its .git
    elsewhere."""
    text = world.read(os.path.join(linked, ".git"))[:4096].decode("utf-8", "replace").strip()
    name, _, place = text.partition(":")
    if name != "gitdir":
        return None
    place = os.path.normpath(os.path.join(linked, place.strip()))
    common, found, rest = place.rpartition("/.git/worktrees/")
    return common if found and "/" not in rest else None


def find_own_top(folder: str, world: World) -> tuple[str, bool] | None:
    """Return the same as `top`, but a submodule counts as part of the checkout around it."""
    here = found = find_top(os.path.realpath(folder), world)
    while found is not None and found[1] and find_main_checkout(found[0], world) is None:
        found = find_top(os.path.dirname(found[0]), world) if found[0] != "/" else None
        here = found or here
    return here


def find_other_worktree(real: str, own: str, world: World) -> str:
    """Return the linked worktree around a real path, if it is another one than `own` (a top level) of the same
    repository; else ""."""
    owner = find_top(real if os.path.isdir(real) else os.path.dirname(real), world)
    if owner is None or owner[0] == own or not owner[1]:
        return ""
    main = find_main_checkout(owner[0], world)
    ours = (find_main_checkout(own, world) if os.path.isfile(os.path.join(own, ".git")) else own) or own
    return owner[0] if main is not None and os.path.realpath(main) == os.path.realpath(ours) else ""


def find_strayed_checkout(path: str, folder: str | None, world: World) -> str:
    """Return the main checkout if `path` is in it while the session's `folder` is in a linked worktree of it; else
    "". Another linked worktree does not count."""
    if folder is None:
        return ""
    here = find_own_top(folder, world)
    if here is None or not here[1]:
        return ""
    main = os.path.realpath(find_main_checkout(here[0], world) or "/")
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    owner = find_top(os.path.dirname(real), world)
    if owner is None or owner[0] != main:
        return ""
    return "" if os.path.relpath(real, main).split(os.sep)[0] in list_shared_folders() else main


def list_shared_folders() -> set[str]:
    """Return the folders of a main checkout that its worktrees share on purpose: those of git and of the clients."""
    from truecall_py.clients import NAMES, load_registration

    clients = [load_registration(name) for name in NAMES]
    return {".git", *(folder for client in clients for folder in (*client.scratch, *client.shared))}
