"""The stop of a sub-agent: it answers for its own calls."""

from __future__ import annotations

from support.turns import (
    TWO,
    Turn,
    reason,
    silent,
)


def test_a_sub_agent_answers_for_its_own_calls(project, turn):
    """It is held for its own lie and not for the main one's; when it has stopped, the main one answers for it, too."""
    project.trust(TWO)
    turn.save("main")
    turn.save("sub", **turn.agent("a1"))
    text = reason(turn.stop(event="SubagentStop", **turn.agent("a1")))
    assert "notes/sub.md" in text and "notes/main.md" not in text
    text = reason(turn.stop())
    assert "notes/main.md" in text and "notes/sub.md" in text


def test_a_sub_agent_that_goes_on_is_not_the_main_ones(project, turn):
    """A sub-agent in the background has its own stop."""
    project.trust(TWO)
    turn.save("main", write=True)
    turn.save("sub", **turn.agent("a1"))
    goes_on = {"background_tasks": [{"id": "a1", "type": "subagent", "status": "running"}]}
    assert silent(turn.stop(**goes_on if turn.harness == "claude-code" else {}))


def test_a_sub_agent_that_was_killed_leaves_its_lie_to_the_main_one(project):
    """It never stopped, and the client does not name it among what runs: also where the main one made no call."""
    project.trust(TWO)
    turn = Turn(project)
    turn.save("sub", **turn.agent("a1"))
    assert "notes/sub.md" in reason(turn.stop())
    assert turn.stop(active=True).form == "notice"
    turn.name = "turn-2"
    assert silent(turn.stop())


def test_a_sub_agent_that_is_resumed_is_not_held_for_an_old_turn(project, turn):
    """What it was held for once is over; what it does now is not."""
    project.trust(TWO)
    agent = turn.agent("a1")
    turn.save("a", **agent)
    assert "notes/a.md" in reason(turn.stop(event="SubagentStop", **agent))
    turn.stop(event="SubagentStop", active=True, **agent)
    turn.name = "turn-2"
    turn.told(turn.bash("ls", **agent))
    assert silent(turn.stop(event="SubagentStop", **agent))
    turn.save("b", **agent)
    text = reason(turn.stop(event="SubagentStop", **agent))
    assert "notes/b.md" in text and "notes/a.md" not in text
