"""Calls that are open at the stop: who is held, for what, and that nobody is held twice."""

from __future__ import annotations

import os

from support.turns import (
    SESSION,
    TWO,
    Turn,
    completed,
    events,
    reason,
    rollout,
    silent,
)

from truecall_py.ledger.store import ENDED, SETTLED, STOP, Event, Ledger

FOLDERS = """\
version: 1
contracts:
  - id: made
    kind: shell
    when: {args.command: {runs: "mkdir {d}"}}
    post: {file_exists: {path: "{{match.d}}", type: dir}}
"""


def test_a_lie_holds_the_agent_once(project, turn):
    """A call that lied is named with its contract and what to do; when the agent stops again, the person alone is
    told."""
    project.trust(TWO)
    assert "NOT DONE" in turn.save().text
    text = reason(turn.stop())
    assert text.startswith("NOT DONE: the effect of 1 call in this turn is missing")
    assert "mcp__notes__save_note" in text and "call toolu_01" in text and "note-saved (truecall.yaml:3)" in text
    assert "notes/a.md" in text and "Do this now" in text
    again = turn.stop(active=True)
    assert again.form == "notice" and "unresolved" in again.notice and "notes/a.md" in again.notice
    told = events(project, STOP)
    assert [each.data["held"] for each in told] == [True, False]
    assert told[0].data["open"] == [["toolu_01", "note-saved", "refuted"]]


def test_nothing_holds_twice(project, turn):
    """Also where the client does not say that the agent was held before."""
    project.trust(TWO)
    turn.save()
    assert "decision" in turn.stop().json
    assert turn.stop().form == "notice"


def test_a_lie_that_was_put_right_holds_nobody(project, turn):
    """By the same call, or by any other way that brought the effect about: it is looked at again."""
    project.trust(TWO)
    turn.save()
    turn.save(write=True)
    assert silent(turn.stop())
    turn.save("b")
    project.write("notes/b.md", "hello")
    assert silent(turn.stop())
    (settled,) = events(project, SETTLED)
    assert (settled.call, settled.state, settled.data["by"]) == ("toolu_03", "verified", "stop")


def test_one_call_that_several_contracts_are_about_is_one(project, turn):
    """It is counted once, and what is to be done about it is said once; what each contract found stands by itself."""
    project.trust(TWO + TWO.partition("contracts:\n")[2].replace("note-saved", "note-kept"))
    turn.save()
    text = reason(turn.stop())
    assert text.startswith("NOT DONE: the effect of 1 call in this turn is missing")
    assert "note-saved" in text and "note-kept" in text and text.count("check whether its effect is there") == 1
    assert "at the stop (1):" in turn.stop(active=True).notice


def test_of_two_orders_about_one_call_the_more_careful_counts(project, turn):
    """One contract lets the call be made again, another one does not: it is not to be made again."""
    never = TWO.partition("contracts:\n")[2].replace("note-saved", "note-kept") + "    repeat: never\n"
    project.trust(TWO + "    repeat: safe\n" + never)
    turn.save()
    text = reason(turn.stop())
    assert "do not repeat it" in text and "make the same call again" not in text


def test_an_honest_turn_ends_in_silence(project, turn):
    """What kept its contract, and a turn without calls, hold nobody."""
    assert silent(turn.stop())
    project.trust(TWO)
    assert silent(turn.stop())
    turn.save(write=True)
    assert silent(turn.stop())
    folder = os.path.join(project.state, "open", SESSION)
    assert not os.path.isdir(folder) or not os.listdir(folder)  # Codex' are kept until they have ended


def test_a_failure_that_was_told_holds_nobody(project):
    """The tool itself said that it failed."""
    project.trust(TWO)
    turn = Turn(project)
    failed = project.failed("mcp__notes__save_note", {"title": "a", "body": "hello"}, "no notebook is open")
    turn.told({**failed, **turn.marks})
    assert silent(turn.stop())


def test_observing_holds_nobody(project, turn):
    """What a contract in observe mode found is for the person, who was told."""
    project.trust(TWO + "mode: observe\n")
    turn.save()
    assert silent(turn.stop())


def test_a_doubt_takes_no_refutation_back(project, turn):
    """An agent that changes the code of the check afterwards only makes a doubt: what was refuted stays so."""
    project.write("check.sh", "#!/bin/sh\nexit 1\n", 0o755)
    project.trust('version: 1\ncontracts:\n  - id: checked\n    tool: mcp__notes__save_note\n'
                  '    post: {command: {run: ["{{project}}/check.sh"]}}\n')  # fmt: skip
    assert turn.save().text.startswith("NOT DONE")
    project.write("check.sh", "#!/bin/sh\nexit 1 # as before\n", 0o755)
    assert "NOT DONE" in reason(turn.stop())


def test_another_note_does_not_put_it_right(project, turn):
    """A success of the same contract over something else is no remedy."""
    project.trust(TWO)
    turn.save("a")
    turn.save("b", write=True)
    assert "notes/a.md" in reason(turn.stop())


def test_parallel_calls_are_told_apart(project, turn):
    """Of three calls at once, one lied: it alone is named."""
    project.trust(TWO)
    payloads = [turn.note(title) for title in "abc"]
    for each in payloads:
        turn.asked(each)
    for title in "ac":
        project.write(f"notes/{title}.md", "hello")
    for each in payloads:
        project.hook(each, turn.harness)
    text = reason(turn.stop())
    assert "call toolu_02" in text and "toolu_01" not in text and "toolu_03" not in text


def test_another_session_is_its_own(project, turn):
    """A lie holds the session in which it was told, and no other."""
    project.trust(TWO)
    turn.save()
    assert silent(Turn(project, turn.harness, session="other").stop())
    assert "notes/a.md" in reason(turn.stop())


def test_a_turn_that_was_interrupted_is_answered_for_once(project, turn):
    """No stop ever came for it: the next one holds for what it left open, and none after that says a word of it."""
    project.trust(TWO)
    turn.save()
    turn.name = "turn-2"
    turn.told(turn.bash("ls"))
    text = reason(turn.stop("All saved."))
    assert text.startswith("NOT DONE: the effect of 1 call in this session is missing") and "call toolu_01" in text
    assert turn.stop(active=True).form == "notice"
    turn.name = "turn-3"
    turn.save("b", write=True)
    assert silent(turn.stop())


def test_what_was_told_at_a_stop_is_not_told_in_the_next_turn(project, turn):
    """Also where its turn ended without a hold in it: the person was told."""
    project.trust(TWO)
    turn.save()
    assert turn.stop(active=True).form == "notice"
    turn.name = "turn-2"
    assert silent(turn.stop())
    turn.save("b")
    text = reason(turn.stop())
    assert "notes/b.md" in text and "notes/a.md" not in text


def test_the_same_command_in_another_folder_puts_nothing_right(project, turn):
    """What counts is the path that comes of it: `mkdir x` here is not `mkdir x` there, whatever is shown of either."""
    project.trust(FOLDERS)
    for name in "ab":
        project.folder("project", name)
    turn.ran("mkdir x", cwd=os.path.join(project.root, "a"))
    payload = turn.bash("mkdir x", cwd=os.path.join(project.root, "b"))
    if turn.harness == "codex":
        record = completed(payload["tool_use_id"], "CommandExecution", exit_code=0)
        payload["transcript_path"] = rollout(project, record)
    turn.asked(payload)
    project.folder("project", "b", "x")
    project.hook(payload, turn.harness)
    ended = events(project, ENDED)
    assert [each.state for each in ended] == ["refuted", "verified"]
    assert len({each.data["verdicts"][0]["subject"] for each in ended}) == 1
    assert "/a/x" in reason(turn.stop())


def test_a_folder_that_the_command_itself_goes_to(project, turn):
    """`cd a && mkdir x` is not put right by `cd b && mkdir x`."""
    project.trust(FOLDERS)
    for name in "ab":
        project.folder("project", name)
    turn.ran("cd a && mkdir x")
    payload = turn.bash("cd b && mkdir x")
    if turn.harness == "codex":
        record = completed(payload["tool_use_id"], "CommandExecution", exit_code=0)
        payload["transcript_path"] = rollout(project, record)
    turn.asked(payload)
    project.folder("project", "b", "x")
    project.hook(payload, turn.harness)
    assert [each.state for each in events(project, ENDED)] == ["refuted", "verified"]
    assert "/a/x" in reason(turn.stop())


def test_the_same_call_in_another_folder_puts_nothing_right(project):
    """A contract whose path is relative is about another file there, though tool and arguments are the same."""
    project.trust("version: 1\ncontracts:\n  - id: note-saved\n    tool: mcp__notes__save_note\n"
                  "    post: {file_exists: {path: '{{args.title}}.md'}}\n")  # fmt: skip
    turn = Turn(project)
    here, there = project.folder("project", "a"), project.folder("project", "b")
    turn.save("n", cwd=here)
    payload = turn.note("n", cwd=there)
    turn.asked(payload)
    project.write("b/n.md", "x")
    project.hook(payload)
    assert [each.state for each in events(project, ENDED)] == ["refuted", "verified"]
    assert "/a/n.md" in reason(turn.stop())


def test_what_stands_open_long_ago_in_a_turn_is_not_lost(project, turn):
    """Thousands of calls after it, in the same turn, the lie still holds, and only once."""
    project.trust(TWO)
    turn.save()
    several(project, turn, 2100)
    assert "call toolu_01" in reason(turn.stop())
    several(project, turn, 2100, "y")
    assert silent(turn.stop()) or turn.stop().form == "notice"
    turn.name = "turn-2"
    assert silent(turn.stop())


def test_more_than_a_hundred_open_calls_hold_once(project, turn):
    """However many there are, each is remembered as told."""
    project.trust(TWO)
    turn.save()
    (lie,) = [each for each in events(project, ENDED) if each.call == "toolu_01"]
    ledger = Ledger(project.state)
    ledger.add(*(
        Event(SESSION, f"z{number}", ENDED, lie.at, turn.harness, "turn-1", "", lie.tool, f"i{number}", "refuted", lie.data)
        for number in range(150)
    ))  # fmt: skip
    ledger.close()
    assert reason(turn.stop()).count("- refuted") == 12
    assert turn.stop().form == "notice"
    turn.name = "turn-2"
    assert silent(turn.stop())


def several(project, turn, number, prefix="x"):
    """Calls that no contract is about, as the ledger keeps them."""
    ledger = Ledger(project.state)
    ledger.add(*(Event(SESSION, f"{prefix}{each}", ENDED, 1.0, turn.harness, turn.name, "", "Bash", f"{prefix}{each}")
                 for each in range(number)))  # fmt: skip
    ledger.close()
