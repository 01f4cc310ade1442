"""`truecall reconcile`: operations are looked up after the turn, and a person may give one up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from support.payments import (
    CONTRACT,
    every,
    reconcile,
    refusal,
    silent,
    state,
)
from support.project import ROOT, SESSION, interruptible

from truecall_py.ledger.store import Ledger


def test_past_its_review_it_is_overdue_and_not_settled(project, bank, claude):
    """Time settles nothing: overdue is told with the owner, and has an exit code of its own."""
    project.trust(CONTRACT.replace("PORT", str(bank.port)).replace("review: 2h", "review: 1s"))
    claude.asks()
    claude.ends()
    ends = time.monotonic() + 20
    while (done := reconcile(project)).returncode == 3 and time.monotonic() < ends:
        time.sleep(0.1)
    assert done.returncode == 4 and "overdue" in done.stdout and "billing" in done.stdout
    assert state(project) == "unknown" and every(project)[0].overdue(time.time())
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "unresolved item: 1 overdue" in done.stdout  # and not counted as unknown beside it
    assert "1 operation: 1 unknown; 1 of these overdue" in project.command("stats").stdout
    plain = json.loads(reconcile(project, "--json").stdout)
    assert (plain["open"], plain["overdue"], plain["items"][0]["owner"]) == (1, 1, "billing")


def test_it_can_be_looked_up_after_the_turn(project, bank, claude):
    """The agent was held, stopped, and its session is over: the call is kept until its source settles it, and no
    longer."""
    claude.asks()
    claude.ends()
    claude.stop()
    assert claude.stop(active=True).form == "notice"
    bank.does()
    assert reconcile(project).returncode == 0 and state(project) == "verified"
    folder = os.path.join(project.state, "operations", SESSION)
    assert os.listdir(folder) == []


def test_what_was_refuted_ends_with_one(project, bank, claude):
    """A rejection that a look from outside finds."""
    claude.asks()
    claude.ends()
    bank.does(status="rejected")
    done = reconcile(project)
    assert done.returncode == 1 and "refuted" in done.stdout
    assert reconcile(project).returncode == 0


def test_two_at_once_do_no_harm(project, bank, claude):
    """Both look; what is learnt is written once."""
    for number in range(4):
        claude.asks(f"c{number}", order=f"o{number}")
        claude.ends(f"c{number}", order=f"o{number}")
        bank.does(f"o{number}")
    env = {**project.env, "PYTHONPATH": ROOT}
    argv = [sys.executable, "-m", "truecall_py", "reconcile"]
    both = [subprocess.Popen(argv, env=env, cwd=project.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(2)]  # fmt: skip
    ends = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], ends
    told = [each for each in Ledger(project.state).session(SESSION) if each.event.startswith("receipt")]
    assert len(told) == 4 and {each.state for each in every(project)} == {"verified"}


def test_watching_goes_on_until_all_is_settled(project, bank, claude):
    """It ends by itself with what it found."""
    claude.asks()
    claude.ends()
    process = subprocess.Popen([sys.executable, "-m", "truecall_py", "reconcile", "--watch", "--every", "1s"],
                               env={**project.env, "PYTHONPATH": ROOT, "PYTHONUNBUFFERED": "1"}, cwd=project.root,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=interruptible)  # fmt: skip
    assert "unknown" in process.stdout.readline()
    bank.answers["o1"] = {"operations": [bank.does()]}
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "the results so far are kept" in err and "Traceback" not in err
    done = reconcile(project, "--watch", "--every", "1s")
    assert done.returncode == 0 and "1 done" in done.stdout


def test_a_person_can_give_an_operation_up(project, bank, claude):
    """What was never made can be started again, once a person says so."""
    claude.asks()
    assert "NOT RUN" in refusal(claude.asks("c2"))
    assert reconcile(project, "--give-up", "nothing-like-it").returncode == 2
    assert "can be started again" in reconcile(project, "--give-up", "c1").stdout
    assert silent(claude.asks("c3"))


@pytest.mark.parametrize(("says", "words"), [
    ("pending", "or cancel it at its source"), ("completed", "nothing; if it should not"),
])  # fmt: skip
def test_what_its_source_says_is_begun_is_not_given_up(project, bank, claude, says, words):
    """The source is asked first: what it says is accepted or done stays, with what to do, and the call is not let
    through a second time."""
    claude.asks()
    bank.does(status=says)
    done = reconcile(project, "--give-up", "c1")
    assert done.returncode == 3 and "not given up" in done.stdout and says in done.stdout
    assert words in " ".join(done.stdout.split())
    assert "NOT RUN" in refusal(claude.asks("c2"))
    assert state(project) == {"completed": "verified"}.get(says, says)


@pytest.mark.parametrize("broken", ["no answer", "no contract"])
def test_a_source_that_cannot_be_asked_keeps_nothing(project, bank, claude, broken):
    """Then a person's word counts, and why the source said nothing is told."""
    claude.asks()
    bank.does(status="pending")
    claude.ends()
    if broken == "no answer":
        bank.answers["o1"] = 503
    else:
        project.trust(CONTRACT.replace("PORT", str(bank.port)).replace("id: charged", "id: another"))
    done = reconcile(project, "--give-up", "c1")
    assert done.returncode == 0 and "can be started again" in done.stdout and every(project) == []
    assert ("503" if broken == "no answer" else "no trusted contract") in done.stdout
    assert os.listdir(os.path.join(project.state, "operations", SESSION)) == []


def test_what_is_given_up_after_its_rejection_is_not_settled_by_it(project, bank, claude):
    """The source says while it is asked that the attempt was rejected: it is free, and that old rejection says nothing of
    the next attempt."""
    claude.asks()
    bank.does(status="rejected")
    assert reconcile(project, "--give-up", "c1").returncode == 0
    assert silent(claude.asks("c2"))
    assert claude.ends("c2").text.startswith("NOT CONFIRMED")


def test_an_agent_cannot_give_one_up(project, bank, claude):
    """Not without saying that a person is there."""
    claude.asks()
    done = project.command("reconcile", "--give-up", "c1", env={"CLAUDECODE": "1"})
    assert done.returncode == 2 and state(project) == "unknown"


def test_calls_without_a_receipt_are_settled_too(project):
    """What stands open as not confirmed is judged again by the gate's own code."""
    project.write("probe.sh", "#!/bin/sh\n[ -e up ] || exit 9\n[ -e note ]\n", 0o755)
    project.trust("version: 1\ncontracts:\n  - id: saved\n    tool: mcp__shop__ship\n"
                  "    post: {result: {path: x, equals: 1}}\n  - id: probed\n    tool: mcp__shop__look\n"
                  "    post: {http_status: {url: 'http://127.0.0.1:9/'}}\n")  # fmt: skip
    assert reconcile(project).returncode == 0


EXAMPLES = """\
version: 1
contracts:
  - id: charged
    tool: mcp__pay__charge
    receipt:
      from: {http_status: {url: "https://pay.example/operations/{{args.order}}"}}
      match: {resource: "{{args.order}}"}
      state: status
      states: {completed: verified, rejected: refuted, open: pending}
    examples:
      - title: completed
        payload: {tool_name: mcp__pay__charge, tool_input: {order: o1}}
        world: {serve: {/operations/o1: [200, {}, '{"resource": "o1", "status": "completed"}']}}
        verdict: verified
      - title: rejected
        payload: {tool_name: mcp__pay__charge, tool_input: {order: o1}}
        world: {serve: {/operations/o1: [200, {}, '{"resource": "o1", "status": "rejected"}']}}
        verdict: refuted
      - title: pending is not done
        payload: {tool_name: mcp__pay__charge, tool_input: {order: o1}}
        world: {serve: {/operations/o1: [200, {}, '{"resource": "o1", "status": "open"}']}}
        verdict: unverified
      - title: nothing there
        payload: {tool_name: mcp__pay__charge, tool_input: {order: o1}}
        world: {serve: {/other: [200, {}, '{}']}}
        verdict: unverified
"""


def test_examples_of_a_receipt_are_run(project):
    """`truecall test` asks the example's own pages, wherever the source is."""
    project.write("truecall.yaml", EXAMPLES)
    done = project.command("test")
    assert done.returncode == 0 and "4" in done.stdout, done


def test_what_was_learnt_is_told_in_the_log(project, bank, claude):
    """The intent, and what the source said, stand with the call."""
    claude.asks()
    bank.does()
    claude.ends()
    shown = project.command("log", "c1").stdout
    assert "meant as charged" in shown and "its source told" in shown and "verified" in shown
