"""The slow lane's child: reads one job from standard input, answers with one line of JSON, and ends.

Runs with the site-packages of its interpreter and may run a person's code, so it never trusts its own
standard output (that belongs to the prints of others; the answer has a descriptor that they do not know), and
says nothing at all where it has no answer. Started by `slow.ask` by its path; works with any Python that
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
    """No answer, and why; `cause` is one of types.CAUSES, or `interpreter`: whoever chose this Python."""

    def __init__(self, why: str, cause: str = "contract") -> None:
        super().__init__(why)
        self.cause = cause


def answered(job: dict[str, Any]) -> Any:
    """What a person's own function returns for the call."""
    file, name = job["file"], job["function"]
    function = getattr(loaded(file), name, None)
    if not callable(function):
        raise Trouble(f"{file} has no function {name}")
    try:
        return function(job["call"])
    except BaseException as error:  # SystemExit as well: it is no answer
        raise Trouble(f"{name} raised {told(error, file)}") from None


def receipt(job: dict[str, Any]) -> dict[str, Any]:
    """The receipt that a person's own function finds."""
    answer = answered(job)
    names = [name for name in ("receipt", "receipts") if isinstance(answer, dict) and name in answer]
    if len(names) != 1:
        raise Trouble(f"{job['function']} returned {repr(answer)[:120]} instead of a map with receipt or receipts")
    try:
        return {names[0]: json.loads(json.dumps(answer[names[0]], allow_nan=False))}
    except (TypeError, ValueError) as error:
        raise Trouble(f"{job['function']} returned what is no JSON: {error}") from None


def custom(job: dict[str, Any]) -> dict[str, Any]:
    """The verdict of a person's own function on the call."""
    answer, name = answered(job), job["function"]
    if answer is True or answer is False:
        return {"verdict": "verified" if answer else "refuted"}
    if not isinstance(answer, dict) or answer.get("verdict") not in ("verified", "refuted", "unverified"):
        raise Trouble(f"{name} returned {repr(answer)[:120]} instead of True, False or a map with a verdict")
    texts = {key: str(answer[key])[:LONGEST] for key in ("found", "expected") if answer.get(key) is not None}
    return {"verdict": answer["verdict"], **texts}


def loaded(file: str) -> Any:
    """The module in `file`, compiled from its source: a cached .pyc beside it is not what was trusted. Its
    own imports are found in its folder, behind everything that is installed."""
    from types import ModuleType

    module = ModuleType("truecall_custom")
    module.__file__ = file
    sys.modules[module.__name__] = module
    sys.path.append(os.path.dirname(file))
    try:
        with open(file, "rb") as source:
            code = compile(source.read(), file, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError) as error:
        raise Trouble(f"{file} cannot be loaded: {told(error, file)}") from None
    try:
        exec(code, module.__dict__)  # noqa: S102 - the code that the contract names and the person trusted
    except BaseException as error:
        raise Trouble(f"{file} raised {told(error, file)} when it was loaded") from None
    return module


def told(error: BaseException, file: str) -> str:
    """An exception in one line, with the last line of the file that it passed through."""
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


def search(job: dict[str, Any]) -> dict[str, Any]:
    """Whether a pattern is found in a text; whoever asked kills this process when it takes too long."""
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


def own_package() -> None:
    """Makes `truecall_py` the package that this file is part of: another one may be installed in this Python, of
    another version. Its folder is not put on the path, where it would stand before or behind what is installed."""
    from importlib.util import module_from_spec, spec_from_file_location

    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    first = os.path.join(folder, "__init__.py")
    spec = spec_from_file_location("truecall_py", first, submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise Trouble(f"{first} cannot be imported", "truecall")
    sys.modules["truecall_py"] = package = module_from_spec(spec)
    spec.loader.exec_module(package)


JOBS = {"custom": custom, "receipt": receipt, "search": search}  # may run other people's code or patterns
IN_PACKAGE = {
    "schema": "truecall_py.worker.schemas:validate",
    "parse": "truecall_py.worker.documents:parsed",
    "document": "truecall_py.worker.documents:value_of",
    "committed": "truecall_py.worker.git_show:look",
    "compile": "truecall_py.trust.pin:recompile",
}


def main() -> None:
    # The one way out for the answer, on a descriptor that children do not inherit; prints go to stderr.
    channel = os.dup(1)
    os.dup2(2, 1)
    with open(0, "rb", closefd=False) as stdin:
        job = json.loads(stdin.read())
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    own = os.getpid()
    try:
        if job["do"] not in ("custom", "receipt"):  # a person's code gets what is installed
            own_package()
        answer = JOBS.get(job["do"], run_in_package)(job)
    except Trouble as why:
        answer = {"trouble": str(why), "cause": why.cause}
    except BaseException as error:
        answer = {"trouble": f"the slow lane ended with {told(error, __file__)}", "cause": "truecall"}
    if os.getpid() != own:
        os._exit(1)  # a fork that a person's code left behind has no say
    rest = memoryview(json.dumps(answer).encode() + b"\n")
    while rest:
        rest = rest[os.write(channel, rest) :]
    os._exit(0)  # no thread and no exit handler of a person's code delays or changes what was said


if __name__ == "__main__":
    main()
