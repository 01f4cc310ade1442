"""The fixtures of this room."""

from __future__ import annotations

import os

import pytest
from support.git_repositories import PROLOGUE, sh

from truecall_py.trust.pin import load_untrusted


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a remote (r.git) and a clone of one commit (w), in which git asks nobody."""
    for name in list(os.environ):
        if name.startswith(("GIT_", "XDG_", "SSH_")) or name == "CLAUDE_PROJECT_DIR":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    sh(tmp_path, PROLOGUE.format(root=tmp_path))
    monkeypatch.chdir(tmp_path / "w")
    return tmp_path


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    path = tmp_path_factory.mktemp("pack") / "truecall.yaml"
    path.write_text("version: 1\nuse: [git]\ncontracts: []\n")
    return [load_untrusted(str(path))]
