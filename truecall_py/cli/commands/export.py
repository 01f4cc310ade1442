"""`truecall export`: the calls of the ledger in formats of other tools. Reads the ledger and writes its output,
nothing else; holds one call in memory at a time."""

from __future__ import annotations

import os
import stat as modes
import sys
from collections.abc import Iterable, Iterator

import click

from truecall_py.cli import options
from truecall_py.core import atomic_write
from truecall_py.core.errors import UsageError
from truecall_py.core.plural import count
from truecall_py.ledger.store import Ledger
from truecall_py.reporting import calls, queries
from truecall_py.reporting.calls import Call
from truecall_py.reporting.export import FORMS


@click.command()
@click.option("--format", "form", type=click.Choice(list(FORMS)), default="jsonl", show_default=True)
@options.SINCE
@options.SESSION
@click.option("--batch", metavar="N", type=click.IntRange(1),
              help="otel-json: one line with one document for every N spans.")  # fmt: skip
@click.option("-o", "--output", metavar="FILE", default="-", help="The file to write; default: standard output.")
@options.STATE
def export(form: str, since: float, session: str, batch: int | None, output: str, state: str) -> None:
    """Exports the calls of the ledger, oldest first, for other tools.

    jsonl: one call per line, as in `truecall log --json`. csv: one call per row, safe to open in a spreadsheet.
    otel-json: OTLP in JSON, one trace per session and one span per call, named by OpenTelemetry's GenAI
    conventions. Secrets are masked as in the ledger. Ids are the same in every run.

    FILE is replaced once everything is written. Only you can read it.

    Exit codes: 0 written (even if empty), 2 wrong usage, or FILE cannot be written, 3 the ledger cannot be read.
    """
    if batch and form != "otel-json":
        do = "leave it out; the other formats write one call per line"
        raise UsageError("--batch works only with --format otel-json", do=do)
    ledger = queries.open_ledger(state)
    counted = Counted(iterate_calls(ledger, since, queries.find_session_id(ledger, session)) if ledger else ())
    pieces = (piece.encode() for piece in FORMS[form](counted, batch or 0))
    if output == "-":
        sys.stdout.buffer.writelines(pieces)
        return
    write(output, pieces)
    click.echo(f"{count(counted.number, 'call')} written to {output}", err=True)


class Counted:
    """Iterates over calls and counts them."""

    def __init__(self, given: Iterable[Call]) -> None:
        self.given, self.number = given, 0

    def __iter__(self) -> Iterator[Call]:
        for call in self.given:
            self.number += 1
            yield call


def iterate_calls(ledger: Ledger, since: float, session: str) -> Iterator[Call]:
    """The calls, in the order in which they began; `since` in seconds since the epoch."""
    for name, call in queries.list_begun(ledger, since, session):
        yield from calls.group_calls(ledger.of(name, call))


def write(path: str, pieces: Iterable[bytes]) -> None:
    """Writes a regular file whole or not at all, a pipe or device piece by piece. Raises UsageError."""
    try:
        path = os.path.realpath(path)  # a link stays; its target is replaced
        if os.path.exists(path) and not modes.S_ISREG(os.stat(path).st_mode):
            with open(path, "wb") as file:
                file.writelines(pieces)
        else:
            atomic_write.write_pieces(path, pieces)
    except OSError as error:
        why = f"cannot write the file: {error.strerror or error}"
        raise UsageError(why, path, "name another file with -o") from None
