"""`doubts: silent`: what cannot be told is no verdict and gets no word, and still never a pass. And `runs` as a list."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from truecall_py import judge
from truecall_py.checks import result
from truecall_py.core.errors import ContractError, Unverified
from truecall_py.core.types import CAUSES, REFUTED, UNVERIFIED, VERIFIED


def judged(post: Any, folder: Any = "/", command: str = "make all", **contract: Any) -> Any:
    entry = {"id": "one", "kind": "shell", "post": post, **contract}
    payload = {
        "session_id": "s", "tool_use_id": "t", "cwd": str(folder), "hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_response": {"stdout": "done", "stderr": "", "interrupted": False, "isImage": False},
    }
    return judge(payload, {"version": 1, "contracts": [entry]})


UNTOLD = {"result": {"of": "is_error", "not_equals": True}}  # the answer of a shell command has no such flag


def test_a_doubt_gets_a_word_unless_the_contract_says_otherwise() -> None:
    """Without the field it is said; with it there is neither a verdict nor a word."""
    loud = judged(UNTOLD)
    assert [verdict.state for verdict in loud.verdicts] == [UNVERIFIED] and loud.correction is not None
    quiet = judged(UNTOLD, doubts="silent")
    assert quiet.verdicts == () and quiet.correction is None


def test_a_refutation_and_a_pass_stay_what_they_are() -> None:
    """A doubt beside a refutation does not hide it."""
    refuted = judged([UNTOLD, {"result": {"of": "text", "contains": "gone"}}], doubts="silent")
    assert refuted.verdicts[0].state == REFUTED and refuted.correction.replace
    assert judged({"result": {"of": "text", "contains": "done"}}, doubts="silent").verdicts[0].state == VERIFIED


@given(cause=some.sampled_from(CAUSES), held=some.booleans())
def test_whatever_the_doubt_is_about(cause: str, held: bool) -> None:
    """No doubt is a pass, beside whatever held; a fault of truecall's own is told all the same."""
    kept = result.run

    def run(params: Any, call: Any, world: Any) -> Any:
        if params.get("of") == "is_error":
            raise Unverified("so it is", cause)
        return kept(params, call, world)

    result.run = run
    try:
        post = [UNTOLD, {"result": {"of": "text", "contains": "done"}}] if held else UNTOLD
        found = judged(post, doubts="silent").verdicts
    finally:
        result.run = kept
    assert [verdict.state for verdict in found] == ([UNVERIFIED] if cause == "truecall" else [])


def test_a_check_that_raises_is_told(monkeypatch: Any) -> None:
    """A fault of a check is never hidden by the contract's wish for silence."""

    def run(params: Any, call: Any, world: Any) -> Any:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(result, "run", run)
    found = judged(UNTOLD, doubts="silent")
    assert found.verdicts[0].state == UNVERIFIED and "ZeroDivisionError" in found.correction.text


def test_any_pattern_of_a_list(tmp_path: Any) -> None:
    """A command applies where any of the patterns matches it, once, with what that one captures."""
    when = {"args.command": {"runs": ["make {goal} &&", "make {goal}", "ninja {goal}"]}}
    post = {"file_exists": {"path": "{{match.goal}}"}}
    for command in ("make all", "ninja all"):
        (verdict,) = judged(post, tmp_path, command, when=when).verdicts
        assert verdict.state == REFUTED and verdict.subject == "all"
    assert judged(post, tmp_path, "just all", when=when).verdicts == ()


@pytest.mark.parametrize(("patterns", "code"), [
    (["make {goal}", "ninja *"], "TC205"),  # what only one of them captures cannot be used
    (["make {goal}", "a | b {goal}"], "TC207"),
    ([], "TC108"),
])  # fmt: skip
def test_a_list_of_patterns_that_cannot_be_used(patterns: list[str], code: str) -> None:
    """A list of patterns that cannot be used is found when the contract is loaded."""
    when = {"args.command": {"runs": patterns}}
    with pytest.raises(ContractError) as caught:
        judged({"file_exists": {"path": "{{match.goal}}"}}, when=when)
    assert code in [problem.code for problem in caught.value.problems]
