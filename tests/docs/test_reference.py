"""The reference pages: every example of a check can be copied into a contract, and every check has a section."""

import os
import re

import pytest
import yaml

from truecall_py import checks
from truecall_py.contract_files import loader
from truecall_py.core.paths import PACKAGE

REFERENCE = os.path.join(os.path.dirname(PACKAGE), "docs", "reference")


def read(name: str) -> str:
    with open(os.path.join(REFERENCE, name), encoding="utf-8") as file:
        return file.read()


def sections(page: str) -> dict[str, str]:
    """Heading of the second level -> the text below it."""
    parts = re.split(r"^## (.+)$", read(page), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def examples() -> list[tuple[str, str]]:
    """(heading, one check in YAML) of every example on the page of checks."""
    found = []
    for heading, text in sections("checks.md").items():
        for block in re.findall(r"^~~~yaml\n(.*?)^~~~$", text, re.S | re.M):
            found += [(heading, check) for check in re.split(r"^(?=\w)", re.sub(r"^#.*\n", "", block, flags=re.M), flags=re.M) if check]
    return found


@pytest.mark.parametrize(("heading", "check"), examples())
def test_an_example_of_a_check_is_a_check(heading: str, check: str) -> None:
    """Each example is one check that the loader takes, of the kind that its section is about."""
    (name,) = yaml.safe_load(check)
    assert name == heading or heading not in checks.NAMES
    contract = 'version: 1\ncontracts:\n  - id: example\n    tool: "*"\n    post:\n' + re.sub(r"^", "      ", check, flags=re.M)
    assert [problem for problem in loader.find_problems(contract.encode(), heading) if problem.severity == "error"] == []


def test_every_check_has_a_section_with_an_example_that_passes_and_one_that_fails() -> None:
    """In the order of the table of checks."""
    found = sections("checks.md")
    assert [heading for heading in found if heading in checks.NAMES] == list(checks.NAMES)
    for name in checks.NAMES:
        assert "# verified: " in found[name] and "# refuted: " in found[name], name
