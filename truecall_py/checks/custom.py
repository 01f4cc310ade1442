"""custom: a check that the user wrote decides. Only a clear answer counts: an exception, silence, noise, a timeout,
or a value other than True and False gives no verdict.

The call arrives as one JSON object: as the only argument of a Python function, or on the standard input of a program.
Its keys are the names of the contract format; a key that the call does not have is absent: `harness`, `event`,
`tool`, `kind` (a sorted list), `args`, `files` (each with `path`, `action` and perhaps `content`), `result`, `text`,
`reported`, `exit_code`, `is_error`, `cwd`, `start_cwd`, `project`, `session`, `duration`. Both run in the contract's
folder.
"""

from __future__ import annotations

import os

from truecall_py.checks import EXECUTION
from truecall_py.checks.support.outcomes import refuted, unverified, verified
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import quote_value
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, REFUTED, UNVERIFIED, VERIFIED, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.world.world import World

NAME = "custom"
SUMMARY = "Your own Python function or program probes, and answers."
STAGE = EXECUTION
FAILURE_CLASS = ""
COST = 2.7
FIELDS = (
    field("python", "function", "`checks/notes.py:note_saved`: a file, from the contract's folder, and a "
          "function in it. It gets the call and returns True, False, or a map with `verdict` (verified, refuted, "
          "unverified), `found` and `expected`."),
    field("run", "argv", "A program that gets the call as JSON on standard input. It answers with such a "
          "map as its last line, or by its exit code: 0 holds, 1 does not, any other says nothing.",
          templated=True),
)  # fmt: skip
ASSERTS = ("python", "run")
EXCLUSIVE = ("python", "run")
LOOK_UP, NEEDED = ("python", "run"), ()
SYNONYMS = ("python", "script")
WORKER = "truecall_py.worker.main"
EXAMPLES = (
    {
        "title": "a program holds by its exit code",
        "files": {"probe.sh": "#!/bin/sh\ntest -f note.md\n", "note.md": "hello\n"},
        "executable": ["probe.sh"],
        "check": {"run": ["./probe.sh"]},
        "verdict": "verified",
    },
    {
        "title": "a Python function returns its finding",
        "files": {
            "checks/notes.py": "def saved(call):\n    return {'verdict': 'refuted', 'found': 'no note'}\n",
        },
        "check": {"python": "checks/notes.py:saved"},
        "verdict": "refuted",
    },
    {
        "title": "a function that raises an exception",
        "files": {"checks/notes.py": "def saved(call):\n    return call['no such key']\n"},
        "check": {"python": "checks/notes.py:saved"},
        "verdict": "unverified",
    },
)

LONGEST = 2000  # characters of a text of the answer


def expect(params: dict[str, Any]) -> str:
    if params.get("python"):
        return f"{params['python']} says that it holds"
    return f"`{' '.join(map(str, params.get('run') or ()))[:160]}` says that it holds"


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    if params.get("python") and params.get("run"):
        raise Unverified("custom takes either python or run, and both are given", "contract")
    from truecall_py.contracts.facts import to_plain_call

    plain = to_plain_call(call, world)
    if params.get("python"):
        return take_verdict(call_function(params["python"], plain, world), expect(params))
    return run_program(params, plain, world)


def evidence(params: dict[str, Any], call: ToolCall, world: World) -> Any:
    """Return the value of `receipt` or `receipts` from the map that a function returns, or from the last line of a
    program that ends with 0; ABSENT for null. Raises Unverified."""
    from truecall_py.contracts.facts import to_plain_call
    from truecall_py.core.fast_json import JsonError, dumps, loads

    if params.get("python") and params.get("run"):
        raise Unverified("custom takes either python or run, and both are given", "contract")
    plain = to_plain_call(call, world)
    if params.get("python"):
        said: Any = call_function(params["python"], plain, world, "receipt")
    else:
        finished = world.run(params["run"], None, world.project or None, dumps(plain).encode())
        if finished.exit_code is None or finished.exit_code or finished.trouble:
            why = finished.trouble or f"exit code {finished.exit_code}"
            raise Unverified(f"it gives no receipt: {why}", finished.cause if finished.trouble else "world")
        try:
            said = loads(finished.stdout.rstrip().rpartition("\n")[2])
        except JsonError as refused:
            raise Unverified(f"its last line is no JSON: {refused}", "contract") from None
    names = [name for name in ("receipt", "receipts") if isinstance(said, dict) and name in said]
    if len(names) != 1:
        raise Unverified("it answers with no map that has either receipt or receipts", "contract")
    return ABSENT if said[names[0]] is None else said[names[0]]


def call_function(where: str, plain: dict[str, Any], world: World, do: str = "custom") -> dict[str, Any]:
    """Return the answer of a Python function, which runs in the worker; `do` is the job: custom or receipt."""
    file, colon, function = where.rpartition(":")
    if not colon or not file or not function.isidentifier():
        raise Unverified(f"{where!r} is not written as file.py:function", "contract")
    job: dict[str, object] = {
        "do": do,
        "file": os.path.join(world.project, file),
        "function": function,
        "call": plain,
        "project": world.project,
    }
    return world.slow(job)


def run_program(params: dict[str, Any], plain: dict[str, Any], world: World) -> Outcome:
    """Return the outcome of a program, from its last line or else its exit code."""
    from truecall_py.core.fast_json import dumps

    expected = expect(params)
    finished = world.run(params["run"], None, world.project or None, dumps(plain).encode())
    if finished.exit_code is None:
        return unverified(expected, finished.trouble, finished.cause)
    said = read_last_line(finished.stdout)
    code = finished.exit_code
    if said is not None:
        if code and said.get("verdict") == VERIFIED:
            raise Unverified(f"it says verified and ends with exit code {code}", "contract")
        return take_verdict(said, expected)
    if code == 0 and (finished.trouble or resembles_verdict(finished.stdout)):
        # Exit code 0 beside a possible other verdict is not a clear answer.
        why = finished.trouble or "its last line is no JSON object with a verdict, yet its output speaks of one"
        return unverified(expected, why, "contract")
    words = (finished.stdout.strip() or finished.stderr.strip()).rpartition("\n")[2]
    found = f"exit code {code}{', ' + quote_value(words) if words else ''}"
    if code in (0, 1):
        return refuted(expected, found) if code else verified(expected, found)
    return unverified(expected, f"it gives no verdict: {found}", "contract")


def resembles_verdict(output: str) -> bool:
    """Whether an output looks like an answer in JSON that cannot be read."""
    return "verdict" in output or output.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")


def read_last_line(output: str) -> dict[str, Any] | None:
    """Return the JSON object with a verdict in the last line, None for anything else."""
    line = output.rstrip().rpartition("\n")[2].strip()
    if not line.startswith("{"):
        return None
    from truecall_py.core.fast_json import JsonError, loads

    try:
        value = loads(line)
    except JsonError:
        return None
    return value if isinstance(value, dict) and "verdict" in value else None


def take_verdict(said: dict[str, Any], expected: str) -> Outcome:
    """Return the user's verdict as an Outcome."""
    verdict = said.get("verdict")
    expected = str(said.get("expected") or expected)[:LONGEST]
    found = str(said.get("found") or "")[:LONGEST]
    if verdict == VERIFIED:
        return verified(expected, found or "it holds")
    if verdict == REFUTED:
        return refuted(expected, found or "it does not hold")
    if verdict == UNVERIFIED:
        return unverified(expected, found or "the check itself says that it cannot tell", "probe")
    raise Unverified(f"it answers with the verdict {quote_value(verdict, 60)}, which there is not", "contract")
