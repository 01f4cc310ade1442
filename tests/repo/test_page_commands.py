"""Every command of the tutorial and of the how-to pages is run, in order, in a home folder of its own; the output that
a page shows is the output of today."""

import difflib
import os
import re
import tempfile

import pytest
from support.console_pages import ROOT, SHOWN_HOME, compared, differences, same, steps

GUIDES = ["docs/tutorial.md", *(f"docs/how-to/{name}" for name in sorted(os.listdir(os.path.join(ROOT, "docs/how-to"))))]
# What no test can run, by what it needs.
NOT_RUN = {"it needs the package index", "it needs the clients", "it needs a client", "it needs transcripts",
           "it would remove what the tests need"}  # fmt: skip


def text(page: str) -> str:
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return file.read()


@pytest.fixture
def home():
    """A home folder with a short path, which no line of the output is broken for."""
    with tempfile.TemporaryDirectory(prefix="", dir="/tmp") as folder:
        yield os.path.realpath(folder)


@pytest.mark.parametrize("page", GUIDES)
def test_the_commands_of_a_page_print_what_it_shows(page: str, home: str) -> None:
    """A reader who types every command in order sees what the page shows. After a change of words:
    python tests/support/console_pages.py PAGE"""
    for step, printed in differences(text(page), home):
        shown, now = step.body.splitlines(), printed.splitlines()
        pytest.fail(f"{page}: {step.command}\n" + "\n".join(difflib.unified_diff(shown, now, "page", "program", lineterm="")))


@pytest.mark.parametrize("page", GUIDES)
def test_a_block_that_is_not_run_says_why(page: str) -> None:
    """Only what needs a download, a client or a past is left out."""
    assert set(re.findall(r"<!-- not run: (.*?) -->", text(page))) <= NOT_RUN


@pytest.mark.parametrize("page", GUIDES)
def test_every_block_of_commands_is_a_step(page: str) -> None:
    """No block is passed over because its fence is written otherwise."""
    fences = len(re.findall(r"^ *```(?:sh|console)\b", text(page), re.M))
    found = [step for step in steps(text(page)) if step.kind in ("script", "skip", "command") or step.kind.startswith("file")]
    assert len({step.start or id(step) for step in found}) >= fences


def test_the_comparison_sees_a_changed_word() -> None:
    """Blanks, frames, times and the width of the screen make no difference; any word does."""
    assert same("a  b\nended after 3 ms", "a b\nended after 12 ms")
    assert same("│ one two │\n", "one\ntwo\n")
    assert same("found ... at home", "found a file at home")
    assert not same("a verified call", "a refuted call")
    assert not same("", "something")
    assert same("app.tar.gz, 163 bytes", "app.tar.gz, 164 bytes")
    assert not same("1 error", "2 errors")
    assert compared("2026-11-30 22:19 x") == "DATEx"


def test_pages_show_one_home_folder() -> None:
    """No page shows a path of the machine that it was written on."""
    for page in GUIDES:
        paths = re.findall(r"(?<![\w.~])/(?:home|Users|root|tmp)/[\w.-]+", text(page))
        assert set(paths) <= {SHOWN_HOME}, page
