"""Plain tables for the terminal, 80 columns wide."""

from __future__ import annotations

from typing import Any

import click

from truecall_py.reporting.text import fit_line

ROWS = 15  # the most rows of one table
LABELS = {"lies": "false", "landed": "verified"}  # column heads that differ from the keys of the JSON output


def print_table(first: str, rows: list[dict[str, Any]], *columns: str) -> None:
    """Prints at most ROWS rows, 80 letters wide; `first` and `columns` are keys of each row."""
    if not rows:
        return
    heads = [LABELS.get(name, name.replace("_", " ")) for name in columns]
    room = 80 - sum(len(head) + 2 for head in heads)
    names = "".join(f"  {head}" for head in heads)
    click.echo("\n" + click.style(f"{first:<{room}}{names}", bold=True))
    for row in rows[:ROWS]:
        cells = "".join(
            f"  {row[name.replace(' ', '_')]:>{len(head)}}" for name, head in zip(columns, heads, strict=True)
        )
        click.echo(f"{fit_line(str(row[first]), room - 1):<{room}}{cells}")
    if len(rows) > ROWS:
        click.echo(f"and {len(rows) - ROWS} more: --json shows them all")
