"""`truecall replay`, as a real process over transcripts that real clients wrote (tests/data/transcripts: ids, paths and long
texts are neutral) and over ones made here; how calls are read from them; the pool of processes."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from support.project import DATA, ROOT, interruptible

from truecall_py.cli import payload_files
from truecall_py.cli.commands.replay import pages
from truecall_py.cli.output.replay import Look
from truecall_py.clients import call_outcomes, transcripts
from truecall_py.clients.transcripts import Lines, Made, Said
from truecall_py.messages import corrections
from truecall_py.replay import claims as claiming
from truecall_py.replay import judge, process_pool
from truecall_py.world.world import World

HERE = os.path.join(DATA, "transcripts")
CLAUDE = ("claude-code-2.1.197", "claude-code-2.1.332")
CODEX = ("codex-0.144.6.jsonl", "codex-0.171.0.jsonl")
CONTRACTS = """\
version: 1
contracts:
  - id: note-there
    tool: mcp__notes__save_note
    post: {file_exists: {path: "{{project}}/notes/{{args.name}}.md"}}
  - id: note-long
    tool: mcp__notes__save_note
    post: {result: {of: text, contains: 25 characters}}
  - id: exit-zero
    kind: shell
    post: {result: {of: exit_code, equals: 0}}
"""


def read(path: str) -> tuple[list[Made], list[Said], Lines]:
    lines = Lines()
    every = list(transcripts.told(path, lines))
    return [each for each in every if isinstance(each, Made)], [each for each in every if isinstance(each, Said)], lines


def claude(*blocks: Any, session: str = "s1", prompt: str = "p1", **more: Any) -> list[dict]:
    """The lines of a transcript of Claude Code: a text is a prompt, ("says", text) the model's, (tool, arguments, answer)
    a call with its answer, and one without an answer a call that has none."""
    base = {"sessionId": session, "cwd": "/home/dev/app", "isSidechain": False, **more}
    lines: list[dict] = []
    for number, block in enumerate(blocks):
        if isinstance(block, str):
            prompt = f"p{number}" if number else prompt
            lines.append({**base, "type": "user", "promptId": prompt, "message": {"role": "user", "content": block}})
        elif block[0] == "says":
            said = {"id": f"m{number}", "content": [{"type": "text", "text": block[1]}]}
            lines.append({**base, "type": "assistant", "message": said})
        else:
            tool, args, *answer = block
            asks = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": args}
            lines.append({**base, "type": "assistant", "message": {"id": f"m{number}", "content": [asks]}})
            for one in answer:
                text = one if isinstance(one, str) else json.dumps(one)
                result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
                lines.append({**base, "type": "user", "message": {"content": [result]}, "toolUseResult": one})
    return lines


def shell(command: str, out: str = "ok") -> tuple[str, dict, dict]:
    return "Bash", {"command": command}, {"stdout": out, "stderr": "", "interrupted": False, "isImage": False}


def written(project: Any, name: str, lines: list[Any]) -> str:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    path: str = project.write(name, text)
    return path


def replay(project: Any, *argv: str, code: int) -> list[dict[str, Any]]:
    done = project.command("replay", "--json", *argv)
    assert done.returncode == code and not done.stderr, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def of(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["kind"] == kind]


BEFORE = """\
version: 1
contracts:
  - id: issue-form
    tool: mcp__board__create_issue
    pre:
      - schema: {schema: {required: [title], additionalProperties: false, properties: {title: {type: string}}}}
      - file_exists: {path: "{{project}}/board.md"}
  - id: no-sweep
    kind: shell
    when: {args.command: {runs: "psql -c {text}"}}
    pre: {sql: {text: "{{match.text}}", sweeping: refused}}
  - id: deploy-tested
    kind: shell
    when: {args.command: {runs: "make deploy"}}
    requires: tests-green
  - id: limit
    tool: mcp__pay__charge
    pre: {given: {value: "{{args.amount}}", is: {at_most: 100}}}
    receipt:
      from: {http_status: {url: "http://127.0.0.1:9/{{args.order}}"}}
      match: {order: "{{args.order}}"}
      state: status
      states: {done: verified}
"""


def test_guards_are_asked_of_past_calls_and_receipts_need_the_world_of_then(project: Any) -> None:
    """What a guard tells by the call alone is told: that it would be refused, or let through. What must have been
    verified before, what a folder holds and what a source says of an operation is that of then."""
    project.write("truecall.yaml", BEFORE)
    answer = [{"type": "text", "text": "done"}]
    path = written(project, "a.jsonl", claude(
        "do it", ("mcp__board__create_issue", {"titel": "a"}, answer),
        ("mcp__board__create_issue", {"title": "a"}, answer), shell("psql -c 'delete from users'"),
        shell("psql -c 'delete from users where id = 1'"), shell("make deploy"),
        ("mcp__pay__charge", {"order": "o1", "amount": 500}, answer),
    ))  # fmt: skip
    found = [
        (each["id"], each["verdict"], each["outcome"], each["checks"][-1]["check"])
        for row in of(replay(project, path, code=1), "call") for each in row["contracts"]
    ]  # fmt: skip
    assert found == [
        ("issue-form", "refuted", "would be refused", "file_exists"),
        ("issue-form", "needs-world", None, "file_exists"),
        ("no-sweep", "refuted", "would be refused", "sql"),
        ("no-sweep", "verified", "allowed", "sql"),
        ("deploy-tested", "needs-world", None, "requires"),
        ("limit", "refuted", "would be refused", "given"),
        ("limit", "needs-world", None, "receipt"),
    ]
    done = project.command("replay", path)
    assert "did you mean `title`" in done.stdout and 'a receipt (http_status) with order "o1"' in done.stdout


@pytest.fixture
def contracts(project: Any) -> Any:
    project.write("truecall.yaml", CONTRACTS)
    return project


# -- what is read ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLAUDE)
def test_calls_of_claude_code_are_read_as_its_hook_tells_them(client: str) -> None:
    """Answers with the tool's own object, failures with their exit code, refused edits, MCP blocks, a sub-agent."""
    made, said, lines = read(os.path.join(HERE, client, "session.jsonl"))
    calls = [each.call for each in made]
    assert not lines.damaged and not lines.unknown and lines.harness == "claude-code"
    assert [(call.tool, call.reported, call.exit_code) for call in calls] == [
        ("mcp__notes__save_note", "success", None), ("Bash", "success", 0), ("Bash", "failure", 3),
        ("Write", "success", None), ("Edit", "failure", None), ("Bash", "success", 0),
        ("mcp__notes__save_note", "success", None), ("Agent", "success", None),
    ]  # fmt: skip
    assert calls[0].text == "Saved note 'release' (25 characters)."
    assert calls[3].files[0].path == "/home/dev/project/a.txt" and calls[3].files[0].content == "one\n"
    assert len({call.turn for call in calls}) == 1 and calls[0].start_cwd == "/home/dev/project"
    assert [each.stop.message for each in said] == ["done"] and said[0].whole
    folder = os.path.join(HERE, client, "session", "subagents")
    made, said, lines = read(os.path.join(folder, os.listdir(folder)[0]))
    assert [(each.call.tool, each.call.text) for each in made] == [("Bash", "sub")] and made[0].call.agent
    assert said[0].stop.event == "SubagentStop" and not lines.damaged


@pytest.mark.parametrize("client", CODEX)
def test_calls_of_codex_are_read_as_its_hook_tells_them(client: str) -> None:
    """Exit codes by the record or the header, MCP answers whole, patches with their files, a patch within a command, a
    command that still runs, one in another folder."""
    made, said, lines = read(os.path.join(HERE, client))
    calls = [each.call for each in made]
    assert not lines.damaged and not lines.unknown and not lines.scripts and lines.harness == "codex"
    assert [(call.tool, call.reported, call.exit_code) for call in calls] == [
        ("mcp__notes__save_note", "success", None), ("Bash", "success", 0), ("Bash", "failure", 7),
        ("apply_patch", "success", None), ("apply_patch", "failure", None), ("apply_patch", "success", None),
        ("Bash", "unknown", None), ("Bash", "success", 0),
    ]  # fmt: skip
    assert calls[0].text == "Saved note 'release' (25 characters)." and calls[1].text == "hello\n"
    assert [file.path for file in calls[5].files] == ["/home/dev/project/viash.txt"]
    assert calls[6].background and calls[7].start_cwd == "/tmp"
    assert [each.stop.message for each in said] == ["done"]


def test_the_calls_of_a_script_are_read_by_the_record_of_their_end() -> None:
    """Code mode: a rollout of 0.171.0 holds each; one of 0.144.6 holds no commands, and that is counted."""
    made, said, lines = read(os.path.join(HERE, "codex-0.171.0-code-mode.jsonl"))
    assert [(each.call.tool, each.call.exit_code) for each in made] == [
        ("mcp__notes__save_note", None), ("Bash", 0), ("Bash", 7), ("apply_patch", None)]  # fmt: skip
    assert made[1].call.args["command"] == "echo hello" and made[1].call.text == "hello\n"
    assert made[3].call.files[0].content == "hi\n" and not lines.scripts and said[0].whole
    made, said, lines = read(os.path.join(HERE, "codex-0.144.6-code-mode.jsonl"))
    assert [each.call.tool for each in made] == ["mcp__notes__save_note", "apply_patch"]
    assert lines.scripts == 2 and not said[0].whole


def test_what_truecall_put_in_place_of_an_answer_is_no_answer(project: Any) -> None:
    """A correction in Claude Code's transcript hides the tool's words: nothing is judged by it."""
    blocks = [{"type": "text", "text": "NOT DONE: mcp__notes__save_note reported success, but nothing is there."}]
    path = written(project, "t.jsonl", claude("go", ("mcp__notes__save_note", {"name": "a"}, blocks)))
    project.write("truecall.yaml", CONTRACTS)
    (call,) = of(replay(project, path, code=3), "call")
    assert call["trouble"] == transcripts.REPLACED
    assert {each["id"]: each["verdict"] for each in call["contracts"]} == {"note-there": "needs-world", "note-long": "unverified"}


def test_codex_keeps_the_answer_beside_a_correction(project: Any) -> None:
    """There the record of the end still holds what the tool said."""
    item = {"type": "McpToolCall", "id": "c", "server": "notes", "tool": "save_note", "arguments": {"name": "a"},
            "status": "completed", "result": {"content": [{"type": "text", "text": "Saved."}]}}  # fmt: skip
    path = written(project, "r.jsonl", [
        {"type": "session_meta", "payload": {"id": "s", "cwd": "/home/dev/app"}},
        {"type": "response_item", "payload": {"type": "function_call", "name": "save_note", "namespace": "mcp__notes",
                                              "arguments": '{"name": "a"}', "call_id": "c"}},
        {"type": "event_msg", "payload": {"type": "item_completed", "item": item}},
        {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c", "output": "NOT DONE: x"}},
    ])  # fmt: skip
    (made,), _, _ = read(path)
    assert made.call.text == "Saved." and not made.trouble


# -- what is judged --------------------------------------------------------------------------------------------------


def test_only_the_call_is_judged(contracts: Any) -> None:
    """What looks at the call is verified or refuted; a file that is there today, or is not, changes nothing."""
    contracts.write("notes/release.md", "Ship version 2 on Friday.")
    rows = replay(contracts, os.path.join(HERE, CLAUDE[1], "session.jsonl"), code=1)
    calls = of(rows, "call")
    verdicts = [(each["tool"], one["id"], one["verdict"], one["outcome"]) for each in calls for one in each["contracts"]]
    assert verdicts == [
        ("mcp__notes__save_note", "note-there", "needs-world", None),
        ("mcp__notes__save_note", "note-long", "verified", "landed"),
        ("Bash", "exit-zero", "verified", "landed"),
        ("Bash", "exit-zero", "refuted", "honest failure"),
        ("Bash", "exit-zero", "verified", "landed"),
        ("mcp__notes__save_note", "note-there", "needs-world", None),
        ("mcp__notes__save_note", "note-long", "refuted", "lie"),
    ]
    (check,) = calls[0]["contracts"][0]["checks"]
    assert check["check"] == "file_exists" and check["found"] is None and "notes/release.md" in check["expected"]
    (total,) = of(rows, "summary")
    assert (total["calls"], total["applied"], total["refuted"], total["world"]) == (8, 5, 2, 1)
    assert next(each for each in total["contracts"] if each["contract"] == "note-long") == {
        "contract": "note-long", "verdicts": 2, "refuted": 1, "unverified": 0, "verified": 1, "world": 0,
    }  # fmt: skip


def test_nothing_of_a_contract_is_run(project: Any) -> None:
    """Neither a command nor a person's own code, wherever in a contract they stand."""
    project.write("truecall.yaml", """\
version: 1
contracts:
  - id: runs
    kind: shell
    post:
      - command: {run: [touch, "{{project}}/ran"]}
      - custom: {run: [touch, "{{project}}/ran"]}
      - any_of:
          - custom: {python: "code.py:look"}
          - command: {run: [touch, "{{project}}/ran"]}
      - not: {command: {run: [touch, "{{project}}/ran"]}}
""")  # fmt: skip
    project.write("code.py", "open('ran', 'w')\ndef look(call):\n    return False\n")
    path = written(project, "t.jsonl", claude("go", shell("make")))
    rows = replay(project, path, code=0)
    assert [each["verdict"] for each in of(rows, "call")[0]["contracts"][0]["checks"]] == ["needs-world"] * 4
    assert not os.path.exists(os.path.join(project.root, "ran"))


def test_the_world_of_then_has_no_door() -> None:
    """Every way in which World looks at the machine is shut in the one that past calls get, those of later versions
    too."""
    doors = {name for name in vars(World) if not name.startswith("_")} - set(judge.ALLOWED_NAMES)
    assert {"stat", "read", "names", "run", "fetch"} <= doors
    for name in doors:
        with pytest.raises(judge.Unverified):
            getattr(judge.Then(), name)
    for job in ({"do": "custom"}, {"do": "parse"}):
        with pytest.raises(judge.Unverified):
            judge.Then().slow(job)


@pytest.mark.parametrize(("post", "verdict"), [
    ("any_of: [{result: {of: text, contains: ok}}, {file_exists: {path: a}}]", "verified"),
    ("any_of: [{result: {of: text, contains: nope}}, {file_exists: {path: a}}]", "needs-world"),
    ("all_of: [{result: {of: text, contains: nope}}, {file_exists: {path: a}}]", "refuted"),
    ("all_of: [{result: {of: text, contains: ok}}, {file_exists: {path: a}}]", "needs-world"),
    ("not: {result: {of: text, contains: ok}}", "refuted"),
    ("not: {file_exists: {path: a}}", "needs-world"),
    ("schema: {schema: {required: [stdout]}}", "verified"),
    ("schema: {schema: {required: [code]}}", "refuted"),
    ("tests: {output: pytest, accept: output}", "unverified"),
])  # fmt: skip
def test_what_the_call_settles_is_settled(project: Any, post: str, verdict: str) -> None:
    """A combinator is judged as far as what looks at the call alone decides it, and no further."""
    project.write("truecall.yaml", f"version: 1\ncontracts:\n  - id: one\n    kind: shell\n    post: {{{post}}}\n")
    path = written(project, "t.jsonl", claude("go", shell("make")))
    code = {"refuted": 1, "unverified": 3}.get(verdict, 0)
    assert of(replay(project, path, code=code), "call")[0]["contracts"][0]["verdict"] == verdict


def test_a_call_without_an_answer_is_told(contracts: Any) -> None:
    """It was cut short: contracts that may apply are named, and nothing is judged."""
    path = written(contracts, "t.jsonl", claude("go", ("Bash", {"command": "make"})))
    rows = replay(contracts, path, code=3)
    assert of(rows, "call")[0]["contracts"][0]["verdict"] == "unverified"
    assert of(rows, "summary")[0]["unanswered"] == 1


# -- lines that cannot be read ----------------------------------------------------------------------------------------


def test_damaged_and_unknown_lines_are_counted_and_told(contracts: Any) -> None:
    """None is passed over in silence: where it stands, and what is wrong with it."""
    lines = claude("go", shell("make"))
    lines[1:1] = ["{\"type\": \"assist", "[1]", {"type": "from-the-future", "x": 1}, {**lines[0], "message": 7}, ""]
    lines.append({**lines[-1], "message": {"content": [{"type": "tool_result", "tool_use_id": "other"}]}})
    path = written(contracts, "t.jsonl", lines)
    with open(path, "ab") as file:
        file.write(b'{"type": "user", "x": "\xff"}\n{"type": "user"')
    rows = replay(contracts, path, code=3)
    (about,) = of(rows, "transcript")
    assert about["damaged"] == 6 and about["unknown"] == {"from-the-future": 1} and about["lines"] == 11
    assert [each["line"] for each in about["places"]] == [2, 3, 5, 9, 10]
    text = contracts.command("replay", path).stdout
    assert "line 2: not JSON" in text and "from-the-future (1)" in text and "6 unreadable lines" in text
    assert "and 1 more unreadable lines" in text


def test_a_line_without_end_is_not_held(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A longer line than any client writes is counted, and what stands behind it is read."""
    monkeypatch.setattr(transcripts, "LONGEST", 4096)
    lines = claude("go", shell("make"))
    lines.insert(1, json.dumps({"type": "user", "x": "x" * 20_000}))
    made, _, about = read(written(project, "t.jsonl", lines))
    assert len(made) == 1 and about.damaged == 1 and about.number == 4


def test_what_is_no_transcript_is_said_to_be_none(contracts: Any) -> None:
    """Another client's file in a folder is named and counted; a name that is not there is wrong usage."""
    written(contracts, "logs/mcp.jsonl", [{"debug": "started", "sessionId": "x"}] * 3)
    written(contracts, "logs/qwen.jsonl", [{"type": "user", "sessionId": "s", "message": {"role": "user", "parts": []}}])
    written(contracts, "logs/t.jsonl", claude("go", shell("make")))
    rows = replay(contracts, os.path.join(contracts.root, "logs"), code=0)
    assert of(rows, "summary")[0]["others"] == 2 and of(rows, "summary")[0]["transcripts"] == 1
    done = contracts.command("replay", "nothing.jsonl")
    assert done.returncode == 2 and "there is no such transcript" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_transcript_that_cannot_be_opened_is_told(contracts: Any) -> None:
    """It is named, the others are read, and the end is 3."""
    path = written(contracts, "logs/t.jsonl", claude("go", shell("make")))
    os.chmod(path, 0)
    assert of(replay(contracts, path, code=3), "trouble")[0]["why"] == "Permission denied"


def test_what_an_agent_wrote_rules_no_terminal(contracts: Any) -> None:
    """Names and texts arrive with their control characters spelled out, and half a surrogate pair ends nothing."""
    odd = "mcp__\x1b[2J\ud83d"
    path = written(contracts, "t.jsonl", claude("go", (odd, {"a": odd}, "x"), shell("x\x1b[31m"), ("says", "I fixed \x1b]0;it")))
    done = contracts.command("replay", "--all", path)
    assert done.returncode == 0 and "\x1b" not in done.stdout and "\\x1b[2J\\ud83d" in done.stdout


# -- claims ------------------------------------------------------------------------------------------------------------

TESTS = """\
version: 1
contracts:
  - id: tests-ran
    event: stop
    claims: ["tests pass"]
    kind: shell
    when: {args.command: {runs: "pytest *"}}
"""


def claims(project: Any, *blocks: Any, code: int, more: list[Any] | None = None, **about: Any) -> list[tuple[str, str]]:
    path = written(project, "t.jsonl", [*claude(*blocks, **about), *(more or [])])
    return [(each["verdict"], each["quote"]) for each in of(replay(project, path, code=code), "claim")]


def test_a_claim_without_its_call_is_refuted(project: Any) -> None:
    """By the contract's `claims`, as at the stop: the call must have been made, in this turn."""
    project.write("truecall.yaml", TESTS)
    says = ("says", "All done.\nThe tests pass now.")
    refuted = [("refuted", "The tests pass now.")]
    assert claims(project, "go", shell("make"), says, code=1) == refuted
    assert claims(project, "go", shell("pytest -q"), says, code=0) == []
    assert claims(project, "go", shell("make"), ("says", "Not tested."), code=0) == []
    assert claims(project, "go", says, "again", shell("pytest -q"), says, code=1) == refuted


@pytest.mark.parametrize("lost", ["an earlier turn", "a line", "no answer", "a sub-agent"])
def test_a_claim_is_not_refuted_where_its_call_may_be_lost(project: Any, lost: str) -> None:
    """A call of an earlier turn, of a line that cannot be read, without an answer, or of a sub-agent may be behind it."""
    project.write("truecall.yaml", TESTS)
    before = {
        "an earlier turn": [shell("pytest -q"), ("says", "ok"), "go on"], "a line": [],
        "no answer": [("Bash", {"command": "pytest -q"})],
        "a sub-agent": [("Agent", {"prompt": "test it"}, {"status": "completed", "content": []})],
    }[lost]  # fmt: skip
    lines = claude("go", *before, ("says", "tests pass"))
    if lost == "a line":
        lines.insert(1, "{")  # type: ignore[arg-type]
    path = written(project, "t.jsonl", lines)
    assert [each["verdict"] for each in of(replay(project, path, code=3), "claim")] == ["unverified"]


def test_without_claims_of_contracts_plain_words_are_listed_only(contracts: Any) -> None:
    """A turn that changes nothing and says that something was done: "says so", which is no lie and no failure."""
    says = ("says", "I've successfully fixed the bug, and all tests pass.")
    looked = ("Read", {"file_path": "/a"}, {"type": "text", "file": {"filePath": "/a", "content": "x"}})
    assert claims(contracts, "go", looked, says, code=0) == [("says-so", says[1])]
    assert claims(contracts, "go", shell("make"), says, code=0) == []
    assert claims(contracts, "go", ("says", "I would fix it like this."), code=0) == []
    text = contracts.command("replay", os.path.join(contracts.root, "t.jsonl")).stdout
    assert "lie" not in text


@pytest.mark.parametrize(("text", "says"), [
    ("I have updated the file.", True), ("I\u2019ve added a test", True), ("The file has been created.", True),
    ("All tests now pass.", True), ("The tests are green", True), ("Completed successfully", True),
    ("I can fix it if you like.", False), ("The tests fail.", False), ("Nothing was changed.", False),
    ("I have not updated it.", False),
])  # fmt: skip
def test_what_counts_as_saying_so(text: str, says: bool) -> None:
    """A few plain sentences in the past; offers, plans and denials are none."""
    assert bool(claiming.find_quote(claiming.CLAIM_PATTERNS, text)) is says


# -- many of them ------------------------------------------------------------------------------------------------------


def test_of_many_only_what_is_wrong_is_shown(contracts: Any) -> None:
    """In the order of their names, however many processes read them; --all shows the rest; the sums are of all."""
    for number in range(30):
        bad = number in (7, 21)
        written(contracts, f"logs/{number:02d}.jsonl", claude("go", shell("make") if not bad else shell("x")[:2] + (
            {"stdout": "", "stderr": "", "interrupted": True},)))  # fmt: skip
    text = contracts.command("replay", "logs", "--jobs", "3").stdout
    assert [line for line in text.splitlines() if line.endswith(".jsonl")] == ["logs/07.jsonl", "logs/21.jsonl"]
    assert "30 transcripts, 30 calls, 30 with a contract" in text
    whole = contracts.command("replay", "logs", "--all", "--jobs", "3").stdout
    names = [line for line in whole.splitlines() if line.endswith(".jsonl")]
    assert names == [f"logs/{number:02d}.jsonl" for number in range(30)]
    assert contracts.command("replay", "logs", "--all", "--jobs", "1").stdout == whole


def children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(each) for each in found.stdout.split()]


def gone(pid: int) -> bool:
    """Whether a process has ended (one that nobody waits for counts)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def until(holds: Any) -> None:
    ends = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < ends, "it did not come to that within 20 seconds"
        time.sleep(0.02)


def serving(item: str) -> Any:
    """What a worker does in the tests of the pool: the item says."""
    if item == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "bug":
        raise KeyError(item)
    if item == "slow":
        time.sleep(0.3)
    if item == "wait":
        time.sleep(60)
    size = 3 if item.startswith("large") else 1
    for number in range(size):
        yield f"{item} {number} ".encode() + b"x" * (300_000 if size == 3 else 0)
    yield len(item)


def pooled(items: list[str], jobs: int) -> list[tuple[str, int, Any, str]]:
    """(item, bytes, what it told, what it died of) of each item, in the order in which they were handed on."""
    found, size = [], 0
    with process_pool.Pool(serving, items, jobs, lambda done: None) as pool:
        for each in pool:
            if isinstance(each, process_pool.Piece):
                size += len(each.data)
            else:
                found.append((each.item, size, each.told, each.died))
                size = 0
        pids = [worker.process.pid for worker in pool.workers]
    assert all(gone(pid) for pid in pids)
    return found


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_a_pool_hands_on_in_order(jobs: int) -> None:
    """Whoever is done first waits on the shelf, on the disk where it is much; the first one is handed on as it comes."""
    items = ["slow", "large-a", "a", "slow", "large-b", "b"] * 3
    found = pooled(items, jobs)
    assert [item for item, *_ in found] == items
    assert all(size > 900_000 for item, size, *_ in found if item.startswith("large"))
    assert [told for _, _, told, _ in found] == [len(item) for item in items]


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_worker_that_dies_takes_only_its_item_along(jobs: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said of which item and how; another takes its place; a bug of ours is told the same way, with a report."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    found = pooled(["a", "die", "b", "bug", "c", "die"], jobs)
    died = {item: died for item, _, _, died in found}
    assert [item for item, *_ in found] == ["a", "die", "b", "bug", "c", "die"]
    assert died["a"] == died["b"] == died["c"] == "" and "signal 9" in died["die"]
    assert "bug of truecall's own (KeyError); a report is in" in died["bug"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes by /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_replay_that_is_stopped_leaves_nobody_behind(contracts: Any, tmp_path: Any, how: int) -> None:
    """Ctrl-C ends it with one sentence, and its processes with it; so does its death, as soon as they notice."""
    script = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "import os; from replay import test_replay\nfrom truecall_py.cli import main as cli; from truecall_py.replay import process_pool as workers\n"
        "from truecall_py.cli.commands import replay\n"
        "replay.pages = lambda sources, look, path: test_replay.serving('wait')\n"
        "sys.exit(cli.run(['replay', 'a.jsonl', 'b.jsonl', '--jobs', '2']))"
    )
    for name in ("a.jsonl", "b.jsonl"):
        written(contracts, name, claude("go", shell("make")))
    process = subprocess.Popen(
        [sys.executable, "-c", script, os.path.join(ROOT, "tests"), ROOT], env=contracts.env, cwd=contracts.root,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=interruptible,
    )  # fmt: skip
    try:
        until(lambda: len(children(process.pid)) == 2)
        kids = children(process.pid)
        if how == signal.SIGINT:
            os.killpg(process.pid, how)  # a terminal sends it to all of them
            out, err = process.communicate(timeout=20)
            assert process.returncode == 130 and not out
            assert err.strip() == "truecall: stopped. Nothing was changed."
        else:
            process.kill()
            process.wait()
            for pid in kids:  # they sleep; what they would say next, nobody hears
                os.kill(pid, signal.SIGCONT)
        if how == signal.SIGINT:
            until(lambda: all(gone(pid) for pid in kids))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            stream.close()


def test_the_heads_of_corrections_are_all_known() -> None:
    """Whatever a correction begins with is known again in a transcript."""
    with open(os.path.join(ROOT, "truecall_py", "messages", "corrections.py"), encoding="utf-8") as file:
        begins = set(re.findall(r'"((?:NOT|ALREADY) [A-Z]+: )', file.read()))
    assert begins == set(corrections.HEADLINES)


def test_what_a_process_of_the_pool_needs_can_be_sent_to_it(contracts: Any) -> None:
    """Where processes are not forked (macOS), contracts and options reach them whole."""
    sources = payload_files.sources(os.path.join(contracts.root, "truecall.yaml"))
    work = functools.partial(pages, sources, Look(True, False, False, False, 80))
    path = written(contracts, "t.jsonl", claude("go", shell("make")))
    assert list(pickle.loads(pickle.dumps(work))(path))[:-1] == list(work(path))[:-1]


def test_no_transcript_is_a_bug(contracts: Any) -> None:
    """Whatever stands where a client would write something else: each line is read or counted, and nothing raises."""
    odd = [None, 7, True, [], {}, "", "\ud800", [1], {"a": 1}, [[]], [{"type": 5}]]
    chance = random.Random(1)

    def changed(value: Any) -> Any:
        if chance.random() < 0.04:
            return chance.choice(odd)
        if isinstance(value, dict):
            return {name: changed(each) for name, each in value.items() if chance.random() > 0.02}
        return [changed(each) for each in value] if isinstance(value, list) else value

    sources = payload_files.sources(os.path.join(contracts.root, "truecall.yaml"))
    paths = [os.path.join(HERE, name) for name in (*CODEX, "codex-0.171.0-code-mode.jsonl")]
    paths += [os.path.join(HERE, name, "session.jsonl") for name in CLAUDE]
    for path in paths * 12:
        with open(path, encoding="utf-8") as file:
            lines = [json.dumps(changed(json.loads(line))) for line in file]
        found = list(pages(sources, Look(True, False, False, False, 80), written(contracts, "t.jsonl", lines)))
        assert found[-1].total["lines"] in (0, len(lines)) and all(json.loads(each) for each in found[:-1])


@pytest.mark.parametrize("success", [[], {}, "yes", None])
def test_a_record_that_says_nothing_leaves_the_end_unknown(success: Any) -> None:
    """At the stop, too, where fates are read: a patch whose end is no yes and no no."""
    line = json.dumps({"payload": {"type": "patch_apply_end", "call_id": "c", "success": success}}).encode()
    ((name, fate, _),) = call_outcomes.told(line)
    assert (name, fate.said) == ("c", "unknown")
