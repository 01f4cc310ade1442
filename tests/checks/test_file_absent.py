"""file_absent: what proves that a thing was there, and that asking git for it runs nothing of the repository."""

from __future__ import annotations

import shutil

import pytest
from support.check_outcome import outcome, put

REPOSITORY = "git init -q .; git config commit.gpgsign false; mkdir d; echo 1 > d/f; git add .; git commit -qm one; "


@pytest.fixture
def check(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    def asked(params, before=(), after=(), **more):
        return outcome(tmp_path, "file_absent", params, before, after, **more)

    return asked


def test_the_last_commit_proves_that_it_was_there(check):
    """Without a look before the call, what the last commit holds was there, and what it does not hold proves nothing."""
    assert check({"path": "d/f"}, REPOSITORY, "rm -r d", looked=False).state == "verified"
    assert check({"path": "d/g"}, looked=False).cause == "harness"


def test_a_replaced_tree_proves_nothing(check):
    """A replacement object, by which a repository tells another history, is not believed."""
    replace = "echo 1 > zz; git add zz; git replace HEAD^{tree} $(git write-tree); git rm -qf zz"
    assert check({"path": "zz"}, REPOSITORY, replace, looked=False).state == "unverified"


def test_a_partial_clone_fetches_nothing(check, tmp_path):
    """A tree that is missing is not fetched, which would run the programs that the configuration names."""
    trap = tmp_path / "trap"
    put(tmp_path, REPOSITORY + f"""
        printf '#!/bin/sh\\necho 1 >> {tmp_path}/snapped\\nexit 1\\n' > {trap}; chmod +x {trap}
        tree=$(git rev-parse HEAD:d); rm -f .git/objects/$(echo $tree | cut -c1-2)/$(echo $tree | cut -c3-)
        git config core.repositoryformatversion 1; git config extensions.partialclone origin
        git config remote.origin.promisor true; git config remote.origin.url ssh://localhost/x
        git config core.sshCommand {trap}; git config remote.origin.uploadpack {trap}; rm -r d""")
    assert check({"path": "d/f"}, looked=False).state == "unverified"
    put(tmp_path, "git config remote.origin.url .")
    assert check({"path": "d/f"}, looked=False).state == "unverified"
    assert not (tmp_path / "snapped").exists()
    assert shutil.which("git")


@pytest.mark.parametrize("path", ["d/", "d/.", "d//"])
def test_a_slash_behind_a_link_does_not_follow_it(check, path):
    """A link that dangles still stands there, however its path is written."""
    found = check({"path": path}, "mkdir t; ln -s t d", "rmdir t")
    assert found.state == "refuted" and "symbolic link" in found.found
    assert check({"path": path}, after="rm d").state == "verified"
