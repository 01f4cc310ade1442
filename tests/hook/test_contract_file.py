"""Fail-closed at the contract file: changed, broken, deleted or never trusted."""

from __future__ import annotations

import os

import pytest
from support.faults import (
    damage,
    refuted,
    unverified,
)
from support.project import NOTE

BROKEN = {
    "broken": "version: 1\ncontracts: [",
    "changed": "version: 1\ncontracts: [{id: x, tool: y, post: [{file_exists: {path: z}}]}]\n",
    "empty": "",
    "without a check": "version: 1\ncontracts:\n  - id: note-saved\n    tool: mcp__notes__save_note\n",
    "no text": b"\xff\xfe\0\0",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_was_trusted_is_enforced(project, harness, name):
    """However the contract file is changed after it was trusted, the trusted form is judged, and the person is
    told once a session."""
    project.trust()
    project.write("truecall.yaml", BROKEN[name])
    first = project.hook(project.mcp(harness), harness)
    assert refuted(first, "note-saved")
    assert "has changed since it was trusted" in first.notice
    second = project.hook(project.mcp(harness), harness)
    assert refuted(second) and not second.notice
    other = project.hook(project.mcp(harness, session_id="another"), harness)
    assert refuted(other) and other.notice


def test_a_notice_comes_alone_where_all_is_well(project, harness):
    """A call that kept the trusted contract brings only the notice that the file was changed."""
    project.trust()
    project.write("truecall.yaml", "version: 1\n")
    project.write("notes/a.md", "hello")
    assert project.hook(project.mcp(harness), harness).form == "notice"
    assert project.hook(project.mcp(harness), harness).form == "silent"


def test_a_deleted_file_is_still_enforced(project, harness):
    """Deleting the contract file, or its whole folder, changes nothing but a notice."""
    project.trust()
    os.unlink(project.contract)
    answer = project.hook(project.mcp(harness), harness)
    assert refuted(answer, "note-saved")
    assert "was deleted after it was trusted" in answer.notice


def test_a_file_that_was_never_trusted_is_not_enforced(project, harness):
    """Contracts that no person looked at are not judged; the agent gets the command for the person. Calls that
    only look are left alone."""
    project.write("truecall.yaml", NOTE)
    answer = project.hook(project.mcp(harness), harness)
    assert unverified(answer, "no person has trusted", f"truecall trust {project.contract}")
    reading = "Read" if harness == "claude-code" else "view_image"
    assert project.hook(project.payload(harness, reading, {"path": "a"}), harness).form == "silent"


@pytest.mark.parametrize("text", ["", "version: 1\n", "contracts: [", NOTE.replace("    post:", "    pre:")])
def test_a_broken_file_that_was_never_trusted_is_loud(project, harness, text):
    """A contract file that is empty, without a check or no YAML counts as one that is not trusted."""
    project.write("truecall.yaml", text)
    assert unverified(project.hook(project.mcp(harness), harness), project.contract)


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("what", ["folder", "fifo", "sparse", "link to itself", "dangling link"])
def test_what_is_no_file_cannot_stand_in_for_one(project, harness, what, trusted):
    """A folder, a FIFO, a giant or a circular link where the contract file belongs neither hangs the hook nor
    passes for no file at all; what was trusted is still enforced."""
    if trusted:
        project.trust()
        os.unlink(project.contract)
    if what == "folder":
        os.mkdir(project.contract)
    elif what == "fifo":
        os.mkfifo(project.contract)
    elif what == "sparse":
        with open(project.contract, "wb") as file:
            file.truncate(1 << 30)
    else:
        os.symlink(project.contract if what == "link to itself" else "/nonexistent/x", project.contract)
    answer = project.hook(project.mcp(harness), harness, shell="ulimit -v 800000; \"$@\"")
    if trusted:
        assert refuted(answer, "note-saved") and answer.notice
    elif what != "dangling link":
        assert unverified(answer, project.contract)
    else:  # nothing is there, and nothing was trusted
        assert answer.form == "silent"


def test_a_named_contract_file_that_is_not_there_is_loud(project, harness):
    """--contracts that names nothing is no reason to pass."""
    answer = project.hook(project.mcp(harness), harness, options=("--contracts", "/nonexistent/c.yaml"))
    assert unverified(answer, "/nonexistent/c.yaml", "not there")


def test_a_named_contract_file_is_judged_alone(project):
    """--contracts judges the named file, and is enforced even when it was deleted since it was trusted."""
    project.trust(path=os.path.join(project.root, "other.yaml"))
    options = ("--contracts", "other.yaml")
    assert refuted(project.hook(project.mcp(), options=options), "note-saved")
    os.unlink(os.path.join(project.root, "other.yaml"))
    assert refuted(project.hook(project.mcp(), options=options), "note-saved")


OWN = {
    "never trusted": lambda project: project.write(project.own, NOTE),
    "no YAML": lambda project: project.write(project.own, "{{"),
    "a folder": lambda project: os.makedirs(project.own),
    "a damaged pin": lambda project: damage(project, project.trust(path=project.own), b"x"),
}


@pytest.mark.parametrize("name", OWN)
def test_the_persons_own_file_never_voids_the_projects(project, harness, name):
    """Trouble with the user's own contract file is told, and the project's contracts are judged all the same."""
    project.trust()
    OWN[name](project)
    answer = project.hook(project.mcp(harness), harness)
    assert refuted(answer, "contract note-saved", project.own, "truecall trust")


def test_nested_files_add(project, harness):
    """Contracts of the folders above are judged as well, and their failures told together."""
    project.trust()
    above = os.path.join(project.base, "truecall.yaml")
    project.trust(NOTE.replace("note-saved", "note-above").replace("{{project}}/notes", "{{project}}/above"), above)
    answer = project.hook(project.mcp(harness), harness)
    assert refuted(answer, "note-saved", "note-above")
