"""What `truecall replay` judges of past calls, as a real process."""

from __future__ import annotations

import os
from typing import Any

import pytest
from support.transcripts import CLAUDE, HERE, claude, of, replay, shell, written

from truecall_py.replay import judge
from truecall_py.world.world import World

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
