"""Models that number their calls anew: the same id comes again, for another call, through the real hook process."""

from __future__ import annotations

import pytest
from support.turns import SESSION, TWO, Turn, reason, silent

from truecall_py.ledger.store import ENDED, REFUSED, Ledger


@pytest.fixture
def turn(project, harness):
    project.trust(TWO)
    return Turn(project, harness)


def rows(project, kind=ENDED):
    return [(each.call, each.state) for each in Ledger(project.state).session(SESSION) if each.event == kind]


def honest(turn, title, name="call_0"):
    """A note that is saved, with both hooks of its call."""
    payload = turn.note(title, tool_use_id=name)
    turn.asked(payload)
    turn.project.write(f"notes/{title}.md", "hello")
    return turn.project.hook(payload, turn.harness)


@pytest.mark.parametrize("later", ["turn-1", "turn-2"])
def test_a_lie_under_an_id_that_was_used_holds_the_agent(project, turn, later):
    """It is not taken for a second copy of the hook of the call that landed."""
    assert silent(honest(turn, "a"))
    turn.name = later
    turn.save("b", tool_use_id="call_0")
    assert "notes/b.md" in reason(turn.stop())
    assert rows(project) == [("call_0", "verified"), ("call_0~0002", "refuted")]


def test_without_the_hook_before_the_call_it_is_known_too(project, turn):
    """By its arguments."""
    assert silent(honest(turn, "a"))
    project.hook(turn.note("b", tool_use_id="call_0"), turn.harness)
    assert "notes/b.md" in reason(turn.stop())


def test_copies_of_a_hook_have_one_name(project, turn):
    """Of the first call with an id as of the later ones."""
    for _ in range(3):
        payload = turn.note("b", tool_use_id="call_0")
        assert turn.asked(payload).out == turn.asked(payload).out
        first = project.hook(payload, turn.harness)
        assert project.hook(payload, turn.harness).text == first.text
    assert rows(project) == [("call_0", "refuted"), ("call_0~0002", "refuted"), ("call_0~0003", "refuted")]


def test_attempts_under_one_id_are_counted(project, turn):
    """The same call, made again under the same id, is its second attempt; when it lands, nothing is unresolved."""
    turn.save("b", tool_use_id="call_0")
    assert "stop this step" in turn.save("b", tool_use_id="call_0").text
    assert silent(honest(turn, "b"))
    assert silent(turn.stop())


def test_a_sub_agent_that_numbers_its_calls_as_the_main_one_does(project, turn):
    """While a call of the main agent goes on under the same id: each is known as its own, and nothing is unresolved that
    has ended."""
    marks = turn.agent("a1")
    outer, inner = turn.note("a", tool_use_id="call_0"), turn.note("b", tool_use_id="call_0", **marks)
    turn.asked(outer)
    turn.asked(inner)
    turn.project.hook(inner, turn.harness)
    project.write("notes/a.md", "hello")
    assert silent(turn.project.hook(outer, turn.harness))
    assert rows(project) == [("call_0~0002", "refuted"), ("call_0", "verified")]
    project.write("notes/b.md", "hello")
    assert silent(turn.stop(event="SubagentStop", **marks))
    assert silent(turn.stop())


def test_another_hook_may_change_the_arguments(project, turn):
    """What ended is the call that was asked for."""
    turn.asked(turn.note("a", tool_use_id="call_0"))
    project.write("notes/b.md", "hello")
    project.hook(turn.note("b", tool_use_id="call_0"), turn.harness)
    assert [name for name, _ in rows(project)] == ["call_0"]


def test_a_call_is_not_refused_for_ever(project, turn):
    """After one that was refused, because its route rested, another one under its id is asked about anew."""
    for title in ("a", "b"):
        turn.save(title, tool_use_id="call_0")
    refused = 0
    for title in "cdefgh":
        payload = turn.note(title, tool_use_id="call_0")
        answer = turn.asked(payload)
        refused += b'"deny"' in answer.out
        if turn.harness == "claude-code":
            batch = {"tool_calls": [{"tool_use_id": f"call_0 {title}", "tool_response": "<tool_use_error>x"}]}
            batch = {**turn.marks, "cwd": project.root, "hook_event_name": "PostToolBatch", **batch}
            project.hook(batch, turn.harness, "PostToolBatch")
    assert refused == 3 and len(rows(project, REFUSED)) == 3
