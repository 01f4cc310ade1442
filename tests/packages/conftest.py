"""The built wheel in an environment of its own. Building and installing download, so only `-m packages` runs these."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest
from support.environment import Environment, build_wheel
from support.project import ROOT

HERE = pathlib.Path(__file__).parent
BEFORE = "4829584"  # the last commit of the version before


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("packages")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    return build_wheel(ROOT, str(tmp_path_factory.mktemp("wheel")))


@pytest.fixture(scope="session")
def wheel_before(tmp_path_factory):
    """The wheel of the version before, from the history of this repository."""
    sources = tmp_path_factory.mktemp("before")
    archive = subprocess.run(["git", "archive", BEFORE], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"the version before cannot be built: this copy's git history does not hold commit {BEFORE}")
    subprocess.run(["tar", "-x"], cwd=sources, input=archive.stdout, check=True)
    return build_wheel(str(sources), str(tmp_path_factory.mktemp("wheel_before")))


@pytest.fixture(scope="session")
def environment(tmp_path_factory, wheel):
    """An environment with the wheel."""
    made = Environment(str(tmp_path_factory.mktemp("clean")))
    made.install(wheel)
    return made


class User:
    """Somebody who uses truecall from an environment, in one project."""

    def __init__(self, environment: Environment, home: str, project: str) -> None:
        self.environment, self.home, self.project = environment, home, project

    def run(self, *argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return self.environment.command(self.home, self.project, *argv, stdin=stdin)

    def truecall(self, *argv: str) -> str:
        """What a command prints that must end with 0."""
        done = self.run("truecall", *argv)
        assert done.returncode == 0, done
        return done.stdout

    def write(self, name: str, text: str) -> str:
        path = os.path.join(self.project, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


@pytest.fixture
def user(environment, project):
    return User(environment, project.home, project.root)
