"""The house: one direction of imports, one place for each kind of access, no module too long."""

import ast
import os

import pytest

from truecall_py import checks, harnesses
from truecall_py.places import PACKAGE

# From the ground up: a module imports from its own layer and the ones before it.
LAYERS = (
    ("types", "records", "sqlite_driver", "errors", "fields", "wire", "globs", "secrecy", "masking", "digest", "places", "__init__",
     "registration", "atomic", "settings", "validity", "entries", "switch"),
    ("regex", "program", "process", "processes", "network", "listeners", "databases", "slow", "snapshots", "world", "repository", "remotes"),
    ("matchers", "template", "shell", "shell_words", "shell_grammar", "shell_pieces", "shell_course", "shell_calls", "shell_aftermath",
     "shell_patterns", "shell_matching", "runs",
     "transcript", "facts", "budgets", "contract", "contract_fields", "checks"),
    ("looks", "receipts", "engine", "steps", "beforehand", "trust", "ledger", "memory", "attempts", "rests", "operations", "standing", "claims", "unsettled", "sessions", "callnames", "missed", "history", "calls", "figures",
     "otlp", "sequels"),
    ("codes", "schema_formats", "yamltext", "yamlwriting", "provenance", "grammar", "structure", "sites", "timing", "settlements", "rules", "guard_rules", "backtracking", "advice", "compiled", "loader"),
    ("pinning", "backups", "changes", "codex_trust"),
    ("policy", "wording", "trouble_words", "stop_words", "operation_words", "guard_words"),
    ("harnesses",),
    ("notices", "remembering", "signals", "fates", "requirements"),
    ("weighing", "lookups", "intents", "judging", "settling", "orphans", "gate", "stopping", "reconciling", "guarding"),
    ("bugs", "alarm", "incoming", "unjudged", "hook", "library", "slow_lane", "documents", "committed", "installs",
     "inventory", "switches", "surroundings", "canary", "diagnosis", "enforcement", "beginnings",
     "strays", "smallworld", "examples", "evidence", "recorded_shell", "recording", "appending", "ancestor_words", "ancestor",
     "rejudging", "traces", "past", "replaying", "claiming", "workers"),
    ("commands", "generated"),
    ("cli",),
    ("__main__",),
)  # fmt: skip
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# Imports against the direction, each with its reason.
ALLOWED = {
    ("__init__", "library"): "loaded when it is asked for",
    ("world", "slow"): "the world is the door, and loads what a contract asks for",
    ("facts", "harnesses"): "the text of an answer is made only when asked for (harnesses.content)",
    ("slow_lane", "pinning"): "the child of the slow lane recompiles",
}
DOORS = {
    "subprocess": {"process", "committed", "commands", "smallworld"},
    "socket": {"network", "listeners"},
    "http": {"network", "smallworld"},
    "ssl": {"network"},
    "sqlite3": {"databases"},
    "xml": {"checks", "commands"},
    "yaml": {"yamltext", "documents"},
    "rich": {"commands"},
    "click": {"cli", "commands"},
    "jsonschema": {"structure", "grammar", "rules", "slow_lane"},
}


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
        if there == "__version__":
            continue
        assert RANK[there] <= RANK[here] or (here, there) in ALLOWED, f"{path} imports {name}"


@pytest.mark.parametrize("path", modules())
def test_each_kind_of_access_has_its_door(path: str) -> None:
    """Processes, sockets, YAML and the libraries of the command line are imported where they belong alone."""
    for name, for_types in imports(path):
        owners = DOORS.get(name.split(".")[0])
        assert owners is None or for_types or part(path) in owners, f"{path} imports {name}"


@pytest.mark.parametrize("path", modules())
def test_a_module_says_what_it_is_for_and_is_not_too_long(path: str) -> None:
    """Every module begins with a docstring and stays below 360 lines."""
    with open(os.path.join(PACKAGE, path), encoding="utf-8") as file:
        text = file.read()
    assert ast.get_docstring(ast.parse(text)), path
    assert len(text.splitlines()) <= 360, path


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
            if not broad or part(path) in ("hook", "unjudged", "engine", "looks", "cli", "slow_lane", "network"):
                continue
            assert any(isinstance(inner, ast.Raise) for inner in ast.walk(node)), f"{path}:{node.lineno}"


@pytest.mark.parametrize("name", checks.NAMES)
def test_a_check_declares_all_that_is_asked_of_it(name: str) -> None:
    """Every check names itself, its fields, what it asserts and its examples, one that passes and one that fails."""
    module = checks.module(name)
    assert name == module.NAME
    assert module.SUMMARY and module.FIELDS and callable(module.run) and callable(module.expect)
    assert {field.name for field in module.FIELDS} >= set(module.ASSERTS)
    assert {"verified", "refuted"} <= {example["verdict"] for example in module.EXAMPLES}


@pytest.mark.parametrize("name", harnesses.NAMES)
def test_a_harness_declares_all_that_is_asked_of_it(name: str) -> None:
    """Every harness names itself, its events, its registration and the launcher's answers."""
    module = harnesses.module(name)
    assert name == module.NAME
    assert set(module.HANDLED) <= set(module.STATIC)
    assert not set(module.HANDLED) & module.KNOWN
    assert callable(module.parse) and callable(module.render) and module.REGISTRATION
