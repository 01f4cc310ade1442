"""The worker's job of the check `schema`: validate a value against a JSON Schema. Needs jsonschema, and never fetches
anything for a `$ref`."""

from __future__ import annotations

import json
import sys

from truecall_py.contract_files.formats import FORMATS, make_checker
from truecall_py.core.errors import Unverified

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHOWN = 5  # errors in an answer
LONGEST = 2000  # characters of a text in an answer


def validate(job: dict[str, Any]) -> dict[str, Any]:
    """Return the first SHOWN errors of a value by a JSON Schema, and their count. Raises Unverified."""
    import re

    try:
        from jsonschema import Draft202012Validator, FormatChecker
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import validator_for
        from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
        from referencing.exceptions import Unresolvable
    except ImportError as error:
        why = f"jsonschema 4.18 or later cannot be imported by {sys.executable}: {error}"
        raise Unverified(why, "interpreter") from None
    formats = FormatChecker(formats=())
    for name in FORMATS:
        formats.checkers[name] = (make_checker(name), ())
    rules = job["schema"] if "schema" in job else read_schema(job["file"])
    if not isinstance(rules, dict) or not rules:
        raise Unverified("the schema asserts nothing: it must be a map with at least one keyword", "contract")
    validator = validator_for(rules, default=Draft202012Validator)
    try:
        validator.check_schema(rules)
        # Unlike the default registry, this one cannot use the network.
        errors = list(validator(rules, registry=REGISTRY, format_checker=formats).iter_errors(job["value"]))
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path)) or "top"
        raise Unverified(f"the schema is not a JSON Schema ({place}): {error.message[:200]}", "contract") from None
    except Unresolvable as error:
        why = f"a $ref of the schema leads outside it, which is not followed: {str(error)[:160]}"
        raise Unverified(why, "contract") from None
    except re.error as error:
        raise Unverified(f"a pattern of the schema is not a regular expression: {error}", "contract") from None
    except RecursionError:
        why = "the schema refers to itself without end, or the value is nested too deeply"
        raise Unverified(why, "contract") from None
    once = {
        (fault.json_path, fault.validator if fault.validator == "required" else id(fault)): fault for fault in errors
    }
    # A misspelt field explains a missing one, so it comes first. One error lists all missing fields of one object.
    errors = sorted(once.values(), key=lambda error: error.validator != "additionalProperties")
    return {"errors": [describe_error(error) for error in errors[:SHOWN]], "count": len(errors)}


def describe_error(error: Any) -> dict[str, Any]:
    """One error of a schema: where, in jsonschema's words, and the fields and the rule that it is about, each
    bounded."""
    row: dict[str, Any] = {"path": error.json_path, "message": error.message[:LONGEST], "keyword": error.validator}
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
            names = [name for name in unknown if not any(re.search(pattern, name) for pattern in patterns)]
        row |= {
            "names": names[:20], "given": list(held)[:100],
            "values": {name: bound_value(held[name]) for name in names[:20] if name in held},
            "properties": {name: brief(rule) for name, rule in list(known.items())[:60]},
        }  # fmt: skip
    return {**row, "value": bound_value(held), "rule": brief(rules)}


def bound_value(value: Any) -> Any:
    """A value as it is where it is small, else the beginning of its text."""
    text = value if isinstance(value, str) else json.dumps(value)
    return value if len(text) <= LONGEST else text[:LONGEST]


def read_schema(file: str) -> Any:
    """Return the JSON of a schema file. Raises Unverified if it cannot be read or parsed."""
    from truecall_py.core.fast_json import JsonError, loads

    try:
        with open(file, encoding="utf-8-sig") as text:
            return loads(text.read())
    except OSError as error:
        raise Unverified(f"the schema {file} cannot be read: {error.strerror}", "contract") from None
    except (JsonError, UnicodeDecodeError) as error:
        raise Unverified(f"the schema {file} is not JSON: {error}", "contract") from None
