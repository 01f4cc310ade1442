"""`truecall explain`: how truecall reads a payload, which contracts apply to it, and why the others do not."""

from __future__ import annotations

import json
import time

import click

from truecall_py.cli import options, payload_files
from truecall_py.contracts.facts import Facts
from truecall_py.contracts.model import Contract, is_guard, is_guard_only
from truecall_py.core.errors import Unverified
from truecall_py.core.redaction import quote
from truecall_py.core.types import ABSENT, DEADLINE, ToolCall
from truecall_py.judging.engine import find_applications
from truecall_py.world.world import World

SHOWN = (
    "tool", "kind", "args", "files", "result", "text", "is_error", "reported", "exit_code", "cwd", "start_cwd",
    "duration", "session",
)  # fmt: skip

NO_CALL = (
    "This event is not a finished tool call, so no contract is judged by it alone. Before a call and at a stop, the "
    "hook also uses what the session did before: see truecall log."
)


@click.command()
@click.argument("payload")
@options.CONTRACTS
@options.CLIENT
def explain(payload: str, contracts: str | None, harness: str | None) -> None:
    """Show how truecall reads PAYLOAD, and which contracts apply to it.

    PAYLOAD is a file, or - for standard input. For a contract that does not apply, the output says why.

    Exit codes: 0 shown, 2 wrong usage, 3 an unreadable payload.
    """
    call = payload_files.call(payload, harness)
    if call is None:
        click.echo(NO_CALL)
        return
    click.echo(f"{call.harness} {call.event}")
    world = World(call.start_cwd)
    for name in SHOWN:
        click.echo(f"  {name:<10} {describe_fact(name, call, world)}")
    for source in payload_files.find_sources(contracts):
        click.echo(f"\n{source.path}")
        matching = {contract.id for contract in source.find_contracts(call)}
        for contract in source.load_contracts():
            click.echo(f"  {contract.id}: {explain_contract(contract, call, contract.id in matching)}")


def describe_fact(name: str, call: ToolCall, world: World) -> str:
    """Return the value of a name of the call, bounded and without secrets."""
    value = Facts(call, world).get(name)
    if value is ABSENT:
        return "absent"
    return quote(value if isinstance(value, str) else json.dumps(value, ensure_ascii=True), 300)


def explain_contract(contract: Contract, call: ToolCall, named: bool) -> str:
    """Say why a contract applies to a call, or why it does not; `named`: its `tool` or `kind` is that of the call."""
    plain = contract.plain
    if plain.get("event") == "stop":
        return "is judged when the agent wants to stop"
    if not named:
        about = ", ".join([*plain.get("tool", ()), *(f"kind {kind}" for kind in plain.get("kind", ()))])
        return f"does not apply: it is about {about}"
    world = World(call.start_cwd, contract.project, time.monotonic() + DEADLINE)
    before = call.event == "PreToolUse"
    if before and not is_guard(plain):
        return "does not run before a call"
    if not before and is_guard_only(plain):
        return "runs only before a call"
    try:
        applying = find_applications(contract, call, world, before, before)
    except Unverified as trouble:
        return f"unverified, because {trouble.why}"
    if isinstance(applying, str):
        return f"does not apply: {quote(applying, 400)}"
    subjects = [
        application.file.path if application.file else ", ".join((application.match or {}).values())
        for application in applying
    ]
    shown = quote(", ".join(filter(None, subjects)), 400)
    if before:
        return f"guards it: {shown}" if shown else "guards it"
    return f"applies to {shown}" if shown else "applies"
