"""How payloads become calls: the same facts whatever the harness, and nothing that the harness did not say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from truecall_py import clients
from truecall_py.clients import recognise
from truecall_py.clients.apply_patch import list_files
from truecall_py.clients.claude_code import hook
from truecall_py.clients.cline import hook as cline
from truecall_py.clients.codex import hook as codex
from truecall_py.clients.copilot_cli import hook as copilot_cli
from truecall_py.clients.gemini_cli import hook as gemini_cli
from truecall_py.clients.opencode import hook as opencode
from truecall_py.clients.payload import read
from truecall_py.clients.qwen_code import hook as qwen_code
from truecall_py.contracts.facts import Facts, find_exit_code, find_reported
from truecall_py.core.errors import PayloadError
from truecall_py.core.types import ABSENT
from truecall_py.world.world import World


def payload(tool: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"session_id": "s", "cwd": "/p", "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": args,
            "tool_use_id": "t", **more}  # fmt: skip


def claude(tool: str, args: dict[str, Any], **more: Any) -> Any:
    return hook.parse(payload(tool, args, **more))


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
        ({"status": "x", "content": [TEXT], "agentId": "a"}, {"status": "x", "content": [TEXT], "agentId": "a"},
         "hello", None),
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
    [("Exit code 3\nout", 3), ("Exit code 127\n", 127), ("Exit code x", None), ("It says Exit code 3", None),
     ("", None), ("Command timed out", None)],
)  # fmt: skip
def test_a_failures_exit_code_stands_in_its_first_line(error: str, code: int | None) -> None:
    """The failure event's own words are the only place for it."""
    call = claude("Bash", {"command": "x"}, hook_event_name="PostToolUseFailure", error=error)
    assert (call.exit_code, call.reported, call.result, call.text) == (code, "failure", ABSENT, error)


def test_a_background_launch_is_no_success_yet() -> None:
    """What was sent to the background, interrupted, or ended by its time limit has not succeeded."""
    answer = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, "backgroundTaskId": "b"}
    call = claude("Bash", {"command": "x"}, tool_response=answer)
    assert (call.background, call.reported) == (True, "unknown")
    assert claude("Agent", {}, tool_response={"isAsync": True, "status": "async_launched"}).background
    answer = {"stdout": "", "stderr": "", "interrupted": True, "isImage": False}
    assert claude("Bash", {"command": "x"}, tool_response=answer).reported == "unknown"
    answer = {"stdout": "3 passed", "stderr": "", "interrupted": False, "isImage": False, "timedOutAfterMs": 2000}
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
    assert [(f.path, f.action, f.content) for f in list_files(PATCH, "/p")] == [
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
    assert (find_exit_code(call, World()), find_reported(call, World())) == (7, "failure")
    path.write_text(record("t", exit_code=0, status="completed"))
    assert (find_exit_code(call, World()), find_reported(call, World())) == (0, "success")
    for transcript in (None, str(tmp_path / "none"), str(tmp_path)):
        call = of_codex("Bash", {"command": "x"}, tool_response="", transcript_path=transcript)
        assert (find_exit_code(call, World()), find_reported(call, World())) == (None, "unknown")


def test_a_long_transcript_is_read_from_its_end(tmp_path: Any) -> None:
    """A record is found behind megabytes of others, also where it lies across two pieces."""
    path = tmp_path / "rollout.jsonl"
    filler = record("other", exit_code=0, aggregated_output="y" * 5000)
    with open(path, "w") as file:
        file.write(record("t", exit_code=5, aggregated_output="z" * 400_000))
        file.write(filler * 300)
    call = of_codex("Bash", {"command": "x"}, tool_response="", transcript_path=str(path))
    assert find_exit_code(call, World()) == 5


def test_text_is_all_the_text_whatever_the_shape() -> None:
    """For a shell stdout and stderr, for another object every string in it, for no answer nothing."""
    def text(**more: Any) -> Any:
        return Facts(claude("Bash", {}, **more), World()).get("text")

    assert text(tool_response={"stdout": "a", "stderr": "b", "isImage": False}) == "a\nb"
    assert text(tool_response={"x": ["a", {"y": "b"}], "z": 1}) == "a\nb"
    assert text() is ABSENT


# The shapes that harnesses without an adapter document; only Kimi's were captured.
FOREIGN = [
    ("Windsurf", {"agent_action_name": "post_write_code", "trajectory_id": "t", "tool_info": {}}),
    ("Cursor", {"cursor_version": "2", "hook_event_name": "postToolUse", "tool_name": "Write", "tool_output": "{}"}),
    ("Grok Build", {"hookEventName": "x", "hook_event_name": "PostToolUse", "workspaceRoot": "/p", "tool_name": "x"}),
    ("VS Code", {"hookEventName": "PostToolUse", "tool_name": "x", "tool_input": {}, "tool_use_id": "t"}),
    ("Antigravity", {"toolCall": {}, "conversationId": "c"}),
    ("Antigravity", {"toolCall": {}, "stepIdx": 1}),
    ("Mistral Vibe", {"hook_event_name": "after_tool", "session_id": "s", "transcript_path": "/x", "tool_name": "x"}),
    ("Mistral Vibe", {"hook_event_name": "post_tool", "session_id": "s", "tool_name": "x"}),
    ("Kimi Code", {"client_type": "kimi_code_cli", "hook_event_name": "PostToolUse", "tool_name": "x"}),
    ("Goose", {"event": "PostToolUse", "matcher_context": "x", "session_id": "s", "tool_name": "x"}),
    ("Kiro or Amazon Q", {"hook_event_name": "postToolUse", "cwd": "/p", "tool_name": "x", "tool_response": {}}),
    ("names no", {"tool_name": "Write"}),
    ("names no", {"hook_event_name": 3}),
    ("names no", {"input": {"tool": "x"}, "output": {}}),
    ("names no", {"toolName": "x", "toolArgs": "{}"}),
    ("names no", {}),
]


@pytest.mark.parametrize(("name", "foreign"), FOREIGN)
def test_an_unknown_shape_is_loud(name: str, foreign: dict[str, Any]) -> None:
    """What no adapter understands is refused by name, never taken for something else, never passed over."""
    with pytest.raises(PayloadError, match=name):
        recognise(foreign)


TIMED = {"session_id": "s", "timestamp": "t"}
POST = {"hook_event_name": "PostToolUse"}


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("codex", {**POST, "turn_id": "x"}),
        ("claude-code", {**POST, "agent_id": "x", "mcp_server": {}}),
        ("claude-code", {**POST, "transcript_path": "/x", "tool_use_id": "t", "timestamp": 1}),
        ("gemini-cli", {"hook_event_name": "AfterTool", "tool_name": "write_file", **TIMED}),
        ("gemini-cli", {"hook_event_name": "BeforeAgent", **TIMED}),
        ("qwen-code", {**POST, "tool_call_id": "c", "transcript_path": "/x", **TIMED}),
        ("qwen-code", {**POST, "tool_response": {"llmContent": ""}, "tool_use_id": "t", **TIMED}),
        ("qwen-code", {"hook_event_name": "PostToolBatch", "transcript_path": "/x", "tool_calls": [], **TIMED}),
        ("claude-code", {"hook_event_name": "PostToolBatch", "transcript_path": "/x", "tool_calls": []}),
        ("copilot-cli", {**POST, "tool_name": "Write", **TIMED}),
        ("copilot-cli", {"toolName": "x", "toolArgs": "{}", "sessionId": "s"}),
        ("opencode", {"input": {"tool": "x", "callID": "c"}, "output": {}}),
        ("opencode", {"input": {"tool": "x", "callID": "c"}}),
        ("cline", {"clineVersion": "", "hookName": "tool_result"}),
    ],
)
def test_harnesses_are_told_by_their_keys(name: str, keys: dict[str, Any]) -> None:
    """Each by keys that nobody else sends; further keys change nothing."""
    assert recognise(keys) == recognise({**keys, "new_key": 1}) == name


def told(name: str, event: str, tool: Any, args: Any) -> dict[str, Any]:
    """The payload of an event in a harness's own shape, as far as every one has it."""
    if name == "opencode":
        return {"input": {"tool": tool, "callID": "c", "sessionID": "s", "args": args}, "output": {"output": "x"}}
    if name == "cline":
        event = "tool_result" if event == "PostToolUse" else event
        return {"clineVersion": "", "hookName": event, "tool_result": {"id": "c", "name": tool, "input": args}}
    return {"hook_event_name": event, "tool_name": tool, "tool_input": args, "error": "x",
            "tool_response": {}, "tool_result": {"result_type": "success", "text_result_for_llm": "x"}}  # fmt: skip


@pytest.mark.parametrize("name", clients.NAMES)
def test_events_are_handled_silent_or_loud(name: str) -> None:
    """A known event that is not judged gives no call; an unknown one, or a call without a tool, an error."""
    module = clients.load_hook(name)
    for event in module.KNOWN:
        assert module.parse(told(name, event, "x", {})) is None
    for event in module.HANDLED:
        assert module.parse(told(name, event, "x", {})).event == event
        for tool, args in (("", {}), (None, {}), (3, {}), ("x", 3), ("x", None)):
            with pytest.raises(PayloadError):
                module.parse(told(name, event, tool, args))
    if name != "opencode":
        with pytest.raises(PayloadError):
            module.parse(told(name, "PostToolNews", "x", {}))
    with pytest.raises(PayloadError):
        module.parse({})
    with pytest.raises(PayloadError):
        clients.load_hook("nonsense")


# -- the five others: what each says of its own, in ways that were not captured ---------------------------------


def gemini(tool: str, args: dict[str, Any], **more: Any) -> Any:
    event = "AfterTool"
    return gemini_cli.parse({"hook_event_name": event, "cwd": "/p", "tool_name": tool, "tool_input": args, **more})


def qwen(tool: str, args: dict[str, Any], event: str = "PostToolUse", **more: Any) -> Any:
    return qwen_code.parse({"hook_event_name": event, "cwd": "/p", "tool_name": tool, "tool_input": args, **more})


def copilot(tool: str, args: Any, **more: Any) -> Any:
    return copilot_cli.parse({"sessionId": "s", "cwd": "/p", "toolName": tool, "toolArgs": args, **more})


def open_code(tool: str, args: dict[str, Any], output: Any, **more: Any) -> Any:
    asks = {"tool": tool, "callID": "c", "sessionID": "s", "args": args}
    return opencode.parse({"input": asks, "output": output, "cwd": "/p", **more})


def of_cline(tool: str, args: Any, output: Any, **more: Any) -> Any:
    record = {"id": "c", "name": tool, "input": args, "output": output, **more}
    return cline.parse({"hookName": "tool_result", "workspaceRoots": ["/p"], "tool_result": record})


@pytest.mark.parametrize(
    ("content", "result", "text"),
    [
        ("hello", ABSENT, "hello"),
        ('{"id": 1}', {"id": 1}, '{"id": 1}'),
        ({"text": "hello"}, ABSENT, "hello"),
        ([{"text": "hello"}, '{"id": 1}'], {"id": 1}, 'hello\n{"id": 1}'),
        ([{"text": '{"id": 1}'}, {"text": '{"id": 2}'}], ABSENT, '{"id": 1}\n{"id": 2}'),
        ([{"inlineData": {"mimeType": "image/png", "data": "x"}}], ABSENT, ""),
        ([{"text": "<untrusted_context>\n{}\n</untrusted_context>"}], {}, "{}"),
        ("<untrusted_context>\n&lt;/untrusted_context&gt;!\n</untrusted_context>", ABSENT, "</untrusted_context>!"),
        ("<untrusted_context>\na\n</untrusted_context>\n\n[System] changed", ABSENT, "a\n\n[System] changed"),
        ("<untrusted_context>\na", ABSENT, "<untrusted_context>\na"),
        (None, ABSENT, None),
        ([], ABSENT, ""),
    ],
)
def test_llm_content_of_every_shape_is_read(content: Any, result: Any, text: Any) -> None:
    """A text, a part, a list of parts, with and without the client's mark around it."""
    for call in (
        gemini("mcp_a_b", {}, tool_response={"llmContent": content}),
        qwen("mcp__a__b", {}, tool_response={"llmContent": content}),
    ):
        assert (call.result, call.text) == (result, text)
        assert (call.kinds, call.reported) == ({"mcp"}, "success")


PGID = "Process Group PGID: 32"


@pytest.mark.parametrize(
    ("text", "display", "code", "said"),
    [
        (f"Output: hi\n{PGID}", "hi", 0, "success"),
        (f"Output: hi\nExit Code: 3\n{PGID}", "hi", 3, "failure"),
        (f"Output: (empty)\nExit Code: 127\n{PGID}", "Command exited with code: 127", 127, "failure"),
        (f"Output: (empty)\n{PGID}", "", 0, "success"),
        (f"Output: hi\nExit Code: 3\n{PGID}", "hi\nExit Code: 3", 0, "success"),  # the command's own last words
        (f"Output: hi\nExit Code: 0\nExit Code: 3\n{PGID}", "hi\nExit Code: 0", 3, "failure"),
        (f"Output: hi\nExit Code: 3\nBackground PIDs: 1, 2\n{PGID}", "hi", 3, "failure"),
        (f"Output: hi\nExit Code: 1\nSignal: 9\n{PGID}", "hi", None, "failure"),
        (f"Output: hi\nExit Code: 3\n{PGID}", [[{"text": "hi"}]], 3, "failure"),  # an interactive session
        (f"Output: hi\n{PGID}", [[{"text": "hi"}]], 0, "success"),
        ("Output: hi", "hi", None, "unknown"),
        ("Command was cancelled by user before it could complete.", "x", None, "unknown"),
        ("They all passed.", "hi", None, "unknown"),  # a summary took the output's place
        (f"Output: hi\nExit Code: x\n{PGID}", "hi", None, "unknown"),
    ],
)
def test_geminis_exit_code_stands_below_the_output(text: str, display: Any, code: int | None, said: str) -> None:
    """0 only where the client wrote all that it writes below an output; never from what a command prints."""
    answer = {"llmContent": f"<untrusted_context>\n{text}\n</untrusted_context>", "returnDisplay": display}
    call = gemini("run_shell_command", {"command": "x"}, tool_response=answer)
    assert (call.exit_code, call.reported, call.background) == (code, said, False)


def test_geminis_own_ways() -> None:
    """Background, the folder of one command, an error in the answer, a file where the client says it is."""
    moved = "<untrusted_context>\nCommand moved to background (PID: 7). Output hidden.\n</untrusted_context>"
    call = gemini("run_shell_command", {"command": "x"}, tool_response={"llmContent": moved})
    assert (call.background, call.reported, call.exit_code) == (True, "unknown", None)
    call = gemini("run_shell_command", {"command": "x", "dir_path": "sub"}, tool_response={"llmContent": ""})
    assert (call.cwd, call.start_cwd) == ("/p", "/p/sub")
    call = gemini("x", {}, tool_response={"llmContent": "", "error": {"message": "no", "type": "x"}})
    assert call.reported == "failure"
    shown = {"filePath": "/p/real.txt", "originalContent": "old", "newContent": "new", "isNewFile": False}
    call = gemini("write_file", {"file_path": "real.txt", "content": "new"},
                  tool_response={"llmContent": "ok", "returnDisplay": shown})  # fmt: skip
    assert [(f.path, f.action, f.content, f.before) for f in call.files] == [("/p/real.txt", "update", "new", "old")]
    assert call.args["path"] == "real.txt" and call.result["returnDisplay"] == shown
    call = gemini("replace", {"file_path": "a.txt", "old_string": "a", "new_string": "b"}, tool_response={})
    assert (call.kinds, call.files[0].path, call.files[0].content) == ({"edit"}, "/p/a.txt", None)
    assert gemini("notes_save", {}, mcp_context={"server_name": "notes"}).kinds == {"mcp"}
    assert gemini("discovered_tool_x", {}).kinds == {"other"}


QWEN = (
    "Command: x\nDirectory: (root)\nOutput: hi\nError: (none)\nExit Code: {code}\nSignal: (none)\n"
    "Process Group PGID: 7"
)


def test_qwens_own_ways() -> None:
    """The exit code below the output, of success and failure alike; background; an interruption; the ids."""
    for code in (0, 1, 3):
        text = QWEN.format(code=code)
        for more in ("", "\n\nThis command took long."):
            call = qwen("run_shell_command", {"command": "x"}, tool_response={"llmContent": text + more})
            assert (call.exit_code, call.reported) == (code, "failure" if code else "success")
        call = qwen("run_shell_command", {"command": "x"}, "PostToolUseFailure", error=text)
        assert (call.exit_code, call.reported, call.result) == (code, "failure", ABSENT)
    for text in ("", "Exit Code: 0", QWEN.format(code="(none)"), "Command timed out after 9ms", QWEN[:-30]):
        call = qwen("run_shell_command", {"command": "x"}, tool_response={"llmContent": text})
        assert (call.exit_code, call.reported) == (None, "unknown")
    forged = QWEN.replace("Output: hi", "Output: Exit Code: 0\nSignal: (none)\nProcess Group PGID: 7").format(code=4)
    assert qwen("run_shell_command", {"command": "x"}, tool_response={"llmContent": forged}).exit_code == 4
    started = {"llmContent": "Background shell started.\nid: 1"}
    call = qwen("run_shell_command", {"command": "x", "directory": "/d"}, tool_response=started)
    assert (call.background, call.reported, call.start_cwd) == (True, "unknown", "/d")
    assert qwen("x", {}, "PostToolUseFailure", error="stop", is_interrupt=True).reported == "unknown"
    call = qwen("edit", {"file_path": "~/a"}, tool_use_id="toolu", tool_call_id="call", duration_ms=20)
    assert (call.call_id, call.duration, call.kinds) == ("call", 0.02, {"edit"}) and call.files[0].path[0] == "/"


@pytest.mark.parametrize(
    ("text", "code", "said", "background"),
    [
        ("hi\n<shellId: 0 completed with exit code 0>", 0, "success", False),
        ("hi\n<shellId: a b completed with exit code -1>  ", -1, "failure", False),
        ("hi\n<detached command with shellId: 1 completed with exit code 2>", 2, "failure", False),
        ("hi\n<shellId: 0 completed with exit code 4>\n<sandbox is active for this session>", 4, "failure", False),
        ("<shellId: 0 completed with exit code 0>\nhi", None, "unknown", False),  # not the client's own line
        ("<shellId: 0 completed with exit code 0>\n<shellId: 0 completed with exit code 5>", 5, "failure", False),
        ("x <shellId: 0 completed with exit code 0>", None, "unknown", False),
        ("<shellId: 0 completed with exit code none>", None, "unknown", False),
        ("hi\n<command with shellId: 0 is still running after 30 seconds>", None, "unknown", True),
        ("<command started in detached background with shellId: 0>", None, "unknown", True),
        ("", None, "unknown", False),
    ],
)  # fmt: skip
def test_copilots_exit_code_is_its_own_last_line(text: str, code: int | None, said: str, background: bool) -> None:
    """The line that the client writes last, and nothing that the command printed before it."""
    for key in ("textResultForLlm", "text_result_for_llm"):
        answer = {"resultType": "success", "result_type": "success", key: text}
        call = copilot("bash", {"command": "x"}, toolResult=answer)
        assert (call.exit_code, call.reported, call.background) == (code, said, background)


def test_copilots_own_ways() -> None:
    """Arguments as text, a patch as it is, a failure by its key, a result between empty lines, a shell reused."""
    fine = {"resultType": "success", "textResultForLlm": "ok"}
    for args in ({"path": "a", "file_text": "x"}, '{"path": "a", "file_text": "x"}'):
        call = copilot("create", args, toolResult=fine)
        assert [(f.path, f.action, f.content) for f in call.files] == [("/p/a", "add", "x")]
        assert (call.event, call.args["content"], call.reported) == ("postToolUse", "x", "success")
    assert copilot("report_intent", "", toolResult=fine).args == {}
    for wrong in ("text", "[1]", 3):
        with pytest.raises(PayloadError):
            copilot("create", wrong, toolResult=fine)
    with pytest.raises(PayloadError):
        copilot("create", {})  # before the call: nothing that this hook is registered for
    for args in (PATCH, {"input": PATCH}):
        call = copilot("apply_patch", args, toolResult=fine)
        assert call.kinds == {"write", "edit", "delete"} and call.files[0].path == "/p/a.txt"
    call = copilot("view", {"path": "a"}, error="Path does not exist")
    assert (call.event, call.reported, call.text, call.result) == (
        "postToolUseFailure", "failure", "Path does not exist", ABSENT,
    )  # fmt: skip
    assert copilot("x", {}, toolResult={**fine, "resultType": "denied"}).reported == "failure"
    one = {"a": 1}
    for text, result in (('{"a": 1}', one), ('ok\n\n{"a": 1}', one), ('{}\n\n{"a": 1}', ABSENT), ("a", ABSENT)):
        assert copilot("notes-x", {}, toolResult={**fine, "textResultForLlm": text}).result == result
    assert copilot("bash", {"command": "x"}, toolResult=fine).start_cwd == "/p"
    assert copilot("bash", {"command": "x", "shellId": "1"}, toolResult=fine).start_cwd is None
    for command, kind in (("create", "write"), ("str_replace", "edit"), ("view", "read")):
        call = copilot("str_replace_editor", {"command": command, "path": "a", "file_text": "x"}, toolResult=fine)
        assert call.kinds == {kind} and len(call.files) == (kind != "read")


def test_opencodes_own_ways() -> None:
    """MCP by the shape of the answer and not by the name; the exit code from the metadata; the folder of one
    command; an answer that is not there."""
    for name in ("notes_save", "bash", "apply_patch"):
        call = open_code(name, {}, {"content": [JSON], "isError": False})
        assert (call.kinds, call.result, call.is_error, call.reported) == ({"mcp"}, {"id": 1}, False, "success")
    assert open_code("notes_save", {}, {"title": "", "metadata": {}, "output": '{"a": 1}'}).result == {"a": 1}
    for code, said in ((0, "success"), (3, "unknown"), (None, "unknown"), (True, "unknown"), ("0", "unknown")):
        call = open_code("bash", {"command": "x", "workdir": "sub"}, {"output": "x", "metadata": {"exit": code}})
        assert (call.exit_code, call.reported, call.start_cwd) == (
            code if type(code) is int else None, said, "/p/sub",
        )  # fmt: skip
    meta = {"filepath": "/q/a", "exists": True}
    call = open_code("write", {"filePath": "a", "content": "c"}, {"output": "", "metadata": meta})
    assert [(f.path, f.action, f.content) for f in call.files] == [("/q/a", "update", "c")]
    assert call.args["path"] == "a"
    assert open_code("edit", {"filePath": "a"}, {"output": ""}).files[0].path == "/p/a"
    assert open_code("apply_patch", {"patchText": PATCH}, {"output": ""}).kinds == {"write", "edit", "delete"}
    for output in (None, "text", {}):
        assert open_code("task", {}, output).reported == "unknown"


ROW = {"query": "x", "result": "out", "success": True}
BAD = {"query": "x", "result": "", "error": "Command exited with code 3", "success": False}


@pytest.mark.parametrize(
    ("rows", "code", "said"),
    [
        ([ROW], 0, "success"),
        ([BAD], 3, "failure"),
        ([{**BAD, "error": "Command failed: timed out"}], None, "failure"),
        ([ROW, ROW], 0, "success"),
        ([ROW, BAD], None, "failure"),
        ("text", None, "unknown"),
        (ABSENT, None, "unknown"),
    ],
)
def test_clines_exit_code_is_in_its_results(rows: Any, code: int | None, said: str) -> None:
    """Of the client's two answers the one that tells the truth: not `postToolUse.success`, each result's own."""
    call = of_cline("run_commands", {"commands": ["x"]}, rows)
    assert (call.exit_code, call.reported) == (code, said)


@pytest.mark.parametrize(
    ("args", "command"),
    [
        ({"commands": ["a b"]}, "a b"),
        ({"commands": "a b"}, "a b"),
        (["a", "b"], "a\nb"),
        ("a b", "a b"),
        ({"commands": [{"command": "git", "args": ["push", "o'x"]}]}, "git 'push' 'o'\"'\"'x'"),
        ({"commands": ["cd x", "make"]}, None),  # each starts in the project's folder, whatever another one does
        ({"commands": ["cd x && make"]}, "cd x && make"),
        ({"commands": ["cat <<E", "b"]}, None),
        ({"commands": []}, None),
        ({"commands": [3]}, None),
        ({}, None),
    ],
)
def test_clines_commands_become_one_where_that_means_the_same(args: Any, command: str | None) -> None:
    """One command as it is, several as lines; none where a line could mean something for the next."""
    assert of_cline("run_commands", args, [ROW]).args.get("command") == command


def test_clines_own_ways() -> None:
    """MCP by the client's own rule for names, the editor by what it was asked for, a sub-agent, errors, loudness."""
    call = of_cline("notes__save", {"a": 1}, {"content": [JSON]})
    assert (call.kinds, call.result, call.reported) == ({"mcp"}, {"id": 1}, "success")
    assert of_cline("notes__save", {}, "boom", error="boom").reported == "failure"
    call = of_cline("notes__save", {}, {"content": [TEXT], "isError": True})  # its one event is for failures too
    assert (call.is_error, call.reported) == (True, "failure")
    call = of_cline("editor", {"path": "a", "new_text": "x"}, ROW)
    assert (call.kinds, call.args["content"], call.files[0].content) == ({"write"}, "x", "x")
    for more in ({"old_text": "y"}, {"insert_line": 3}):
        call = of_cline("editor", {"path": "a", "new_text": "x", **more}, ROW)
        assert (call.kinds, call.files[0].action, call.files[0].content) == ({"edit"}, "update", None)
    assert of_cline("apply_patch", PATCH, ROW).kinds == {"write", "edit", "delete"}
    assert of_cline("read_files", {"files": []}, [ROW, BAD]).reported == "failure"
    assert of_cline("read_files", ["a"], [{**ROW, "result": [TEXT]}]).text == "hello"
    record = {"id": "c", "name": "x", "input": {}, "output": "", "durationMs": 20}
    about = {"hookName": "tool_result", "tool_result": record, "workspaceInfo": {"rootPath": "/r"}, "agent_id": "me"}
    call = cline.parse({**about, "parent_agent_id": None})
    assert call is not None and (call.cwd, call.agent, call.duration) == ("/r", "", 0.02)
    call = cline.parse({**about, "parent_agent_id": "main", "postToolUse": {"success": False}})
    assert call is not None and (call.agent, call.reported) == ("me", "failure")
    for wrong in ({"hookName": "PostToolUse", "postToolUse": {}}, {**about, "tool_result": []}):
        with pytest.raises(PayloadError):
            cline.parse(wrong)
