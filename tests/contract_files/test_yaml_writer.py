"""What truecall writes into contract files is read back as exactly the same value, without a finding."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecall_py.contract_files.yaml_reader import parse
from truecall_py.contract_files.yaml_writer import write_block, write_comment, write_duration, write_entry, write_flow

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20) | st.sampled_from(
    ["yes", "n", "~", "null", "1.10", "12:30", "0755", "2026-01-01", "{{args.x}}", "- a", "-c", "--", "#", "a: b", "a #b", "5s", "2xx",
     "<<", "=", "*a", "&a", "!a", "%a", "@a", "`a", "'", '"', "\\", "\u2028", "\u200b", "\ufeff", "\x00", "\U0001f600", "", " a ", "a\tb"]
)  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(-(10**17), 10**18) | st.floats(-1e6, 1e6).map(lambda n: round(n, 3)) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12)


def same(left: object, right: object) -> bool:
    return repr(left) == repr(right)


@settings(deadline=None, max_examples=300)
@given(VALUES)
def test_a_value_in_one_line_comes_back(value: object) -> None:
    """Whatever the value, the strict reader gets the same one, and finds nothing doubtful in its text."""
    try:
        line = write_flow({"value": value})
    except ValueError:
        assert "e-" in repr(value) or "-0.0" in repr(value)  # small numbers that no reader takes alike
        return
    document = parse(line.encode())
    assert not document.problems, (line, document.problems)
    assert same(document.data, {"value": value}) and "\n" not in line


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4))
def test_a_value_in_lines_comes_back(value: dict[str, object]) -> None:
    """The form of several lines says the same, for a map and for an entry of a list."""
    try:
        lines, inside = write_block(value, 2), write_entry(value, 2)
    except ValueError:
        return
    assert same(parse("\n".join(["a:", *lines]).encode()).data, {"a": value})
    assert same(parse("\n".join(["a:", *inside]).encode()).data, {"a": [value]})


def test_long_maps_are_broken_into_lines() -> None:
    """Nothing that could be broken is wider than a page."""
    checks = [{"file_exists": {"path": "a" * 60, "contains": "b" * 60}}, {"result": {"path": "id", "exists": True}}]
    lines = write_entry({"id": "x", "post": checks}, 2)
    assert max(map(len, lines)) <= 110 and len(lines) > 4
    assert parse("\n".join(["contracts:", *lines]).encode()).data == {"contracts": [{"id": "x", "post": checks}]}


@pytest.mark.parametrize("value", [1e-7, -0.0, 2**70, float("nan"), float("inf"), "\ud800"])
def test_what_the_format_cannot_hold_is_refused(value: object) -> None:
    """It is never written nearly so."""
    with pytest.raises(ValueError):
        write_flow(value)


def test_a_comment_cannot_end_itself() -> None:
    """Words of unknown origin stay behind the #, whatever they hold."""
    lines = write_comment("one\nversion: 2 \u2028 three\x85 " + "word " * 60, 2)
    assert all(line.startswith("  # ") and len(line) <= 98 for line in lines)
    assert parse(("a: 1\n" + "\n".join(lines) + "\n").encode()).data == {"a": 1}


def test_durations() -> None:
    """In whole seconds where it is that."""
    assert (write_duration(5000), write_duration(250), write_duration(1500)) == ("5s", "250ms", "1500ms")
