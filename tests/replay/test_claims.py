"""The claims of past turns."""

from __future__ import annotations

import os
from typing import Any

import pytest
from support.transcripts import claude, of, replay, shell, written

from truecall_py.replay import claims as claiming

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
