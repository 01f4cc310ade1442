"""Guards where truecall itself is broken."""

from __future__ import annotations

import os

import pytest
from support.guards import BROKEN, SCHEMA, TEMPLATE, Asker, announced, reason

from truecall_py.trust import pin as pinning

DEAD = {"TRUECALL_PYTHON": "/nonexistent"}


def test_a_dead_python_refuses_only_where_there_are_guards(project, harness):
    """Without a guard the call goes on with a word beside it; with one it is refused, with what the person can do."""
    payload = announced(project.mcp(harness))
    project.trust()
    assert project.hook(payload, harness, "PreToolUse", env=DEAD).form == "append"
    project.trust(SCHEMA)
    text = reason(project.hook(payload, harness, "PreToolUse", env=DEAD))
    assert "truecall doctor" in text and "truecall off" in text
    project.trust()  # the guard's content is still trusted, and may stand in another branch
    assert os.path.exists(os.path.join(project.state, "guards"))
    pinning.revoke(project.contract, project.state)
    assert project.hook(payload, harness, "PreToolUse", env=DEAD).form == "append"


def test_a_dead_python_refuses_with_a_state_folder_of_its_own(project, harness):
    """The mark is looked for where the registered command says."""
    path = project.write("truecall.yaml", SCHEMA)
    other = project.folder("elsewhere")
    os.chmod(other, 0o700)
    pinning.trust(pinning.compile_file(path), other)
    payload = announced(project.mcp(harness))
    assert reason(project.hook(payload, harness, "PreToolUse", ("--state", other), env=DEAD))
    assert reason(project.hook(payload, harness, "PreToolUse", (f"--state={other}",), env=DEAD))
    assert project.hook(payload, harness, "PreToolUse", env=DEAD).form == "append"


def test_trouble_refuses_nothing_for_guards_that_only_observe(project, harness):
    """No Python, a payload that cannot be read, a bug: who is only tried out keeps no call from being made."""
    from support.faults import installation

    observing = SCHEMA.replace("contracts:", "mode: observe\ncontracts:")
    project.trust(observing)
    payload = announced(project.mcp(harness))
    assert project.hook(payload, harness, "PreToolUse", env=DEAD).form == "append"
    assert project.hook(b"{", harness, "PreToolUse").form == "notice"
    run = installation(project, "guards/barrier.py", "\ndef answer_guards(*args):\n    raise ValueError('bug')\n")
    answer = project.hook(payload, harness, "PreToolUse", run=run)
    assert answer.form == "notice" and "a bug of its own" in answer.notice
    project.trust(observing + TEMPLATE.partition("contracts:\n")[2] + "    mode: enforce\n")
    assert reason(project.hook(payload, harness, "PreToolUse", run=run))
    assert reason(project.hook(payload, harness, "PreToolUse", env=DEAD))


@pytest.mark.parametrize(("text", "refuses"), [
    ('{"until": 99999999999.5, "since": 1.0}', False), ('{"until": 12.5, "since": 1.0}', True), ("nonsense", True),
    ("", True),
])  # fmt: skip
def test_a_dead_python_lets_pass_while_truecall_is_off(project, harness, text, refuses):
    """A person who switched it off is not locked out by a broken installation; a switch that is over counts no more."""
    project.trust(SCHEMA)
    project.write(os.path.join(project.state, "off"), text)
    answer = project.hook(announced(project.mcp(harness)), harness, "PreToolUse", env=DEAD)
    assert (answer.json["hookSpecificOutput"].get("permissionDecision") == "deny") is refuses


def test_a_bug_refuses_what_a_guard_names(project, harness):
    """An error of truecall's own is no pass for a call that a guard names, and no trouble for any other."""
    from support.faults import installation

    project.trust(SCHEMA)
    run = installation(project, "guards/barrier.py", "\ndef answer_guards(*args):\n    raise ValueError('bug')\n")
    text = reason(project.hook(announced(project.mcp(harness)), harness, "PreToolUse", run=run))
    assert "a bug of its own" in text
    assert project.hook(announced(project.bash("ls", harness)), harness, "PreToolUse", run=run).form == "silent"


def test_a_payload_that_cannot_be_read_refuses_where_there_are_guards(project, harness):
    """Nobody can tell which call it is."""
    project.trust()
    assert project.hook(b"{", harness, "PreToolUse").form == "notice"
    project.trust(SCHEMA)
    assert "could not check its guards" in reason(project.hook(b"{", harness, "PreToolUse"))


def test_a_damaged_pin_refuses_where_there_are_guards(project, harness):
    """What was trusted and cannot be read may hold a guard; what only looks is let through."""
    pin = project.trust(SCHEMA)
    with open(pin, "r+b") as file:
        file.truncate(30)
    payload = announced(project.mcp(harness))
    assert "the pin is damaged" in reason(project.hook(payload, harness, "PreToolUse"))
    looks = project.payload(harness, "Read" if harness == "claude-code" else "view_image", {"path": "a"})
    assert project.hook(announced(looks), harness, "PreToolUse").form == "silent"


def test_code_that_was_changed_is_not_asked(project, harness):
    """A guard whose code is not what was trusted cannot be evaluated."""
    project.write("ok.sh", "#!/bin/sh\nexit 0\n", 0o755)
    project.trust(BROKEN.replace("/nonexistent/program", '"{{project}}/ok.sh"'))
    asker = Asker(project, harness)
    assert asker.note(title="a", body="x").form == "silent"
    project.write("ok.sh", "#!/bin/sh\ntouch ran\n", 0o755)
    assert "was changed since the contract was trusted" in reason(asker.note(title="a", body="x"))
    assert not os.path.exists(f"{project.root}/ran")
