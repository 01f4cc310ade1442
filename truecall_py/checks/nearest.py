"""The nearest names that do exist, so that a correction can offer choices instead of "wrong path"."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.world import World

LIMIT = 3
LONGEST = 500  # entries of a folder that are compared


def pairs(name: str) -> set[str]:
    low = f" {name.lower()} "
    return {low[index : index + 2] for index in range(len(low) - 1)}


def likeness(left: str, right: str) -> float:
    """From 0 to 1: how many neighbouring letters two names share (Dice's coefficient)."""
    ours, theirs = pairs(left), pairs(right)
    return 2 * len(ours & theirs) / (len(ours) + len(theirs))


def nearest(path: str, world: World) -> tuple[str, ...]:
    """Up to LIMIT existing paths whose names are most like the one that is missing."""
    folder, name = os.path.split(path.rstrip("/"))
    ranked = sorted(((likeness(name, other), other) for other in world.names(folder)[:LONGEST]), reverse=True)
    return tuple(os.path.join(folder, other) for score, other in ranked[:LIMIT] if score >= 0.5)
