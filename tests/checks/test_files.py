"""files: how many entries a glob names, now and before the call."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.check_outcome import outcome, put

import truecall_py
from truecall_py.checks.support import glob_walk
from truecall_py.contracts.template import escape_glob, resolve
from truecall_py.core.errors import Unverified


@pytest.fixture
def check(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def asked(params, before=(), after=(), **more):
        return outcome(tmp_path, "files", params, before, after, **more)

    return asked


TREE = {"a/x.js": "", "a/y.JS": "", "a/b/z.js": "", "a/.hidden.js": "", "a/.git/w.js": "", "a/[id].js": "", "top.js": ""}


@pytest.mark.parametrize(
    ("glob", "count"),
    [
        ("*.js", 1),
        ("a/*.js", 2),
        ("a/**/*.js", 3),
        ("**/*.js", 4),
        ("**", 5),
        ("a/?.js", 1),
        ("a/.*.js", 1),
        ("a/.git/*.js", 1),
        ("a/[id].js", 1),
        ("a/[?]*.js", 0),
        ("*/x.js", 1),
        ("./a//x.js", 1),
        ("a/**/b/*.js", 1),
        ("nowhere/*.js", 0),
        ("top.js/*", 0),
    ],
)
def test_what_a_glob_names(check, glob, count):
    """Stars stop at folders, two stars do not, dots are written, brackets are themselves."""
    found = check({"glob": glob, "count": count, "vacuous": "ok"}, {}, TREE)
    assert found.state == "verified", found


@given(st.text(alphabet="*?[]a.", min_size=1, max_size=8))
def test_a_value_names_itself_alone(text):
    """A value of the call that looks like a pattern is met by nothing but a file of that very name."""
    pattern = glob_walk.compile_pattern(escape_glob(text))
    assert all(plain for _, plain in pattern)
    assert "".join(character for character, _ in pattern) == text
    assert glob_walk.matches_name(pattern, text) and not glob_walk.matches_name(pattern, text + "a")


class Scope:
    def get(self, path):
        return {"args.x": "*", "args.up": "../x", "project": "/p[*]"}[path]


def test_templates_in_a_glob():
    """A value is written as itself, also the project's own folder; it may not climb."""
    assert resolve("d/{{args.x}}*.js", Scope(), "glob") == "d/[*]*.js"
    assert resolve("{{project}}/*.js", Scope(), "glob") == "/p[[][*]]/*.js"
    assert glob_walk.split_glob("/p[[][*]]/*.js")[0] == "/p[*]"
    with pytest.raises(Unverified):
        resolve("d/{{args.up}}/*.js", Scope(), "glob")


@pytest.mark.parametrize(
    ("params", "before", "after", "verdict", "words"),
    [
        ({"glob": "*.sql", "count": {"increased_by": 1}}, {"1.sql": ""}, {"2.sql": ""}, "verified", "2 files, and 1 before"),
        ({"glob": "*.sql", "count": {"increased_by": 1}}, {"1.sql": ""}, {"1.sql": "x"}, "refuted", "1 file, and 1 before"),
        ({"glob": "*.sql"}, {"1.sql": ""}, {}, "unverified", "before the call already"),
        ({"glob": "*.sql", "count": {"increased_by": 0}}, {"1.sql": ""}, {}, "verified", ""),
        ({"glob": "*.sql", "count": {"increased_by": 0}}, {}, {}, "unverified", "before the call already"),
        ({"glob": "*.sql"}, {"1.sql": ""}, {"1.sql": "x"}, "verified", ""),
        ({"glob": "*.tmp", "count": 0}, {"1.tmp": ""}, {"1.tmp": None}, "verified", "0 files, and 1 before"),
        ({"glob": "*.tmp", "count": 0}, {}, {}, "unverified", "before the call already"),
        ({"glob": "*.tmp", "count": 0, "vacuous": "ok"}, {}, {"x": ""}, "verified", "0 files"),
        ({"glob": "*.tmp", "count": {"at_most": 2}}, {}, {}, "unverified", ""),
        ({"glob": "*.js", "newer_than": "call", "count": 1}, {"a.js": "", "b.js": ""}, {"b.js": "x"}, "verified", "1 file of 2"),
        ({"glob": "*.js", "newer_than": "call"}, {"a.js": ""}, {}, "refuted", "0 files of 1"),
        ({"glob": "*.js", "newer_than": "call", "count": 0}, {"a.js": ""}, {"b.txt": ""}, "verified", "0 files of 1"),
        ({"glob": "*.js", "newer_than": "call", "count": 0}, {}, {"b.txt": ""}, "unverified", ""),
        ({"glob": "*", "type": "dir", "count": 1}, {}, {"d/x": ""}, "verified", "1 folder"),
        ({"glob": "*", "type": "any", "count": 2}, {}, {"d/x": "", "e": ""}, "verified", "2 entries"),
        ({"glob": "*.js", "count": "1"}, {}, {"a.js": ""}, "unverified", "count needs a number"),
    ],
)
def test_what_was_there_before_counts(check, params, before, after, verdict, words):
    """Differences, absences and changes are told by the look before the call."""
    if params.get("count") == "1":
        params = {**params, "count": "{{args.n}}"}
    found = check(params, before, after, args={"n": "1"})
    assert found.state == verdict and words in found.found, found


def test_an_absence_without_a_look_before(check):
    """That there is none is no proof that there was one, and the contract may say that it counts."""
    assert check({"glob": "*.tmp", "count": 0}, looked=False).state == "unverified"
    assert check({"glob": "*.tmp", "count": 0, "vacuous": "ok"}, looked=False).state == "verified"


def test_which_files_are_newer_without_a_look_before(tmp_path, monkeypatch):
    """The call's duration says when it began; a file that was moved in with its old time is no certain one."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path, {"old.js": "", "new.js": ""})
    os.utime(tmp_path / "old.js", (1, 1))
    payload = {"session_id": "s", "tool_use_id": "t", "cwd": str(tmp_path), "tool_name": "Bash", "hook_event_name":
               "PostToolUse", "tool_input": {"command": "make"}, "duration_ms": 60_000,
               "tool_response": {"stdout": "", "stderr": "", "interrupted": False}}  # fmt: skip

    def state(count, **more):
        check = {"files": {"glob": "*.js", "newer_than": "call", "count": count}}
        contracts = {"version": 1, "contracts": [{"id": "one", "tool": "Bash", "post": check}]}
        return truecall_py.judge({**payload, **more}, contracts).verdicts[0].state

    assert state({"at_least": 1}) == "verified"
    assert state(1) == "unverified" and state(2) == "unverified"  # the entry of old.js changed just now
    assert state(3) == "refuted"
    assert state({"at_least": 1}, duration_ms=None) == "unverified"


def test_what_cannot_be_seen_is_not_nothing(check, tmp_path):
    """A walk that ends early, a folder that may not be read, links that lead in a circle."""
    put(tmp_path, "mkdir d; ln -s .. d/up; ln -s loop loop; touch d/a.js")
    assert check({"glob": "**/*.js", "count": 1}, looked=False).state == "verified"
    assert check({"glob": "d/up/d/*.js", "count": 1}, looked=False).state == "verified"  # written out, a link is followed
    assert check({"glob": "a/*/../*.js", "count": 1}, looked=False).cause == "contract"
    assert check({"glob": "loop/*.js", "count": 0, "vacuous": "ok"}, looked=False).cause == "world"
    assert check({"glob": f"{'x' * 300}/*.js", "count": 0, "vacuous": "ok"}, looked=False).cause == "world"


def test_a_walk_is_bounded(check, tmp_path, monkeypatch):
    """More entries than may be looked at are no verdict."""
    monkeypatch.setattr(glob_walk, "MOST", 50)
    put(tmp_path, {f"d/{number}.js": "" for number in range(60)})
    began = time.monotonic()
    found = check({"glob": "**/*.js"}, looked=False)
    assert (found.state, found.cause) == ("unverified", "probe") and time.monotonic() - began < 15


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_locked_folder(check, tmp_path):
    """A folder that may not be read could hold any number of files."""
    put(tmp_path, "mkdir d; touch d/a.js; chmod 000 d")
    assert check({"glob": "**/*.js"}, looked=False).cause == "world"


def test_a_time_that_is_still_to_come_tells_nothing(tmp_path, monkeypatch):
    """Without a look before the call, a file from the future is neither one of this call's nor certainly none."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path, {"a.js": ""})
    os.utime(tmp_path / "a.js", (2**31, 2**31))
    for count in (1, 0):
        contracts = {"version": 1, "contracts": [{"id": "one", "tool": "Bash", "post": {
            "files": {"glob": "*.js", "newer_than": "call", "count": count}}}]}
        payload = {"session_id": "s", "tool_use_id": "t", "cwd": str(tmp_path), "tool_name": "Bash", "duration_ms": 1000,
                   "hook_event_name": "PostToolUse", "tool_input": {"command": "make"},
                   "tool_response": {"stdout": "", "stderr": "", "interrupted": False}}  # fmt: skip
        assert truecall_py.judge(payload, contracts).verdicts[0].state == "unverified"


def test_a_glob_that_meets_nothing_proves_nothing_about_its_opposite(tmp_path, monkeypatch):
    """`not` of files that never were, under a misspelt name, is no verdict; of a wrong number of them it is one."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path, {"a.js": ""})
    for glob, verdict in (("typo/*", "unverified"), ("*.js", "verified")):
        assert outcome(tmp_path, "not", {"files": {"glob": glob, "count": 2}}).state == verdict
