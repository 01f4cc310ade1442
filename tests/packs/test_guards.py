"""The pack `guards`: its patterns end, whatever the command."""

from __future__ import annotations

import os

import pytest
import yaml
from support.project import ROOT

from truecall_py.world import bounded_regex


def patterns(value):
    """Every regular expression in a piece of a contract."""
    if isinstance(value, list):
        return [found for each in value for found in patterns(each)]
    if not isinstance(value, dict):
        return []
    return [each for each in [value.get("matches")] if each] + patterns(list(value.values()))


@pytest.mark.parametrize("piece", ["git switch ", "switch ", "git branch-", "git ", "branch --list ", ":", "heads/", " "])
def test_no_length_of_a_command_keeps_a_pattern_from_ending(piece):
    """A megabyte of the words that it looks for: a pattern that reads them once for each of them needs hours, is
    broken off, and what it guards would be refused for it."""
    with open(os.path.join(ROOT, "contracts", "guards.yaml"), encoding="utf-8") as file:
        found = patterns(yaml.safe_load(file))
    assert len(found) > 5
    for pattern in found:
        bounded_regex.search(pattern, "git " + piece * ((1 << 20) // len(piece)), 60)
