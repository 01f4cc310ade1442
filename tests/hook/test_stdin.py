"""Fail-closed at standard input: whatever comes instead of one good payload is answered."""

from __future__ import annotations

import contextlib
import json
import threading
import time

import pytest
from support.faults import (
    GOOD,
    SOON,
    finish,
    refuted,
    unverified,
)
from support.project import PATIENCE

FILES = "version: 1\nuse: [files]\ncontracts: []\n"


# -- standard input ------------------------------------------------------------------------------------------

BAD_INPUT = {
    "empty": (b"", "the payload is empty"),
    "blanks": (b" \n\t\n", "the payload is empty"),
    "truncated": (GOOD[:-20], "not one JSON object"),
    "truncated in a string": (GOOD[:30], "not one JSON object"),
    "not UTF-8": (GOOD.replace(b'"T"', b'"\xff"'), "not UTF-8"),
    "UTF-16": (GOOD.decode().encode("utf-16"), "not UTF-8"),
    "trailing garbage": (GOOD + b" x", "something follows"),
    "two objects": (GOOD + b"\n" + GOOD, "something follows"),
    "NUL behind": (GOOD + b"\0", "something follows"),
    "duplicate keys": (GOOD[:-1] + b',"tool_name":"U"}', "stands twice"),
    "duplicate keys inside": (GOOD.replace(b'"tool_input":{}', b'"tool_input":{"a":1,"a":2}'), "stands twice"),
    "NaN": (GOOD[:-1] + b',"duration_ms":NaN}', "not a JSON number"),
    "1e999": (GOOD[:-1] + b',"duration_ms":1e999}', "too large"),
    "a huge integer": (GOOD[:-1] + b',"duration_ms":' + b"9" * 5000 + b"}", "not one JSON object"),
    "3,000 levels": (GOOD[:-1] + b',"x":' + b"[" * 3000 + b"]" * 3000 + b"}", "nested"),
    "100,000 levels": (GOOD[:-1] + b',"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested"),
    "100,000 open objects": (b'{"a":' * 100_000, "the payload is not one JSON object"),
    "null": (b"null", "not a JSON object"),
    "an array": (b"[" + GOOD + b"]", "not a JSON object"),
    "a string": (b'"hello"', "not a JSON object"),
    "a number": (b"1", "not a JSON object"),
    "an empty object": (b"{}", "no hook_event_name"),
    "plain text": (b"hello", "not one JSON object"),
    "a control character": (GOOD.replace(b'"T"', b'"\x01"'), "not one JSON object"),
    "tool_input a string": (GOOD.replace(b'"tool_input":{}', b'"tool_input":"x"'), "tool_input of T is not an"),
    "tool_input null": (GOOD.replace(b'"tool_input":{}', b'"tool_input":null'), "tool_input of T is not an"),
    "tool_name missing": (GOOD.replace(b'"tool_name":"T",', b""), "names no tool_name"),
    "tool_name a list": (GOOD.replace(b'"T"', b'["T"]'), "names no tool_name"),
    "tool_name empty": (GOOD.replace(b'"T"', b'""'), "names no tool_name"),
    "event a list": (GOOD.replace(b'"PostToolUse"', b'["PostToolUse"]'), "no hook_event_name"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_what_is_not_one_good_payload_is_answered(project, harness, name):
    """Whatever comes instead of one hook payload, the agent is told that nothing was verified, and why."""
    data, why = BAD_INPUT[name]
    if harness == "codex":
        data = data.replace(b'"session_id"', b'"turn_id":"t","session_id"')
    assert unverified(project.hook(data, harness), why)


def test_a_byte_order_mark_is_accepted(project):
    """A BOM before the payload changes nothing: the contract is judged."""
    project.trust()
    data = json.dumps(project.mcp()).encode()
    assert refuted(project.hook(b"\xef\xbb\xbf" + data), "note-saved")


def test_an_input_that_is_never_closed_is_answered_at_the_deadline(project, harness):
    """A client that leaves standard input open gets its answer at the deadline."""
    process = project.start(harness, options=("--deadline", "0.5"))
    process.stdin.write(GOOD)
    process.stdin.flush()
    began = time.monotonic()
    assert unverified(finish(process), "did not end in time")
    assert time.monotonic() - began < SOON


def test_an_input_that_is_never_closed_at_the_stop(project):
    """At the stop, where the launcher reads the input itself, an open input delays the answer by 5 seconds."""
    process = project.start("claude-code", "Stop")
    process.stdin.write(b'{"hook_event_name":"Stop"')
    process.stdin.flush()
    began = time.monotonic()
    assert finish(process).form == "notice"
    assert time.monotonic() - began < 2 * SOON


def test_an_input_without_end_is_answered(project):
    """A stream of data that never ends is given up at the deadline."""
    process = project.start(options=("--deadline", "0.5"))

    def pour():
        with contextlib.suppress(OSError):
            while True:
                process.stdin.write(b"[" * 65536)

    pouring = threading.Thread(target=pour)
    pouring.start()
    answer = finish(process)
    pouring.join(PATIENCE)
    assert not pouring.is_alive()
    assert unverified(answer)


def test_a_closed_input_is_answered(project, harness):
    """A hook that is started without a standard input says so."""
    assert unverified(project.hook(b"", harness, shell='"$@" <&-'))


def test_an_input_that_is_a_folder_is_answered(project, harness):
    """A standard input that cannot be read is trouble, not an empty event."""
    assert unverified(project.hook(b"", harness, shell='"$@" </'))


def test_a_large_write_is_judged(project):
    """A write of 8 MB, which comes twice in the payload, is judged: silent where it is on the disk, refuted
    where its end is missing."""
    project.trust(FILES)
    content = "0123456789abcdef\n" * (8 * 1024 * 1024 // 17)
    payload = json.dumps(project.wrote("big.txt", content)).encode()
    assert len(payload) > 16_000_000
    project.write("big.txt", content)
    assert project.hook(payload).form == "silent"
    project.write("big.txt", content[: len(content) // 2])
    answer = project.hook(payload)
    assert answer.text.startswith("NOT DONE"), answer
    assert len(answer.out) < 10_000


def test_lone_surrogates_do_not_void_the_answer(project, harness):
    """Half a surrogate pair in the arguments is written out: Codex drops an answer that holds one."""
    project.trust()
    data = json.dumps(project.mcp(harness, args={"title": "a\ud83d", "body": "\udc00"})).encode()
    answer = project.hook(data, harness)
    assert answer.form in ("replace", "append"), answer


# -- trust on a full disk, and many at once ------------------------------------------------------------------


def test_a_batch_that_cannot_be_read_is_not_passed_over(project):
    """Where not even `head` is found, the launcher gives its static answer after a batch, not silence."""
    answer = project.hook(b'{"a": "<tool_use_error>"}', event="PostToolBatch", shell='PATH=/nonexistent; exec /bin/sh "$2" "$3" "$4"')
    assert "NOT CONFIRMED" in answer.json["hookSpecificOutput"]["additionalContext"]
