"""The site: it builds in strict mode, a broken link, anchor or page breaks the build, and its pages load nothing from
another host and fit a phone."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from support import chromium as browser
from support.chromium import Page
from support.navigation import ROOT

pytestmark = pytest.mark.site
# The width of the page's content, and of the elements that neither fit nor scroll inside a box.
TOO_WIDE = """[...document.querySelectorAll('article *')].filter(each => {
  if (each.closest('.md-typeset__scrollwrap, pre, svg, .headerlink, .md-source-file')) return false;
  const box = each.getBoundingClientRect();
  return box.width && box.right > innerWidth + 1;
}).map(each => each.tagName + ' ' + each.textContent.slice(0, 40))"""


def copy(folder: str) -> str:
    """A copy of the pages and of the settings of the site."""
    shutil.copytree(os.path.join(ROOT, "docs"), os.path.join(folder, "docs"))
    shutil.copy(os.path.join(ROOT, "zensical.toml"), folder)
    return folder


def build(folder: str) -> subprocess.CompletedProcess[str]:
    """Builds the site of a folder in strict mode."""
    argv = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    done.stderr = re.sub(r"\x1b\[[0-9;]*m", "", done.stderr)
    return done


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The site, built."""
    folder = copy(str(tmp_path_factory.mktemp("site")))
    done = build(folder)
    assert done.returncode == 0, done.stderr
    return os.path.join(folder, "site")


def html(site: str) -> Iterator[str]:
    for below, _, names in os.walk(site):
        yield from (os.path.join(below, name) for name in names if name.endswith(".html"))


def test_every_page_is_built(site: str) -> None:
    """Each page of the navigation is a page of the site, and no script that draws a picture is published."""
    built = {os.path.relpath(path, site) for path in html(site)}
    for below, _, names in os.walk(os.path.join(ROOT, "docs")):
        for name in names:
            path = os.path.relpath(os.path.join(below, name), os.path.join(ROOT, "docs"))
            assert path.removesuffix(".md") + ".html" in built or not name.endswith(".md"), path
    assert not [name for _, _, names in os.walk(site) for name in names if name.endswith(".py")]


@pytest.mark.parametrize(
    ("added", "words"),
    [
        ("[nowhere](reference/nowhere.md)", "page does not exist"),
        ("[nowhere](reference/ledger.md#nowhere)", "anchor does not exist"),
        ("[nowhere](#nowhere)", "anchor does not exist"),
    ],
)
def test_a_broken_link_breaks_the_build(tmp_path: Any, added: str, words: str) -> None:
    """A link to a page or an anchor that is not there."""
    folder = copy(str(tmp_path))
    with open(os.path.join(folder, "docs", "index.md"), "a", encoding="utf-8") as file:
        file.write(f"\n{added}\n")
    done = build(folder)
    assert done.returncode != 0
    assert words in done.stderr


def test_a_page_that_is_gone_breaks_the_build(tmp_path: Any) -> None:
    """The pages that link to it are named."""
    folder = copy(str(tmp_path))
    os.remove(os.path.join(folder, "docs", "reference", "ledger.md"))
    done = build(folder)
    assert done.returncode != 0
    assert "page does not exist" in done.stderr and "corrections.md" in done.stderr


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser.running() as running:
        yield running


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_loads_nothing_from_another_host_and_fits(site: str, page: Page, width: int, scheme: str) -> None:
    """Every page of the site in a real browser: a table or a block of code scrolls in its own box."""
    page.media(scheme)
    page.size(width, phone=width < 500)
    for path in sorted(html(site)):
        page.open(f"file://{path}")
        page.settled()
        assert page.value(TOO_WIDE) == [], path
        assert page.value("document.documentElement.scrollWidth <= innerWidth"), path
    assert [address for address in page.requests() if not address.startswith(("file:", "data:", "blob:"))] == []
