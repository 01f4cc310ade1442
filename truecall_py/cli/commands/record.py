"""`truecall record`: drafts a contract from a captured call and what it left behind. Writes a contract file only with
--add, and removes nothing from it."""

from __future__ import annotations

import os
import time

import click

from truecall_py import api
from truecall_py.authoring import append_contract
from truecall_py.authoring.changed_files import Window
from truecall_py.authoring.record import Recorder
from truecall_py.cli import options, payload_files
from truecall_py.core.errors import UsageError
from truecall_py.core.redaction import escape_hidden
from truecall_py.core.types import ToolCall

LONGEST = 3600.0  # seconds; older changes are not attributed to the call


@click.command()
@click.argument("payload")
@click.option("--before", metavar="DIR", help="A copy of the session's folder from before the call.")
@click.option(
    "--since", metavar="DURATION", help="Look at files changed in the last 30s, 10m, ...; default: during the call."
)
@click.option("--add", "target", metavar="FILE", help="Append the contract to this file, or create it.")
@click.option(
    "--id", "name", metavar="NAME", default="", help="The contract's id; default: made from the tool's name."
)
@options.CLIENT
def record(
    payload: str, before: str | None, since: str | None, target: str | None, name: str, harness: str | None
) -> int:
    """Drafts a contract from a captured call, for you to edit.

    PAYLOAD is the hook payload of a call that worked (a file, or - for standard input). Run this right after the
    call: it inspects the files that the call names, and those that changed in the session's folder, as they are
    now. Values of the call become templates. The contract passes truecall lint, and verifies this call.

    Exit codes: 0 printed or added, 2 wrong usage, or nothing to derive a contract from, 3 not a payload.
    """
    data = payload_files.read(payload)
    call = payload_files.call(payload, harness) if payload != "-" else api.call_of(data, harness)
    old = append_contract.read_existing(target) if target else None
    project = os.path.dirname(os.path.abspath(target)) if target else find_project(call)
    recorder = Recorder(
        data, harness, project, find_window(payload, call, since, before), append_contract.list_ids(old)
    )
    recording = recorder.recording(name)
    for words in recording.left_out:
        click.echo(f"left out: {escape_hidden(words)}", err=True)
    if target is None:
        click.echo(append_contract.render_file(recording.lines), nl=False)
        return 0
    new = (
        append_contract.render_file(recording.lines).encode()
        if old is None
        else append_contract.append_contract(old, recording.lines, target)
    )
    append_contract.write_file(target, old, new)
    click.echo(f"{recording.id}: added to {target}; review it, then run: truecall lint, truecall trust")
    return 0


def find_project(call: ToolCall | None) -> str:
    """The folder of the contract file that applies to this call."""
    start = call.cwd if call and call.cwd and os.path.isdir(call.cwd) else os.getcwd()
    return next((os.path.dirname(path) for path in payload_files.iterate_upward(start)), start)


def find_window(payload: str, call: ToolCall | None, since: str | None, before: str | None) -> Window:
    """The period in which the call ran: its duration, up to the time of its payload file. Raises UsageError."""
    now = time.time()
    if before is not None:
        if since is not None:
            raise UsageError("--before and --since exclude each other", do="give one of them")
        return Window(now, now, os.path.abspath(before))
    if since is not None:
        return Window(now - parse_seconds(since), now)
    try:
        ended = os.stat(payload).st_mtime if payload != "-" else now
    except OSError:
        ended = now
    took = call.duration if call is not None and call.duration is not None else 0.0
    return Window(ended - min(took, LONGEST), ended)


def parse_seconds(given: str) -> float:
    from truecall_py.contract_files.fields import parse_duration

    try:
        seconds = parse_duration(given)
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        raise UsageError(f"{given!r} is not a duration", do="write it like 30s or 10m")
    return seconds
