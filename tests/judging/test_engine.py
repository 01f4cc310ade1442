"""Matching and judging: which contracts apply, what a verdict is made of, how long is looked."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import pytest

import truecall_py
from truecall_py.judging.judge import Judgement


def claude(tool: str, args: dict[str, Any], response: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "session_id": "s", "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": args,
        "tool_use_id": "t", "tool_response": response, **more,
    }  # fmt: skip


def judged(folder: Any, payload: dict[str, Any], *contracts: dict[str, Any]) -> Judgement:
    payload.setdefault("cwd", str(folder))
    numbered = [{"id": f"c{number}", **contract} for number, contract in enumerate(contracts)]
    here = os.getcwd()
    os.chdir(folder)
    try:
        return truecall_py.judge(payload, {"version": 1, "contracts": numbered}, deadline=10)
    finally:
        os.chdir(here)


def states(judgement: Judgement) -> list[str]:
    return [verdict.state for verdict in judgement.verdicts]


THERE = {"file_exists": {"path": "{{project}}/there"}}
GONE = {"file_exists": {"path": "{{project}}/gone"}}
OTHER = {"file_exists": {"path": "{{project}}/there", "min_size": 100}}
UNSURE = {"file_exists": {"path": "{{args.missing}}"}}


@pytest.fixture
def folder(tmp_path: Any) -> Any:
    (tmp_path / "there").write_text("x")
    return tmp_path


@pytest.mark.parametrize(
    ("post", "state"),
    [
        ([THERE], "verified"),
        ([THERE, GONE], "refuted"),
        ([THERE, UNSURE], "unverified"),
        ([UNSURE, GONE], "refuted"),
        ([{"all_of": [THERE, GONE]}], "refuted"),
        ([{"all_of": [THERE, UNSURE]}], "unverified"),
        ([{"any_of": [GONE, THERE]}], "verified"),
        ([{"any_of": [GONE, GONE]}], "refuted"),
        ([{"any_of": [GONE, UNSURE]}], "unverified"),
        ([{"not": GONE}], "unverified"),
        ([{"not": OTHER}], "verified"),
        ([{"not": THERE}], "refuted"),
        ([{"not": UNSURE}], "unverified"),
        ([{"not": {"any_of": [GONE, UNSURE]}}], "unverified"),
        ([{"not": {"all_of": [THERE, {"not": OTHER}]}}], "refuted"),
    ],
)
def test_the_worst_check_counts_and_doubt_stays_doubt(folder: Any, post: list[Any], state: str) -> None:
    """Refuted beats unverified beats verified; no combinator turns "could not be told" into a verdict."""
    assert states(judged(folder, claude("mcp__a__b", {}), {"tool": "mcp__a__b", "post": post})) == [state]


@pytest.mark.parametrize(
    ("named", "applies"),
    [
        ({"tool": "mcp__a__b"}, True),
        ({"tool": "mcp__a__*"}, True),
        ({"tool": "mcp__?__b"}, True),
        ({"tool": "mcp__a"}, False),
        ({"tool": "MCP__a__b"}, False),
        ({"tool": ["Write", "mcp__a__b"]}, True),
        ({"kind": "mcp"}, True),
        ({"kind": ["write", "mcp"]}, True),
        ({"kind": "write"}, False),
        ({"kind": "write", "tool": "mcp__*"}, True),
    ],
)
def test_a_contract_is_named_by_tool_or_kind(folder: Any, named: dict[str, Any], applies: bool) -> None:
    """`tool` is the whole name, case-sensitive, with * and ?; `kind` is any of the call's; either is enough."""
    found = judged(folder, claude("mcp__a__b", {}), {**named, "post": THERE})
    assert states(found) == (["verified"] if applies else [])


@pytest.mark.parametrize(
    ("when", "applies"),
    [
        ({"args.n": 1}, True),
        ({"args.n": "1"}, False),
        ({"args.n": {"at_least": 1, "at_most": 1}}, True),
        ({"args.n": True}, False),
        ({"args.text": {"matches": "^hel"}, "args.n": 1}, True),
        ({"args.text": {"matches": "^hel"}, "args.n": 2}, False),
        ({"args.none": {"exists": False}}, True),
        ({"args.none": {"not_equals": 3}}, True),
        ({"args.none": {"equals": None}}, False),
        ({"args.list": {"contains": 2, "length": 2}}, True),
        ({"args.list.0": 1}, True),
        ({"args.list.7": {"exists": True}}, False),
        ({"args.text": {"one_of": ["hello", "x"]}}, True),
        ({"result.ok": True}, True),
        ({"text": {"contains": "nope"}}, False),
        ({"reported": "success"}, True),
    ],
)
def test_when_decides_whether_a_contract_applies(folder: Any, when: dict[str, Any], applies: bool) -> None:
    """All conditions must hold; types count; what is not there meets only the negative ones."""
    payload = claude("mcp__a__b", {"n": 1, "text": "hello", "list": [1, 2]}, [{"type": "text", "text": '{"ok": true}'}])
    assert bool(judged(folder, payload, {"kind": "mcp", "when": when, "post": THERE}).verdicts) is applies


def test_every_applicable_contract_is_judged_and_every_failure_is_told(folder: Any) -> None:
    """Two broken contracts give one correction that holds both; a kept one is not in it."""
    found = judged(folder, claude("mcp__a__b", {}), *({"kind": "mcp", "post": post} for post in (GONE, THERE, GONE)))
    assert states(found) == ["refuted", "verified", "refuted"]
    assert found.correction is not None
    assert "c0 (" in found.correction.text and "c2 (" in found.correction.text and "c1" not in found.correction.text


def test_a_file_contract_is_judged_for_every_file_of_the_call(folder: Any) -> None:
    """{{file.path}} stands for each file of a patch in turn; deletes are passed over by presence checks."""
    patch = "*** Begin Patch\n*** Add File: there\n+x\n*** Add File: new\n+x\n*** Delete File: old\n*** End Patch\n"
    payload = {
        "session_id": "s", "turn_id": "t", "hook_event_name": "PostToolUse", "tool_name": "apply_patch",
        "tool_input": {"command": patch}, "tool_response": "ok", "tool_use_id": "c", "cwd": str(folder),
    }  # fmt: skip
    present = {"kind": ["write", "edit"], "post": {"file_exists": {"path": "{{file.path}}"}}}
    absent = {"kind": "delete", "post": {"file_absent": {"path": "{{file.path}}"}}}
    found = judged(folder, payload, present, absent)
    assert [(v.contract, v.state, os.path.basename(v.subject)) for v in found.verdicts] == [
        ("c0", "verified", "there"), ("c0", "refuted", "new"), ("c1", "verified", "old"),
    ]  # fmt: skip


def test_within_waits_until_it_holds(folder: Any) -> None:
    """With `within`, an effect that comes a little later is verified; without, the first look counts."""
    contract = {"kind": "mcp", "post": {"file_exists": {"path": "{{project}}/late"}}}
    first = judged(folder, claude("mcp__a__b", {}), contract)
    timer = threading.Timer(0.4, lambda: (folder / "late").write_text("x"))
    timer.start()
    second = judged(folder, claude("mcp__a__b", {}), {**contract, "within": "5s", "every": "50ms"})
    timer.join()
    assert (states(first), states(second)) == (["refuted"], ["verified"])


def test_stable_for_sees_what_does_not_last(folder: Any) -> None:
    """With `stable_for`, what is gone again a moment later is refuted."""
    once = {"command": {"run": ["rm", str(folder / "there")]}}  # true at the first probe only
    contract = {"kind": "mcp", "post": once, "stable_for": "2s", "every": "50ms"}
    found = judged(folder, claude("mcp__a__b", {}), contract)
    assert states(found) == ["refuted"]


def test_within_never_outlasts_the_deadline(folder: Any) -> None:
    """A contract that would wait for a minute ends with the one deadline."""
    began = time.monotonic()
    contract = {"id": "c", "kind": "mcp", "post": GONE, "within": "1m"}
    payload = claude("mcp__a__b", {}, cwd=str(folder))
    found = truecall_py.judge(payload, {"version": 1, "contracts": [contract]}, deadline=0.5)
    assert states(found) == ["unverified"] and "the last look found" in found.verdicts[0].outcomes[0].found
    assert time.monotonic() - began < 10


def test_a_contract_that_is_wrong_is_not_waited_for(folder: Any) -> None:
    """A template that names nothing will not come true by waiting."""
    began = time.monotonic()
    found = judged(folder, claude("mcp__a__b", {}), {"kind": "mcp", "post": UNSURE, "within": "9s"})
    assert states(found) == ["unverified"] and time.monotonic() - began < 5


def test_a_failure_that_says_so_is_looked_at_once_and_not_accused(folder: Any) -> None:
    """After a reported failure: no waiting, no word without a remedy, and with one no accusation."""
    payload = claude("mcp__a__b", {})
    payload = {**payload, "hook_event_name": "PostToolUseFailure", "error": "disk full"}
    del payload["tool_response"]
    began = time.monotonic()
    plain = judged(folder, dict(payload), {"kind": "mcp", "post": GONE, "within": "9s"})
    assert (plain.verdicts[0].outcome, plain.correction) == ("honest failure", None)
    assert time.monotonic() - began < 5
    helped = judged(folder, dict(payload), {"kind": "mcp", "post": GONE, "remedy": "free some space"})
    assert helped.correction is not None and not helped.correction.replace
    assert "free some space" in helped.correction.text and "reported success" not in helped.correction.text
    landed = judged(folder, dict(payload), {"kind": "mcp", "post": THERE})
    assert landed.correction is not None and "do not repeat" in landed.correction.text


def test_a_background_command_is_neither_true_nor_blocked(folder: Any) -> None:
    """A launch into the background is unverified, told beside the output, even where its effect is there."""
    response = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, "backgroundTaskId": "b1"}
    found = judged(folder, claude("Bash", {"command": "make"}, response), {"kind": "shell", "post": THERE})
    assert states(found) == ["unverified"]
    assert found.correction is not None and not found.correction.replace and "NOT FINISHED" in found.correction.text


def test_observe_judges_and_never_blocks(folder: Any) -> None:
    """A contract in observe mode gives a notice to the person and nothing to the agent."""
    found = judged(folder, claude("mcp__a__b", {}), {"kind": "mcp", "post": GONE, "mode": "observe"})
    assert states(found) == ["refuted"] and found.correction is None
    assert any("observe" in notice and "c0" in notice for notice in found.notices)


def test_relative_paths_need_a_folder_that_is_known(folder: Any) -> None:
    """After `cd`, Claude's folder is the one it ended in: a relative path is then not guessed at."""
    response = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}
    check = {"file_exists": {"path": "there"}}
    plain = judged(folder, claude("Bash", {"command": "make"}, response), {"kind": "shell", "post": check})
    moved = judged(folder, claude("Bash", {"command": "cd sub && make"}, response), {"kind": "shell", "post": check})
    assert (states(plain), states(moved)) == (["verified"], ["unverified"])


def test_a_check_that_raises_is_no_verdict_and_not_the_agents_fault(folder: Any, monkeypatch: Any) -> None:
    """A bug inside a check becomes unverified, appended, with the order to leave it to the user."""
    from truecall_py.checks import file_exists

    def burst(*_: Any) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(file_exists, "run", burst)
    found = judged(folder, claude("mcp__a__b", {}), {"kind": "mcp", "post": THERE})
    assert states(found) == ["unverified"] and found.verdicts[0].cause == "truecall"
    assert found.correction is not None and not found.correction.replace
    assert "in the check, not in your work" in found.correction.text


@pytest.mark.parametrize(("wanted", "words"), [
    ("safe", "make the same call again now"), ("keyed", "same idempotency key"), ("never", "do not repeat"),
    (None, "check whether the effect"),
])  # fmt: skip
def test_repeat_chooses_the_order(folder: Any, wanted: str | None, words: str) -> None:
    """Whether the same call may be made again is the contract's word, and the default is careful."""
    contract = {"kind": "mcp", "post": GONE, **({"repeat": wanted} if wanted else {})}
    found = judged(folder, claude("mcp__a__b", {}), contract)
    assert found.correction is not None and words in found.correction.text


def test_a_write_may_be_made_again_by_default(folder: Any) -> None:
    """For write, edit and read the order is to make the same call again."""
    payload = claude("Write", {"file_path": str(folder / "gone"), "content": "x"}, {"type": "create"})
    found = judged(folder, payload, {"kind": "write", "post": {"file_exists": {"path": "{{file.path}}"}}})
    assert found.correction is not None and "make the same call again now" in found.correction.text


class Sensor:
    """A program that tells the truth or not, look by look, as a file says."""

    def __init__(self, folder: Any, *looks: int) -> None:
        self.script = folder / "sensor.sh"
        self.script.write_text('#!/bin/sh\nread -r code < looks\nsed -i 1d looks\necho look >> seen\nexit "$code"\n')
        self.script.chmod(0o755)
        (folder / "looks").write_text("".join(f"{code}\n" for code in looks))
        self.seen = folder / "seen"

    def contract(self, **more: Any) -> dict[str, Any]:
        return {"tool": "t", "every": "10ms", "post": {"command": {"run": ["./sensor.sh"]}}, **more}


@pytest.mark.parametrize(
    ("agree", "looks", "state", "count"),
    [
        (1, (0, 1), "verified", 1),
        (2, (0, 0, 1), "verified", 2),
        (2, (1, 1, 0), "refuted", 2),
        (2, (0, 1, 1), "unverified", 2),
        (2, (1, 0, 0), "unverified", 2),
        (3, (1, 1, 0), "unverified", 3),
        (3, (0, 0, 0), "verified", 3),
        (2, (126, 0, 0), "unverified", 1),
    ],
)
def test_agree_needs_looks_in_a_row_that_end_alike(tmp_path, agree, looks, state, count):
    """A reading can be wrong in both directions: looks that disagree are a verdict in neither."""
    sensor = Sensor(tmp_path, *looks)
    judgement = judged(tmp_path, claude("t", {}), sensor.contract(agree=agree))
    assert states(judgement) == [state]
    assert sensor.seen.read_text().count("look") == count
    if len(set(looks[:agree])) > 1 and 126 not in looks:
        (outcome,) = judgement.verdicts[0].outcomes
        assert outcome.found.startswith(f"look {count} found it ") and outcome.cause == "probe"
        assert judgement.correction is not None and not judgement.correction.replace


def test_agree_stops_at_the_deadline(tmp_path):
    """Looks that did not fit in the time are no agreement."""
    sensor = Sensor(tmp_path, *[0] * 50)
    judgement = judged(tmp_path, claude("t", {}), sensor.contract(agree=40, every="1s"))
    assert states(judgement) == ["unverified"]
    assert "was over" in judgement.verdicts[0].outcomes[-1].found
