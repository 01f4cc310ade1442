"""`truecall hook`, for --help: the work is done by truecall_py.hook.main, which the entry point calls directly."""

from __future__ import annotations

import click

from truecall_py.clients import NAMES


@click.command()
@click.option("--harness", type=click.Choice(NAMES), help="Who sends the event; recognised by its keys if left out.")
@click.option("--contracts", metavar="PATH", help="Judge by this trusted contract file instead of the project's.")
@click.option("--state", metavar="DIR", help="The folder of the trust store.")
@click.option("--deadline", metavar="SECONDS", default="20", show_default=True,
              help="For everything: reading the event, all checks, their clean-up.")  # fmt: skip
def hook(**_: object) -> None:
    """Answers one hook event: JSON on standard input, the harness's own dialect on standard output.

    A call that kept its contracts is answered with nothing, exit code 0. Everything else, truecall's own
    trouble included, is answered with words that reach the agent; the exit code is then 0 as well, since
    no harness reads a verdict from it.
    """
    raise click.UsageError("the hook is answered by the entry point")
