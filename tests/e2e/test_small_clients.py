"""The clients beside Claude Code and Codex: what truecall's answer becomes in the model's next request. Where a client
differs from the others is in its class in small_clients.py."""

from __future__ import annotations

import functools
import os

import pytest

from e2e import small_clients
from e2e.sessions import SAVED
from e2e.small_clients import Cline, CopilotCli, GeminiCli, OpenCode, QwenCode


@pytest.fixture(params=(CopilotCli, GeminiCli, QwenCode, OpenCode, Cline), ids=lambda kind: kind.harness)
def client(request):
    return request.param


@pytest.fixture
def session(client, tmp_path):
    """Runs a session of the client; a second one has the same paths."""
    return functools.partial(small_clients.run, client, os.path.join(os.path.realpath(tmp_path), "e2e"))


def false_success(client):
    """How the correction of the notes server's false success begins."""
    return f"NOT DONE: {client.notes}save_note reported success, but"


def test_a_false_success_is_corrected_and_the_second_try_that_works_is_not(client, session):
    """The model reads the correction, and the tool's own words once; a true success stays as it is."""
    done = session([[client.note("save_note")], [client.note("save_note_real")]])
    assert client.told(done, 0, client.note("save_note")).startswith(false_success(client))
    assert done.result(0).count(SAVED) == 1
    assert SAVED in done.result(1)
    assert "truecall" not in done.result(1) + done.beside(1)
    if client.replaces:
        assert "truecall" not in done.beside(0)
    else:
        assert done.beside(1) == ""


def test_commands_writes_and_parallel_calls(client, session):
    """The client's own tools are corrected too, and of parallel calls each is judged by itself. A command that fails
    is not accused: the remedy that its contract names follows its output."""
    built, wrote = client.shell("echo built"), client.save("original")
    parallel = [client.note("save_note", "a"), client.note("save_note_real", "b"), client.note("save_note", "c")]
    fails = client.shell("exit 7")
    done = session([[built], [wrote], parallel, [fails]])
    told = client.told(done, 0, built)
    assert told.startswith("NOT DONE: the command reported success, but") and "build/app" in told
    told = client.told(done, 1, wrote)
    assert told.startswith(f"NOT DONE: {wrote[0]} reported success, but") and "nothing at" in told
    for number in (0, 2):
        assert client.told(done, 2, parallel[number], number).startswith(false_success(client))
    assert done.result(2, 1) == client.shown("Saved note 'b' (25 characters).")
    if not client.replaces:
        assert done.beside(2).count("NOT DONE") == 2
    assert client.says_exit_7 in done.result(3)
    told = client.told_after_failure(done, 3)
    assert "Do this now: run make before it." in told
    assert "reported success" not in (told.partition("\n")[0] if client is OpenCode else told)


def test_honest_calls_leave_no_trace(client, session):
    """After true successes and reported failures the model is told byte for byte what it is told without a hook."""
    turns = [
        [client.note("save_note_real")], [client.save("a.txt")], [client.note("fail_note", "other")],
        [client.shell("mkdir build && echo > build/app")],
    ]  # fmt: skip
    if client is not OpenCode:
        turns.insert(2, [client.shell("exit 3")])
    assert session(turns, scope="user").told() == session(turns, scope="").told()


def test_a_dead_python_is_not_taken_for_all_is_well(client, session):
    """Without a Python to start, the launcher's own answer reaches the model, wherever the client lets it through."""
    second = client.shell("true") if client is OpenCode else client.note("fail_note")
    client.check_unchecked(session([[client.note("save_note")], [second]], python="/nonexistent"))


@pytest.mark.parametrize("scope", ["user", "project"])
def test_uninstall_leaves_everything_as_it_was(client, session, scope):
    """Registered for the user or for the project the hook works alike; what `uninstall` leaves is, byte for byte,
    what was there before `install`."""
    done = session([[client.note("save_note")]], scope=scope)
    assert client.told(done, 0, client.note("save_note")).startswith(false_success(client))
    assert done.client.uninstalled(scope) == done.client.before


@pytest.mark.parametrize("client", [CopilotCli, GeminiCli], ids=lambda kind: kind.harness)
def test_a_project_that_is_not_trusted(client, session):
    """These clients do not run the hooks of a project that they do not trust, and do not tell the model: the false
    success stands."""
    done = session([[client.note("save_note")]], trusted=False)
    assert SAVED in done.result()
    assert "NOT DONE" not in done.result() + done.beside()
