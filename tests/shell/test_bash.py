"""The same, asked of bash itself."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.random_shell import program

from truecall_py.shell.commands import parse_simple_commands
from truecall_py.shell.runs import runs

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="compares with bash")


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with a program `m` that writes down its words; its second one is the exit code."""
    folder = tmp_path / "bin"
    folder.mkdir()
    tool = folder / "m"
    tool.write_text(
        f"#!{sys.executable} -IS\nimport json, os, sys\n"
        "with open(os.environ['LOG'], 'a') as log: log.write(json.dumps(sys.argv) + '\\n')\n"
        "sys.exit(int(sys.argv[2]))\n"
    )
    tool.chmod(0o755)
    return folder


def ask_bash(command: str, tools: Path, work: Path) -> tuple[int, list[list[str]]]:
    work.mkdir()
    log = work / "log"
    log.touch()
    assert BASH is not None
    done = subprocess.run(
        [BASH, "--norc", "-c", command],
        cwd=work,
        env={"PATH": f"{tools}:{os.defpath}", "LOG": str(log), "HOME": "/home/x"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return code, [json.loads(line)[1:] for line in log.read_text().splitlines()]


WORDS = [
    "a b",
    "'a  b' \"c d\"",
    "a\\ b",
    r'"a\"b\\c\$d\e" "\a\n"',
    r"'it'\''s'",
    r"$'a\tb\'c\x41\101'",
    "a#b #c",
    "\"\" '' ''a\"\" x",
    "a=b --x=1 a+=b",
    "{a} a{b {b} {, {a.b}",
    "@{u} HEAD~1 HEAD^ x:y ./~ a~ -",
    '$ a$ "$" \'$x\' "a$"',
    r"\$x \`ls\` a\*b '*' " + '"?"',
    "\"a\nb\" 'c\nd'",
    '"$(cat <<\'E\'\nit\'s (a) "b" $c `d`\n\nE\n)"',
    "a\\\nb \\\n c",
    "! !a ] ]] , . : % @ + ^",
    'é "日本"',
    "if then fi in { }",
    '-- -x --y="z w"',
    "2 3>/dev/null 4 a>/dev/null b 2>&1 c",
]


@needs_bash
@pytest.mark.parametrize("words", WORDS)
def test_words_are_those_that_bash_gives(words: str, tools: Path, tmp_path: Path) -> None:
    """Where a word is known, it is the word that bash passes to the program."""
    command = f"m w 0 {words}"
    simples = parse_simple_commands(command)
    assert simples is not None
    _, calls = ask_bash(command, tools, tmp_path / "work")
    assert [simples[-1].argv[1:]] == calls


STATEMENTS = [
    "true", "false", "exit 3", "exit", "exit 0", "set -e", "set -eu", "set +e", ": > /nonexistent/q", "X=1",
    "export Y=2", "return", "break", "shift", "! false", "time true", "[[ a == b ]]", "[ a = b ]", "((0))",
    "readonly Z=1", "Z=2", "trap 'exit 0' EXIT", "m() { true; }", "UID=3", "exec true", "exec 3>&1",
    "alias m=true", "unset X", "source /nonexistent/s", ". /dev/null", "eval exit", "f() { exit; }", "f",
    "$U", "command exit 4", "shopt -s failglob", "echo ${U:?}", "echo $((1/0))", "x=$((1/0))", "m x >&9",
]  # fmt: skip
TAILS = [
    "$U", "*.none", "${U:?no}", "$((1/0))", "`echo 1`", ">f", ">/nonexistent/f", "2>&1", "<missing", ">&7",
    "<<<w",
]  # fmt: skip
BLOCKS = [
    "if %s; then m b 0; fi", "for i in 1 2; do %s; done", "( %s )", "{ %s; }", "while false; do %s; done",
    "case x in x) %s;; esac", "echo \"$(%s)\"", "g() { %s; }", "cat <(%s)",
]  # fmt: skip


def random_line(rng: random.Random, count: list[int], depth: int = 0) -> str:
    parts = []
    for _ in range(rng.randint(1, 4)):
        drawn = rng.random()
        if drawn < 0.6 or depth > 1:
            count[0] += 1
            part = f"m c{count[0]} {rng.choice('0013')} {rng.choice((*[''] * 9, *TAILS))}"
        elif drawn < 0.8:
            part = rng.choice(STATEMENTS)
        else:
            part = rng.choice(BLOCKS) % random_line(rng, count, depth + 1)
        parts += [part, rng.choice((" && ", " || ", "; ", "\n", " | ", " & "))]
    return "".join(parts[:-1])


@needs_bash
@pytest.mark.parametrize("seed", range(12))
def test_what_is_certain_was_run_by_bash(seed: int, tools: Path, tmp_path: Path) -> None:
    """In random programs, every command called certain under the exit code was run by bash, and every one that is
    said to have ended well did end with 0."""
    rng = random.Random(seed)
    checked = 0
    for number in range(25):
        count = [0]
        line = random_line(rng, count)
        if parse_simple_commands(line) is None:
            continue
        code, calls = ask_bash(line, tools, tmp_path / str(number))
        ran = {call[0] for call in calls}
        for index in range(1, count[0] + 1):
            if runs(f"m c{index} *", line, code) is not None:
                checked += 1
                assert f"c{index}" in ran, (line, code)
            if runs(f"m c{index} * &&", line, code) is not None:
                assert {call[1] for call in calls if call[0] == f"c{index}"} == {"0"}, (line, code)
    assert checked


@needs_bash
def test_bash_finds_no_error_in_what_is_parsed() -> None:
    """A line that bash refuses as a whole is never parsed: nothing in it was run."""
    rng = random.Random(5)
    assert BASH is not None
    for _ in range(400):
        line = program(rng, 7)
        if parse_simple_commands(line) is not None:
            done = subprocess.run([BASH, "-n", "-c", "--", line], capture_output=True, check=False)
            assert done.returncode == 0, line
