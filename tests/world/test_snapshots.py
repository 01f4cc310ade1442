"""The look before a call: what is kept, how it is joined to the call, and what it makes of the verdict after it."""

from __future__ import annotations

import json
import os
import subprocess
import time

import pytest
from support.project import PATIENCE, RUN

from truecall_py.world import snapshots
from truecall_py.world.snapshots import Snapshot, find_snapshot, keep_snapshot, locate_snapshot

CHANGED = """\
version: 1
contracts:
  - id: counted
    tool: mcp__notes__save_note
    post: {file_exists: {path: "{{project}}/notes/{{args.title}}.md"}}
"""
NEWER = """\
version: 1
contracts:
  - id: built
    kind: shell
    when: {args.command: {runs: "make *"}}
    post: {file_exists: {path: out.bin, newer_than: call}}
"""
GONE = """\
version: 1
contracts:
  - id: removed
    kind: shell
    when: {args.command: {runs: "rm {path}"}}
    post: {file_absent: {path: "{{match.path}}"}}
"""


def before(payload):
    """The payload of PreToolUse for the call of a PostToolUse payload."""
    asked = {key: value for key, value in payload.items() if key not in ("tool_response", "duration_ms")}
    return {**asked, "hook_event_name": "PreToolUse"}


def kept(project):
    root = os.path.join(project.state, "snapshots")
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names)


def content(path):
    with open(path) as file:
        return file.read()


def test_an_effect_that_was_there_before_is_not_confirmed(project, harness):
    """The note was there, the tool said success and did nothing: no pass, and no accusation either."""
    project.trust(CHANGED)
    project.write("notes/a.md", "hello")
    payload = project.mcp(harness)
    assert project.hook(before(payload), harness, "PreToolUse").form == "silent"
    answer = project.hook(payload, harness)
    assert answer.form == "append" and answer.text.startswith("NOT CONFIRMED")
    assert "it was so before the call already, and nothing has changed since" in answer.text
    assert "had anything to do" in answer.text


def test_an_effect_that_the_call_brought_about_is_confirmed(project, harness):
    """A file that was made, and one that was written again with the same content, are the call's doing."""
    project.trust(CHANGED)
    payload = project.mcp(harness)
    for number, there in enumerate((False, True)):
        call = {**payload, "tool_use_id": f"call-{number}"}
        assert os.path.exists(os.path.join(project.root, "notes/a.md")) is there
        assert project.hook(before(call), harness, "PreToolUse").form == "silent"
        project.write("notes/a.md", "hello")
        assert project.hook(call, harness).form == "silent"


def test_vacuous_ok_takes_what_was_there(project, harness):
    """A contract that means idempotence says so, and no look is taken before its calls."""
    project.trust(CHANGED.replace("    post:", "    vacuous: ok\n    post:"))
    project.write("notes/a.md", "hello")
    payload = project.mcp(harness)
    project.hook(before(payload), harness, "PreToolUse")
    assert kept(project) == []
    assert project.hook(payload, harness).form == "silent"


def test_without_a_look_a_presence_is_judged_as_it_stands(project, harness):
    """A harness that has no hook before the call is no worse off than before."""
    project.trust(CHANGED)
    project.write("notes/a.md", "hello")
    assert project.hook(project.mcp(harness), harness).form == "silent"


def test_a_call_that_failed_by_its_own_word_is_not_told_that_it_landed(project):
    """What was there before the failing call is no sign that the call did land after all."""
    project.trust(CHANGED.replace("    post:", "    repeat: never\n    post:"))
    project.write("notes/a.md", "hello")
    failed = project.failed("mcp__notes__save_note", {"title": "a", "body": "hello"}, "disk full")
    project.hook(before(failed), "claude-code", "PreToolUse")
    assert project.hook(failed, "claude-code", "PostToolUseFailure").form == "silent"


def test_the_look_says_when_the_call_began(project, harness):
    """Without a duration in the payload, newer_than is judged by the snapshot; without both not at all."""
    project.trust(NEWER)
    old = project.write("out.bin", "x")
    os.utime(old, (time.time() - 100, time.time() - 100))
    payload = project.bash("make all", harness, duration_ms=None)
    if harness == "codex":
        payload["transcript_path"] = None
    answer = project.hook(payload, harness)
    assert answer.form == "append" and "neither the harness nor a snapshot says when the call began" in answer.text
    project.hook(before(payload), harness, "PreToolUse")
    assert project.hook(payload, harness).text.startswith("NOT DONE")


def test_the_folder_in_which_a_command_started(project):
    """Claude Code's cwd follows `cd`; the one of the hook before the call is where the command started."""
    project.trust(GONE)
    project.write("sub/a.txt", "x")
    payload = project.bash("rm a.txt; cd ..", cwd=project.base)
    assert "not known" in project.hook(payload).text
    asked = {**before(payload), "cwd": os.path.join(project.root, "sub")}
    assert project.hook(asked, "claude-code", "PreToolUse").form == "silent"
    assert "is still at" in project.hook(payload).text
    os.unlink(os.path.join(project.root, "sub/a.txt"))
    assert project.hook(payload).form == "silent"


def test_what_was_never_there_was_not_removed(project, harness):
    """`rm` of nothing is told as such, with the look as the witness."""
    project.trust(GONE)
    payload = project.bash("rm a.txt", harness)
    project.hook(before(payload), harness, "PreToolUse")
    answer = project.hook(payload, harness)
    assert answer.form == "append" and "nothing was there before the call" in answer.text


def test_a_call_that_no_contract_is_about_leaves_no_trace(project, harness):
    """Most calls need no look, and keep nothing."""
    project.trust(GONE)
    for payload in (project.bash("ls", harness), project.mcp(harness), project.bash("cd x && ls", harness)):
        assert project.hook(before(payload), harness, "PreToolUse").form == "silent"
    assert kept(project) == []


def test_the_first_look_counts(project, harness):
    """A hook that is registered twice looks twice; the second look may come late, and changes nothing."""
    project.trust(CHANGED)
    payload = project.mcp(harness)
    project.hook(before(payload), harness, "PreToolUse")
    (path,) = kept(project)
    first = content(path)
    project.write("notes/a.md", "hello")
    project.hook(before(payload), harness, "PreToolUse")
    assert kept(project) == [path] and content(path) == first
    assert project.hook(payload, harness).form == "silent"


def test_parallel_calls_share_nothing(project, harness):
    """Twenty calls at once: each is joined to its own look."""
    project.trust(CHANGED)
    calls = [
        project.mcp(harness, args={"title": f"n{number}", "body": "x"}, tool_use_id=f"toolu_{number}")
        for number in range(20)
    ]
    for number in range(0, 20, 2):
        project.write(f"notes/n{number}.md", "x")
    started = [
        subprocess.Popen(["sh", RUN, harness, "PreToolUse"], stdin=-1, stdout=-1, cwd=project.root,
                         env=project.environment(harness))
        for _ in calls
    ]  # fmt: skip
    for process, call in zip(started, calls, strict=True):
        assert process.communicate(json.dumps(before(call)).encode(), timeout=PATIENCE)[0] == b""
    for number in range(1, 20, 2):
        project.write(f"notes/n{number}.md", "x")
    forms = [project.hook(call, harness).form for call in calls]
    assert forms == ["append", "silent"] * 10


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"at":1.0,"cwd":null,"facts":[]}', '{"at":1.0,"cwd":5,"facts":{}}',
                                    '{"at":"1","cwd":null,"facts":{}}', '{"at": 1, "cwd": null}', '{"at":1,"cwd":null,"facts":{', "\0" * 50])  # fmt: skip
def test_a_damaged_snapshot_is_none(project, harness, damage):
    """What cannot be read is no look; the verdict is the one without."""
    project.trust(CHANGED)
    project.write("notes/a.md", "hello")
    payload = project.mcp(harness)
    project.hook(before(payload), harness, "PreToolUse")
    (path,) = kept(project)
    with open(path, "w") as file:
        file.write(damage)
    assert project.hook(payload, harness).form == "silent"


def test_a_state_folder_that_cannot_be_written_keeps_no_call_from_being_made(project, harness):
    """The look before a call never blocks it, whatever goes wrong with it; the person is told once."""
    project.trust(CHANGED)
    with open(os.path.join(project.state, "snapshots"), "w"):
        pass
    answer = project.hook(before(project.mcp(harness)), harness, "PreToolUse")
    assert answer.form == "notice" and "cannot write snapshots" in answer.notice
    assert project.hook(before(project.mcp(harness)), harness, "PreToolUse").form == "silent"


def test_a_planted_link_is_not_followed(project, harness):
    """Somebody's link in place of the snapshot is not read through."""
    project.trust(CHANGED)
    project.write("notes/a.md", "hello")
    payload = project.mcp(harness)
    project.hook(before(payload), harness, "PreToolUse")
    (path,) = kept(project)
    os.rename(path, path + ".real")
    os.symlink(path + ".real", path)
    assert project.hook(payload, harness).form == "silent"


def test_ids_become_names_that_stay_in_their_folder(tmp_path):
    """No id climbs out, none is taken for another, and one without an id is not kept."""
    state = str(tmp_path)
    ids = ["a", "../../a", "a/b", "ü", "a" * 500, "x" * 128, ".", "\ud800", "a\0b"]
    for number, name in enumerate(ids):
        assert keep_snapshot(state, name, name, Snapshot(float(number), "/", {"k": number}))
    for number, name in enumerate(ids):
        found = find_snapshot(state, name, name)
        assert found is not None and found.facts == {"k": number}
        assert os.path.dirname(locate_snapshot(state, name, name)[0]) == os.path.join(state, "snapshots")
    empty = Snapshot(1.0, "/", {})
    assert not keep_snapshot(state, "", "a", empty) and not keep_snapshot(state, "a", "", empty)
    assert find_snapshot(state, "", "") is None


def test_what_is_too_large_is_left_out(tmp_path, monkeypatch):
    """A snapshot is bounded; a fact that was left out is one that nobody saw."""
    monkeypatch.setattr(snapshots, "LARGEST", 100)
    assert keep_snapshot(str(tmp_path), "s", "c", Snapshot(1.0, None, {"a": "x" * 50, "b": "y" * 60, "c": 1}))
    found = find_snapshot(str(tmp_path), "s", "c")
    assert found is not None and set(found.facts) == {"a"}


def test_old_snapshots_are_cleared_and_running_ones_kept(tmp_path):
    """A day later a new session takes the place of the old ones; what is younger stays."""
    state = str(tmp_path)
    for session in ("old", "young"):
        assert keep_snapshot(state, session, "c", Snapshot(time.time(), None, {}))
    folder, name = locate_snapshot(state, "old", "c")
    past = time.time() - 2 * snapshots.KEPT
    os.utime(os.path.join(folder, name + ".json"), (past, past))
    os.utime(folder, (past, past))
    assert keep_snapshot(state, "new", "c", Snapshot(time.time(), None, {}))
    assert not os.path.exists(folder) and find_snapshot(state, "young", "c") is not None


def test_a_call_is_alone_unless_another_about_the_same_fact_overlaps(tmp_path):
    """A delta may be blamed on a call only where no other one can have had a part in it."""
    state = str(tmp_path)
    params = {"path": "x"}
    fact = {snapshots.make_key("files", "/w", params): 1}
    now = time.time()
    keep_snapshot(state, "s", "first", Snapshot(now - 50, None, fact))
    first = find_snapshot(state, "s", "first")
    keep_snapshot(state, "s", "mine", Snapshot(now, None, fact))
    mine = find_snapshot(state, "s", "mine")
    assert first is not None and mine is not None
    assert not mine.alone("files", "/w", params)  # the first one has not ended
    snapshots.mark_ended(first)
    done = os.path.join(first.folder, "first.done")
    os.utime(done, (now - 10, now - 10))
    assert mine.alone("files", "/w", params)
    keep_snapshot(state, "s", "other", Snapshot(now, None, {snapshots.make_key("files", "/w", {"path": "y"}): 1}))
    assert mine.alone("files", "/w", params)
    keep_snapshot(state, "s", "same", Snapshot(now + 1, None, fact))
    assert not mine.alone("files", "/w", params)


@pytest.mark.parametrize(("turn", "agent", "between", "alone"), [
    ("t1", "", False, False), ("t0", "", False, True), ("t1", "", True, True), ("t1", "sub", False, False),
    ("t0", "sub", True, False),
])  # fmt: skip
def test_a_call_that_nobody_told_the_end_of_is_over_at_last(tmp_path, turn, agent, between, alone):
    """One that a person refused never ends for the hook: a later turn, or a call in between that ended, tells."""
    state, params, now = str(tmp_path), {"path": "x"}, time.time()
    fact = {snapshots.make_key("files", "/w", params): 1}
    keep_snapshot(state, "s", "refused", Snapshot(now - 50, None, fact, agent, turn))
    if between:
        keep_snapshot(state, "s", "between", Snapshot(now - 40, None, {}, "", "t1"))
        made = find_snapshot(state, "s", "between")
        snapshots.mark_ended(made)
        os.utime(os.path.join(made.folder, "between.done"), (now - 30, now - 30))
    keep_snapshot(state, "s", "mine", Snapshot(now, None, fact, "", "t1"))
    assert find_snapshot(state, "s", "mine").alone("files", "/w", params) is alone


def test_a_verdict_by_what_changed_is_no_calls_alone_while_another_ran(project, harness):
    """Of two calls at once about the same, one did the work: neither is called done, and neither a lie."""
    project.trust(CHANGED)
    first, second = (project.mcp(harness, tool_use_id=f"toolu_{number}") for number in (1, 2))
    for payload in (first, second):
        project.hook(before(payload), harness, "PreToolUse")
    project.write("notes/a.md", "hello")
    for payload in (first, second):
        answer = project.hook(payload, harness)
        assert answer.form == "append" and "another call about the same ran at the same time" in answer.text


def line(kind, seconds, **inside):
    """A line of a transcript, written so many seconds from now."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + seconds)) + ".5Z"
    return json.dumps({"timestamp": stamp, "type": kind, **inside}) + "\n"


def ends_of(harness, call, seconds, well=False):
    """What the client's transcript says of a call that ended so many seconds from now: it failed, or went well."""
    if harness == "claude-code":
        block = {"type": "tool_result", "tool_use_id": call, "is_error": not well, "content": "no"}
        return line("user", seconds, message={"role": "user", "content": [block]})
    item = {"type": "McpToolCall", "id": call, "status": "completed" if well else "failed"}
    return line("event_msg", seconds, payload={"type": "item_completed", "item": item})


@pytest.mark.parametrize("seconds, well, alone", [(-5, False, True), (60, False, False), (None, False, False), (-5, True, None)])
def test_a_call_that_its_client_says_was_over_ran_at_no_same_time(project, harness, seconds, well, alone):
    """The client told no hook of its end (Codex of a failure, Claude Code of what a person refused) and the agent made
    it again at once: what was written before that decides. A success that Claude Code tells may go on."""
    project.trust(CHANGED)
    first, second = (project.mcp(harness, tool_use_id=f"toolu_{number}") for number in (1, 2))
    told = "" if seconds is None else ends_of(harness, "toolu_1", seconds, well)
    first["transcript_path"] = second["transcript_path"] = project.write(os.path.join(project.base, "t.jsonl"), told)
    project.hook(before(first), harness, "PreToolUse")
    past = time.time() - 30
    (path,) = kept(project)
    with open(path) as file:
        plain = json.load(file)
    with open(path, "w") as file:
        json.dump({**plain, "at": past}, file)
    project.hook(before(second), harness, "PreToolUse")
    project.write("notes/a.md", "hello")
    answer = project.hook(second, harness)
    if alone is None:
        alone = harness == "codex"
    assert (answer.form == "silent") is alone, answer
    assert alone or "another call about the same ran at the same time" in answer.text


def test_an_id_that_comes_again_is_another_call(project, harness):
    """What was seen before the first call is nothing to the second one under the same id."""
    project.trust(CHANGED)
    payload = project.mcp(harness)
    project.hook(before(payload), harness, "PreToolUse")
    project.write("notes/a.md", "hello")
    assert project.hook(payload, harness).form == "silent"
    project.hook(before(payload), harness, "PreToolUse")
    assert "it was so before the call already" in project.hook(payload, harness).text


def test_clearing_follows_no_link_and_removes_nothing_foreign(tmp_path):
    """A link in the place of a session's folder leads to somebody else's files."""
    state, foreign = str(tmp_path / "state"), tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "old.json").write_text("x")
    past = time.time() - 2 * snapshots.KEPT
    os.makedirs(os.path.join(state, "snapshots", "real"))
    (tmp_path / "state/snapshots/real/notes.txt").write_text("x")
    os.symlink(foreign, os.path.join(state, "snapshots", "old"))
    for path in (foreign / "old.json", foreign, tmp_path / "state/snapshots/real"):
        os.utime(path, (past, past))
    os.utime(os.path.join(state, "snapshots", "old"), (past, past), follow_symlinks=False)
    assert keep_snapshot(state, "new", "c", Snapshot(time.time(), None, {}))
    assert (foreign / "old.json").exists() and (tmp_path / "state/snapshots/real/notes.txt").exists()
    os.symlink(foreign, os.path.join(state, "snapshots", "mine"))
    assert not keep_snapshot(state, "mine", "c", Snapshot(time.time(), None, {}))
    assert sorted(os.listdir(foreign)) == ["old.json"]


def test_a_pipe_beside_the_snapshots_is_not_waited_for(project, harness):
    """What is no file of ours is none of the snapshots, however it is named."""
    project.trust(CHANGED)
    payload = project.mcp(harness)
    project.hook(before(payload), harness, "PreToolUse")
    (path,) = kept(project)
    os.mkfifo(os.path.join(os.path.dirname(path), "pipe.json"))
    project.write("notes/a.md", "hello")
    assert project.hook(payload, harness).form == "silent"
