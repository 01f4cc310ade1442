"""`truecall schema`: the printed schema, and that it is made from the declared fields."""

from __future__ import annotations

import json
import os
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from truecall_py import checks
from truecall_py.cli.commands.schema import schema
from truecall_py.contract_files import fields as contract_fields
from truecall_py.contract_files import json_schema
from truecall_py.contracts import matchers
from truecall_py.contracts.field import KINDS
from truecall_py.core.errors import UsageError


def test_prints_the_loaders_schema() -> None:
    """It prints exactly the schema that the loader validates with, a valid one of draft 2020-12."""
    result = CliRunner().invoke(schema)
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    assert printed == json_schema.build_schema() == json_schema.get_schema()
    assert printed["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(printed)


def test_every_field_is_in_it() -> None:
    """Every declared field of file, contract, matcher and check has its entry, with its help."""
    found = json_schema.build_schema()
    places = {"truecall contract file": (found, contract_fields.FILE_FIELDS)}
    places["contract"] = (found["$defs"]["contract"], contract_fields.FIELDS)
    places["receipt"] = (found["$defs"]["receipt"], contract_fields.RECEIPT_FIELDS)
    places["policy"] = (found["$defs"]["policy"], contract_fields.POLICY_FIELDS)
    places["matcher"] = (found["$defs"]["matcher"], matchers.FIELDS)
    for name in checks.NAMES:
        places[name] = (found["$defs"][name], checks.load_check(name).FIELDS)
    for where, fields in places.values():
        assert list(where["properties"]) == [field.name for field in fields]
        assert all(where["properties"][field.name]["description"] == field.help for field in fields)
        assert where["additionalProperties"] is False
    sources = {f"from_{name}" for name in ("http_status", "command", "sqlite", "custom")}
    assert set(found["$defs"]) == {"contract", "check", "matcher", "policy", "receipt", "source", *sources, *checks.NAMES}


def test_every_kind_is_accepted() -> None:
    """The grammar knows every kind that a field may be declared with, and no other."""
    assert sorted(KINDS) == sorted(json_schema.ACCEPTED)


def test_every_reference_leads_somewhere() -> None:
    """Every $ref of the schema is one of its own definitions, so that editors need no network."""
    found = json_schema.build_schema()
    pending: list[Any] = [found]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            if "$ref" in item:
                assert item["$ref"].removeprefix("#/$defs/") in found["$defs"]
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def test_examples_of_the_checks_are_accepted() -> None:
    """The parameters of every check's own examples meet its definition."""
    found = json_schema.build_schema()
    for name in checks.NAMES:
        validator = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": found["$defs"]})
        for example in checks.load_check(name).EXAMPLES:
            assert [error.message for error in validator.iter_errors(example["check"])] == []


def test_defaults_are_accepted() -> None:
    """The default of every field is a value that the field accepts."""
    found = json_schema.build_schema()
    for definition in [found, *found["$defs"].values()]:
        for property_ in definition["properties"].values():
            if "default" in property_:
                validator = jsonschema.Draft202012Validator({**property_, "$defs": found["$defs"]})
                assert validator.is_valid(property_["default"])


def test_output(tmp_path: Any) -> None:
    """--output writes the same, in one step, and leaves nothing else behind."""
    target = tmp_path / "truecall.schema.json"
    target.write_text("old")
    result = CliRunner().invoke(schema, ["--output", str(target)])
    assert (result.exit_code, result.output) == (0, "")
    assert target.read_text(encoding="utf-8") == CliRunner().invoke(schema).stdout
    assert os.listdir(tmp_path) == ["truecall.schema.json"]


def test_output_that_cannot_be_written(tmp_path: Any) -> None:
    """A place that cannot be written is an error of usage, and nothing is left behind."""
    with pytest.raises(UsageError):
        CliRunner().invoke(schema, ["-o", str(tmp_path / "none" / "x.json")], catch_exceptions=False)
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError):
        CliRunner().invoke(schema, ["-o", str(tmp_path / "folder")], catch_exceptions=False)
    assert os.listdir(tmp_path) == ["folder"]
