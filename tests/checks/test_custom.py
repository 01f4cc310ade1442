"""custom: only a clear answer of a person's own check is one."""

from __future__ import annotations

import json
import time

import pytest

from truecall_py.checks import custom
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, REFUTED, UNVERIFIED, VERIFIED, File, ToolCall
from truecall_py.world.world import World


def call(**named):
    args = {"title": "grüße"}
    files = (File("/w/a.md", "add", "hello"),)
    return ToolCall("claude-code", "PostToolUse", "save", frozenset({"write", "mcp"}), args, files=files, **named)


@pytest.fixture
def world(tmp_path):
    return World(None, str(tmp_path))


def python(tmp_path, world, code, where="mine.py:check", **named):
    (tmp_path / "mine.py").write_text(code)
    return custom.run({"python": where}, call(**named), world)


def probe(tmp_path, world, text, **named):
    path = tmp_path / "probe.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return custom.run({"run": ["./probe.sh"]}, call(**named), world)


@pytest.mark.parametrize("example", custom.EXAMPLES, ids=lambda example: example["title"])
def test_the_examples_hold(example, world, tmp_path):
    """What the documentation shows is what happens."""
    for name, text in example["files"].items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if name in example.get("executable", ()) else 0o644)
    try:
        state = custom.run(example["check"], call(), world).state
    except Unverified:
        state = UNVERIFIED
    assert state == example["verdict"]


def test_a_function_answers(tmp_path, world):
    """True, False, and a map with words of its own; noise on standard output does not matter."""
    assert python(tmp_path, world, "print('{}')\ndef check(call): return True").state == VERIFIED
    found = python(tmp_path, world, "def check(call): return False")
    assert (found.state, found.expected) == (REFUTED, "mine.py:check says that it holds")
    code = "def check(call): return {'verdict': 'refuted', 'found': 'no note', 'expected': 'a note'}"
    found = python(tmp_path, world, code)
    assert (found.state, found.expected, found.found) == (REFUTED, "a note", "no note")
    code = "def check(call): return {'verdict': 'unverified', 'found': 'the API is down'}"
    found = python(tmp_path, world, code)
    assert (found.state, found.found) == (UNVERIFIED, "the API is down")


@pytest.mark.parametrize("code", ["def check(call): 1 / 0", "def check(call): pass", "import os\nos._exit(0)", "("])
def test_a_function_without_a_clear_answer_is_no_verdict(tmp_path, world, code):
    """An exception, None, an early end, a file that is no Python."""
    with pytest.raises(Unverified) as caught:
        python(tmp_path, world, code)
    assert caught.value.cause == "contract"


@pytest.mark.parametrize("where", ["mine.py", "mine.py:", ":check", "mine.py:a.b", "gone.py:check"])
def test_a_function_that_is_not_named_is_no_verdict(tmp_path, world, where):
    """`file.py:function`, and both must be there."""
    with pytest.raises(Unverified) as caught:
        python(tmp_path, world, "def check(call): return True", where)
    assert caught.value.cause == "contract"


def test_a_function_that_hangs_is_no_verdict(tmp_path):
    """It is stopped with the time of one look."""
    began = time.monotonic()
    with pytest.raises(Unverified) as caught:
        python(tmp_path, World(None, str(tmp_path), look=0.5), "while True: pass")
    assert caught.value.cause == "probe"
    assert time.monotonic() - began < 15


def test_the_call_arrives_under_the_names_of_the_format(tmp_path, world):
    """Both kinds of checks see the same facts; one that the call has not is absent, not null."""
    assert probe(tmp_path, world, "cat > call.json", exit_code=3, result={"id": 1}).state == VERIFIED
    seen = json.loads((tmp_path / "call.json").read_text())
    assert seen["tool"] == "save"
    assert seen["kind"] == ["mcp", "write"]
    assert seen["args"] == {"title": "grüße"}
    assert seen["files"] == [{"path": "/w/a.md", "action": "add", "content": "hello"}]
    assert (seen["exit_code"], seen["result"], seen["reported"]) == (3, {"id": 1}, "unknown")
    assert seen["project"] == str(tmp_path)
    probe(tmp_path, world, "cat > call.json", result=ABSENT)
    assert not {"exit_code", "result", "start_cwd"} & json.loads((tmp_path / "call.json").read_text()).keys()
    code = "def check(call): return {'verdict': 'verified', 'found': ' '.join(sorted(call))}"
    assert "args" in python(tmp_path, world, code).found


@pytest.mark.parametrize(
    ("text", "state", "found"),
    [
        ("echo fine; exit 0", VERIFIED, 'exit code 0, "fine"'),
        ("echo 3 rows missing; exit 1", REFUTED, 'exit code 1, "3 rows missing"'),
        ("echo oops >&2; exit 2", UNVERIFIED, 'it gives no verdict: exit code 2, "oops"'),
        ("exit 127", UNVERIFIED, None),
        ("kill -9 $$", UNVERIFIED, None),
        ("""echo noise; echo '{"verdict": "refuted", "found": "x"}'; echo""", REFUTED, "x"),
        ("""echo '{"verdict": "refuted"}'; exit 1""", REFUTED, "it does not hold"),
        ("""echo '{"verdict": "verified", "found": "y"}'""", VERIFIED, "y"),
        ("""echo '{"verdict": "unverified", "found": "down"}'; exit 0""", UNVERIFIED, "down"),
        ("""echo '{"verdict": "refuted"}'; echo later noise""", UNVERIFIED, None),
        ("""printf '{\n "verdict": "refuted"\n}\n'""", UNVERIFIED, None),
        ("""echo "{'verdict': 'refuted'}" """, UNVERIFIED, None),
        ("""echo '[1]'; exit 0""", UNVERIFIED, None),
        ("""echo '{"other": "map"}'; exit 1""", REFUTED, None),
        ("""echo '{"verdict": "refuted"'; exit 0""", UNVERIFIED, None),
    ],
)
def test_a_program_answers(tmp_path, world, text, state, found):
    """The last line if it is a verdict, or else the exit code: 0 holds, 1 does not, others say nothing."""
    outcome = probe(tmp_path, world, text)
    assert outcome.state == state
    assert found is None or outcome.found == found


@pytest.mark.parametrize(
    "text",
    ["""echo '{"verdict": "fine"}'""", """echo '{"verdict": true}'""", """echo '{"verdict": "verified"}'; exit 1"""],
)
def test_a_program_that_contradicts_the_format_or_itself_is_no_verdict(tmp_path, world, text):
    """A verdict that there is not, and a pass with the exit code of a failure."""
    with pytest.raises(Unverified):
        probe(tmp_path, world, text)


def test_both_ways_at_once_are_no_verdict(world):
    """A contract must say which one counts."""
    with pytest.raises(Unverified, match="either python or run"):
        custom.run({"python": "a.py:b", "run": ["true"]}, call(), world)
