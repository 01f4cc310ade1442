"""What is remembered from call to call: attempts, budgets, rests and the hand-over, with the real hook process."""

from __future__ import annotations

import json
import os
import sqlite3

import pytest

from truecall_py.ledger.cooldowns import resting
from truecall_py.ledger.store import ENDED, Event

LIES = """\
version: 1
contracts:
  - id: note-saved
    tool: mcp__notes__save_note
    post: {file_exists: {path: "{{project}}/notes/{{args.title}}.md"}}
"""
ROUTES = LIES + "    alternatives: [mcp__notes__write_file]\n"


class Story:
    """One session: calls of a tool that lies or does not, each with the hook before it and the hook after it."""

    def __init__(self, project, harness):
        self.project, self.harness, self.number = project, harness, 0

    def call(self, title="a", lands=False, tool="mcp__notes__save_note", **more):
        """(the answer before the call, the answer after it or None where the call was refused)."""
        self.number += 1
        payload = self.project.mcp(self.harness, tool, args={"title": title, "body": "x"},
                                   tool_use_id=f"toolu_{self.number}", **more)  # fmt: skip
        return self.play(payload, f"notes/{title}.md" if lands else "")

    def play(self, payload, makes=""):
        asked = {key: value for key, value in payload.items() if key not in ("tool_response", "duration_ms")}
        before = self.project.hook({**asked, "hook_event_name": "PreToolUse"}, self.harness, "PreToolUse")
        if denied(before):
            self.batch(payload)
            return before, None
        if makes:
            self.project.write(makes, "x")
        after = self.project.hook(payload, self.harness)
        if makes:
            os.unlink(os.path.join(self.project.root, makes))
        self.batch(payload)
        return before, after

    def batch(self, payload):
        if self.harness == "claude-code":
            assert batch_of(self, payload).form == "silent"


def batch_of(story, payload):
    """The answer to the batch of one call, as Claude Code tells of it."""
    row = {"tool_name": payload["tool_name"], "tool_input": {}, "tool_use_id": payload["tool_use_id"]}
    told = {"session_id": payload["session_id"], "cwd": story.project.root, "hook_event_name": "PostToolBatch",
            "tool_calls": [{**row, "tool_response": "x"}]}  # fmt: skip
    return story.project.hook(told, "claude-code", "PostToolBatch")


def denied(answer):
    return bool(answer.out) and answer.json["hookSpecificOutput"].get("permissionDecision") == "deny"


def events(project):
    with sqlite3.connect(os.path.join(project.state, "ledger.db")) as db:
        return [(name, json.loads(data)) for name, data in db.execute("SELECT event, data FROM events ORDER BY id")]


@pytest.fixture
def story(project, harness):
    project.trust(LIES)
    return Story(project, harness)


def test_the_second_attempt_is_handed_over(story):
    """The same call may be made once more; then the step ends, with what was tried."""
    first = story.call()[1]
    assert "make the call once more now" in first.text and "This was attempt" not in first.text
    second = story.call()[1]
    assert "This was attempt 2 of 2 for this call; changed since the previous attempt: nothing." in second.text
    assert "stop this step" in second.text and "attempt 1: mcp__notes__save_note reported success" in second.text


def test_another_route_is_named_before_the_step_ends(project, harness):
    """Where the contract names another way, that is the last thing to try."""
    project.trust(ROUTES)
    story = Story(project, harness)
    story.call()
    text = story.call()[1].text
    assert "Take another route: use mcp__notes__write_file" in text and "stop this step" not in text


def test_what_changed_since_the_attempt_before_is_told(story):
    """Another argument makes another call, with a budget of its own; what differs is named."""
    story.call("a")
    text = story.call("b")[1].text
    assert "attempt 1 of 2 for this call; changed since the previous attempt: title" in text
    assert "make the call once more now" in text


def test_noise_makes_no_other_call(project, harness):
    """A description or a time-out that differs is still the same call."""
    project.trust('version: 1\ncontracts:\n  - id: made\n    kind: shell\n    when: {args.command: {runs: "mkdir {d}"}}\n'
                  '    post: {file_exists: {path: "{{match.d}}", type: dir}}\n')  # fmt: skip
    story = Story(project, harness)
    more = {"transcript_path": None}
    first = project.bash("mkdir x", harness, tool_use_id="t1", **more)
    second = project.bash("mkdir   x", harness, tool_use_id="t2", **more)
    second["tool_input"] = {"command": "mkdir  x", "description": "make it", "timeout": 5}
    story.play(first)
    assert "attempt 2 of 2" in story.play(second)[1].text


def test_a_lie_told_twice_rests_for_three_ticks(story):
    """Then it is trusted again; while it rests it is not run, and is told why."""
    story.call("a")
    story.call("b")
    for left in ("3 more batches", "2 more batches", "1 more batch"):
        before, after = story.call("c")
        assert after is None
        reason = before.json["hookSpecificOutput"]["permissionDecisionReason"]
        assert reason.startswith("NOT RUN: truecall paused mcp__notes__save_note for") and left in reason
    before, after = story.call("d", lands=True)
    assert not denied(before) and after.form == "silent"


def test_a_call_lies_once_however_many_contracts_say_so(project, harness):
    """Two contracts about one call are one lie: the second attempt is made."""
    second = LIES.partition("contracts:\n")[2].replace("note-saved", "note-kept").replace("notes/", "kept/")
    project.trust(LIES + second)
    story = Story(project, harness)
    story.call("a")
    assert not denied(story.call("a")[0])
    assert denied(story.call("a")[0])


def test_a_rest_ends_where_no_batch_is_told(project):
    """A client that tells of no batches rests as long: each call is one tick."""
    project.trust(LIES)
    story = Story(project, "claude-code")
    story.batch = lambda payload: None
    story.call("a")
    story.call("b")
    assert [story.call("c")[1] is None for _ in range(4)] == [True, True, True, False]


def test_a_success_ends_a_rest(project, harness):
    """Of calls side by side two lied and the last one landed: nothing rests."""
    project.trust(LIES)
    for number, lands in enumerate((False, False, True)):
        payload = project.mcp(harness, args={"title": f"n{number}", "body": "x"}, tool_use_id=f"t{number}")
        if lands:
            project.write(f"notes/n{number}.md", "x")
        project.hook(payload, harness)
    assert not denied(Story(project, harness).call("z")[0])


def test_a_contract_that_speaks_of_the_answer_alone_rests_no_command(project):
    """Before a command nobody knows whether such a contract is about it."""
    project.trust('version: 1\ncontracts:\n  - id: saved\n    kind: shell\n    when: {text: {contains: saved}}\n'
                  '    post: {file_exists: {path: "{{project}}/out"}}\n')  # fmt: skip
    story = Story(project, "claude-code")
    for number in range(2):
        story.play(project.bash(f"save {number}", stdout="saved", tool_use_id=f"t{number}"))
    assert not denied(story.play(project.bash("ls", tool_use_id="t9"))[0])


def test_a_folder_makes_another_command(project, harness):
    """The same words in two folders are two calls, each with a budget of its own."""
    project.trust('version: 1\ncontracts:\n  - id: made\n    kind: shell\n    when: {args.command: {runs: "mkdir {d}"}}\n'
                  '    post: {file_exists: {path: "{{match.d}}", type: dir}}\n')  # fmt: skip
    story = Story(project, harness)
    for folder in ("a", "b"):
        project.folder("project", folder)
        payload = project.bash("mkdir x", harness, cwd=f"{project.root}/{folder}", tool_use_id=folder, transcript_path=None)
        assert "attempt 2" not in story.play(payload)[1].text


def test_a_description_may_be_all_there_is(project, harness):
    """To a tool that is no shell, every argument counts."""
    project.trust(LIES)
    story = Story(project, harness)
    for words in ("buy milk", "pay rent"):
        story.number += 1
        args = {"title": "list", "description": words}
        payload = project.mcp(harness, args=args, tool_use_id=f"d{story.number}")
        assert "attempt 2" not in story.play(payload)[1].text


def test_another_tool_does_not_rest(story):
    """Only the route that lied rests."""
    story.call("a")
    story.call("b")
    assert not denied(story.call("c", tool="mcp__notes__other")[0])
    assert denied(story.call("c")[0])


def test_an_honest_failure_never_rests(project):
    """A tool that says that it failed is no liar, however often."""
    project.trust(LIES)
    for number in range(4):
        failed = project.failed("mcp__notes__save_note", {"title": "a", "body": "x"}, "disk full")
        failed["tool_use_id"] = f"t{number}"
        project.hook(failed, "claude-code", "PostToolUseFailure")
        asked = {**project.mcp(), "hook_event_name": "PreToolUse", "tool_use_id": f"u{number}"}
        assert not denied(project.hook(asked, "claude-code", "PreToolUse"))
    assert {told["verdicts"][0]["outcome"] for name, told in events(project) if name == "ended"} == {"honest failure"}


def test_what_landed_in_between_takes_the_lie_back(story):
    """Two lies with a success between them are no pattern."""
    story.call("a")
    story.call("a", lands=True)
    story.call("b")
    assert not denied(story.call("c")[0])


def test_a_builtin_write_never_rests(project):
    """An agent without its own tools could not put anything right."""
    project.trust("version: 1\nuse: [files]\ncontracts: []\n")
    for number in range(4):
        payload = {**project.wrote(f"x{number}.md", "text"), "tool_use_id": f"t{number}"}
        assert project.hook(payload).text.startswith("NOT DONE")
        asked = {**payload, "hook_event_name": "PreToolUse", "tool_use_id": f"u{number}"}
        assert not denied(project.hook(asked, "claude-code", "PreToolUse"))


def test_a_shell_contract_rests_and_no_other_command(project, harness):
    """The command that the contract is about is refused; what else the shell does is not."""
    project.trust('version: 1\ncontracts:\n  - id: made\n    kind: shell\n    when: {args.command: {runs: "mkdir {d}"}}\n'
                  '    post: {file_exists: {path: "{{match.d}}", type: dir}}\n')  # fmt: skip
    story = Story(project, harness)
    for number in range(2):
        response = {} if harness == "codex" else {"response": {}}
        payload = project.bash(f"mkdir x{number}", harness, tool_use_id=f"t{number}", **response)
        if harness == "codex":
            payload["transcript_path"] = transcript(project, f"t{number}")
        story.play(payload)
    assert denied(story.play(project.bash("mkdir y", harness, tool_use_id="t7"))[0])
    assert not denied(story.play(project.bash("ls", harness, tool_use_id="t8"))[0])


def transcript(project, call):
    """A rollout in which a command ended with 0."""
    item = {"id": call, "exit_code": 0, "status": "completed"}
    row = {"type": "event_msg", "payload": {"type": "item_completed", "item": item}}
    return project.write(f"rollout-{call}.jsonl", json.dumps(row) + "\n")


def test_ten_refuted_attempts_end_a_session(story):
    """However different the calls are."""
    texts = []
    for number in range(10):
        answer = story.call(f"n{number}", tool="mcp__notes__save_note")[1]
        texts.append(answer.text if answer else "refused")
    assert "refused" in texts
    last = story.call("end")
    assert last[1] is None or "stop this step" in last[1].text


def test_a_doubled_hook_counts_once(story, project, harness):
    """Each copy says the same, and the ledger has one event."""
    payload = project.mcp(harness, tool_use_id="t1")
    first, second = project.hook(payload, harness), project.hook(payload, harness)
    assert first.text == second.text
    assert [name for name, _ in events(project)].count("ended") == 1
    assert "attempt 2" in project.hook({**payload, "tool_use_id": "t2"}, harness).text


def test_sessions_do_not_mix(story, project, harness):
    """What one session tried is nothing to another."""
    story.call()
    story.call()
    answer = project.hook(project.mcp(harness, session_id="another", tool_use_id="t9"), harness)
    assert "make the call once more now" in answer.text


def test_work_that_goes_on_is_no_attempt(project):
    """A command that fails again and again by its own word, while the agent mends something, costs nothing."""
    project.trust('version: 1\ncontracts:\n  - id: built\n    kind: shell\n    when: {args.command: {runs: "make *"}}\n'
                  '    post: {file_exists: {path: "{{project}}/out"}}\n')  # fmt: skip
    for number in range(12):
        failed = project.failed("Bash", {"command": "make all"}, "Exit code 2\nerror")
        assert project.hook({**failed, "tool_use_id": f"t{number}"}, "claude-code", "PostToolUseFailure").form == "silent"
    assert "check whether" in project.hook(project.bash("make all", tool_use_id="end")).text


def test_a_policy_decides(project, harness):
    """Retries, rests and their length are the contract file's to say."""
    project.trust(LIES + "policy: {retries: {other: 3}, quarantine: {after: 0}}\n")
    story = Story(project, harness)
    assert ["stop this step" in story.call()[1].text for _ in range(4)] == [False, False, False, True]


def test_a_gone_budget_ends_the_loop_where_the_policy_says_so(project, harness):
    """Claude Code's loop ends, and the person is told; Codex never gets `continue`."""
    project.trust(LIES + "policy: {on_exhausted: stop}\n")
    story = Story(project, harness)
    story.call()
    answer = story.call()[1]
    assert ("continue" in answer.json) == (harness == "claude-code")
    if harness == "claude-code":
        assert answer.json["continue"] is False and "ended the agent's loop" in answer.notice
    else:  # nor is the person told what is not so
        assert "ended the agent's loop" not in answer.notice and "stop this step" in answer.text


def test_secrets_are_not_kept(project, harness):
    """Arguments are masked by the names of their keys and by well-known shapes before they are written."""
    project.trust(LIES)
    args = {"title": "a", "password": "hunter2hunter2", "note": "ghp_0123456789abcdefghijABCDEFGHIJ"}
    project.hook(project.mcp(harness, args=args), harness)
    with open(os.path.join(project.state, "ledger.db"), "rb") as file:
        data = file.read()
    wal = os.path.join(project.state, "ledger.db-wal")
    if os.path.exists(wal):
        with open(wal, "rb") as file:
            data += file.read()
    assert b"hunter2" not in data and b"ghp_0123" not in data and b"[masked]" in data


def test_what_a_check_quotes_is_masked_too(project, harness):
    """A finding names the place and quotes the value: neither the ledger nor the agent gets the secret."""
    project.write(".env", "DB_PASSWORD=hunter2old\n")
    project.trust('version: 1\ncontracts:\n  - id: set\n    tool: mcp__env__set\n    post:\n'
                  '      - value: {file: "{{project}}/.env", path: DB_PASSWORD, is: "{{args.password}}"}\n')  # fmt: skip
    answer = project.hook(project.mcp(harness, "mcp__env__set", args={"password": "hunter3 new"}), harness)
    assert "DB_PASSWORD" in answer.text and "hunter" not in answer.text + answer.notice
    ((_, told),) = events(project)
    assert "hunter" not in json.dumps(told) and told["verdicts"][0]["state"] == "refuted"


def test_a_masked_argument_that_changed_is_named(project, harness):
    """Two passwords look alike once they are masked; the calls are two, and it is not said that nothing changed."""
    project.trust(LIES)
    for number, word in enumerate(("hunter2", "hunter3")):
        args = {"title": "a", "body": "hello", "password": word}
        answer = project.hook(project.mcp(harness, args=args, tool_use_id=f"t{number}"), harness)
    assert "attempt 1 of 2 for this call; changed since the previous attempt: password" in answer.text


def test_store_none_keeps_no_content(project, harness):
    """A contract may say that nothing of its calls is kept but that they were made and what came of them."""
    project.trust(LIES.replace("    post:", "    store: none\n    post:"))
    project.hook(project.mcp(harness), harness)
    ((_, told),) = events(project)
    assert told["args"] == {} and told["verdicts"][0]["state"] == "refuted"
    assert not {"found", "expected", "subject"} & set(told["verdicts"][0])


@pytest.mark.parametrize("damage", ["folder", "text", "newer"])
def test_a_ledger_that_cannot_be_used_is_told_once_and_judges_nothing(project, harness, damage):
    """Calls are judged as without a memory, and the person reads why there is none."""
    project.trust(LIES)
    path = os.path.join(project.state, "ledger.db")
    if damage == "folder":
        os.mkdir(path)
    elif damage == "text":
        project.write(path, "this is no database, and longer than a header of one hundred bytes" * 4)
    else:
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version=99")
    first = project.hook(project.mcp(harness), harness)
    assert first.text.startswith("NOT DONE") and "the ledger" in first.notice
    assert not project.hook(project.mcp(harness), harness).notice


def test_nothing_enforced_nothing_remembered(project, harness):
    """A folder without contracts has no ledger."""
    project.hook(project.mcp(harness), harness)
    assert not os.path.exists(os.path.join(project.state, "ledger.db"))


# -- attempts -----------------------------------------------------------------------------------------------------

TESTED = """\
version: 1
contracts:
  - id: tested
    kind: shell
    when: {args.command: {runs: "pytest *"}}
    class: test
    remedy: Look at the tests that fail.
    post: {file_exists: {path: "{{project}}/report"}}
"""


def pytest_fails(project, number, command="pytest"):
    """A run that says itself that it failed, with both hooks."""
    failed = {**project.failed("Bash", {"command": command}, "Exit code 1\n2 failed"), "tool_use_id": f"run{number}"}
    asked = {name: value for name, value in failed.items() if name != "error"}
    project.hook({**asked, "hook_event_name": "PreToolUse"}, "claude-code", "PreToolUse")
    return project.hook(failed, "claude-code", "PostToolUseFailure").text


@pytest.mark.parametrize("edit", ["Edit", "sed -i s/a/b/ f.py", "python fix.py > /dev/null"])
def test_a_test_that_fails_after_an_edit_is_work_that_goes_on(project, edit):
    """A run after an edit is another one, as often as it takes: it is never handed over, and never the last attempt."""
    project.trust(TESTED)
    for number in range(12):
        text = pytest_fails(project, number)
        assert "stop this step" not in text and "fix the problem shown above, then run it again" in text
        assert "attempt 2" not in text and ("by an edit in between" in text) == (number > 0)
        story = Story(project, "claude-code")
        if edit == "Edit":
            story.play({**project.wrote("f.py", f"x = {number}"), "tool_use_id": f"edit{number}"})
        else:
            story.play(project.bash(edit, tool_use_id=f"edit{number}"))


@pytest.mark.parametrize("between", ["", "grep -rn def . | head", "pytest tests/test_a.py", "sed -n 1,9p f.py 2>/dev/null"])
def test_a_test_that_is_run_again_and_again_with_nothing_edited_is_handed_over(project, between):
    """To look, or to run another part of it, mends nothing; and no attempt is told as one more than there may be."""
    project.trust(TESTED)
    texts = []
    for number in range(5):
        texts.append(pytest_fails(project, number))
        if between:
            Story(project, "claude-code").play(project.bash(between, tool_use_id=f"look{number}"))
    assert ["stop this step" in text for text in texts] == [False, False, True, True, True]
    assert "This was attempt 3 of 3 for this call" in texts[2]
    assert "attempt 4 for this call, 1 more than allowed" in texts[3] and " of 3" not in texts[3]


def test_an_edit_that_failed_makes_no_new_attempt(project):
    """Only what landed changes anything."""
    project.trust(TESTED)
    for number in range(3):
        text = pytest_fails(project, number)
        failed = project.failed("Edit", {"file_path": f"{project.root}/f.py"}, "String to replace not found")
        project.hook({**failed, "tool_use_id": f"edit{number}"}, "claude-code", "PostToolUseFailure")
    assert "stop this step" in text


def test_calls_side_by_side_are_one_attempt(project, harness):
    """The agent had not heard of the first when it asked for the others; the call after them is the second, and may be
    made: they lied once."""
    project.trust(LIES)
    args = {"title": "a", "body": "x"}
    payloads = [project.mcp(harness, args=args, tool_use_id=f"t{number}") for number in range(3)]
    for payload in payloads:
        asked = {name: value for name, value in payload.items() if name != "tool_response"}
        project.hook({**asked, "hook_event_name": "PreToolUse"}, harness, "PreToolUse")
    for payload in payloads:
        text = project.hook(payload, harness).text
        assert "make the call once more now" in text and "attempt 2" not in text
    assert "This was attempt 2 of 2" in Story(project, harness).call()[1].text


def test_what_was_put_right_is_given_back(project, harness):
    """A session may be as long as it likes if its failures are mended, by the same call or by another way; ten that
    were not end it."""
    project.trust(LIES + "policy: {quarantine: {after: 0}}\n")
    story = Story(project, harness)
    for number in range(12):
        assert "stop this step" not in story.call(f"n{number}")[1].text
        assert story.call(f"n{number}", lands=True)[1].form == "silent"
    texts = [story.call(f"open{number}")[1].text for number in range(11)]
    assert ["stop this step" in text for text in texts] == [False] * 9 + [True] * 2
    assert "This session has used up its 10 refuted attempts" in texts[9]


def test_a_long_session_forgets_nothing_of_what_is_open_and_holds_nothing_mended_against_it(project):
    """Also where hundreds of events lie between."""
    from truecall_py.ledger.store import ENDED, Event, Ledger

    project.trust(LIES + "policy: {quarantine: {after: 0}}\n")
    story = Story(project, "claude-code")
    for number in range(5):
        story.call(f"open{number}")
        story.call(f"mended{number}")
        story.call(f"mended{number}", lands=True)
    ledger = Ledger(project.state)
    session = project.mcp()["session_id"]
    ledger.add(*(Event(session, f"x{number}", ENDED, 1.0, tool="Read", identity=f"x{number}") for number in range(300)))
    ledger.close()
    texts = [story.call(f"more{number}")[1].text for number in range(5)]
    assert ["stop this step" in text for text in texts] == [False] * 4 + [True]


def test_history_counts_the_attempts_at_this_call(project, harness):
    """Others for the same effect are told as what they are."""
    project.trust(LIES + "policy: {retries: {other: 3}, quarantine: {after: 0}}\n")
    story = Story(project, harness)
    story.call("a")
    text = story.call("b")[1].text
    assert "- before that: mcp__notes__save_note reported success" in text and "- attempt" not in text
    text = story.call("b")[1].text
    assert "This was attempt 2 of 4" in text and "- attempt 1: mcp__notes__save_note reported success" in text
    assert "attempt 2:" not in text
    text = story.call("b")[1].text
    assert "- attempt 1:" in text and "- attempt 2:" in text and "before that" not in text


def test_a_resource_that_is_missing_is_never_asked_for_again(project, harness):
    """Where nothing near it exists either, the step is planned anew."""
    project.trust(LIES + "    class: missing\n")
    text = Story(project, harness).call()[1].text
    assert "do not repeat" in text and "plan this step again" in text


# -- rests --------------------------------------------------------------------------------------------------------


def test_a_contract_of_another_file_does_not_rest(project, harness, tmp_path):
    """Two projects may call their contracts alike: what one lied about is nothing to the other, in one session too."""
    made = ('version: 1\ncontracts:\n  - id: made\n    kind: shell\n    when: {args.command: {runs: "mkdir {d}"}}\n'
            '    post: {file_exists: {path: "{{match.d}}", type: dir}}\n')  # fmt: skip
    project.trust(made)
    other = type(project)(tmp_path / "other")
    other.state, other.env = project.state, project.env
    other.trust(made)
    for number in range(2):
        payload = project.bash(f"mkdir x{number}", harness, tool_use_id=f"t{number}")
        if harness == "codex":
            payload["transcript_path"] = transcript(project, f"t{number}")
        Story(project, harness).play(payload)
    assert not denied(Story(other, harness).play(other.bash("mkdir y", harness, tool_use_id="t8"))[0])
    assert denied(Story(project, harness).play(project.bash("mkdir y", harness, tool_use_id="t9"))[0])


def pending(project, *outcomes):
    """Calls that went to the background, and what the stop found when they had ended."""
    from truecall_py.judging.recorder import mark_cooldowns
    from truecall_py.ledger.store import ENDED, JUDGED, SETTLED, Event, Ledger

    ledger = Ledger(project.state)
    session, tool = project.mcp()["session_id"], "mcp__notes__save_note"
    row = {"contract": "note-saved", "file": project.contract, "route": tool, "state": "pending", "form": "append"}
    for number, outcome in enumerate(outcomes):
        state = "verified" if outcome == "landed" else "refuted"
        told = {"contract": "note-saved", "file": project.contract, "state": state, "outcome": outcome}
        ledger.add(Event(session, f"p{number}", ENDED, 1.0, tool=tool, state="pending", data={"verdicts": [row]}),
                   Event(session, f"p{number}", SETTLED if outcome == "landed" else JUDGED, 2.0, tool=tool, state=state,
                         data={"by": "stop", "verdicts": [told]}))  # fmt: skip
    ledger.close()
    mark_cooldowns(project.state)


@pytest.mark.parametrize(
    ("outcomes", "rests"), [(("lie", "lie"), True), (("lie", "landed"), False), (("lie",), False), (("landed",), False)]
)
def test_what_was_pending_counts_when_it_has_ended(story, project, outcomes, rests):
    """As the lie or the success that it was, once a call."""
    pending(project, *outcomes)
    assert denied(story.call("c")[0]) == rests


def test_a_call_is_answered_once(story, project, harness):
    """Each copy of the hook before a call says the same, also at the last tick of a rest."""
    story.call("a")
    story.call("b")
    for number in range(5):
        payload = project.mcp(harness, args={"title": "c", "body": "x"}, tool_use_id=f"again{number}")
        payload.pop("tool_response")
        asked = {**payload, "hook_event_name": "PreToolUse"}
        first, second = (project.hook(asked, harness, "PreToolUse") for _ in range(2))
        assert first.out == second.out and denied(first) == (number < 3)
        story.batch(payload)


def test_where_every_way_rests_none_is_named(project, harness):
    """Then the agent may wait or hand over, and is not sent on to what it may not call."""
    other = LIES.partition("contracts:\n")[2].replace("note-saved", "note-put").replace("save_note", "put_note")
    other = other.replace("notes/", "put/") + "    alternatives: [mcp__notes__save_note]\n"
    project.trust(LIES + "    alternatives: [mcp__notes__put_note]\n" + other)
    story = Story(project, harness)
    for tool in ("save_note", "put_note"):
        for title in "ab":
            story.call(title, tool=f"mcp__notes__{tool}")
    reason = story.call("c", tool="mcp__notes__put_note")[0].json["hookSpecificOutput"]["permissionDecisionReason"]
    assert "another route" not in reason and "or stop this step" in reason and "Do not repeat the call before then" in reason


def test_the_same_grant_is_another_route(project, harness):
    """Contracts that grant the same are each other's alternatives where none is named."""
    other = LIES.partition("contracts:\n")[2].replace("note-saved", "note-put").replace("save_note", "put_note")
    project.trust(LIES + "    grants: note\n" + other + "    grants: note\n")
    story = Story(project, harness)
    story.call()
    assert "Take another route: use mcp__notes__put_note" in story.call()[1].text


def test_calls_of_one_batch_are_one_attempt_though_they_ran_one_after_the_other(project):
    """Once a client tells of batches, they say what was asked for in one breath."""
    project.trust(LIES + "policy: {quarantine: {after: 9}}\n")
    story = Story(project, "claude-code")
    story.call("first")
    tell, story.batch = story.batch, lambda payload: None
    assert "attempt 2" not in story.call()[1].text + story.call()[1].text
    story.batch = tell
    story.call()
    assert "This was attempt 2 of 2" in story.call()[1].text


def test_work_in_the_background_that_lied_twice_rests(project):
    """Once it has ended, by the answer that says so."""
    project.trust('version: 1\ncontracts:\n  - id: made\n    kind: shell\n    when: {args.command: {runs: "mkdir {d}"}}\n'
                  '    post: {file_exists: {path: "{{match.d}}", type: dir}}\n')  # fmt: skip
    story = Story(project, "claude-code")
    for number in range(2):
        task = f"bg{number}"
        made = project.bash(f"mkdir x{number}", tool_use_id=f"t{number}", response={"backgroundTaskId": task})
        assert "NOT FINISHED" in story.play(made)[1].text
        answer = {"retrieval_status": "success", "task": {"task_id": task, "status": "completed", "exitCode": 0, "output": ""}}
        story.play(project.payload("claude-code", "TaskOutput", {"task_id": task}, answer, tool_use_id=f"o{number}"))
    assert denied(story.play(project.bash("mkdir y", tool_use_id="t7"))[0])


def test_what_is_kept_of_a_call_says_what_the_agent_was_told(project, harness):
    """Order, form and class stand with the call, as `truecall log` shows them, and how it stands now."""
    project.trust(LIES)
    story = Story(project, harness)
    story.call()
    story.call(lands=True)
    shown = json.loads(project.command("log", "toolu_1", "--json").stdout)
    assert (shown["order"], shown["form"], shown["class"]) == ("look then again", "replace", "other")
    assert (shown["attempt"], shown["changed"], shown["then"]["what"]) == (1, None, "same call")
    assert "order      look then again (replace, class other)" in project.command("log", "toolu_1").stdout
    landed = json.loads(project.command("log", "toolu_2", "--json").stdout)
    assert (landed["state"], landed["attempt"], landed["changed"]) == ("verified", 2, [])
    for title in "bcd":
        story.call(title)
    why = project.command("last").stdout
    assert "refused" in why and "paused     mcp__notes__save_note" in why and "contract   note-saved" in why
    assert "found      nothing at" in why and "for        3 more ticks" in why


def test_a_call_that_waits_for_a_person_is_the_one_that_was_asked_for(project):
    """Codex asks without the call's id, and adds a description; each call of a turn may wait."""
    project.trust(LIES)
    for number in range(2):
        payload = project.bash("touch x", "codex", tool_use_id=f"t{number}", transcript_path=None)
        payload.pop("tool_response")
        project.hook({**payload, "hook_event_name": "PreToolUse"}, "codex", "PreToolUse")
        told = {**payload, "hook_event_name": "PermissionRequest"}
        del told["tool_use_id"]
        told["tool_input"] = {**told["tool_input"], "description": "May it?"}
        for _ in range(2):  # registered twice
            project.hook(told, "codex", "PermissionRequest")
        project.hook({**payload, "tool_response": ""}, "codex")
    for number in range(2):
        found = json.loads(project.command("log", f"t{number}", "--json").stdout)
        assert [each["event"] for each in found["events"]] == ["requested", "waiting", "ended"]


@pytest.mark.parametrize("kind", ["transient", "test", "schema"])
def test_what_must_not_be_repeated_is_not_whatever_its_class(project, harness, kind):
    """`repeat: never` counts more than what the class of the failure would allow."""
    project.trust(LIES + f"    class: {kind}\n    repeat: never\n")
    text = Story(project, harness).call()[1].text
    assert "do not repeat" in text and "again" not in text.partition("Do this now")[2]


def test_a_refused_call_costs_an_attempt(project, harness):
    """Who calls what rests over and over spends the session's attempts."""
    project.trust(LIES + "policy: {session: 4, quarantine: {after: 2, ticks: 2}}\n")
    story = Story(project, harness)
    story.call("a")
    story.call("b")
    assert [story.call(name)[1] for name in "cd"] == [None, None]
    assert "This session has used up its 4 refuted attempts" in story.call("e")[1].text


def test_who_has_no_attempts_left_hears_so_where_it_is_refused(project, harness):
    """A refusal names other ways only while the session has attempts for them; else the agent is to stop and tell."""
    more = "    alternatives: [mcp__files__write_file]\npolicy: {session: 4, quarantine: {after: 2, ticks: 9}}\n"
    project.trust(LIES + more)
    story = Story(project, harness)
    story.call("a")
    story.call("b")
    said = [story.call(name)[0].json["hookSpecificOutput"]["permissionDecisionReason"] for name in "cde"]
    assert all("use mcp__files__write_file" in each and "used up" not in each for each in said[:2])
    assert "stop this step" in said[2] and "used up" in said[2] and "write_file" not in said[2]


@pytest.mark.parametrize("refused_by", ["rest", "guard"])
def test_a_refusal_with_which_the_budget_is_gone_ends_the_loop(project, refused_by):
    """By the batch of calls that it is of, since Claude Code would make a call whose own hook ends the loop. The
    person is told; a refusal before that ends nothing."""
    more = "    alternatives: [mcp__files__write_file]\n" if refused_by == "rest" else "    pre: {file_exists: {path: none}}\n"
    project.trust(LIES + more + "policy: {session: 4, on_exhausted: stop, quarantine: {after: 2, ticks: 9}}\n")
    story, told = Story(project, "claude-code"), []
    story.batch = lambda payload: told.append(batch_of(story, payload))
    for name in "abcd":
        story.call(name)
    *before, last = told
    assert [each.form for each in before] == ["silent"] * 3
    assert last.json["continue"] is False and "ended the agent's loop" in last.notice
    assert "mcp__notes__save_note" in last.notice


def test_waiting_may_be_raised_to_five(project):
    """And no further: an agent that waits and asks again for ever is no use to anybody."""
    for retries, code in ((5, 0), (6, 1)):
        project.write(project.contract, LIES + f"policy: {{retries: {{transient: {retries}}}}}\n")
        assert project.command("lint").returncode == code


def test_a_call_of_which_no_hook_asked_lies_once_too():
    """However many contracts say so."""
    row = {"state": "refuted", "outcome": "lie", "route": "mcp__notes__save_note", "contract": "a"}
    lied = Event("s", "c1", ENDED, 1.0, identity="x", state="refuted", data={"verdicts": [row, {**row, "contract": "b"}]})
    assert not resting([lied], {})
    again = Event("s", "c2", ENDED, 2.0, identity="y", state="refuted", data={"verdicts": [row]})
    assert list(resting([lied, again], {})) == ["mcp__notes__save_note"]
