"""The navigation of the site, compared with the pages on disk."""

import os
import re
from collections.abc import Iterator
from typing import Any

import tomlkit

from truecall_py.core.paths import PACKAGE

ROOT = os.path.dirname(PACKAGE)


def entries(nav: Any) -> Iterator[str]:
    """The pages of a navigation, in order."""
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from entries([below] if isinstance(below, str) else below)


def faults(folder: str) -> list[str]:
    """Differences between `nav` in zensical.toml and the pages in docs/, and pictures that are missing."""
    with open(os.path.join(folder, "zensical.toml"), encoding="utf-8") as file:
        nav = list(entries(tomlkit.parse(file.read()).unwrap()["project"]["nav"]))
    docs = os.path.join(folder, "docs")
    pages = [
        os.path.relpath(os.path.join(below, name), docs)
        for below, _, names in os.walk(docs)
        for name in names
        if name.endswith(".md")
    ]
    found = [f"{page} is in nav and not on disk" for page in nav if page not in pages]
    found += [f"{page} is not in nav" for page in pages if page not in nav]
    found += [f"{page} is in nav twice" for page in set(nav) if nav.count(page) > 1]
    for page in pages:
        with open(os.path.join(docs, page), encoding="utf-8") as file:
            pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", file.read())
        found += [
            f"{page}: no picture {picture}"
            for picture in pictures
            if not os.path.exists(os.path.join(docs, os.path.dirname(page), picture))
        ]
    return found
