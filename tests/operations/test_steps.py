"""Steps: operations that belong together, of which some are done and some are not."""

from __future__ import annotations

import json

import pytest
from support.payments import (
    CONTRACT,
    Agent,
    every,
    reconcile,
    refusal,
    silent,
)
from support.project import SESSION

from truecall_py.ledger.store import ENDED, Event, Ledger

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
