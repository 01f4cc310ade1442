"""schema: the structured result, by a JSON Schema and nothing else."""

from __future__ import annotations

import threading

import pytest
from test_network import answer, server  # noqa: F401 - the fixture

from truecall_py.checks import schema
from truecall_py.errors import Unverified
from truecall_py.types import ABSENT, REFUTED, VERIFIED, ToolCall
from truecall_py.world import World

ISSUE = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}


@pytest.fixture
def world(tmp_path):
    return World(None, str(tmp_path), look=20.0)


def look(world, result, **params):
    call = ToolCall("claude-code", "PostToolUse", "mcp__issues__create", frozenset({"mcp"}), {}, result=result)
    return schema.run(params, call, world)


@pytest.mark.parametrize("example", schema.EXAMPLES, ids=lambda example: example["title"])
def test_the_examples_hold(example, world, tmp_path):
    """What the documentation shows is what happens."""
    for name, text in example["files"].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert look(world, example["result"], **example["check"]).state == example["verdict"]


def test_a_valid_result_is_verified(world):
    """The whole result, or the part at a path of it."""
    assert look(world, {"id": 7}, schema=ISSUE).state == VERIFIED
    found = look(world, {"items": [{"id": 7}]}, schema=ISSUE, path="items.0")
    assert (found.state, found.expected) == (VERIFIED, "result.items.0 is valid by the contract's schema")


def test_what_is_wrong_is_told_with_its_place(world):
    """The first five errors, each with its path; the rest is counted."""
    found = look(world, {"id": "7"}, schema=ISSUE)
    assert (found.state, found.found) == (REFUTED, "$.id: '7' is not of type 'integer'")
    found = look(world, list("abcdefg"), schema={"items": {"type": "integer"}})
    assert found.found.count(" is not of type ") == 5
    assert found.found.endswith("; and 2 more")
    assert len(look(world, ["x" * 100_000], schema={"items": {"type": "integer"}}).found) < 400


def test_a_path_that_is_not_there_is_refuted(world):
    """The result has another shape than the contract says."""
    assert look(world, {"items": []}, schema=ISSUE, path="items.0").state == REFUTED


def test_an_absent_result_is_no_verdict(world):
    """A tool without structured result cannot be judged by a schema."""
    with pytest.raises(Unverified) as caught:
        look(world, ABSENT, schema=ISSUE)
    assert caught.value.cause == "tool"


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"type": "objekt"}, "not a JSON Schema"),
        ({}, "asserts nothing"),
        (True, "asserts nothing"),
        ({"$ref": "#/$defs/nowhere"}, r"\$ref"),
        ({"$ref": "other.json"}, r"\$ref"),
        ({"$ref": "#"}, "without end"),
        ({"pattern": "("}, "not a (JSON Schema|regular expression)"),
    ],
)
def test_a_schema_that_is_none_is_no_verdict(world, rules, words):
    """A mistake in the schema is never the agent's."""
    with pytest.raises(Unverified, match=words) as caught:
        look(world, "text", schema=rules)
    assert caught.value.cause == "contract"


def test_a_schema_file_must_be_there_and_be_json(world, tmp_path):
    """Missing, not JSON, a key twice: the contract's trouble."""
    for text in (None, "{", '{"type": "object", "type": "array"}'):
        if text is not None:
            (tmp_path / "s.json").write_text(text)
        with pytest.raises(Unverified) as caught:
            look(world, {}, file="s.json")
        assert caught.value.cause == "contract"


def test_a_file_may_stand_in_either_field(world, tmp_path):
    """`schema: issue.json` is the same as `file: issue.json`."""
    (tmp_path / "issue.json").write_text('{"type": "object"}')
    assert look(world, {}, schema="issue.json").state == VERIFIED
    assert look(world, [], file="issue.json").state == REFUTED


def test_exactly_one_schema_is_given(world):
    """None, both, or a schema under `file`: the contract does not say what is asked."""
    for params in ({"path": "a"}, {"schema": ISSUE, "file": "s.json"}, {"file": ISSUE}):
        with pytest.raises(Unverified):
            look(world, {}, **params)


def test_nothing_is_fetched_for_a_reference(world, server):  # noqa: F811
    """A $ref to the network is not followed."""
    asked = threading.Event()
    here = server(lambda line, text, self: (asked.set(), line.sendall(answer(200, "{}"))))
    with pytest.raises(Unverified, match="not followed"):
        look(world, {}, schema={"$ref": f"{here.url}/schema.json"})
    assert not asked.is_set()


def test_a_pattern_that_does_not_end_is_no_verdict(tmp_path):
    """The child is stopped with the time of one look."""
    with pytest.raises(Unverified, match="did not end") as caught:
        look(World(None, str(tmp_path), look=1.5), "a" * 40 + "b", schema={"pattern": "^(a+)+$"})
    assert caught.value.cause == "probe"
