"""Guards in the person's commands: verify, explain, doctor, test and trust."""

from __future__ import annotations

import json

import pytest
from support.guards import REQUIRES, TEMPLATE, announced


def test_verify_judges_the_guards_of_an_announced_call(project, harness):
    """A captured PreToolUse payload: 1 where it would be refused, with the words; 0 where not; 3 for a doubt."""
    project.write("truecall.yaml", TEMPLATE)
    path = project.write("payload.json", json.dumps(announced(project.mcp(harness))))
    done = project.command("verify", path)
    assert done.returncode == 1 and "NOT MADE" in done.stdout and "instead of making the call" in done.stdout
    assert "not made" in done.stdout and "template-there" in done.stdout
    found = json.loads(project.command("verify", path, "--format", "json").stdout)
    assert found[0]["verdict"] == "refuted" and found[0]["contracts"][0]["outcome"] == "not made"
    project.write("templates/a.md", "x")
    assert project.command("verify", path).returncode == 0
    project.write("truecall.yaml", REQUIRES.replace("mcp__notes__deploy", "mcp__notes__save_note"))
    assert project.command("verify", path).returncode == 3


def test_explain_tells_what_guards_a_call(project):
    """Of an announced call, which contracts are asked; of a finished one, which are not any more."""
    project.write("truecall.yaml", REQUIRES + TEMPLATE.partition("contracts:\n")[2])
    path = project.write("payload.json", json.dumps(announced(project.mcp())))
    assert "template-there: guards it" in project.command("explain", path).stdout
    path = project.write("payload.json", json.dumps(project.mcp()))
    assert "template-there: runs only before a call" in project.command("explain", path).stdout


def test_doctor_tells_of_guards_that_are_never_asked(project):
    """Gemini CLI asks truecall only afterwards: a contract that guards is no protection there."""
    project.trust(TEMPLATE)
    project.command("install", "gemini-cli", "--user")
    told = project.command("doctor").stdout
    assert "template-there guard calls before they are made, and gemini-cli asks truecall only afterwards" in told


EXAMPLES = """\
    examples:
      - title: there
        payload: {tool_name: mcp__notes__save_note, tool_input: {title: a}}
        world: {files: {templates/a.md: x}}
        verdict: verified
      - title: not there
        payload: {tool_name: mcp__notes__save_note, tool_input: {title: a}}
        verdict: refuted
      - title: cannot be told
        payload: {tool_name: mcp__notes__save_note, tool_input: {}}
        verdict: unverified
      - title: another tool
        payload: {tool_name: mcp__notes__other, tool_input: {}}
        verdict: none
"""
EFFECTS = """\
    examples:
      - title: verified before
        payload: {tool_name: mcp__notes__deploy, tool_input: {}}
        verified: build-there
        verdict: verified
      - title: something else was
        payload: {tool_name: mcp__notes__deploy, tool_input: {}}
        verified: [tests-green]
        verdict: refuted
"""


@pytest.mark.parametrize("text", [TEMPLATE + EXAMPLES, REQUIRES + EFFECTS])
def test_examples_of_guards(project, text):
    """A contract that is only a guard is judged before the call: verified is let through, refuted is refused."""
    project.write("truecall.yaml", text)
    done = project.command("test")
    assert done.returncode == 0, done.stdout + done.stderr


def test_trust_shows_what_is_asked_before(project):
    """What a person trusts is all that will be asked."""
    project.write("truecall.yaml", REQUIRES + TEMPLATE.partition("contracts:\n")[2])
    shown = project.command("trust", "--yes", "--person").stdout
    assert "before the call: file_exists" in shown and "before the call: the effect build-there" in shown


def test_no_guard_costs_nothing(project, harness):
    """Where no contract that names the call is a guard, nothing of the guards is loaded."""
    from support.imports import loaded

    project.trust()
    modules, _ = loaded(project, announced(project.mcp(harness)), harness)
    assert not {name for name in modules if "guard" in name or "requirements" in name}
