"""What is still known of operations when the ledger was deleted."""

from __future__ import annotations

import os

import pytest
from support.payments import (
    CONTRACT,
    Agent,
    every,
    reconcile,
    refusal,
    silent,
    state,
)


def forgotten(project):
    """Deletes the ledger, and nothing beside it."""
    for name in os.listdir(project.state):
        if name.startswith("ledger.db"):
            os.unlink(os.path.join(project.state, name))


@pytest.mark.parametrize("says", ["", "completed", "rejected"])
def test_a_ledger_that_was_deleted_takes_no_intent_with_it(project, bank, agent, says):
    """A new session after it: what is kept of a call whose end is not known is enough to know its operation. Its source is
    asked before another call of it is made; the same key is a retry, and another operation is free."""
    agent.asks(key="k-1")
    forgotten(project)
    later = Agent(project, agent.harness, "00000000-0000-4000-8000-000000000002", "turn-9")
    assert silent(later.asks("d0", order="o2"))
    if says:
        bank.does(status=says)
    if says == "rejected":
        assert silent(later.asks("d1"))
        return
    told = refusal(later.asks("d1", key="k-2"))
    assert "call c1" in told and ("is done already" if says else "is not known") in told
    assert silent(later.asks("d2", key="k-1"))
    assert [each.call for each in every(project)[0].attempts] == ["c1", "d2"]


def test_a_ledger_that_was_deleted_hides_nothing_from_reconcile(project, bank, claude):
    """Nothing was asked of a hook since: what is kept is looked up, under its owner and its old deadline."""
    claude.asks()
    before = every(project)[0].deadline
    forgotten(project)
    done = reconcile(project)
    assert done.returncode == 3 and "billing" in done.stdout
    assert every(project)[0].deadline == pytest.approx(before, abs=1)
    bank.does()
    assert reconcile(project).returncode == 0 and state(project) == "verified"


def test_what_was_given_up_stays_so_without_its_ledger(project, bank, claude):
    """Nothing is kept for it any more."""
    claude.asks()
    assert reconcile(project, "--give-up", "c1").returncode == 0
    forgotten(project)
    assert silent(Agent(project, session="s2").asks("d1"))


def test_a_call_of_which_nobody_can_tell_what_it_began_is_in_the_way(project, bank):
    """Its argument was masked when it was kept: any call of that contract may be a second one, until a person says
    otherwise."""
    project.trust(CONTRACT.replace("PORT", str(bank.port)).replace('"{{args.tenant}}"', '"{{args.token}}"'))
    claude = Agent(project)
    claude.asks(args={"token": "ghp_" + "a1B2" * 9})
    forgotten(project)
    later = Agent(project, session="s2")
    for _ in range(2):
        told = refusal(later.asks("d1", args={"token": "t2"}))
        assert "may repeat call c1" in told and "truecall reconcile --give-up c1" in told
    assert reconcile(project, "--give-up", "c1").returncode == 0
    assert silent(later.asks("d2", args={"token": "t2"}))


def test_a_kept_call_that_no_contract_is_about_any_more_is_told(project, bank, claude):
    """Nobody can look it up: it holds up no other operation, and a person hears of it."""
    claude.asks()
    forgotten(project)
    project.trust(CONTRACT.replace("PORT", str(bank.port)).replace("tool: mcp__pay__charge", "tool: mcp__pay__other"))
    assert silent(Agent(project, session="s2").asks("c2", tool="mcp__pay__other"))
    told = reconcile(project)
    assert "1 call outside the ledger may have started an operation, but no trusted contract is about it" in told.stderr
