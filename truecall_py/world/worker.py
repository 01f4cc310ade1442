"""The slow lane, seen from the hook: one job in one child, for what needs site-packages or a person's code.
Never runs such code in this process, and never takes silence, noise or a crash for an answer.

The child is `slow_lane.py`, by its path; it answers with one line of JSON on what was its standard output
(its own prints go elsewhere) and is killed with its whole process group when its time is over.
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
# Jobs that run a person's own code or pattern: if one crashes, the contract is at fault, not truecall.
FOREIGN = ("custom", "receipt", "search")


def ask(
    job: Mapping[str, object], interpreter: str | None, seconds: float, ends: float | None = None
) -> dict[str, object]:
    """The answer of `slow_lane` to `job`. `interpreter` is the contract's (None: the one that runs here), a
    relative path in it starts in the job's `project`. Raises Unverified."""
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
    # -I keeps a planted module of the working folder out, and PYTHON* variables; -B leaves no traces there.
    argv = [python, "-I", "-B", lane]
    until = time.monotonic() + seconds if ends is None else ends
    finished = run_program.run(argv, {}, folder(job), sent, seconds, until, LIMIT)
    return answer(job, interpreter, finished)


def folder(job: Mapping[str, object]) -> str:
    """Where the child runs: in the contract's folder. A deleted one must not keep it from running."""
    project = job.get("project")
    return project if isinstance(project, str) and os.path.isdir(project) else "/"


def answer(job: Mapping[str, object], interpreter: str | None, finished: Finished) -> dict[str, object]:
    what = str(job.get("file") or f"the job {job.get('do')}")
    if finished.exit_code is None:
        # It ran and was stopped, or it could not even be started: that is whoever chose the interpreter.
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
        raise Unverified(f"{what} answered with something else than an object", blame)
    if "trouble" in answer:
        cause = str(answer.get("cause") or "contract")
        raise Unverified(str(answer["trouble"]), blame if cause == "interpreter" else cause)
    return answer
