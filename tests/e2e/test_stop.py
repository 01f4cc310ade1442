"""The gate at the stop, with the real clients: an agent that lies and says that it is done."""

from __future__ import annotations

import json
import os

import pytest

from e2e.sessions import CLAUDE_CODE, CODEX, MAIN, NOTE, NOTES, Session, command

CLAIM = """\
version: 1
contracts:
  - id: tests-run
    event: stop
    kind: shell
    when: {args.command: {runs: "npm test *"}}
    claims: ["(?i)tests pass"]
"""
HELD = "NOT DONE: the effect of 1 call in this turn is missing"
FILES = "version: 1\nuse: [files]\n"


@pytest.fixture(params=(*CLAUDE_CODE, *CODEX), ids=str)
def agent(request):
    return request.param


def requests(done: Session) -> int:
    return len(done.bodies[MAIN])


def test_a_lie_and_done_is_held_once(agent, session):
    """The model reads why it may not stop yet, says again that it is done, and is let go."""
    done = session([agent.turn(("save_note", NOTE)), ["Done."], ["Done, really."]])
    text = done.beside(1)
    assert HELD in text
    assert "notes/release.md" in text and "contract note-saved (truecall.yaml:3)" in text
    assert requests(done) == 3
    assert HELD not in done.told().partition("Done, really.")[2]


def test_what_was_put_right_after_it_was_held(agent, session):
    """It saves the note, and ends without another word."""
    turns = [agent.turn(("save_note", NOTE)), ["Done."], agent.turn(("save_note_real", NOTE)), ["Done."]]
    done = session(turns)
    assert HELD in done.beside(1)
    assert "truecall" not in done.result(2) + done.beside(2)
    assert requests(done) == 4


def test_an_honest_turn_is_not_held(agent, session):
    """What the model is told is byte for byte what it is told without a hook."""
    turns = [agent.turn(("save_note_real", NOTE)), ["Done."]]
    with_hook = session(turns)
    assert requests(with_hook) == 2
    assert with_hook.told() == session(turns, hook="").told()


def test_a_claim_without_a_call(agent, session):
    """Tests that nobody ran do not pass."""
    done = session([["All tests pass."], ["I did not run them."]], CLAIM)
    assert "no call was made" in done.beside(0)
    assert requests(done) == 2


def test_a_dead_python_at_the_stop_does_not_loop(agent, session):
    """The launcher holds once, and never again."""
    done = session([["Done."], ["Done."]], env={"TRUECALL_PYTHON": "/nonexistent"})
    assert "truecall could not run at the stop" in done.beside(0)
    assert requests(done) == 2


DIRECT = [agent for agent in CODEX if not agent.code_mode]
PATCH = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: via.txt\n+via shell\n*** End Patch\nEOF"


@pytest.mark.parametrize("agent", DIRECT, ids=str)
def test_a_patch_in_a_command_that_is_gone_again(agent, session):
    """Codex applies it and tells no hook; that its file is gone holds the agent at the stop."""
    done = session([command(agent, PATCH), command(agent, "rm via.txt"), ["Done."], ["Done."]], FILES)
    assert "via.txt" in done.beside(2)
    assert requests(done) == 4


@pytest.mark.parametrize("agent", DIRECT, ids=str)
def test_what_codex_tells_no_hook(agent, session):
    """A patch in a command that landed, an error of a tool and a patch that failed are nothing to be held for."""
    bad = "*** Begin Patch\n*** Update File: none.txt\n@@\n-a\n+b\n*** End Patch\n"
    turns = [command(agent, PATCH), agent.turn(("fail_note", NOTE)), [("apply_patch", bad)], ["Done."]]
    done = session(turns, FILES + NOTES.partition("version: 1\n")[2])
    assert requests(done) == 4
    assert os.path.exists(os.path.join(done.client.project, "via.txt"))


@pytest.mark.parametrize("agent", CODEX, ids=str)
def test_a_command_that_still_runs(agent, session):
    """Nobody can say what came of it: the model is told to wait or to say so. In code mode the transcript does not even
    say that it runs."""
    contract = NOTES.replace("mcp__notes__save_note*", "Bash").replace("args.name", "args.command").replace(
        "          contains: \"{{args.text}}\"\n", "")  # fmt: skip
    told = {"cmd": "sleep 20", "yield_time_ms": 300}
    script = f"text(JSON.stringify(await tools.exec_command({json.dumps(told)})))"
    sleeps = [("exec", script) if agent.code_mode else ("exec_command", told)]
    done = session([sleeps, ["Done."], ["Done."]], contract)
    word = "NOT CONFIRMED: the calls of this turn" if agent.code_mode else "NOT FINISHED: 1 call in this turn"
    assert word in done.beside(1)
    assert requests(done) == 3


@pytest.mark.parametrize("agent", CLAUDE_CODE, ids=str)
def test_a_sub_agent_is_held_for_its_own_lie(agent, session):
    """Its model reads why, and the main agent is held after it as long as the note is not there."""
    task = {"description": "save", "prompt": "[[helper]] save it", "subagent_type": "general-purpose",
            "run_in_background": False}  # fmt: skip
    helper = [agent.turn(("save_note", NOTE)), ["Saved."], agent.turn(("save_note_real", NOTE)), ["Saved."]]
    done = session([[("Agent", task)], ["Done."]], agents={"[[helper]]": helper})
    assert HELD in done.beside(1, "[[helper]]")
    assert requests(done) == 2
