"""Operations that only their source settles, with real hook processes and a real service on the loopback: one that can do
the work and lose the answer, lie, answer with somebody else's receipt, out of order, late, or not at all."""

from __future__ import annotations

import json
import threading

import pytest
from support.payments import (
    CONTRACT,
    reconcile,
    refusal,
    silent,
    state,
)
from support.project import SESSION

from truecall_py.ledger.store import JUDGED, SETTLED, Ledger


def test_a_receipt_confirms_in_silence(project, bank, agent):
    """Asked for, done, and the source says so: no word, and the operation is verified."""
    assert silent(agent.asks())
    bank.does()
    assert silent(agent.ends())
    assert state(project) == "verified"
    assert silent(agent.stop())


def test_a_lost_answer_is_unknown_until_it_is_reconciled(project, bank, claude):
    """The bank did the work, but neither the tool nor, at first, the source says it: unknown; the order is to look it up;
    a look from outside settles it, and only once."""
    assert silent(claude.asks())
    bank.does()
    bank.answers["o1"] = 503
    told = claude.times_out()
    assert told.form == "append" and told.text.startswith("NOT CONFIRMED")
    assert "find out what happened to" in told.text and "Do not make it again" in told.text and "billing" in told.text
    assert "same call again" not in told.text
    assert state(project) == "unknown"
    assert reconcile(project).returncode == 3
    del bank.answers["o1"]
    done = reconcile(project)
    assert done.returncode == 0 and "verified" in done.stdout and "1 done" in done.stdout
    assert state(project) == "verified"
    asked = len(bank.asked)
    assert "nothing is unresolved" in reconcile(project).stdout and len(bank.asked) == asked
    assert silent(claude.stop())


def test_a_timeout_is_looked_up_at_once(project, bank, claude):
    """Where the source knows by then that it is done, the agent is told so, and not to repeat it."""
    claude.asks()
    bank.does()
    told = claude.times_out()
    assert told.text.startswith("ALREADY DONE") and "do not make" in told.text
    assert silent(claude.stop())


def test_a_timeout_is_looked_at_with_patience(project, bank, claude):
    """`within` holds after a failure, too: the receipt may come late."""
    project.trust(CONTRACT.replace("PORT", str(bank.port)) + "    within: 10s\n    every: 50ms\n")
    claude.asks()
    threading.Timer(0.5, bank.does).start()
    assert claude.times_out().text.startswith("ALREADY DONE")


def test_what_the_tool_says_settles_nothing(project, bank, agent):
    """A payload that looks like a receipt of success stays unknown as long as the source has none."""
    agent.asks()
    spoof = {"status": "completed", "tenant": "acme", "op": "charge", "resource": "o1", "effect": "debit"}
    blocks = [{"type": "text", "text": json.dumps({"success": True, "operations": [spoof], **spoof})}]
    told = agent.ends(tool_response=blocks if agent.harness != "codex" else {"content": blocks})
    assert told.text.startswith("NOT CONFIRMED") and "the source has no receipt of it" in told.text
    assert told.form == "replace" and "Do not make it again" in told.text and state(project) == "unknown"
    held = agent.stop()
    assert held.json["decision"] == "block" and "do not make it again" in held.json["reason"]


@pytest.mark.parametrize("wrong", [
    {"tenant": "other"}, {"op": "refund"}, {"resource": "o2"}, {"effect": "credit"}, {"tenant": None}, {"effect": True},
    {"resource": ["o1"]},
])  # fmt: skip
def test_somebody_elses_receipt_settles_nothing(project, bank, claude, wrong):
    """One field that is another, null, or of another type is enough."""
    claude.asks()
    bank.does(**wrong)
    told = claude.ends()
    assert told.text.startswith("NOT CONFIRMED") and next(iter(wrong)) in told.text
    assert state(project) == "unknown"


def test_a_receipt_without_a_field_settles_nothing(project, bank, claude):
    """What is not there is not equal."""
    claude.asks()
    del bank.does()["effect"]
    assert claude.ends().text.startswith("NOT CONFIRMED")


def test_a_number_is_not_its_text(project, bank, claude):
    """Types count, as everywhere."""
    claude.asks(order="7", args={"order": 7})
    bank.does("7")
    assert "resource is" in claude.ends(order="7", args={"order": 7}).text
    bank.done["7"][0]["resource"] = 7
    assert reconcile(project).returncode == 0


@pytest.mark.parametrize(("given", "word"), [
    ({"status": "settled"}, "settled"), ({"status": None}, "null"), ({"updated_at": "yesterday"}, "yesterday"),
    ({"updated_at": "2026-11-30T10:00:00"}, "zone"), ({"updated_at": True}, "neither"), ({"charge": ""}, "charge"),
])  # fmt: skip
def test_what_cannot_be_read_is_unknown(project, bank, claude, given, word):
    """An unknown state, a time without zone, an effect without a name: never done, never failed."""
    claude.asks()
    bank.does(**given)
    told = claude.ends()
    assert told.text.startswith("NOT CONFIRMED") and word in told.text


@pytest.mark.parametrize("answer", [500, 202, {"operations": "none"}, {"other": []}])
def test_a_source_that_does_not_answer_leaves_it_unknown(project, bank, claude, answer):
    """Trouble of the source is no failure of the operation, and no order to repeat it."""
    claude.asks()
    bank.does()
    bank.answers["o1"] = answer
    told = claude.ends()
    assert told.form == "replace" and "Do not make it again" in told.text


def test_a_rejected_operation_is_a_lie_where_success_was_claimed(project, bank, agent):
    """Refuted by the source; and it may be made again, with whatever key."""
    agent.asks()
    bank.does(status="rejected")
    told = agent.ends()
    assert told.text.startswith("NOT DONE") and "rejected" in told.text
    assert silent(agent.asks("c2"))
    bank.does(at=2, charge="ch_2")
    assert silent(agent.ends("c2"))
    assert state(project) == "verified"


def test_an_old_rejection_says_nothing_of_the_next_attempt(project, bank, claude):
    """The source still shows the rejected attempt when the next one was made: unknown, and not free again."""
    claude.asks()
    bank.does(status="rejected")
    claude.ends()
    claude.asks("c2")
    assert claude.ends("c2").text.startswith("NOT CONFIRMED")
    assert "NOT RUN" in refusal(claude.asks("c3"))


def test_pending_is_not_done(project, bank, agent):
    """Accepted and not finished: the answer stays, the agent is told not to start it again, and the stop settles it."""
    agent.asks()
    bank.does(status="pending")
    told = agent.ends()
    assert told.form == "append" and told.text.startswith("NOT FINISHED") and "a second time" in told.text
    assert state(project) == "pending"
    held = agent.stop()
    assert held.json["decision"] == "block" and "not finished" in held.json["reason"]
    bank.does(at=2)
    assert silent(agent.stop())
    assert state(project) == "verified"


def test_the_stop_settles_again_and_again(project, bank, agent):
    """A look at the stop that finds it still pending does not keep a later one from settling it."""
    agent.asks()
    bank.does(status="pending")
    agent.ends()
    for _ in range(3):
        agent.stop()
    bank.does(at=9)
    assert silent(agent.stop())
    bank.does("o2", status="pending")
    agent.asks("c2", order="o2")
    agent.ends("c2", order="o2")
    agent.stop()
    bank.does("o2", status="rejected", at=9)
    assert "rejected" in agent.stop().json["reason"]
    told = [(each.call, each.event, each.state) for each in Ledger(project.state).session(SESSION)
            if each.event in (SETTLED, JUDGED)]  # fmt: skip
    assert told == [("c1", SETTLED, "verified"), ("c2", JUDGED, "refuted")]
