"""OpenCode: what truecall's answer becomes in the model's next request."""

from __future__ import annotations

import pytest

from e2e import others
from e2e.others import UNCHECKED, OpenCode
from e2e.sessions import SAVED

note, shell, save = OpenCode.note, OpenCode.shell, OpenCode.save
LIE = "NOT DONE: notes_save_note reported success, but"
session = others.fixture(OpenCode)


def test_a_lie_is_replaced_and_the_second_try_that_works_is_not(session):
    """The tool's output is the correction and nothing else; a true success stays as it is."""
    done = session([[note("save_note")], [note("save_note_real")]])
    assert done.result(0).startswith(LIE)
    assert done.result(0).count(SAVED) == 1  # as the tool's own words
    assert SAVED in done.result(1)
    assert "truecall" not in done.result(1) + done.beside(0) + done.beside(1)


def test_commands_writes_and_parallel_calls(session):
    """The client's own tools are corrected as well, and of two calls at once each is judged by itself. A command that
    fails is not accused, and the way out that its contract names stands behind its output."""
    both = [note("save_note", "a"), note("save_note_real", "b")]
    done = session([[shell("echo built")], [save("original")], both, [shell("exit 7")]])
    assert done.result(0).startswith("NOT DONE: the command reported success, but")
    assert "build/app" in done.result(0)
    assert done.result(1).startswith("NOT DONE: write reported success, but")
    assert "nothing at" in done.result(1)
    assert done.result(2, 0).startswith(LIE)
    assert done.result(2, 1) == "Saved note 'b' (25 characters)."
    assert "(no output)" in done.result(3)
    assert "Do this now: run make before it." in done.result(3)
    assert "reported success" not in done.result(3).partition("\n")[0]


def test_honest_calls_leave_no_trace(session):
    """After successes that are ones, and after failures that say so, the model is told byte for byte what it is told
    without a hook."""
    turns = [
        [note("save_note_real")], [save("a.txt")], [note("fail_note", "other")],
        [shell("mkdir build && echo > build/app")],
    ]  # fmt: skip
    assert session(turns, scope="user").told() == session(turns, scope="").told()


def test_a_dead_python_is_not_taken_for_all_is_well(session):
    """Without a Python to start, the launcher's own answer reaches the model, behind the output."""
    done = session([[note("save_note")], [shell("true")]], python="/nonexistent")
    assert done.result(0).startswith(f"{SAVED}\n\n{UNCHECKED}")
    assert f"\n\n{UNCHECKED}" in done.result(1)


@pytest.mark.parametrize("scope", ["user", "project"])
def test_uninstall_leaves_everything_as_it_was(session, scope):
    """Registered for the person and for the project the hook works alike; what `uninstall` leaves is, byte for byte,
    what was there before `install`."""
    done = session([[note("save_note")]], scope=scope)
    assert done.result().startswith(LIE)
    assert done.client.uninstalled(scope) == done.client.before
