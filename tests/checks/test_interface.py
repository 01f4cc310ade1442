"""Every check has all the parts that the interface of a check asks for."""

from __future__ import annotations

from types import ModuleType

import pytest

from truecall_py import checks
from truecall_py.checks.interface import OPTIONAL, REQUIRED, TOGETHER, list_faults

GROUPS = {name for group in TOGETHER for name in group}


@pytest.mark.parametrize("name", checks.NAMES)
def test_a_check_has_every_part(name: str) -> None:
    """The module of a check defines every part that is required, and defines it rightly."""
    assert list_faults(checks.load_check(name)) == []


@pytest.mark.parametrize("part", [*REQUIRED, *sorted(GROUPS)])
def test_a_missing_part_is_named(part: str) -> None:
    """If a part is left out, the fault names the part, its file, and what the part is for."""
    source = checks.load_check("sqlite")
    toy = ModuleType("truecall_py.checks.sqlite")
    toy.__dict__.update({name: value for name, value in source.__dict__.items() if name != part})
    (fault,) = list_faults(toy)
    assert fault == f"truecall_py/checks/sqlite.py lacks {part}: {REQUIRED.get(part) or OPTIONAL[part]}"


@pytest.mark.parametrize(
    ("part", "value"),
    [("NAME", "other"), ("SUMMARY", ""), ("STAGE", "later"), ("FAILURE_CLASS", "odd"), ("FIELDS", ()), ("FIELDS", ("path",)),
     ("ASSERTS", ("nothing",)), ("EXAMPLES", ()), ("expect", "words"), ("run", None)],
)  # fmt: skip
def test_a_wrong_part_is_named(part: str, value: object) -> None:
    """A part of the wrong kind is a fault that names the part and its file."""
    toy = ModuleType("truecall_py.checks.sql")
    toy.__dict__.update({**checks.load_check("sql").__dict__, part: value})
    assert any(fault.startswith(f"truecall_py/checks/sql.py: {part} is wrong: ") for fault in list_faults(toy))


def test_the_optional_parts_of_every_check_are_known() -> None:
    """Every part that the interface lists is used by a check: the list does not outlive its use."""
    used = {name for check in map(checks.load_check, checks.NAMES) for name in OPTIONAL if hasattr(check, name)}
    assert used == set(OPTIONAL)
