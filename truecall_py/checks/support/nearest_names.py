"""Finds the nearest existing names, so that a correction offers choices. It names only what exists, and reads a
bounded number of entries."""

from __future__ import annotations

import os
import stat as modes

from truecall_py.core.errors import Unverified

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.world.world import World

LIMIT = 3
LONGEST = 500  # entries of a folder that are compared
ALIKE = 0.5
DEEP = 6  # folders of a path that may be misspelt
MOST, SECONDS = 20_000, 0.3  # entries and time of the search for the same name elsewhere
PASSED = frozenset(("node_modules", "__pycache__", "venv", "target", "dist", "build"))


def list_letter_pairs(name: str) -> set[str]:
    low = f" {name.lower()} "
    return {low[index : index + 2] for index in range(len(low) - 1)}


def score_likeness(left: str, right: str) -> float:
    """Return the share of neighbouring letters that two names have in common, from 0 to 1 (Dice's coefficient)."""
    ours, theirs = list_letter_pairs(left), list_letter_pairs(right)
    return 2 * len(ours & theirs) / (len(ours) + len(theirs))


def find_nearest(path: str, world: World, far: bool = False) -> tuple[str, ...]:
    """Return up to LIMIT existing paths that are most like the missing one: in its folder, or in folders with similar
    names. With `far` also files of the same name elsewhere in the project."""
    folder, name = os.path.split(path.rstrip("/"))
    found = list_similar(folder, name, world)
    if not found and not is_present(folder or "/", world):
        found = find_misspelt(path, world)
    if far:  # the same name in another folder is likelier than another name in this folder
        sure = [each for each in found if find_stem(each) == find_stem(name)]
        found = list(dict.fromkeys([*sure, *find_elsewhere(name, world), *found]))
    return tuple(found[:LIMIT])


def find_stem(path: str) -> str:
    """Return the name of a file without its ending, in lower case."""
    return os.path.splitext(os.path.basename(path))[0].lower()


def list_similar(folder: str, name: str, world: World) -> list[str]:
    """Return the entries of a folder with similar names, the most similar first."""
    ranked = sorted(((score_likeness(name, other), other) for other in world.names(folder)[:LONGEST]), reverse=True)
    return [os.path.join(folder, other) for score, other in ranked[:LIMIT] if score >= ALIKE]


def find_misspelt(path: str, world: World) -> list[str]:
    """Return the same path below folders with similar names."""
    missing: list[str] = []
    folder = path.rstrip("/")
    while not is_present(folder or "/", world) and folder.strip("/"):
        folder, name = os.path.split(folder)
        missing.insert(0, name)
    if len(missing) > DEEP or not missing:
        return []
    here = [folder or "/"]
    for name in missing[:-1]:
        here = [other for each in here for other in list_candidate_folders(each, name, world)][:LIMIT]
    exact = [os.path.join(each, missing[-1]) for each in here]
    found = [each for each in exact if is_present(each, world)]
    return found or [other for each in here for other in list_similar(each, missing[-1], world)][:LIMIT]


def list_candidate_folders(folder: str, name: str, world: World) -> list[str]:
    """Return the folder of that name, or those with similar names."""
    exact = os.path.join(folder, name)
    if is_present(exact, world):
        return [exact]
    return [each for each in list_similar(folder, name, world) if is_folder(each, world)]


def is_present(path: str, world: World) -> bool:
    """Whether anything exists at a path. An unreadable path is not offered."""
    try:
        return world.stat(path) is not None
    except Unverified:
        return False


def is_folder(path: str, world: World) -> bool:
    """Whether a path is a folder, not a link to one."""
    try:
        found = world.stat(path, follow=False)
    except Unverified:
        return False
    return found is not None and modes.S_ISDIR(found.st_mode)


def find_elsewhere(name: str, world: World) -> list[str]:
    """Return the files of that name elsewhere in the project, in any case and with any ending. Hidden and generated
    files are skipped, like a project that is too large to search."""
    root = world.project or world.session or ""
    if not root or root == "/" or root == world.home:
        return []
    exact: list[str] = []
    similar: list[str] = []
    pending, looked, ends = [root], 0, world.now() + min(SECONDS, max(0.0, world.ends - world.now()))
    while pending and len(exact) < LIMIT and looked < MOST and world.now() < ends:
        folder = pending.pop(0)
        for other in world.names(folder):
            looked += 1
            path = os.path.join(folder, other)
            if other == name:
                exact.append(path)
            if "." not in other and other not in PASSED and is_folder(path, world):
                pending.append(path)
            elif len(similar) < LIMIT and other != name and find_stem(other) == find_stem(name):
                similar.append(path)
    return [*exact, *similar][:LIMIT]
