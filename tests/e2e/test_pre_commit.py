"""The real pre-commit installs this repository's hook, as a user's `.pre-commit-config.yaml` would have it, and runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from support.project import ROOT

from e2e import clients

VERSION = "4.7.0"
GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


def run(argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, timeout=clients.PATIENCE, check=False, **more)


@pytest.fixture(scope="module")
def pre_commit(tmp_path_factory):
    """The program, in an environment of its own in the folder of the clients."""
    folder = os.path.join(clients.CACHE, f"pre-commit-{VERSION}-{sys.version_info[0]}.{sys.version_info[1]}")
    program = os.path.join(folder, "bin", "pre-commit")
    if not os.path.exists(program):
        shutil.rmtree(folder, ignore_errors=True)
        run([sys.executable, "-m", "venv", folder])
        done = run([os.path.join(folder, "bin", "python"), "-m", "pip", "install", "--quiet", f"pre-commit=={VERSION}"])
        if done.returncode:
            clients.missing["pre-commit", VERSION] = "pip could not install it"
            shutil.rmtree(folder, ignore_errors=True)
            (pytest.fail if os.environ.get("CI") in ("true", "1") else pytest.skip)("pip could not install pre-commit")
    if not os.path.isdir(os.path.join(ROOT, ".git")) and not os.path.isfile(os.path.join(ROOT, ".git")):
        pytest.skip("pre-commit installs hooks from a git repository, and this is none")
    return program


def test_pre_commit_stops_a_commit_of_a_faulty_contract_file(pre_commit, tmp_path):
    """A faulty contract file in any folder fails, with its place; a good one passes; other files are left alone."""
    work = tmp_path / "shop"
    (work / "api").mkdir(parents=True)
    (work / "truecall.yaml").write_text("version: 1\nuse: [files]\n")
    (work / "api" / "truecall.yaml").write_text("version: 1\ncontracts:\n  - id: a\n    tol: x\n")
    (work / "other.yaml").write_text("tol: x\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PRE_COMMIT_HOME": str(tmp_path / "cache"), **GIT,
           **{name: value for name, value in os.environ.items() if name.startswith(("PIP_", "XDG_CONFIG"))}}  # fmt: skip
    for argv in (["git", "init", "-q"], ["git", "add", "-A"]):
        assert run(argv, cwd=work, env=env).returncode == 0
    argv = [pre_commit, "try-repo", ROOT, "truecall-lint", "--all-files"]
    done = run(argv, cwd=work, env=env)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "api/truecall.yaml:4:5: TC101" in done.stdout and "2 files checked" in done.stdout
    (work / "api" / "truecall.yaml").unlink()
    assert run(["git", "add", "-A"], cwd=work, env=env).returncode == 0
    done = run(argv, cwd=work, env=env)
    assert done.returncode == 0 and "Passed" in done.stdout, done.stdout + done.stderr
