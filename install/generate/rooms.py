"""The rooms of the package, and which imports from which, read from the source."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from truecall_py.core.paths import PACKAGE


def names() -> list[str]:
    """The rooms, by name."""
    return sorted(name for name in os.listdir(PACKAGE) if os.path.exists(os.path.join(PACKAGE, name, "__init__.py")))


def purpose(room: str) -> str:
    """The first sentence of a room's docstring."""
    with open(os.path.join(PACKAGE, room, "__init__.py"), encoding="utf-8") as file:
        text = " ".join((ast.get_docstring(ast.parse(file.read())) or "").split())
    return text.partition(". ")[0].rstrip(".") + "."


def imported(room: str) -> set[str]:
    """The rooms that a room imports from, lazily or not; imports for the type checker do not count."""
    edges = set()
    for folder, _, files in os.walk(os.path.join(PACKAGE, room)):
        for name in files:
            if name.endswith(".py"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    edges |= set(targets(ast.parse(file.read())))
    return (edges & set(names())) - {room}


def targets(node: ast.AST) -> Iterator[str]:
    """The second part of every `truecall_py.ROOM` that is imported below a node."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "truecall_py":
        below = (node.module or "").split(".")[1:]
        yield from below[:1] or [alias.name for alias in node.names]
    for child in ast.iter_child_nodes(node):
        yield from targets(child)


def levels() -> list[list[str]]:
    """The rooms from the ground up: each is one level above the highest room that it imports from. Raises ValueError
    for a circle."""
    above = {room: imported(room) for room in names()}
    done: list[list[str]] = []
    while above:
        level = sorted(room for room, below in above.items() if not below & set(above))
        if not level:
            raise ValueError(f"a circle of imports among {', '.join(sorted(above))}")
        done.append(level)
        for room in level:
            del above[room]
    return done


def ordered() -> list[str]:
    """The rooms in one list, each after the rooms that it imports from."""
    return [room for level in levels() for room in level]
