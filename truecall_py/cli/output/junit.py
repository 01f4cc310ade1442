"""Results as JUnit XML, which every CI system shows."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

from truecall_py.core.record import record

TOTALS = {"failure": "failures", "error": "errors", "skipped": "skipped"}


@record(frozen=True)
class Case:
    """One test case. `kind`: "" (passed), failure, error or skipped; `more`: further attributes."""

    group: str
    name: str
    kind: str
    words: str
    more: dict[str, str]


def render_suite(name: str, cases: Iterable[Case]) -> str:
    """The XML document of one test suite."""
    suite = ElementTree.Element("testsuite", name=name)
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for each in cases:
        case = ElementTree.SubElement(suite, "testcase", {"classname": each.group, "name": each.name, **each.more})
        totals["tests"] += 1
        if each.kind:
            totals[TOTALS[each.kind]] += 1
            ElementTree.SubElement(case, each.kind, message=each.words[:300]).text = each.words
    for total, number in totals.items():
        suite.set(total, str(number))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"
