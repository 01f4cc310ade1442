"""`truecall off` and `truecall on`: a person switches truecall off for a while. Writes one small file and one event;
an agent's own shell is refused, and nothing is off without an end."""

from __future__ import annotations

import contextlib
import json
import os
import time

import click

from truecall_py.cli.commands.log import folder_of
from truecall_py.cli.commands.trust import a_person
from truecall_py.core.atomic_write import write_whole
from truecall_py.core.errors import UsageError
from truecall_py.core.timestamps import length, local, spoken
from truecall_py.hook import pause
from truecall_py.ledger.store import SWITCH, Event, Ledger, LedgerError
from truecall_py.trust import store

PERSON = click.option("--person", is_flag=True, help="A person is there, although an agent's environment is set.")
STATE = click.option("--state", metavar="DIR", help="The state folder.")
WRITABLE = "see that its folder is yours to write in"


@click.command()
@click.option("--for", "duration", metavar="DURATION", required=True, help="How long: 30m, 2h; at most 24h.")
@PERSON
@STATE
def off(duration: str, person: bool, state: str | None) -> None:
    """Switches truecall off for a while, in every project and every client.

    Calls that are made meanwhile are neither judged nor held up. It ends by itself.

    Exit codes: 0 it is off, 2 wrong usage or an agent's shell, 3 it could not be written.
    """
    a_person(person, "switch truecall off")
    seconds = length(duration)
    if seconds > pause.LONGEST:
        raise UsageError("that is longer than 24 hours", do="give at most 24h; it can be said again then")
    folder, now = folder_of(state), time.time()
    written(folder, json.dumps({"until": now + seconds, "since": now}).encode())
    noted(folder, Event("", f"off-{now:.3f}", SWITCH, now, data={"on": False, "until": now + seconds}))
    click.echo(f"truecall is off for {spoken(seconds)}, until {local(now + seconds)}; to undo: truecall on")


@click.command()
@PERSON
@STATE
def on(person: bool, state: str | None) -> None:
    """Switches truecall on again.

    Exit codes: 0 it is on, 2 wrong usage or an agent's shell, 3 it could not be switched.
    """
    a_person(person, "switch truecall on")
    folder, now = folder_of(state), time.time()
    store.check(folder)
    was = pause.until(folder, now)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(pause.path(folder))
    except OSError as error:
        raise LedgerError(f"it cannot be switched on: {error.strerror}", pause.path(folder), WRITABLE) from None
    if was is None:
        click.echo("truecall is on, and was")
        return
    noted(folder, Event("", f"on-{now:.3f}", SWITCH, now, data={"on": True}))
    click.echo(f"truecall is on again, {spoken(was - now)} early")


def written(folder: str, data: bytes) -> None:
    """Writes the switch, and sees that the hook will take it for one."""
    store.check(folder)
    file = pause.path(folder)
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        write_whole(file, data)
    except OSError as error:
        raise LedgerError(f"it cannot be switched off: {error.strerror}", file, WRITABLE) from None
    if pause.until(folder, time.time()) is None:
        raise LedgerError("it was written, but the hook does not take it for a switch", file, "look at who owns it")


def noted(folder: str, event: Event) -> None:
    """Writes the event; a ledger that is out of order keeps nobody from switching."""
    try:
        ledger = Ledger(folder)
        ledger.add(event)
        ledger.close()
    except LedgerError as error:
        click.echo(f"it is not in the ledger: {error}", err=True)
