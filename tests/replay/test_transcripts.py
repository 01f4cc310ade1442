"""What `truecall replay` reads: transcripts that real clients wrote (tests/data/transcripts: ids, paths and long texts
are neutral) and ones made here."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest
from support.transcripts import CLAUDE, CONTRACTS, HERE, claude, of, replay, shell, written

from truecall_py.cli import payload_files
from truecall_py.cli.commands.replay import render_transcript
from truecall_py.cli.output.replay import Look
from truecall_py.clients.codex import call_outcomes
from truecall_py.clients.transcripts import REPLACED, Lines, Made, Said
from truecall_py.replay import transcripts

CODEX = ("codex-0.144.6.jsonl", "codex-0.171.0.jsonl")


def read(path: str) -> tuple[list[Made], list[Said], Lines]:
    lines = Lines()
    every = list(transcripts.read_events(path, lines))
    return [each for each in every if isinstance(each, Made)], [each for each in every if isinstance(each, Said)], lines


# -- what is read ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLAUDE)
def test_calls_of_claude_code_are_read_as_its_hook_tells_them(client: str) -> None:
    """Answers with the tool's own object, failures with their exit code, refused edits, MCP blocks, a sub-agent."""
    made, said, lines = read(os.path.join(HERE, client, "session.jsonl"))
    calls = [each.call for each in made]
    assert not lines.damaged and not lines.unknown and lines.harness == "claude-code"
    assert [(call.tool, call.reported, call.exit_code) for call in calls] == [
        ("mcp__notes__save_note", "success", None), ("Bash", "success", 0), ("Bash", "failure", 3),
        ("Write", "success", None), ("Edit", "failure", None), ("Bash", "success", 0),
        ("mcp__notes__save_note", "success", None), ("Agent", "success", None),
    ]  # fmt: skip
    assert calls[0].text == "Saved note 'release' (25 characters)."
    assert calls[3].files[0].path == "/home/dev/project/a.txt" and calls[3].files[0].content == "one\n"
    assert len({call.turn for call in calls}) == 1 and calls[0].start_cwd == "/home/dev/project"
    assert [each.stop.message for each in said] == ["done"] and said[0].whole
    folder = os.path.join(HERE, client, "session", "subagents")
    made, said, lines = read(os.path.join(folder, os.listdir(folder)[0]))
    assert [(each.call.tool, each.call.text) for each in made] == [("Bash", "sub")] and made[0].call.agent
    assert said[0].stop.event == "SubagentStop" and not lines.damaged


@pytest.mark.parametrize("client", CODEX)
def test_calls_of_codex_are_read_as_its_hook_tells_them(client: str) -> None:
    """Exit codes by the record or the header, MCP answers whole, patches with their files, a patch within a command, a
    command that still runs, one in another folder."""
    made, said, lines = read(os.path.join(HERE, client))
    calls = [each.call for each in made]
    assert not lines.damaged and not lines.unknown and not lines.scripts and lines.harness == "codex"
    assert [(call.tool, call.reported, call.exit_code) for call in calls] == [
        ("mcp__notes__save_note", "success", None), ("Bash", "success", 0), ("Bash", "failure", 7),
        ("apply_patch", "success", None), ("apply_patch", "failure", None), ("apply_patch", "success", None),
        ("Bash", "unknown", None), ("Bash", "success", 0),
    ]  # fmt: skip
    assert calls[0].text == "Saved note 'release' (25 characters)." and calls[1].text == "hello\n"
    assert [file.path for file in calls[5].files] == ["/home/dev/project/viash.txt"]
    assert calls[6].background and calls[7].start_cwd == "/tmp"
    assert [each.stop.message for each in said] == ["done"]


def test_the_calls_of_a_script_are_read_by_the_record_of_their_end() -> None:
    """Code mode: a rollout of 0.171.0 holds each; one of 0.144.6 holds no commands, and that is counted."""
    made, said, lines = read(os.path.join(HERE, "codex-0.171.0-code-mode.jsonl"))
    assert [(each.call.tool, each.call.exit_code) for each in made] == [
        ("mcp__notes__save_note", None), ("Bash", 0), ("Bash", 7), ("apply_patch", None)]  # fmt: skip
    assert made[1].call.args["command"] == "echo hello" and made[1].call.text == "hello\n"
    assert made[3].call.files[0].content == "hi\n" and not lines.scripts and said[0].whole
    made, said, lines = read(os.path.join(HERE, "codex-0.144.6-code-mode.jsonl"))
    assert [each.call.tool for each in made] == ["mcp__notes__save_note", "apply_patch"]
    assert lines.scripts == 2 and not said[0].whole


def test_what_truecall_put_in_place_of_an_answer_is_no_answer(project: Any) -> None:
    """A correction in Claude Code's transcript hides the tool's words: nothing is judged by it."""
    blocks = [{"type": "text", "text": "NOT DONE: mcp__notes__save_note reported success, but nothing is there."}]
    path = written(project, "t.jsonl", claude("go", ("mcp__notes__save_note", {"name": "a"}, blocks)))
    project.write("truecall.yaml", CONTRACTS)
    (call,) = of(replay(project, path, code=3), "call")
    assert call["trouble"] == REPLACED
    assert {each["id"]: each["verdict"] for each in call["contracts"]} == {"note-there": "needs-world", "note-long": "unverified"}


def test_codex_keeps_the_answer_beside_a_correction(project: Any) -> None:
    """There the record of the end still holds what the tool said."""
    item = {"type": "McpToolCall", "id": "c", "server": "notes", "tool": "save_note", "arguments": {"name": "a"},
            "status": "completed", "result": {"content": [{"type": "text", "text": "Saved."}]}}  # fmt: skip
    path = written(project, "r.jsonl", [
        {"type": "session_meta", "payload": {"id": "s", "cwd": "/home/dev/app"}},
        {"type": "response_item", "payload": {"type": "function_call", "name": "save_note", "namespace": "mcp__notes",
                                              "arguments": '{"name": "a"}', "call_id": "c"}},
        {"type": "event_msg", "payload": {"type": "item_completed", "item": item}},
        {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c", "output": "NOT DONE: x"}},
    ])  # fmt: skip
    (made,), _, _ = read(path)
    assert made.call.text == "Saved." and not made.trouble


# -- lines that cannot be read ----------------------------------------------------------------------------------------


def test_damaged_and_unknown_lines_are_counted_and_told(contracts: Any) -> None:
    """None is passed over in silence: where it stands, and what is wrong with it."""
    lines = claude("go", shell("make"))
    lines[1:1] = ["{\"type\": \"assist", "[1]", {"type": "from-the-future", "x": 1}, {**lines[0], "message": 7}, ""]
    lines.append({**lines[-1], "message": {"content": [{"type": "tool_result", "tool_use_id": "other"}]}})
    path = written(contracts, "t.jsonl", lines)
    with open(path, "ab") as file:
        file.write(b'{"type": "user", "x": "\xff"}\n{"type": "user"')
    rows = replay(contracts, path, code=3)
    (about,) = of(rows, "transcript")
    assert about["damaged"] == 6 and about["unknown"] == {"from-the-future": 1} and about["lines"] == 11
    assert [each["line"] for each in about["places"]] == [2, 3, 5, 9, 10]
    text = contracts.command("replay", path).stdout
    assert "line 2: not JSON" in text and "from-the-future (1)" in text and "6 unreadable lines" in text
    assert "and 1 more unreadable lines" in text


def test_a_line_without_end_is_not_held(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A longer line than any client writes is counted, and what stands behind it is read."""
    monkeypatch.setattr(transcripts, "LONGEST", 4096)
    lines = claude("go", shell("make"))
    lines.insert(1, json.dumps({"type": "user", "x": "x" * 20_000}))
    made, _, about = read(written(project, "t.jsonl", lines))
    assert len(made) == 1 and about.damaged == 1 and about.number == 4


def test_what_is_no_transcript_is_said_to_be_none(contracts: Any) -> None:
    """Another client's file in a folder is named and counted; a name that is not there is wrong usage."""
    written(contracts, "logs/mcp.jsonl", [{"debug": "started", "sessionId": "x"}] * 3)
    written(contracts, "logs/qwen.jsonl", [{"type": "user", "sessionId": "s", "message": {"role": "user", "parts": []}}])
    written(contracts, "logs/t.jsonl", claude("go", shell("make")))
    rows = replay(contracts, os.path.join(contracts.root, "logs"), code=0)
    assert of(rows, "summary")[0]["others"] == 2 and of(rows, "summary")[0]["transcripts"] == 1
    done = contracts.command("replay", "nothing.jsonl")
    assert done.returncode == 2 and "there is no such transcript" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_transcript_that_cannot_be_opened_is_told(contracts: Any) -> None:
    """It is named, the others are read, and the end is 3."""
    path = written(contracts, "logs/t.jsonl", claude("go", shell("make")))
    os.chmod(path, 0)
    assert of(replay(contracts, path, code=3), "trouble")[0]["why"] == "Permission denied"


def test_what_an_agent_wrote_rules_no_terminal(contracts: Any) -> None:
    """Names and texts arrive with their control characters spelled out, and half a surrogate pair ends nothing."""
    odd = "mcp__\x1b[2J\ud83d"
    path = written(contracts, "t.jsonl", claude("go", (odd, {"a": odd}, "x"), shell("x\x1b[31m"), ("says", "I fixed \x1b]0;it")))
    done = contracts.command("replay", "--all", path)
    assert done.returncode == 0 and "\x1b" not in done.stdout and "\\x1b[2J\\ud83d" in done.stdout


# -- many of them ------------------------------------------------------------------------------------------------------


def test_no_transcript_is_a_bug(contracts: Any) -> None:
    """Whatever stands where a client would write something else: each line is read or counted, and nothing raises."""
    odd = [None, 7, True, [], {}, "", "\ud800", [1], {"a": 1}, [[]], [{"type": 5}]]
    chance = random.Random(1)

    def changed(value: Any) -> Any:
        if chance.random() < 0.04:
            return chance.choice(odd)
        if isinstance(value, dict):
            return {name: changed(each) for name, each in value.items() if chance.random() > 0.02}
        return [changed(each) for each in value] if isinstance(value, list) else value

    sources = payload_files.find_sources(os.path.join(contracts.root, "truecall.yaml"))
    paths = [os.path.join(HERE, name) for name in (*CODEX, "codex-0.171.0-code-mode.jsonl")]
    paths += [os.path.join(HERE, name, "session.jsonl") for name in CLAUDE]
    for path in paths * 12:
        with open(path, encoding="utf-8") as file:
            lines = [json.dumps(changed(json.loads(line))) for line in file]
        found = list(render_transcript(sources, Look(True, False, False, False, 80), written(contracts, "t.jsonl", lines)))
        assert found[-1].total["lines"] in (0, len(lines)) and all(json.loads(each) for each in found[:-1])


@pytest.mark.parametrize("success", [[], {}, "yes", None])
def test_a_record_that_says_nothing_leaves_the_end_unknown(success: Any) -> None:
    """At the stop, too, where fates are read: a patch whose end is no yes and no no."""
    line = {"payload": {"type": "patch_apply_end", "call_id": "c", "success": success}}
    ((name, fate, _),) = call_outcomes.read_record(line)
    assert (name, fate.said) == ("c", "unknown")
