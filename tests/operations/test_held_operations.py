"""What must not free an operation, and what must not be silent."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

import pytest
from support.payments import (
    CONTRACT,
    LOCAL,
    SOURCES,
    Agent,
    every,
    reconcile,
    refusal,
    silent,
    state,
)
from support.project import ROOT, SESSION, interruptible

from truecall_py.ledger.store import JUDGED, Ledger


def test_numbers_that_are_alike_are_one_operation(project, bank):
    """5 and 5.0 are the same to a receipt, and so to the operation."""
    text = CONTRACT.replace("effect: debit}", 'effect: debit, amount: "{{args.amount}}"}')
    project.trust(text.replace("PORT", str(bank.port)))
    agent = Agent(project)
    agent.asks()
    bank.does(amount=5)
    assert silent(agent.ends())
    assert "is done already" in refusal(agent.asks("c2", args={"amount": 5.0}))
    assert silent(agent.asks("c3", args={"amount": 5.5}))


@pytest.mark.parametrize("by", ["the same call", "the call before it"])
def test_a_rejection_that_was_touched_is_still_the_old_one(project, bank, claude, by):
    """The source's record of a rejected attempt changes in a field that says nothing: the next attempt stays unknown,
    whoever asks."""
    claude.asks()
    bank.does(status="rejected", seen=1)
    claude.ends()
    assert silent(claude.asks("c2"))
    bank.done["o1"][0]["seen"] = 2
    if by == "the call before it":
        bank.answers["o1"] = 503
        claude.times_out("c2")
        del bank.answers["o1"]
        claude.stop()
    else:
        claude.times_out("c2")
    assert state(project) == "unknown"
    assert "is not known" in refusal(claude.asks("c3"))


def test_no_rejection_before_frees_the_next_attempt(project, bank, claude):
    """Not the last one alone: where nothing says a time, the source shows the first of two at the end of its list."""
    text = CONTRACT.replace("PORT", str(bank.port)).replace("      as_of: updated_at\n", "")
    project.trust(text)
    for number in (1, 2):
        agent = Agent(project, session=f"s{number}")
        assert silent(agent.asks(f"c{number}"))
        bank.does(status="rejected", charge=f"ch_{number}")
        assert agent.ends(f"c{number}").text.startswith("NOT DONE")
    bank.done["o1"].reverse()
    agent = Agent(project, session="s3")
    assert silent(agent.asks("c3"))
    assert agent.times_out("c3").text.startswith("NOT CONFIRMED")
    assert "is not known" in refusal(agent.asks("c4"))


def test_a_second_rejection_is_one(project, bank, claude):
    """A later time or another effect is the next attempt's own."""
    claude.asks()
    bank.does(status="rejected")
    claude.ends()
    claude.asks("c2")
    bank.does(status="rejected", charge="ch_2")
    bank.done["o1"].pop(0)
    assert claude.ends("c2").text.startswith("NOT DONE")


@pytest.mark.parametrize("kept", ["store: none", "too large"])
def test_what_cannot_be_looked_up_holds_the_stop(project, bank, kept):
    """The call was announced, its end was told to nobody, and it is not kept: the agent is held, and told not to repeat
    it."""
    private = kept == "store: none"
    project.trust(CONTRACT.replace("PORT", str(bank.port)) + ("    store: none\n" if private else ""))
    agent = Agent(project)
    agent.asks(args={} if private else {"blob": "x" * (1 << 20)})
    held = agent.stop()
    assert held.json["decision"] == "block" and "do not make it again" in held.json["reason"]
    assert "billing" in held.json["reason"]
    assert agent.stop(active=True).form == "notice"


def test_a_source_that_breaks_holds_the_stop(project):
    """The contract's own code raises: the operation is as unknown as ever, and the turn does not end in silence."""
    project.write("look.py", "def receipt(call):\n    raise ValueError('no')\n")
    project.trust(LOCAL % SOURCES["custom python"])
    agent = Agent(project)
    agent.asks(tool="mcp__shop__ship")
    assert "NOT CONFIRMED" in agent.ends(tool="mcp__shop__ship").text
    assert agent.stop().json["decision"] == "block"


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize(("says", "words"), [
    ("completed", "do not repeat"), ("pending", "a second time"), ("", "Do not make it again"),
])  # fmt: skip
def test_another_check_is_no_order_to_do_it_again(project, bank, says, words, lost):
    """The contract asks for a file as well, which is not there: whatever that means, an operation that is done, or may
    be, is not made again."""
    file = '    post: {file_exists: {path: "{{project}}/{{args.order}}.txt"}}\n'
    project.trust(CONTRACT.replace("PORT", str(bank.port)) + file)
    agent = Agent(project)
    agent.asks()
    if says:
        bank.does(status=says)
    told = (agent.times_out() if lost else agent.ends()).text
    assert words in told and "once more" not in told and "make the call" not in told
    held = agent.stop()
    assert "bring it about" not in str(held)
    if not (lost and says == "completed"):  # there the tool said itself that it failed, and the operation is done
        assert held.json["decision"] == "block"


SHELL = """\
version: 1
contracts:
  - id: paid
    kind: shell
    when: {args.command: {runs: "pay {order}"}}
    receipt:
      from: {http_status: {url: "http://127.0.0.1:PORT/operations/{{match.order}}"}}
      items: operations
      match: {resource: "{{match.order}}"}
      state: status
      states: {completed: verified, rejected: refuted}
"""


def test_a_command_that_may_have_run_is_an_operation(project, bank):
    """`cd x && pay o1` failed, and nobody can say at which end: the operation is unknown, and that is told."""
    project.trust(SHELL.replace("PORT", str(bank.port)))
    call = {"session_id": SESSION, "prompt_id": "turn-1", "cwd": project.root, "permission_mode": "default",
            "tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "cd x && pay o1"}}  # fmt: skip
    assert silent(project.hook({**call, "hook_event_name": "PreToolUse"}, event="PreToolUse"))
    after = {**call, "hook_event_name": "PostToolUseFailure", "error": "Exit code 1", "is_interrupt": False}
    told = project.hook(after, event="PostToolUseFailure")
    assert told.text.startswith("NOT CONFIRMED") and "Do not make it again" in told.text


@pytest.mark.parametrize("line", ["when: {reported: success}", "when: {exit_code: 0}", "doubts: silent"])
def test_nothing_lets_an_operation_pass_in_silence(project, line):
    """What only an answer tells cannot say whether an operation was begun, and a doubt about one is always told."""
    project.write("truecall.yaml", f"{CONTRACT.replace('PORT', '1')}    {line}\n")
    done = project.command("lint")
    assert done.returncode == 1 and "TC220" in done.stdout


def test_a_key_of_another_operation_is_told(project, bank, claude):
    """The service answers with what it did for the first one: not confirmed, and why."""
    claude.asks(key="k")
    bank.does()
    claude.ends(key="k")
    claude.asks("c2", order="o2", key="k")
    assert "its idempotency key is that of another operation, of call c1" in claude.ends("c2", order="o2", key="k").text
    claude.asks("c3", order="o3", key="other")
    assert "another operation, of" not in claude.ends("c3", order="o3", key="other").text


def test_two_receipts_that_are_alike_are_two(project):
    """Without an `id` every completed entry is one of its own, also where nothing tells it from another."""
    project.write("look.py", "def receipt(call):\n    return {'receipts': [{'order': 'o1', 'state': 'sent'}] * 2}\n")
    project.trust(LOCAL % SOURCES["custom python"])
    agent = Agent(project)
    agent.asks(tool="mcp__shop__ship")
    assert agent.ends(tool="mcp__shop__ship").text.startswith("DUPLICATE")


def test_a_source_that_is_silent_for_a_while_ends_nothing(project, bank, claude):
    """Pending, then no answer, then rejected: the last is what the record says, and it is a lie."""
    claude.asks()
    bank.does(status="pending")
    claude.ends()
    bank.answers["o1"] = 503
    claude.stop()
    del bank.answers["o1"]
    bank.does(status="rejected", at=7)
    assert "rejected" in claude.stop().json["reason"]
    told = [(each.event, each.state) for each in Ledger(project.state).session(SESSION) if each.event == JUDGED]
    assert told == [(JUDGED, "refuted")]
    assert "1 false" in project.command("stats").stdout


def test_what_is_found_to_be_rejected_later_is_a_lie(project, bank, claude):
    """The tool said success, nobody knew, and a look from outside found the rejection."""
    claude.asks()
    claude.ends()
    bank.does(status="rejected")
    assert reconcile(project).returncode == 1
    assert "1 false" in project.command("stats").stdout


def test_one_call_is_given_up_and_not_its_likes(project, bank, claude):
    """The beginning of an id that several calls have gives nothing up; the whole id of one does, though others begin so."""
    for name, order in (("c1", "o1"), ("c10", "o2"), ("c11", "o3")):
        claude.asks(name, order=order)
    done = reconcile(project, "--give-up", "c")
    assert done.returncode == 2 and "3 calls" in done.stderr
    assert len(every(project)) == 3
    assert reconcile(project, "--give-up", "c1").returncode == 0
    assert [each.last.call for each in every(project)] == ["c10", "c11"]
    Agent(project, session="s2").asks("c10", order="o9")
    assert reconcile(project, "--give-up", "c10").returncode == 2
    assert reconcile(project, "--give-up", "s2/c10").returncode == 0
    assert [each.last.session for each in every(project)] == [SESSION, SESSION]


def test_forgetting_keeps_what_is_not_settled(project, bank, claude):
    """`log --prune` takes no intent from which a second call is known: it goes once it is settled."""
    claude.asks()
    claude.ends()
    base = sqlite3.connect(os.path.join(project.state, "ledger.db"))
    base.execute("UPDATE events SET at = at - 90 * 86400")
    base.commit()
    base.close()
    folder = os.path.join(project.state, "operations", SESSION)
    for name in os.listdir(folder):
        os.utime(os.path.join(folder, name), (1e9, 1e9))
    told = project.command("log", "--prune", "30d", "--yes").stdout
    assert "deleted: 0 sessions" in told and "kept: 1 session" in told
    assert "NOT RUN" in refusal(Agent(project, session="s2").asks("d1"))
    bank.does()
    assert reconcile(project).returncode == 0
    assert "kept" not in project.command("log", "--prune", "1s", "--yes").stdout


def test_a_call_of_two_operations_is_kept_for_the_second(project, bank):
    """One is settled, the other is not: it can still be looked up, and what is said of it is about it."""
    entry = CONTRACT.partition("contracts:\n")[2]
    other = entry.replace("id: charged", "id: booked").replace("op: charge", "op: book")
    project.trust((CONTRACT + other).replace("PORT", str(bank.port)))
    agent = Agent(project)
    agent.asks()
    bank.does()
    agent.ends()
    assert "is that of another operation: op is" in " ".join(reconcile(project).stdout.split())
    bank.does(op="book", charge="b_1")
    assert reconcile(project).returncode == 0
    assert [each.state for each in every(project)] == ["verified", "verified"]


def test_a_database_with_a_fixed_place_is_one_in_every_project(project, tmp_path):
    """Another checkout of the same project asks the same database: it is the same operation."""
    where = str(tmp_path / "shop.db")
    text = LOCAL % SOURCES["sqlite"].replace("{{project}}/shop.db", where)
    base = sqlite3.connect(where)
    base.execute('CREATE TABLE parcels ("order" TEXT PRIMARY KEY, state TEXT)')
    base.execute("INSERT INTO parcels VALUES ('o1', 'sent')")
    base.commit()
    base.close()
    project.trust(text)
    agent = Agent(project)
    agent.asks(tool="mcp__shop__ship")
    assert silent(agent.ends(tool="mcp__shop__ship"))
    other = tmp_path / "other"
    other.mkdir()
    project.root = str(other)
    project.trust(text, str(other / "truecall.yaml"))
    later = Agent(project, session="s2")
    assert "is done already" in refusal(later.asks("d1", tool="mcp__shop__ship"))


def test_watching_ends_when_a_person_gives_up(project, bank, claude):
    """What another process took from the list is not waited for."""
    claude.asks()
    process = subprocess.Popen([sys.executable, "-m", "truecall_py", "reconcile", "--watch", "--every", "1s"],
                               env={**project.env, "PYTHONPATH": ROOT, "PYTHONUNBUFFERED": "1"}, cwd=project.root,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=interruptible)  # fmt: skip
    assert "unknown" in process.stdout.readline()
    assert reconcile(project, "--give-up", "c1").returncode == 0
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "Traceback" not in err
