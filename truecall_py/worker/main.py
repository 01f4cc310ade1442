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
    from collections.abc import Callable
    from typing import Any

SHOWN = 5  # errors of a schema that are told
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
    found = answered(job)
    names = [name for name in ("receipt", "receipts") if isinstance(found, dict) and name in found]
    if len(names) != 1:
        raise Trouble(f"{job['function']} returned {repr(found)[:120]} instead of a map with receipt or receipts")
    try:
        return {names[0]: json.loads(json.dumps(found[names[0]], allow_nan=False))}
    except (TypeError, ValueError) as error:
        raise Trouble(f"{job['function']} returned what is no JSON: {error}") from None


def custom(job: dict[str, Any]) -> dict[str, Any]:
    """The verdict of a person's own function on the call."""
    found, name = answered(job), job["function"]
    if found is True or found is False:
        return {"verdict": "verified" if found else "refuted"}
    if not isinstance(found, dict) or found.get("verdict") not in ("verified", "refuted", "unverified"):
        raise Trouble(f"{name} returned {repr(found)[:120]} instead of True, False or a map with a verdict")
    texts = {key: str(found[key])[:LONGEST] for key in ("found", "expected") if found.get(key) is not None}
    return {"verdict": found["verdict"], **texts}


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


def schema(job: dict[str, Any]) -> dict[str, Any]:
    """What is wrong with a value, by a JSON Schema; nothing is ever fetched for a `$ref`."""
    import re

    try:
        from jsonschema import Draft202012Validator, FormatChecker
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import validator_for
        from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
        from referencing.exceptions import Unresolvable
    except ImportError as error:
        why = f"jsonschema 4.18 or later cannot be imported by {sys.executable}: {error}"
        raise Trouble(why, "interpreter") from None
    from truecall_py.contract_files.formats import FORMATS, asserted

    formats = FormatChecker(formats=())
    for name in FORMATS:
        formats.checkers[name] = (asserted(name), ())
    rules = job["schema"] if "schema" in job else read_schema(job["file"])
    if not isinstance(rules, dict) or not rules:
        raise Trouble("the schema asserts nothing: it must be a map with at least one keyword")
    validator = validator_for(rules, default=Draft202012Validator)
    try:
        validator.check_schema(rules)
        # A registry of one's own has no way to the network, unlike the default.
        errors = list(validator(rules, registry=REGISTRY, format_checker=formats).iter_errors(job["value"]))
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path)) or "top"
        raise Trouble(f"the schema is not a JSON Schema ({place}): {error.message[:200]}") from None
    except Unresolvable as error:
        why = f"a $ref of the schema leads outside it, which is not followed: {str(error)[:160]}"
        raise Trouble(why) from None
    except re.error as error:
        raise Trouble(f"a pattern of the schema is not a regular expression: {error}") from None
    except RecursionError:
        raise Trouble("the schema refers to itself without end, or the value is nested too deeply") from None
    once = {(each.json_path, each.validator if each.validator == "required" else id(each)): each for each in errors}
    # A misspelt field explains a missing one, and one error tells of all that are missing in one place.
    errors = sorted(once.values(), key=lambda error: error.validator != "additionalProperties")
    return {"errors": [schema_error(error) for error in errors[:SHOWN]], "count": len(errors)}


def schema_error(error: Any) -> dict[str, Any]:
    """One error of a schema: where, in jsonschema's words, and the fields and the rule that it is about, each
    bounded."""
    told: dict[str, Any] = {"path": error.json_path, "message": error.message[:LONGEST], "keyword": error.validator}
    held, rules = error.instance, error.schema if isinstance(error.schema, dict) else {}
    about = ("type", "enum", "const", "pattern", "format", "minimum", "maximum", "minLength", "maxLength", "items",
             "required", "description")  # fmt: skip

    def brief(rule: Any) -> Any:
        return {key: rule[key] for key in about if key in rule} if isinstance(rule, dict) else rule

    known: Any = rules.get("properties") if isinstance(rules.get("properties"), dict) else {}
    if isinstance(held, dict):
        names = [name for name in error.validator_value if name not in held] if error.validator == "required" else []
        if error.validator in ("additionalProperties", "unevaluatedProperties"):
            import re

            patterns: Any = rules.get("patternProperties") or {}
            unknown = [name for name in held if name not in known]
            names = [name for name in unknown if not any(re.search(each, name) for each in patterns)]
        told |= {
            "names": names[:20], "given": list(held)[:100],
            "values": {name: bounded_value(held[name]) for name in names[:20] if name in held},
            "properties": {name: brief(rule) for name, rule in list(known.items())[:60]},
        }  # fmt: skip
    return {**told, "value": bounded_value(held), "rule": brief(rules)}


def bounded_value(value: Any) -> Any:
    """A value as it is where it is small, else the beginning of its text."""
    text = value if isinstance(value, str) else json.dumps(value)
    return value if len(text) <= LONGEST else text[:LONGEST]


def read_schema(file: str) -> Any:
    from truecall_py.core.fast_json import Refused, loads

    try:
        with open(file, encoding="utf-8-sig") as text:
            return loads(text.read())
    except OSError as error:
        raise Trouble(f"the schema {file} cannot be read: {error.strerror}") from None
    except (Refused, UnicodeDecodeError) as error:
        raise Trouble(f"the schema {file} is not JSON: {error}") from None


def search(job: dict[str, Any]) -> dict[str, Any]:
    """Whether a pattern is found in a text; whoever asked kills this process when it takes too long."""
    import re

    try:
        return {"found": re.search(job["pattern"], job["text"]) is not None}
    except (re.error, RecursionError, OverflowError) as error:
        raise Trouble(f"the pattern {job['pattern'][:80]!r} is not a regular expression: {error}") from None


def compile_contract(job: dict[str, Any]) -> dict[str, Any]:
    from truecall_py.trust.pin import recompile

    answer: dict[str, Any] = recompile(job)
    return answer


def parse(job: dict[str, Any]) -> dict[str, Any]:
    """Whether a text is what a language takes: `error` is empty, or the parser's own words."""
    from truecall_py.worker.documents import parsed

    return bounded(parsed, job)


def document(job: dict[str, Any]) -> dict[str, Any]:
    """The value that a YAML or TOML text holds."""
    from truecall_py.worker.documents import value_of

    return bounded(value_of, job)


def bounded(read: Callable[[dict[str, Any]], dict[str, Any]], job: dict[str, Any]) -> dict[str, Any]:
    """What `read` answers; what it cannot tell is trouble."""
    from truecall_py.core.errors import Unverified

    try:
        return read(job)
    except Unverified as why:
        raise Trouble(why.why, why.cause) from None


def committed(job: dict[str, Any]) -> dict[str, Any]:
    """The bytes that the last commit holds at a path."""
    from truecall_py.worker.git_show import look

    return look(str(job["path"]))


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


JOBS = {"custom": custom, "receipt": receipt, "schema": schema, "search": search, "compile": compile_contract,
        "parse": parse, "document": document, "committed": committed}  # fmt: skip


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
        answer = JOBS[job["do"]](job)
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
