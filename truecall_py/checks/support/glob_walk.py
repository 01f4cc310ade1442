"""Finds the entries that match a glob: `*` is any name or part of one, `?` a character, `**` any folders; `[*]`,
`[?]` and `[[]` are the characters themselves. A leading dot must be written. The search is bounded in entries, depth
and time. An unreadable folder never counts as empty, and links to folders are not followed."""

from __future__ import annotations

import os
import stat as modes

from truecall_py.core.errors import Unverified

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from truecall_py.world.world import World

    Pattern = list[tuple[str, bool]]

MOST = 100_000  # the most entries that are read
DEEPEST = 60  # folders below the first
STARS = "**"


def find_entries(glob: str, world: World) -> Iterator[tuple[str, os.stat_result]]:
    """Return (path, stat result without following links) of everything that matches. Raises Unverified."""
    root, patterns = split_glob(glob)
    pending = [(world.resolve(root) if root else os.path.normpath(world.resolve(".")), 0, 0)]
    seen: set[tuple[str, int]] = set()
    ends = world.now() + world.budget(2.0)
    looked = 0
    while pending:
        folder, at, depth = pending.pop()
        if (folder, at) in seen:
            continue
        seen.add((folder, at))
        if depth > DEEPEST:
            raise Unverified(f"{folder} lies more than {DEEPEST} folders deep, and was not looked at", "probe")
        if patterns[at] == STARS and at + 1 < len(patterns):
            pending.append((folder, at + 1, depth))  # it may be no folder at all
        for path, name, found in list_folder(folder, world):
            looked += 1
            if looked > MOST or world.now() > ends:
                what = f"more than {MOST} entries" if looked > MOST else "too many entries for the time of one look"
                raise Unverified(f"{glob} names {what}", "probe")
            if not matches_name(patterns[at], name):
                continue
            is_folder = modes.S_ISDIR(found.st_mode)
            if at + 1 == len(patterns):
                yield path, found
            elif is_folder and patterns[at] != STARS:
                pending.append((path, at + 1, depth + 1))
            if is_folder and patterns[at] == STARS:
                pending.append((path, at, depth + 1))


def split_glob(glob: str) -> tuple[str, list[str | Pattern]]:
    """Return (the folder before the first wildcard, the patterns below it, one per name). Raises Unverified."""
    names = [name for name in glob.split("/") if name not in ("", ".")]
    root: list[str] = []
    while len(names) > 1 and names[0] != STARS and all(plain for _, plain in compile_pattern(names[0])):
        root.append("".join(character for character, _ in compile_pattern(names.pop(0))))
    if not names or ".." in names:
        raise Unverified(f"the glob {glob} ends in no name, or climbs (..) behind a wildcard", "contract")
    start = "/" if glob.startswith("/") else ""
    return start + "/".join(root), [STARS if name == STARS else compile_pattern(name) for name in names]


def compile_pattern(name: str) -> Pattern:
    """Return (character, whether it is literal) for one name of a glob."""
    found: Pattern = []
    at = 0
    while at < len(name):
        if name[at] == "[" and name[at + 1 : at + 2] in ("*", "?", "[") and name[at + 2 : at + 3] == "]":
            found.append((name[at + 1], True))
            at += 3
        else:
            found.append((name[at], name[at] not in "*?"))
            at += 1
    return found


def matches_name(wanted: str | Pattern, name: str) -> bool:
    """Whether a name matches a pattern."""
    if wanted == STARS:
        return not name.startswith(".")
    if name.startswith(".") and wanted[0] != (".", True):
        return False
    at = place = 0
    star, mark = -1, 0
    while place < len(name):
        if at < len(wanted) and wanted[at] == ("*", False):
            star, mark = at, place
            at += 1
        elif at < len(wanted) and wanted[at] in (("?", False), (name[place], True)):
            at += 1
            place += 1
        elif star >= 0:
            mark += 1
            at, place = star + 1, mark
        else:
            return False
    return all(part == ("*", False) for part in wanted[at:])


def list_folder(folder: str, world: World) -> Iterator[tuple[str, str, os.stat_result]]:
    """Return (path, name, stat result) of each entry of a folder, none without a folder. Raises Unverified if it is
    unreadable."""
    try:
        with os.scandir(folder) as found:
            for entry in found:
                try:
                    yield entry.path, entry.name, entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # gone since it was listed
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise Unverified(f"the folder {folder} cannot be read: {error.strerror}", "world") from None
    except ValueError as error:
        raise Unverified(f"the glob cannot be looked at: {error}", "tool") from None
