"""schema: the structured result, by a JSON Schema and nothing else."""

from __future__ import annotations

import threading

import pytest
from support.http_server import answer

from truecall_py.checks import schema
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, REFUTED, VERIFIED, ToolCall
from truecall_py.world.world import World

ISSUE = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}


@pytest.fixture
def world(tmp_path):
    return World(None, str(tmp_path), look=20.0)


def look(world, result, args=None, **params):
    kinds = frozenset({"mcp"})
    call = ToolCall("claude-code", "PostToolUse", "mcp__issues__create", kinds, args or {}, result=result)
    return schema.run(params, call, world)


@pytest.mark.parametrize("example", schema.EXAMPLES, ids=lambda example: example["title"])
def test_the_examples_hold(example, world, tmp_path):
    """What the documentation shows is what happens."""
    for name, text in example.get("files", {}).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = look(world, example.get("result", ABSENT), example.get("args", {}), **example["check"])
    assert found.state == example["verdict"]


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


NOTE = {
    "type": "object", "required": ["title", "body"], "additionalProperties": False,
    "properties": {"title": {"type": "string", "maxLength": 9}, "body": {"type": "string"}, "file_path": {}},
}  # fmt: skip


def told(world, args, schema=NOTE, **more):
    found = look(world, ABSENT, args, of="args", schema=schema, **more)
    assert found.state == REFUTED
    return found.found


def test_a_wrong_argument_is_told_with_what_the_schema_says_of_it(world):
    """Missing, misspelt and extra fields are named, with what was sent and the rule for just those fields."""
    assert told(world, {"titel": "a", "body": "x"}) == (
        '`titel` is no field: did you mean `title`? (sent: "a"); by the schema: title: {"type":"string","maxLength":9}'
    )
    assert told(world, {"title": "a"}) == '`body` is missing; by the schema: body: {"type":"string"}'
    text = told(world, {"title": "a", "body": "x", "colour": "red"})
    assert text.startswith('`colour` is a field too many (sent: "red"); the fields are title, body, file_path')
    text = told(world, {"title": 7, "body": "x"})
    assert text == '`title` is not as it must be (sent: 7); by the schema: title: {"type":"string","maxLength":9}'
    assert told(world, {}).startswith("`title` is missing; `body` is missing; by the schema: title: ")


def test_what_was_sent_is_bounded_and_masked(world):
    """A long value is cut in the middle, a secret is not repeated."""
    secret = "ghp_" + "a1B2" * 9
    text = told(world, {"title": "x" * 100_000, "body": "x", "token": secret})
    assert len(text) < 900 and secret not in text


def test_an_inner_field_is_told_with_its_place(world):
    """Where an object in the arguments is wrong, its path is named."""
    nested = {"properties": {"issue": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}}}
    assert told(world, {"issue": {}}, nested).startswith("`issue.id` is missing")
    assert told(world, {"issue": {"id": "7"}}, nested).startswith("`issue.id` is not as it must be")


def test_neutral_names_are_no_fields_too_many(world):
    """What the adapter put beside the client's own names was not sent."""
    call = ToolCall("claude-code", "PreToolUse", "mcp__a__b", frozenset({"mcp"}),
                    {"title": "a", "body": "x", "file_path": "/a", "path": "/a"}, added=("path",))  # fmt: skip
    assert schema.run({"of": "args", "schema": NOTE}, call, world).state == VERIFIED


def test_a_format_is_asserted(world):
    """A date that is none is refuted, and one that is holds; what is no text has no format."""
    rules = {"properties": {"day": {"format": "date"}}}
    given = [look(world, {"day": day}, schema=rules).state for day in ("2024-02-29", "soon", 3)]
    assert given == ["verified", "refuted", "verified"]
