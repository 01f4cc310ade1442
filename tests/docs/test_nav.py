"""The navigation of the site and the pages on disk are the same: Zensical itself does not compare them."""

import os
from typing import Any

import pytest
from support.navigation import ROOT, faults


def test_every_page_is_in_the_navigation() -> None:
    """A page that nobody finds, a page that is gone and a picture that is missing are faults."""
    assert faults(ROOT) == []


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("", "glossary.md is in nav and not on disk"),
        ("# New\n", "new.md is not in nav"),
        ("![none](assets/none.svg)\n", "new.md: no picture assets/none.svg"),
    ],
)
def test_the_faults_are_seen(tmp_path: Any, page: str, words: str) -> None:
    """A missing page, a page outside of nav and a missing picture in a copy."""
    with open(os.path.join(ROOT, "zensical.toml"), encoding="utf-8") as file:
        (tmp_path / "zensical.toml").write_text(file.read())
    (tmp_path / "docs").mkdir()
    if page:
        (tmp_path / "docs" / "new.md").write_text(page)
    assert words in faults(str(tmp_path))
