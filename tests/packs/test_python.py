"""The pack `python` against real commands: pip, venv, uv and pytest, run by a real shell without a network. Honest
work hears nothing; the same call, with its effect undone, is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from typing import Any

import pytest
from support.real_commands import Call, environment, pack

WHEELS = (("demo_pkg", "1.0"), ("demo_pkg", "2.0"), ("other.lib", "0.1"))
TESTS = {
    "tests/test_ok.py": "import pytest\n\n\ndef test_one():\n    assert 1\n\n\n@pytest.mark.slow\ndef test_two():\n    assert 1\n",
    "bad/test_bad.py": "def test_bad():\n    assert 0\n",
    "skipped/test_skipped.py": "import pytest\n\n\n@pytest.mark.skip\ndef test_it():\n    assert 0\n",
    "empty/test_nothing.py": "x = 1\n",
    "unit/test_unit.py": "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        pass\n",
    "pytest.ini": "[pytest]\naddopts = -p no:cacheprovider\nmarkers = slow\n",
    "pyproject.toml": '[project]\nname = "app"\nversion = "1.0"\nrequires-python = ">=3.9"\n',
    "requirements.txt": "demo-pkg\n",
    "pins.txt": "demo-pkg==1.0\n",
    "sub/x": "",
}


def wheel(folder: Any, name: str, version: str) -> None:
    """A wheel is a zip: a module, and what there is to say of it."""
    base = f"{name}-{version}"
    module = name.replace(".", "_")
    files = {
        f"{module}/__init__.py": "", f"{base}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{base}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }  # fmt: skip
    files[f"{base}.dist-info/RECORD"] = "".join(f"{each},,\n" for each in (*files, f"{base}.dist-info/RECORD"))
    with zipfile.ZipFile(folder / f"{base}-py3-none-any.whl", "w") as made:
        for path, text in files.items():
            made.writestr(path, text)


@pytest.fixture(scope="module")
def contracts(tmp_path_factory: Any) -> Any:
    return pack("python", tmp_path_factory.mktemp("pack"))


@pytest.fixture(scope="module")
def world(tmp_path_factory: Any) -> Any:
    """A project with an environment, wheels and tests."""
    folder = tmp_path_factory.mktemp("home") / "world"
    (folder / "wheels").mkdir(parents=True)
    for name, version in WHEELS:
        wheel(folder / "wheels", name, version)
    for path, text in TESTS.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    subprocess.run([sys.executable, "-m", "venv", ".venv"], cwd=folder, check=True, env=environment(folder.parent))
    return folder


def packages(world: Any) -> set[str]:
    (folder,) = (world / ".venv/lib").glob("python*/site-packages")
    return {str(path) for path in folder.iterdir()}


def take_out(paths: set[str]) -> None:
    for path in paths:
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


INSTALLS = [  # a command and how often `installed` judges it
    (".venv/bin/pip install --no-index --find-links wheels demo-pkg", 1),
    (".venv/bin/pip install -q --no-index -f wheels 'Demo.Pkg>=1,<3' other_lib", 2),
    (".venv/bin/pip install --no-index -f wheels -c pins.txt demo-pkg", 1),
    (".venv/bin/python -m pip install --no-index --find-links=wheels 'demo-pkg[none]~=1.0' 2>&1", 1),
    (".venv/bin/python3 -m pip install -U --no-index -f wheels demo-pkg other-lib && echo done", 2),
    ("cd sub && ../.venv/bin/pip install --no-index -f ../wheels demo-pkg", 1),
    (".venv/bin/pip install --no-index -f wheels -r requirements.txt other.lib", 1),
    (".venv/bin/pip install --no-index -f wheels -r requirements.txt", 0),
    (".venv/bin/pip install --no-index wheels/demo_pkg-1.0-py3-none-any.whl", 0),
    (".venv/bin/pip install --no-index -f wheels 'demo-pkg; python_version < \"3\"'", 0),
    (".venv/bin/pip install --no-index -f wheels --dry-run demo-pkg", 0),
    (".venv/bin/pip install --no-index -f wheels --target lib demo-pkg", 0),
    ("PIP_TARGET=lib .venv/bin/pip install --no-index -f wheels demo-pkg", 0),
    (".venv/bin/pip install --no-index -f wheels demo-pkg | tail -1", 0),
    (".venv/bin/pip install --no-index -f wheels no-such-package || true", 0),
    (". .venv/bin/activate && pip install --no-index -f wheels demo-pkg", 0),
    (".venv/bin/pip download --no-index -f wheels -d got demo-pkg", 0),
    (".venv/bin/pip install --help", 0),
]


@pytest.mark.parametrize(("command", "times"), INSTALLS, ids=[command for command, _ in INSTALLS])
def test_what_pip_installs(command: str, times: int, contracts: Any, world: Any) -> None:
    """A package that pip installed is found; taken out of the environment, it is refused."""
    there = packages(world)
    call = Call(command, world, contracts, world.parent)
    call.honest("installed " * times)
    take_out(packages(world) - there)
    shutil.rmtree(world / "lib", ignore_errors=True)
    if times:
        assert "is not in" in call.refused("installed")


def test_what_is_installed_already(contracts: Any, world: Any) -> None:
    """pip that had nothing to do gets no word; neither does one that removes, and what it left is refused."""
    there = packages(world)
    install = ".venv/bin/pip install --no-index -f wheels demo-pkg"
    Call(install, world, contracts, world.parent).honest("installed")
    new = packages(world) - there
    again = Call(install, world, contracts, world.parent)
    assert "already satisfied" in again.done.stdout
    again.honest("installed")
    kept = world.parent / "kept"
    kept.mkdir()
    for path in new:
        shutil.copytree(path, kept / os.path.basename(path))
    for remove in (".venv/bin/pip uninstall -y demo-pkg", ".venv/bin/python -m pip uninstall --yes Demo_Pkg"):
        call = Call(remove, world, contracts, world.parent)
        call.honest("uninstalled")
        for path in new:
            shutil.copytree(kept / os.path.basename(path), path)
        assert "is still in" in call.refused("uninstalled")
    take_out(new)
    Call(".venv/bin/pip uninstall -y demo-pkg", world, contracts, world.parent).honest("uninstalled")


def test_a_pip_that_belongs_to_another_environment(contracts: Any, world: Any) -> None:
    """An environment that was moved keeps a pip that installs into the old place, and says that all went well."""
    there = packages(world)
    moved = world / "moved"
    shutil.copytree(world / ".venv", moved, symlinks=True)
    call = Call("moved/bin/pip install --no-index -f wheels demo-pkg", world, contracts, world.parent)
    new = packages(world) - there
    assert call.done.returncode == 0 and new
    assert "demo-pkg is not in" in call.refused("installed")
    take_out(new)
    shutil.rmtree(moved)


@pytest.mark.parametrize("command", [
    "python3 -m venv --without-pip made", "python -m venv --without-pip --prompt x --clear './made/'", "virtualenv -q made",
    "uv venv made", "python -m venv --without-pip made && ls made",
])  # fmt: skip
def test_an_environment(command: str, contracts: Any, world: Any) -> None:
    """An environment that was made is found; without its Python, or its settings, or wholly gone, it is refused."""
    if not shutil.which(command.split()[0], path=environment(world)["PATH"]):
        pytest.skip(f"needs {command.split()[0]}")
    call = Call(command, world, contracts, world.parent)
    call.honest("venv")
    os.unlink(world / "made/bin/python")
    call.refused("venv")
    shutil.rmtree(world / "made")
    call.refused("venv")


def test_an_environment_that_is_none(contracts: Any, world: Any) -> None:
    """Nothing is said of help, of what is removed again, and of what fails."""
    for command in ("python -m venv --help", "python -m venv --without-pip made && rm -r made", "python -m venv /dev/null/x"):
        Call(command, world, contracts, world.parent).honest("")


def test_uv(contracts: Any, world: Any, tmp_path: Any) -> None:
    """`uv add` is looked up beside uv's lock file, `uv pip --python` where it says."""
    if not shutil.which("uv", path=environment(world)["PATH"]):
        pytest.skip("needs uv")
    project = tmp_path / "project"
    (project / "below").mkdir(parents=True)
    shutil.copy(world / "pyproject.toml", project)
    more = f"--no-index --find-links {world / 'wheels'}"
    for command in (f"uv add {more} demo-pkg", f"cd below && uv add --dev {more} 'other-lib>=0.1'"):
        call = Call(command, project, contracts, tmp_path)
        call.honest("installed")
        take_out({str(path) for path in (project / ".venv/lib").glob("python*/site-packages/[do][et]*")})
        call.refused("installed")
    call = Call(f"uv pip install --python .venv {more} demo-pkg==1.0", project, contracts, tmp_path)
    call.honest("installed")
    Call("uv pip uninstall --python .venv demo-pkg", project, contracts, tmp_path).honest("uninstalled")
    call.refused("installed")
    for command in (f"uv add --no-sync {more} demo-pkg", f"uv pip install {more} demo-pkg", "uv remove demo-pkg"):
        Call(command, project, contracts, tmp_path).honest("")


RUNS = [  # a command, what verifies it, what refuses it at once
    ("python -m pytest -q tests", "pytest-none", ""),
    ("pytest tests 2>&1 | tail -2", "pytest-none", ""),
    ("pytest bad | tail -3", "pytest-none", ""),
    ("pytest bad", "", ""),
    ("pytest empty", "", ""),
    ("pytest -q skipped", "pytest-none", ""),
    ("pytest -k nothing tests || true", "", ""),
    ("python -m pytest -q -m nothing tests | tail -1", "", ""),
    ("pytest --collect-only -q empty | tail -2", "", ""),
    ("pytest --co tests", "", ""),
    ("pytest --version", "", ""),
    ("pytest --fixtures empty | tail -1", "", ""),
    ("pytest empty > log.txt 2>&1; true", "", ""),
    ("pytest empty | tail -3", "", "pytest-none"),
    ("python -m pytest -q empty || true", "", "pytest-none"),
    ("cd empty && python -m pytest 2>&1 | cat", "", "pytest-none"),
    ("python -m unittest discover -s unit", "unittest-none", ""),
    ("python -m unittest discover -s empty || true", "", "unittest-none"),
    ("python -m unittest discover -s unit -k nothing || true", "", ""),
]


@pytest.mark.parametrize(("command", "held", "refused"), RUNS, ids=[command for command, _, _ in RUNS])
def test_a_run_of_tests(command: str, held: str, refused: str, contracts: Any, world: Any) -> None:
    """A run without any test that came back well is refused; whatever else runs, fails or only looks is not."""
    call = Call(command, world, contracts, world.parent)
    if refused:
        assert "0 tests" in call.refused(refused)
    else:
        call.honest(held)


@pytest.mark.parametrize("command", [
    "pytest -q --junitxml=report.xml tests", "cd sub && python -m pytest --junit-xml ../report.xml ../tests",
])  # fmt: skip
def test_a_report(command: str, contracts: Any, world: Any) -> None:
    """The report of a run is read; without it, without tests in it, and where it tells otherwise, the run is refused."""
    report = world / "report.xml"
    call = Call(command, world, contracts, world.parent)
    call.honest("pytest-none pytest-report")
    text = report.read_text()
    report.write_text(text.replace('name="test_two"', 'name="test_two"><failure message="x"/></testcase><testcase name="c"', 1))
    assert "1 failed" in call.refused("pytest-report")
    report.write_text('<testsuites><testsuite tests="0"/></testsuites>')
    call.refused("pytest-report")
    report.unlink()
    assert "there is no report" in call.refused("pytest-report")


def test_a_report_of_tests_that_fail(contracts: Any, world: Any) -> None:
    """pytest that says itself that tests failed is not accused, and neither is one whose exit code is excused."""
    for command in ("pytest --junitxml=r.xml bad", "pytest -q --junitxml=r.xml bad || true", "pytest --junitxml=r.xml skipped"):
        call = Call(command, world, contracts, world.parent)
        found = call.judged()
        assert found.correction is None, (found.correction, call.done)
