"""The pages of the documentation, and the blocks of code on them."""

from __future__ import annotations

import os
import re

from support.project import ROOT

DOCS = sorted(
    os.path.relpath(os.path.join(folder, name), ROOT)
    for folder, _, names in os.walk(os.path.join(ROOT, "docs"))
    for name in names
    if name.endswith(".md")
)
PAGES = ["CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md", *DOCS]


def text(page: str) -> str:
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return file.read()


def blocks(language: str) -> list[tuple[str, str]]:
    fence = rf'^```{language}(?: title="[^"(]*")?\n(.*?)^```$'
    return [(page, body) for page in PAGES for body in re.findall(fence, text(page), re.S | re.M)]
