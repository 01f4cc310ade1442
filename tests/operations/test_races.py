"""What several hooks do in one moment, or one that is killed in the middle: another process is let in between at the
exact moment, so that nothing here depends on how fast the machine is."""

from __future__ import annotations

import os
import time
import types

import pytest
from support.payments import CONTRACT, Agent, Service, every, refusal, silent, state
from support.project import SESSION
from support.shell_contract import SHELL

from truecall_py.clients.claude_code import hook
from truecall_py.core.types import UNTOLD_INTENT
from truecall_py.judging.engine import Moment
from truecall_py.judging.recorder import Recorder
from truecall_py.ledger import pending_calls, session_marks
from truecall_py.ledger.store import Event, Ledger
from truecall_py.operations import duplicate_guard, intents, reconcile, recover, settle
from truecall_py.trust import store
from truecall_py.world import snapshots
from truecall_py.world.snapshots import Snapshot


@pytest.fixture
def bank():
    service = Service()
    yield service
    service.close()


@pytest.fixture
def claude(project, bank):
    project.trust(CONTRACT.replace("PORT", str(bank.port)))
    return Agent(project)


def between(monkeypatch, where, name, other, after=False):
    """Lets `other` happen once, right before `where.name` does its work, or right after it."""
    does, left = getattr(where, name), [other]

    def late(*given, **named):
        if not after and left:
            left.pop()()
        found = does(*given, **named)
        if after and left:
            left.pop()()
        return found

    monkeypatch.setattr(where, name, late)
    return left


def announced(agent, name):
    """A call before it is made, the contracts that name it, and the ledger in its hands."""
    call = hook.parse_before({**agent.call(name), "hook_event_name": "PreToolUse"})
    (source,) = sources(agent.project)
    return call, source.find_contracts(call), Recorder(agent.project.state, call, {})


def sources(project):
    return store.load_sources(project.root, project.state, project.own, None)


# -- what must happen once -----------------------------------------------------------------------------------------


def test_what_was_settled_in_between_is_not_given_up(project, bank, claude, monkeypatch):
    """Another process hears that the operation is done after its source was asked in vain, and before it is given up:
    it stays done, and is not let through a second time."""
    assert silent(claude.asks())
    bank.answers["o1"] = 503

    def other():
        del bank.answers["o1"]
        bank.does()
        assert silent(claude.ends())

    ledger = Ledger(project.state)
    (item,) = reconcile.find_by_call(ledger, "c1")
    left = between(monkeypatch, reconcile, "ask_source", other, after=True)
    assert reconcile.give_up(ledger, project.state, item).state == "verified" and not left
    assert state(project) == "verified" and "NOT RUN" in refusal(claude.asks("c2"))


def test_no_intent_that_is_told_late_stands_there_without_its_call(project, claude, monkeypatch):
    """A hook that is killed while it keeps a call has noted no intent of it, which nobody could look up."""
    call, contracts, recorder = announced(claude, "c1")

    def killed(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(duplicate_guard, "keep_call", killed)
    with pytest.raises(KeyboardInterrupt):
        duplicate_guard.record_late_intent(recorder, contracts[0], call, project.root)
    assert every(project) == []


def test_a_call_whose_own_hook_is_at_work_is_no_orphan(project, claude, monkeypatch):
    """Its hook keeps it and then notes its intent; another hook that finds it in between takes that intent for what
    it began, and not its own doubt."""
    call, contracts, recorder = announced(claude, "c1")
    (intent,) = intents.find_intents(contracts[0], call, Moment(time.monotonic() + 30, time.time(), project.root),
                                recorder.history.key)  # fmt: skip
    own = intents.make_intent_event(intent, call, project.root, recorder.at, recorder.history.key)
    doubt = Event(**{**own.__dict__, "event": own.event + " untold", "identity": "other",
                     "data": {**own.data, UNTOLD_INTENT: "an argument was masked"}})  # fmt: skip
    duplicate_guard.keep_call(recorder, call, project.root)
    monkeypatch.setattr(recover, "make_intents", lambda *given: (Ledger(project.state).add(own), [doubt])[1])
    ends = time.monotonic() + 30
    left = recover.recover_calls(recorder.ledger, recorder.history.key, project.state, contracts, ends)
    assert left == recover.Left()
    assert [each.identity for each in every(project)] == [intent.identity]


# -- what lies beside the ledger -----------------------------------------------------------------------------------


def test_two_first_hooks_of_a_session_lose_no_ledger(tmp_path, monkeypatch):
    """Of two hooks that are the first of a session, the second finds the mark of the first: it is the same ledger's."""
    state, ledger = str(tmp_path), Ledger(str(tmp_path))
    left = between(monkeypatch, os, "listdir", lambda: session_marks.mark_session(state, "s", ledger.read_key()))
    assert not session_marks.has_other_ledger(state, "s", ledger.read_key()) and not left
    assert session_marks.has_other_ledger(state, "s", b"another")


def test_a_folder_that_was_cleared_in_between_is_made_again(project, monkeypatch, tmp_path):
    """Another session's hook clears an empty folder away between the moment in which it was made and the first file in
    it: what was seen, and the call, are kept all the same."""
    state = str(tmp_path / "state")
    call = hook.parse_before({**project.bash("make-db d1", tool_use_id="b1"), "hook_event_name": "PreToolUse"})
    folder = os.path.dirname(pending_calls.locate_call(state, call.session, call.call_id))
    left = between(monkeypatch, pending_calls, "clear_sessions", lambda: os.rmdir(folder))
    assert pending_calls.keep_call(state, call, time.time(), "id") and not left
    seen = snapshots.locate_snapshot(state, "s", "c")[0]
    left = between(monkeypatch, snapshots, "prepare_folder", lambda: os.rmdir(seen), after=True)
    assert snapshots.keep_snapshot(state, "s", "c", Snapshot(time.time(), None, {})) and not left


def test_two_copies_of_a_hook_make_way_together(tmp_path, monkeypatch):
    """Under an id that was another call's before, two copies of the hook keep what they saw: to the second, too, it
    counts as kept."""
    state = str(tmp_path)
    snapshots.keep_snapshot(state, "s", "c", Snapshot(1.0, None, {}))
    snapshots.mark_ended(snapshots.find_snapshot(state, "s", "c"))
    folder, name = snapshots.locate_snapshot(state, "s", "c")
    left = between(monkeypatch, os, "replace", lambda: os.unlink(os.path.join(folder, name + snapshots.DONE)))
    assert snapshots.keep_snapshot(state, "s", "c", Snapshot(2.0, None, {})) and not left


# -- work in the background ----------------------------------------------------------------------------------------


def background(project, name):
    """The hook after a command that went to the background."""
    marks = {"session_id": SESSION, "prompt_id": "turn-1"}
    project.hook(project.bash(f"make-db {name}", response={"backgroundTaskId": name}, tool_use_id=name, **marks))


def told(project, name):
    """What the hook of another call tells of a task that has ended well, by its own word."""
    call = hook.parse({**project.bash("true", tool_use_id=f"after-{name}"), "session_id": SESSION})
    harness = types.SimpleNamespace(NAME="claude-code", list_ended_tasks=lambda call: {name: 0})
    ends = time.monotonic() + 30
    return settle.judge_ended(harness, call, sources(project), project.state, project.root, ends, None)


def test_work_that_begins_while_the_last_one_ends_is_looked_for(project, monkeypatch):
    """A command goes to the background after it was looked whether any is there, and before the mark that says so is
    taken away: the mark is there in the end."""
    project.trust(SHELL)
    background(project, "d1")
    left = between(monkeypatch, pending_calls, "set_mark", lambda: background(project, "d2"))
    assert len(told(project, "d1")) == 1 and not left
    assert pending_calls.read_mark(project.state, SESSION) is not None
