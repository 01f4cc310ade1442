"""A call whose answer is lost, with the real Claude Code: the model is told to look it up, and cannot make it again."""

from __future__ import annotations

import pytest

from e2e.sessions import CLAUDE_CODE, MAIN

SLEPT = """\
version: 1
contracts:
  - id: slept
    tool: mcp__notes__slow
    receipt:
      from: {command: {run: [cat, "{{project}}/receipt.json"]}}
      match: {seconds: "{{args.seconds}}"}
      state: state
      states: {slept: verified}
      owner: the night watch
"""
SLOW = ("slow", {"seconds": 8})


@pytest.fixture(params=CLAUDE_CODE, ids=str)
def agent(request):
    return request.param


def test_a_lost_answer_is_looked_up_and_not_made_again(agent, session):
    """The client gives the call up; what the model reads says that it may have been done, and its second try is refused
    before it runs."""
    turns = [agent.turn(SLOW), agent.turn(SLOW), ["Done."], ["I do not know whether it slept."]]
    done = session(turns, SLEPT, env={"MCP_TOOL_TIMEOUT": "1500"})
    first = done.result() + done.beside()
    assert "NOT CONFIRMED" in first and "find out what happened to" in first and "the night watch" in first
    second = done.result(1) + done.beside(1)
    assert "NOT RUN" in second and "is not known" in second
    assert "do not make it again" in done.beside(2)
    assert len(done.bodies[MAIN]) == 4
