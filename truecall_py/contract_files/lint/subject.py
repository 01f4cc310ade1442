"""A document as the lint rules see it, and the way in which they report a problem."""

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
    """One document without the parts that have a structural problem."""

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
        """Return a problem at the value (or the key) of a path."""
        return make_problem(code, self.document.place(path, key), message, hint)

    def list_texts(self) -> Iterator[tuple[Site, Path, str]]:
        """Return every text of the document with its path and the field that it belongs to."""
        for site in self.sites:
            for path, text in walk.list_texts(site.value, site.path):
                yield site, path, text

    def list_parts(self) -> Iterator[tuple[Path, template.Part]]:
        """Return every well-formed template that is filled in, with its path."""
        for site, path, text in self.list_texts():
            if site.templated and template.OPEN in text:
                yield from ((path, part) for part in parse_parts(text))


def parse_parts(text: str) -> list[template.Part]:
    """Return the templates of a text, none if it is malformed."""
    try:
        return [piece for piece in template.parse(text) if isinstance(piece, template.Part)]
    except ValueError:
        return []
