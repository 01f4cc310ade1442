"""Codex: calls of whose end no hook is told, read from its transcript at the stop."""

from __future__ import annotations

import pytest
from support.turns import (
    MADE,
    TWO,
    Turn,
    completed,
    events,
    reason,
    rollout,
    silent,
)

from truecall_py.ledger.store import ENDED

FILES = "version: 1\nuse: [files]\n" + TWO.partition("version: 1\n")[2]


def output(call, text):
    return "response_item", {"type": "function_call_output", "call_id": call, "output": text}


HEREDOC = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: via.txt\n+via shell\n*** End Patch\nEOF"
SUCCESS = "Wall time: 0.0 seconds\nOutput:\nExit code: 0\nOutput:\nSuccess. Updated the following files:\nA via.txt\n"


@pytest.mark.parametrize("command", [HEREDOC, f"cd . && {HEREDOC}"])
@pytest.mark.parametrize("there", [True, False])
def test_a_patch_inside_a_command(project, command, there):
    """Codex applies it itself, and tells no hook: a file that is not there holds the agent."""
    project.trust(FILES)
    turn = Turn(project, "codex")
    turn.asked(turn.bash(command))
    if there:
        project.write("via.txt", "via shell\n")
    told = rollout(project, completed("toolu_01"), output("toolu_01", SUCCESS))
    answer = turn.stop(transcript_path=told)
    if there:
        assert silent(answer)
    else:
        assert "via.txt" in reason(answer)
    (ended,) = events(project, ENDED)
    assert (ended.call, ended.tool, ended.data["reported"]) == ("toolu_01", "apply_patch", "success")


def test_a_patch_that_failed_and_said_so(project):
    """Its failure was told to the agent."""
    project.trust(FILES)
    turn = Turn(project, "codex")
    turn.asked(turn.bash(HEREDOC))
    said = "apply_patch verification failed: Failed to read file"
    assert silent(turn.stop(transcript_path=rollout(project, output("toolu_01", said))))
    assert events(project, ENDED)[0].data["reported"] == "failure"


@pytest.mark.parametrize("said", [
    "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings",
    "approval policy is Never; reject command \u2014 you cannot ask for escalated permissions",
])  # fmt: skip
def test_a_call_that_codex_never_made(project, said):
    """What its sandbox or its settings forbid was told to the agent as that."""
    project.trust(FILES)
    turn = Turn(project, "codex")
    turn.asked(turn.bash(HEREDOC))
    assert silent(turn.stop(transcript_path=rollout(project, output("toolu_01", said))))
    assert events(project, ENDED)[0].data["reported"] == "failure"


def test_an_error_of_an_mcp_tool(project):
    """No hook comes after it; it said so itself, in both forms of the transcript."""
    project.trust(FILES)
    turn = Turn(project, "codex")
    turn.asked(turn.note("a"))
    turn.asked(turn.note("b"))
    result = {"Ok": {"content": [], "isError": True}}
    told = rollout(project, completed("toolu_01", "McpToolCall", "failed"),
                   ("event_msg", {"type": "mcp_tool_call_end", "call_id": "toolu_02", "result": result}))  # fmt: skip
    assert silent(turn.stop(transcript_path=told))
    assert [each.data["reported"] for each in events(project, ENDED)] == ["failure", "failure"]


@pytest.mark.parametrize("path", [None, "/nonexistent"])
def test_without_a_transcript_the_effect_decides(project, path):
    """Nobody says how a call ended: what it was to bring about is there, or it is not."""
    project.trust(FILES)
    turn = Turn(project, "codex")
    turn.asked(turn.note("a"))
    assert "notes/a.md" in reason(turn.stop(transcript_path=path))
    turn.name = "turn-2"
    turn.asked(turn.note("b"))
    project.write("notes/b.md", "hello")
    assert silent(turn.stop(transcript_path=path))


def test_a_command_that_still_runs(project):
    """It is not finished, whatever lies there; when it has ended it is judged."""
    project.trust(MADE)
    turn = Turn(project, "codex")
    turn.asked(turn.bash("make app"))
    project.write("app", "half")
    runs = output("toolu_01", "Chunk ID: fec9cd\nWall time: 0.3 seconds\nProcess running with session ID 7\nOutput:\na\n")
    assert reason(turn.stop(transcript_path=rollout(project, runs))).startswith("NOT FINISHED")
    ended = completed("toolu_01", "CommandExecution", exit_code=0)
    assert silent(turn.stop(transcript_path=rollout(project, runs, ended)))
    assert events(project, ENDED)[0].data["exit_code"] == 0


@pytest.mark.parametrize("path", [None, "/nonexistent"])
def test_a_command_without_a_record_may_still_run(project, path):
    """In code mode Codex writes none until it ends: what lies there proves nothing."""
    project.trust(MADE)
    turn = Turn(project, "codex")
    turn.asked(turn.bash("make app"))
    project.write("app", "half")
    text = reason(turn.stop(transcript_path=path))
    assert text.startswith("NOT CONFIRMED") and "the transcript does not say it" in text
    assert not events(project, ENDED)


@pytest.mark.parametrize("known", [True, False])
def test_a_command_that_no_contract_is_about_may_run_on(project, known):
    """A server in the background holds nobody, though there are contracts about other commands."""
    project.trust(MADE)
    turn = Turn(project, "codex")
    turn.asked(turn.bash("python3 -m http.server"))
    runs = output("toolu_01", "Wall time: 0.3 seconds\nProcess running with session ID 7\nOutput:\na\n")
    assert silent(turn.stop(transcript_path=rollout(project, *([runs] if known else []))))


def test_only_the_contracts_that_may_be_about_a_command_are_named(project):
    """Of those about other commands there is no word."""
    project.trust(MADE + '  - {id: other, kind: shell, when: {args.command: {runs: "mkdir {d}"}}, post: '
                  '{file_exists: {path: "{{match.d}}", type: dir}}}\n')  # fmt: skip
    turn = Turn(project, "codex")
    turn.asked(turn.bash("make app"))
    text = reason(turn.stop(transcript_path=rollout(project)))
    assert text.startswith("NOT CONFIRMED") and "other" not in text.partition("Do this now")[0]


@pytest.mark.parametrize("said", [
    "exec_command failed for `mkdir x`: CreateProcess { message: \"Rejected(\\\"no\\\")\" }", "user rejected MCP tool call",
])  # fmt: skip
def test_what_a_person_rejects_was_told(project, said):
    """Codex says so itself, and nothing was made."""
    project.trust(FILES)
    turn = Turn(project, "codex")
    turn.asked(turn.note("a"))
    assert silent(turn.stop(transcript_path=rollout(project, output("toolu_01", said))))


def test_what_a_command_prints_is_no_record(project):
    """Words below Codex' own header are the command's."""
    project.trust(MADE)
    turn = Turn(project, "codex")
    turn.asked(turn.bash("make app"))
    said = "Wall time: 0 seconds\nProcess exited with code 0\nOutput:\nProcess exited with code 1\napply_patch verification failed"
    assert "refuted" in reason(turn.stop(transcript_path=rollout(project, output("toolu_01", said))))
