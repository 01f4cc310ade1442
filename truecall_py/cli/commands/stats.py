"""`truecall stats`: the figures of the ledger's calls. Shows; counts nothing itself."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from truecall_py.cli import options
from truecall_py.cli.commands.log import EMPTY, read_session
from truecall_py.cli.output.tables import print_table
from truecall_py.core.plural import count
from truecall_py.core.timestamps import format_local_time
from truecall_py.operations import view
from truecall_py.reporting import calls, queries
from truecall_py.reporting.statistics import Figures


@click.command()
@options.SINCE
@click.option("--json", "as_json", is_flag=True, help="Everything, as JSON.")
@options.STATE
def stats(since: float, as_json: bool, state: str) -> None:
    """Counts false successes, and what agents did after a correction.

    A claim is a judged call that reported success. It is false if a contract refuted it. Calls of running sessions
    count with their current state.

    Exit codes: 0 shown (even if empty), 2 wrong usage, 3 the ledger cannot be read.
    """
    ledger = queries.open_ledger(state)
    if ledger is None and not as_json:
        click.echo(EMPTY.format(state=state))
        return
    figures, begun, off = Figures(), [], 0
    if ledger:
        for name in queries.list_sessions(ledger, since):
            figures.session([call for call in read_session(ledger, name) if call.at >= since])
        begun = view.read_operations(ledger, since)
        off = sum(switch.data.get("on") is False for switch in queries.list_switches(ledger, since))
    plain = {**figures.plain(), "operations": view.count_states(begun, time.time()), "switched_off": off}
    if as_json:
        click.echo(json.dumps({"since": since or None, **plain}, indent=2))
    else:
        print_statistics(plain, since)


def print_statistics(plain: dict[str, Any], since: float) -> None:
    claims = plain["claims"]
    click.echo(f"{count(plain['sessions'], 'session')}, {count(plain['calls'], 'call')}, {plain['judged']} judged"
               + (f", since {format_local_time(since)}" if since else ""))  # fmt: skip
    if claims["judged"]:
        share = f"{100 * claims['rate']:.1f}%"
        click.echo(f"{count(claims['judged'], 'claim')} of success: {claims['false']} false ({share}), "
                   f"{claims['not_told']} unverified")  # fmt: skip
    else:
        click.echo("no call that reported success was judged yet")
    if plain["observe"]["would_have_blocked"]:
        click.echo(f"observe mode: would have blocked {count(plain['observe']['would_have_blocked'], 'call')}")
    if plain["refused"]:
        click.echo(f"refused before running: {count(plain['refused'], 'call')}")
    print_operations(plain["operations"])
    if plain["switched_off"]:
        click.echo(f"turned off by a person: {count(plain['switched_off'], 'time')} (truecall log shows when)")
    after = plain["after"]
    if total := sum(after.values()):
        words = ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in after.items())
        click.echo(f"after {count(total, 'correction')}: {words}")
    print_table("tool", plain["tools"], "calls", "refuted", "unverified", "lies")
    print_table("contract", plain["contracts"], "verdicts", "refuted", "unverified", "lies", "would_block")
    print_table("class", plain["retries"], "corrections", calls.SAME, calls.OTHER, "landed", "refuted again", "open")


def print_operations(told: dict[str, int]) -> None:
    """Prints the operations by state, if there are any."""
    if told["count"]:
        states = ("done", "refuted", "duplicate", "pending", "unknown")
        words = [f"{told[name]} {'done twice' if name == 'duplicate' else name}" for name in states if told[name]]
        late = f"; {told['overdue']} of these overdue (truecall reconcile)" if told["overdue"] else ""
        click.echo(f"{count(told['count'], 'operation')}: {', '.join(words)}{late}")
