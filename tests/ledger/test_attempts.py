"""Attempts and budgets from call to call, with the real hook process."""

from __future__ import annotations

import json
import os
import sqlite3

import pytest
from support.stories import LIES, Story, events

ROUTES = LIES + "    alternatives: [mcp__notes__write_file]\n"


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
