"""`truecall convert`: the ancestor's JSON contracts as a contract file. Prints; writes no file."""

from __future__ import annotations

import click

from truecall_py.authoring import convert as ancestor
from truecall_py.cli import payload_files
from truecall_py.core.redaction import harmless


@click.command()
@click.argument("file", metavar="FILE")
def convert(file: str) -> int:
    """Prints the contracts of a JSON file in truecall's own format.

    FILE holds a list of {"tool", "post", "timeoutMs"}, or {"contracts": [...]}; - is standard input. What is
    printed passes truecall lint. What has no counterpart is said in comments and on standard error; a contract
    that could not mean the same is left out, as a comment.

    \b
        truecall convert contracts.json > truecall.yaml

    Exit codes: 0 everything was converted, 1 something was left out, 2 wrong usage, or a file of another kind.
    """
    found = ancestor.converted(payload_files.read(file, "file of contracts"), file)
    click.echo(found.text, nl=False)
    for note in found.notes:
        click.echo(f"{'left out' if note.lost else 'note'}: {harmless(f'{note.where}: {note.words}')}", err=True)
    words = f"{found.count} contract{'' if found.count == 1 else 's'} converted"
    then = "; look at them, then: truecall lint, truecall trust" if found.count else ""
    click.echo(f"{words}{then}", err=True)
    return 1 if any(note.lost for note in found.notes) else 0
