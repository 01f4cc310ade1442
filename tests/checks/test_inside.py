"""inside: where a path really leads."""

from __future__ import annotations

import os

import pytest
from support.check_outcome import outcome, put


@pytest.fixture
def check(tmp_path, monkeypatch):
    """Asks about a path, from a session in a folder of the world."""

    def asked(params, before=(), after=(), session=".", **more):
        put(tmp_path, before or {})
        monkeypatch.chdir(tmp_path / session)
        return outcome(tmp_path / session, "inside", params, {}, after, looked=bool(before or more.pop("looked", True)), **more)

    return asked


REPOSITORY = """
    git init -q main; cd main; mkdir src; echo x > src/a.txt; git add -A; git commit -qm m
    git worktree add -q .claude/worktrees/w1 -b w1; git worktree add -q ../w2 -b w2
    mkdir vendor; git init -q vendor/lib; echo y > vendor/lib/b.txt; ln -s ../../w2/src src/out; cd ..
    echo z > z.txt; mkdir maindata; echo z > maindata/z.txt
"""


@pytest.mark.parametrize(
    ("session", "path", "verdict", "words"),
    [
        ("main", "src/a.txt", "verified", ""),
        ("main/src", "../src/a.txt", "verified", ""),
        ("main", "vendor/lib/b.txt", "verified", ""),
        ("main", "../z.txt", "refuted", "outside of"),
        ("main", "../maindata/z.txt", "refuted", "outside of"),
        ("main", "src/out/a.txt", "refuted", "w2/src/a.txt, lies outside of"),
        ("main", ".claude/worktrees/w1/src/a.txt", "refuted", "another worktree"),
        ("main/.claude/worktrees/w1", "src/a.txt", "verified", ""),
        ("main/.claude/worktrees/w1", "../../../src/a.txt", "refuted", "in the main checkout"),
        ("main/.claude/worktrees/w1", "../../../../w2/src/a.txt", "refuted", "outside of"),
        ("w2", "src/a.txt", "verified", ""),
        ("main", "src/missing.txt", "refuted", "nothing at"),
        (".", "z.txt", "unverified", "no git checkout"),
    ],
)
def test_the_checkout_of_the_session(check, tmp_path, session, path, verdict, words):
    """Inside is what lies in the session's own checkout: no other worktree of it, and nothing behind a link."""
    put(tmp_path, REPOSITORY)
    found = check({"path": path}, session=session, looked=False)
    assert found.state == verdict and words in found.found, found


def test_a_submodule_is_part_of_what_is_around_it(check, tmp_path):
    """A session in a submodule may change the project that holds it, and the other way round."""
    put(tmp_path, """
        git init -q lib; cd lib; echo x > a; git add a; git commit -qm m; cd ..
        git init -q app; cd app; echo y > b; git -c protocol.file.allow=always submodule -q add ../lib lib; git add b; git commit -qm m
    """)
    assert check({"path": "lib/a"}, session="app", looked=False).state == "verified"
    assert check({"path": "../b"}, session="app/lib", looked=False).state == "verified"


def test_a_folder_that_is_named(check, tmp_path):
    """`folder` is taken for what it really is; one that is not there is the contract's doing."""
    put(tmp_path, "mkdir -p app/data; echo x > app/data/a; ln -s app alias; ln -s nowhere app/gone; ln -s self app/self")
    assert check({"path": "app/data/a", "folder": "alias"}, looked=False).state == "verified"
    assert check({"path": "app", "folder": "app/data"}, looked=False).state == "refuted"
    assert check({"path": "app/data/a", "folder": "missing"}, looked=False).cause == "contract"
    assert "points to nothing" in check({"path": "app/gone", "folder": "app"}, looked=False).found
    assert check({"path": "app/self", "folder": "app"}, looked=False).state == "unverified"


def test_a_link_stays_one(check, tmp_path):
    """An editor that writes a file in place of a link is told; one that writes through it is not."""
    params = {"path": "l", "folder": ".", "symlink": "kept"}
    world = "rm -f l r s; echo a > r; echo b > s; ln -s r l"
    assert check(params, world, "echo b > l").state == "verified"
    assert check(params, world, "ln -sfn s l").state == "verified"
    found = check(params, world, "rm l; echo b > l")
    assert found.state == "refuted" and "where a link to r was" in found.found
    assert check({**params, "path": "r"}, world, "echo c > r").state == "verified"
    assert outcome(tmp_path, "inside", params, looked=False).cause == "harness"


def test_nothing_of_the_repository_is_run(check, tmp_path):
    """A .git file that names a pipe or holds nonsense is no checkout that could be told."""
    put(tmp_path, "mkdir a; echo x > a/x; printf 'gitdir: /nowhere\\n' > a/.git")
    found = check({"path": "x"}, session="a", looked=False)
    assert found.state in ("verified", "unverified")
    os.unlink(tmp_path / "a/.git")
    os.mkfifo(tmp_path / "a/.git")
    assert check({"path": "x"}, session="a", looked=False).state == "unverified"
