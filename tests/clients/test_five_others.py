"""The five further clients through the real hook process: what each is answered, to the byte, and that one
contract file catches the same silent failure in all seven."""

from __future__ import annotations

import json
import os

import pytest
from support.client_payloads import FIVE, ran, sent
from support.project import NOTE, SESSION

from truecall_py import clients
from truecall_py.messages import failures

EVENTS = {
    "claude-code": "PostToolUse", "codex": "PostToolUse", "gemini-cli": "AfterTool", "qwen-code": "PostToolUse",
    "copilot-cli": "postToolUse", "opencode": "tool.execute.after", "cline": "PostToolUse",
}  # fmt: skip
# What each client calls the tool save_note of the server notes.
TOOLS = {
    "claude-code": "mcp__notes__save_note", "codex": "mcp__notes__save_note", "gemini-cli": "mcp_notes_save_note",
    "qwen-code": "mcp__notes__save_note", "copilot-cli": "notes-save_note", "opencode": "notes_save_note",
    "cline": "notes__save_note",
}  # fmt: skip
WRITES = {  # the tool that writes a file, and what it calls path and content
    "gemini-cli": ("write_file", "file_path", "content"), "qwen-code": ("write_file", "file_path", "content"),
    "copilot-cli": ("create", "path", "file_text"), "opencode": ("write", "filePath", "content"),
    "cline": ("editor", "path", "new_text"),
}  # fmt: skip
# One file for all: by the tool's name, by the kind of a command, by the kind of a write.
CONTRACTS = """\
version: 1
use: [files]
contracts:
  - id: note-saved
    tool: "*notes*save_note"
    post:
      - file_exists: {path: "{{project}}/notes/{{args.title}}.md", contains: "{{args.body}}"}
  - id: dist-made
    kind: shell
    when: {args.command: {runs: "make *"}}
    post:
      - file_exists: {path: dist.tar}
"""
NOTE_ARGS = {"title": "a", "body": "hello"}


def said(harness, text, mcp=False):
    """The words of a tool that say success, as each client carries them."""
    if harness in ("gemini-cli", "qwen-code"):
        return {"llmContent": [{"text": text}] if mcp else text, "returnDisplay": text}
    if harness == "copilot-cli":
        return {"resultType": "success", "textResultForLlm": text}
    blocks = {"content": [{"type": "text", "text": text}]}
    if harness == "opencode":
        return blocks if mcp else {"title": "", "metadata": {}, "output": text}
    return blocks if mcp else {"query": "", "result": text, "success": True}


def note(project, harness, args=None, **more):
    args = NOTE_ARGS if args is None else args
    if harness in ("claude-code", "codex"):
        return project.mcp(harness, args=args, **more)
    return sent(project, harness, TOOLS[harness], args, said(harness, "note saved", mcp=True), **more)


def wrote(project, harness):
    content = "first line\nsecond line\n"
    if harness == "claude-code":
        return project.wrote("a.txt", content)
    if harness == "codex":
        added = "".join(f"+{line}\n" for line in content.splitlines())
        patch = f"*** Begin Patch\n*** Add File: a.txt\n{added}*** End Patch\n"
        return project.payload("codex", "apply_patch", {"command": patch}, "Done!")
    tool, path, text = WRITES[harness]
    args = {path: os.path.join(project.root, "a.txt"), text: content}
    return sent(project, harness, tool, args, said(harness, "Done!"))


def ask(project, harness, payload, event="", **more):
    return project.hook(payload, harness, event or EVENTS[harness], **more)


def words(value):
    """The correction in an answer, wherever it stands."""
    if isinstance(value, str):
        return value if value.startswith("NOT ") else ""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((found for found in map(words, items) if found), "")


def replacing(harness, text):
    return {
        "gemini-cli": {"decision": "block", "reason": text},
        "qwen-code": {"continue": False, "stopReason": text},
        "copilot-cli": {"decision": "block", "reason": text},
        "opencode": {"output": text},
        "cline": {"cancel": False, "contextModification": text},
    }[harness]


def appending(harness, text, event=""):
    context = {"hookSpecificOutput": {"hookEventName": event or EVENTS[harness], "additionalContext": text}}
    return {
        "gemini-cli": context,
        "qwen-code": context,
        "copilot-cli": {"additionalContext": text},
        "opencode": {"append": text},
        "cline": {"cancel": False, "contextModification": text},
    }[harness]


@pytest.fixture(params=FIVE)
def five(request):
    return request.param


# -- one contract file for all ---------------------------------------------------------------------------------

WORLDS = {
    "note": (note, "notes/a.md", "hello"),
    "write": (wrote, "a.txt", "first line\nsecond line\n"),
    "command": (ran, "dist.tar", "x"),
}


@pytest.mark.parametrize("name", clients.NAMES)
@pytest.mark.parametrize("what", WORLDS)
def test_one_contract_file_catches_the_same_lie_in_all_seven(project, name, what):
    """A tool says that it did it, and nothing is there: each of the seven is corrected by the same contract file,
    and none hears a word when it is there."""
    tell, path, content = WORLDS[what]
    project.trust(CONTRACTS)
    answer = ask(project, name, tell(project, name))
    text = words(answer.json)
    assert text.startswith("NOT DONE") and path in text and "Do this now: " in text
    if name in FIVE:
        assert answer.json == replacing(name, text)
    project.write(path, content)
    answer = ask(project, name, tell(project, name))
    assert (answer.code, answer.out, answer.err) == (0, b"", b"")


# -- the forms -------------------------------------------------------------------------------------------------


def test_what_could_not_be_verified_stands_beside_the_output(project, five):
    """A doubt that is not about the tool's work never takes the place of its output."""
    project.trust(NOTE.replace("mcp__notes__save_note", '"*notes*save_note"'))
    answer = ask(project, five, note(project, five, {"title": "a"}))
    text = words(answer.json)
    assert text.startswith("NOT CONFIRMED") and answer.json == appending(five, text)


def test_a_contract_file_that_nobody_trusted_is_told(project, five):
    """So is a contract file that cannot be enforced."""
    project.write("truecall.yaml", CONTRACTS)
    answer = ask(project, five, note(project, five))
    text = words(answer.json)
    assert "truecall trust" in text and answer.json == appending(five, text)


REMEDY = CONTRACTS + "    remedy: run ./configure first\n"


def test_a_failing_command_is_no_lie(project, five):
    """A command whose exit code says that it failed accuses nobody, though most clients report it as a success;
    a remedy is told beside its output. OpenCode's model is never told an exit code: there it is said."""
    project.trust(CONTRACTS)
    answer = ask(project, five, ran(project, five, 2))
    if five == "opencode":
        assert "returned" in words(answer.json) and "reported" not in words(answer.json)
        return
    assert answer.form == "silent"
    project.trust(REMEDY)
    event = "PostToolUseFailure" if five == "qwen-code" else ""
    answer = ask(project, five, ran(project, five, 2), event)
    text = words(answer.json)
    assert "run ./configure first" in text and "reported success" not in text
    assert answer.json == appending(five, text, event)


FAILING = {
    "gemini-cli": {"tool_response": {"llmContent": "no", "error": {"message": "no", "type": "x"}}},
    "qwen-code": {"hook_event_name": "PostToolUseFailure", "error": "no", "tool_response": None},
    "copilot-cli": {"error": "no", "toolResult": None},
    "cline": {"postToolUse": {"success": False}},
}  # OpenCode tells its plugin nothing of a call that failed


@pytest.mark.parametrize("name", FAILING)
def test_a_call_that_said_that_it_failed_is_helped(project, name):
    """The failure's own event, or the flag in it, is read; the remedy stands beside the error."""
    project.trust(NOTE.replace("mcp__notes__save_note", '"*notes*save_note"') + "    remedy: open a notebook\n")
    event = {"qwen-code": "PostToolUseFailure", "copilot-cli": "postToolUseFailure"}.get(name, "")
    answer = ask(project, name, note(project, name, **FAILING[name]), event)
    text = words(answer.json)
    assert "open a notebook" in text and answer.json == appending(name, text, event)


@pytest.mark.parametrize("failed", [False, True])
def test_copilots_other_form_is_answered_alike(project, failed):
    """The payloads with hook_event_name, which `.claude/settings.json` gets as well, have the same dialect; the
    registration for another client is named to nobody, since Copilot has no field for it."""
    project.trust(NOTE.replace("mcp__notes__save_note", "notes-save_note") + "    remedy: open a notebook\n")
    event = "PostToolUseFailure" if failed else "PostToolUse"
    plain = {"hook_event_name": event, "session_id": SESSION, "timestamp": "2026-11-29T17:48:46.646Z",
             "cwd": project.root, "tool_name": "notes-save_note", "tool_input": NOTE_ARGS}  # fmt: skip
    plain |= {"error": "no"} if failed else {"tool_result": {"result_type": "success", "text_result_for_llm": "ok"}}
    for registered in ("copilot-cli", "claude-code"):
        answer = ask(project, registered, {**plain, "session_id": f"{SESSION}-{registered}"}, event)
        form = appending if failed else replacing
        assert "open a notebook" in words(answer.json)
        assert answer.json == form("copilot-cli", words(answer.json))


def test_copilots_arguments_may_come_as_text(project):
    """JSON inside JSON, as some versions send it."""
    project.trust(CONTRACTS)
    plain = note(project, "copilot-cli")
    answer = ask(project, "copilot-cli", {**plain, "toolArgs": json.dumps(plain["toolArgs"])})
    assert answer.json == replacing("copilot-cli", words(answer.json))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"hook_event_name": 3}', b"\xff"])
def test_what_cannot_be_read_is_told_in_the_registered_dialect(project, five, data):
    """Without a payload the registered command alone says who asks: its form, beside the output."""
    answer = ask(project, five, data)
    text = words(answer.json)
    assert text.startswith("NOT CONFIRMED") and answer.json == appending(five, text)


def test_a_payload_that_holds_no_call_is_told(project, five):
    """A payload of the right client that names no tool, or arguments that are none, is loud."""
    for tool, args in (("", {}), ("x", 3)):
        answer = ask(project, five, sent(project, five, tool, args, said(five, "ok")))
        text = words(answer.json)
        assert text.startswith("NOT CONFIRMED") and answer.json == appending(five, text)


# -- the person ------------------------------------------------------------------------------------------------

WITH_NOTICES = ("gemini-cli",)  # the others were seen to show none


def test_the_person_is_told_where_the_client_has_a_field_for_it(project, five):
    """In observe mode the agent hears nothing; the person one line, where the client can show one."""
    project.trust(CONTRACTS.replace("version: 1\n", "version: 1\nmode: observe\n"))
    answer = ask(project, five, note(project, five))
    if five in WITH_NOTICES:
        assert set(answer.json) == {"systemMessage"} and "note-saved is refuted" in answer.notice
    else:
        assert (answer.code, answer.out, answer.err) == (0, b"", b"")


def test_the_senders_dialect_counts(project, five):
    """A payload of one client at the registration of another is answered as its sender reads it."""
    project.trust(CONTRACTS)
    other = FIVE[(FIVE.index(five) + 1) % len(FIVE)]
    answer = ask(project, other, note(project, five))
    plain = dict(answer.json)
    notice = plain.pop("systemMessage", "")
    assert plain == replacing(five, words(plain))
    assert (f"registered for {other}" in notice) == (five in WITH_NOTICES)


# -- where the contracts are -----------------------------------------------------------------------------------

VARIABLES = {
    "gemini-cli": "GEMINI_PROJECT_DIR", "qwen-code": "QWEN_PROJECT_DIR", "copilot-cli": "COPILOT_PROJECT_DIR",
}  # fmt: skip


def test_the_project_is_the_one_that_the_client_names(project, five):
    """Its own variable where it has one, else the folder of the hook; never another client's variable."""
    project.trust(CONTRACTS)
    away = project.folder("away")
    named = {VARIABLES.get(five, "UNUSED"): project.root}
    found = ask(project, five, note(project, five), env=named, cwd=away)
    assert (found.form != "silent") == (five in VARIABLES)
    wrong = {name: away for name in ("CLAUDE_PROJECT_DIR", *VARIABLES.values()) if name not in named}
    assert ask(project, five, note(project, five), env=wrong).form != "silent"


# -- the launcher ----------------------------------------------------------------------------------------------

STATIC = [(name, event, form) for name in FIVE for event, form in clients.load_hook(name).STATIC.items()]


@pytest.mark.parametrize(("name", "event", "form"), STATIC)
def test_a_python_that_died_is_told_in_a_form_that_reaches_the_model(project, name, event, form):
    """Without an interpreter the launcher answers by itself, beside the output and in the client's own form."""
    answer = project.hook({}, name, event, env={"TRUECALL_PYTHON": "/nonexistent/python"})
    if form == "exit 2":
        assert answer.blocked and not answer.out
    else:
        assert answer.json == appending(name, failures.DIED, event)


def test_every_registered_event_has_its_answer():
    """Each event that is registered or judged has a static answer, and none that needs exit code 2 where a client
    ignores it."""
    for name in FIVE:
        module = clients.load_hook(name)
        for event in {*module.HANDLED, *clients.load_registration(name).events}:
            assert module.STATIC[event] != "exit 2", (name, event)
