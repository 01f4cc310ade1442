"""What cannot be known at the stop: a damaged ledger, a payload that cannot be read, a bug."""

from __future__ import annotations

import os

import pytest
from support.turns import (
    AT_STOP,
    SESSION,
    TWO,
    events,
    reason,
    silent,
)

from truecall_py.ledger.store import STOP, Ledger


def test_a_ledger_that_is_damaged(project, turn):
    """The agent is held once, to tell the user; never twice."""
    project.trust(TWO)
    turn.save()
    for name in os.listdir(project.state):
        if name.startswith("ledger.db"):
            project.write(os.path.join(project.state, name), "no database " * 500)
    text = reason(turn.stop())
    assert text.startswith("NOT CONFIRMED") and "tell the user" in text
    assert turn.stop().form == "notice"
    assert turn.stop(active=True).form == "notice"


def test_a_stop_that_cannot_be_written_down_holds_once(project, turn):
    """Another process keeps the ledger locked: then a mark beside it remembers that the agent was held."""
    project.trust(TWO)
    turn.save()
    ledger = Ledger(project.state)
    ledger.db.execute("BEGIN IMMEDIATE")
    try:
        assert "notes/a.md" in reason(turn.stop())
    finally:
        ledger.db.execute("ROLLBACK")
        ledger.close()
    assert not events(project, STOP)
    assert turn.stop().form == "notice"
    turn.save("b")
    assert "notes/b.md" in reason(turn.stop())


def test_a_stop_without_a_session(project, turn):
    """Nobody can be held only once then: the person reads what is not so, and that nothing else was judged."""
    project.trust(AT_STOP)
    answer = turn.stop(session_id="")
    assert answer.form == "notice"
    assert "built is refuted at the stop" in answer.notice and "names no session" in answer.notice


@pytest.mark.parametrize("told, held", [(False, True), (True, False), (None, False)])
def test_a_stop_that_cannot_be_read(project, turn, told, held):
    """The agent is held once: not where the bytes say that it was held before, or do not say it."""
    project.trust(TWO)
    said = b"" if told is None else b'"stop_hook_active": %s, ' % (b"true" if told else b"false")
    data = b'{"hook_event_name": "Stop", ' + said + b'"last_assistant_message": "\\"stop_hook_active\\":false'
    answer = project.hook(data, turn.harness, "Stop")
    assert ("decision" in answer.json) == held
    assert "not one JSON object" in str(answer.json)


def test_contracts_that_nobody_trusted_are_named_at_the_stop(project, turn):
    """Once a session, to the person: nothing was judged by them."""
    project.write(project.contract, AT_STOP)
    answer = turn.stop()
    assert answer.form == "notice" and "truecall trust" in answer.notice and project.contract in answer.notice
    assert silent(turn.stop())


def test_a_damaged_pin(project, turn):
    """The person is told, and nobody is held for ever."""
    pin = project.trust(AT_STOP)
    with open(pin, "r+b") as file:
        data = file.read().replace(b'"id":"built"', b'"id":"bui!!!')
        file.seek(0)
        file.write(data)
    assert turn.stop().form == "notice"


@pytest.mark.parametrize("active", [False, True])
def test_a_bug_of_our_own(project, turn, active, tmp_path):
    """An exception at the stop holds the agent once."""
    import shutil

    from support.project import ROOT

    copy = str(tmp_path / "copy")
    shutil.copytree(os.path.join(ROOT, "truecall_py"), os.path.join(copy, "truecall_py"))
    shutil.copytree(os.path.join(ROOT, "hooks"), os.path.join(copy, "hooks"))
    with open(os.path.join(copy, "truecall_py", "stop", "reply.py"), "a") as file:
        file.write("\ndef answer_stop(*_):\n    raise RuntimeError('x')\n")
    project.trust(TWO)
    payload = {"session_id": SESSION, "hook_event_name": "Stop", "stop_hook_active": active, "cwd": project.root,
               "transcript_path": None, **turn.marks}  # fmt: skip
    answer = project.hook(payload, turn.harness, "Stop", run=os.path.join(copy, "hooks", "run.sh"))
    assert ("decision" in answer.json) == (not active)
    assert "a bug of its own" in str(answer.json)
