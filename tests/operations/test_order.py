"""The order of events: which of two answers of a source is the newer one, and what neither decides."""

from __future__ import annotations

import time

import pytest
from support.payments import (
    CONTRACT,
    reconcile,
    refusal,
    silent,
    state,
)


def test_an_older_event_never_replaces_a_newer_one(project, bank, claude):
    """Completed as of 5 is known; a source that then says pending as of 3 changes nothing."""
    claude.asks(key="k")
    bank.does(at=5)
    assert silent(claude.ends(key="k"))
    bank.done["o1"] = []
    bank.does(status="pending", at=3)
    claude.asks("c2", key="k")
    assert silent(claude.ends("c2", key="k"))
    assert state(project) == "verified"


def test_events_out_of_order_in_one_answer(project, bank, claude):
    """Of several receipts the newest by as_of counts, wherever it stands."""
    claude.asks()
    bank.does(at="2026-11-30T10:00:01Z")
    bank.does(status="pending", at="2026-11-30T10:00:00.500+00:00")
    assert silent(claude.ends())


def test_an_older_success_is_no_success(project, bank, claude):
    """Rejected as of 5 outweighs completed as of 3."""
    claude.asks()
    bank.does(status="rejected", at=5)
    bank.does(at=3)
    assert claude.ends().text.startswith("NOT DONE")


@pytest.mark.parametrize("looks", [1, 2])
def test_a_rejected_second_effect_does_not_undo_the_first(project, bank, claude, looks):
    """The source did it once, and rejected a second try under an id of its own: that frees nothing, in one answer or in
    two."""
    claude.asks(key="k")
    bank.does(at=3)
    if looks == 2:
        assert silent(claude.ends(key="k"))
        bank.done["o1"] = []
        claude.asks("c2", key="k")
    bank.does(status="rejected", at=5, charge="ch_2")
    told = claude.ends("c2" if looks == 2 else "c1", key="k").text
    assert told.startswith("NOT CONFIRMED") and "was rejected after it" in told
    assert "NOT RUN" in refusal(claude.asks("c3"))


def test_times_that_cannot_be_compared_decide_nothing(project, bank, claude):
    """A number beside a time: nobody can say which is newer."""
    claude.asks()
    bank.does(status="pending", at=5)
    bank.does(at="2026-11-30T10:00:00Z")
    told = claude.ends()
    assert told.text.startswith("NOT CONFIRMED") and "cannot be compared" in told.text


def test_without_a_time_what_is_final_stays(project, bank, claude):
    """No as_of in the contract: pending never replaces completed, and two final states are a contradiction."""
    text = CONTRACT.replace("PORT", str(bank.port)).replace("      as_of: updated_at\n", "")
    project.trust(text)
    claude.asks(key="k")
    bank.does()
    claude.ends(key="k")
    bank.done["o1"] = []
    bank.does(status="pending")
    claude.asks("c2", key="k")
    assert silent(claude.ends("c2", key="k"))
    bank.done["o1"] = []
    bank.does(status="rejected")
    claude.asks("c3", key="k")
    assert "contradict" in claude.ends("c3", key="k").text


def test_a_time_that_is_still_to_come_orders_nothing(project, bank, claude):
    """A receipt as of a day that has not come is not believed, or nothing true could ever be newer; a clock that is some
    hours ahead is no lie, and what the source says later counts again."""
    claude.asks(key="k")
    bank.does(status="rejected", at="9999-12-31T23:59:59-12:00")
    told = claude.ends(key="k")
    assert told.text.startswith("NOT CONFIRMED") and "ahead of this machine's clock" in told.text
    assert state(project) == "unknown" and "NOT RUN" in refusal(claude.asks("c2"))
    bank.done["o1"] = []
    bank.does(at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 6 * 3600)))
    assert reconcile(project).returncode == 0 and state(project) == "verified"
