"""Translates the errors of `jsonschema` into the terms of the contract format: place, code, fix. It reports a problem
exactly where the schema does."""

from __future__ import annotations

import difflib
import json
import re
import shlex
from collections import Counter
from functools import lru_cache

import jsonschema

from truecall_py import checks
from truecall_py.contract_files import json_schema
from truecall_py.contract_files.lint.codes import make_problem
from truecall_py.contract_files.yaml_reader import quote_scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from truecall_py.contract_files.yaml_reader import Document, Path
    from truecall_py.core.types import Problem

# What people write by mistake: names of other tools, and half-remembered ones.
MEANT = {
    "tools": "tool", "matcher": "tool", "kinds": "kind", "check": "post", "checks": "post", "assert":
    "post", "expect": "post", "then": "post", "if": "when", "name": "id", "packs": "use", "rules":
    "contracts", "eq": "equals", "is": "equals", "in": "one_of", "min": "at_least",
    "max": "at_most", "gte": "at_least", "lte": "at_most", "regex": "matches", "match": "matches",
    "includes": "contains", "cmd": "run", "argv": "run", "exit_code": "exit", "size": "min_size", "retry":
    "within", "wait": "within", "message": "remedy", "hint": "remedy",
}  # fmt: skip


@lru_cache(maxsize=1)
def get_validator() -> Any:
    return jsonschema.Draft202012Validator(json_schema.get_schema())


class Structure:
    """The structural problems of one document, and their paths."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []
        self.paths: set[Path] = set()

    def examine(self) -> None:
        document = self.document
        if document.data is None:
            self.add("TC108", (), "the file is empty", "begin with `version: 1` and `contracts:`")
            return
        empty = set(document.empty)
        try:
            for error in get_validator().iter_errors(document.data):
                path = tuple(error.absolute_path)
                if path in empty:
                    empty.discard(path)
                    self.report_no_value(path, error.schema.get("x-kind", ""))
                elif path not in document.empty and path not in document.doubtful:
                    self.translate(error, path)
        except RecursionError:
            self.add("TC001", (), "the file is nested too deeply")
        for path in empty:
            self.report_no_value(path, "")

    def add(self, code: str, path: Path, message: str, hint: str = "", key: bool = False) -> None:
        self.problems.append(make_problem(code, self.document.place(path, key), message, hint))
        self.paths.add(path)

    def report_no_value(self, path: Path, kind: str) -> None:
        """Report TC017."""
        expected = json_schema.ACCEPTED[kind][1] if kind in json_schema.ACCEPTED else describe_map(kind) or "a value"
        where = self.describe_place(path)
        beside = self.value_at(path[:-1])
        known = json_schema.list_check_names()
        if isinstance(beside, dict) and len(beside) > 1 and find_check_beside(beside, known) == path[-1]:
            return  # `report_several` says it better
        hint = "add a value, indented below its key, or remove the key" if kind else "write null for no value"
        self.add("TC017", path, f"{where} has no value; expected {expected}", hint, key=True)

    def value_at(self, path: Path) -> Any:
        data: Any = self.document.data
        for part in path:
            data = data[part]
        return data

    def describe_place(self, path: Path) -> str:
        """Return the name of the value at `path`, for a message."""
        names = [part for part in path if isinstance(part, str)]
        if not path:
            return "the file"
        if not isinstance(path[-1], int):
            return f"`{path[-1]}`"
        if names and names[-1] == "contracts" and len(path) == 2:
            return f"contract {path[-1] + 1}"
        return f"entry {path[-1] + 1} of `{names[-1]}`" if names else f"entry {path[-1] + 1}"

    def translate(self, error: Any, path: Path) -> None:
        """Report one error of jsonschema."""
        schema = error.schema if isinstance(error.schema, dict) else {}
        kind = schema.get("x-kind", "")
        name = error.validator
        if name == "additionalProperties" and isinstance(error.validator_value, bool):
            self.report_unknown_keys(error.instance, schema, path, kind)
        elif name == "required":
            for key in error.validator_value:
                if key not in error.instance and not is_misspelt([key], error.instance, list(schema["properties"])):
                    help_ = schema["properties"].get(key, {}).get("description", "")
                    self.add("TC103", path, f"{self.describe_owner(path, kind)} has no `{key}`",
                             f"add `{key}`: {help_}" if help_ else f"add `{key}`")
        elif name == "anyOf" and "x-needs" in schema:
            if not is_misspelt(schema["x-needs"], error.instance, schema["x-known"]):
                self.report_missing(path, schema["x-needs"])
        elif name == "maxProperties" and kind in ("check", "source"):
            self.report_several(path, error.instance)
        elif name in ("minProperties", "minItems", "minLength"):
            self.report_empty(path, schema, kind, error.instance)
        elif name == "uniqueItems":
            ((twice, _),) = Counter(map(quote_json, error.instance)).most_common(1)
            self.add("TC113", path, f"{twice} occurs twice in {self.describe_place(path)}")
        elif name in ("minimum", "maximum"):
            limit = "at least" if name == "minimum" else "at most"
            self.add(
                "TC112",
                path,
                f"{self.describe_place(path)} must be {limit} {error.validator_value}, not {error.instance}",
            )
        elif name in ("enum", "const"):
            self.report_choice(path, error.validator_value, error.instance, kind)
        elif name in ("pattern", "maxLength"):
            self.report_form(path, kind, error.instance)
        else:
            self.report_type(path, kind, error.instance, error.validator_value)

    def describe_owner(self, path: Path, kind: str) -> str:
        """Return the name of the map at `path`, for a message."""
        if kind == "contract":
            data = self.value_at(path)
            return f"the contract {data['id']}" if isinstance(data.get("id"), str) else "the contract"
        return "the file" if not path else f"`{path[-1]}`"

    def report_unknown_keys(self, instance: dict[str, Any], schema: dict[str, Any], path: Path, kind: str) -> None:
        """Report TC101, TC114, TC115 or TC116."""
        known = list(schema["properties"])
        if kind == "check" and len(instance) > 1 and find_check_beside(instance, known):
            return  # `report_several` says it better
        for key in instance:
            if key in schema["properties"] or (*path, key) in self.document.doubtful:
                continue
            meant = find_near(key, known)
            hint = f"did you mean `{meant}`?" if meant else f"known here: {', '.join(known)}"
            here = (*path, key)
            if kind == "check":
                self.add("TC114", here, f"`{key}` is not a check", hint, key=True)
            elif kind == "source":
                self.add("TC116", here, f"`{key}` cannot settle an operation", f"known here: {', '.join(known)}",
                         key=True)
            elif kind == "matcher":
                if not meant:
                    hint += "; to compare with a map, write {equals: {...}}"
                self.add("TC115", here, f"`{key}` is not a matcher operator", hint, key=True)
            else:
                place = {"contract": "a contract", "truecall contract file": "a contract file"}.get(
                    kind, f"the look-up `{kind[5:]}`" if kind.startswith("from_") else f"`{kind}`")
                self.add("TC101", here, f"{place} has no key `{key}`", hint, key=True)

    def report_missing(self, path: Path, names: Sequence[str]) -> None:
        """Report TC103, TC109 or TC110."""
        if names[0] == "tool":
            self.add("TC110", path,
                     f"{self.describe_owner(path, 'contract')} names neither a tool nor a kind of call",
                     "add `tool: NAME`, or `kind:` with write, edit, read, shell, mcp, ...")  # fmt: skip
        elif names[0] == "post":
            self.add("TC103", path, f"{self.describe_owner(path, 'contract')} has no `post`",
                     "add `post`: one check or a list; all must hold")  # fmt: skip
        else:
            self.add(
                "TC109",
                path,
                f"`{path[-1]}` asserts nothing",
                f"give at least one of {', '.join(names)}",
                key=True,
            )

    def report_several(self, path: Path, instance: dict[str, Any]) -> None:
        """Report TC107."""
        known = json_schema.list_check_names()
        names = list(instance)
        if path[-1] == "from":
            self.add("TC107", path, f"`from` names {len(names)} sources: {', '.join(names)}", "keep one")
            return
        check = find_check_beside(instance, known)
        if check:
            rest = ", ".join(f"{name}: ..." for name in names if name != check)
            self.add("TC107", path, f"the fields of `{check}` are beside it, not inside it",
                     f"indent them below it: {{{check}: {{{rest}}}}}")  # fmt: skip
            return
        entries = ", ".join(f"{{{name}: ...}}" for name in names)
        self.add("TC107", path, f"one map contains {len(names)} checks: {', '.join(names)}",
                 f"write a list with one check per entry: [{entries}]")  # fmt: skip

    def report_empty(self, path: Path, schema: dict[str, Any], kind: str, instance: Any) -> None:
        """Report TC108, TC109 or TC111."""
        if kind == "contracts":
            self.add("TC111", path, "the file has no contract and uses no pack")
        elif instance == {} and kind not in json_schema.ACCEPTED:
            self.add("TC109", path, f"{self.describe_place(path)} asserts nothing", f"it takes {describe_map(kind)}")
        else:
            expected = json_schema.ACCEPTED[kind][1] if kind in json_schema.ACCEPTED else ""
            hint = f"expected {expected}; or remove the key" if expected else ""
            self.add("TC108", path, f"{self.describe_place(path)} is empty", hint)

    def report_choice(self, path: Path, allowed: Sequence[Any], found: Any, kind: str) -> None:
        """Report TC105."""
        words = ", ".join(str(item) for item in allowed)
        if path == ("version",):
            self.add("TC105", path,
                     f"this version of truecall does not support version {quote_json(found)} of the contract format",
                     "write `version: 1`, or update truecall")  # fmt: skip
            return
        meant = find_near(found, [str(item) for item in allowed]) if isinstance(found, str) else None
        hint = f"did you mean {meant}?" if meant else f"allowed: {words}"
        self.add("TC105", path, f"{self.describe_place(path)} cannot be {quote_json(found)}", hint)

    def report_form(self, path: Path, kind: str, found: str) -> None:
        """Report TC106."""
        expected = json_schema.ACCEPTED[kind][1]
        if kind in json_schema.NOT_TEXT:
            self.report_type(path, kind, found, "")
            return
        hint = ""
        if kind == "duration":
            hint = suggest_duration(found)
        elif kind == "name":
            lower = "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in found.lower()).split())
            hint = f"write {lower[:100]}" if lower else ""
        self.add("TC106", path, f"{self.describe_place(path)} must be {expected}, not {quote_json(found)}", hint)

    def report_type(self, path: Path, kind: str, found: Any, types: Any) -> None:
        """Report TC104."""
        if kind in json_schema.ACCEPTED:
            expected = json_schema.ACCEPTED[kind][1]
        else:
            expected = describe_map(kind) or {"string": "text", "array": "a list", "object": "a map"}.get(types,
                                                                                                          "text")
        if kind == "argv" and path and isinstance(path[-1], int):
            expected = "text"
        if path and isinstance(path[-1], int) and kind == "texts":
            expected = "text"
        self.add("TC104", path, f"{self.describe_place(path)} must be {expected}, not {describe_value(found)}",
                 suggest_fix(path, kind, found, expected))  # fmt: skip


def find_check_beside(instance: dict[str, Any], known: Sequence[str]) -> str | None:
    """Return the one check of a map that has no value, while the other keys are not checks: its fields have the wrong
    indentation. None otherwise."""
    names = [name for name in instance if name in known]
    return names[0] if len(names) == 1 and instance[names[0]] in (None, "", {}) else None


def is_misspelt(names: Sequence[str], instance: dict[str, Any], known: Sequence[str]) -> bool:
    """Whether an unknown key probably means one of the names, so that one mistake gives one message."""
    return any(key not in known and find_near(key, known) in names for key in instance)


@lru_cache(maxsize=1)
def load_synonyms() -> dict[str, str]:
    """Return what people write by mistake for the name of a check, from the SYNONYMS of the checks."""
    return {word: name for name in checks.NAMES for word in getattr(checks.load_check(name), "SYNONYMS", ())}


def find_near(key: Any, known: Sequence[str]) -> str | None:
    """Return the known name that was probably meant, None without any."""
    flat = {name.replace("_", "").replace("-", "").lower(): name for name in known}
    bare = str(key).replace("_", "").replace("-", "").lower()
    if bare in flat:
        return flat[bare]
    meant = load_synonyms().get(str(key)) or MEANT.get(str(key))
    if meant in known:
        return meant
    close = difflib.get_close_matches(bare, list(flat), n=1, cutoff=0.6)
    return flat[close[0]] if close else None


def describe_map(kind: str) -> str:
    """Return the keys of a map in words: `a map with path, type, ...`."""
    schema = json_schema.get_schema()
    found = schema if kind == schema["title"] else schema["$defs"].get(kind)
    if not found:
        return ""
    names = list(found["properties"])
    more = ", ..." if len(names) > 6 else ""
    return f"a map with {', '.join(names[:6])}{more}"


def quote_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def describe_value(value: Any) -> str:
    """Return a value with its type, for a message."""
    if value is None or isinstance(value, bool):
        return quote_json(value)
    if isinstance(value, str):
        return f"the text {quote_json(value)}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    return "a list" if isinstance(value, list) else "a map"


def suggest_duration(text: str) -> str:
    """Return the duration that `10 seconds`, `10` or `1h` probably means."""
    found = re.match(r"\s*([0-9]+)\s*(ms|mil|s|m|h|)", text)
    if not found:
        return "write it like 250ms, 5s or 2m"
    number = found[1]
    units = {"ms": "ms", "mil": "ms", "s": "s", "m": "m"}
    if found[2] == "h":
        return f"write {int(number) * 60}m"
    return f"write {number}{units[found[2]]}" if found[2] else f"write {number}s or {number}ms"


def suggest_fix(path: Path, kind: str, found: Any, expected: str) -> str:
    """Return how to fix a value of the wrong type."""
    scalar = found is None or isinstance(found, (bool, int, float))
    if kind == "duration" and isinstance(found, (int, float)) and not isinstance(found, bool):
        return f"write {found}s or {found}ms"
    if kind == "argv" and isinstance(found, str):
        try:
            words = shlex.split(found)
        except ValueError:
            words = found.split()
        return f"write [{', '.join(quote_words(words))}]"
    if isinstance(found, str) and kind in ("check", "checks") and found in json_schema.list_check_names():
        return f"write {{{found}: ...}}"
    if isinstance(found, str) and kind in checks.NAMES:
        first = next(iter(json_schema.get_schema()["$defs"][kind]["properties"]))
        return f"write {{{kind}: {{{first}: {quote_scalar(found)}}}}}"
    if isinstance(found, str):
        try:
            number = json.loads(found)
        except ValueError:
            return f"write {expected}"
        if number is None or not isinstance(number, (bool, int, float)):
            return f"write {expected}"
        return f"remove the quotes: {found}"
    if kind == "octal" and isinstance(found, int) and not isinstance(found, bool):
        return f"quote it: {quote_scalar(str(found))}"
    if scalar and expected.startswith(("text", "a path", "a regular", "a name", "a map of texts")):
        return f"quote it: {quote_scalar(json.dumps(found))}"
    if isinstance(found, list) and kind in ("contract", "check"):
        return "remove one level of list"
    return f"write {expected}"


def quote_words(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        plain = word.replace("-", "").replace("_", "").replace("/", "").replace(".", "")
        yield word if plain.isalpha() and word[0].isalpha() else quote_scalar(word)
