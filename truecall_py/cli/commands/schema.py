"""`truecall schema`: the JSON Schema of a contract file, for editors and other programs. Prints exactly what
the loader validates with, never a copy of it."""

from __future__ import annotations

import contextlib
import json
import os

import click

from truecall_py.contract_files import json_schema
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
    else:
        write(output, render_schema())


def write(path: str, content: str) -> None:
    """Write a file in one step, so that no reader sees half of it. Raises UsageError."""
    path = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}.tmp")
    try:
        with open(temporary, "x", encoding="utf-8") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise UsageError(f"the file cannot be written: {error.strerror}", path,
                         "choose another file with -o") from None
