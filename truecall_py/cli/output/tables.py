"""Plain tables for the terminal, 80 columns wide."""

from __future__ import annotations

from typing import Any

import click

from truecall_py.reporting.text import fitting

ROWS = 15  # of one table


def table(first: str, rows: list[dict[str, Any]], *columns: str) -> None:
    """A table of at most ROWS rows, 80 letters wide."""
    if not rows:
        return
    room = 80 - sum(len(name) + 2 for name in columns)
    names = "".join(f"  {name.replace('_', ' ')}" for name in columns)
    click.echo("\n" + click.style(f"{first:<{room}}{names}", bold=True))
    for row in rows[:ROWS]:
        cells = "".join(f"  {row[name.replace(' ', '_')]:>{len(name)}}" for name in columns)
        click.echo(f"{fitting(str(row[first]), room - 1):<{room}}{cells}")
    if len(rows) > ROWS:
        click.echo(f"and {len(rows) - ROWS} more: --json has them all")
