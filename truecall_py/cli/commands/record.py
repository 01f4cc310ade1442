"""`truecall record`: a captured call becomes a first contract, by what it left behind. Writes a contract file only
with --add, and takes nothing away from it."""

from __future__ import annotations

import os
import time

import click

from truecall_py import api
from truecall_py.authoring import append_contract
from truecall_py.authoring.changed_files import Window
from truecall_py.authoring.record import Recorder
from truecall_py.cli import payload_files
from truecall_py.clients import NAMES
from truecall_py.contracts.model import FILE_NAME
from truecall_py.core.errors import UsageError
from truecall_py.core.redaction import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.core.types import ToolCall

LONGEST = 3600.0  # seconds before now from which on nothing is taken for this call's doing


@click.command()
@click.argument("payload")
@click.option("--before", metavar="DIR", help="A copy of the session's folder from before the call, to compare with.")
@click.option("--since", metavar="DURATION", help="Files changed in the last 30s, 10m, ...; default: while it ran.")
@click.option("--add", "target", metavar="FILE", help="Add the contract to this contract file, or create it.")
@click.option("--id", "name", metavar="NAME", default="", help="The contract's id; made from the tool if left out.")
@click.option("--harness", type=click.Choice(NAMES), help="Who sent the payload; recognised if left out.")
def record(
    payload: str, before: str | None, since: str | None, target: str | None, name: str, harness: str | None
) -> int:
    """Turns a captured call into a first contract, for you to edit.

    PAYLOAD is a hook payload of a call that went well (a file, or - for standard input). Record it right after
    the call: what it names and what changed in the session's folder is looked at as it is now. The values of the
    call become templates. What is printed passes truecall lint, and verifies this very call.

    Exit codes: 0 printed or added, 2 wrong usage, or nothing could be derived, 3 not a payload.
    """
    data = payload_files.read(payload)
    call = payload_files.call(payload, harness) if payload != "-" else api.call_of(data, harness)
    old = append_contract.existing(target) if target else None
    project = os.path.dirname(os.path.abspath(target)) if target else project_of(call)
    recorder = Recorder(data, harness, project, window(payload, call, since, before), append_contract.ids(old))
    found = recorder.recording(name)
    for words in found.left_out:
        click.echo(f"left out: {harmless(words)}", err=True)
    if target is None:
        click.echo(append_contract.whole(found.lines), nl=False)
        return 0
    new = (
        append_contract.whole(found.lines).encode()
        if old is None
        else append_contract.added(old, found.lines, target)
    )
    append_contract.store(target, old, new)
    click.echo(f"{found.id}: added to {target}; look at it, then: truecall lint, truecall trust")
    return 0


def project_of(call: ToolCall | None) -> str:
    """The folder of the contract file that a contract of this call would stand in."""
    folder = start = (call.cwd if call and call.cwd and os.path.isdir(call.cwd) else None) or os.getcwd()
    while not os.path.exists(os.path.join(folder, FILE_NAME)):
        if folder == os.path.dirname(folder):
            return start
        folder = os.path.dirname(folder)
    return folder


def window(payload: str, call: ToolCall | None, since: str | None, before: str | None) -> Window:
    """When the call ran: as long as it took, until its payload was written. Raises UsageError."""
    now = time.time()
    if before is not None:
        if since is not None:
            raise UsageError("--before and --since say the same in two ways", do="give one of them")
        return Window(now, now, os.path.abspath(before))
    if since is not None:
        return Window(now - seconds(since), now)
    try:
        ended = os.stat(payload).st_mtime if payload != "-" else now
    except OSError:
        ended = now
    took = call.duration if call is not None and call.duration is not None else 0.0
    return Window(ended - min(took, LONGEST), ended)


def seconds(given: str) -> float:
    from truecall_py.contract_files.fields import parse_duration

    try:
        found = parse_duration(given)
    except ValueError:
        found = 0.0
    if found <= 0:
        raise UsageError(f"{given!r} is no duration", do="write it like 30s or 10m")
    return found
