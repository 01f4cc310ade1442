"""Fail-closed at the trust store: damaged pins, folders of others, code that was changed."""

from __future__ import annotations

import os
import shutil

import pytest
from support.faults import (
    CUSTOM,
    as_root,
    damage,
    refuted,
    unverified,
)
from support.project import NOTE

DAMAGE = {
    "truncated": lambda data: data[: len(data) // 2],
    "one byte short": lambda data: data[:-1],
    "empty": b"",
    "garbage": b"\xff" * 5000,
    "a compiled line overwritten": lambda data: data.replace(b'"file_exists"', b'"file_exists}'),
    "the index overwritten": lambda data: data.replace(b'save_note":[0]', b'save_note":[7]'),
    "the index of another shape": lambda data: data.replace(b'save_note":[0]', b'save_note":"x"'),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_pin_is_no_trust(project, harness, name):
    """A pin that is cut short or overwritten makes the file unverified, and the agent gets the command."""
    damage(project, project.trust(), DAMAGE[name])
    assert unverified(project.hook(project.mcp(harness), harness), "the pin is damaged", "truecall trust")


def test_a_damaged_pin_beside_a_good_one(project):
    """Another pin that is damaged does no harm to the one of the present content."""
    project.trust()
    damage(project, project.trust(NOTE + "# other\n"), b"")
    project.write("truecall.yaml", NOTE)
    assert refuted(project.hook(project.mcp()), "note-saved")


def test_a_pin_with_a_name_of_its_own_is_no_trouble(project):
    """What else lies in the folder of pins is passed over."""
    pin = project.trust()
    for name in ("x.pin", ".pin", "2.pin.77.draft"):
        project.write(os.path.join(os.path.dirname(pin), name), b"x")
    assert refuted(project.hook(project.mcp()), "note-saved")


def test_a_pin_of_another_version_is_compiled_again(project, harness):
    """After an update of truecall the trusted bytes are compiled again, and judged."""
    damage(project, project.trust(), lambda data: data.replace(b'"version":"', b'"version":"0.', 1))
    assert refuted(project.hook(project.mcp(harness), harness), "note-saved")
    project.write("notes/a.md", "hello")
    assert project.hook(project.mcp(harness), harness).form == "silent"


def test_a_pin_that_cannot_be_compiled_again_is_no_trust(project, harness):
    """Trusted bytes that this version of truecall does not understand are told, never dropped; other files are
    judged all the same."""
    old = project.trust(NOTE.replace("note-saved", "note-old"))

    def outdated(data):
        header, rest = data.split(b"\n", 1)
        return header.replace(b'"version":"', b'"version":"0.') + b"\n" + rest.replace(b"version: 1", b"version: 0")

    damage(project, old, outdated)
    project.trust(path=os.path.join(project.base, "truecall.yaml"))
    answer = project.hook(project.mcp(harness), harness)
    assert refuted(answer, "contract note-saved", project.contract, "truecall trust")


def writable(project):
    os.chmod(project.state, 0o770)


def linked(project):
    os.rename(project.state, project.state + ".moved")
    os.symlink(project.state + ".moved", project.state)


def owned(project):
    os.chown(project.state, 12345, 12345)


def a_file(project):
    shutil.rmtree(project.state)
    project.write(project.state, "")


@pytest.mark.parametrize("how", [writable, linked, pytest.param(owned, marks=as_root), a_file])
def test_a_state_folder_of_others_is_not_believed(project, harness, how):
    """A state folder that somebody else could have written, or that is a link, is no proof of trust."""
    project.trust()
    how(project)
    assert unverified(project.hook(project.mcp(harness), harness), "the state folder", project.state)


def test_a_relative_state_folder_is_not_believed(project, harness):
    """A state folder that depends on the working folder is one that the agent could choose."""
    project.trust()
    project.write("notes/a.md", "hello")
    answer = project.hook(project.mcp(harness), harness, options=("--state", "state"))
    assert unverified(answer, "the state folder")


@pytest.mark.parametrize("change", ["changed", "deleted", "a folder", "a FIFO"])
def test_code_that_was_changed_is_not_run(project, harness, change):
    """A contract whose pinned code is no longer the trusted one is unverified, and the code does not run."""
    code = project.write("checks/own.py", "def holds(call):\n    return True\n")
    project.trust(CUSTOM)
    assert project.hook(project.mcp(harness), harness).form == "silent"
    os.unlink(code)
    if change == "changed":
        project.write("checks/own.py", f"open({project.root + '/ran'!r}, 'w')\ndef holds(call):\n    return True\n")
    elif change == "a folder":
        os.mkdir(code)
    elif change == "a FIFO":
        os.mkfifo(code)
    assert unverified(project.hook(project.mcp(harness), harness), "was changed since", "truecall trust", "own-check")
    assert not os.path.exists(project.root + "/ran")


def test_code_that_was_changed_matters_only_where_the_contract_applies(project, harness):
    """A call that the contract is not about is not troubled by its changed code."""
    project.write("checks/own.py", "def holds(call):\n    return True\n")
    project.trust(CUSTOM)
    project.write("checks/own.py", "def holds(call):\n    return 1\n")
    payload = project.mcp(harness, args={"title": "b", "body": "x"})
    assert project.hook(payload, harness).form == "silent"
