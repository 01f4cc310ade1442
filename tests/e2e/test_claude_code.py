"""Claude Code's own ways, in every pinned version."""

from __future__ import annotations

import os

import pytest

from e2e.sessions import CLAUDE_CODE, LIE, NOTE, NOTES, SAVED, Agent

OLD, NEW = CLAUDE_CODE
# After a write a copy is demanded that no tool makes: to truecall a write that did not do what it says.
COPY = """\
version: 1
contracts:
  - id: copy-made
    kind: [write, edit]
    post: {file_exists: {path: "{{project}}/copy.txt"}}
"""
SMALL = """\
version: 1
contracts:
  - id: not-too-large
    kind: write
    post: {file_exists: {path: "{{file.path}}", max_size: 1000}}
  - id: as-sent
    kind: write
    post: {file_exists: {path: "{{file.path}}", equals: "{{file.content}}"}}
"""
BUILD = """\
version: 1
contracts:
  - id: build-made
    kind: shell
    when: {args.command: {runs: "echo built"}}
    post: {file_exists: {path: "{{project}}/build/app"}}
  - id: needs-make
    kind: shell
    when: {exit_code: {equals: 7}}
    post: {result: {of: exit_code, equals: 0}}
    remedy: run make before it
"""
ECHO = [("Bash", {"command": "echo built", "description": "builds"})]
FAIL = [("Bash", {"command": "exit 7", "description": "fails"})]


@pytest.fixture(params=CLAUDE_CODE, ids=str)
def agent(request):
    return request.param


def writing(session, contracts, content="hello\n"):
    """A session in which the model writes a file in the project, with its path relative to it."""
    return session([[("Write", {"file_path": "a.txt", "content": content})]], contracts)


@pytest.mark.parametrize(
    ("agent", "role", "opening"),
    [
        (OLD, "user", '<system-reminder>\nPostToolUse:mcp__notes__save_note hook blocking error from command: "'),
        (NEW, "system", 'PostToolUse:mcp__notes__save_note hook blocking error from command: "'),
        (Agent("claude-code", NEW.version, "claude-sonnet-4-5"), None, LIE),
    ],
    ids=str,
)
def test_where_the_correction_stands(agent, role, opening, session):
    """The tool's output is replaced in every version. The reason stands beside it too: as a reminder of the user's
    (2.1.197), as a message of the system's (2.1.332), or, for an older model, in the same output."""
    done = session([agent.turn(("save_note", NOTE))])
    assert done.result().startswith(LIE)
    found = [who for who, text in done.sent(1).beside if LIE in text]
    assert found == ([role] if role else [])
    assert (done.beside() if role else done.result()).startswith(opening)
    assert done.result().count(LIE) == (1 if role else 2)


def test_a_write_is_corrected_beside_its_output(agent, session):
    """Write has no place for a text: its own output stays, and the correction stands beside it."""
    done = writing(session, COPY)
    assert done.result().startswith("File created successfully")
    assert "NOT DONE: Write reported success, but" in done.beside()
    assert "copy.txt" in done.beside()


def test_eight_megabytes_are_judged(agent, session):
    """A write of 8 MB, which comes to the hook as more than 16 MB, is judged like a small one."""
    done = writing(session, SMALL, ("x" * 79 + "\n") * 100_000)
    assert "has 8000000 bytes" in done.beside()
    assert "not-too-large" in done.beside()
    assert "as-sent" not in done.beside()


def test_a_command_is_replaced(agent, session):
    """Bash's output is replaced in its own shape."""
    done = session([ECHO], BUILD)
    assert done.result().startswith("NOT DONE: the command reported success, but")
    assert "build/app" in done.result()


def test_a_failure_gets_the_way_out_of_its_contract(agent, session):
    """A command that fails comes with its exit code and without an accusation, and the contract's remedy is told."""
    done = session([FAIL], BUILD)
    assert done.result() == "Exit code 7"
    assert "run make before it" in done.beside()
    assert "reported success" not in done.beside()


def test_a_command_in_the_background_is_not_finished(agent, session):
    """A command that goes on in the background is neither a success nor a lie: its output stays, and the model is
    told to wait and look."""
    call = {"command": "echo built", "description": "builds", "run_in_background": True}
    done = session([[("Bash", call)]], BUILD)
    assert done.result().startswith("Command running in background")
    assert "NOT FINISHED" in done.beside()


def test_a_dead_python_after_a_failure_is_told(agent, session):
    """The launcher's own answer reaches the model at the other event too."""
    done = session([FAIL], BUILD, env={"TRUECALL_PYTHON": "/nonexistent"})
    assert done.result() == "Exit code 7"
    assert "truecall could not check this tool call" in done.beside()


def test_a_sub_agent_reads_its_own_correction(agent, session):
    """What a sub-agent's tool did not do is told to the sub-agent, in place of the lie."""
    task = {"description": "saves", "prompt": "SUBTASK", "run_in_background": False}
    done = session([[("Agent", task)]], agents={"SUBTASK": [agent.turn(("save_note", NOTE))]})
    assert done.result(conversation="SUBTASK").startswith(LIE)
    assert SAVED not in done.result()


def test_a_refused_edit_is_helped(agent, session):
    """An edit of a file that is not there gets the names that are: the client refuses it without a hook of its own,
    and only the event of the whole batch tells of it."""
    turns = [
        [("Write", {"file_path": "settings.toml", "content": "a = 1\n"})],
        [("Edit", {"file_path": "setting.toml", "old_string": "a", "new_string": "b"})],
    ]
    done = session(turns, NOTES + "use: [files]\n")
    assert "File does not exist" in done.result(1)
    assert "settings.toml" in done.beside(1)
    assert "reported success" not in done.beside(1)


def test_the_shipped_packs_are_silent_in_ordinary_work(agent, session):
    """With the packs for files and MCP, writes, edits and notes that work leave no trace."""
    path = os.path.join("src", "a.py")
    turns = [
        [("Write", {"file_path": path, "content": "x = 1   \n"})],
        [("Edit", {"file_path": path, "old_string": "x = 1", "new_string": "x = 2"})],
        agent.turn(("save_note_real", NOTE)),
    ]
    assert session(turns, NOTES + "use: [files, mcp]\n").told() == session(turns, hook="").told()
