"""Intents and duplicates: what was announced before a call, and what was done twice."""

from __future__ import annotations

import json
import os
import re
import time

import pytest
from support.payments import (
    CONTRACT,
    PAY,
    Agent,
    every,
    reconcile,
    refusal,
    silent,
    state,
)
from support.project import SESSION

from truecall_py.ledger.store import ENDED, REFUSED, Ledger
from truecall_py.operations import view


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
        return hook.parse_before({**payload, "hook_event_name": "PreToolUse"})

    def begun(name, session):
        call = announced(name, session)
        (source,) = store.load_sources(project.root, project.state, project.own, None)
        recorder = Recorder(project.state, call, {})
        ends = time.monotonic() + 20
        return recorder, lambda: duplicate_guard.explain_refusal(recorder, source.find_contracts(call), call, ends, project.root)

    recorder, begin = begun("c1", "s1")
    _, other = begun("c2", "s2")
    where, name = (recorder.ledger, "change") if moment == "just before it is written" else (duplicate_guard, "record_intents")
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
    call = hook.parse_before(payload)
    (source,) = store.load_sources(project.root, project.state, project.own, None)
    return Recorder(project.state, call, {}), call, source.find_contracts(call)


def test_whoever_is_killed_once_it_is_written_can_be_looked_up(project, bank, claude, monkeypatch):
    """The hook ends in the moment in which the intent is in the ledger: the call is kept already, so that its source
    can be asked what became of it."""
    from truecall_py.ledger import pending_calls
    from truecall_py.operations import duplicate_guard

    recorder, call, contracts = remembered(project, "c1")
    does = recorder.ledger.change

    def killed(work):
        does(work)
        raise KeyboardInterrupt

    monkeypatch.setattr(recorder.ledger, "change", killed)
    with pytest.raises(KeyboardInterrupt):
        duplicate_guard.explain_refusal(recorder, contracts, call, time.monotonic() + 20, project.root)
    assert state(project) == "unknown"
    assert pending_calls.find_call(project.state, "s1", "c1", pending_calls.OPERATIONS) is not None
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
            each.state for each in lookup.ask_source(recorder.ledger, recorder.history.key, contract, call, moment, "test")
        ]  # fmt: skip

    ledger, first = look()
    _, second = look()
    does, told = ledger.change, []

    def late(work):
        if not told:
            bank.done.clear()
            bank.does(status="rejected", at=2)
            told.extend(second())
        return does(work)

    monkeypatch.setattr(ledger, "change", late)
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
    assert view.count_operations(Ledger(project.state).session(SESSION), time.time()) == view.Operations(1, 1, 0)


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
    assert stop.startswith("DUPLICATE: 3 calls in this turn") and "is missing and" not in stop
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
    assert "NOT CONFIRMED" in told.text and "it is not known whether it was begun before" in told.text
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
