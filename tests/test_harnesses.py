"""How payloads become calls: the same facts whatever the harness, and nothing that the harness did not say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from truecall_py import harnesses
from truecall_py.errors import PayloadError
from truecall_py.facts import Facts, exit_code, reported
from truecall_py.harnesses import claude_code, codex, recognise
from truecall_py.harnesses.content import read
from truecall_py.harnesses.patch import files
from truecall_py.types import ABSENT
from truecall_py.world import World


def payload(tool: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"session_id": "s", "cwd": "/p", "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": args,
            "tool_use_id": "t", **more}  # fmt: skip


def claude(tool: str, args: dict[str, Any], **more: Any) -> Any:
    return claude_code.parse(payload(tool, args, **more))


def of_codex(tool: str, args: dict[str, Any], **more: Any) -> Any:
    return codex.parse({**payload(tool, args, **more), "turn_id": "u"})


TEXT = {"type": "text", "text": "hello"}
JSON = {"type": "text", "text": '{"id": 1}'}
IMAGE = {"type": "image", "source": {"data": "x"}}


@pytest.mark.parametrize(
    ("answer", "result", "text", "flag"),
    [
        (ABSENT, ABSENT, None, None),
        (None, ABSENT, None, None),
        ("hello", ABSENT, "hello", None),
        ('{"id": 1}', {"id": 1}, '{"id": 1}', None),
        ('[{"id": 1}]', [{"id": 1}], '[{"id": 1}]', None),
        ('{"id": NaN}', ABSENT, '{"id": NaN}', None),
        ('{"id": 1} trailing', ABSENT, '{"id": 1} trailing', None),
        ('"{\\"id\\": 1}"', ABSENT, '"{\\"id\\": 1}"', None),
        ([TEXT], ABSENT, "hello", None),
        ([JSON], {"id": 1}, '{"id": 1}', None),
        ([TEXT, JSON], {"id": 1}, 'hello\n{"id": 1}', None),
        ([JSON, JSON], ABSENT, '{"id": 1}\n{"id": 1}', None),
        ([IMAGE, JSON], {"id": 1}, '{"id": 1}', None),
        ([], ABSENT, "", None),
        ([1, 2], [1, 2], None, None),
        ({"ok": True}, {"ok": True}, None, None),
        ({"content": [JSON], "isError": True}, {"id": 1}, '{"id": 1}', True),
        ({"content": [TEXT], "is_error": False}, ABSENT, "hello", False),
        ({"content": [TEXT], "structuredContent": {"a": 1}, "_meta": {}}, {"a": 1}, "hello", None),
        ({"status": "x", "content": [TEXT], "agentId": "a"}, {"status": "x", "content": [TEXT], "agentId": "a"}, "hello",
         None),
        (3, ABSENT, "3", None),
        (True, ABSENT, "true", None),
    ],
)  # fmt: skip
def test_answers_of_every_shape_are_read(answer: Any, result: Any, text: Any, flag: Any) -> None:
    """String, object, blocks, JSON inside text, null, absent: structure, text and flag, decoded once."""
    assert read(answer) == (result, text, flag)


@pytest.mark.parametrize("key", ["tool_response", "tool_output"])
def test_the_result_is_found_under_either_key(key: str) -> None:
    """Both names that harnesses use for the answer are read, in both adapters."""
    for parse in (claude, of_codex):
        assert parse("mcp__a__b", {}, **{key: [JSON]}).result == {"id": 1}


@pytest.mark.parametrize(
    ("response", "code"),
    [
        ({}, 0),
        ({"backgroundTaskId": "b"}, None),
        ({"timedOutAfterMs": 1000}, None),
        ({"returnCodeInterpretation": "No matches found"}, None),
        ({"interrupted": True}, None),
    ],
)
def test_claudes_exit_code_is_known_only_after_a_plain_success(response: dict[str, Any], code: int | None) -> None:
    """0 is never assumed where the client leaves it open."""
    answer = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, **response}
    assert claude("Bash", {"command": "x"}, tool_response=answer).exit_code == code
    assert claude("Bash", {"command": "x"}).exit_code is None
    assert claude("Write", {"file_path": "/a"}, tool_response=answer).exit_code is None


@pytest.mark.parametrize(
    ("error", "code"),
    [("Exit code 3\nout", 3), ("Exit code 127\n", 127), ("Exit code x", None), ("It says Exit code 3", None), ("", None),
     ("Command timed out", None)],
)  # fmt: skip
def test_a_failures_exit_code_stands_in_its_first_line(error: str, code: int | None) -> None:
    """The failure event's own words are the only place for it."""
    call = claude("Bash", {"command": "x"}, hook_event_name="PostToolUseFailure", error=error)
    assert (call.exit_code, call.reported, call.result, call.text) == (code, "failure", ABSENT, error)


def test_a_background_launch_is_no_success_yet() -> None:
    """What was sent to the background, or interrupted, has not succeeded."""
    answer = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, "backgroundTaskId": "b"}
    call = claude("Bash", {"command": "x"}, tool_response=answer)
    assert (call.background, call.reported) == (True, "unknown")
    assert claude("Agent", {}, tool_response={"isAsync": True, "status": "async_launched"}).background
    answer = {"stdout": "", "stderr": "", "interrupted": True, "isImage": False}
    assert claude("Bash", {"command": "x"}, tool_response=answer).reported == "unknown"


def test_paths_are_absolute_and_home_is_expanded(monkeypatch: Any) -> None:
    """Relative is against the session's folder, ~ is the home folder, and neutral names stand beside the own."""
    monkeypatch.setenv("HOME", "/home/me")
    for written, path in (("a.txt", "/p/a.txt"), ("/x/a", "/x/a"), ("~/a", "/home/me/a"), ("~", "/home/me")):
        call = claude("Write", {"file_path": written, "content": "c"}, tool_response={"type": "create"})
        assert [(file.path, file.action, file.content) for file in call.files] == [(path, "add", "c")]
        assert call.args["path"] == written and call.args["file_path"] == written
    call = claude("Edit", {"file_path": "a"}, tool_response={"originalFile": "old"})
    assert (call.files[0].action, call.files[0].before, call.files[0].content) == ("update", "old", None)
    assert claude("NotebookEdit", {"notebook_path": "/n"}).files[0].path == "/n"


PATCH = """\
*** Begin Patch
*** Add File: a.txt
+one
+*** Update File: not-a-header
+
*** Update File: dir/b.txt
*** Move to: dir/c.txt
@@
-x
+y
*** Delete File: /abs/d.txt
*** Update File: e.txt
@@
 z
*** End Patch
"""


def test_a_patch_names_its_files() -> None:
    """Add, update, delete and move, with absolute paths; added lines that look like headers are content."""
    assert [(f.path, f.action, f.content) for f in files(PATCH, "/p")] == [
        ("/p/a.txt", "add", "one\n*** Update File: not-a-header\n\n"),
        ("/p/dir/b.txt", "move", None),
        ("/p/dir/c.txt", "update", None),
        ("/abs/d.txt", "delete", None),
        ("/p/e.txt", "update", None),
    ]
    call = of_codex("apply_patch", {"command": PATCH})
    assert call.kinds == {"write", "edit", "delete"} and call.reported == "success"
    assert of_codex("apply_patch", {"command": "nonsense"}).kinds == {"edit"}
    one = of_codex("apply_patch", {"command": "*** Begin Patch\r\n*** Add File: a b.txt\r\n+x\r\n*** End Patch"})
    assert (one.args["path"], one.args["content"]) == ("/p/a b.txt", "x\n")


def record(call_id: str, **item: Any) -> str:
    inside = {"type": "item_completed", "item": {"type": "CommandExecution", "id": call_id, **item}}
    return json.dumps({"timestamp": "x", "type": "event_msg", "payload": inside}) + "\n"


def test_codex_exit_code_comes_from_its_transcript(tmp_path: Any) -> None:
    """The last record of this very call decides; another call's, a torn line, a missing file decide nothing."""
    path = tmp_path / "rollout.jsonl"
    path.write_text(
        record("other", exit_code=0, status="completed") + "\u2028 not json t\n"
        + record("t", exit_code=7, status="failed") + '{"type":"event_msg","id":"t","item_completed' + "\n"
        + record("tt", exit_code=0, status="completed")
    )  # fmt: skip
    call = of_codex("Bash", {"command": "x"}, tool_response="", transcript_path=str(path))
    assert (exit_code(call, World()), reported(call, World())) == (7, "failure")
    path.write_text(record("t", exit_code=0, status="completed"))
    assert (exit_code(call, World()), reported(call, World())) == (0, "success")
    for transcript in (None, str(tmp_path / "none"), str(tmp_path)):
        call = of_codex("Bash", {"command": "x"}, tool_response="", transcript_path=transcript)
        assert (exit_code(call, World()), reported(call, World())) == (None, "unknown")


def test_a_long_transcript_is_read_from_its_end(tmp_path: Any) -> None:
    """A record is found behind megabytes of others, also where it lies across two pieces."""
    path = tmp_path / "rollout.jsonl"
    filler = record("other", exit_code=0, aggregated_output="y" * 5000)
    with open(path, "w") as file:
        file.write(record("t", exit_code=5, aggregated_output="z" * 400_000))
        file.write(filler * 300)
    call = of_codex("Bash", {"command": "x"}, tool_response="", transcript_path=str(path))
    assert exit_code(call, World()) == 5


def test_text_is_all_the_text_whatever_the_shape() -> None:
    """For a shell stdout and stderr, for another object every string in it, for no answer nothing."""
    def text(**more: Any) -> Any:
        return Facts(claude("Bash", {}, **more), World()).get("text")

    assert text(tool_response={"stdout": "a", "stderr": "b", "isImage": False}) == "a\nb"
    assert text(tool_response={"x": ["a", {"y": "b"}], "z": 1}) == "a\nb"
    assert text() is ABSENT


@pytest.mark.parametrize(
    "foreign",
    [
        {"cursor_version": "2", "hook_event_name": "postToolUse"},
        {"toolName": "x", "toolArgs": "{}", "sessionId": "s"},
        {"hook_event_name": "AfterTool", "tool_name": "write_file", "timestamp": "t"},
        {"hook_event_name": "PostToolUse", "tool_name": "Write", "timestamp": "t", "session_id": "s"},
        {"hook_event_name": "PostToolUse", "tool_call_id": "c", "timestamp": "t", "transcript_path": "/x"},
        {"clineVersion": "3", "hookName": "PostToolUse"},
        {"tool_name": "Write"},
        {"hook_event_name": 3},
        {},
    ],
)
def test_an_unknown_shape_is_loud(foreign: dict[str, Any]) -> None:
    """What no adapter understands is never taken for something else, and never passed over."""
    with pytest.raises(PayloadError):
        recognise(foreign)


def test_harnesses_are_told_by_their_keys() -> None:
    """turn_id is Codex', the rest with an event name Claude Code's; extra keys change nothing."""
    assert recognise({"hook_event_name": "PostToolUse", "turn_id": "x", "new_key": 1}) == "codex"
    assert recognise({"hook_event_name": "PostToolUse", "agent_id": "x", "mcp_server": {}}) == "claude-code"


@pytest.mark.parametrize("name", harnesses.NAMES)
def test_events_are_handled_silent_or_loud(name: str) -> None:
    """A known event that is not judged gives no call; an unknown one, or a call without a tool, an error."""
    module = harnesses.module(name)
    for event in module.KNOWN:
        assert module.parse({"hook_event_name": event}) is None
    for wrong in (
        payload("x", {}, hook_event_name="PostToolNews"), payload("", {}), payload("x", "text"), payload(3, {}),  # type: ignore[arg-type]
    ):  # fmt: skip
        with pytest.raises(PayloadError):
            module.parse(wrong)
    with pytest.raises(PayloadError):
        harnesses.module("nonsense")
