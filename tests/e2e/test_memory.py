"""Attempts, another route and the hand-over, with the real clients and a model that tries again."""

from __future__ import annotations

import pytest

from e2e.sessions import CLAUDE_CODE, CODEX, LIE, NOTE, NOTES, SAVED

ROUTE = NOTES + "    alternatives: [mcp__notes__save_note_real]\n"


@pytest.fixture(params=(*CLAUDE_CODE, *CODEX), ids=str)
def agent(request):
    return request.param


def test_retry_then_another_route_then_a_rest(agent, session):
    """The first lie may be tried again, after the second another route is named, the third call is not made; the
    other route works, and hears nothing."""
    lie, real = agent.turn(("save_note", NOTE)), agent.turn(("save_note_real", NOTE))
    done = session([lie, lie, lie, real, ["Done."]], ROUTE)
    assert LIE in done.result(0) and "make the same call again now" in done.result(0)
    assert "This was attempt 2 of 2 for this call" in done.result(1)
    assert "Take another route: use mcp__notes__save_note_real" in done.result(1)
    refused = done.result(2) + done.beside(2)
    assert "NOT RUN: truecall paused mcp__notes__save_note" in refused and SAVED not in refused
    assert SAVED in done.result(3)
    assert "truecall" not in done.result(3) + done.beside(3)


def test_without_another_route_the_step_is_handed_over(agent, session):
    """The second correction ends the step, with what was tried; the stop is held once, and ends."""
    lie = agent.turn(("save_note", NOTE))
    done = session([lie, lie, ["Done."], ["It could not be saved."]])
    assert "stop this step" in done.result(1) and "attempt 1: mcp__notes__save_note reported success" in done.result(1)
    assert "NOT DONE" in done.beside(2)
    assert len(done.bodies["main"]) == 4
