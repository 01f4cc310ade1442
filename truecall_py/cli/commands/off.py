"""`truecall off` and `truecall on`: a person turns truecall off for a while. Writes one small file and one event.
Refuses to run in an agent's shell; every pause has an end."""

from __future__ import annotations

import contextlib
import json
import os
import time

import click

from truecall_py.cli import options
from truecall_py.core.atomic_write import write_whole
from truecall_py.core.errors import UsageError
from truecall_py.core.timestamps import format_duration, format_local_time, parse_duration
from truecall_py.hook import pause
from truecall_py.ledger.store import SWITCH, Event, Ledger, LedgerError
from truecall_py.trust import store

WRITABLE = "make its folder writable for you"


@click.command()
@click.option("--for", "duration", metavar="DURATION", required=True, help="How long: 30m, 2h; 24h at most.")
@options.PERSON
@options.STATE
def off(duration: str, person: bool, state: str) -> None:
    """Turns truecall off for a while, in every project and every client.

    Until then truecall neither judges nor refuses calls. It turns itself on again.

    Exit codes: 0 truecall is off, 2 wrong usage or an agent's shell, 3 the state folder cannot be written.
    """
    options.refuse_agents(person, "turn truecall off")
    seconds = parse_duration(duration)
    if seconds > pause.MAX_SECONDS:
        raise UsageError(f"{duration[:80]!r} is longer than 24 hours", do="give 24h at most; you can extend it later")
    now = time.time()
    write_switch(state, json.dumps({"until": now + seconds, "since": now}).encode())
    record_switch(state, Event("", f"off-{now:.3f}", SWITCH, now, data={"on": False, "until": now + seconds}))
    ends = format_local_time(now + seconds)
    click.echo(f"truecall is off for {format_duration(seconds)}, until {ends}; to undo: truecall on")


@click.command()
@options.PERSON
@options.STATE
def on(person: bool, state: str) -> None:
    """Turns truecall on again.

    Exit codes: 0 truecall is on, 2 wrong usage or an agent's shell, 3 the state folder cannot be written.
    """
    options.refuse_agents(person, "turn truecall on")
    now = time.time()
    store.check_state_folder(state)
    was = pause.read_end(state, now)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(pause.switch_path(state))
    except OSError as error:
        raise LedgerError(f"cannot turn truecall on: {error.strerror}", pause.switch_path(state), WRITABLE) from None
    if was is None:
        click.echo("truecall was on already")
        return
    record_switch(state, Event("", f"on-{now:.3f}", SWITCH, now, data={"on": True}))
    click.echo(f"truecall is on again, {format_duration(was - now)} early")


def write_switch(folder: str, data: bytes) -> None:
    """Writes the switch file, and checks that the hook accepts it. Raises LedgerError."""
    store.check_state_folder(folder)
    file = pause.switch_path(folder)
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        write_whole(file, data)
    except OSError as error:
        raise LedgerError(f"cannot turn truecall off: {error.strerror}", file, WRITABLE) from None
    if pause.read_end(folder, time.time()) is None:
        raise LedgerError("the hook ignores the switch file", file, "check who owns it")


def record_switch(folder: str, event: Event) -> None:
    """Records the event; a broken ledger is only reported."""
    try:
        ledger = Ledger(folder)
        ledger.add(event)
        ledger.close()
    except LedgerError as error:
        click.echo(f"the ledger did not record this: {error}", err=True)
