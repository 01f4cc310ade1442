"""`truecall install` and `truecall uninstall`: the hook in a client's own settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import click

from truecall_py.cli import options
from truecall_py.clients import NAMES, load_registration
from truecall_py.clients.settings_files import PROJECT, USER
from truecall_py.core.errors import UsageError
from truecall_py.setup import backups, file_changes
from truecall_py.setup import plan as installs
from truecall_py.setup.plan import Job, Plan

HARNESSES = sorted(NAMES)


def name_clients(command: Callable[..., object]) -> Callable[..., object]:
    """Replaces CLIENTS in the docstring of a command with the names of all clients."""
    names = f"{', '.join(HARNESSES[:-1])} or {HARNESSES[-1]}"
    command.__doc__ = (command.__doc__ or "").replace("CLIENTS", names)
    return command


def parse_job(harness: str, user: bool, project: bool, state: str) -> Job:
    """The job that the options describe. Raises UsageError."""
    if user and project:
        raise UsageError("--user and --project are two places", do="give one of them")
    return Job(load_registration(harness), PROJECT if project else USER, os.getcwd(), state)


def carry_out(what: Job, plan_of: Callable[[Job], Plan], dry: bool) -> tuple[Plan, list[str]]:
    """Plans the changes and makes them, or only shows them; returns the plan and the paths of the backups."""
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


DRY_RUN = click.option("--dry-run", is_flag=True, help="Show what would change as a diff, and change nothing.")
CLIENT = click.argument("harness", metavar="HARNESS", type=click.Choice(HARNESSES))


@click.command()
@CLIENT
@click.option("--user", is_flag=True, help="For all of your projects, in your own settings (the default).")
@click.option("--project", is_flag=True, help="For sessions started in the current folder only.")
@DRY_RUN
@options.REGISTERED_STATE
@name_clients
def install(harness: str, user: bool, project: bool, dry_run: bool, state: str) -> None:
    """Registers truecall's hook with a client.

    HARNESS is CLIENTS. Everything in
    the settings stays, byte for byte. If the client could not read the file, or truecall cannot merge into it,
    nothing changes, and the text to paste is printed. truecall keeps a backup. `truecall uninstall` undoes the
    registration.

    --project writes absolute paths of this machine into the current folder. For claude-code that is
    .claude/settings.local.json, which is yours alone. Keep the files of the other clients out of the repository.
    """
    target = parse_job(harness, user, project, state)
    plan, saved = carry_out(target, installs.install, dry_run)
    events = ", ".join(target.about.events)
    print_result(target, plan, dry_run, f"registered for {events} in {target.path}",
                 f"nothing to change; it is registered for {events} in {target.path}", saved)  # fmt: skip


@click.command()
@CLIENT
@click.option("--user", is_flag=True, help="From your own settings (the default).")
@click.option("--project", is_flag=True, help="From the current folder.")
@DRY_RUN
@click.option("--state", metavar="DIR", callback=options.resolve_state, help="The state folder that `install` used.")
@name_clients
def uninstall(harness: str, user: bool, project: bool, dry_run: bool, state: str) -> None:
    """Removes truecall's hook from a client's settings.

    HARNESS is CLIENTS. If nobody
    changed the settings since, they are restored byte for byte. Otherwise only truecall's own entries are removed,
    whichever version wrote them.
    """
    target = parse_job(harness, user, project, state)
    plan, _ = carry_out(target, installs.uninstall, dry_run)
    print_result(target, plan, dry_run, f"removed from {target.path}", f"nothing of truecall is in {target.path}")


def print_result(target: Job, plan: Plan, dry_run: bool, done: str, idle: str, saved: Sequence[str] = ()) -> None:
    """Prints what happened: `done` if something was changed, `idle` if not; the backups and the notes of the plan."""
    if dry_run:
        done, idle = "nothing was changed (dry run)", "nothing to change"
    click.echo(f"{target.harness}: {done if plan.changes else idle}")
    for path in saved:
        click.echo(f"backup: {path}")
    for note in plan.notes:
        click.echo(f"note: {note}")
