"""`truecall install`: registers the hook in a client's own settings, and says what the person must still do."""

from __future__ import annotations

import os
from collections.abc import Callable

import click

from truecall_py.clients import NAMES, load_registration
from truecall_py.clients.settings_files import PROJECT, USER
from truecall_py.core import paths
from truecall_py.core.errors import UsageError
from truecall_py.setup import backups, file_changes
from truecall_py.setup import plan as installs
from truecall_py.setup.plan import Job, Plan

HARNESSES = sorted(NAMES)

def name_clients(command: Callable[..., object]) -> Callable[..., object]:
    """The same function, with the names of all clients in its help in the place of CLIENTS."""
    names = f"{', '.join(HARNESSES[:-1])} or {HARNESSES[-1]}"
    command.__doc__ = (command.__doc__ or "").replace("CLIENTS", names)
    return command


def parse_job(harness: str, user: bool, project: bool, state: str | None) -> Job:
    """What the options say. Raises UsageError."""
    if user and project:
        raise UsageError("--user and --project are two places", do="say one of them")
    folder = os.path.abspath(state) if state else paths.find_state_folder()
    return Job(load_registration(harness), PROJECT if project else USER, os.getcwd(), folder)


def carry_out(what: Job, plan_of: Callable[[Job], Plan], dry: bool) -> tuple[Plan, list[str]]:
    """Works out the changes and makes them, or shows them; the plan, and where the backups are."""
    if dry:
        plan = plan_of(what)
        for change in plan.changes:
            click.echo(file_changes.render_difference(change), nl=False)
        return plan, []
    with backups.locked(what.state):
        plan = plan_of(what)
        saved = file_changes.make(list(plan.changes), what.state)
        for name in plan.forget:
            backups.drop(what.state, name)
        return plan, saved


@click.command()
@click.argument("harness", metavar="HARNESS", type=click.Choice(HARNESSES))
@click.option("--user", is_flag=True, help="For all of your projects, in your own settings (the default).")
@click.option("--project", is_flag=True, help="For sessions started in the current folder only.")
@click.option("--dry-run", is_flag=True, help="Show what would change as a diff, and change nothing.")
@click.option("--state", metavar="DIR", help="The folder of the trust store; the registered command names it.")
@name_clients
def install(harness: str, user: bool, project: bool, dry_run: bool, state: str | None) -> None:
    """Registers truecall's hook with a client.

    HARNESS is CLIENTS. Everything in
    the settings stays, byte for byte. If the client could not read the file, or truecall cannot merge into it,
    nothing changes, and the text to paste is printed. truecall keeps a backup. `truecall uninstall` undoes the
    registration.

    --project writes absolute paths of this machine into the current folder: for claude-code that is
    .claude/settings.local.json, which is yours alone; keep the files of the others out of the repository.
    """
    what = parse_job(harness, user, project, state)
    plan, saved = carry_out(what, installs.install, dry_run)
    events = ", ".join(what.about.events)
    if dry_run:
        click.echo(f"{harness}: nothing was changed (dry run)" if plan.changes else f"{harness}: nothing to change")
    elif plan.changes:
        click.echo(f"{harness}: registered for {events} in {what.path}")
    else:
        click.echo(f"{harness}: nothing to change; it is registered for {events} in {what.path}")
    for path in saved:
        click.echo(f"backup: {path}")
    for note in plan.notes:
        click.echo(f"note: {note}")
