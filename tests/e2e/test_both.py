"""What holds in Claude Code and in Codex alike, in every pinned version, direct and in code mode."""

from __future__ import annotations

import os

import pytest

from e2e.sessions import CLAUDE_CODE, CODEX, LIE, NOTE, NOTES, SAVED, run

UNCHECKED = "NOT CONFIRMED: truecall could not check this tool call, because its program failed."


@pytest.fixture(params=(*CLAUDE_CODE, *CODEX), ids=str)
def agent(request):
    return request.param


def test_a_lie_is_replaced_and_the_second_try_that_works_is_not(agent, session):
    """The model reads the correction in place of the tool's false success, and the true one as it is."""
    done = session([agent.turn(("save_note", NOTE)), agent.turn(("save_note_real", NOTE))])
    assert LIE in done.result(0)
    assert done.result(0).count(SAVED) == done.result(0).count(f'output: "{SAVED}"') == 1
    assert SAVED in done.result(1)
    assert "truecall" not in done.result(1) + done.beside(1)


@pytest.mark.parametrize("tool", ["save_note_real", "fail_note"])
def test_an_honest_call_leaves_no_trace(agent, session, tool):
    """After a success that is one, and after a failure that says so, the model is told byte for byte what it is
    told without a hook."""
    turns = [agent.turn((tool, NOTE))]
    assert session(turns).told() == session(turns, hook="").told()


def test_observing_leaves_no_trace(agent, session):
    """In observe mode the model is told byte for byte what it is told without a hook, lies included."""
    turns = [agent.turn(("save_note", NOTE))]
    assert session(turns, NOTES + "mode: observe\n").told() == session(turns, hook="").told()


def test_a_dead_python_is_not_taken_for_all_is_well(agent, session):
    """Without a Python to start, the launcher's own answer reaches the model, beside the tool's output."""
    done = session([agent.turn(("save_note", NOTE))], env={"TRUECALL_PYTHON": "/nonexistent"})
    assert UNCHECKED in done.beside()
    assert SAVED in done.result()


def test_parallel_calls_are_told_apart(agent, session):
    """Of four calls at once each is judged by itself, and each correction names its own call."""
    names = ("save_note", "save_note_real", "save_note", "save_note_real")
    calls = [(tool, {"name": f"{number}", "text": "x"}) for number, tool in enumerate(names)]
    done = session([agent.turn(*calls)])
    in_one = done.result().split('"status":')[1:]  # the script's list of what became of each
    results = in_one if agent.code_mode else [done.result(0, number) for number in range(4)]
    assert [LIE in result for result in results] == [True, False, True, False]
    assert "notes/0.md" in results[0]
    assert "notes/2.md" in results[2]


def test_a_folder_with_a_space_and_other_letters(session, agent):
    """A project whose path has blanks and letters beyond ASCII is judged as any other."""
    done = session([agent.turn(("save_note", NOTE)), agent.turn(("save_note_real", NOTE))], folder="mein projekt é")
    assert LIE in done.result(0)
    assert "mein projekt" in done.result(0)
    assert SAVED in done.result(1)
    assert "truecall" not in done.result(1) + done.beside(1)


def test_one_contract_file_serves_both_clients(tmp_path):
    """The same file, in the same folder, makes both clients' models read the same correction."""
    base = os.path.join(os.path.realpath(tmp_path), "e2e")
    corrections = [
        run(agent, base, [agent.turn(("save_note", NOTE))]).result().partition(", call ")[0]
        for agent in (CLAUDE_CODE[-1], CODEX[-2])
    ]
    assert corrections[0] == corrections[1]
    assert corrections[0].startswith(LIE)
    assert corrections[0].endswith("contract note-saved (truecall.yaml:3)")


def test_a_lie_about_what_was_there_before_is_not_confirmed(agent, session):
    """The note is saved, and saved again by a tool that does nothing: the look before the second call tells."""
    done = session([agent.turn(("save_note_real", NOTE)), agent.turn(("save_note", NOTE))])
    assert "truecall" not in done.result(0) + done.beside(0)
    told = done.result(1) + done.beside(1)
    assert "it was so before the call already, and nothing has changed since" in told
    assert SAVED in done.result(1)
