"""Codex's own ways, in every pinned version, with direct tools and in code mode."""

from __future__ import annotations

import json
import os

import pytest

from e2e.sessions import CODEX, LIE, NOTE, NOTES, SAVED, command

DIRECT = [agent for agent in CODEX if not agent.code_mode]
SCRIPTED = [agent for agent in CODEX if agent.code_mode]
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
EXIT = """\
version: 1
contracts:
  - id: built
    kind: shell
    when: {exit_code: {equals: 0}}
    post: {file_exists: {path: "{{project}}/build/app"}}
  - id: needs-make
    kind: shell
    when: {exit_code: {equals: 7}}
    post: {result: {of: exit_code, equals: 0}}
    remedy: run make before it
"""


@pytest.fixture(params=CODEX, ids=str)
def agent(request):
    return request.param


def patch(agent, text):
    """A turn that adds the file a.txt."""
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    whole = f"*** Begin Patch\n*** Add File: a.txt\n{lines}*** End Patch\n"
    script = f"text(await tools.apply_patch({json.dumps(whole)}))"
    return [("exec", script) if agent.code_mode else ("apply_patch", whole)]


def test_where_the_correction_stands(agent, session):
    """The correction is the whole output of a direct tool, and what the script dies of in code mode; it stands in a
    developer's message beside it as well."""
    done = session([agent.turn(("save_note", NOTE))])
    head, _, rest = done.result().rpartition("Script error:\n")
    assert rest.startswith(LIE)
    assert bool(head) == agent.code_mode
    assert [(role, text.startswith(LIE)) for role, text in done.sent(1).beside] == [("developer", True)]


def test_a_patch_is_replaced(agent, session):
    """apply_patch's claim makes room for the correction."""
    done = session([patch(agent, "hello")], COPY)
    assert "NOT DONE: apply_patch reported success, but" in done.result()
    assert "copy.txt" in done.result()


def test_eight_megabytes_are_judged(agent, session):
    """A patch of 8 MB is judged like a small one."""
    done = session([patch(agent, ("x" * 79 + "\n") * 100_000)], SMALL)
    assert "has 8000000 bytes" in done.beside()
    assert "not-too-large" in done.beside()
    assert "as-sent" not in done.beside()


@pytest.mark.parametrize("agent", [agent for agent in CODEX if agent.version == "0.171.0"], ids=str)
def test_the_exit_code_comes_from_the_transcript(agent, session):
    """The hook is given no exit code and finds it in the session's transcript: a failure is none of the agent's
    lies and gets the contract's remedy, a success without its effect is corrected."""
    done = session([command(agent, "exit 7"), command(agent, "true")], EXIT)
    assert "code 7" in done.result(0) or '"exit_code":7' in done.result(0)
    assert "contract needs-make" in done.beside(0)
    assert "run make before it" in done.beside(0)
    assert "reported success" not in done.beside(0)
    assert "NOT DONE: the command reported success, but" in done.result(1)
    assert "build/app" in done.result(1)


@pytest.mark.parametrize("agent", [agent for agent in CODEX if agent.version == "0.144.6"], ids=str)
def test_an_exit_code_that_is_not_known_is_not_guessed(agent, session):
    """0.144.6 writes no exit codes into its transcript: the command's output stays, and the model is told that the
    contract could not be verified."""
    contract = EXIT.replace("    when: {exit_code: {equals: 7}}\n", "")
    done = session([command(agent, "true")], contract)
    assert "NOT CONFIRMED" in done.beside()
    assert "the harness gives no exit code for this call" in done.beside()
    assert "NOT" not in done.result()


@pytest.mark.parametrize("agent", SCRIPTED, ids=str)
def test_a_swallowed_exception_does_not_swallow_the_correction(agent, session):
    """A script that catches what the call throws, and says that all is fine, does not keep the correction from the
    model."""
    call = f"await tools.mcp__notes__save_note({json.dumps(NOTE)})"
    done = session([[("exec", f"try {{ {call} }} catch (e) {{}} text('all is fine')")]])
    assert done.result().endswith("all is fine")
    assert done.beside().startswith(LIE)


@pytest.mark.parametrize("agent", SCRIPTED, ids=str)
def test_a_sub_agent_reads_its_own_correction(agent, session):
    """What a sub-agent's tool did not do is told to the sub-agent."""
    task = {"task_name": "saver", "message": "SUBTASK", "fork_turns": "none"}
    turns = [[("collaboration/spawn_agent", task)], [("collaboration/wait_agent", {"timeout_ms": 30_000})]]
    done = session(turns, agents={"SUBTASK": [agent.turn(("save_note", NOTE))]})
    assert LIE in done.result(conversation="SUBTASK")
    assert SAVED not in done.result(0) + done.result(1)


@pytest.mark.parametrize("agent", DIRECT, ids=str)
def test_a_patch_inside_a_shell_command_comes_to_no_hook(agent, session):
    """A limit: Codex takes `apply_patch <<EOF` out of a shell command, applies it and runs no hook after it."""
    text = patch(agent, "hello")[0][1]
    done = session([command(agent, f"apply_patch <<'EOF'\n{text}EOF")], COPY)
    assert os.path.exists(os.path.join(done.client.project, "a.txt"))
    assert "truecall" not in done.result() + done.beside()


def test_the_shipped_packs_are_silent_in_ordinary_work(agent, session):
    """With the packs for files and MCP, patches, commands and notes that work leave no trace."""
    turns = [patch(agent, "hello"), command(agent, "cat a.txt; exit 3"), agent.turn(("save_note_real", NOTE))]
    assert session(turns, NOTES + "use: [files, mcp]\n").told() == session(turns, hook="").told()


@pytest.mark.parametrize("agent", DIRECT, ids=str)
def test_a_hook_that_is_not_trusted_is_skipped(agent, session):
    """Codex runs no hook that is not trusted, and says nothing to the model: the lie stands."""
    done = session([agent.turn(("save_note", NOTE))], trusted=False)
    assert SAVED in done.result()
    assert not done.beside()
