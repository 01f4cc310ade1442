"""The list of mutants fits the program, so that a mutant cannot stop to test anything unnoticed until the gate runs."""

from __future__ import annotations

import collections
import os

from mutants.__main__ import load
from support.project import ROOT


def test_each_mutant_can_be_made():
    """The text of each is in its file exactly once, is changed, and the files of its tests are there."""
    wrong = []
    for mutant in load():
        with open(os.path.join(ROOT, mutant.file), encoding="utf-8", newline="") as file:
            times = file.read().count(mutant.old)
        if times != 1 or mutant.old == mutant.new:
            wrong.append(f"{mutant.name}: its text is {times} times in {mutant.file}")
        paths = [test.partition("::")[0] for test in mutant.tests if test.startswith("tests/")]
        wrong += [f"{mutant.name}: there is no {path}" for path in paths if not os.path.exists(os.path.join(ROOT, path))]
        if not paths:
            wrong.append(f"{mutant.name}: it names no tests")
    assert not wrong


def test_each_mutant_has_a_name_of_its_own():
    """A name finds one mutant."""
    assert [name for name, times in collections.Counter(mutant.name for mutant in load()).items() if times > 1] == []
