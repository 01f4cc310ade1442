"""A document as the lint rules see it, and how they report a problem of it."""

from __future__ import annotations

from truecall_py.contract_files.lint import walk
from truecall_py.contract_files.lint.codes import make_problem
from truecall_py.contracts import template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from truecall_py.contract_files.lint.walk import Check, Site
    from truecall_py.contract_files.yaml_reader import Document, Path
    from truecall_py.core.types import Problem

    Rule = Callable[["Subject"], Iterator[Problem]]


class Subject:
    """One document as the rules see it: what has a structural problem is left out."""

    def __init__(self, document: Document, broken: set[Path]) -> None:
        self.document = document
        bad = broken | document.doubtful | document.empty
        roots = {path[:length] for path in bad for length in range(len(path) + 1)}
        self.sites: list[Site] = [site for site in walk.list_sites(document.data) if site.path not in roots]
        self.entries: list[tuple[Path, dict[str, Any]]] = [
            (path, entry) for path, entry in walk.list_contracts(document.data) if path not in roots
        ]
        self.checks: list[tuple[Path, Check]] = [
            (path, check)
            for path, entry in self.entries
            for check in walk.list_checks(entry, path)
        ]

    def report(self, code: str, path: Path, message: str, hint: str = "", key: bool = False) -> Problem:
        return make_problem(code, self.document.place(path, key), message, hint)

    def list_texts(self) -> Iterator[tuple[Site, Path, str]]:
        for site in self.sites:
            for path, text in walk.list_texts(site.value, site.path):
                yield site, path, text

    def list_parts(self) -> Iterator[tuple[Path, template.Part]]:
        """Every template that is filled in and well formed."""
        for site, path, text in self.list_texts():
            if site.templated and template.OPEN in text:
                yield from ((path, part) for part in parse_parts(text))


def parse_parts(text: str) -> list[template.Part]:
    try:
        return [piece for piece in template.parse(text) if isinstance(piece, template.Part)]
    except ValueError:
        return []
