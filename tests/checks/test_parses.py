"""parses: what each language takes, and what cannot be told by this reader of it."""

from __future__ import annotations

import sys

import pytest
from support.check_outcome import outcome

from truecall_py.worker import documents


@pytest.fixture
def check(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def asked(name, content, before=(), **params):
        return outcome(tmp_path, "parses", {"path": name, **params}, before, {name: content})

    return asked


@pytest.mark.parametrize(
    ("name", "content", "verdict", "words"),
    [
        ("a.json", '{"a": 1}', "verified", ""),
        ("a.json", b'\xef\xbb\xbf{"a": 1}', "verified", ""),
        ("a.json", "", "refuted", "is empty"),
        ("a.json", '{"a": 1,}', "unverified", "line 1"),
        ("package.json", '{\n "a": 1,\n}', "refuted", "(line 2)"),
        ("a.json", '{"a": 1}}', "refuted", "(line 1, column 9)"),
        ("a.json", "{'a': 1}", "refuted", "Expecting property name"),
        ("a.json", b'{"a": "\xe9"}', "refuted", "0xe9 is not UTF-8"),
        ("a.json", '{"a": 1}'.encode("utf-16"), "unverified", "UTF-16"),
        ("tsconfig.json", '{\n // x\n "a": 1,\n}', "verified", ""),
        ("tsconfig.json", '{\n // x\n "a": 1 "b"\n}', "refuted", "(line 3"),
        (".vscode/tasks.json", "/* x */ {}", "verified", ""),
        ("x.jsonc", "/* x {}", "refuted", "is not JSON with comments"),
        ("a.yaml", "a: [1, 2]\n---\nb: 1\n", "verified", ""),
        ("a.yml", "", "verified", ""),
        ("a.yaml", "Name: !Ref Bucket\nSub: !Sub ['a', {b: !GetAtt c.d}]\n", "verified", ""),
        ("a.yaml", "a: [1, 2\nb: 1\n", "refuted", "line"),
        ("a.yaml", "a: b: c\n", "refuted", "mapping values are not allowed"),
        ("a.yaml", "a: *x\n", "refuted", "the alias *x has no anchor"),
        ("a.yaml", "a: &x 1\nb: &x 2\nc: *x\n", "verified", ""),
        ("a.yaml", "a:\n\tb: 1\n", "unverified", "a tab in line 2"),
        ("a.toml", "a = 1\n", "verified", ""),
        ("a.toml", "", "verified", ""),
        ("a.toml", "a = 1\na = 2\n", "refuted", "is not TOML"),
        ("Cargo.lock", "a = \n", "refuted", "(line 1, column 5)"),
        ("a.py", "def f():\n    return 1\n", "verified", ""),
        ("a.py", "", "verified", ""),
        ("a.py", "# coding: latin-1\nx = '\xe9'\n".encode("latin-1"), "verified", ""),
        ("a.py", "def f(:\n    pass\n", "refuted", "(line 1"),
        ("a.py", "return 1\n", "refuted", "'return' outside function"),
        ("a.py", "#!/usr/bin/env python2\nprint 1\n", "unverified", "Python 2"),
        ("a.py", b"x = 1\0\n", "refuted", "null bytes"),
        ("a.txt", "x", "unverified", "say `as`"),
    ],
)
def test_a_file_parses_or_does_not(check, name, content, verdict, words):
    """Line, column and the parser's own words where it does not; no verdict where readers differ."""
    found = check(name, content)
    assert found.state == verdict and words in found.found, found


def test_nothing_of_the_file_is_run(check, tmp_path):
    """Python is compiled and YAML is scanned: neither is executed nor built."""
    assert check("a.py", f"open({str(tmp_path / 'sprung')!r}, 'w')\n").state == "verified"
    tag = f"!!python/object/apply:os.system ['touch {tmp_path}/sprung']\n"
    assert check("a.yaml", tag).state == "verified"
    assert not (tmp_path / "sprung").exists()


def test_a_language_that_is_named(check):
    """`as` counts more than the name."""
    assert check("a.conf", "{}", **{"as": "json"}).state == "verified"
    assert check("a.json", "{}, // x", **{"as": "json"}).state == "refuted"
    assert check("a.json", "{} // x", **{"as": "jsonc"}).state == "verified"


def test_an_untouched_file_proves_nothing(check):
    """A file that parsed before the call and was not changed by it is no evidence."""
    found = outcome_of_untouched(check)
    assert found.cause == "vacuous"


@pytest.mark.parametrize(
    ("before", "verdict", "words"),
    [({}, "refuted", "it is new"), ({"a.json": "{"}, "unverified", "did not parse before"), ({"a.json": "{}"}, "refuted", "")],
)
def test_a_new_file_that_is_broken_is_no_old_one(tmp_path, monkeypatch, before, verdict, words):
    """`still` excuses a file that was broken before the call, not one that the call brought."""
    monkeypatch.chdir(tmp_path)
    found = outcome(tmp_path, "parses", {"path": "a.json", "still": True}, before, {"a.json": '{"a": '})
    assert found.state == verdict and words in found.found, found


def outcome_of_untouched(check):
    import os

    from truecall_py.checks import parses

    folder = os.getcwd()
    assert parses.NAME == "parses"
    from pathlib import Path

    return outcome(Path(folder), "parses", {"path": "a.json"}, {"a.json": "{}"})


@pytest.mark.parametrize(
    ("source", "version"),
    [("type X = int\n", (3, 12)), ("def f[T](x): pass\n", (3, 12)), ("x = f'{'a'}'\n", (3, 12)), ("x = t'a'\n", (3, 14)),
     ("try: pass\nexcept A, B: pass\n", (3, 14)), ("try: pass\nexcept* A: pass\n", (3, 11))],
)  # fmt: skip
def test_what_a_newer_python_takes_is_no_error(source, version):
    """Syntax that this interpreter is too old for gives no verdict, and says what to name."""
    if sys.version_info >= version:
        assert documents.find_python_error(source.encode())["error"] == ""
        return
    with pytest.raises(documents.Unverified) as told:
        documents.find_python_error(source.encode())
    assert "interpreter" in told.value.why and told.value.cause == "contract"
