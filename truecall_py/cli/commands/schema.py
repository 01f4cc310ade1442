"""`truecall schema`: prints the JSON Schema that the loader of contract files validates with."""

from __future__ import annotations

import json
import os

import click

from truecall_py.contract_files import json_schema
from truecall_py.core.atomic_write import write_whole
from truecall_py.core.errors import UsageError


def render_schema() -> str:
    return json.dumps(json_schema.build_schema(), indent=2, ensure_ascii=False) + "\n"


@click.command("schema")
@click.option("--output", "-o", metavar="FILE", help="Write it to FILE instead.")
def schema(output: str | None) -> None:
    """Print the JSON Schema (draft 2020-12) of a contract file.

    An editor uses it to complete and check contract files. Name it in the first line of a contract file:

    \b
        # yaml-language-server: $schema=truecall.schema.json
    """
    if output is None:
        click.echo(render_schema(), nl=False)
        return
    try:
        write_whole(os.path.realpath(output), render_schema().encode(), 0o644)
    except OSError as error:
        why = f"the file cannot be written: {error.strerror}"
        raise UsageError(why, output, "choose another file with -o") from None
