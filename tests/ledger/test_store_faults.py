"""What can happen to the ledger on a disk, each seen through the real hook: calls are judged as without it, what it
would have known is never taken for nothing, and the person reads what is wrong."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import contextmanager

import pytest
from support.project import ROOT
from support.turns import SESSION, TWO, Turn, reason, silent

from truecall_py.core.types import FALSE_SUCCESS, REFUTED, ToolCall, Verdict
from truecall_py.judging.recorder import Recorder
from truecall_py.ledger import store
from truecall_py.ledger.store import ENDED, LOST, STOP, Event, Ledger

CLAIM = """\
version: 1
contracts:
  - id: tests-run
    event: stop
    claims: ["(?i)tests pass"]
    kind: shell
    when: {args.command: {runs: "make test"}}
"""


@pytest.fixture
def turn(project, harness):
    project.trust(TWO)
    return Turn(project, harness)


def asked_and_told(turn, title, lie=False):
    """Both hooks of a call: what the person reads by either, and the answer after it."""
    payload = turn.note(title)
    before = turn.asked(payload)
    if not lie:
        turn.project.write(f"notes/{title}.md", "hello")
    after = turn.project.hook(payload, turn.harness)
    return before.notice + after.notice, after


def path(project, more=""):
    return os.path.join(project.state, store.FILE + more)


def take_away(project, how):
    """Deletes the ledger, empties it, or puts another one in its place."""
    for more in ("-wal", "-shm"):
        if os.path.exists(path(project, more)) and how != "its log stays":
            os.unlink(path(project, more))
    if how == "empty":
        with open(path(project), "wb"):
            pass
        return
    os.unlink(path(project))
    if how == "another":
        other = Ledger(os.path.join(project.base, "other"))
        other.add(Event("other", "c", ENDED, 1.0))
        other.close()
        shutil.move(other.path, path(project))


def events(project, kind):
    return [each for each in Ledger(project.state).session(SESSION) if each.event == kind]


@pytest.mark.parametrize("how", ["deleted", "empty", "another", "its log stays"])
def test_a_ledger_that_is_gone_is_missed(turn, how):
    """In the middle of a session: the next call is judged and the person is told, once; the end of the turn is not
    confirmed, once; the next turn is as any other."""
    project = turn.project
    turn.save("a")
    take_away(project, how)
    notice, answer = asked_and_told(turn, "b")
    assert silent(answer) and notice.count("deleted, emptied or exchanged") == 1
    notice, answer = asked_and_told(turn, "c")
    assert silent(answer) and not notice
    text = reason(turn.stop())
    assert text.startswith("NOT CONFIRMED") and "begun anew" in text
    assert turn.stop(active=True).form == "notice"
    turn.name = "turn-2"
    notice, answer = asked_and_told(turn, "d")
    assert silent(answer) and not notice and silent(turn.stop())
    assert len(events(project, LOST)) == 1


def test_a_ledger_that_comes_back_does_not_know_what_was_done_meanwhile(turn):
    """Another one was in its place for two calls, one of which lied: that is missed as well."""
    project = turn.project
    turn.save("a", write=True)
    kept = os.path.join(project.base, "kept")
    os.mkdir(kept)
    for more in ("", "-wal", "-shm"):
        shutil.move(path(project, more), os.path.join(kept, store.FILE + more))
    asked_and_told(turn, "b", lie=True)
    for more in ("", "-wal", "-shm"):
        shutil.move(os.path.join(kept, store.FILE + more), path(project, more))
    assert reason(turn.stop()).startswith("NOT CONFIRMED")
    assert turn.stop(active=True).form == "notice"


def test_it_is_missed_at_the_stop_too(turn):
    """Where no call comes after it."""
    turn.save("a")
    take_away(turn.project, "deleted")
    assert reason(turn.stop()).startswith("NOT CONFIRMED")
    assert turn.stop(active=True).form == "notice"


def test_what_is_known_counts_more(turn):
    """A lie that was told after it holds the agent as it would have."""
    turn.save("a")
    take_away(turn.project, "deleted")
    turn.save("b")
    assert "not corrected" in reason(turn.stop())


def test_a_claim_is_not_refuted_by_what_is_gone(project, turn):
    """The call may have been made before: that no call was made cannot be said. One that was made since counts."""
    project.trust(CLAIM)
    turn.told(project.bash("make test", turn.harness, tool_use_id="b1", **turn.marks))
    take_away(project, "deleted")
    turn.told(project.bash("ls", turn.harness, tool_use_id="b2", **turn.marks))
    text = reason(turn.stop("All tests pass."))
    assert text.startswith("NOT CONFIRMED") and "no call was made" not in text


@pytest.mark.parametrize("how", ["deleted", "another"])
def test_a_session_that_is_new_misses_nothing(project, turn, how):
    """A ledger that was taken away between two sessions is a ledger that is new."""
    turn.save("a")
    take_away(project, how)
    other = Turn(project, turn.harness, session="00000000-0000-4000-8000-00000000000e")
    other.calls = 5
    notice, answer = asked_and_told(other, "b")
    assert silent(answer) and not notice and silent(other.stop())


def test_a_disk_that_is_full(turn):
    """Nothing can be written: the lie is told, and the person reads that it is not remembered; what was written
    before is there when there is room."""
    project, full = turn.project, 'ulimit -f 1; exec "$@"'
    turn.save("a")
    payload = turn.note("b")
    answer = project.hook(payload, turn.harness, shell=full)
    assert answer.text.startswith("NOT DONE") and "the ledger" in answer.notice
    assert "not corrected" in reason(turn.stop())
    assert [each.call for each in events(project, ENDED)] == ["toolu_01"]


def test_a_folder_that_only_lets_read(turn):
    """The same where the file system may only be read."""
    project = turn.project
    turn.save("a")
    copy = os.path.join(project.base, "copy")
    shutil.move(project.state, copy)
    os.mkdir(project.state)
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", project.state], capture_output=True, check=False).returncode:
        pytest.skip("no file system may be mounted here")
    try:
        shutil.copytree(copy, project.state, dirs_exist_ok=True)
        subprocess.run(["mount", "-o", "remount,ro", project.state], check=True)
        answer = project.hook(turn.note("b"), turn.harness)
        assert answer.text.startswith("NOT DONE") and "the ledger" in answer.notice
        assert turn.stop().form in ("replace", "append")
        assert turn.stop(active=True).form == "notice"
    finally:
        subprocess.run(["umount", project.state], check=True)


def test_a_page_that_is_damaged_in_the_middle(turn):
    """What cannot be read is not taken for nothing: a lie is told as one, and the stop is not confirmed."""
    project = turn.project
    turn.save("a")
    book = Ledger(project.state)
    book.add(*(Event(SESSION, f"c{number}", ENDED, 1.0, turn.harness, "turn-1", data={"args": {"a": "x" * 900}})
               for number in range(300)))  # fmt: skip
    book.query("PRAGMA wal_checkpoint(TRUNCATE)")
    book.close()
    size = os.path.getsize(path(project))
    with open(path(project), "r+b") as file:
        file.seek(size // 4 // 4096 * 4096)
        file.write(b"\xa5" * (size // 2 // 4096 * 4096))
    notice, answer = asked_and_told(turn, "b", lie=True)
    assert answer.text.startswith("NOT DONE") and "the ledger" in notice
    assert turn.stop().form in ("replace", "append")
    assert turn.stop(active=True).form == "notice"


def test_a_ledger_of_a_newer_version(turn):
    """It is left alone, and the person is told to update."""
    turn.save("a")
    Ledger(turn.project.state).query(f"PRAGMA user_version={len(store.MIGRATIONS) + 1}")
    notice, answer = asked_and_told(turn, "b", lie=True)
    assert answer.text.startswith("NOT DONE") and "newer truecall" in notice
    assert "newer truecall" in reason(turn.stop()) and turn.stop(active=True).form == "notice"


def test_a_log_that_is_missing(turn):
    """What was never copied out of it is gone: that is missed, as a ledger that is gone is."""
    turn.save("a")
    for more in ("-wal", "-shm"):
        os.unlink(path(turn.project, more))
    assert "deleted, emptied or exchanged" in asked_and_told(turn, "b", lie=True)[0]


def test_a_log_of_another_ledger(turn):
    """It is not taken for this one's: either it is refused, or what it brings is missed."""
    project = turn.project
    turn.save("a")
    Ledger(project.state).query("PRAGMA wal_checkpoint(TRUNCATE)")
    state = os.path.join(project.base, "other")
    code = f"from truecall_py.ledger.store import *; Ledger({state!r}).add(Event('s', 'c', 'ended', 1.0)); os._exit(0)"
    subprocess.run([sys.executable, "-c", code], check=True,
                   cwd=ROOT)  # fmt: skip
    shutil.copy(os.path.join(state, store.FILE + "-wal"), path(project, "-wal"))
    if os.path.exists(path(project, "-shm")):
        os.unlink(path(project, "-shm"))
    notice, answer = asked_and_told(turn, "b", lie=True)
    assert answer.text.startswith("NOT DONE") and "the ledger" in notice
    assert turn.stop().form in ("replace", "append") and turn.stop(active=True).form == "notice"


def test_a_clock_that_was_set_back(turn):
    """Order is the order of writing: attempts count, and what stands open does, whatever the hour."""
    project = turn.project
    turn.save("a")
    Ledger(project.state).query("UPDATE events SET at = at + 1e6")
    assert "attempt 2" in turn.save("a").text
    assert "not corrected" in reason(turn.stop())
    assert len(events(project, STOP)) == 1


# -- what it did not take down -------------------------------------------------------------------------------------


@contextmanager
def locked(project):
    """While another process writes to the ledger."""
    other = sqlite3.connect(path(project), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


@pytest.mark.parametrize("when", ["both", "after"])
def test_a_lie_that_was_not_written_down_does_not_end_in_silence(turn, when):
    """It was told at the call, while the ledger was locked: the stop, at which it can be read again, is not confirmed,
    once; the next turn is as any other."""
    project = turn.project
    turn.save("a", write=True)
    payload = turn.note("b", tool_use_id="toolu_b")
    if when == "after":
        turn.asked(payload)
    with locked(project):
        if when == "both":
            turn.asked(payload)
        assert project.hook(payload, turn.harness).text.startswith("NOT DONE")
    text = reason(turn.stop())
    assert text.startswith("NOT CONFIRMED: the calls of this turn") or "notes/b.md" in text  # Codex' are kept before the call
    assert turn.stop(active=True).form == "notice"
    turn.name = "turn-2"
    asked_and_told(turn, "d")
    assert silent(turn.stop())


def test_an_honest_call_that_was_not_written_down_holds_nobody(turn):
    """Nothing of it stands open; nor does a call of which only the question was not written down."""
    project = turn.project
    for title, when in (("a", "both"), ("b", "before")):
        payload = turn.note(title)
        Ledger(project.state).close()
        with locked(project):
            turn.asked(payload)
            project.write(f"notes/{title}.md", "hello")
            if when == "both":
                assert project.hook(payload, turn.harness).form in ("silent", "notice")
        if when == "before":
            project.hook(payload, turn.harness)
    assert silent(turn.stop())


def test_a_claim_is_not_refuted_by_what_was_not_written_down(project, turn):
    """The call that stands behind it was made while the ledger was locked."""
    project.trust(CLAIM)
    turn.told(turn.bash("ls"))
    with locked(project):
        turn.ran("make test")
    text = reason(turn.stop("All tests pass."))
    assert text.startswith("NOT CONFIRMED") and "no call was made" not in text


def test_what_is_found_at_the_stop_and_cannot_be_written_down_holds(project):
    """Codex told no hook how a call ended; it is judged at the stop, while the ledger is locked."""
    project.trust(TWO)
    turn = Turn(project, "codex")
    turn.asked(turn.note("b"))
    with locked(project):
        assert reason(turn.stop()).startswith("NOT CONFIRMED")
        assert turn.stop(active=True).form == "notice"


def test_a_ledger_that_breaks_between_two_looks_is_no_trial(turn):
    """What was tried before cannot be told: the lie is told all the same, and the trouble is kept for the person."""
    call = ToolCall("claude-code", "PostToolUse", "mcp__notes__save_note", frozenset({"mcp"}), {}, session=SESSION, call_id="c")
    recorder = Recorder(turn.project.state, call, {})
    with sqlite3.connect(path(turn.project)) as other:
        other.execute("DROP TABLE events")
    lie = Verdict("note-saved", REFUTED, FALSE_SUCCESS, (), "truecall.yaml:3")
    assert recorder.read_trials([lie], "success", "") == {} and recorder.trouble is not None
