"""The house: one direction of imports, one place for each kind of access, no module too long."""

import ast
import graphlib
import os

import pytest

from truecall_py import clients
from truecall_py.core.paths import PACKAGE

# From the ground up: a module imports from its own room and from the rooms before it.
ROOMS = (
    "core", "shell", "world", "clients", "policy", "contracts", "checks", "contract_files", "trust", "messages", "ledger",
    "judging", "guards", "operations", "stop", "hook", "api", "worker", "setup", "authoring", "replay",
    "reporting", "doctor", "cli", "__main__",
)  # fmt: skip
RANK = {"__init__": len(ROOMS), **{name: rank for rank, name in enumerate(ROOMS)}}
DOORS = {
    "subprocess": {"world/run_program", "worker/git_show", "cli/commands", "authoring/sandbox"},
    "socket": {"world/http", "world/sockets"},
    "http": {"world/http", "authoring/sandbox"},
    "ssl": {"world/http"},
    "sqlite3": {"world/sqlite"},
    "xml": {"checks/support/junit", "cli/output/junit"},
    "yaml": {"contract_files/yaml_reader", "worker/documents"},
    "rich": {"cli", "reporting/text"},
    "click": {"cli", "reporting/text"},
    "jsonschema": {"contract_files", "worker/schemas"},
}

CATCHERS = {"hook/main", "hook/fallback", "judging/engine", "judging/polling", "cli/main", "worker/main", "world/http"}


def modules() -> list[str]:
    found = []
    for folder, _, names in os.walk(PACKAGE):
        found += [os.path.join(folder, name) for name in names if name.endswith(".py")]
    return sorted(os.path.relpath(path, PACKAGE) for path in found)


def part(path: str) -> str:
    """The layer's name of a module: its package, or its own."""
    return path.split(os.sep)[0].removesuffix(".py")


def imports(path: str) -> list[tuple[str, bool]]:
    """(module, whether it is only for the type checker) of every import of a file."""
    with open(os.path.join(PACKAGE, path), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    typing = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(name.name, id(node) in typing) for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "truecall_py":
                found += [(f"truecall_py.{name.name}", id(node) in typing) for name in node.names]
            else:
                found.append((node.module, id(node) in typing))
    return found


@pytest.mark.parametrize("path", modules())
def test_imports_go_one_way(path: str) -> None:
    """A module imports only from its own layer and from those below it."""
    here = part(path)
    assert here in RANK, f"{here} has no layer yet: add it to LAYERS"
    for name, for_types in imports(path):
        if not name.startswith("truecall_py.") or for_types:
            continue
        there = name.split(".")[1]
        assert RANK[there] <= RANK[here], f"{path} imports {name}"


def module_file(name: str) -> str:
    """The file of what an import names: a module, a package, or the module that holds a name; "" for none of ours."""
    for parts in (name.split(".")[1:], name.split(".")[1:-1]):
        for path in (os.path.join(*parts, "__init__.py"), os.path.join(*parts) + ".py") if parts else ("__init__.py",):
            if os.path.isfile(os.path.join(PACKAGE, path)):
                return path
    return ""


def test_no_imports_go_in_a_circle() -> None:
    """No module imports itself by way of others, also not inside a function; what only type checkers read is free."""
    graph = {}
    for path in modules():
        with open(os.path.join(PACKAGE, path), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        typing = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
                  and node.test.id == "TYPE_CHECKING" for inner in ast.walk(node)}  # fmt: skip
        froms = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and id(node) not in typing)
        names = {f"{node.module}.{name.name}" for node in froms for name in node.names if node.module}
        names |= {name for name, for_types in imports(path) if not for_types}
        graph[path] = {module_file(name) for name in names if name.split(".")[0] == "truecall_py" and "." in name}
        graph[path] -= {path, "", os.path.join(os.path.dirname(path), "__init__.py")}
    graph["clients/transcripts.py"] = set()  # still to be untied from its readers
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


@pytest.mark.parametrize("path", modules())
def test_each_kind_of_access_has_its_door(path: str) -> None:
    """Processes, sockets, YAML and the libraries of the command line are imported where they belong alone."""
    for name, for_types in imports(path):
        owners = DOORS.get(name.split(".")[0])
        assert owners is None or for_types or any(path.startswith(owner) for owner in owners), f"{path} imports {name}"


@pytest.mark.parametrize("path", modules())
def test_a_module_says_what_it_is_for_and_its_functions_are_short(path: str) -> None:
    """Every module begins with a docstring, and no function is longer than 60 lines. A file is as long as its subject."""
    with open(os.path.join(PACKAGE, path), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    assert ast.get_docstring(tree), path
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= 60, f"{path}:{node.lineno}: {node.name} has {lines} lines"


def test_catching_everything_is_for_three_places() -> None:
    """`except Exception`, `except BaseException` and bare `except` stand in hook (with unjudged), engine (with looks) and cli; elsewhere
    only where they raise again, in the child that runs a person's code, and in the thread that hands the error
    of a name look-up on to the one that waits."""
    for path in modules():
        with open(os.path.join(PACKAGE, path), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for node in ast.walk(tree):
            if not isinstance(node, ast.ExceptHandler):
                continue
            broad = node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))
            if not broad or path.removesuffix(".py") in CATCHERS:
                continue
            assert any(isinstance(inner, ast.Raise) for inner in ast.walk(node)), f"{path}:{node.lineno}"


@pytest.mark.parametrize("name", clients.NAMES)
def test_a_harness_declares_all_that_is_asked_of_it(name: str) -> None:
    """Every harness names itself, its events, its registration and the launcher's answers."""
    module = clients.load_hook(name)
    assert name == module.NAME
    assert set(module.HANDLED) <= set(module.STATIC)
    assert not set(module.HANDLED) & module.KNOWN
    assert callable(module.parse) and callable(module.render)
