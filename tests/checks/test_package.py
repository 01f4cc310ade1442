"""package: what is installed where it was meant to be, told by files alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from truecall_py.checks import package
from truecall_py.checks.support import requirement
from truecall_py.core.errors import Unverified
from truecall_py.core.types import NEW, OLD, REFUTED, UNVERIFIED, VERIFIED, ToolCall
from truecall_py.world.snapshots import Snapshot, make_key
from truecall_py.world.world import World

SITE = ".venv/lib/python3.12/site-packages"


def write(root, path, text=""):
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


@pytest.fixture
def project(tmp_path):
    """A virtual environment with six 1.16.0, and a folder beside it."""
    write(tmp_path, ".venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.1\n")
    write(tmp_path, f"{SITE}/six.py")
    install(tmp_path, "six", "1.16.0", ["six.py"])
    return tmp_path


def install(root, name, version, files=(), site=SITE, **more):
    folder = f"{site}/{name.replace('-', '_')}-{version}.dist-info"
    write(root, f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nName: other\n")
    write(root, f"{folder}/RECORD", "".join(f"{file},,\n" for file in [*files, f"{os.path.basename(folder)}/METADATA"]))
    for path, text in more.items():
        write(root, f"{folder}/{path.replace('__', '.')}", text)


def call(command="pip install x", **named):
    return ToolCall("claude-code", "PostToolUse", "Bash", frozenset({"shell"}), {"command": command}, **named)


def look(root, name, world=None, command="make", **params):
    given = {"manager": "pip", "name": name, **({"python": ".venv"} if "manager" not in params and "python" not in params else {})}
    given.update(params)
    given = {name: value for name, value in given.items() if value is not None}
    start = str(root)
    return package.run(given, call(command, start_cwd=start), world or World(start, start))


def why(root, name, **params):
    with pytest.raises(Unverified) as caught:
        look(root, name, **params)
    return caught.value


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("six", VERIFIED), ("SIX", VERIFIED), ("six==1.16.0", VERIFIED), ("six==1.16", VERIFIED), ("six == 1.*", VERIFIED),
        ("six>=1.10,<2", VERIFIED), ("six[extra]~=1.0", VERIFIED), ("six @ https://example.com/six.whl", VERIFIED),
        ("six==1.15.0", REFUTED), ("six[a,b]==2.*", REFUTED), ("requests", REFUTED), ("si", REFUTED), ("six-more", REFUTED),
    ],
)  # fmt: skip
def test_a_package_of_the_environment(project, name, state):
    """Names are compared as pip does; a version after == must be the one that is there."""
    assert look(project, name).state == state


def test_the_version_is_a_matcher(project):
    """The installed version, as text."""
    assert look(project, "six", version={"equals": "1.16.0"}).state == VERIFIED
    found = look(project, "six", version={"equals": "1.17.0"})
    assert (found.state, found.found) == (REFUTED, f"six 1.16.0 in {project}/.venv")


@pytest.mark.parametrize(
    "name", ["", "./dist/six.whl", "six-1.0.whl", "git+https://example.com/six", "-r", "../six", "https://example.com/x"]
)
def test_what_names_no_package_is_no_verdict(project, name):
    """An address, a file or an option says not what the package is called."""
    assert why(project, name).cause in ("contract", "tool")


def test_a_condition_may_keep_a_package_out(project):
    """`; python_version < "3"` was perhaps right not to install anything."""
    assert look(project, 'tomli; python_version < "3.11"').state == UNVERIFIED


def test_names_are_normalised(project):
    """Dots, dashes and underscores are one; what begins alike is another package."""
    install(project, "zope.interface", "5.0")
    install(project, "zope-interface-more", "1.0")
    assert look(project, "Zope_Interface==5.0").state == VERIFIED


def test_metadata_without_files_is_no_package(project):
    """What is listed is gone: it cannot be imported."""
    (project / SITE / "six.py").unlink()
    found = look(project, "six")
    assert found.state == REFUTED and "none of its 1 files" in found.found


def test_what_a_broken_removal_left_is_no_package(project):
    """A folder without METADATA, and pip's own leftovers."""
    (project / SITE / "six-1.16.0.dist-info/METADATA").unlink()
    write(project, f"{SITE}/~ix-1.16.0.dist-info/METADATA", "Name: six\nVersion: 1.16.0\n")
    assert look(project, "six").state == REFUTED


def test_an_editable_package_needs_its_source(project):
    """direct_url.json and egg-link point to a folder: where that is gone, nothing is installed."""
    source = project / "src"
    install(project, "mine", "0.1", direct_url__json=json.dumps({"url": source.as_uri(), "dir_info": {"editable": True}}))
    assert "which is not there" in look(project, "mine").found
    source.mkdir()
    assert look(project, "mine").state == VERIFIED
    write(project, f"{SITE}/older.egg-link", f"{project}/old\n.")
    assert "which is not there" in look(project, "older").found
    write(project, "old/older.egg-info/PKG-INFO", "Name: older\nVersion: 3.0\n")
    assert look(project, "older==3.0").state == VERIFIED


def test_an_egg_info_file_or_folder_counts(project):
    """Older kinds of metadata."""
    write(project, f"{SITE}/one-1.0-py3.12.egg-info", "Name: one\nVersion: 1.0\n")
    write(project, f"{SITE}/two-2.0-py3.12.egg-info/PKG-INFO", "Name: two\nVersion: 2.0\n")
    assert look(project, "one==1.0").state == VERIFIED
    assert look(project, "two==2.0").state == VERIFIED


def test_two_versions_at_once_are_no_verdict(project):
    """Python takes whichever it finds first."""
    install(project, "six", "1.15.0", ["six.py"])
    assert why(project, "six==1.16.0").cause == "world"


def test_packages_of_an_older_python_in_the_same_folder_do_not_count(project):
    """The environment was made anew by another Python."""
    install(project, "old", "1.0", site=".venv/lib/python3.11/site-packages")
    assert look(project, "old").state == REFUTED
    write(project, ".venv/pyvenv.cfg", "home = /usr/bin\n")
    assert why(project, "old").cause == "world"


def test_an_environment_that_sees_another_one_is_doubtful(project):
    """What is not in it may be in the system's, where pip finds it satisfied."""
    write(project, ".venv/pyvenv.cfg", "version = 3.12.1\ninclude-system-site-packages = true\n")
    assert look(project, "six").state == VERIFIED
    assert look(project, "requests").state == UNVERIFIED


def test_the_environment_of_the_command(project):
    """A path in the command, or an activation before it; a plain pip may be any."""
    for command in (
        ".venv/bin/pip install six", ".venv/bin/python -m pip install six", f"{project}/.venv/bin/pip3.12 install six",
        ". .venv/bin/activate && pip install six", "source .venv/bin/activate; python -m pip install six",
        "uv pip install --python .venv/bin/python six", "sudo .venv/bin/pip install six",
    ):  # fmt: skip
        write(project, ".venv/bin/python")
        assert look(project, "six", python=None, command=command).state == VERIFIED, command
    for command in (
        "pip install six", "python3 -m pip install six", "/usr/bin/pip install six", "make", "uv pip install six",
        ".venv/bin/pip install six; other/bin/pip install six", ".venv/bin/pip install --target lib six",
        ".venv/bin/pip install six --user", "cd app && .venv/bin/pip install six", "$PIP install six",
    ):  # fmt: skip
        assert why(project, "six", python=None, command=command).cause in ("contract", "harness", "world"), command


def test_options_that_only_look_alike_are_not_taken_for_others(project):
    """--root-user-action is not --root."""
    command = ".venv/bin/pip install --root-user-action=ignore six"
    assert look(project, "six", python=None, command=command).state == VERIFIED


def test_an_interpreter_that_a_call_names_is_not_run(project):
    """Only the contract's own word has a program started."""
    write(project, "evil/bin/python", f"#!/bin/sh\ntouch {project}/ran\n")
    (project / "evil/bin/python").chmod(0o755)
    assert why(project, "six", python=None, command="evil/bin/python -m pip install six").cause == "contract"
    assert not (project / "ran").exists()


def test_an_interpreter_that_the_contract_names_tells_its_places(project):
    """The Python that runs this test has pip or pytest installed somewhere, and says where."""
    real = os.path.realpath(sys.executable)
    found = look(project, "no-such-package-at-all", python=real)
    assert found.state == REFUTED
    assert why(project, "six", python="/bin/true").cause == "probe"
    assert why(project, "six", python="python9.99").cause == "probe"
    assert why(project, "six", python="nowhere/.venv").cause == "world"


def test_a_real_environment(tmp_path):
    """One made by venv, with the pip that came with it."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / ".venv"], check=True, timeout=120)
    assert look(tmp_path, "pip").state == VERIFIED
    assert look(tmp_path, "pip", python=".venv/bin/python").state == VERIFIED
    assert look(tmp_path, "requests").state == REFUTED


def snapshot(root, **params):
    world = World(str(root), str(root))
    fact = package.take_snapshot(params, call(start_cwd=str(root)), world)
    return World(str(root), str(root), snapshot=Snapshot(0.0, None, {make_key("package", str(root), params): fact}))


def test_removed_and_installed_again(project):
    """Proof of before for a removal; the same installation as before is old."""
    params = {"manager": "pip", "name": "six", "python": ".venv"}
    there = snapshot(project, **params)
    gone = snapshot(project, **params, absent=True)
    assert look(project, "six", there).effect == OLD
    assert look(project, "six", absent=True).state == REFUTED
    folder = project / SITE / "six-1.16.0.dist-info"
    text = (folder / "METADATA").read_text()
    shutil.rmtree(folder)
    found = look(project, "six", gone, absent=True)
    assert (found.state, found.effect) == (VERIFIED, NEW)
    assert look(project, "six", absent=True).cause == "harness"
    assert look(project, "six", absent=True, vacuous="ok").state == VERIFIED
    write(project, f"{SITE}/six-1.16.0.dist-info/METADATA", text)
    assert look(project, "six", there).effect == NEW


def test_an_upgrade_is_another_version_than_before(project):
    """`version: {changed: true}` compares with the look before the call."""
    params = {"manager": "pip", "name": "six", "python": ".venv", "version": {"changed": True}}
    world = snapshot(project, **params)
    assert look(project, "six", world, version={"changed": True}).state == REFUTED
    shutil.rmtree(project / SITE / "six-1.16.0.dist-info")
    install(project, "six", "1.17.0", ["six.py"])
    assert look(project, "six", world, version={"changed": True}).state == VERIFIED
    assert why(project, "six", version={"changed": True}).cause == "harness"


# -- npm -----------------------------------------------------------------------------------------------------


@pytest.fixture
def node(tmp_path):
    write(tmp_path, "app/package.json", "{}")
    write(tmp_path, "app/node_modules/left-pad/package.json", '{"name": "left-pad", "version": "1.3.0"}')
    write(tmp_path, "app/node_modules/@acme/tool/package.json", '{"version": "2.0.0-beta.1"}')
    return tmp_path / "app"


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("left-pad", VERIFIED), ("left-pad@1.3.0", VERIFIED), ("left-pad@^1.0.0", VERIFIED), ("left-pad@file:../x", VERIFIED),
        ("left-pad@^2.0.0", REFUTED), ("left-pad@2", REFUTED), ("left-pad@1", VERIFIED), ("left-pad@1.x", VERIFIED),
        ("left-pad@1.2.0", REFUTED), ("@acme/tool", VERIFIED), ("@acme/tool@2.0.0-beta.1", VERIFIED), ("@acme/other", REFUTED),
        ("right-pad", REFUTED),
    ],
)  # fmt: skip
def test_a_package_of_the_project(node, name, state):
    """What is there must be one of the versions that are asked for; an address may lead to any."""
    assert look(node, name, manager="npm").state == state


@pytest.mark.parametrize("name", ["../left-pad", "a/b", "github:a/b", "https://example.com/x.tgz", "@acme", ".", "@acme/..", ""])
def test_what_names_no_package_of_node_is_no_verdict(node, name):
    """Never a path out of node_modules."""
    assert why(node, name, manager="npm").cause in ("contract", "tool")


def test_the_project_is_the_nearest_and_its_workspaces(node):
    """From a folder of the project upward; another project further up is not this one."""
    (node / "src").mkdir()
    assert look(node / "src", "left-pad", manager="npm").state == VERIFIED
    write(node, "packages/web/package.json", "{}")
    assert look(node / "packages/web", "left-pad", manager="npm").state == REFUTED
    write(node, "package.json", '{"workspaces": ["packages/*"]}')
    assert look(node / "packages/web", "left-pad", manager="npm").state == VERIFIED


def test_a_global_or_packed_installation_is_no_verdict(node):
    """Its folder is not known."""
    for command in ("npm install -g left-pad", "npm i --global x", "npm --prefix other install left-pad", "pnpm add -C x y"):
        assert why(node, "right-pad", manager="npm", command=command).cause == "contract", command
    assert look(node, "right-pad", manager="npm", folder=".", command="npm install -g x").state == REFUTED
    write(node, ".pnp.cjs")
    assert why(node, "left-pad", manager="npm").cause == "probe"


@pytest.mark.parametrize(
    ("have", "wanted", "same"),
    [
        ("1.0", "1.0.0", True), ("1.0.1", "1.0", False), ("v1.0", "1.0", True), ("2.1.0+cu118", "2.1.0", True),
        ("2.1.0", "2.1.0+cu118", None), ("1.0rc1", "1.0rc1", True), ("1.0rc1", "1.0", None), ("2.0rc1", "1.0", False),
        ("1.10.2", "1.1.*", False), ("1.1", "1.1.*", True), ("1.1.post1", "1.1.*", True), ("1.0.0-beta.1", "1.0.0b1", None),
    ],
)  # fmt: skip
def test_versions_are_compared_as_far_as_their_spelling_tells(have, wanted, same):
    """Numbers are; what only pip can compare is no verdict."""
    if same is None:
        with pytest.raises(Unverified):
            requirement.meets_specifier(have, wanted)
    else:
        assert requirement.meets_specifier(have, wanted) is same


@pytest.mark.parametrize(
    ("have", "wanted", "allowed"),
    [
        ("2.20.0", ">=3.0", False), ("2.20.0", "~=3.0", False), ("2.20.0", "!=2.20.0", False), ("2.20.0", ">=2,<3", True),
        ("2.20.0", ">=2,<2.20", False), ("2.20.0", "~=2.19", True), ("2.20.0", "~=2.19.1", False), ("2.20", "<=2.20.0", True),
        ("2.20.0", ">2.20.0", False), ("2.20.0+cpu", ">=2.20", True), ("3.0rc1", ">=3.0", None), ("3.0", ">=3.0rc1", None),
        ("2.0", "===2.0", None), ("2.0", "~=2", None), ("2.0", "==2.*,!=2.0.*", False),
    ],
)  # fmt: skip
def test_what_pip_is_asked_for_must_allow_the_version(have, wanted, allowed):
    """Every part counts, as far as numbers tell; what only pip can compare is no verdict."""
    if allowed is None:
        with pytest.raises(Unverified):
            requirement.is_allowed_by_pip(have, wanted)
    else:
        assert requirement.is_allowed_by_pip(have, wanted) is allowed


@pytest.mark.parametrize(
    ("have", "wanted", "allowed"),
    [
        ("1.0.0", "^2.0.0", False), ("1.0.0", "2", False), ("1.0.0", "1", True), ("1.4.2", "1.4", True), ("1.4.2", "1.x", True),
        ("1.4.2", "^1.2.0", True), ("1.1.9", "^1.2.0", False), ("0.3.1", "^0.2.0", False), ("0.2.9", "^0.2.1", True),
        ("0.0.4", "^0.0.3", False), ("1.2.9", "~1.2.3", True), ("1.3.0", "~1.2.3", False), ("1.9.0", "~1", True),
        ("3.0.0", ">=2.1", True), ("2.0.0", ">=2.1", False), ("1.0.0", "latest", None), ("1.0.0", ">1 <3", None),
        ("1.0.0", "1 || 2", None), ("1.0.0-beta.1", "^1.0.0", None), ("1.0.0", "*", None), ("1.2.3", "=1.2.3", True),
        ("1.0.0", "1.0.0-beta.1", False), ("1.0.0-beta.1", "1.0.0", False), ("1.0.0", "<2", None), ("1.0.0", "1.0.0 - 2.0.0", None),
    ],
)  # fmt: skip
def test_what_npm_is_asked_for_must_allow_the_version(have, wanted, allowed):
    """Versions and simple ranges, as far as numbers tell; a tag may lead to any, and is no verdict."""
    if allowed is None:
        with pytest.raises(Unverified):
            requirement.is_allowed_by_npm(have, wanted)
    else:
        assert requirement.is_allowed_by_npm(have, wanted) is allowed


def test_a_condition_excuses_another_version_too(project):
    """`; python_version < "3"` was perhaps right not to upgrade anything."""
    assert look(project, 'six>=2; python_version < "3"').state == UNVERIFIED


@pytest.mark.parametrize(
    "command",
    [
        "(. .venv/bin/activate); pip install x", "false && . .venv/bin/activate; pip install x",
        "if false; then . .venv/bin/activate; fi; pip install x", ". .venv/bin/activate; deactivate; pip install x",
        ". .venv/bin/activate && conda activate other && pip install x", ". .venv/bin/activate; PATH=/usr/bin; pip install x",
        ". .venv/bin/activate && sudo pip install x", ". .venv/bin/activate && PATH=/usr/bin pip install x",
        ". .venv/bin/activate && export PATH=/usr/bin && pip install x", ". .venv/bin/activate && . ./env && pip install x",
        ". .venv/bin/activate & pip install x", ". .venv/bin/activate | cat; pip install x", "$(. .venv/bin/activate) pip install x",
        ".venv/bin/pip install -tout x", ".venv/bin/pip install -qtout x", ".venv/bin/pip install --targ out x",
        ".venv/bin/pip install --us x", ".venv/bin/pip install --dry-run x", ".venv/bin/pip wheel x", ".venv/bin/pip download x",
        ".venv/bin/pip install --tar=out x", ".venv/bin/pip install $OPTIONS x", "uv pip install -p.venv x",
        ".venv/bin/pip install x 'unclosed",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["six", "requests"])
def test_an_environment_that_is_not_certain_is_no_verdict(project, name, command):
    """Neither that a package is not in the one that was perhaps meant, nor that it is."""
    command = command.replace("install x", f"install {name}")
    assert why(project, name, python=None, command=command).cause in ("contract", "harness", "world")


@pytest.mark.parametrize(
    "command",
    [
        ".venv/bin/pip install --pre six", ".venv/bin/pip install -ftmp -r req.txt six", ".venv/bin/pip install -qU six",
        ". .venv/bin/activate && echo go && pip install six", "cd . && . .venv/bin/activate || exit 1; true",
    ],
)  # fmt: skip
def test_an_environment_that_is_certain_is_looked_at(project, command):
    """Other options, other commands between, change nothing."""
    if "true" in command:
        assert why(project, "six", python=None, command=command).cause == "contract"
    else:
        assert look(project, "six", python=None, command=command).state == VERIFIED


@pytest.mark.parametrize(
    "command",
    [
        "npm_config_global=true npm i x", "npm i --globa x", "npx npm i -g x", "yarn global add x", "(cd sub; npm i x)",
        "pushd sub; npm i x; popd", "npm i -w w x", "npm i --workspace=w x", "yarn workspace w add x", "pnpm --filter w add x",
        "npm i -Dg x", "npm i $OPTIONS x", "corepack pnpm add x", "export npm_config_prefix=/x; npm i x", "npm i --dry-run x",
        "pnpm add -C other x", "npm i x 'unclosed",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["left-pad", "right-pad"])
def test_a_folder_that_is_not_certain_is_no_verdict(node, name, command):
    """Another workspace, all projects, another folder: neither that it is there nor that it is not."""
    assert why(node, name, manager="npm", command=command).cause == "contract"


def test_a_folder_that_is_certain_is_looked_at(node):
    """Options that only say how, yarn's -C, and a line without any npm."""
    for command in ("npm i -D left-pad", "npm install --save-dev --save-exact left-pad", "yarn add -C left-pad", "make", "npx jest"):
        assert look(node, "left-pad", manager="npm", command=command).state == VERIFIED, command


def test_what_is_left_of_a_package_of_node_is_not_gone(node):
    """Node takes an index without a package.json; of other files nobody can tell; hidden ones are nothing."""
    folder = node / "node_modules/left-pad"
    (folder / "package.json").unlink()
    assert look(node, "left-pad", manager="npm", absent=True, vacuous="ok").state == VERIFIED
    (folder / ".cache").mkdir()
    assert look(node, "left-pad", manager="npm", absent=True, vacuous="ok").state == VERIFIED
    (folder / "lib.js").write_text("")
    assert why(node, "left-pad", manager="npm", absent=True, vacuous="ok").cause == "world"
    (folder / "index.js").write_text("")
    assert look(node, "left-pad", manager="npm", absent=True, vacuous="ok").state == REFUTED
    assert look(node, "left-pad", manager="npm").state == REFUTED


def test_a_script_is_not_what_can_be_imported(project):
    """Files outside the folder of packages count only where a package brings nothing else, and never outside of the
    environment."""
    write(project, ".venv/bin/six")
    install(project, "six", "1.16.0", ["six.py", "../../../bin/six"])
    assert look(project, "six").state == VERIFIED
    (project / SITE / "six.py").unlink()
    assert "none of its 1 files" in look(project, "six").found
    install(project, "tool", "1.0", ["../../../bin/six"])
    assert look(project, "tool").state == VERIFIED
    for path in ("/etc/passwd", "../../../../../../../../../../etc/passwd", "../../../../README"):
        install(project, "odd", "1.0", [path])
        assert why(project, "odd").cause == "world", path


def test_that_a_package_is_not_there_proves_nothing_by_itself(project):
    """`not: {package: …}` holds only where the look before the call saw it."""
    params = {"manager": "pip", "name": "six", "python": ".venv"}
    world = snapshot(project, **params)
    assert look(project, "typo").blank
    shutil.rmtree(project / SITE / "six-1.16.0.dist-info")
    assert look(project, "six").blank
    found = look(project, "six", world)
    assert (found.state, found.blank) == (REFUTED, False)
