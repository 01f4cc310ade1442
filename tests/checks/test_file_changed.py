"""file_changed: what an edit did to a file, told by how the file was before it."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.check_outcome import outcome, put

from truecall_py.checks.support import edits
from truecall_py.checks.support.edits import Edit

EDIT = {"old_string": "b=2", "new_string": "b=3"}
TWICE = {"old_string": "x\n", "new_string": "x\nnew\n"}
HIDES = {"edits": [{"old_string": "x", "new_string": "p\nKEEP\nq"}, {"old_string": "z", "new_string": "z2"}]}


@pytest.fixture
def check(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def asked(params, before=(), after=(), **more):
        return outcome(tmp_path, "file_changed", {"path": "a.txt", **params}, before, after, **more)

    return asked


def state(found):
    return found.state, found.found


@pytest.mark.parametrize(
    ("params", "before", "after", "args", "verdict", "words"),
    [
        # content
        ({"content": True}, "a\n", "b\n", {}, "verified", ""),
        ({"content": True}, "a\n", "a\n", {}, "refuted", "byte for byte"),
        ({"content": True}, None, "a\n", {}, "verified", ""),
        ({"content": False}, "a\n", "b\n", {}, "refuted", "another content"),
        ({"content": False}, "a\n", "a\n", {}, "verified", ""),
        ({"content": False}, None, "a\n", {}, "refuted", "is new"),
        ({"content": True}, "a\n", None, {}, "refuted", "nothing at"),
        # size
        ({"size": {"increased_by": 2}}, "a\n", "a\nb\n", {}, "verified", ""),
        ({"size": {"increased_by": 2}}, "a\n", "a\nbc\n", {}, "refuted", "had 2 before"),
        ({"size": {"at_most": 3}}, "a\n", "abcdef\n", {}, "refuted", "7 bytes"),
        # line ends
        ({"line_endings": "kept"}, "a\r\nb\r\n", "a\r\nc\r\n", {}, "verified", ""),
        ({"line_endings": "kept"}, "a\r\nb\r\n", "a\nc\n", {}, "refuted", "with LF, where all ended with CRLF"),
        ({"line_endings": "kept"}, "a\nb\nc\n", "a\r\nb\nc\n", {}, "refuted", "1 of 3 lines with CRLF"),
        ({"line_endings": "kept"}, "a\r\nb\n", "a\r\nc\n", {}, "verified", ""),
        ({"line_endings": "kept"}, "a\r\nb\n", "a\nc\n", {}, "unverified", "mixed LF and CRLF"),
        # encoding
        ({"encoding": "kept"}, "é1\n", "é2\n", {}, "verified", ""),
        ({"encoding": "kept"}, "é1\n", b"\xe92\n", {}, "refuted", "no longer UTF-8"),
        ({"encoding": "kept"}, "1\n", b"\xe92\n", {}, "unverified", "plain ASCII"),
        ({"encoding": "kept"}, b"\xef\xbb\xbfa\n", b"b\n", {}, "refuted", "lost its byte order mark"),
        ({"encoding": "kept"}, "a\n", b"\xef\xbb\xbfb\n", {}, "refuted", "begins with a byte order mark"),
        ({"encoding": "kept"}, b"b=2\n\x99\n", b"b=3\n\x99\n", EDIT, "verified", ""),
        ({"encoding": "kept"}, b"b=2\n\x99\n", b"b=3\n\xef\xbf\xbd\n", EDIT, "refuted", "U+FFFD"),
        ({"encoding": "kept"}, b"b=2\n\x99\n", b"b=3\n\x98\n", EDIT, "refuted", "outside of the edits"),
        ({"encoding": "kept"}, b"b=2\n\x99\n", b"b=3\n\xe2\x84\xa2\n", EDIT, "refuted", "another encoding"),
        ({"encoding": "kept"}, b"a\n\x99\n", b"b\n\x99\n", {}, "verified", ""),
        ({"encoding": "kept"}, b"a\n\x99\n", b"b\n", {}, "unverified", "not ASCII"),
        ({"encoding": "kept"}, "b=2é\n", "b=3\ufffd\n", EDIT, "refuted", "U+FFFD"),
        ({"encoding": "kept"}, "b=2é\n", "b=3\ufffd\n", {}, "unverified", "U+FFFD"),
        ({"encoding": "kept"}, "b=2\n".encode("utf-16"), "b=3\n".encode("utf-16"), EDIT, "verified", ""),
        ({"encoding": "kept"}, "b=2\n".encode("utf-16"), b"b=3\n", EDIT, "refuted", "UTF-16LE"),
        ({"encoding": "kept"}, "b=2\n".encode("utf-16-le"), "b=3\n", EDIT, "unverified", "NUL"),
        # the rest
        ({"rest": "kept"}, "a=1\nb=2\nc=3\n", "a=1\nb=3\nc=3\n", EDIT, "verified", ""),
        ({"rest": "kept"}, "a=1\nb=2\nc=3\n", "a=1\nb=3\nc=4\n", EDIT, "refuted", 'line 3 is "c=4" instead of "c=3"'),
        ({"rest": "kept"}, "a=1\nb=2\nc=3\n", "a=1\nb=3\n", EDIT, "refuted", "outside of the edits"),
        ({"rest": "kept"}, "a=1\r\nb=2\r\n", "a=1\r\nb=3\r\n", EDIT, "verified", ""),
        ({"rest": "kept"}, "é\nb=2\n", "é\nb=3\n", EDIT, "verified", ""),
        ({"rest": "kept"}, b"\x99\nb=2\n", b"\x99\nb=3\n", EDIT, "verified", ""),
        ({"rest": "kept"}, b"\x99\nb=2\n", b"\xef\xbf\xbd\nb=3\n", EDIT, "refuted", "line 1"),
        ({"rest": "kept"}, "a\nb=2\n".encode("utf-16"), "a\nb=3\n".encode("utf-16"), EDIT, "verified", ""),
        ({"rest": "kept"}, "a\nb=2\n".encode("utf-16"), "x\nb=3\n".encode("utf-16"), EDIT, "refuted", "line 1"),
        ({"rest": "kept"}, "x\nb=2\nb=2\n", "x\nb=9\nb=3\n", EDIT, "unverified", "several times"),
        ({"rest": "kept"}, "x\nb=2\nb=2\n", "x\nb=3\nb=2\n", EDIT, "verified", ""),
        ({"rest": "kept"}, "x\nb=2\nb=2\n", "x\nb=3\nb=3\n", EDIT, "verified", ""),
        ({"rest": "kept"}, "x\nb=2\ny\nb=2\n", "x\nb=3\ny\nb=3\n", {**EDIT, "replace_all": True}, "verified", ""),
        ({"rest": "kept"}, "a\nb\nc\n", "a\nc\n", {"old_string": "b", "new_string": ""}, "verified", ""),
        ({"rest": "kept"}, "a\n", "b\n", EDIT, "unverified", "is not in the file as it was"),
        ({"rest": "kept"}, "a\n", "b\n", {"content": "b\n"}, "unverified", "sends no edits"),
        ({"rest": "kept"}, None, "b\n", EDIT, "unverified", "nothing was there"),
        # the edits
        ({"edits": "all"}, "a=1\nb=2\n", "a=1\nb=3\n", EDIT, "verified", ""),
        ({"edits": "all"}, "a=1\nb=2\n", "a=1\nb=2\n", EDIT, "refuted", 'lost 1 of 1 edits: "b=3"'),
        ({"edits": "all"}, "a=1\nb=2\n", "a = 1\nb = 3\n", EDIT, "unverified", "edit 1"),
        ({"edits": "all"}, "a=1\nb=2\n", "a = 1\nb=3\n", EDIT, "verified", ""),
        ({"edits": "all"}, "a=1\nb=2\n", "a = 1\nb = 2\n", EDIT, "refuted", "lost 1 of 1"),
        ({"edits": "all"}, "x()\n", "x()\n", {"old_string": "x()", "new_string": "import y\nx()"}, "unverified", "edit 1"),
        ({"edits": "all"}, "b=2\n", "b=2\n", {"old_string": "b=2", "new_string": "b=2  "}, "unverified", "edit 1"),
        # what an edit brought twice, beside itself, or in another encoding
        ({"line_endings": "kept"}, "a\r\nb\r\n", "a\r\r\nb\r\r\n", {}, "refuted", "2 lines with CR CR LF"),
        ({"line_endings": "kept"}, "a\nb\n", "a\rx\nb\n", {}, "unverified", "carriage returns"),
        ({"line_endings": "kept"}, "a\rx\nb\n", "a\rx\nc\n", {}, "verified", ""),
        ({"edits": "all"}, b"x=\xe9\nz=1\n", b"x=\xe9\nz=1\ny=2\n", {"old_string": "é", "new_string": "ü"}, "refuted", "lost 1 of 1"),
        ({"edits": "all"}, b"x=\xe9\nz=1\n", b"x=\xfc\nz=1\ny=2\n", {"old_string": "é", "new_string": "ü"}, "verified", ""),
        ({"edits": "all"}, "A\nx\nB\n", "A\nx\nnew\nnew\nB\n", TWICE, "unverified", "edit 1"),
        ({"rest": "kept"}, "A\nx\nB\n", "A\nx\nnew\nnew\nB\n", TWICE, "unverified", "something else"),
        ({"rest": "kept"}, "A\nx\nB\n", "A\nx\nnew\nGARBAGE\nB\n", TWICE, "unverified", "something else"),
        ({"rest": "kept"}, "A\nx\nB\n", "A\nx\n  new\nB\n", TWICE, "verified", ""),
        ({"rest": "kept"}, "A\nx\nB\n", "A\nx\nB\n", TWICE, "verified", ""),
        ({"rest": "kept"}, "A\nx\nKEEP\nz\nB\n", "A\np\nKEEP\nq\nz2\nB\n", HIDES, "unverified", "something else"),
        ({"rest": "kept", "edits": "all"}, "A\nx\nKEEP\nz\nB\n", "A\np\nKEEP\nq\nz2\nB\n", HIDES, "unverified", ""),
        ({"edits": "all"}, "b\nb=2\n", "b\n", {"old_string": "b=2\n", "new_string": ""}, "verified", ""),
        ({"edits": "all"}, "b\nb=2\n", "b\nb=2\n", {"old_string": "b=2\n", "new_string": ""}, "refuted", "the deletion"),
    ],
)
def test_what_was_asked_for_is_told_by_the_state_before(check, params, before, after, args, verdict, words):
    """Each assertion, told by the snapshot: what held, what did not, and what cannot be told."""
    found = check(params, {"a.txt": before} if before is not None else {}, {"a.txt": after}, args=args)
    assert found.state == verdict and words in found.found, state(found)


MANY = {"edits": [{"old_string": "one", "new_string": "eins"}, {"old_string": "two", "new_string": "zwei"},
                  {"old_string": "eins", "new_string": "uno"}]}


@pytest.mark.parametrize(
    ("after", "verdict", "words"),
    [
        ("uno\nzwei\n", "verified", ""),
        ("uno\ntwo\n", "refuted", '"zwei"'),
        ("one\nzwei\n", "refuted", "lost 2 of 3"),
        ("eins\nzwei\n", "refuted", 'lost 1 of 3 edits: "uno"'),
        ("one\ntwo\n", "refuted", "lost 3 of 3"),
    ],
)
def test_every_edit_of_several_counts(check, after, verdict, words):
    """An edit that another one of the same call wrote over is told by its number and its text."""
    found = check({"edits": "all"}, {"a.txt": "one\ntwo\n"}, {"a.txt": after}, tool="MultiEdit", args=MANY)
    assert found.state == verdict and words in found.found, state(found)


def test_the_mode_is_kept(check):
    """An editor that writes a new file drops the executable bit."""
    assert check({"mode": "kept"}, "echo a > a.txt; chmod 755 a.txt", "echo b > a.txt").state == "verified"
    found = check({"mode": "kept"}, "echo a > a.txt; chmod 755 a.txt", "rm a.txt; echo b > a.txt; chmod 644 a.txt")
    assert state(found)[0] == "refuted" and "had 0755" in found.found
    assert check({"mode": "0644"}, "", "chmod 600 a.txt").state == "refuted"


def test_an_idle_call_proves_nothing(check):
    """What was kept because nothing was done is no evidence, and what was to stay the same is."""
    before = {"a.txt": "a\nb\n"}
    for params in ({"line_endings": "kept"}, {"encoding": "kept"}, {"mode": "kept"}, {"size": 4}):
        assert check(params, before).cause == "vacuous", params
    assert check({"content": False}, before).state == "verified"
    assert check({"size": {"increased_by": 0}}, before).state == "verified"


@pytest.mark.parametrize(
    ("params", "after", "verdict"),
    [
        ({"content": True}, "b=3\n", "verified"),
        ({"content": True}, "b=2\n", "refuted"),
        ({"content": True}, "b=2\r\n", "refuted"),
        ({"content": False}, "b=2\n", "unverified"),
        ({"content": False}, "b=3\n", "refuted"),
        ({"rest": "kept"}, "b=3\r\n", "verified"),
        ({"edits": "all"}, "b=2\n", "refuted"),
        ({"line_endings": "kept"}, "b=3\n", "unverified"),
        ({"encoding": "kept"}, "b=3\n", "unverified"),
        ({"mode": "kept"}, "b=3\n", "unverified"),
        ({"size": {"increased_by": 0}}, "b=3\n", "unverified"),
    ],
)
def test_what_the_call_shows_of_the_content_before(check, tmp_path, params, after, verdict):
    """Without a look before the call, what it shows of the old content counts, as far as clients show it."""
    args = {**EDIT, "file_path": str(tmp_path / "a.txt")}
    found = check(params, {}, {"a.txt": after}, args=args, answer={"originalFile": "b=2\n"}, looked=False)
    assert found.state == verdict, state(found)


def test_two_calls_at_once(check, tmp_path):
    """A change that another call may have made is not laid at this one's door."""
    import truecall_py
    from truecall_py.api import look_before
    from truecall_py.world import snapshots

    put(tmp_path, {"a.txt": "a\n"})
    contracts = {"version": 1, "contracts": [
        {"id": "one", "tool": "Edit", "post": {"file_changed": {"path": "a.txt", "content": False}}}]}
    payload = {"session_id": "s", "cwd": str(tmp_path), "tool_name": "Edit", "tool_input": {}, "hook_event_name": "PreToolUse"}
    for call in ("t", "u"):
        seen = look_before({**payload, "tool_use_id": call}, contracts)
        assert snapshots.keep_snapshot(str(tmp_path / "state"), "s", call, seen)
    put(tmp_path, {"a.txt": "b\n"})
    kept = snapshots.find_snapshot(str(tmp_path / "state"), "s", "t")
    done = {**payload, "tool_use_id": "t", "hook_event_name": "PostToolUse", "tool_response": {}}
    (verdict,) = truecall_py.judge(done, contracts, snapshot=kept).verdicts
    assert (verdict.state, verdict.cause) == ("unverified", "probe")
    snapshots.mark_ended(snapshots.find_snapshot(str(tmp_path / "state"), "s", "u"))
    os.utime(tmp_path / "state" / "snapshots" / "s" / "u.done", (1, 1))
    (verdict,) = truecall_py.judge(done, contracts, snapshot=kept).verdicts
    assert verdict.state == "refuted"


def test_a_large_file_is_told_by_its_digest(check):
    """Above the size at which a content is kept, its digest and counts still tell."""
    big, other = "a" * 1_500_000 + "\n", "a" * 1_499_999 + "b\n"
    assert check({"content": True, "line_endings": "kept"}, {"a.txt": big}, {"a.txt": other}).state == "verified"
    assert check({"content": True}, {"a.txt": big}, {"a.txt": big}).state == "refuted"
    found = check({"rest": "kept"}, {"a.txt": "b=2" + big}, {"a.txt": "b=3" + big}, args=EDIT)
    assert (found.state, found.cause) == ("unverified", "probe")


COMMIT = "git init -q .; printf '%s' > a.txt; {} git add -A; git commit -qm m"


@pytest.mark.parametrize(
    ("setup", "after", "params", "verdict", "words"),
    [
        ("printf 'a\\n' > a.txt", "printf 'b\\n' > a.txt", {"content": True}, "verified", ""),
        ("printf 'a\\n' > a.txt", "touch a.txt", {"content": True}, "refuted", "in the last commit"),
        ("printf 'a\\n' > a.txt", "printf 'b\\n' > a.txt", {"content": False}, "refuted", "in the last commit"),
        ("echo x > b.txt", "printf 'b\\n' > a.txt", {"content": False}, "refuted", "is new"),
        ("printf 'a\\n\\231' > a.txt", "printf 'b\\n\\231' > a.txt", {"encoding": "kept"}, "verified", ""),
        ("printf 'a\\n\\231' > a.txt", "printf 'b\\n\\357\\277\\275' > a.txt", {"encoding": "kept"}, "refuted", "U+FFFD"),
        ("echo a > a.txt; chmod +x a.txt", "chmod 644 a.txt", {"mode": "kept"}, "refuted", "had 0755"),
        ("echo a > a.txt", "chmod 640 a.txt", {"mode": "kept"}, "verified", ""),
        ("echo a > a.txt; echo '*.txt eol=crlf' > .gitattributes", "printf 'b\\r\\n' > a.txt", {"line_endings": "kept"},
         "unverified", "git converts"),
        ("echo a > a.txt; echo '*.txt filter=lfs' > .gitattributes", "echo b > a.txt", {"content": True}, "unverified",
         "filter=lfs"),
    ],
)
def test_the_last_commit_is_a_state_before(check, setup, after, params, verdict, words):
    """HEAD's own bytes are compared, whatever stood in the folder before the call."""
    script = f"git init -q .; {setup}; git add -A; git commit -qm m"
    found = check({**params, "since": "head"}, script, after, looked=False)
    assert found.state == verdict and words in found.found, state(found)


def test_a_hostile_repository_runs_nothing(check, tmp_path):
    """No hook, filter, text conversion or fsmonitor of the repository is run for a look at its last commit."""
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    script = f"""
        git init -q .; echo a > a.txt; git add a.txt; git commit -qm m
        echo '*.txt filter=x diff=x' > .gitattributes
        git config core.fsmonitor {trap}; git config filter.x.smudge {trap}; git config filter.x.clean {trap}
        git config diff.x.textconv {trap}; git config core.hooksPath {tmp_path}; git config core.pager {trap}
        git config core.sshCommand {trap}; git config extensions.partialClone origin
        git config remote.origin.promisor true; git config remote.origin.url 'ext::{trap}'; git config protocol.allow always
        rm -f sprung
    """
    found = check({"content": True, "since": "head"}, script, "rm -f sprung; echo b > a.txt", looked=False)
    assert found.state == "unverified" and "filter=x" in found.found
    assert not (tmp_path / "sprung").exists()
    found = check({"content": True, "since": "head"}, "", "rm .gitattributes; find .git/objects -type f -delete", looked=False)
    assert found.state == "unverified", found
    assert not (tmp_path / "sprung").exists()


TEXT = st.text(alphabet="ab\nc", max_size=12)


@settings(max_examples=300, deadline=None)
@given(TEXT, st.lists(st.tuples(st.text(alphabet="ab\nc", min_size=1, max_size=3), TEXT, st.booleans()), min_size=1, max_size=4))
def test_edits_are_applied_as_clients_apply_them(before, sent):
    """Applying edits by pieces gives what replacing text by text gives, and the stretches between stay in it."""
    text = before
    made = edits.apply_edits(before, [Edit(*each) for each in sent], "utf-8", False, False)
    for old, new, every in sent:
        if old not in text:
            assert made is None
            return
        text = text.replace(old, new) if every else text.replace(old, new, 1)
    assert edits.join_pieces(made) == text
    assert edits.contains_in_order(edits.list_untouched(made), text)


LINES = st.lists(st.sampled_from(["a=1", "b='x'", "import os", "f(a,b)", "", "  c=2", "d = 3;"]), min_size=1, max_size=6)
FORMATTERS = (
    lambda text: text.replace("=", " = "),
    lambda text: text.replace("'", '"').replace(";", ""),
    lambda text: text.replace(",", ", ").replace("  c", "\tc"),
    lambda text: "\n".join(line for line in text.split("\n") if not line.startswith("import ")),
    lambda text: text.replace("\n\n", "\n").strip() + "\n",
)


@settings(max_examples=400, deadline=None)
@given(LINES, st.data())
def test_a_formatter_never_makes_an_edit_look_lost(lines, data):
    """Whatever a formatter does to a file behind an edit, the edit is not called lost."""
    before = "\n".join(lines) + "\n"
    sent = []
    text = before
    for _ in range(data.draw(st.integers(1, 3))):
        old = data.draw(st.sampled_from([line for line in text.split("\n") if line] or ["a=1"]))
        new = data.draw(st.sampled_from(["z=9", "y='q'", f"import sys\n{old}", f"{old}\nw(a,b)"]))
        if old not in text:
            return
        sent.append(Edit(old, new, False))
        text = text.replace(old, new, 1)
    for formatter in data.draw(st.lists(st.sampled_from(FORMATTERS), max_size=3)):
        text = formatter(text)
    assert edits.LOST not in edits.find_states(before, text, sent, False), (before, text, sent)


@settings(max_examples=300, deadline=None)
@given(LINES, st.data())
def test_an_edit_that_was_left_out_never_looks_landed(lines, data):
    """Where the file is what the other edits make of it, not all edits count as landed."""
    before = "\n".join(lines) + "\n"
    numbers = [number for number, line in enumerate(lines) if line and lines.count(line) == 1 and before.count(line) == 1]
    sent = [Edit(lines[number], f"new{number}", False) for number in numbers]
    if not sent:
        return
    lost = data.draw(st.integers(0, len(sent) - 1))
    text = before
    for number, edit in enumerate(sent):
        if number != lost:
            text = text.replace(edit.old, edit.new, 1)
    found = edits.find_states(before, text, sent, False)
    assert found[lost] == edits.LOST and found.count(edits.LOST) == 1, (before, text, sent, found)
