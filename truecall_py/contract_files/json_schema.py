"""Builds the JSON Schema of a contract file from the declared fields. `truecall schema` prints it, and the loader
validates with it. Only this module says what a kind of field accepts. It reads no file."""

from __future__ import annotations

from functools import lru_cache

from truecall_py import checks
from truecall_py.contract_files import fields as contract_fields
from truecall_py.contracts import matchers, model
from truecall_py.policy import retry_budgets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType
    from typing import Any

    from truecall_py.contracts.field import Field

    Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

# In Python's re, `$` alone also matches before a final line break. In ECMAScript the second half has no effect.
END = r"$(?!\n)"
TEMPLATE = r"\{\{"

TEXT: Schema = {"type": "string"}
WORD: Schema = {"type": "string", "minLength": 1}
# A name of a key path: letters, quoted text or templates; in brackets it may contain dots.
PIECE = r'(?:"(?:[^"\\]|\\.)*"|\{\{[^{}]*\}\}|[^.\[\]"{}])+'
BRACKET = r'\[(?:\*|(?:"(?:[^"\\]|\\.)*"|\{\{[^{}]*\}\}|[^\[\]"{}])+)\]'
COUNT: Schema = {"type": "integer", "minimum": 0}
STATUS: Schema = {
    "if": {"type": "string"},
    "then": {"pattern": "^[1-5]xx" + END},
    "else": {"type": "integer", "minimum": 100, "maximum": 599},
}
MATCHER: Schema = {"if": {"type": "object"}, "then": {"$ref": "#/$defs/matcher"}}


def allow_retries(most: int) -> Schema:
    """Accept a number of retries, or a range."""
    one = {"type": "integer", "minimum": 0, "maximum": most}
    return {"if": {"type": "array"}, "then": {"minItems": 2, "maxItems": 2, "items": one}, "else": one}


def allow_list(item: Schema, unique: bool = False) -> Schema:
    """Accept one item or a list. Uses if/then/else instead of anyOf, so that an error names the one thing that is
    wrong."""
    many: Schema = {"minItems": 1, "items": item}
    if unique:
        many["uniqueItems"] = True
    return {"if": {"type": "array"}, "then": many, "else": item}


# The parts of an example: its sandbox, a page served there, and the example itself.
TREE: Schema = {"type": "object", "propertyNames": {"minLength": 1}, "additionalProperties": TEXT, "x-kind": "map"}
OCTAL: Schema = {"type": "string", "pattern": "^0?[0-7]{3,4}" + END}
PAGE: Schema = {
    "type": "array",
    "minItems": 3,
    "maxItems": 3,
    "prefixItems": [{"type": "integer", "minimum": 100, "maximum": 599}, {"type": "object"}, TEXT],
}
SMALL_WORLD: Schema = {
    "type": "object",
    "x-kind": "a world",
    "additionalProperties": False,
    "properties": {
        "files": {**TREE, "description": "Path and text of each file."},
        "bytes": {**TREE, "description": "Path and hexadecimal bytes of each binary file."},
        "links": {**TREE, "description": "Path and target of each symbolic link."},
        "modes": {
            "type": "object",
            "additionalProperties": {**OCTAL, "x-kind": "octal"},
            "description": 'Path and permission bits, e.g. "0755".',
        },
        "folders": {"type": "array", "items": WORD, "description": "Folders, including empty ones."},
        "gone": {"type": "array", "items": WORD, "description": "Paths that are removed again (from `before`)."},
        "repository": {"type": "boolean", "description": "true: a git repository with one commit of all files."},
        "setup": {**allow_list(TEXT), "description": "Lines of sh, run in the sandbox."},
        "serve": {
            "type": "object",
            "propertyNames": {"minLength": 1},
            "additionalProperties": PAGE,
            "description": "Path and [status, headers, body] of pages; the contract's URLs are requested from them.",
        },
    },
}
EXAMPLE: Schema = {
    "type": "object",
    "x-kind": "an example",
    "additionalProperties": False,
    "required": ["title", "payload", "verdict"],
    "properties": {
        "title": {**WORD, "description": "The purpose of the example."},
        "harness": {**WORD, "description": "The client; default: claude-code, unless the keys name another."},
        "payload": {"type": "object", "description": "The call as its client sends it; common keys are added."},
        "before": {**SMALL_WORLD, "description": "The sandbox before the call; without it, no snapshot."},
        "world": {**SMALL_WORLD, "description": "The sandbox after the call, on top of `before`."},
        "verified": {**allow_list(WORD), "description": "Effects verified before, for `requires`; default: none."},
        "verdict": {
            "enum": ["verified", "refuted", "unverified", "none"],
            "description": "The expected verdict; none: the contract does not apply. For a guard (PreToolUse, or a "
            "contract without post), refuted is a refused call and verified an accepted one.",
        },
    },
}
MEANINGS = ("verified", "pending", "refuted")
NAMED: Schema = {"minLength": 1}
# What each kind of field accepts, and the words for it in a message. `choice` and `choices` get their enum
# from the field.
ACCEPTED: dict[str, tuple[Schema, str]] = {
    "text": (TEXT, "text"),
    "texts": (allow_list(WORD), "text or a list of texts"),
    "path": (WORD, "a path"),
    "glob": (WORD, "a path in which * is any name, ? any character and ** any folders"),
    "key": (
        {"type": "string", "pattern": f"^(?:{PIECE}|{BRACKET})(?:\\.{PIECE}|{BRACKET})*{END}"},
        'where in a file, e.g. server.port, items[0], items[name=web].port, items[*] or "a.b".c',
    ),
    "mode": (
        {"type": "string", "pattern": "^(kept|0?[0-7]{3,4})" + END},
        'permission bits as text, e.g. "0755", or kept',
    ),
    "url": ({**WORD, "pattern": "^(https?://|" + TEMPLATE + ")"}, "a URL with http:// or https://"),
    "pattern": (WORD, "a regular expression"),
    "function": (TEXT, "text, such as checks/notes.py:saved"),
    "octal": (OCTAL, 'permission bits as text, e.g. "0755"'),
    "name": (
        {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]*" + END, "maxLength": 100},
        "a name of a-z, 0-9 and -",
    ),
    "names": (
        allow_list({"type": "string", "pattern": "^[a-z0-9][a-z0-9-]*" + END, "maxLength": 100}, unique=True),
        "a name of a-z, 0-9 and -, or a list of them",
    ),
    "duration": (
        {"type": "string", "pattern": r"^(0|[1-9][0-9]{0,5})(\.[0-9]{1,3})?(ms|s|m)" + END},
        "a duration with its unit: 250ms, 5s or 2m",
    ),
    "count": (COUNT, "a whole number, 0 or more"),
    "counts": (allow_list(COUNT), "a whole number, 0 or more, or a list of these"),
    "number": ({"type": "number"}, "a number"),
    "boolean": ({"type": "boolean"}, "true or false"),
    "choice": ({}, "one of the words allowed"),
    "choices": ({}, "one of the words allowed, or a list of them"),
    "argv": (
        {"type": "array", "minItems": 1, "items": TEXT, "prefixItems": [WORD]},
        "a list of words, never one shell string",
    ),
    "map": ({"type": "object", "minProperties": 1, "additionalProperties": TEXT}, "a map of texts"),
    "matcher": (MATCHER, "a value, or a map of matcher operators"),
    "matchers": (
        {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"minLength": 1},
            "additionalProperties": MATCHER,
        },
        "a map from names to what each must be",
    ),
    "status": (STATUS, "a status such as 204, or a class such as 2xx"),
    "statuses": (allow_list(STATUS), "a status such as 204, a class such as 2xx, or a list of these"),
    "check": ({"$ref": "#/$defs/check"}, "a map with one key, the check's name"),
    "checks": (allow_list({"$ref": "#/$defs/check"}), "a check, or a list of checks"),
    "json-schema": (
        {"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"type": ["object", "boolean"]}},
        "a JSON Schema, or the path of a file that holds one",
    ),
    "value": ({}, "any value"),
    "list": ({"type": "array", "minItems": 1}, "a list of values"),
    "operand": ({"if": {"type": "object"}, "then": {"$ref": "#/$defs/matcher"}, "else": COUNT},
                "a whole number, or a map of matcher operators"),
    "contracts": ({"type": "array", "items": {"$ref": "#/$defs/contract"}}, "a list of contracts"),
    "use": (allow_list(WORD, unique=True), "a list of packs"),
    "patterns": (allow_list(WORD), "a regular expression, or a list of them"),
    "policy": ({"$ref": "#/$defs/policy"}, "a map of budgets"),
    "retries": (
        {"type": "object", "minProperties": 1, "additionalProperties": False,
         "properties": {**dict.fromkeys(retry_budgets.CLASSES, allow_retries(20)),
                        retry_budgets.TRANSIENT: allow_retries(5)}},
        "a map from classes of failure to a number of retries, or [fewest, most]",
    ),
    "quarantine": (
        {"type": "object", "minProperties": 1, "additionalProperties": False,
         "properties": {"after": COUNT, "ticks": COUNT}},
        "a map with after and ticks",
    ),
    "receipt": ({"$ref": "#/$defs/receipt"}, "a map with from, match, state and states"),
    "source": ({"$ref": "#/$defs/source"}, "a map with one key: http_status, command, sqlite or custom"),
    "wanted": (
        {"type": "object", "minProperties": 1, "propertyNames": NAMED,
         "additionalProperties": {"type": ["string", "number", "boolean"]}},
        "a map from paths in the receipt to a text, a number, true or false",
    ),
    "states": (
        {"type": "object", "minProperties": 1, "propertyNames": NAMED,
         "additionalProperties": {"enum": list(MEANINGS)}},
        "a map from the source's words to verified, pending or refuted",
    ),
    "period": (
        {"type": "string", "pattern": r"^(0|[1-9][0-9]{0,5})(\.[0-9]{1,3})?(s|m|h|d)$(?!\n)"},
        "a time with its unit: 30s, 10m, 2h or 3d",
    ),
    "examples": ({"type": "array", "minItems": 1, "items": EXAMPLE},
                 "a list of maps with title, payload and verdict"),
}  # fmt: skip

# Kinds whose values are not text: if the field takes templates, a text with a template is accepted too.
NOT_TEXT = ("count", "number", "boolean", "list", "operand")


def build_field(field: Field) -> Schema:
    """Return the schema of a declared field."""
    kind = field.kind
    fragment = ACCEPTED[kind][0]
    if field.choices:
        # A version is a number in the file, but its declared choices are text.
        allowed = [int(choice) if choice.isdigit() else choice for choice in field.choices]
        fragment = {"enum": allowed}
        if kind == "choices":
            fragment = allow_list(fragment, unique=True)
    if field.templated and kind in NOT_TEXT:
        fragment = {"if": {"type": "string"}, "then": {"pattern": TEMPLATE}, "else": fragment}
    described: Schema = {"description": field.help, **mark_kind(fragment, kind)}
    if field.default is not None:
        described["default"] = field.default
    return described


def mark_kind(fragment: Schema, kind: str) -> Schema:
    """Return `fragment` with its kind noted wherever an error can come from; the message needs it."""
    if "$ref" in fragment:
        return fragment
    copy: Schema = {**fragment, "x-kind": kind}
    for name in ("then", "else", "items", "additionalProperties", "propertyNames"):
        if isinstance(copy.get(name), dict):
            copy[name] = mark_kind(copy[name], kind)
    if "prefixItems" in copy:
        copy["prefixItems"] = [mark_kind(item, kind) for item in copy["prefixItems"]]
    return copy


def build_map(fields: Iterable[Field], title: str) -> Schema:
    """Return the schema of a map with these fields."""
    fields = tuple(fields)
    schema: Schema = {
        "title": title,
        "type": "object",
        "properties": {field.name: build_field(field) for field in fields},
        "additionalProperties": False,
        "x-kind": title,
    }
    required = [field.name for field in fields if field.required]
    if required:
        schema["required"] = required
    return schema


def require_one(names: Iterable[str], fields: Iterable[Field]) -> Schema:
    """Require at least one of the keys."""
    names = list(names)
    return {
        "anyOf": [{"required": [name]} for name in names],
        "x-needs": names,
        "x-known": [field.name for field in fields],
    }


def build_check(module: ModuleType) -> Schema:
    """Return the schema of a check."""
    schema = {**build_map(module.FIELDS, module.NAME), "description": module.SUMMARY}
    if module.ASSERTS:
        schema["allOf"] = [require_one(module.ASSERTS, module.FIELDS)]
    return schema


COMBINED: dict[str, tuple[Schema, str]] = {
    "all_of": (
        {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/check"}},
        "Every check in the list holds.",
    ),
    "any_of": (
        {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/check"}},
        "One check in the list holds.",
    ),
    "not": ({"$ref": "#/$defs/check"}, "The check does not hold."),
}


def list_check_names() -> list[str]:
    """Return every key that the map of a check may have."""
    return [*checks.NAMES, *model.COMBINATORS]


def build_any_check() -> Schema:
    """Return the schema of a map that names one check or combinator."""
    properties: Schema = {
        name: {"$ref": f"#/$defs/{name}", "description": checks.load_check(name).SUMMARY} for name in checks.NAMES
    }
    for name in model.COMBINATORS:
        fragment, words = COMBINED[name]
        properties[name] = {
            "description": words,
            **fragment,
            "x-kind": "checks" if name != "not" else "check",
        }
    return {
        "title": "check",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
        "x-kind": "check",
    }


def build_contract() -> Schema:
    """Return the schema of a contract."""
    schema = build_map(contract_fields.FIELDS, "contract")
    schema["allOf"] = [
        require_one(("tool", "kind", "event"), contract_fields.FIELDS),
        require_one(("post", "pre", "requires", "receipt", "claims", "steps"), contract_fields.FIELDS),
    ]
    return schema


def list_sources() -> list[ModuleType]:
    """Return the checks that can look up a receipt."""
    modules = [checks.load_check(name) for name in checks.NAMES]
    return [module for module in modules if hasattr(module, "LOOK_UP")]


def build_receipt() -> Schema:
    """Return the definitions of a receipt, of its source, and of each look-up."""
    every = list_sources()
    return {
        "receipt": build_map(contract_fields.RECEIPT_FIELDS, "receipt"),
        "source": {
            "title": "source", "type": "object", "additionalProperties": False, "minProperties": 1,
            "maxProperties": 1, "x-kind": "source",
            "properties": {each.NAME: {"$ref": f"#/$defs/from_{each.NAME}", "description": each.SUMMARY}
                           for each in every},
        },
        **{f"from_{each.NAME}": build_source(each) for each in every},
    }  # fmt: skip


def build_source(module: ModuleType) -> Schema:
    """Return the schema of the fields with which a check looks up a receipt, without those that assert something."""
    fields = [field for field in module.FIELDS if field.name in module.LOOK_UP]
    schema = build_map(fields, f"from_{module.NAME}")
    if module.NEEDED:
        schema["required"] = list(module.NEEDED)
    else:
        schema["allOf"] = [require_one(module.ASSERTS, fields)]
    return schema


def build_schema() -> Schema:
    """Return the complete JSON Schema (draft 2020-12) of a contract file."""
    return {
        "$schema": DIALECT,
        **build_map(contract_fields.FILE_FIELDS, "truecall contract file"),
        "if": {"required": ["use"]},
        "else": {
            "required": ["contracts"],
            "properties": {"contracts": {"minItems": 1, "x-kind": "contracts", "x-needs": ["use"]}},
        },
        "$defs": {
            "contract": build_contract(),
            "check": build_any_check(),
            **build_receipt(),
            "policy": {**build_map(contract_fields.POLICY_FIELDS, "policy"), "minProperties": 1},
            "matcher": {**build_map(matchers.FIELDS, "matcher"), "minProperties": 1},
            **{name: build_check(checks.load_check(name)) for name in checks.NAMES},
        },
    }


@lru_cache(maxsize=1)
def get_schema() -> Schema:
    """Return the schema, built once. It must not be changed."""
    return build_schema()
