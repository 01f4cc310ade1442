"""The pack `node` against real commands: npm and node's own test runner, run by a real shell without a network. Honest
work hears nothing; the same call, with its effect undone, is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

import pytest
from support.real_commands import Call, environment, pack

pytestmark = pytest.mark.skipif(not shutil.which("npm") or not shutil.which("node"), reason="needs npm and node")
PATH = os.path.dirname(shutil.which("node") or "/usr/bin/node")
FILES = {
    "left/package.json": {"name": "left", "version": "1.2.0"},
    "scoped/package.json": {"name": "@demo/scoped", "version": "0.1.0"},
    "app/package.json": {"name": "app", "version": "1.0.0", "scripts": {"test": "node --test"}},
    "app/src/a.js": "",
    "tested/package.json": {"name": "tested", "version": "1.0.0", "scripts": {"test": "node --test"}},
    "tested/test/a.test.js": "require('node:test')('works', () => {});\n",
    "many/package.json": {"name": "many", "version": "1.0.0", "workspaces": ["packages/*"]},
    "many/packages/a/package.json": {"name": "a", "version": "1.0.0"},
}


@pytest.fixture(scope="module")
def contracts(tmp_path_factory: Any) -> Any:
    return pack("node", tmp_path_factory.mktemp("pack"))


@pytest.fixture(scope="module")
def template(tmp_path_factory: Any) -> Any:
    folder = tmp_path_factory.mktemp("home") / "template"
    for path, held in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(held if isinstance(held, str) else json.dumps(held))
    env = environment(folder.parent, PATH)
    subprocess.run(["npm", "pack", "../left"], cwd=folder / "left", check=True, env=env, capture_output=True)
    for place in (".", "app/src", "many/packages/a"):
        shutil.copy(folder / "left/left-1.2.0.tgz", folder / place)
    return folder


@pytest.fixture
def world(template: Any, tmp_path: Any) -> Any:
    shutil.copytree(template, tmp_path / "world", symlinks=True)
    return tmp_path / "world"


INSTALLS = [  # a command, where it runs, what it leaves in node_modules that `installed` looks for
    ("npm install left@file:../left-1.2.0.tgz", "app", ["node_modules/left"]),
    ("npm i -D 'left@file:../left' @demo/scoped@file:../scoped", "app", ["node_modules/left", "node_modules/@demo/scoped"]),
    ("npm add --no-audit --no-fund pad@file:../left", "app", ["node_modules/pad"]),
    ("cd app && npm install --silent --save-exact left@file:../left", ".", ["app/node_modules/left"]),
    ("npm install left@file:left-1.2.0.tgz", "app/src", []),
    ("npm install -D left@file:left-1.2.0.tgz", "many/packages/a", ["../../node_modules/left"]),
    ("npm install ../left ../left-1.2.0.tgz", "app", []),
    ("npm install --dry-run left@file:../left", "app", []),
    ("npm install --package-lock-only left@file:../left", "app", []),
    ("npm install --prefix ../tested left@file:../left", "app", []),
    ("npm install -w a left@file:../left", "many", []),
    ("npm install left@file:../left | tail -1", "app", []),
    ("npm install no-such-package", "app", []),
    ("npm install no-such-package || true", "app", []),
    ("npm install", "app", []),
    ("npm install --help", "app", []),
]


@pytest.mark.parametrize(("command", "folder", "found"), INSTALLS, ids=[command for command, _, _ in INSTALLS])
def test_what_npm_installs(command: str, folder: str, found: list[str], contracts: Any, world: Any) -> None:
    """A package that npm installed is found; removed from node_modules, it is refused."""
    here = world / folder
    call = Call(command, here, contracts, world.parent, PATH)
    if folder == "app/src":  # npm installs into the project above
        call.honest("installed")
        return
    call.honest("installed " * len(found))
    for path in found:
        at = here / path
        at.unlink() if at.is_symlink() else shutil.rmtree(at)
        assert f"{path.partition('node_modules/')[2]} is not in" in call.refused("installed")


def test_what_npm_uninstalls(contracts: Any, world: Any) -> None:
    """A package that npm uninstalled is no longer named; still named in package.json, it is refused."""
    here = world / "app"
    Call("npm install left@file:../left", here, contracts, world.parent, PATH).honest("installed")
    named = (here / "package.json").read_text()
    call = Call("npm uninstall left", here, contracts, world.parent, PATH)
    call.honest("uninstalled")
    (here / "package.json").write_text(named)
    assert "left" in call.refused("uninstalled")
    Call("npm uninstall --no-save left", here, contracts, world.parent, PATH).honest("")
    Call("npm uninstall left", here / "src", contracts, world.parent, PATH).honest("")


RUNS = [  # a command, where, what verifies it, what refuses it
    ("node --test", "tested", "test-none", ""),
    ("npm test", "tested", "test-none", ""),
    ("npm run test 2>&1 | tail -9", "tested", "test-none", ""),
    ("node --test", "app", "", "test-none"),
    ("npm test 2>&1 | cat", "app", "", "test-none"),
    ("node --test --test-name-pattern=nothing", "app", "", ""),
    ("node --test | head -2", "app", "", ""),
    ("node --test > log.txt", "app", "", ""),
    ("node --version", "app", "", ""),
    ("npm t", "left", "", ""),
]


@pytest.mark.parametrize(("command", "folder", "held", "refused"), RUNS, ids=[f"{each[1]}: {each[0]}" for each in RUNS])
def test_a_run_of_tests(command: str, folder: str, held: str, refused: str, contracts: Any, world: Any) -> None:
    """A run without any test that came back well is refused; whatever else runs, fails or only looks is not."""
    call = Call(command, world / folder, contracts, world.parent, PATH)
    if refused and "tests 0" not in call.done.stdout + call.done.stderr:
        pytest.skip("this node does not take no test for success")
    if refused:
        call.refused(refused)
    else:
        call.honest(held)
