"""Compiles a valid contract file to plain data for the engine: defaults filled in, lists where one or a list is
allowed, matchers as maps, durations in seconds. Never reports a problem."""

from __future__ import annotations

from truecall_py.checks import load_check, stage_of
from truecall_py.contract_files import fields as contract_fields
from truecall_py.contract_files.argv import list_programs, mark_as_file
from truecall_py.contract_files.fields import parse_duration
from truecall_py.contract_files.lint import walk
from truecall_py.contracts import matchers, model, template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.contracts.field import Field

LISTS = ("texts", "patterns", "names", "choices", "statuses", "counts", "use", "checks")
OPERATORS = {field.name: field for field in matchers.FIELDS}


def compile_contract(entry: dict[str, Any], line: int, mode: str) -> dict[str, Any]:
    """Return the compiled form of a valid contract; `mode` is the default mode."""
    plain: dict[str, Any] = {"id": entry["id"], "line": line, "when": {}}
    for field in contract_fields.FIELDS:
        given = entry.get(field.name, field.default)
        if given is not None:
            plain[field.name] = compile_value(field, given)
    plain["mode"] = entry.get("mode", mode)
    plain.setdefault("post", [])
    plain.pop("examples", None)
    if any(takes_snapshot(item, plain) for item in plain["post"]):
        plain["before"] = True
    for item in plain["post"]:
        mark_removal(item)
    for item in plain.get("pre", ()):
        fill_guard_defaults(item)
        item["stage"] = stage_of(item)
    if "receipt" in plain:
        source = plain["receipt"]["from"]
        is_shared = getattr(load_check(source["check"]), "is_shared_source", None)
        plain["receipt"]["shared"] = bool(is_shared and is_shared(source["params"]))
    named = template.list_names([plain["post"], plain.get("pre", []), plain.get("receipt")])
    roots = {name.partition(".")[0] for name in named}
    if "file" in roots or any(name.partition(".")[0] == "file" for name in plain["when"]):
        plain["per_file"] = True
    if "match" in roots:
        plain["captures"] = True
    return plain


def fill_alternatives(contracts: Sequence[dict[str, Any]]) -> None:
    """Name the tools of contracts that grant the same effect as alternatives of each other, unless a contract names
    its own."""
    for plain in contracts:
        if plain.get("grants") and not plain.get("alternatives"):
            own = plain.get("tool", ())
            found = [
                tool for other in contracts if other.get("grants") == plain["grants"]
                for tool in other.get("tool", ()) if tool not in own and "*" not in tool and "?" not in tool
            ]  # fmt: skip
            if found:
                plain["alternatives"] = list(dict.fromkeys(found))


def takes_snapshot(item: dict[str, Any], plain: dict[str, Any]) -> bool:
    """Whether a compiled check needs a snapshot: for its verdict, or to know whether the call had the effect."""
    name, params = item["check"], item["params"]
    if name in model.COMBINATORS:
        return any(takes_snapshot(each, plain) for each in (params if isinstance(params, list) else [params]))
    check = load_check(name)
    if not hasattr(check, "take_snapshot"):
        return False
    return plain.get("vacuous") != "ok" or bool(check.needs_snapshot(params))


def list_inner_checks(item: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the compiled checks of a combinator; of any other check, itself."""
    if item["check"] not in model.COMBINATORS:
        return [item]
    params = item["params"]
    return [inner for each in (params if isinstance(params, list) else [params]) for inner in list_inner_checks(each)]


def mark_removal(item: dict[str, Any]) -> None:
    """Mark the compiled checks of `post` that ask for the removal of the call's file."""
    for check in list_inner_checks(item):
        asks_removal = getattr(load_check(check["check"]), "asks_removal", None)
        if asks_removal and asks_removal(check["params"]):
            check["removal"] = True


def fill_guard_defaults(item: dict[str, Any]) -> None:
    """Fill in the defaults that the checks of `pre` have, because the call is not made yet."""
    for check in list_inner_checks(item):
        module, params = load_check(check["check"]), check["params"]
        for name, value in getattr(module, "GUARD_DEFAULTS", {}).items():
            params.setdefault(name, value)
        if any(field.name == "vacuous" for field in module.FIELDS):
            params.setdefault("vacuous", "ok")


def compile_value(field: Field, value: Any) -> Any:
    """Return the compiled form of the value of a field."""
    kind = field.kind
    if kind in ("duration", "period"):
        return parse_duration(value)
    if kind == "receipt":
        return compile_params(contract_fields.RECEIPT_FIELDS, value)
    if kind == "source":
        return compile_check(value)
    if kind in LISTS:
        value = value if isinstance(value, list) else [value]
    if kind == "checks":
        return [compile_check(item) for item in value]
    if kind in ("matcher", "operand"):
        return compile_matcher(value)
    if kind == "matchers":
        return {name: compile_matcher(item) for name, item in value.items()}
    if kind == "count":
        return int(value)  # to JSON Schema, 3.0 is a whole number
    if kind == "counts":
        return [int(item) for item in value]
    return value


def compile_check(item: dict[str, Any]) -> dict[str, Any]:
    """Return the compiled form of a check or combinator."""
    ((name, params),) = item.items()
    if name == "not":
        return {"check": name, "params": compile_check(params)}
    if name in model.COMBINATORS:
        return {"check": name, "params": [compile_check(each) for each in params]}
    return {"check": name, "params": compile_params(load_check(name).FIELDS, params)}


def compile_params(fields: Sequence[Field], params: dict[str, Any]) -> dict[str, Any]:
    """Return the compiled parameters of a check. An explicit null (`equals: null`) is a value, not a default."""
    found = {}
    for field in fields:
        if field.name in params:
            found[field.name] = compile_value(field, params[field.name])
        elif field.default is not None:
            found[field.name] = compile_value(field, field.default)
    return found


def compile_matcher(value: Any) -> dict[str, Any]:
    """Return a matcher as a map of operators."""
    if not isinstance(value, dict):
        return {"equals": value}
    return {name: compile_value(OPERATORS[name], item) for name, item in value.items()}


def list_code_files(entry: dict[str, Any]) -> list[str]:
    """Return the code that a contract names, without a leading {{project}}/. `truecall trust` pins the files inside
    the project, and lists the others, such as programs on PATH."""
    found: list[str] = []
    for check in walk.list_checks(entry):
        for field in load_check(check.name).FIELDS:
            value = check.params.get(field.name)
            if field.kind == "argv" and value:
                found += list_programs(value)
            elif field.kind == "json-schema" and isinstance(value, str):
                found.append(mark_as_file(value))
            elif field.kind == "function" and value:
                found.append(mark_as_file(value.rpartition(":")[0]))
    names = dict.fromkeys(map(strip_project, found))
    return [name for name in names if name and template.OPEN not in name]


def strip_project(name: str) -> str:
    """Return a name without a leading {{project}}/, as a path relative to the contract's folder."""
    rest = name.removeprefix("{{project}}/")
    return rest if rest == name else mark_as_file(rest)
