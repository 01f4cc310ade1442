"""A tool that lied twice is paused, with the real hook process: what is paused, by whom, and for how long."""

from __future__ import annotations

import json

import pytest
from support.stories import LIES, Story, batch_of, denied, events

from truecall_py.ledger.cooldowns import find_cooldowns
from truecall_py.ledger.store import ENDED, Event


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
    text = " ".join(project.command("log", "toolu_1").stdout.split())
    order = "check whether its effect is there, and repeat it only if not, instead of the tool's output (class other)"
    assert f"order to {order}" in text
    landed = json.loads(project.command("log", "toolu_2", "--json").stdout)
    assert (landed["state"], landed["attempt"], landed["changed"]) == ("verified", 2, [])
    for title in "bcd":
        story.call(title)
    why = project.command("last").stdout
    assert "refused" in why and "paused     mcp__notes__save_note" in why and "contract   note-saved" in why
    assert "found      nothing at" in why and "for        3 more batches" in why


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
    assert not find_cooldowns([lied], {})
    again = Event("s", "c2", ENDED, 2.0, identity="y", state="refuted", data={"verdicts": [row]})
    assert list(find_cooldowns([lied, again], {})) == ["mcp__notes__save_note"]
