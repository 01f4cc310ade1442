"""Fail-closed at the event: events, clients and options that nobody knows are loud."""

from __future__ import annotations

import pytest
from support.faults import (
    refuted,
    unverified,
)


def test_an_event_that_nobody_knows_is_loud(project, harness):
    """An unknown event name is answered, not passed over."""
    payload = project.mcp(harness, hook_event_name="PostToolUsed")
    assert unverified(project.hook(payload, harness), "PostToolUsed")


def test_an_event_that_nobody_knows_is_loud_where_it_is_registered(project, harness):
    """The answer reaches the agent even where the settings register the unknown event."""
    payload = project.mcp(harness, hook_event_name="PostToolUsed")
    assert unverified(project.hook(payload, harness, "PostToolUsed"), "PostToolUsed")


@pytest.mark.parametrize("event", ["PreToolUse", "Stop", "SubagentStop", "SessionStart", "UserPromptSubmit"])
def test_a_known_event_that_is_not_judged_is_silent(project, harness, event):
    """An event that the client has and truecall does not judge passes without a word."""
    project.trust()
    assert project.hook(project.mcp(harness, hook_event_name=event), harness, event).form == "silent"


@pytest.mark.parametrize("sender", ["claude-code", "codex"])
def test_a_harness_that_nobody_knows_is_loud(project, sender):
    """A registered command that names no harness of ours is answered in the dialect of who sent the payload."""
    answer = project.hook(project.mcp(sender), "", "", options=("--harness", "nonsense"))
    assert unverified(answer, "nonsense", "claude-code, codex")
    assert ("turn_id" in project.mcp(sender)) == ("decision" not in answer.json)


@pytest.mark.parametrize("option", ["--harness", "--client"])
def test_the_option_names_the_client_under_both_names(project, option):
    """The registered client is read from either option, with a space or with an equals sign."""
    for words in ((option, "nonsense"), (f"{option}=nonsense",)):
        answer = project.hook(project.mcp("claude-code"), "", "", options=words)
        assert unverified(answer, "nonsense", "claude-code, codex")


def test_a_payload_that_cannot_be_read_and_a_harness_that_nobody_knows(project):
    """Where nothing is known at all, the answer has the form that most clients understand."""
    answer = project.hook(b"{", "", "", options=("--harness", "nonsense"))
    assert unverified(answer) and answer.json["decision"] == "block"


FOREIGN = {
    "Cursor": {"hook_event_name": "postToolUse", "cursor_version": "2.0", "tool_name": "Shell", "tool_input": {}},
    "VS Code": {"hookEventName": "PostToolUse", "tool_name": "t"},
    "Windsurf": {"agent_action_name": "post_write_code", "tool_info": {}},
    "Kimi Code": {"hook_event_name": "PostToolUse", "client_type": "kimi_code_cli", "tool_name": "Bash"},
    "Goose": {"event": "PostToolUse", "matcher_context": "t", "tool_name": "t"},
    "Mistral Vibe": {"hook_event_name": "post_tool", "tool_name": "t"},
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_payload_is_loud(project, harness, name):
    """The shape of a harness that is not supported is named, never judged by guesswork."""
    assert unverified(project.hook(FOREIGN[name], harness), name, "does not support")


@pytest.mark.parametrize(("given", "sender"), [("codex", "claude-code"), ("claude-code", "codex")])
def test_the_sender_counts_and_not_the_registration(project, given, sender):
    """A payload of another harness than the registered one is judged and answered in its own dialect, and the
    person is told."""
    project.trust()
    answer = project.hook(project.mcp(sender), given)
    assert refuted(answer, "note-saved")
    assert ("updatedToolOutput" in answer.json["hookSpecificOutput"]) == (sender == "claude-code")
    assert f"registered for {given}" in answer.notice


WRONG = [("--frobnicate",), ("--deadline", "soon"), ("--deadline", "nan"), ("--state",), ("x",)]


@pytest.mark.parametrize("options", WRONG, ids=" ".join)
def test_a_wrong_registration_is_loud(project, harness, options):
    """A registered command that cannot be understood is answered with what is wrong with it."""
    project.trust()
    project.write("notes/a.md", "hello")
    assert unverified(project.hook(project.mcp(harness), harness, options=options), "the registered command is wrong")
