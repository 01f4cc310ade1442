"""Whether a file lies in the git worktree in which the session works, told from the .git files alone. Runs
no git and reads no configuration, which could be hostile."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.world import World

OWN_FOLDERS = (".git", ".claude", ".codex", ".agents")  # shared by all worktrees on purpose


def top(folder: str, world: World) -> tuple[str, bool] | None:
    """(top level, whether it is a linked worktree) of the checkout around a folder."""
    while True:
        mark = os.path.join(folder, ".git")
        found = world.stat(mark)
        if found is not None:
            return folder, not os.path.isdir(mark)
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)


def main_checkout(linked: str, world: World) -> str | None:
    """The main checkout that a linked worktree belongs to."""
    text = world.read(os.path.join(linked, ".git"))[:4096].decode("utf-8", "replace").strip()
    name, _, place = text.partition(":")
    if name != "gitdir":
        return None
    place = os.path.normpath(os.path.join(linked, place.strip()))
    common, found, _ = place.rpartition("/.git/worktrees/")
    return common if found else None


def below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def strayed(path: str, cwd: str | None, world: World) -> str:
    """The main checkout, if `path` lies there while the session works in a linked worktree; else ""."""
    if cwd is None:
        return ""
    here = top(os.path.realpath(cwd), world)
    if here is None or not here[1]:
        return ""
    main = main_checkout(here[0], world)
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    if main is None or not below(real, os.path.realpath(main)) or below(real, here[0]):
        return ""
    inside = os.path.relpath(real, os.path.realpath(main)).split(os.sep)
    return "" if inside[0] in OWN_FOLDERS else main
