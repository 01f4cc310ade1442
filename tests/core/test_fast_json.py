"""Strict JSON: what is refused, and that the fast way and the portable way are the same."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from truecall_py.core import fast_json

REFUSED = [
    "", " ", "{", "[1,]", '{"a":1,}', '{"a":1}{"b":2}', '{"a":1} x', "NaN", "[Infinity]", "[-Infinity]", "1e999",
    '{"a":1,"a":2}', '{"x":{"a":1,"a":2}}', "'a'", "{a:1}", '"\x01"', '"\\x"', "01", "+1", ".5", "truth", "[1 2]",
    "[" * 3000 + "]" * 3000, "[" * 100_000, '{"a":' * 500 + "1" + "}" * 500,
]  # fmt: skip
ACCEPTED = ['{"a":[1,2.5,null,true,"x\\u00e9"]}', " 1 ", '"\\ud83d\\ude00"', "[]", "-0.0", '{"":{}}', "\n[1]\t"]


@pytest.mark.parametrize("text", REFUSED, ids=[repr(text[:20]) for text in REFUSED])
def test_what_is_not_one_strict_value_is_refused(text: str) -> None:
    """Nothing is guessed: no duplicate key, no NaN, no infinity, no rest, no depth without end."""
    with pytest.raises(fast_json.JsonError):
        fast_json.loads(text)


@pytest.mark.parametrize("text", ACCEPTED)
def test_the_fast_way_reads_what_the_portable_way_reads(text: str) -> None:
    """The C scanner alone gives what the json module gives."""
    assert fast_json.loads(text) == fast_json.scan_portably(text) == json.loads(text)


def test_the_two_ways_agree_on_broken_texts() -> None:
    """A thousand damaged texts are refused or read alike by the scanner and by the json module."""
    chance = random.Random(7)
    for _ in range(1000):
        text = list('{"a":[1,2.5e3,null,"x\\n"],"b":{"c":true,"d":-1}}')
        for _ in range(chance.randrange(1, 4)):
            text[chance.randrange(len(text))] = chance.choice('{}[]",:0123e-. ntf\\')
        results: list[Any] = []
        for read in (fast_json.loads, fast_json.scan_portably):
            try:
                results.append(read("".join(text)))
            except fast_json.JsonError:
                results.append("refused")
        assert results[0] == results[1], "".join(text)


def test_what_is_written_is_ascii_and_strict() -> None:
    """Output is one line of ASCII that any JSON reader takes; NaN is an error, never a word in the output."""
    value = {"a": ["é\u2028\U0001f600", None, True, 1, 2.5, {"b": "\x00"}]}
    text = fast_json.dumps(value)
    assert text.isascii() and "\n" not in text and json.loads(text) == value
    with pytest.raises(ValueError):
        fast_json.dumps([float("nan")])
    with pytest.raises(TypeError):
        fast_json.dumps({"a": {1, 2}})
