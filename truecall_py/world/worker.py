"""Runs one job in the worker, a child process for code that needs site-packages or that a user wrote.
Such code never runs in this process. Silence, extra output or a crash is never taken for an answer.

The child is `worker/main.py`, started by its path. It answers with one line of JSON on its original standard
output; prints go elsewhere. It is killed with its whole process group when its time is over.
"""

from __future__ import annotations

import os

from truecall_py.core.errors import Unverified
from truecall_py.core.fast_json import JsonError, dumps, loads
from truecall_py.world import run_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from truecall_py.core.types import Finished

LIMIT = 32 << 20  # bytes of an answer
# Jobs that run a user's code or pattern: if one crashes, the contract is at fault, not truecall.
FOREIGN = ("custom", "receipt", "search")


def ask(
    job: Mapping[str, object], interpreter: str | None, seconds: float, ends: float | None = None
) -> dict[str, object]:
    """Return the worker's answer to `job`. `interpreter` is the contract's (None: the running one); a relative path
    starts at the job's `project`. Raises Unverified."""
    import sys
    import time

    python = interpreter or sys.executable
    if not python:
        raise Unverified("the Python that runs truecall is not known", "truecall")
    try:
        sent = dumps(job).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Unverified(f"the call cannot be written as JSON: {error}", "truecall") from None
    lane = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "worker", "main.py")
    # -I ignores PYTHON* variables and modules planted in the working folder; -B writes no bytecode there.
    argv = [python, "-I", "-B", lane]
    until = time.monotonic() + seconds if ends is None else ends
    finished = run_program.run(argv, {}, choose_folder(job), sent, seconds, until, LIMIT)
    return read_answer(job, interpreter, finished)


def choose_folder(job: Mapping[str, object]) -> str:
    """Return the folder in which the child runs: the contract's, or / if that was deleted."""
    project = job.get("project")
    return project if isinstance(project, str) and os.path.isdir(project) else "/"


def read_answer(job: Mapping[str, object], interpreter: str | None, finished: Finished) -> dict[str, object]:
    """Return the JSON object that the worker wrote. Raises Unverified, with the cause of the failure."""
    what = str(job.get("file") or f"the job {job.get('do')}")
    if finished.exit_code is None:
        # It ran and was stopped; or it could not be started, and the choice of the interpreter is to blame.
        cause = "probe" if finished.cause == "probe" else "contract" if interpreter else "truecall"
        raise Unverified(f"{what}: {finished.trouble}", cause)
    blame = "contract" if interpreter or job.get("do") in FOREIGN else "truecall"
    lines = finished.stdout.split("\n")
    try:
        if len(lines) != 2 or lines[1]:
            raise JsonError
        answer = loads(lines[0])
    except JsonError:
        noise = finished.stderr.strip().rpartition("\n")[2][:160]
        why = f"{what} ended without an answer (exit code {finished.exit_code}){': ' if noise else ''}{noise}"
        raise Unverified(why, blame) from None
    if not isinstance(answer, dict):
        raise Unverified(f"{what} answered with something other than an object", blame)
    if "trouble" in answer:
        cause = str(answer.get("cause") or "contract")
        raise Unverified(str(answer["trouble"]), blame if cause == "interpreter" else cause)
    return answer
