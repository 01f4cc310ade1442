"""Rows of a table: a pattern, a command, its exit code, and what the pattern captures."""

from __future__ import annotations

PUSH = "git push *"
YES: list[dict[str, str]] = [{}]
Row = tuple[str, str, "int | None", "list[dict[str, str]] | None"]


def at(directory: str) -> list[dict[str, str]]:
    return [{"directory": directory}]


def files(*names: str) -> list[dict[str, str]]:
    return [{"file": name} for name in names]
