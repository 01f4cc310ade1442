"""JSON as text: what is read, what is refused and where, and that an edit keeps every other byte."""

from __future__ import annotations

import json
import random

import pytest
from support.json_texts import value, written

from truecall_py.clients import jsonc
from truecall_py.clients.claude_code import registration as claude_code
from truecall_py.clients.codex import registration as codex
from truecall_py.clients.copilot_cli import registration as copilot_cli
from truecall_py.clients.gemini_cli import registration as gemini_cli
from truecall_py.clients.jsonc import Document, SettingsError
from truecall_py.clients.payload import quote_word
from truecall_py.clients.registration import build_line, split_words
from truecall_py.setup import hook_entries

GEMINI = gemini_cli.REGISTRATION
COMMANDS = {"AfterTool": build_line("gemini-cli", "AfterTool", "/py", "/hooks/run.sh", "/state")}


def put(text: str) -> str:
    return hook_entries.merge_entries(text, GEMINI, COMMANDS).text


@pytest.mark.parametrize("text, where", [
    ("", "1:1"), ("  \n", "1:1"), ("{", "1:2"), ('{"a"}', "1:5"), ('{"a": }', "1:7"), ('{"a": 1 "b": 2}', "1:9"),
    ("{a: 1}", "1:2"), ("{'a': 1}", "1:2"), ('{"a": 01}', "1:8"), ('{"a": tru}', "1:7"), ('{"a": "x\ny"}', "1:7"),
    ('{"a": "\\x"}', "1:7"), ("[1,,2]", "1:4"), ("[,]", "1:2"), ("{} {}", "1:4"), ("/* x", "1:1"), ("[1", "1:3"),
    ('{\n  "a": [1, 2\n}', "3:1"), ('{\r\n"a": nan}', "2:6"), ("[" * 2000, "1:302"),
])  # fmt: skip
def test_what_is_no_json_is_refused_with_its_place(text: str, where: str) -> None:
    """Every text that is no JSON (comments and trailing commas aside) is refused, with line and column."""
    with pytest.raises(SettingsError) as caught:
        Document(text)
    assert jsonc.place(text, caught.value.offset) == where
    with pytest.raises((ValueError, RecursionError)):
        json.loads(text)


@pytest.mark.parametrize("text", [
    "{}", "[]", '{"a": [1, -0.5e+3, true, null, "\\u00e9\\n\\"", {"b": {}}]}', '"x"', "1", ' {"\u2028": "\u00a0"} \n',
])  # fmt: skip
def test_strict_json_is_read_as_json_reads_it(text: str) -> None:
    """The value is the one that Python's own reader gives."""
    assert Document(text).root.plain() == json.loads(text)


def test_comments_trailing_commas_and_repeated_keys_are_noticed() -> None:
    """They are read over, and their places are known; what looks like one in a string is none."""
    doc = Document('\ufeff// a\n{"x": "// no /* no", /* b */ "y": [1, 2,], "x": 2,}\n// c')
    assert doc.bom and len(doc.comments) == 3 and len(doc.trailing) == 2 and len(doc.repeated) == 1
    assert doc.root.plain() == {"x": 2, "y": [1, 2]}


INNER = '{"hooks": [{"type": "command", "command": "COMMAND", "timeout": 30000}]}'.replace(
    "COMMAND", COMMANDS["AfterTool"]
)


@pytest.mark.parametrize("before, after", [
    ('{"a":1}', '{"a":1,"hooks":{"AfterTool":[@]}}'),
    ('{"a": 1, "b": 2}\n', '{"a": 1, "b": 2, "hooks": {"AfterTool": [@]}}\n'),
    ('{"hooks": {"AfterTool": [], "x": 1}}', '{"hooks": {"AfterTool": [@], "x": 1}}'),
    ('{ "hooks" : { } }', '{ "hooks" : { "AfterTool": [@]} }'),
    ('{"hooks": {"AfterTool": [{"matcher": "x", "hooks": []}]}}',
     '{"hooks": {"AfterTool": [{"matcher": "x", "hooks": []}, @]}}'),
])  # fmt: skip
def test_one_line_stays_one_line(before: str, after: str) -> None:
    """A text on one line gets its entry on that line, with the blanks that it has itself."""
    inner = INNER if ": " in before else INNER.replace(": ", ":").replace(", ", ",")
    result = hook_entries.merge_entries(before, GEMINI, COMMANDS)
    assert result.text == after.replace("@", inner)
    assert hook_entries.remove_entries(result.text, GEMINI, result.created, result.pieces) == before


@pytest.mark.parametrize("unit", ["  ", "    ", "\t", "   "])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_indentation_and_newlines_are_those_of_the_file(unit: str, newline: str, bom: str) -> None:
    """What is put in looks like what is there: the file is as if its own tool had written it."""
    value = {"theme": "x", "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "y"}]}]}, "z": [1]}
    about = claude_code.REGISTRATION
    commands = {event: build_line("claude-code", event, "/py", "/hooks/run.sh", "/s") for event in about.events}

    def dumped(plain: object) -> str:
        return bom + json.dumps(plain, indent=unit).replace("\n", newline) + newline

    done = hook_entries.merge_entries(dumped(value), about, commands).text
    value["hooks"] |= {event: [hook_entries.build_entry(about, commands[event], event)] for event in about.events}  # type: ignore[operator]
    assert done == dumped(value)


@pytest.mark.parametrize("before, after", [
    ('{\n  // keep\n  "a": 1 // keep\n}', '{\n  // keep\n  "a": 1, // keep\n  "hooks": {@}\n}'),
    ('{\n  "a": 1 /* keep */\n  // keep\n}', '{\n  "a": 1, /* keep */\n  // keep\n  "hooks": {@}\n}'),
    ('{"a": 1 // keep\n}', '{"a": 1, // keep\n"hooks": {@}\n}'),
    ('{\n  // keep\n}', '{\n  // keep\n  "hooks": {@}\n}'),
    ('{ /* keep */ }', '{ /* keep */ \n  "hooks": {@}\n}'),
    ("// keep\n{\n}\n", '// keep\n{\n  "hooks": {@}\n}\n'),
])  # fmt: skip
def test_comments_stay_where_they_are(before: str, after: str) -> None:
    """A comment is never lost and never swallows what comes behind it; taking the entry out gives the file back."""
    result = hook_entries.merge_entries(before, GEMINI, COMMANDS)
    done = result.text
    assert Document(done).root.plain()["hooks"]["AfterTool"][0]["hooks"][0]["command"] == COMMANDS["AfterTool"]
    start, end = after.split("{@}")
    assert done.startswith(start) and done.endswith(end), done
    assert hook_entries.remove_entries(done, GEMINI, None, result.pieces) == before


def test_a_trailing_comma_stays_one() -> None:
    """Where a list ends in a comma, it still does, with the entry before it."""
    doc = Document('{\n  "a": [\n    1,\n  ],\n}')
    text, piece = jsonc.add_entry(doc, doc.root.members[0].node, "", {"b": 1})
    assert text == '{\n  "a": [\n    1,\n    {\n      "b": 1\n    },\n  ],\n}' and piece.endswith(",")
    doc = Document(text)
    assert jsonc.remove_entry(doc, doc.root.members[0].node, 1) == '{\n  "a": [\n    1,\n  ],\n}'


def test_taking_out_leaves_everything_else(seeds: int = 4000) -> None:
    """Any member of any object or list can go: what stays is what was there, comments included."""
    tried = 0
    for seed in range(seeds):
        dice = random.Random(seed)
        text = written(dice, value(dice, 3, top=True), "", dice.choice(["", "  ", "\t"]), comments=True)
        doc = Document(text)
        tried += 1
        nodes = [node for node in walk(doc.root) if node.members]
        if not nodes:
            tried -= 1
            continue
        node = dice.choice(nodes)
        number = dice.randrange(len(node.members))
        plain = node.plain()
        expected = {**plain} if isinstance(plain, dict) else [*plain]
        expected.pop(node.members[number].key if isinstance(expected, dict) else number)  # type: ignore[arg-type]
        done = jsonc.remove_entry(doc, node, number)
        again = Document(done)
        left = sum(not node.members[number].at <= place[0] < node.members[number].node.end for place in doc.comments)
        assert len(again.comments) == left, (seed, text, done)
        node.members[number : number + 1] = []
        assert again.root.plain() == doc.root.plain() and node.plain() == expected, (seed, text, done)
    assert tried > seeds / 2


def walk(node: jsonc.Node) -> list[jsonc.Node]:
    return [node, *(inner for member in node.members for inner in walk(member.node))]


@pytest.mark.parametrize("about, text, words_in_it", [
    (claude_code, '{"hooks": null}', "null"), (claude_code, '{"hooks": []}', "an array"),
    (claude_code, "[]", "no JSON object"), (claude_code, '{"hooks": {"PostToolUse": {}}}', "not a list"),
    (claude_code, '{"hooks": {"PostToolUse": [1]}}', "not an object"),
    (claude_code, '{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}', "no command"),
    (claude_code, '{"hooks": {"Stop": [{"matcher": "x"}]}}', "has no hooks"),
    (claude_code, '{"hooks": {"Stop": [{"hooks": [{"type": "bogus"}]}]}}', "type"),
    (claude_code, '{"hooks": {"Stop": [{"hooks": [{"type": "http", "url": 1}]}]}}', "url"),
    (claude_code, '{\n// c\n}', "comments"), (claude_code, '{"a": 1,}', "trailing comma"),
    (claude_code, '{"hooks": {}, "hooks": {}}', "twice"), (gemini_cli, "\ufeff{}", "byte order mark"),
    (gemini_cli, '{"a": [1,]}', "trailing comma"), (codex, '{"version": 1}', "version"),
    (codex, "\ufeff{}", "byte order mark"),
    (codex, '{"hooks": {"Stop": null}}', "null"), (codex, '{"description": "a", "description": "b"}', "twice"),
    (codex, '{"hooks": {"Stop": [{"hooks": [{"type": "http", "url": "http://x"}]}]}}', "type"),
    (codex, '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": 1.5}]}]}}', "whole number"),
    (copilot_cli, '{"hooks": {"postToolUse": {}}}', "not a list"),
])  # fmt: skip
def test_a_file_in_which_the_client_would_run_nothing_is_refused(about: object, text: str, words_in_it: str) -> None:
    """What was seen to make the real client drop a whole file, or what is no place for an entry, is refused."""
    registration = about.REGISTRATION  # type: ignore[attr-defined]
    commands = dict.fromkeys(registration.events, COMMANDS["AfterTool"])
    with pytest.raises(SettingsError, match=words_in_it) as caught:
        hook_entries.merge_entries(text, registration, commands)
    assert caught.value.offset >= 0 and caught.value.do


def test_ours_is_told_by_what_no_upgrade_changes() -> None:
    """Another interpreter, another launcher, another quoting: ours; a command that only speaks of it: not."""
    for command in (
        COMMANDS["AfterTool"],
        "TRUECALL_PYTHON=/usr/bin/python3 /opt/a/run.sh codex PostToolUse",
        build_line("x", "y", "/a b'c\"d$(e)`f`\\", "/\u00fc \u2603/run.sh", "/s"),
    ):
        assert split_words(command)[1:], command
    for other in ("/hooks/run.sh claude-code", "echo TRUECALL_PYTHON=1 run.sh", "TRUECALL_PYTHON=1 other.sh", "",
                  None, 5, "TRUECALL_PYTHON='x run.sh"):  # fmt: skip
        assert not split_words(other), other
    assert quote_word("it's") == "'it'\"'\"'s'"


def test_several_of_ours_become_one_and_a_shared_group_keeps_the_other() -> None:
    """An entry that a person moved, copied or put into a foreign group ends as one, and theirs stays."""
    mine = {"type": "command", "command": COMMANDS["AfterTool"].replace("/py", "/old")}
    theirs = {"type": "command", "command": "lint"}
    text = json.dumps({"hooks": {"AfterTool": [
        {"matcher": "a", "hooks": [theirs, mine]}, {"hooks": [mine]}, {"hooks": [theirs]}, {"hooks": [mine]},
    ], "BeforeTool": [{"hooks": [mine]}]}}, indent=2)  # fmt: skip
    done = json.loads(put(text))["hooks"]
    assert done["AfterTool"] == [
        {"matcher": "a", "hooks": [theirs]}, hook_entries.build_entry(GEMINI, COMMANDS["AfterTool"], "AfterTool"), {"hooks": [theirs]},
    ] and done["BeforeTool"] == []  # fmt: skip
    left = json.loads(hook_entries.remove_entries(text, GEMINI, None, ()))
    assert left == {"hooks": {"AfterTool": [{"matcher": "a", "hooks": [theirs]}, {"hooks": [theirs]}]}}


def test_a_large_file_is_read_in_a_moment() -> None:
    """A megabyte of somebody's settings is no reason to give up."""
    text = json.dumps({"permissions": {"allow": [f"Bash(x {number})" for number in range(50_000)]}}, indent=2)
    done = put(text)
    assert hook_entries.remove_entries(done, GEMINI, None, ()) == text
