"""The worker: reads one job from standard input, answers with one line of JSON, and exits.

It runs with the site-packages of its interpreter and may run a user's code. That code may print, so the answer
goes to a private copy of standard output. `world/worker.py` starts this file by its path, with any Python that
truecall supports, whether or not truecall is installed in it.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST = 2000  # characters of a text in an answer


class Trouble(Exception):
    """The job failed. `cause` is one of types.CAUSES, or `interpreter`: blame the choice of this Python."""

    def __init__(self, why: str, cause: str = "contract") -> None:
        super().__init__(why)
        self.cause = cause


def call_function(job: dict[str, Any]) -> Any:
    """Return the result of the user's function for the call. Raises Trouble."""
    file, name = job["file"], job["function"]
    function = getattr(load_module(file), name, None)
    if not callable(function):
        raise Trouble(f"{file} has no function {name}")
    try:
        return function(job["call"])
    except BaseException as error:  # SystemExit as well: it is no answer
        raise Trouble(f"{name} raised {describe_exception(error, file)}") from None


def find_receipt(job: dict[str, Any]) -> dict[str, Any]:
    """Return the receipt that the user's function finds. Raises Trouble."""
    answer = call_function(job)
    names = [name for name in ("receipt", "receipts") if isinstance(answer, dict) and name in answer]
    if len(names) != 1:
        raise Trouble(f"{job['function']} returned {repr(answer)[:120]} instead of a map with receipt or receipts")
    try:
        return {names[0]: json.loads(json.dumps(answer[names[0]], allow_nan=False))}
    except (TypeError, ValueError) as error:
        raise Trouble(f"{job['function']} returned a value that is not JSON: {error}") from None


def judge_call(job: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict of the user's function on the call. Raises Trouble."""
    answer, name = call_function(job), job["function"]
    if answer is True or answer is False:
        return {"verdict": "verified" if answer else "refuted"}
    if not isinstance(answer, dict) or answer.get("verdict") not in ("verified", "refuted", "unverified"):
        raise Trouble(f"{name} returned {repr(answer)[:120]} instead of True, False or a map with a verdict")
    texts = {key: str(answer[key])[:LONGEST] for key in ("found", "expected") if answer.get(key) is not None}
    return {"verdict": answer["verdict"], **texts}


def load_module(file: str) -> Any:
    """Return the module in `file`, compiled from its source: a cached .pyc was not pinned. Its imports are looked
    up among the installed packages first, then in its folder. Raises Trouble."""
    from types import ModuleType

    module = ModuleType("truecall_custom")
    module.__file__ = file
    sys.modules[module.__name__] = module
    sys.path.append(os.path.dirname(file))
    try:
        with open(file, "rb") as source:
            code = compile(source.read(), file, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError) as error:
        raise Trouble(f"{file} cannot be loaded: {describe_exception(error, file)}") from None
    try:
        exec(code, module.__dict__)  # noqa: S102 - the code that the contract names and the person trusted
    except BaseException as error:
        raise Trouble(f"{file} raised {describe_exception(error, file)} when it was loaded") from None
    return module


def describe_exception(error: BaseException, file: str) -> str:
    """Return an exception as one line, with the number of the last line of `file` that it passed through."""
    line = 0
    trace = error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        text = f"{type(error).__name__}: {error}".removesuffix(": ")
    except Exception:  # an exception whose __str__ raises
        text = type(error).__name__
    return f"{text[:300]} (line {line})" if line else text[:300]


def search_pattern(job: dict[str, Any]) -> dict[str, Any]:
    """Return whether a pattern is found in a text. The caller kills this process if it takes too long."""
    import re

    try:
        return {"found": re.search(job["pattern"], job["text"]) is not None}
    except (re.error, RecursionError, OverflowError) as error:
        raise Trouble(f"the pattern {job['pattern'][:80]!r} is not a regular expression: {error}") from None


def run_in_package(job: dict[str, Any]) -> dict[str, Any]:
    """Run a job that a module of truecall itself does (IN_PACKAGE), and return its answer."""
    from importlib import import_module

    from truecall_py.core.errors import Unverified

    module, _, function = IN_PACKAGE[job["do"]].partition(":")
    try:
        answer: dict[str, Any] = getattr(import_module(module), function)(job)
    except Unverified as why:
        raise Trouble(why.why, why.cause) from None
    return answer


def import_own_package() -> None:
    """Import `truecall_py` from the folder of this file: this Python may have another version installed. The folder
    is not added to sys.path, where it would shadow installed packages or be shadowed by them."""
    from importlib.util import module_from_spec, spec_from_file_location

    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    first = os.path.join(folder, "__init__.py")
    spec = spec_from_file_location("truecall_py", first, submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise Trouble(f"{first} cannot be imported", "truecall")
    sys.modules["truecall_py"] = package = module_from_spec(spec)
    spec.loader.exec_module(package)


JOBS = {"custom": judge_call, "receipt": find_receipt, "search": search_pattern}  # may run people's code or patterns
IN_PACKAGE = {
    "schema": "truecall_py.worker.schemas:validate",
    "parse": "truecall_py.worker.documents:find_syntax_error",
    "document": "truecall_py.worker.documents:read_value",
    "committed": "truecall_py.worker.git_show:read_committed",
    "compile": "truecall_py.trust.pin:recompile",
}


def main() -> None:
    """Run the job from standard input, write the answer and exit without cleanup."""
    # The one way out for the answer, on a descriptor that children do not inherit; prints go to stderr.
    channel = os.dup(1)
    os.dup2(2, 1)
    with open(0, "rb", closefd=False) as stdin:
        job = json.loads(stdin.read())
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    own = os.getpid()
    try:
        if job["do"] not in ("custom", "receipt"):  # a user's code sees the installed packages
            import_own_package()
        answer = JOBS.get(job["do"], run_in_package)(job)
    except Trouble as why:
        answer = {"trouble": str(why), "cause": why.cause}
    except BaseException as error:
        answer = {"trouble": f"the worker failed with {describe_exception(error, __file__)}", "cause": "truecall"}
    if os.getpid() != own:
        os._exit(1)  # a fork that the user's code left behind must not answer
    rest = memoryview(json.dumps(answer).encode() + b"\n")
    while rest:
        rest = rest[os.write(channel, rest) :]
    os._exit(0)  # no thread or exit handler of the user's code can delay or change the answer


if __name__ == "__main__":
    main()
