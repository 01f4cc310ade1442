"""Operations that only their source settles, with real hook processes and a real service on the loopback: one that can do
the work and lose the answer, lie, answer with somebody else's receipt, out of order, late, or not at all."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.project import ROOT, SESSION, interruptible

from truecall_py.ledger.store import ENDED, JUDGED, REFUSED, SETTLED, Event, Ledger
from truecall_py.operations import view

PAY = "mcp__pay__charge"
CONTRACT = """\
version: 1
contracts:
  - id: charged
    tool: mcp__pay__charge
    key: "{{args.idempotency_key}}"
    receipt:
      from: {http_status: {url: "http://127.0.0.1:PORT/operations/{{args.order}}"}}
      items: operations
      match: {tenant: "{{args.tenant}}", op: charge, resource: "{{args.order}}", effect: debit}
      state: status
      states: {completed: verified, pending: pending, rejected: refuted}
      id: charge
      as_of: updated_at
      review: 2h
      owner: billing
"""


class Service:
    """A bank: what it did is in `done`, by order; `answers` is what it says of an order instead (a status or a map)."""

    def __init__(self):
        service = self
        self.done, self.answers, self.asked, self.slow = {}, {}, [], 0.0
        self.gate = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *words):
                pass

            def do_GET(self):
                service.asked.append(self.path)
                if service.slow:
                    service.gate.wait(service.slow)
                status, body = service.answer(self.path.rpartition("/")[2])
                data = json.dumps(body).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass  # whoever asked has gone

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def answer(self, order):
        given = self.answers.get(order)
        if isinstance(given, int):
            return given, {"operations": self.done.get(order, [])}
        if given is not None:
            return 200, given
        return (200, {"operations": self.done[order]}) if order in self.done else (404, {})

    def does(self, order="o1", status="completed", at=1, **more):
        """Does the work, whatever its answer says of it."""
        receipt = {"tenant": "acme", "op": "charge", "resource": order, "effect": "debit", "status": status,
                   "charge": "ch_1", "updated_at": at, **more}  # fmt: skip
        self.done.setdefault(order, []).append(receipt)
        return receipt

    def close(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def bank():
    service = Service()
    yield service
    service.close()


class Agent:
    """One agent that charges: its calls with their hooks, and its stops."""

    transcript = None

    def __init__(self, project, harness="claude-code", session=SESSION, turn="turn-1"):
        self.project, self.harness, self.session, self.turn = project, harness, session, turn

    @property
    def marks(self):
        return {"session_id": self.session, ("turn_id" if self.harness == "codex" else "prompt_id"): self.turn}

    def call(self, name="c1", order="o1", key=None, tool=PAY, **more):
        args = {"tenant": "acme", "order": order, "amount": 5, **({"idempotency_key": key} if key else {})}
        args |= more.pop("args", {})
        return self.project.mcp(self.harness, tool=tool, args=args, tool_use_id=name,
                                transcript_path=self.transcript, **self.marks, **more)  # fmt: skip

    def asks(self, *given, **more):
        """The hook before a call."""
        payload = self.call(*given, **more)
        before = {name: payload[name] for name in payload if name not in ("tool_response", "duration_ms", "error")}
        return self.project.hook({**before, "hook_event_name": "PreToolUse"}, self.harness, "PreToolUse")

    def ends(self, *given, **more):
        """The hook after a call that reported success."""
        return self.project.hook(self.call(*given, **more), self.harness)

    def times_out(self, *given, **more):
        """The hook after a call whose answer was lost (Claude Code)."""
        payload = self.call(*given, hook_event_name="PostToolUseFailure", tool_response=None,
                            error="MCP error -32001: Request timed out", is_interrupt=False, **more)  # fmt: skip
        return self.project.hook(payload, self.harness, "PostToolUseFailure")

    def stop(self, active=False):
        payload = {"transcript_path": self.transcript, "cwd": self.project.root, "hook_event_name": "Stop",
                   "stop_hook_active": active, "last_assistant_message": "Charged.", "permission_mode": "default",
                   **self.marks}  # fmt: skip
        more = {"model": "some-model"} if self.harness == "codex" else {"background_tasks": [], "session_crons": []}
        return self.project.hook({**payload, **more}, self.harness, "Stop")


@pytest.fixture
def agent(project, bank, harness):
    project.trust(CONTRACT.replace("PORT", str(bank.port)))
    return Agent(project, harness)


@pytest.fixture
def claude(project, bank):
    project.trust(CONTRACT.replace("PORT", str(bank.port)))
    return Agent(project)


def silent(answer):
    return (answer.code, answer.out, answer.err) == (0, b"", b"")


def refusal(answer):
    """Why a call was not let through."""
    inside = answer.json["hookSpecificOutput"]
    assert inside["permissionDecision"] == "deny", answer
    return inside["permissionDecisionReason"]


def every(project):
    return view.every(Ledger(project.state))


def state(project):
    """The state of the one operation that there is."""
    (only,) = every(project)
    return only.state


def reconcile(project, *argv):
    done = project.command("reconcile", *argv)
    assert "Traceback" not in done.stderr and "bug" not in done.stderr, done
    return done


# -- what settles an operation -------------------------------------------------------------------------------------


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


# -- the order of events -------------------------------------------------------------------------------------------


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


# -- intents and duplicates ----------------------------------------------------------------------------------------


def test_a_restart_keeps_intent_and_key(project, bank, agent):
    """Killed right after the hook before the call, in a new session: the operation is unknown, the same key is let
    through as the same operation, and no other."""
    assert silent(agent.asks(key="k-1"))
    (only,) = every(project)
    assert (only.state, only.owner, len(only.keys)) == ("unknown", "billing", 1)
    assert "k-1" not in json.dumps([each.data for each in only.attempts])
    later = Agent(project, agent.harness, "00000000-0000-4000-8000-000000000002", "turn-9")
    assert "NOT RUN" in refusal(later.asks("d1", key="k-2"))
    assert "NOT RUN" in refusal(later.asks("d2"))
    assert silent(later.asks("d3", key="k-1"))
    bank.does()
    assert silent(later.ends("d3", key="k-1"))
    (only,) = every(project)
    assert only.state == "verified" and [each.call for each in only.attempts] == ["c1", "d3"]


def test_an_intent_is_never_changed(project, bank, claude):
    """A hook that is registered twice writes one, and what comes later leaves it as it was."""
    for _ in range(3):
        claude.asks(key="k")
    (first,) = every(project)
    bank.does()
    claude.ends(key="k")
    claude.ends(key="k")
    (after,) = every(project)
    assert after.attempts == after.attempts[:1] and after.attempts[0].__dict__ == first.attempts[0].__dict__
    assert [each.event for each in Ledger(project.state).of(SESSION, "c1")].count(ENDED) == 1


def test_what_was_killed_before_its_end_is_reconciled(project, bank, claude):
    """No hook after the call ever came: the kept call is enough for a look from outside, and nothing is written of how
    the call ended."""
    claude.asks()
    bank.does()
    done = reconcile(project)
    assert done.returncode == 0 and state(project) == "verified"
    assert ENDED not in [each.event for each in Ledger(project.state).of(SESSION, "c1")]


def test_what_was_killed_before_its_end_is_settled_at_the_stop(project, bank, agent):
    """At the stop the call is over: it is judged, and what the source does not know holds the agent."""
    agent.asks()
    held = agent.stop()
    assert held.json["decision"] == "block" and "do not make it again" in held.json["reason"]
    bank.does()
    assert silent(agent.stop())


def test_a_second_call_of_a_done_operation_is_refused(project, bank, agent):
    """With no key or another one, in whatever session; it is noted as refused, and the bank was asked nothing."""
    agent.asks(key="k")
    bank.does()
    agent.ends(key="k")
    asked = len(bank.asked)
    words = refusal(agent.asks("c2", key="k-2"))
    assert "is done already" in words and "completed" in words and "continue" in words
    assert "is done already" in refusal(agent.asks("c3"))
    assert len(bank.asked) == asked
    assert [each.call for each in Ledger(project.state).session(SESSION) if each.event == REFUSED] == ["c2", "c3"]
    assert silent(agent.asks("c4", order="o2"))  # another resource is another operation
    assert silent(agent.asks("c5", key="k"))  # the same key is a retry


def test_an_unknown_operation_is_looked_up_before_it_is_refused(project, bank, claude):
    """The second call asks the source what became of the first: done, unknown, or rejected and free."""
    claude.asks(key="k")
    bank.answers["o1"] = 503
    claude.times_out(key="k")
    words = refusal(claude.asks("c2"))
    assert "is not known" in words and "call c1" in words and "billing" in words and "same idempotency key" in words
    del bank.answers["o1"]
    bank.does()
    assert "is done already" in refusal(claude.asks("c3"))
    claude.asks("e1", order="o9")
    bank.does("o9", status="rejected")
    assert silent(claude.asks("e2", order="o9"))


def test_a_look_before_a_call_is_bounded(project, bank, claude):
    """A source that hangs keeps no hook: the call is refused, as what is not known."""
    project.trust(CONTRACT.replace("PORT", str(bank.port)) + "    timeout: 500ms\n")
    claude.asks()
    bank.slow = 60
    assert "is not known" in refusal(claude.asks("c2"))


def test_two_calls_at_once_are_one(project, bank, claude):
    """Two agents that begin the same operation in the same moment: one is let through."""
    payloads = [Agent(project, session=f"s{number}").call(f"p{number}") for number in range(4)]
    started = []
    for each in payloads:
        before = {name: each[name] for name in each if name not in ("tool_response", "duration_ms")}
        process = project.start(event="PreToolUse")
        process.stdin.write(json.dumps({**before, "hook_event_name": "PreToolUse"}).encode())
        started.append(process)
    for process in started:
        process.stdin.close()
    answers = [process.stdout.read() for process in started]
    for process in started:
        process.wait(25)
        process.stdout.close()
        process.stderr.close()
    assert sorted(b"deny" in each for each in answers) == [False, True, True, True], answers


@pytest.mark.parametrize("moment", ["after it was looked for", "just before it is written"])
def test_what_was_begun_in_between_is_seen(project, bank, claude, monkeypatch, moment):
    """Another call that begins the same operation after it was looked for and before this one is written down: this
    one is refused, whenever exactly that was."""
    from truecall_py.clients.claude_code import hook
    from truecall_py.judging.recorder import Recorder
    from truecall_py.operations import duplicate_guard
    from truecall_py.trust import store

    def announced(name, session):
        payload = Agent(project, session=session).call(name)
        return hook.announced({**payload, "hook_event_name": "PreToolUse"})

    def begun(name, session):
        call = announced(name, session)
        (source,) = store.sources(project.root, project.state, project.own, None)
        recorder = Recorder(project.state, call, {})
        ends = time.monotonic() + 20
        return recorder, lambda: duplicate_guard.begun_before(recorder, source.named(call), call, ends, project.root)

    recorder, begin = begun("c1", "s1")
    _, other = begun("c2", "s2")
    where, name = (recorder.ledger, "changed") if moment == "just before it is written" else (duplicate_guard, "noted")
    does, pending = getattr(where, name), [other]

    def late(*given):
        if pending:
            assert pending.pop()() == ""
        return does(*given)

    monkeypatch.setattr(where, name, late)
    assert "NOT RUN" in begin()
    assert [each.call for each in every(project)[0].attempts] == ["c2"]


def remembered(project, name, session="s1"):
    """(the ledger at the hook before a call, the call, its contracts)."""
    from truecall_py.clients.claude_code import hook
    from truecall_py.judging.recorder import Recorder
    from truecall_py.trust import store

    payload = {**Agent(project, session=session).call(name), "hook_event_name": "PreToolUse"}
    call = hook.announced(payload)
    (source,) = store.sources(project.root, project.state, project.own, None)
    return Recorder(project.state, call, {}), call, source.named(call)


def test_whoever_is_killed_once_it_is_written_can_be_looked_up(project, bank, claude, monkeypatch):
    """The hook ends in the moment in which the intent is in the ledger: the call is kept already, so that its source
    can be asked what became of it."""
    from truecall_py.ledger import pending_calls
    from truecall_py.operations import duplicate_guard

    recorder, call, contracts = remembered(project, "c1")
    does = recorder.ledger.changed

    def killed(work):
        does(work)
        raise KeyboardInterrupt

    monkeypatch.setattr(recorder.ledger, "changed", killed)
    with pytest.raises(KeyboardInterrupt):
        duplicate_guard.begun_before(recorder, contracts, call, time.monotonic() + 20, project.root)
    assert state(project) == "unknown"
    assert pending_calls.find(project.state, "s1", "c1", pending_calls.OPERATIONS) is not None
    bank.does()
    assert "1 done" in reconcile(project).stdout and state(project) == "verified"


def test_what_is_learnt_in_between_is_weighed(project, bank, claude, monkeypatch):
    """Two look at one operation at once. The one that asked first hears that it is done, the other, before that is
    written down, that it was taken back: the first must not say that it is done."""
    from truecall_py.judging.engine import Moment
    from truecall_py.operations import lookup

    assert silent(claude.asks())
    bank.does(at=1)

    def look():
        recorder, call, (contract,) = remembered(project, "c1", SESSION)
        moment = Moment(time.monotonic() + 20, time.time(), project.root)
        return recorder.ledger, lambda: [
            each.state for each in lookup.answers(recorder.ledger, recorder.history.key, contract, call, moment, "test")
        ]  # fmt: skip

    ledger, first = look()
    _, second = look()
    does, told = ledger.changed, []

    def late(work):
        if not told:
            bank.done.clear()
            bank.does(status="rejected", at=2)
            told.extend(second())
        return does(work)

    monkeypatch.setattr(ledger, "changed", late)
    assert first() == ["refuted"] and told == ["refuted"]
    assert state(project) == "refuted"


def test_two_effects_are_a_duplicate(project, bank, agent):
    """The source shows two completed receipts of one operation: refuted, named, and a person must undo one."""
    agent.asks()
    bank.does()
    bank.does(at=2, charge="ch_2")
    told = agent.ends()
    assert told.text.startswith("DUPLICATE") and "ch_1" in told.text and "ch_2" in told.text
    assert "a person must decide which one to undo" in told.text
    assert state(project) == "duplicate"
    assert "twice" in refusal(agent.asks("c2"))
    assert view.of(Ledger(project.state).session(SESSION), time.time()) == view.Operations(1, 1, 0)


def test_what_was_done_twice_is_no_false_claim_and_rests_no_tool(project, bank, agent):
    """The effect is there, twice: that the tool said so is no lie. It is told and counted as what it is, never as an
    effect that is not there, and its tool does not rest for it."""
    for number in range(3):
        order = f"o{number}"
        assert silent(agent.asks(f"c{number}", order)), number
        bank.does(order, charge="ch_1")
        bank.does(order, charge="ch_2")
        assert agent.ends(f"c{number}", order).text.startswith("DUPLICATE")
    stop = agent.stop().text
    assert stop.startswith("DUPLICATE: 3 calls in this turn") and "is missing" not in stop
    assert "- done twice: mcp__pay__charge" in stop and stop.count("a person must undo one") == 3
    stats = json.loads(project.command("stats", "--json").stdout)
    assert stats["operations"] == {"count": 3, "done": 0, "refuted": 0, "duplicate": 3, "pending": 0, "unknown": 0,
                                   "overdue": 0}  # fmt: skip
    assert stats["claims"] == {"judged": 3, "false": 0, "not_told": 0, "rate": 0.0}
    listed = project.command("log", "--outcome", "duplicate").stdout
    assert listed.count("charged: duplicate: 2 effects of this one operation are done") == 3


def test_log_and_report_tell_of_operations_in_a_persons_words(project, bank, claude):
    """What was meant, by whom it is owned and until when, who asked the source, and why a second call was refused."""
    claude.asks()
    bank.does()
    claude.ends()
    refusal(claude.asks("c2", key="other"))
    first, second = (" ".join(project.command("log", name).stdout.split()) for name in ("c1", "c2"))
    assert "owner billing; due by 20" in first and "its source told this call's own hook:" in first
    assert "refused by truecall before it ran: call c1 started its operation, which is verified" in second
    assert "not tried again in this session" in second and "no further attempt" not in second
    spans = json.loads(project.command("export", "--format", "otel-json").stdout)
    (span, _) = spans["resourceSpans"][0]["scopeSpans"][0]["spans"]
    told = {each["name"]: json.dumps(each["attributes"]) for each in span["events"]}
    assert "billing" in told["truecall.intent"] and "debit" in told["truecall.intent"]
    assert "completed" in told["truecall.receipt"] and "verified" in told["truecall.receipt"]
    project.command("report", "-o", "r.html")
    with open(os.path.join(project.root, "r.html"), encoding="utf-8") as file:
        page = " ".join(re.sub("<[^>]*>", " ", file.read()).split())
    assert "call c1 started its operation, which is verified" in page and "it was not made" in page
    assert "not resolved" not in page


def test_what_is_accepted_alone_is_not_called_background_work(project, bank, claude):
    """An operation that its source has accepted is told as that at the stop."""
    claude.asks()
    bank.does(status="pending")
    claude.ends()
    assert claude.stop().text.startswith("NOT FINISHED: the operation of 1 call in this turn is not finished.")


def test_a_second_effect_later_is_a_duplicate(project, bank, claude):
    """The first receipt named one effect, a retry with the same key another."""
    claude.asks(key="k")
    bank.does()
    claude.ends(key="k")
    bank.done["o1"] = []
    bank.does(at=2, charge="ch_2")
    claude.asks("c2", key="k")
    assert claude.ends("c2", key="k").text.startswith("DUPLICATE")


def test_duplicates_may_only_be_reported(project, bank, agent):
    """`duplicates: report`: the call is let through, and told of after it."""
    project.trust(CONTRACT.replace("PORT", str(bank.port)).replace("      review", "      duplicates: report\n      review"))
    agent.asks()
    bank.does()
    agent.ends()
    assert silent(agent.asks("c2", key="other"))
    told = agent.ends("c2", key="other")
    assert told.text.startswith("DUPLICATE") and "call c1" in told.text and "another key" in told.text


def test_a_harness_without_a_look_before_reports_it_afterwards(project, bank, claude):
    """Where no hook is asked before the call, the intent is written after it, and says so."""
    bank.does()
    assert silent(claude.ends())
    (only,) = every(project)
    assert only.last.data["late"] is True
    assert claude.ends("c2").text.startswith("DUPLICATE")


def charged(harness, at, order="o1", other=False):
    """What a client that names no call tells after one; Copilot CLI in its `other` form."""
    args = {"tenant": "acme", "order": order, "amount": 5}
    stamp = f"2026-11-30T05:58:41.{at:03}Z"
    if other:
        return {"session_id": SESSION, "cwd": "/", "hook_event_name": "PostToolUse", "timestamp": stamp, "tool_name": PAY,
                "tool_input": args, "tool_result": {"result_type": "success", "text_result_for_llm": "charged"}}  # fmt: skip
    if harness == "gemini-cli":
        answer = {"llmContent": [{"text": "charged"}], "returnDisplay": "charged"}
        return {"session_id": SESSION, "cwd": "/", "hook_event_name": "AfterTool", "timestamp": stamp,
                "tool_name": PAY, "tool_input": args, "tool_response": answer}  # fmt: skip
    return {"sessionId": SESSION, "timestamp": 1796018321000 + at, "cwd": "/", "toolName": PAY, "toolArgs": args,
            "toolResult": {"resultType": "success", "textResultForLlm": "charged"}}  # fmt: skip


@pytest.mark.parametrize("dated", [True, False])
@pytest.mark.parametrize("harness", ["gemini-cli", "copilot-cli"])
def test_two_calls_in_one_moment_are_two(project, bank, harness, dated):
    """Where the client names no call, its event's time tells two charges from two hooks of one; where it says no time
    either, they are two: an operation that was done twice is never passed over."""
    project.trust(CONTRACT.replace("PORT", str(bank.port)))
    event = {"gemini-cli": "AfterTool", "copilot-cli": "postToolUse"}[harness]
    env = {f"{harness.partition('-')[0].upper()}_PROJECT_DIR": project.root}

    def told(at, other=False):
        plain = charged(harness, at, other=other)
        plain = plain if dated else {name: plain[name] for name in plain if name != "timestamp"}
        return project.hook(plain, harness, event, env=env)

    bank.does()
    assert silent(told(548))
    if dated:
        assert silent(told(548, other=harness == "copilot-cli"))  # the same event, told to a second hook
        assert len(every(project)[0].attempts) == 1
    assert b"DUPLICATE" in told(632).out
    assert state(project) == "duplicate"


def test_what_a_client_without_names_began_can_be_looked_up(project, bank):
    """The call is kept under the time of its event, and reconcile settles it."""
    project.trust(CONTRACT.replace("PORT", str(bank.port)))
    env = {"COPILOT_PROJECT_DIR": project.root}
    assert b"NOT CONFIRMED" in project.hook(charged("copilot-cli", 548), "copilot-cli", "postToolUse", env=env).out
    bank.does()
    assert reconcile(project).returncode == 0 and state(project) == "verified"


def test_approval_is_not_an_outcome(project, bank):
    """A permission that was asked for or given settles nothing."""
    project.trust(CONTRACT.replace("PORT", str(bank.port)))
    codex = Agent(project, "codex")
    codex.asks()
    asking = {**codex.call(), "hook_event_name": "PermissionRequest"}
    asking.pop("tool_response")
    assert silent(project.hook(asking, "codex", "PermissionRequest"))
    assert state(project) == "unknown"
    assert codex.ends().text.startswith("NOT CONFIRMED")


def test_observe_refuses_nothing(project, bank, claude):
    """A contract in observe mode lets a second call through, and the person is told."""
    project.trust(CONTRACT.replace("PORT", str(bank.port)) + "    mode: observe\n")
    claude.asks()
    bank.does()
    claude.ends()
    assert silent(claude.asks("c2"))
    assert claude.ends("c2").form == "notice"
    assert silent(claude.asks("c3", order="o3", args={"blob": "x" * (1 << 20)}))  # too large to be kept
    assert "decision" not in str(claude.stop().out)


def test_without_a_ledger_nobody_knows_whether_it_was_begun(project, bank, claude):
    """The call is refused, and the person hears of the ledger; where the contract only wants to hear of duplicates it is
    let through. What was called all the same is told with what cannot be told any more, and its receipt confirms it."""
    os.makedirs(project.state, exist_ok=True)
    with open(os.path.join(project.state, "ledger.db"), "wb") as file:
        file.write(b"no database, and long enough to be read as one" * 100)
    first = claude.asks()
    assert "truecall cannot use its ledger" in refusal(first) and "duplicates" in str(first.out)
    project.trust(CONTRACT.replace("PORT", str(bank.port)).replace("owner: billing", "duplicates: report"))
    assert claude.asks("c1", order="o7").form != "deny"
    project.trust(CONTRACT.replace("PORT", str(bank.port)))
    told = claude.ends()
    assert "NOT CONFIRMED" in told.text and "whether it was begun before cannot be told" in told.text
    bank.does()
    assert silent(claude.ends("c2"))


def test_nothing_of_a_private_call_is_kept(project, bank, claude):
    """`store: none`: the digests are there, the values are not."""
    project.trust(CONTRACT.replace("PORT", str(bank.port)) + "    store: none\n")
    claude.asks(order="very-secret-order", key="secret-key")
    bank.does("very-secret-order")
    claude.ends(order="very-secret-order", key="secret-key")
    (only,) = every(project)
    assert only.state == "verified"
    for folder, _, names in os.walk(project.state):
        if "contracts" not in folder:
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    assert b"secret" not in file.read(), name


# -- where receipts come from --------------------------------------------------------------------------------------

LOCAL = """\
version: 1
contracts:
  - id: shipped
    tool: mcp__shop__ship
    receipt:
      from: %s
      match: {order: "{{args.order}}"}
      state: state
      states: {sent: verified, packed: pending, lost: refuted}
"""
SOURCES = {
    "sqlite": '{sqlite: {file: "{{project}}/shop.db", query: "SELECT * FROM parcels WHERE \\"order\\" = ?", '
    'params: ["{{args.order}}"]}}',
    "command": '{command: {run: [./look.sh, "{{args.order}}"]}}',
    "custom run": "{custom: {run: [./custom.sh]}}",
    "custom python": "{custom: {python: 'look.py:receipt'}}",
}
LOOKS = {
    "look.sh": '#!/bin/sh\n[ -e state ] || exit 0\nprintf \'{"order": "%s", "state": "%s"}\\n\' "$1" "$(cat state)"\n',
    "custom.sh": '#!/bin/sh\n[ -e state ] || { echo \'{"receipt": null}\'; exit 0; }\n'
    'printf \'{"receipts": [{"order": "o1", "state": "%s"}]}\\n\' "$(cat state)"\n',
    "look.py": "import os\ndef receipt(call):\n    if not os.path.exists(call['project'] + '/state'):\n"
    "        return {'receipt': None}\n    with open(call['project'] + '/state') as file:\n"
    "        return {'receipt': {'order': call['args']['order'], 'state': file.read().strip()}}\n",
}


def says(project, source, word):
    """What the source of this machine says from now on."""
    if source == "sqlite":
        import sqlite3

        base = sqlite3.connect(os.path.join(project.root, "shop.db"))
        base.execute('CREATE TABLE IF NOT EXISTS parcels ("order" TEXT PRIMARY KEY, state TEXT)')
        if word:
            base.execute("INSERT OR REPLACE INTO parcels VALUES ('o1', ?)", (word,))
        base.commit()
        base.close()
    elif word:
        project.write("state", word)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("word", "form"), [("sent", "silent"), ("packed", "append"), ("lost", "replace"), ("", "replace")])
def test_every_source(project, source, word, form):
    """Rows, a program's output, a person's own check: all give receipts, and none is no receipt."""
    for name, text in LOOKS.items():
        project.write(name, text, 0o755)
    project.trust(LOCAL % SOURCES[source])
    says(project, source, "")
    agent = Agent(project)
    agent.asks(tool="mcp__shop__ship")
    says(project, source, word)
    told = agent.ends(tool="mcp__shop__ship")
    assert told.form == form, told
    if not word:
        assert "Do not make it again" in told.text


def test_a_source_whose_code_was_changed_is_not_asked(project):
    """The code that was trusted is pinned, here as everywhere."""
    project.write("look.sh", LOOKS["look.sh"], 0o755)
    project.trust(LOCAL % SOURCES["command"])
    agent = Agent(project)
    agent.asks(tool="mcp__shop__ship")
    project.write("state", "sent")
    project.write("look.sh", LOOKS["look.sh"] + "# another\n", 0o755)
    assert "was changed since" in agent.ends(tool="mcp__shop__ship").text
    assert "was changed since" in reconcile(project).stdout


# -- steps ---------------------------------------------------------------------------------------------------------

STEPS = """\
version: 1
contracts:
  - id: create-user
    tool: mcp__team__create
    receipt: &
      from: {http_status: {url: "http://127.0.0.1:PORT/users/{{args.order}}"}}
      match: {tenant: "{{args.tenant}}", resource: "{{args.order}}", op: create}
      items: operations
      state: status
      states: {completed: verified, rejected: refuted}
      owner: directory
  - id: add-member
    tool: mcp__team__add
    receipt:
      from: {http_status: {url: "http://127.0.0.1:PORT/members/{{args.order}}"}}
      match: {tenant: "{{args.tenant}}", resource: "{{args.order}}", op: add}
      items: operations
      state: status
      states: {completed: verified, rejected: refuted}
      owner: people
  - id: onboard
    event: stop
    steps: [create-user, add-member]
""".replace(" &\n", "\n")


def test_created_and_not_a_member_is_partial(project, bank):
    """Neither success nor failure: told in the correction, held once at the stop, in `log` and in `reconcile`, with who
    owns what remains; another instance is its own."""
    project.trust(STEPS.replace("PORT", str(bank.port)))
    agent = Agent(project)
    agent.asks(tool="mcp__team__create")
    bank.does(op="create")
    assert silent(agent.ends(tool="mcp__team__create"))
    bank.done["o1"] = [bank.does(op="add", status="rejected")]
    agent.asks("c2", tool="mcp__team__add")
    told = agent.ends("c2", tool="mcp__team__add")
    whole = "1 of 2 steps of onboard are done: create-user is verified; add-member is refuted (owner: people)"
    assert told.text.startswith("NOT DONE") and whole in told.text
    assert whole in " ".join(project.command("log", "c2").stdout.split())
    held = agent.stop()
    assert held.json["decision"] == "block" and whole in held.json["reason"]
    assert "who owns the rest" in held.json["reason"]
    assert agent.stop().form in ("notice", "silent")
    bank.done["o2"] = [bank.does("o2", op="create")]
    agent.asks("c3", order="o2", tool="mcp__team__create")
    agent.ends("c3", order="o2", tool="mcp__team__create")
    agent.turn = "turn-2"
    bank.done["o3"] = []
    agent.asks("c4", order="o3", tool="mcp__team__add")
    assert "0 of 2 steps of onboard" in agent.ends("c4", order="o3", tool="mcp__team__add").text
    assert "0 of 2 steps of onboard are done" in " ".join(reconcile(project).stdout.split())


def test_all_steps_done_hold_nobody(project, bank):
    """And a turn that begins none of them is not about them."""
    project.trust(STEPS.replace("PORT", str(bank.port)))
    agent = Agent(project)
    for name, tool, op in (("c1", "mcp__team__create", "create"), ("c2", "mcp__team__add", "add")):
        agent.asks(name, tool=tool)
        bank.done["o1"] = []
        bank.does(op=op)
        assert silent(agent.ends(name, tool=tool))
    assert silent(agent.stop())


def test_a_step_of_another_session_is_known(project, bank):
    """What one session made is not `not begun` in the next, which would be an order to make it again."""
    project.trust(STEPS.replace("PORT", str(bank.port)))
    first, later = Agent(project, session="s1"), Agent(project, session="s2")
    first.asks(tool="mcp__team__create")
    bank.does(op="create")
    first.ends(tool="mcp__team__create")
    bank.done["o1"] = []
    later.asks(tool="mcp__team__add")
    told = later.ends(tool="mcp__team__add")
    assert "create-user is verified; add-member is unverified" in told.text
    bank.does(op="add")
    assert silent(later.stop())


def test_a_long_session_hides_no_step(project, bank):
    """More happened in it than is looked through: what is left of the whole is told all the same."""
    project.trust(STEPS.replace("PORT", str(bank.port)))
    agent = Agent(project)
    agent.asks(tool="mcp__team__create")
    bank.does(op="create")
    agent.ends(tool="mcp__team__create")
    ledger = Ledger(project.state)
    ledger.add(*(Event(SESSION, f"x{number}", ENDED, 1.0, "claude-code", "turn-0") for number in range(2100)))
    agent.turn = "turn-2"
    agent.asks("c2", tool="mcp__team__add")
    bank.done["o1"] = []
    agent.ends("c2", tool="mcp__team__add")
    held = agent.stop().json["reason"]
    assert "1 of 2 steps of onboard are done: create-user is verified; add-member is unverified" in held


BY = """\
version: 1
contracts:
  - id: made
    tool: mcp__team__create
    post: {file_exists: {path: "{{project}}/{{args.order}}.user"}}
  - id: joined
    tool: mcp__team__add
    post: {file_exists: {path: "{{project}}/{{args.order}}.member"}}
  - id: onboard
    event: stop
    by: "{{args.order}}"
    steps: [made, joined]
"""


def test_steps_without_receipts_are_told_apart_by_their_arguments(project):
    """A member of one team is none of the other."""
    project.trust(BY)
    agent = Agent(project)
    project.write("a.user", "")
    project.write("b.member", "")
    for name, order, tool in (("c1", "a", "mcp__team__create"), ("c2", "b", "mcp__team__add")):
        agent.asks(name, order=order, tool=tool)
        agent.ends(name, order=order, tool=tool)
    held = agent.stop().json["reason"]
    assert "made is not begun; joined is" in held and "joined is not begun" in held
    assert "2 of 2" not in held


def test_a_call_that_was_never_made_is_free_again(project, bank):
    """Codex' own words in its transcript: another hook blocked it. The stop holds nobody for it, and it can be begun."""
    project.trust(CONTRACT.replace("PORT", str(bank.port)))
    codex = Agent(project, "codex")
    codex.asks()
    record = {"type": "function_call_output", "call_id": "c1", "output": "Tool call blocked by PreToolUse hook: no"}
    codex.transcript = project.write("rollout.jsonl", json.dumps({"type": "response_item", "payload": record}) + "\n")
    assert silent(codex.stop())
    assert every(project) == []
    assert silent(codex.asks("c2"))


NO = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was"


@pytest.mark.parametrize(("words", "fields", "free"), [
    (NO, {"toolDenialKind": "user-rejected", "permissionDecision": {"source": "user_reject"}}, True),
    (NO, {"toolDenialKind": "user-rejected", "toolDenialBeforeRun": True}, True),
    (NO, {"toolDenialKind": "user-rejected"}, False),  # so it stands of a call that was interrupted while it ran
    (NO, {"toolDenialBeforeRun": True, "toolDenialAfterRun": True}, False),
    ("Permission to use mcp__pay__charge has been denied.", {}, True),
    ("not today", {"permissionDecision": {"decision": "reject", "source": "hook"}}, True),  # as 2.1.332 has it
    ("not today", {"permissionDecision": {"decision": "reject", "source": "config"}}, True),  # asked, and nobody is there
    ("not today", {"permissionDecision": {"decision": "accept", "source": "config"}}, False),
    ("not today", {"permissionDecision": {"decision": "reject", "source": "hook"}, "toolDenialAfterRun": True}, False),
    ("PreToolUse:mcp__pay__charge hook error: [./own.sh]: not today", {}, True),  # as 2.1.197 has it, exit code 2
    ("not today", {}, False),  # by a hook that answers in JSON: a tool may say the same
    ("MCP error -32001: Request timed out", {"toolDenialBeforeRun": True}, False),
])  # fmt: skip
def test_what_a_person_said_no_to_may_be_asked_for_again(project, bank, claude, words, fields, free):
    """Claude Code tells no hook of it; its transcript says it, where it says that the call was not made. Any other end of
    the call says nothing, and the same words of a call that ran do not either."""
    claude.asks()
    block = {"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": words}
    line = json.dumps({"type": "user", "message": {"role": "user", "content": [block]}, **fields})
    claude.transcript = project.write("session.jsonl", line + "\n")
    if free:
        assert silent(claude.asks("c2"))
    else:
        assert "truecall reconcile --give-up c1" in refusal(claude.asks("c2"))


def test_only_one_step_begun_is_partial(project, bank):
    """What was never begun remains as well."""
    project.trust(STEPS.replace("PORT", str(bank.port)))
    agent = Agent(project)
    agent.asks(tool="mcp__team__create")
    bank.does(op="create")
    agent.ends(tool="mcp__team__create")
    held = agent.stop()
    assert "NOT FINISHED" in held.json["reason"] and "add-member is not begun" in held.json["reason"]


# -- a ledger that was deleted ---------------------------------------------------------------------------------------


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
    assert "no trusted contract is about 1 call" in told.stderr


# -- reconcile -----------------------------------------------------------------------------------------------------


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
    assert process.returncode == 130 and "what was learnt is kept" in err and "Traceback" not in err
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


# -- what must not free an operation, and what must not be silent ---------------------------------------------------


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
