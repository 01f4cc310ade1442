"""The tests lie as the package does: a folder for each room, what is shared in tests/support, and no file too long."""

from __future__ import annotations

import ast
import os

import pytest
from support.project import ROOT

from truecall_py.core.paths import PACKAGE

TESTS = os.path.join(ROOT, "tests")
# Folders for what is about no single room: benchmarks, starter packs, the repository, its site, wheels, real clients.
CROSS_CUTTING = {"bench", "packs", "repo", "docs", "packages", "e2e"}
SHARED = {"support", "data", "mutants"}
LONGEST = 620

MODULES = sorted(
    os.path.relpath(os.path.join(folder, name), TESTS)
    for folder, _, names in os.walk(TESTS)
    for name in names
    if name.startswith("test_") and name.endswith(".py")
)


def source(module: str) -> str:
    with open(os.path.join(TESTS, module), encoding="utf-8") as file:
        return file.read()


def imported(tree: ast.AST) -> set[str]:
    """The dotted names of everything that a module imports, at its top or inside its functions."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def test_every_folder_names_a_room() -> None:
    """A folder of tests has the name of a room of the package, or is one of the few that are about several."""
    rooms = {name for name in os.listdir(PACKAGE) if os.path.isdir(os.path.join(PACKAGE, name))}
    folders = {
        name for name in os.listdir(TESTS) if os.path.isdir(os.path.join(TESTS, name)) and name != "__pycache__"
    }
    assert folders <= rooms | CROSS_CUTTING | SHARED
    assert not [module for module in MODULES if os.sep not in module], "a test module belongs into a room"
    assert not [module for module in MODULES if module.split(os.sep)[0] in SHARED]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_of_tests_is_short_and_stands_alone(module: str) -> None:
    """It has at most 620 lines, its tests say what they hold, and it imports no other module of tests."""
    text = source(module)
    tree = ast.parse(text)
    assert len(text.splitlines()) <= LONGEST
    tests = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    assert [test.name for test in tests if not ast.get_docstring(test)] == []
    parts = {part for name in imported(tree) if not name.startswith("truecall_py.") for part in name.split(".")}
    assert {part for part in parts if part.startswith("test_")} == set()
