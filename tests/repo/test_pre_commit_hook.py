"""The hook that this repository offers to pre-commit (https://pre-commit.com): which files it takes, and what it does with
them. pre-commit itself would install the repository from the package index, so test_pre_commit.py in tests/e2e runs the real one, and its part is played here."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

import pytest
import yaml
from support.project import ROOT

GOOD = "version: 1\nuse: [files]\n"
BAD = "version: 1\ncontracts:\n  - id: a\n    tol: x\n"


@pytest.fixture
def hook():
    with open(os.path.join(ROOT, ".pre-commit-hooks.yaml"), encoding="utf-8") as file:
        (found,) = yaml.safe_load(file)
    return found


def commit(project, hook, files):
    """The exit code and the output of the hook when these files are committed, or None where pre-commit would skip it."""
    for name, text in files.items():
        project.write(name, text)
    chosen = [name for name in files if re.search(hook["files"], name)]
    if not chosen:
        return None
    env = {**project.env, "PATH": os.path.dirname(sys.executable) + ":" + project.env["PATH"]}
    done = subprocess.run([*shlex.split(hook["entry"]), *chosen], cwd=project.root, env=env, capture_output=True, text=True,
                          timeout=60, check=False)  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_it_says_what_pre_commit_needs(hook):
    """pre-commit refuses a hook without these keys, and installs a Python package for this language."""
    assert {"id", "name", "entry", "language", "files"} <= set(hook)
    assert (hook["id"], hook["language"]) == ("truecall-lint", "python")


def test_a_good_contract_file_may_be_committed(project, hook):
    """The hook passes, in any folder."""
    code, said = commit(project, hook, {"truecall.yaml": GOOD, "services/api/truecall.yaml": GOOD})
    assert code == 0 and "2 files checked" in said


def test_a_faulty_contract_file_stops_the_commit(project, hook):
    """The hook fails, with the place and the fix."""
    code, said = commit(project, hook, {"truecall.yaml": GOOD, "services/api/truecall.yaml": BAD})
    assert code == 1 and "services/api/truecall.yaml:4:5: TC101" in said


@pytest.mark.parametrize("name", ["other.yaml", "my-truecall.yaml", "truecall.yaml.bak", "truecall.yml", "truecall.schema.json"])
def test_other_files_are_not_looked_at(project, hook, name):
    """A commit without a contract file does not run the hook."""
    assert commit(project, hook, {name: BAD}) is None
