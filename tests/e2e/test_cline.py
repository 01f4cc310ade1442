"""Cline: what truecall's answer becomes in the model's next request."""

from __future__ import annotations

import pytest

from e2e import others
from e2e.others import UNCHECKED, Cline
from e2e.sessions import SAVED

note, shell, save = Cline.note, Cline.shell, Cline.save
LIE = "NOT DONE: notes__save_note reported success, but"
session = others.fixture(Cline)


def context(tool, call):
    """How the client opens what a hook says. It doubles the underscores of the names."""
    names = f'tool_name="{tool}" tool_call_id="call_{call}"'
    for name in (tool, f"call_{call}"):
        names = names.replace(f'"{name}"', '"' + name.replace("_", "__") + '"')
    return f'<hook_context source="PostToolUse" {names}>\n'


def test_a_lie_is_told_beside_it_and_the_second_try_that_works_is_not(session):
    """The client has no way to take an output away: the lie stays, and the user's next message is the correction. A
    true success gets none."""
    done = session([[note("save_note")], [note("save_note_real")]])
    assert SAVED in done.result(0)
    assert done.beside(0).startswith(context("notes__save_note", "0_0") + LIE)
    assert SAVED in done.result(1)
    assert done.beside(1) == ""


def test_commands_writes_and_parallel_calls(session):
    """The client's own tools are corrected as well, and of two calls at once each is judged by itself. A command that
    fails is not accused, and the way out that its contract names stands in the next message."""
    both = [note("save_note", "a"), note("save_note_real", "b"), note("save_note", "c")]
    done = session([[shell("echo built")], [save("original")], both, [shell("exit 7")]])
    opening = context("run_commands", "0_0") + "NOT DONE: the command reported success, but"
    assert done.beside(0).startswith(opening)
    assert "build/app" in done.beside(0)
    assert done.beside(1).startswith(context("editor", "1_0") + "NOT DONE: editor reported success, but")
    assert "nothing at" in done.beside(1)
    assert done.beside(2).startswith(context("notes__save_note", "2_0") + LIE)
    assert context("notes__save_note", "2_2") + LIE in done.beside(2)
    assert done.beside(2).count("<hook_context ") == 2
    assert "exited with code 7" in done.result(3)
    assert "Do this now: run make before it." in done.beside(3)
    assert "reported success" not in done.beside(3)


def test_honest_calls_leave_no_trace(session):
    """After successes that are ones, and after failures that say so, the model is told byte for byte what it is told
    without a hook."""
    turns = [
        [note("save_note_real")], [save("a.txt")], [shell("exit 3")], [note("fail_note", "other")],
        [shell("mkdir build && echo > build/app")],
    ]  # fmt: skip
    assert session(turns, scope="user").told() == session(turns, scope="").told()


def test_a_dead_python_is_not_taken_for_all_is_well(session):
    """Without a Python to start, the launcher's own answer reaches the model, after successes and failures."""
    done = session([[note("save_note")], [note("fail_note")]], python="/nonexistent")
    assert SAVED in done.result(0)
    assert done.beside(0).startswith(context("notes__save_note", "0_0") + UNCHECKED)
    assert done.beside(1).startswith(context("notes__fail_note", "1_0") + UNCHECKED)


@pytest.mark.parametrize("scope", ["user", "project"])
def test_uninstall_leaves_everything_as_it_was(session, scope):
    """Registered for the person and for the project the hook works alike; what `uninstall` leaves is, byte for byte,
    what was there before `install`."""
    done = session([[note("save_note")]], scope=scope)
    assert LIE in done.beside()
    assert done.client.uninstalled(scope) == done.client.before
