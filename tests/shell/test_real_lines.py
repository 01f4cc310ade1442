"""Real command lines, run in bash by the oracle: here only that the oracle itself can be trusted."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.bash_oracle import BASH, STUBS, Record, Trace, Traced, load_lines, run_line, run_plain, split_trace

RECORDS = load_lines()
needs_bash = pytest.mark.skipif(not BASH, reason="runs bash")
Runner = Callable[..., Trace]


def name_record(record: Record) -> str:
    """The name of a record in the names of the tests."""
    return record["note"].replace(" ", "_").replace(",", "")


@pytest.fixture
def run_traced(tmp_path: Path) -> Runner:
    """Runs a line under the tracer: `run_traced(line, fails=[...])`; what comes back is its trace."""

    def run(line: str, **fields: Any) -> Trace:
        return run_line({"line": line, **fields}, tmp_path / "traced")

    return run


def list_statuses(trace: Trace) -> list[tuple[str, int | None]]:
    """Each command as a text, with its status."""
    return [(" ".join(each.words), each.status) for each in trace.commands]


@needs_bash
def test_a_trace_is_the_same_twice(tmp_path: Path):
    """Commands and statuses, apart from the order in which the parts of a pipe start."""
    record = {"line": "set -o pipefail; f() { make a | tail -1; }; f || echo no; cd x; (make b)", "fails": ["make a"]}
    first, second = (list_statuses(run_line(record, tmp_path / name)) for name in ("one", "two"))
    assert sorted(first, key=str) == sorted(second, key=str)
    assert len(first) == 7


def test_the_table_is_long_and_mixed():
    """At least 170 lines, some of several lines, some that fail, and at least 10 that bash cannot read."""
    lines = [record["line"] for record in RECORDS if not record.get("broken")]
    assert len(lines) >= 170
    assert sum("\n" in line for line in lines) >= 30
    assert sum(bool(record.get("fails") or record.get("exit")) for record in RECORDS) >= 50
    assert sum(bool(record.get("broken")) for record in RECORDS) >= 10
    for record in RECORDS:
        for call in (*record.get("fails", ()), *record.get("exit", {})):
            assert call.split()[0] in STUBS | {"python", "python3"}, "only a stand-in can be made to fail"
            text = record["line"] + record.get("setup", "")
            assert call.split()[0] in text, f"{call} is not in {text}"


def test_no_record_stands_twice():
    """Every record differs from the others, and has a note of its own."""
    seen = [(record["line"], str({**record, "note": ""})) for record in RECORDS]
    assert len(set(seen)) == len(seen)
    names = [record["note"] for record in RECORDS]
    assert sorted(set(names)) == sorted(names)


@needs_bash
@pytest.mark.parametrize("record", RECORDS, ids=name_record)
def test_the_tracer_changes_nothing(record: Record, tmp_path: Path):
    """The exit code, what is printed and the files are those of a run without the tracer."""
    plain, traced = run_plain(record, tmp_path / "plain"), run_line(record, tmp_path / "traced")
    assert traced.exit_code == plain.exit_code
    assert set(traced.files) == set(plain.files)
    assert all(each.words and "__tc" not in " ".join(each.words) for each in traced.commands)
    if record.get("varies"):
        return
    assert traced.stdout == plain.stdout
    assert traced.files == plain.files


EXPECTED: list[tuple[str, dict[str, Any], int, list[tuple[str, int | None]]]] = [
    ("make build && make test", {}, 0, [("make build", 0), ("make test", 0)]),
    ("make build && make test", {"fails": ["make build"]}, 1, [("make build", 1)]),
    ("make build && make test", {"exit": {"make test": 2}}, 2, [("make build", 0), ("make test", 2)]),
    ("make a; make b", {"fails": ["make a"]}, 0, [("make a", 1), ("make b", 0)]),
    ("make a || true", {"fails": ["make a"]}, 0, [("make a", 1), ("true", 0)]),
    ("make a || true", {}, 0, [("make a", 0)]),
    ("! make a", {}, 1, [("make a", 0)]),
    ("cd nowhere && make", {}, 1, [("cd nowhere", 1)]),
    ("(exit 3); echo $?", {}, 0, [("exit 3", 3), ("echo 3", 0)]),
    ("exit 3; echo never", {}, 3, [("exit 3", 3)]),
    ("set -e; make a; make b", {"fails": ["make a"]}, 1, [("set -e", 0), ("make a", 1)]),
    ("f() { return 3; }; f || echo no", {}, 0, [("f", 3), ("return 3", 3), ("echo no", 0)]),
    ("f() { make a; }; echo x", {}, 0, [("echo x", 0)]),
    ("f() { make a; }; if f; then echo yes; fi", {"fails": ["make a"]}, 0, [("f", None), ("make a", 1)]),
    ("export X=1; (exit 4)", {}, 4, [("export X=1", None), ("exit 4", 4)]),
    ("timeout 9 make a", {"exit": {"make": 5}}, 5, [("timeout 9 make a", 5), ("make a", 5)]),
    ("bash -c 'make a; cd x'", {}, 1, [("bash -c make a; cd x", 1), ("make a", 0), ("cd x", 1)]),
    ("eval 'make a' || exit 7", {"fails": ["make"]}, 7, [("eval make a", 1), ("make a", 1), ("exit 7", 7)]),
    ("exec make a; make b", {}, 0, [("exec make a", 0), ("make a", 0)]),
    ("make a > no/file; make b", {}, 0, [("make b", 0)]),
    ("nosuchtool x; echo $?", {}, 0, [("nosuchtool x", 127), ("echo 127", 0)]),
    ("trap 'echo bye' EXIT; exit 2", {}, 2, [("trap echo bye EXIT", 0), ("exit 2", 2), ("echo bye", 0)]),
    ("X=$(make v) && $X", {"exit": {"make v": 3}}, 3, [("make v", 3)]),
    ("printf 'a b' | xargs -n1 make", {}, 0, []),
    ("# make a\necho 'make b'", {}, 0, [("echo make b", 0)]),
    ("make a\nmake 'b", {}, 2, [("make a", 0)]),
    ("mkdir -p x/y && cd $_ && make a", {}, 0, [("mkdir -p x/y", 0), ("cd x/y", 0), ("make a", 0)]),
]


@needs_bash
@pytest.mark.parametrize(("line", "fields", "code", "commands"), EXPECTED)
def test_the_trace_says_what_ran(run_traced: Runner, line: str, fields: dict[str, Any], code: int, commands: list[Any]):
    """Expectations written by hand: the exit code of the line, and its commands with their statuses."""
    trace = run_traced(line, **fields)
    assert trace.exit_code == code
    if commands:
        assert list_statuses(trace) == commands


@needs_bash
def test_each_command_of_a_pipe_has_its_own_status(run_traced: Runner):
    """The first of a pipe ended with 1, although the line ended with 0."""
    trace = run_traced("false | true")
    assert trace.exit_code == 0
    assert trace.find("false") == [Traced(["false"], 1)]
    assert trace.find("true") == [Traced(["true"], 0)]


@needs_bash
def test_xargs_shows_what_it_runs(run_traced: Runner):
    """Each call that xargs made is in the trace, beside xargs itself."""
    trace = run_traced("printf 'a b' | xargs -n1 make", fails=["make b"])
    assert trace.exit_code == 123
    assert trace.find("make") == [Traced(["make", "a"], 0), Traced(["make", "b"], 1)]
    assert trace.find("xargs") == [Traced(["xargs", "-n1", "make"], 123)]


@needs_bash
def test_the_background_is_waited_for(run_traced: Runner):
    """A command that starts after the line has ended is in the trace, with its status."""
    trace = run_traced("(sleep 0.3; make late) > log 2>&1 & echo first", fails=["make"])
    assert trace.exit_code == 0
    assert trace.find("make", "late") == [Traced(["make", "late"], 1)]


@needs_bash
def test_a_killed_command_has_the_status_of_the_signal(run_traced: Runner):
    """A program that a signal ended has the status that bash gives it."""
    trace = run_traced("bash -c 'kill -TERM $$'; echo went on")
    assert trace.find("bash")[0].status == 128 + signal.SIGTERM
    assert trace.find("echo") == [Traced(["echo", "went", "on"], 0)]


@needs_bash
def test_words_are_those_after_expansion(run_traced: Runner):
    """Quotes are gone, variables and braces are filled in, empty words and newlines stay."""
    trace = run_traced("X='a  b'; export Y=\"$X\nc'd\"; echo \"$Y\" '' {1,2}")
    assert trace.find("export") == [Traced(["export", "Y=a  b\nc'd"], 0)]
    assert trace.find("echo") == [Traced(["echo", "a  b\nc'd", "", "1", "2"], 0)]


@needs_bash
def test_the_inside_of_a_script_is_not_part_of_the_line(run_traced: Runner):
    """A script is one command, with its own exit code."""
    setup = "printf '#!/bin/sh\\nmake all\\n' > run.sh\nchmod +x run.sh"
    trace = run_traced("./run.sh now | cat", setup=setup, exit={"make all": 4})
    assert trace.find("./run.sh") == [Traced(["./run.sh", "now"], 4)]
    assert not trace.find("make")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b\n", ["a", "b"]),
        ("a 'b c' ''\n", ["a", "b c", ""]),
        ("a 'it'\\''s'\n", ["a", "it's"]),
        ("a $'b\\tc'\n", ["a", "b\tc"]),
        ("a 'b\nc'\n", ["a", "b\nc"]),
    ],
)
def test_bash_traces_are_split_into_words(text: str, words: list[str]):
    """Every way in which bash's trace quotes a word is read back."""
    assert split_trace(text) == words
