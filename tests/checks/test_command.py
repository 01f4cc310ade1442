"""command: what a program's end says, and what it does not say."""

from __future__ import annotations

import os
import time

import pytest

from truecall_py.checks import command
from truecall_py.core.errors import Unverified
from truecall_py.core.types import REFUTED, UNVERIFIED, VERIFIED, ToolCall
from truecall_py.world.world import World

CALL = ToolCall("claude-code", "PostToolUse", "Bash", frozenset({"shell"}), {})


@pytest.fixture
def world(tmp_path):
    return World(str(tmp_path), str(tmp_path))


def look(world, run, **params):
    return command.run({"run": run, **params}, CALL, world)


def program(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("example", command.EXAMPLES, ids=lambda example: example["title"])
def test_the_examples_hold(example, world, tmp_path):
    """What the documentation shows is what happens."""
    for name, text in example["files"].items():
        path = program(tmp_path, name, text)
        path.chmod(0o755 if name in example.get("executable", ()) else 0o644)
    assert command.run(example["check"], CALL, world).state == example["verdict"]


def test_the_exit_code_decides(world):
    """0 unless another one, or one of several, is asked for."""
    assert look(world, ["true"]).state == VERIFIED
    found = look(world, ["sh", "-c", "echo one; echo two >&2; exit 3"])
    assert found.state == REFUTED
    assert found.found == 'exit code 3; stderr: "two"; stdout: "one"'
    assert found.expected == "`sh -c echo one; echo two >&2; exit 3` ends with exit code 0"
    assert look(world, ["sh", "-c", "exit 3"], exit=3).state == VERIFIED
    assert look(world, ["sh", "-c", "exit 3"], exit=[0, 3]).state == VERIFIED
    assert look(world, ["true"], exit=3).state == REFUTED


def test_output_never_outweighs_a_bad_exit_code(world):
    """`ok` on standard output is not a pass when the program says that it failed."""
    assert look(world, ["sh", "-c", "echo ok; exit 1"], stdout={"contains": "ok"}).state == REFUTED


def test_both_outputs_are_matched(world):
    """A matcher that does not hold is quoted with what was there."""
    script = ["sh", "-c", "echo 3 passed; echo warning >&2"]
    assert look(world, script, stdout={"contains": "passed"}, stderr={"contains": "warn"}).state == VERIFIED
    found = look(world, script, stdout={"contains": "passed"}, stderr={"equals": ""})
    assert found.state == REFUTED
    assert found.found == 'exit code 0, its standard error is "warning"'
    assert 'its standard output contains "passed", its standard error equals ""' in found.expected


def test_long_output_is_told_by_its_ends(world):
    """The first and the last lines are quoted, and no more."""
    found = look(world, ["sh", "-c", "seq 1 100000 >&2; exit 1"])
    assert found.found == 'exit code 1; stderr: "1\\n2\\n...\\n99999\\n100000"'


def test_output_that_was_not_kept_cannot_be_matched(world):
    """Nobody knows whether the dropped part holds the word; the exit code alone is still good."""
    script = ["sh", "-c", "head -c 3000000 /dev/zero"]
    assert look(world, script, stdout={"not_contains": "error"}).state == UNVERIFIED
    assert look(world, script).state == VERIFIED


@pytest.mark.parametrize(
    ("run", "cause"),
    [
        (["no-such-program-anywhere"], "contract"),
        (["sh", "-c", "exit 127"], "contract"),
        (["sh", "-c", "exit 126"], "contract"),
        (["sh", "-c", "kill -9 $$"], "probe"),
    ],
)
def test_no_exit_code_is_no_verdict(world, run, cause):
    """Not found, not executable, killed: unverified, even where that very code was asked for."""
    found = look(world, run, exit=[0, 126, 127])
    assert (found.state, found.cause) == (UNVERIFIED, cause)


def test_a_time_out_is_no_verdict(tmp_path):
    """The contract's own time for a look counts."""
    began = time.monotonic()
    found = look(World(str(tmp_path), str(tmp_path), look=0.3), ["sleep", "20"])
    assert (found.state, found.cause) == (UNVERIFIED, "probe")
    assert time.monotonic() - began < 15


def test_a_leaky_probe_answers_at_once(world, tmp_path):
    """A child that keeps standard output open neither delays the pass nor makes it a time-out."""
    program(tmp_path, "leaky.sh", "#!/bin/sh\nsleep 300 &\nexit 0\n")
    began = time.monotonic()
    assert look(world, ["./leaky.sh"]).state == VERIFIED
    assert time.monotonic() - began < 8


def test_it_runs_where_the_call_started(tmp_path):
    """The base folder; `cwd` is against it, `env` on top of the rest. Where the base is not known, nothing
    is run somewhere else."""
    (tmp_path / "sub/deep").mkdir(parents=True)
    root = os.path.realpath(tmp_path)
    script = ["sh", "-c", 'test "$(pwd -P)" = "$WANT"']
    based = World(str(tmp_path / "sub"), str(tmp_path))
    assert look(based, script, env={"WANT": f"{root}/sub"}).state == VERIFIED
    assert look(based, script, env={"WANT": f"{root}/sub/deep"}, cwd="deep").state == VERIFIED
    with pytest.raises(Unverified, match="not known") as unknown:
        look(World(None, str(tmp_path)), script, env={"WANT": root})
    assert unknown.value.cause == "harness"
    assert look(World(None, str(tmp_path)), script, env={"WANT": root}, cwd=str(tmp_path)).state == VERIFIED
    gone = look(World(str(tmp_path / "gone"), str(tmp_path)), ["true"])
    assert (gone.state, gone.cause) == (UNVERIFIED, "world")


def test_a_programs_relative_path_starts_at_the_contract(tmp_path):
    """The agent chooses the folder of its call; a probe.sh that it planted there is not the contract's."""
    program(tmp_path, "probe.sh", "#!/bin/sh\nexit 1\n")
    program(tmp_path, "elsewhere/probe.sh", "#!/bin/sh\nexit 0\n")
    assert look(World(str(tmp_path / "elsewhere"), str(tmp_path)), ["./probe.sh"]).state == REFUTED


def test_values_are_never_a_shells(world, tmp_path):
    """An argument is one argument, whatever it holds."""
    look(world, ["echo", "a; touch hijacked", "$(touch hijacked)", "`touch hijacked`"])
    assert not (tmp_path / "hijacked").exists()
