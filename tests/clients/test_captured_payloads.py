"""The payloads that real clients sent: each is understood, none is passed over, and the packs block no call
that worked and every lie that they claim to see."""

from __future__ import annotations

import json
import os

import pytest
from support.payload_worlds import LIARS, MADE, PAYLOADS, handled, honest, lies, names, others, payload, put, text

from truecall_py import judge
from truecall_py.clients import load_hook, recognise
from truecall_py.clients.payload import find_text
from truecall_py.contracts.facts import find_exit_code, find_reported
from truecall_py.core.errors import PayloadError
from truecall_py.core.types import ABSENT, REFUTED
from truecall_py.policy.orders import REPLACE, deliver
from truecall_py.trust.pin import load_untrusted
from truecall_py.world.world import World

HARNESSES = ("claude-code", "codex")
PACKS = "version: 1\nuse: [files, mcp, self]\ncontracts: []\n"


def call_of(name, base):
    plain = payload(name, base)
    return load_hook(recognise(plain)).parse(plain)


# -- what the calls are ------------------------------------------------------------------------------------
# Made by reading the payloads. A row: kinds, exit code, what the tool reported, and more where it matters:
# `files` as (path in the project, action), `start` the folder the command started in ("" the project's own,
# None: cannot be known), `background`, `result`, `text`, `is_error`.


def shell(code, said="success", **more):
    return {"kinds": {"shell"}, "code": code, "said": said, **more}


def other(*kinds, said="success", **more):
    return {"kinds": set(kinds), "code": None, "said": said, **more}


def wrote(path, action="add", **more):
    return other("write", files=[(path, action)], **more)


def edited(path, **more):
    return other("edit", files=[(path, "update")], **more)


CLAUDE = {
    "PostToolUse__Bash__bash_exit0": shell(0, text="hello", start=""),
    "PostToolUse__Bash__bash_noout": shell(0, text=""),
    "PostToolUse__Bash__bash_both0": shell(0, text="out\nerr"),
    "PostToolUse__Bash__bash_stderr0": shell(0, text="warn"),
    "PostToolUse__Bash__bash_big": shell(0),
    "PostToolUse__Bash__bash_masked": shell(0, start=""),
    "PostToolUse__Bash__bash_pipe_false_true": shell(0),
    "PostToolUse__Bash__bash_semicolon": shell(0),
    "PostToolUse__Bash__bash_sleep_fg": shell(0, text="slept"),
    "PostToolUse__Bash__bash_write_file": shell(0, start=""),
    "PostToolUse__Bash__bash_unicode": shell(0, text="h\u00e9 \x1b[31mred\x1b[0m \x00nul \ufffd end"),
    "PostToolUse__Bash__bash_grep_nomatch": shell(None, text=""),  # grep ended with 1; the client does not say so
    "PostToolUse__Bash__bash_cd": shell(0, start=None),
    "PostToolUse__Bash__bash_cd_out": shell(0, start=None),
    "PostToolUse__Bash__bash_git": shell(0, start=None),
    "PostToolUse__Bash__bash_pwd_after_cd": shell(0, start="sub"),
    "PostToolUse__Bash__bash_bg": shell(None, "unknown", background=True),
    "PostToolUse__Bash__bash_bg2": shell(None, "unknown", background=True),
    "PostToolUse__Bash__bash_timeout": shell(None, "unknown", background=True),
    "PostToolUse__Bash__sub_bg_bash": shell(0, text="in bg agent"),
    "PostToolUseFailure__Bash__bash_exit1_noout": shell(1, "failure"),
    "PostToolUseFailure__Bash__bash_exit3": shell(3, "failure"),
    "PostToolUseFailure__Bash__bash_bigfail": shell(5, "failure"),
    "PostToolUseFailure__Bash__bash_and": shell(1, "failure"),
    "PostToolUseFailure__Bash__bash_kill": shell(1, "failure"),
    "PostToolUseFailure__Bash__bash_notfound": shell(127, "failure"),
    "PostToolUseFailure__Bash__bash_pipe_true_false": shell(1, "failure"),
    "PostToolUseFailure__Bash__bash_sleep_nobg": shell(143, "failure"),
    "PostToolUseFailure__Bash__bash_timeout_nobg": shell(143, "failure"),
    "PostToolUseFailure__Bash__par_bash_fail": shell(9, "failure"),
    "PostToolUseFailure__Bash__sub_bash_fail": shell(4, "failure"),
    "PostToolUse__Write__write_new": wrote("new.txt", content="hello\n"),
    "PostToolUse__Write__write_new_subdir": wrote("deep/er/new.txt", content="h\u00e9llo \u2713\n"),
    "PostToolUse__Write__write_overwrite": wrote(
        "b.txt", "update", content="one\nTWO\nthree\n", before="one\ntwo\nthree\n"
    ),
    "PostToolUse__Write__write_same": wrote("new.txt", "update", content="hello\n", before="hello\n"),
    "PostToolUse__Write__write_relative": wrote("rel.txt", content="r\n"),
    "PostToolUse__Write__wtrail": wrote("wtrail.txt", content="x\r\ny\n\n\n"),
    "PostToolUse__Write__p": wrote("p.txt", content="x"),
    "PostToolUse__Write__sub_write": wrote("sub.txt", content="s\n"),
    "PostToolUse__Write__uni": wrote("h\u00e9llo \u4e2d \U0001f600.txt"),
    "PostToolUseFailure__Write__write_unwritable": other("write", said="failure"),
    "PostToolUse__Edit__edit_ok": edited("b.txt", before="one\nTWO\nthree\n"),
    "PostToolUse__Edit__edit_replace_all": edited("c.txt", before="x\nx\n"),
    "PostToolUse__Edit__c_edit": edited("crlf.txt", before="one\ntwo\n"),
    "PostToolUse__Edit__del_edit": edited("t.txt"),
    "PostToolUse__NotebookEdit__nb_replace": edited("nb.ipynb"),
    "PostToolUse__NotebookEdit__nb_insert": edited("nb.ipynb"),
    "PostToolUse__NotebookEdit__nb_delete": edited("nb.ipynb"),
    "PostToolUse__Read__read_ok": other("read", files=[]),
    "PostToolUse__Read__read_empty": other("read", files=[]),
    "PostToolUse__Read__nb_read": other("read", files=[]),
    "PostToolUseFailure__Read__read_missing": other("read", said="failure"),
    "PostToolUseFailure__Read__read_dir": other("read", said="failure"),
    "PostToolUse__Glob__glob": other("read"),
    "PostToolUse__Grep__grep_content": other("read"),
    "PostToolUseFailure__WebFetch__webfetch_http": other("fetch", said="failure"),
    "PostToolUse__Agent__agent_ok": other("agent", text="agent a finished: wrote sub.txt"),
    "PostToolUse__Agent__agent_bg": other("agent", said="unknown", background=True),
    "PostToolUse__Agent__task_alias": other("agent"),
    "PostToolUseFailure__Agent__agent_badtype": other("agent", said="failure"),
    "PostToolUse__TaskCreate__task_create": other("other"),
    "PostToolUse__TaskUpdate__task_update_missing": other(
        "other", result={"success": False, "taskId": "99", "updatedFields": [], "error": "Task not found"}
    ),
    "PostToolUse__TodoWrite__todo": other("other"),
    "PostToolUse__mcp__notes__save_note__lie": other("mcp", result=ABSENT, files=[]),
    "PostToolUse__mcp__notes__multi_block__mcp_multi": other("mcp", text="first block\nsecond block", result=ABSENT),
    "PostToolUse__mcp__notes__empty_result__mcp_empty": other("mcp", text="", result=ABSENT),
    "PostToolUse__mcp__notes__image_note__mcp_image": other("mcp", text="screenshot taken", result=ABSENT),
    "PostToolUse__mcp__notes__large_text__mcp_huge": other("mcp", result=ABSENT),
    "PostToolUseFailure__mcp__notes__fail_note__mcp_iserror": other("mcp", said="failure"),
    "PostToolUseFailure__mcp__notes__slow_note__mcp_slow": other("mcp", said="failure"),
    "PostToolUseFailure__mcp__notes__rpc_error__mcp_rpcerror": other("mcp", said="failure"),
}
CODEX = {
    "PostToolUse__Bash__exec_ok": shell(None, "unknown", start=""),
    "PostToolUse__Bash__exec_exit3": shell(None, "unknown", text="out\nerr\n"),
    "PostToolUse__Bash__exec_exit7_noout": shell(None, "unknown", text=""),
    "PostToolUse__Bash__exec_cmdnotfound": shell(None, "unknown"),
    "PostToolUse__Bash__ephemeral_1": shell(None, "unknown", text="ORIGINAL\n"),
    "PostToolUse__Bash__workdir_1": shell(None, "unknown", start="sub"),
    "PostToolUse__Bash__workdir_3": shell(None, "unknown", start="/tmp"),
    "PostToolUse__Bash__exec_heredoc": shell(None, "unknown", start=""),
    "PostToolUse__Bash__exec_longrun": shell(None, "unknown", text="end\n"),
    "PostToolUse__apply_patch__patch_add": wrote("sub/new.txt", content="one\ntwo\n"),
    "PostToolUse__apply_patch__abs_path_1": wrote("abs.txt", content="x\n"),
    "PostToolUse__apply_patch__par_patch": wrote("par.txt", content="p\n"),
    "PostToolUse__apply_patch__patch_update": edited("hello.txt"),
    "PostToolUse__apply_patch__patch_delete": other("delete", files=[("sub/moved.txt", "delete")]),
    "PostToolUse__mcp__notes__save_note__mcp_save_note_lies": other("mcp", text="Note 't' saved successfully."),
    "PostToolUse__mcp__notes__save_note_ok__mcp_save_note_ok": other("mcp", is_error=False),
    "PostToolUse__mcp__notes__structured__mcp_structured": other("mcp", result={"saved": True, "id": 5}),
    "PostToolUse__view_image__view_image": other("read", files=[]),
    "PostToolUse__list_mcp_resources__list_mcp_resources": other("read", result={"resources": []}),
    "PostToolUse__collaborationspawn_agent__subagent_v2_1": other("agent"),
    "PostToolUse__collaborationwait_agent__subagent_v2_1": other("agent"),
    "PostToolUse__create_goal__create_goal": other("other"),
}
# The other clients: every captured call.
SAVED_NOTE = {"id": 42, "status": "saved"}
OTHERS = {
    "gemini-cli__AfterTool__write_file": wrote("hello.txt", content="hello world\n", before=None, start=""),
    "gemini-cli__AfterTool__run_shell_command": shell(3, "failure", start=""),  # its event is that of a success
    "gemini-cli__AfterTool__run_shell_command_ok": shell(0, text="Output: hi\nProcess Group PGID: 32"),
    "gemini-cli__AfterTool__read_file": other("read", said="failure", files=[]),
    "gemini-cli__AfterTool__mcp_notes_save_note": other("mcp", text="saved note 42", result=ABSENT),
    "qwen-code__PostToolUse__write_file": wrote("hello.txt", content="hello world\n", before=None, start=""),
    "qwen-code__PostToolUse__run_shell_command": shell(0, start=""),
    "qwen-code__PostToolUse__read_file": other("read", text="hello world\n", files=[]),
    "qwen-code__PostToolUse__mcp__notes__save_note": other("mcp", result=SAVED_NOTE),
    "qwen-code__PostToolUseFailure__read_file": other("read", said="failure", result=ABSENT),
    "qwen-code__PostToolUseFailure__mcp__notes__fail_note": other("mcp", said="failure", result=ABSENT),
    "copilot-cli__postToolUse__create": wrote("hello.txt", content="hello world\n", start=""),
    "copilot-cli__postToolUse__bash": shell(3, "failure", start=""),
    "copilot-cli__postToolUse__bash_ok": shell(0, text="hi\n<shellId: 0 completed with exit code 0>"),
    "copilot-cli__postToolUse__view": other("read", text="hi\n", files=[]),
    "copilot-cli__postToolUse__notes-save_note": other("other", result=SAVED_NOTE),  # nothing says that it is MCP
    "copilot-cli__postToolUseFailure__view": other("read", said="failure", text="Path does not exist"),
    "copilot-cli__postToolUseFailure__notes-fail_note": other("other", said="failure", result=ABSENT),
    "copilot-cli-pascal__PostToolUse__Write": wrote("hello.txt", content="hello world\n"),
    "copilot-cli-pascal__PostToolUse__Edit": edited("hello.txt"),
    "copilot-cli-pascal__PostToolUse__notes-save_note": other("other", result=SAVED_NOTE),
    "copilot-cli-pascal__PostToolUseFailure__Read": other("read", said="failure"),
    "copilot-cli-pascal__PostToolUseFailure__notes-fail_note": other("other", said="failure"),
    "opencode__tool.execute.after__write": wrote("hello.txt", content="hello world\n"),
    "opencode__tool.execute.after__bash": shell(3, "unknown"),
    "opencode__tool.execute.after__notes_save_note": other("mcp", result=SAVED_NOTE, text="saved note 42"),
    "cline-cli__PostToolUse__editor": wrote("hello.txt", content="hello world\n"),
    "cline-cli__PostToolUse__run_commands": shell(3, "failure", start=""),
    "cline-cli__PostToolUse__read_files": other("read", said="failure", files=[]),
}
ROWS = (
    {f"claude-code/{name}": row for name, row in CLAUDE.items()}
    | {f"codex/{name}": row for name, row in CODEX.items()}
    | {f"others/{name}": row for name, row in OTHERS.items()}
)


@pytest.mark.parametrize("name", ROWS)
def test_a_captured_call_is_read_as_what_it_was(name, tmp_path):
    """Kinds, files, exit code, report and answer of a captured call are those that a person reads in it."""
    row = ROWS[name]
    call = call_of(name, tmp_path)
    project = tmp_path / "project"
    world = World()
    assert set(call.kinds) == row["kinds"]
    assert find_exit_code(call, world) == row["code"]
    assert find_reported(call, world) == row["said"]
    assert call.background == row.get("background", False)
    if "files" in row:
        assert [(file.path, file.action) for file in call.files] == [
            (str(project / path), action) for path, action in row["files"]
        ]
    if "content" in row:
        assert call.files[0].content == row["content"]
        assert call.args["content" if "content" in call.args else "command"]
    if "before" in row:
        assert call.files[0].before == row["before"]
    if "start" in row:
        expected = row["start"]
        assert call.start_cwd == (None if expected is None else os.path.join(project, expected).rstrip("/"))
    if "result" in row:
        assert call.result == row["result"] or call.result is row["result"]
    if "text" in row:
        assert find_text(call) == row["text"]
    if "is_error" in row:
        assert call.is_error is row["is_error"]


def test_the_table_is_large_enough():
    """The table above is no sample of a few easy ones."""
    assert len(ROWS) >= 90 and set(ROWS) <= {*handled(), *others()}
    assert set(others()) <= set(ROWS)


# Codex says the exit code of a command only in its own record of the session.
RECORDED = {
    "codex/PostToolUse__Bash__exec_ok": 0,
    "codex/PostToolUse__Bash__exec_exit3": 3,
    "codex/PostToolUse__Bash__exec_exit7_noout": 7,
    "codex/PostToolUse__Bash__exec_cmdnotfound": 127,
    "codex/PostToolUse__Bash__codemode_exec_exit3": 3,
    "codex/PostToolUse__Bash__codemode_session_1": 4,
    "codex/PostToolUse__Bash__exec_longrun": 0,
}


def record(call, code):
    """The line that Codex has written to its transcript when the hook starts."""
    item = {"type": "CommandExecution", "id": call.call_id, "cwd": call.cwd, "aggregated_output": ""}
    item |= {"exit_code": code, "status": "completed" if code == 0 else "failed"}
    return json.dumps({"type": "event_msg", "payload": {"type": "item_completed", "item": item}})


@pytest.mark.parametrize("name", RECORDED)
def test_an_exit_code_is_found_in_the_transcript(name, tmp_path):
    """The record of this very call gives its exit code and what was reported; those of others do not."""
    call = call_of(name, tmp_path)
    other_call = record(call, 99).replace(call.call_id, "another")
    lines = [other_call, "not json", record(call, RECORDED[name]), other_call]
    put(tmp_path / os.path.relpath(call.transcript, tmp_path), "\n".join(lines) + "\n")
    code = RECORDED[name]
    assert (find_exit_code(call, World()), find_reported(call, World())) == (code, "failure" if code else "success")


@pytest.mark.parametrize("name", [name for harness in HARNESSES for name in names(harness)])
def test_every_captured_payload_is_understood(name, tmp_path):
    """A payload of a handled event becomes a call; every other event of the client is known and passed over."""
    call = call_of(name, tmp_path)
    if name in handled():
        plain = payload(name, tmp_path)
        assert (call.tool, call.event) == (plain["tool_name"], plain["hook_event_name"])
        assert call.call_id == plain["tool_use_id"] and call.harness == name.split("/")[0]
        assert len(call.kinds) >= 1 and find_text(call) is None or isinstance(find_text(call), str)
    else:
        assert call is None


SENDERS = {
    "gemini-cli": "gemini-cli", "qwen-code": "qwen-code", "copilot-cli": "copilot-cli", "cline-cli": "cline",
    "copilot-cli-pascal": "copilot-cli", "opencode": "opencode",
}  # fmt: skip


@pytest.mark.parametrize("name", others())
def test_a_payload_of_another_client_is_its_own(name, tmp_path):
    """Each is told by its keys alone, and the call bears the client's own names."""
    client, event, tool = name.removeprefix("others/").split("__", 2)
    call = call_of(name, tmp_path)
    assert (call.harness, call.event) == (SENDERS[client], event)
    assert call.tool == tool.removesuffix("_ok") and call.session
    assert call.cwd == (None if client == "opencode" else str(tmp_path / "project"))


@pytest.mark.parametrize("harness", HARNESSES)
def test_no_payload_of_one_harness_is_taken_for_anothers(harness, tmp_path):
    """Of all captured calls of Claude Code and Codex, none has the keys of another."""
    assert {recognise(payload(name, tmp_path)) for name in handled() if name.startswith(harness)} == {harness}


def test_a_batch_of_calls_that_had_events_of_their_own_is_passed_over(tmp_path):
    """Qwen's batch is known and silent."""
    assert call_of("others/qwen-code__PostToolBatch__batch", tmp_path) is None


@pytest.mark.parametrize("name", [name for name in names("others") if "kimi" in name or "plugin-init" in name])
def test_a_payload_of_a_harness_without_an_adapter_is_loud(name, tmp_path):
    """What a client without an adapter sends is refused by name, and never taken for a call of another."""
    with pytest.raises(PayloadError, match="Kimi Code" if "kimi" in name else "names no"):
        judge(text(name, tmp_path), {"version": 1, "use": ["files", "mcp", "self"], "contracts": []})


# -- what the packs say to them ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def packs(tmp_path_factory):
    path = tmp_path_factory.mktemp("packs") / "truecall.yaml"
    path.write_text(PACKS)
    return [load_untrusted(str(path))]


def told(judgement):
    return judgement.correction.text if judgement.correction else ""


@pytest.mark.parametrize("name", [*handled(), *others()])
def test_the_packs_are_silent_to_a_call_that_worked(name, tmp_path, packs):
    """In the world that an honest call left behind, no pack has a word to say. Failed calls are honest, too."""
    honest(name, tmp_path)
    judgement = judge(text(name, tmp_path), packs)
    assert told(judgement) == ""
    assert all(
        verdict.state != REFUTED or find_reported(judgement.call, World()) == "failure" for verdict in judgement.verdicts
    )


LIES = [(name, what) for name in (*handled(), *others()) for what in lies(name, "/x")]


@pytest.mark.parametrize(("name", "what"), LIES)
def test_the_packs_block_a_lie_about_a_file(name, what, tmp_path, packs):
    """The same answer, and the file is missing, a folder, empty, as before, cut off, or still there: blocked."""
    honest(name, tmp_path)
    lies(name, tmp_path)[what]()
    judgement = judge(text(name, tmp_path), packs)
    refused = [verdict for verdict in judgement.verdicts if verdict.state == REFUTED]
    assert refused and all(verdict.outcome == "lie" for verdict in refused)
    assert told(judgement).startswith("NOT DONE") and judgement.correction.replace
    said = find_reported(judgement.call, World())
    assert all(deliver(verdict, judgement.call, said).form == REPLACE for verdict in refused)


def test_lies_of_each_kind_are_told():
    """The lies that the test above goes through are not all the same."""
    told = [what for _, what in LIES]
    kinds = {what: told.count(what) for what in told}
    assert kinds["missing"] >= 20 and kinds["empty"] >= 12 and kinds["cut off"] >= 8, kinds
    assert kinds["as before"] >= 1 and kinds["still there"] >= 1


MCP = [name for name in handled() if "PostToolUse__mcp__" in name]
FAILED = {
    "flag": {"content": [{"type": "text", "text": "no"}], "isError": True},
    "ok": [{"type": "text", "text": '{"ok": false}'}],
    "success": [{"type": "text", "text": '{"success": false, "error": "disk full"}'}],
    "status": {"content": [{"type": "text", "text": '{"status": "error"}'}]},
    "structured": {"content": [], "structuredContent": {"ok": False}},
}


@pytest.mark.parametrize("name", MCP)
def test_the_packs_block_a_failure_that_came_as_a_success(name, tmp_path, packs):
    """Each captured MCP call with an answer that is a failure in any of the usual shapes: blocked."""
    honest(name, tmp_path)
    for answer in FAILED.values():
        plain = {**payload(name, tmp_path), "tool_response": answer}
        judgement = judge(plain, packs)
        assert told(judgement).startswith("NOT DONE"), answer
        assert judgement.correction.replace


# The same in the other clients, as each carries an MCP answer; in Copilot CLI nobody can tell one.
OTHERS_MCP = {
    "others/gemini-cli__AfterTool__mcp_notes_save_note": ("tool_response", "llmContent"),
    "others/qwen-code__PostToolUse__mcp__notes__save_note": ("tool_response", "llmContent"),
    "others/opencode__tool.execute.after__notes_save_note": ("output", "content"),
}


@pytest.mark.parametrize("name", OTHERS_MCP)
@pytest.mark.parametrize("said", ['{"ok": false}', '{"success": false, "error": "disk full"}', '{"status": "error"}'])
def test_the_packs_block_it_in_every_client_that_says_what_mcp_is(name, said, tmp_path, packs):
    """A structured failure that came as a success is blocked, whatever the client calls the tool."""
    honest(name, tmp_path)
    plain = payload(name, tmp_path)
    answer, content = OTHERS_MCP[name]
    plain[answer] = {content: [{"type": "text", "text": said}]}
    judgement = judge(plain, packs)
    assert told(judgement).startswith("NOT DONE") and judgement.correction.replace


CLAUDE_NOTES = [name for name in LIARS if name.startswith("claude")]


@pytest.mark.parametrize("name", LIARS)
def test_a_contract_of_three_lines_sees_the_note_that_was_never_saved(name, tmp_path):
    """The tool that lied in the captured sessions is caught by a contract on the file of its note."""
    title = "{{args.name}}" if name in CLAUDE_NOTES else "{{args.title}}"
    path = "{{project}}/project/notes/" + title + ".txt"
    (tmp_path / "truecall.yaml").write_text(
        "version: 1\ncontracts:\n  - id: note-saved\n    tool: mcp__notes__save_note\n"
        f'    post: {{file_exists: {{path: "{path}"}}}}\n'
    )
    project = honest(name, tmp_path)
    judgement = judge(text(name, tmp_path), tmp_path / "truecall.yaml")
    assert [verdict.outcome for verdict in judgement.verdicts] == ["lie"]
    arguments = payload(name, tmp_path)["tool_input"]
    put(project / "notes" / f"{arguments.get('name', arguments.get('title'))}.txt", "x")
    assert judge(text(name, tmp_path), tmp_path / "truecall.yaml").correction is None


def test_the_worlds_are_of_payloads_that_there_are():
    """Every name in the tables of payload_worlds is that of a captured payload."""
    assert {*MADE, *LIARS} <= {*handled(), *others()}
    assert all((PAYLOADS / f"{name}.json").is_file() for name in (*MADE, *LIARS))
