"""Text to simple commands: their parts, what is not known of them, and how long it takes."""

from __future__ import annotations

import random
import time

import pytest
from support.random_shell import program

from truecall_py.shell.commands import LIMIT, Simple, changes_directory, parse_simple_commands
from truecall_py.shell.runs import check_pattern, runs


@pytest.mark.parametrize(
    ("command", "moves"),
    [
        ("cd x", True),
        ("ls; cd x && make", True),
        ("(cd x && make)", True),
        ("if true; then pushd x; fi", True),
        ("popd", True),
        ("f() { cd x; }; f", True),
        ("echo $(cd x; pwd)", True),
        ("command cd x", True),
        ("builtin cd x", True),
        ("eval x", True),
        ("source x", True),
        (". x", True),
        ("$X", True),
        ("A=1 cd x", True),
        ("! cd x", True),
        ("echo 'unclosed", True),
        ("echo cd x", False),
        ("echo 'cd x'; ls", False),
        ("# cd x", False),
        ("cat <<E\ncd x\nE\n", False),
        ("git commit -m 'a\ncd x'", False),
        ("git -C x push", False),
        ("echo $(date)", False),
        ("", False),
    ],
)
def test_changes_directory(command: str, moves: bool) -> None:
    """Anything that may move the shell counts as a move; text that only mentions it does not."""
    assert changes_directory(command) is moves


def only(command: str) -> Simple:
    simples = parse_simple_commands(command)
    assert simples is not None
    assert len(simples) == 1
    return simples[0]


def test_a_simple_command_has_its_parts() -> None:
    """Assignments, words and redirections are told apart, and what is not known is None."""
    simple = only("A=1 B=$X cmd 'a b' $Y 2>&1 >>log <in 3>$Z <<'E' <<<w {fd}>f\nbody $x\nE\n")
    assert simple.assignments == [("A", "1"), ("B", None)]
    assert simple.argv == ["cmd", "a b", None]
    assert simple.redirections == [
        ("2>&", "1"),
        (">>", "log"),
        ("<", "in"),
        ("3>", None),
        ("<<", "body $x\n"),
        ("<<<", "w"),
        ("{fd}>", "f"),
    ]


def test_a_document_with_expansions_is_not_known() -> None:
    """The text of a here-document is given only where the shell takes it is."""
    assert only("cat <<E\na $b\nE\n").redirections == [("<<", None)]
    assert only("cat <<E\na b\nE\n").redirections == [("<<", "a b\n")]
    assert only("cat <<-E\n\ta\n\tE\n").redirections == [("<<-", "a\n")]


def test_nested_commands_are_listed() -> None:
    """Commands inside other constructs are listed, in the order of their ends, as not certain."""
    simples = parse_simple_commands("a $(b); if c; then (d); fi; e <(f) & g() { h; }; `i`; j")
    assert simples is not None
    names = [simple.argv[0] for simple in simples]
    assert names == ["b", "a", "c", "d", "f", "e", "h", None, None, "j"]
    assert [simple.certain for simple in simples] == ["no", "always", *["no"] * 8]
    assert [simple.detached for simple in simples].count(True) == 3


@pytest.mark.parametrize(
    "command",
    [
        "git push" + " x" * LIMIT,
        "a\0b",
        "a=(1 2)",
        "echo $[1+1]",
        "a[1 2]=x",
        "coproc x",
        "case x in a) b",
        "for x do",
        "fi",
        "a &; b",
        "a | | b",
        "( )",
        "cat <<E",
        "echo ${x@P}",
        "a; }",
        "f() x",
        "echo a(b)",
        "cat <<E 'x\n'\nE\n",
    ],
)
def test_what_is_not_certain_is_not_parsed(command: str) -> None:
    """A command that is wrong, too long or too unusual gives no answer at all, and matches nothing."""
    assert parse_simple_commands(command) is None
    assert runs("git *", command, 0) is None
    assert changes_directory(command)


def test_random_text_never_raises() -> None:
    """Whatever the agent sends, the answer is a list, or None."""
    rng = random.Random(20)
    for _ in range(5000):
        text = "".join(chr(rng.choice((rng.randrange(128), rng.randrange(0x3000)))) for _ in range(30))
        for command in (program(rng, 12), text):
            parse_simple_commands(command)
            changes_directory(command)
            runs("git [-p] !x {a} *", command, 0)
            runs("a *", command, 0)
            check_pattern(command)


DEEP = ["$(", '"$(', "(", "{ ", "if a; then ", "`", "${x:-", "((", "! ", "f() { ", "case x in a) ", "<<E ", "a & "]
LONG = ["a ", "a;", "a&&", "a|", "\\\n", "'a'", '"$x"', "a\n", "$((1)) ", "git push;", "mkdir a;", "a{", "{ a& }; "]


@pytest.mark.parametrize("piece", DEEP + LONG)
def test_time_grows_with_length_only(piece: str) -> None:
    """Deep nesting and long lines cost time in proportion, and no recursion."""
    command = (piece * (LIMIT // len(piece)))[:LIMIT]
    started = time.process_time()
    for text in (command, "mkdir b; " + command[: LIMIT - 10]):
        parse_simple_commands(text)
        runs("mkdir {file...}", text, 0)
        runs("a* {b} *", text, 0)
    assert time.process_time() - started < 10


def test_many_operands_cost_no_square() -> None:
    """Thousands of operands against thousands of later words end as no match, soon."""
    words = " ".join(f"w{number}" for number in range(9000))
    started = time.process_time()
    assert runs("mkdir {file...}", f"mkdir {words}; rm {words}", 0) is None
    assert time.process_time() - started < 10
    assert len(runs("mkdir {file...}", f"mkdir {words}", 0) or []) == 9000
