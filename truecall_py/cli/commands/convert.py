"""`truecall convert`: prints the predecessor's JSON contracts as a contract file. Writes no file."""

from __future__ import annotations

import click

from truecall_py.authoring import convert as ancestor
from truecall_py.cli import payload_files
from truecall_py.core.plural import count
from truecall_py.core.redaction import escape_hidden


@click.command()
@click.argument("file", metavar="FILE")
def convert(file: str) -> int:
    """Prints the contracts of a JSON file in truecall's own format.

    FILE holds a list of {"tool", "post", "timeoutMs"}, or {"contracts": [...]}; - is standard input. The output
    passes truecall lint. Comments and standard error name everything that has no counterpart. A contract that would
    change its meaning is left out and kept as a comment.

    \b
        truecall convert contracts.json > truecall.yaml

    Exit codes: 0 everything was converted, 1 something was left out, 2 wrong usage, or not a file of contracts.
    """
    conversion = ancestor.convert_file(payload_files.read(file, "file of contracts"), file)
    click.echo(conversion.text, nl=False)
    for note in conversion.notes:
        click.echo(f"{'left out' if note.lost else 'note'}: {escape_hidden(f'{note.where}: {note.words}')}", err=True)
    then = "; review them, then run: truecall lint, truecall trust" if conversion.count else ""
    click.echo(f"{count(conversion.count, 'contract')} converted{then}", err=True)
    return 1 if any(note.lost for note in conversion.notes) else 0
