"""Guards with the real clients: the refusal reaches the model with what to do, and the corrected call goes through."""

from __future__ import annotations

import json

import pytest

from e2e.sessions import CLAUDE_CODE, CODEX, NOTE, SAVED

GUARDS = """\
version: 1
contracts:
  - id: note-form
    tool: mcp__notes__*
    pre:
      schema:
        schema:
          type: object
          required: [name, text]
          properties: {name: {type: string, maxLength: 20, enum: [release, plan]}, text: {type: string}}
  - id: path-there
    kind: [read, edit]
    when: {args.path: {type: string}}
    pre: {file_exists: {path: "{{args.path}}", type: any}}
"""
WRONG = {**NOTE, "name": "relaese"}


@pytest.fixture(params=(*CLAUDE_CODE, *CODEX), ids=str)
def agent(request):
    return request.param


def test_a_call_is_refused_and_the_corrected_one_goes_through(agent, session):
    """The call is not made; the model reads which field is wrong, what was sent, the excerpt and the order; the call that
    it makes then is let through without a word."""
    done = session([agent.turn(("save_note_real", WRONG)), agent.turn(("save_note_real", NOTE)), ["Done."]], GUARDS)
    refused = done.result(0) + done.beside(0)
    plain = refused.replace('\\"', '"')
    assert "NOT MADE: mcp__notes__save_note_real was not run" in refused and SAVED not in refused
    assert "`name` is not as it must be" in refused and '"enum":["release","plan"]' in plain.replace("\\", "")
    assert "fix the fields named above, then make the call once more" in refused
    assert SAVED in done.result(1) and "truecall" not in done.result(1) + done.beside(1)


def test_the_same_refused_call_is_handed_over(agent, session):
    """Made again unchanged, it is refused for good."""
    wrong = agent.turn(("save_note_real", WRONG))
    done = session([wrong, wrong, ["Done."]], GUARDS)
    again = done.result(1) + done.beside(1)
    assert "The same call was refused before: this was attempt 2." in again and "stop this step" in again


@pytest.mark.parametrize("agent", CLAUDE_CODE, ids=str)
def test_help_for_a_call_that_the_client_itself_refuses(agent, session):
    """Claude Code sends no PreToolUse for an edit of a file that is not there: the names that do exist reach the model
    with the batch."""
    edit = [("Edit", {"file_path": "/nowhere/truecall.yml", "old_string": "a", "new_string": "b"})]
    done = session([edit, ["Done."]], GUARDS)
    told = json.dumps(done.bodies["main"][1])
    if "File does not exist" in told or "tool_use_error" in told:
        assert "NOT MADE: Edit was refused by the client" in told
        assert "truecall.yaml" in told.partition("NOT MADE: Edit")[2]
    else:
        assert "NOT MADE: Edit was not run" in told
