"""command: a program ends with the wanted exit code and output. It never uses a shell. Output never outweighs a wrong
exit code."""

from __future__ import annotations

import os

from truecall_py.checks import EXECUTION
from truecall_py.checks.support.outcomes import refuted, unverified, verified
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import describe, matches, quote_value
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, Finished, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.world.world import World

NAME = "command"
SUMMARY = "A program, run without a shell, ends with the expected exit code and output."
STAGE = EXECUTION
FAILURE_CLASS = ""
COST = 2.7
FIELDS = (
    field("run", "argv", "The program and its arguments, as a list. A program with a relative path "
          "(`./probe.sh`) is the one in the contract's folder; a bare name is looked up in PATH.",
          required=True, templated=True),
    field("exit", "counts", "The exit code, or a list of accepted codes.", default=0),
    field("stdout", "matcher", "The expected standard output.", templated=True),
    field("stderr", "matcher", "The expected standard error.", templated=True),
    field("env", "map", "Variables in addition to the minimal environment.", templated=True),
    field("cwd", "path", "The folder in which it runs; default: the one in which the call started.", templated=True),
)  # fmt: skip
ASSERTS = ("run",)
LOOK_UP, NEEDED = ("run", "env", "cwd"), ("run",)
SYNONYMS = ("shell", "exec", "run")
EXAMPLES = (
    {
        "title": "the generated script is valid",
        "files": {"deploy.sh": "echo hello\n"},
        "check": {"run": ["sh", "-n", "deploy.sh"]},
        "verdict": "verified",
    },
    {
        "title": "the script prints something else",
        "files": {"deploy.sh": "echo hello\n"},
        "check": {"run": ["sh", "deploy.sh"], "stdout": {"contains": "done"}},
        "verdict": "refuted",
    },
    {
        "title": "a probe that belongs to the project",
        "files": {"probe.sh": "#!/bin/sh\necho 3 rows missing >&2\nexit 1\n"},
        "executable": ["probe.sh"],
        "check": {"run": ["./probe.sh"]},
        "verdict": "refuted",
    },
)

LINES = 2  # lines from the start and from the end of an output
STREAMS = (("stdout", "its standard output"), ("stderr", "its standard error"))


def list_exit_codes(params: dict[str, Any]) -> list[int]:
    codes = params.get("exit", 0)
    return codes if isinstance(codes, list) else [codes]


def quote_argv(argv: list[str]) -> str:
    line = " ".join(argv)
    return f"`{line if len(line) <= 160 else line[:157] + '...'}`"


def expect(params: dict[str, Any]) -> str:
    codes = " or ".join(map(str, list_exit_codes(params)))
    words = [f"{quote_argv(params['run'])} ends with exit code {codes}"]
    words += [f"{what} {describe(params[name])}" for name, what in STREAMS if params.get(name)]
    return ", ".join(words)


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    expected = expect(params)
    finished = world.run(resolve_argv(params, world), params.get("env"), find_folder(params, world))
    if finished.exit_code is None:
        return unverified(expected, finished.trouble, finished.cause)
    if finished.exit_code not in list_exit_codes(params):
        return refuted(expected, f"exit code {finished.exit_code}{describe_output(finished)}")
    for name, what in STREAMS:
        matcher = params.get(name)
        if not matcher:
            continue
        if finished.trouble:  # the decisive part may be the one that was cut off
            return unverified(expected, finished.trouble, "probe")
        if not matches(matcher, getattr(finished, name), world):
            found = f"exit code {finished.exit_code}, {what} is {shorten_output(getattr(finished, name))}"
            return refuted(expected, found)
    return verified(expected, f"exit code {finished.exit_code}")


def evidence(params: dict[str, Any], call: ToolCall, world: World) -> Any:
    """Return the JSON that a program prints which ends with 0; ABSENT if it prints nothing. Raises Unverified."""
    from truecall_py.core.fast_json import JsonError, loads

    finished = world.run(resolve_argv(params, world), params.get("env"), find_folder(params, world))
    if finished.exit_code is None or finished.trouble:
        raise Unverified(finished.trouble or "it did not end", finished.cause)
    if finished.exit_code:
        raise Unverified(f"exit code {finished.exit_code}{describe_output(finished)}", "world")
    if not finished.stdout.strip():
        return ABSENT
    try:
        return loads(finished.stdout)
    except JsonError as refused:
        raise Unverified(f"its output is no JSON ({refused}): {shorten_output(finished.stdout)}", "world") from None


def resolve_argv(params: dict[str, Any], world: World) -> list[str]:
    """Return the command. A relative program path starts at the contract's folder, which is trusted; the agent
    chooses the folder of the call."""
    program, *rest = params["run"]
    if "/" in program and not program.startswith("/") and world.project:
        program = os.path.join(world.project, program)
    return [program, *rest]


def find_folder(params: dict[str, Any], world: World) -> str | None:
    if params.get("cwd"):
        return world.resolve(params["cwd"])
    if world.base is None and world.project:
        raise Unverified("the folder in which the call started is not known, and `cwd` names none", "harness")
    return world.base


def describe_output(finished: Finished) -> str:
    parts = [
        f"; {name}: {shorten_output(text)}"
        for name, text in (("stderr", finished.stderr), ("stdout", finished.stdout))
        if text.strip()
    ]
    return "".join(parts)


def shorten_output(text: str) -> str:
    """Return the first and the last lines of an output: what ran, and how it ended."""
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    if len(lines) > 2 * LINES:
        lines = [*lines[:LINES], "...", *lines[-LINES:]]
    return quote_value("\n".join(lines), 400)
