"""`truecall export`: the calls of the ledger for the tools that a team already has. Reads the ledger and writes its
output, nothing else; keeps one call in memory at a time."""

from __future__ import annotations

import os
import stat as modes
import sys
import time
from collections.abc import Iterable, Iterator

import click

from truecall_py.cli.commands.log import folder_of
from truecall_py.core import atomic_write
from truecall_py.core.errors import UsageError
from truecall_py.core.timestamps import moment
from truecall_py.ledger.store import Ledger
from truecall_py.reporting import calls, queries
from truecall_py.reporting.calls import Call
from truecall_py.reporting.export import FORMS
from truecall_py.reporting.text import count


@click.command()
@click.option("--format", "form", type=click.Choice(list(FORMS)), default="jsonl", show_default=True)
@click.option("--since", metavar="TIME", help="Not before: 2h, 7d, 2026-11-29.")
@click.option("--session", metavar="S", default="", help="Only this session, by its id or its beginning.")
@click.option("--batch", metavar="N", type=click.IntRange(1), help="otel-json: a document, on a line, for N spans.")
@click.option("-o", "--output", metavar="FILE", default="-", help="Where to; default: standard output.")
@click.option("--state", metavar="DIR", help="The state folder.")
def export(
    form: str, since: str | None, session: str, batch: int | None, output: str, state: str | None
) -> None:
    """Writes the calls of the ledger, the oldest first, for other tools.

    jsonl is one call a line, as in `truecall log --json`. csv is one call a row, safe to open as a spreadsheet.
    otel-json is OTLP in JSON: a session is a trace, a call a span with the names of OpenTelemetry's GenAI
    conventions. Secrets are masked as they are in the ledger; ids are the same in every run.

    FILE is replaced when all is written, and readable by you alone.

    Exit codes: 0 written (an empty ledger too), 2 wrong usage, or FILE cannot be written, 3 the ledger cannot be
    read.
    """
    if batch and form != "otel-json":
        raise UsageError("--batch is for otel-json alone", do="leave it out: the others have a line for each call")
    since_at = moment(since, time.time()) if since else 0.0
    ledger = queries.opened(folder_of(state))
    counted = Counted(every(ledger, since_at, queries.whole(ledger, session)) if ledger else ())
    pieces = (piece.encode() for piece in FORMS[form](counted, batch or 0))
    if output == "-":
        stream = sys.stdout.buffer
        for piece in pieces:
            stream.write(piece)
        return
    write(output, pieces)
    click.echo(f"{count(counted.number, 'call')} written to {output}", err=True)


class Counted:
    """The calls, counted as they go by."""

    def __init__(self, given: Iterable[Call]) -> None:
        self.given, self.number = given, 0

    def __iter__(self) -> Iterator[Call]:
        for each in self.given:
            self.number += 1
            yield each


def every(ledger: Ledger, since: float, session: str) -> Iterator[Call]:
    """The calls, in the order in which they began."""
    for name, call in queries.begun(ledger, since, session):
        yield from calls.of(ledger.of(name, call))


def write(path: str, pieces: Iterable[bytes]) -> None:
    """Writes a file whole or not at all; into what is no file (a pipe, a device) as it comes. Raises UsageError."""
    try:
        path = os.path.realpath(path)  # a link stays one, and what it leads to is replaced
        if os.path.exists(path) and not modes.S_ISREG(os.stat(path).st_mode):
            with open(path, "wb") as file:
                file.writelines(pieces)
        else:
            atomic_write.write_pieces(path, pieces)
    except OSError as error:
        why = f"the file cannot be written: {error.strerror or error}"
        raise UsageError(why, path, "name another with -o") from None
