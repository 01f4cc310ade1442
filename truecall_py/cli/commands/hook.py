"""`truecall hook`, for --help only: the entry point calls truecall_py.hook.main directly."""

from __future__ import annotations

import click

from truecall_py.cli import options


@click.command()
@options.CLIENT
@click.option("--contracts", metavar="PATH", help="Use this trusted contract file instead of the project's.")
@options.STATE
@click.option("--deadline", metavar="SECONDS", default="20", show_default=True,
              help="Time for everything: reading the event, all checks, clean-up.")  # fmt: skip
def hook(**_: object) -> None:
    """Answers one hook event: JSON on standard input, the client's own format on standard output.

    A verified call gets no answer. Everything else, including truecall's own errors, gets a text that reaches the
    agent. The exit code is 0 in both cases, since no client reads a verdict from it.
    """
    raise click.UsageError("the entry point answers the hook")
