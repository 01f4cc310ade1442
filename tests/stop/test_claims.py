"""Claims of the last message: each needs a call behind it."""

from __future__ import annotations

import os

import pytest
from support.turns import (
    AT_STOP,
    LATER,
    MADE,
    RUNNING,
    TWO,
    Turn,
    events,
    reason,
    silent,
)

from truecall_py.ledger.store import STOP

CLAIMS = """\
version: 1
contracts:
  - id: tests-run
    event: stop
    kind: shell
    when: {args.command: {runs: "npm test *"}}
    claims: ['(?i)tests? (all )?pass', '(?i)alle tests laufen durch', 'テストはすべて成功']
"""


@pytest.mark.parametrize("message", ["All tests pass.", "Fertig. Alle Tests laufen durch!", "テストはすべて成功しました"])
def test_a_claim_without_a_call_is_held(project, turn, message):
    """Whoever says that tests pass must have run them in this turn; the language is the contract's."""
    project.trust(CLAIMS)
    text = reason(turn.stop(message))
    assert text.startswith("NOT DONE") and "no call was made" in text and "kind shell" in text
    assert turn.stop(message, active=True).form == "notice"
    assert events(project, STOP)[0].data["claims"] == [["tests-run", "refuted"]]


def test_a_claim_with_its_call_is_not_held(project, turn):
    """Any message without the claim neither."""
    project.trust(CLAIMS)
    assert silent(turn.stop("I changed nothing."))
    turn.told(turn.bash("echo npm test"))
    assert "no call was made" in reason(turn.stop("Tests pass."))
    turn.name = "turn-2"
    turn.ran("npm test -- --all")
    assert silent(turn.stop("Tests pass."))


def test_a_call_of_an_earlier_turn_is_a_doubt(project, turn):
    """The message may speak of it: nobody is held, and the person is told."""
    project.trust(CLAIMS)
    turn.ran("npm test")
    turn.name = "turn-2"
    answer = turn.stop("As I said, tests pass.")
    assert answer.form == "notice" and "tests-run is unverified" in answer.notice


def test_a_call_before_the_contract_is_a_doubt(project, turn):
    """A call that nobody looked at for this contract may be the one."""
    project.trust(TWO)
    turn.told(turn.bash("npm test"))
    project.trust(CLAIMS)
    assert turn.stop("Tests pass.").form == "notice"


def test_a_sub_agents_claim_needs_its_own_call(project, turn):
    """What the main agent ran does not stand behind a sub-agent's words; the other way round it does."""
    project.trust(CLAIMS)
    turn.ran("npm test", **turn.agent("a2"))
    assert "no call was made" not in str(turn.stop("Tests pass.", event="SubagentStop", **turn.agent("a2")).out)
    turn.name = "turn-2"
    turn.told(turn.bash("ls"))
    turn.ran("npm test", **turn.agent("a1"))
    assert silent(turn.stop("Tests pass."))


def test_a_call_that_failed_stands_behind_no_claim(project, turn):
    """Tests that ended with 1 do not pass; a run after it that ended well does."""
    project.trust(CLAIMS)
    turn.ran("npm test", code=1)
    text = reason(turn.stop("All tests pass."))
    assert "no call was made that succeeded" in text
    turn.name = "turn-2"
    turn.ran("npm test", code=1)
    turn.ran("npm test -- again")
    assert silent(turn.stop("All tests pass."))


def test_a_call_that_the_client_refused_was_made_in_this_turn(project):
    """Claude Code tells of it with its batch alone: a claim that rests on it is told that the call failed."""
    project.trust('version: 1\ncontracts:\n  - {id: edited, event: stop, claims: [edited], kind: edit}\n')
    turn = Turn(project)
    said = "<tool_use_error>String to replace not found in file.</tool_use_error>"
    edit = {"file_path": os.path.join(project.root, "a.py"), "old_string": "a", "new_string": "b"}
    batch = {"tool_name": "Edit", "tool_input": edit, "tool_use_id": "toolu_01", "tool_response": said}
    told = {**turn.marks, "cwd": project.root, "hook_event_name": "PostToolBatch", "tool_calls": [batch]}
    project.hook(told, event="PostToolBatch")
    assert "each that was made failed" in reason(turn.stop("I edited it."))


@pytest.mark.parametrize("later", ["turn-1", "turn-2"])
def test_a_success_stands_behind_no_claim_once_the_same_call_failed(project, turn, later):
    """Neither in the same turn nor in a later one: the tests were broken since. Another call that failed, or the same
    in another folder, takes nothing from it; and a run that ends well again stands."""
    project.trust(CLAIMS)
    turn.ran("npm test")
    turn.ran("npm test -- other", code=1)
    turn.ran("npm test", code=1, cwd=project.folder("project", "there"))
    assert silent(turn.stop("All tests pass."))
    turn.name = later
    turn.ran("npm test", code=1)
    assert ("no call was made that succeeded" if later == "turn-2" else "made again") in reason(turn.stop("Tests pass."))
    turn.name = "turn-3"
    turn.ran("npm test")
    assert silent(turn.stop("All tests pass."))


def test_a_sub_agents_claim_rests_on_no_call_of_the_main_agent(project, turn):
    """Not on one of an earlier turn either: it is refuted, not a doubt."""
    project.trust(CLAIMS)
    turn.ran("npm test")
    turn.told(turn.bash("ls", **turn.agent("a1")))
    text = reason(turn.stop("All tests pass.", event="SubagentStop", **turn.agent("a1")))
    assert "no call was made" in text
    assert silent(turn.stop("All tests pass."))


def test_a_contract_may_ask_for_a_call_that_failed(project, turn):
    """Where `when` is about how it ended, that decides: whoever says that the tests were run must only have run them."""
    project.trust(CLAIMS.replace('"npm test *"}}', '"npm test *"}, reported: {one_of: [success, failure]}}'))
    turn.ran("npm test", code=1)
    assert silent(turn.stop("Not all tests pass."))


def test_a_call_whose_end_nobody_tells_is_a_doubt(project):
    """Codex says the exit code in its transcript alone: without it the person is told, and nobody is held."""
    project.trust(CLAIMS)
    turn = Turn(project, "codex")
    turn.told(turn.bash("npm test"))
    answer = turn.stop("All tests pass.")
    assert answer.form == "notice" and "tests-run is unverified" in answer.notice


def test_a_lie_stands_behind_no_claim(project, turn):
    """A call whose effect is not there is not the one that the message needs; once it is there, it is."""
    sent = "  - id: sent\n    event: stop\n    tool: mcp__notes__save_note\n    claims: ['(?i)saved']\n"
    project.trust(TWO + sent)
    turn.save()
    assert "no call was made that succeeded" in reason(turn.stop("It is saved."))
    project.write("notes/a.md", "hello")
    assert silent(turn.stop("It is saved."))


def test_a_call_in_the_background_stands_behind_a_claim_when_it_has_ended_well(project):
    """Until then nobody can tell."""
    project.trust(CLAIMS + MADE.partition("contracts:\n")[2].replace("make *", "npm test *"))
    turn = Turn(project)
    turn.told(turn.bash("npm test", **LATER))
    assert "tests-run is unverified" in turn.stop("All tests pass.", background_tasks=RUNNING).notice
    project.write("app", "x")
    assert silent(turn.stop("All tests pass."))


def test_no_message_is_no_claim_and_no_pass(project, turn):
    """The person is told that it was not judged."""
    project.trust(CLAIMS)
    answer = turn.stop(None)
    assert answer.form == "notice" and "the last message was not told" in answer.notice


def test_what_must_hold_at_the_end(project, turn):
    """A contract without a call is judged at the main stop, in the project's folder, and not at a sub-agent's."""
    project.trust(AT_STOP)
    assert silent(turn.stop(event="SubagentStop", **turn.agent("a1")))
    elsewhere = project.folder("elsewhere")
    text = reason(turn.stop(cwd=elsewhere))
    assert "contract built (truecall.yaml:3)" in text and "run make" in text
    assert "Do this now: make true what must hold at the end of a turn: built" in text and "claims" not in text
    project.write("done.txt", "")
    assert silent(turn.stop())


def test_a_person_sees_why_an_agent_was_held(project, turn):
    """`truecall last` and `truecall log` tell of a stop that held the agent, with its evidence, without a call too."""
    project.trust(AT_STOP)
    turn.told(turn.bash("ls"))
    reason(turn.stop())
    told = project.command("last")
    assert told.returncode == 0 and told.stdout.splitlines()[1] == "held at the stop"
    assert "refuted    built" in told.stdout and "test -e done.txt" in told.stdout
    again = project.command("last", "--again")
    assert again.returncode == 3 and "at the agent's next stop" in again.stdout
    listed = project.command("log").stdout.splitlines()
    assert "held        at the stop: built" in listed[1] and "Bash" in listed[2]
    assert "held" not in project.command("log", "--tool", "Bash").stdout
    turn.stop(active=True)
    assert project.command("log").stdout.count("at the stop") == 1
    page = project.command("report", "-o", "-").stdout
    assert page.count("The agent stopped") == 2


def test_a_private_contract_keeps_no_evidence_of_a_stop(project, turn):
    """With `store: none` its name and its verdict are kept, and nothing of what was found."""
    project.trust(AT_STOP + "    store: none\n")
    reason(turn.stop())
    kept = str([each.data for each in events(project, STOP)])
    assert "built" in kept and "done.txt" not in kept


def test_a_call_that_held_the_agent_can_be_judged_again(project, turn):
    """Where a call stood open, it is shown below the stop, and --again judges it."""
    project.trust(TWO)
    turn.save()
    reason(turn.stop())
    told = project.command("last", "--again")
    assert told.returncode == 1 and "open       note-saved: refuted, call toolu_01" in told.stdout
    assert "toolu_01  refuted" in told.stdout and "again: refuted note-saved" in told.stdout


def test_what_must_hold_at_the_end_holds_once_a_turn(project, turn):
    """Also where the client does not say that the agent was held before; in the next turn it counts again."""
    project.trust(AT_STOP)
    assert reason(turn.stop())
    assert turn.stop().form == "notice" and "built" in turn.stop().notice
    turn.name = "turn-2"
    assert reason(turn.stop())


def test_a_claim_that_is_looked_into(project, turn):
    """With `post`, the claim is judged by what is there."""
    project.trust(AT_STOP + "    claims: [built]\n")
    assert silent(turn.stop("Nothing to do."))
    text = reason(turn.stop("It is built."))
    assert "done.txt" in text and "make what your last message claims true" in text and "make true" not in text
    project.write("done.txt", "")
    assert silent(turn.stop("It is built."))


def test_after_such_a_call_only(project, turn):
    """With `kind` and without `claims`, it is judged where such a call was made in the turn."""
    project.trust(AT_STOP + "    kind: shell\n    when: {args.command: {runs: \"make *\"}}\n")
    turn.told(turn.bash("ls"))
    assert silent(turn.stop())
    turn.told(turn.bash("make all"))
    assert "contract built" in reason(turn.stop())


def test_doubts_at_the_stop(project, turn):
    """A contract in observe mode, and one that cannot be told, hold nobody, and the person is told."""
    project.trust(AT_STOP + "    mode: observe\n")
    answer = turn.stop()
    assert answer.form == "notice" and "truecall (observe): built is refuted at the stop" in answer.notice
    project.trust(AT_STOP.replace("done.txt", '"{{args.x}}"'))
    answer = turn.stop()
    assert answer.form == "notice" and "built is unverified" in answer.notice


def test_a_pattern_that_does_not_end(project):
    """It costs seconds, and is a doubt."""
    project.trust(CLAIMS.replace("'(?i)tests? (all )?pass'", "'(a|a)*c'"))
    answer = Turn(project).stop("a" * 60 + "b")
    assert answer.form == "notice" and "did not end" in answer.notice
