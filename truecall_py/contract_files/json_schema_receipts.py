"""What `grammar` accepts of a receipt: where it may come from, what must stand in it, what its states mean. Holds the
part of the JSON Schema that is about receipts, and nothing else."""

from __future__ import annotations

from truecall_py import checks
from truecall_py.contract_files import fields as contract_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Schema = dict[str, Any]

MEANINGS = ("verified", "pending", "refuted")
NAMED: Schema = {"minLength": 1}

KINDS: dict[str, tuple[Schema, str]] = {
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
}  # fmt: skip


def sources() -> list[ModuleType]:
    """The checks that can fetch evidence from an authority."""
    modules = [checks.module(name) for name in checks.NAMES]
    return [each for each in modules if hasattr(each, "LOOK_UP")]


def definitions(map_of: Callable[..., Schema], needs: Callable[..., Schema]) -> Schema:
    """The definitions of a receipt, of its source, and of each look-up; `map_of` and `needs` are grammar's."""
    every = sources()
    return {
        "receipt": map_of(contract_fields.RECEIPT_FIELDS, "receipt"),
        "source": {
            "title": "source", "type": "object", "additionalProperties": False, "minProperties": 1,
            "maxProperties": 1, "x-kind": "source",
            "properties": {each.NAME: {"$ref": f"#/$defs/from_{each.NAME}", "description": each.SUMMARY}
                           for each in every},
        },
        **{f"from_{each.NAME}": look_up(each, map_of, needs) for each in every},
    }  # fmt: skip


def look_up(module: ModuleType, map_of: Callable[..., Schema], needs: Callable[..., Schema]) -> Schema:
    """The fields with which a check fetches evidence; what it asserts has no place there."""
    fields = [each for each in module.FIELDS if each.name in module.LOOK_UP]
    schema = map_of(fields, f"from_{module.NAME}")
    if module.NEEDED:
        schema["required"] = list(module.NEEDED)
    else:
        schema["allOf"] = [needs(module.ASSERTS, fields)]
    return schema
