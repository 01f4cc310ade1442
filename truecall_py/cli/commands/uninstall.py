"""`truecall uninstall`: takes out of a client's settings what `install` put in, and nothing else."""

from __future__ import annotations

import click

from truecall_py.cli.commands.install import HARNESSES, carry_out, name_clients, parse_job
from truecall_py.setup import plan as installs


@click.command()
@click.argument("harness", metavar="HARNESS", type=click.Choice(HARNESSES))
@click.option("--user", is_flag=True, help="From your own settings (the default).")
@click.option("--project", is_flag=True, help="From the current folder.")
@click.option("--dry-run", is_flag=True, help="Show what would change as a diff, and change nothing.")
@click.option("--state", metavar="DIR", help="The folder that `install` kept its records in.")
@name_clients
def uninstall(harness: str, user: bool, project: bool, dry_run: bool, state: str | None) -> None:
    """Takes truecall's hook out of a client's settings.

    HARNESS is CLIENTS. Settings that nobody
    changed since are as they were before, to the byte; from others only what is truecall's is taken out,
    whichever version wrote it.
    """
    what = parse_job(harness, user, project, state)
    plan, _ = carry_out(what, installs.uninstall, dry_run)
    if dry_run:
        click.echo(f"{harness}: nothing was changed (dry run)" if plan.changes else f"{harness}: nothing to change")
    elif plan.changes:
        click.echo(f"{harness}: taken out of {what.path}")
    else:
        click.echo(f"{harness}: nothing of truecall is in {what.path}")
    for note in plan.notes:
        click.echo(f"note: {note}")
