"""`truecall explain`: how a payload was understood, which contracts apply to it and why the others do not."""

from __future__ import annotations

import json
import time

import click

from truecall_py.cli import payload_files
from truecall_py.clients import NAMES
from truecall_py.contracts.facts import Facts
from truecall_py.contracts.model import Contract, guards, guards_only
from truecall_py.core.errors import Unverified
from truecall_py.core.redaction import quoted
from truecall_py.core.types import ABSENT, DEADLINE, ToolCall
from truecall_py.judging.engine import find_applications
from truecall_py.world.world import World

SHOWN = (
    "tool", "kind", "args", "files", "result", "text", "is_error", "reported", "exit_code", "cwd", "start_cwd",
    "duration", "session",
)  # fmt: skip

NO_CALL = (
    "This event is known and is no finished tool call: no contract is judged by it alone. What the hook does before "
    "a call and at a stop depends on what the session did: truecall log shows it."
)


@click.command()
@click.argument("payload")
@click.option("--contracts", metavar="PATH", help="A contract file; default: every truecall.yaml from here upward.")
@click.option("--harness", type=click.Choice(NAMES), help="Who sent the payload; recognised if left out.")
def explain(payload: str, contracts: str | None, harness: str | None) -> None:
    """Shows how PAYLOAD (a file, or - for standard input) was understood, and what applies to it."""
    call = payload_files.call(payload, harness)
    if call is None:
        click.echo(NO_CALL)
        return
    click.echo(f"{call.harness} {call.event}")
    world = World(call.start_cwd)
    for name in SHOWN:
        click.echo(f"  {name:<10} {fact(name, call, world)}")
    for source in payload_files.sources(contracts):
        click.echo(f"\n{source.path}")
        named = {found.id for found in source.named(call)}
        for found in source.contracts():
            click.echo(f"  {found.id}: {why(found, call, found.id in named)}")


def fact(name: str, call: ToolCall, world: World) -> str:
    value = Facts(call, world).get(name)
    if value is ABSENT:
        return "absent"
    return quoted(value if isinstance(value, str) else json.dumps(value, ensure_ascii=True), 300)


def why(found: Contract, call: ToolCall, named: bool) -> str:
    """Why a contract applies to a call, or why it does not."""
    plain = found.plain
    if plain.get("event") == "stop":
        return "is judged when the agent wants to stop"
    if not named:
        about = ", ".join([*plain.get("tool", ()), *(f"kind {kind}" for kind in plain.get("kind", ()))])
        return f"does not apply: it is about {about}"
    world = World(call.start_cwd, found.project, time.monotonic() + DEADLINE)
    before = call.event == "PreToolUse"
    if before and not guards(plain):
        return "is not asked before a call"
    if not before and guards_only(plain):
        return "is asked before a call only"
    try:
        applying = find_applications(found, call, world, before, before)
    except Unverified as trouble:
        return f"could not be told, because {trouble.why}"
    if isinstance(applying, str):
        return f"does not apply: {quoted(applying, 400)}"
    subjects = [each.file.path if each.file else ", ".join((each.match or {}).values()) for each in applying]
    named_subjects = [subject for subject in subjects if subject]
    of = f" to {quoted(', '.join(named_subjects), 400)}" if named_subjects else ""
    return f"guards it{of.replace(' to ', ': ', 1)}" if before else f"applies{of}"
