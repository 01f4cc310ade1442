"""`truecall last`: the newest correction, and whether it still holds. --again judges with the engine, and only where
the ledger holds the whole call."""

from __future__ import annotations

import time

import click

from truecall_py.cli import options
from truecall_py.cli.commands.log import EMPTY, read_session, select_calls
from truecall_py.core.errors import Unverified
from truecall_py.core.timestamps import format_age
from truecall_py.core.types import REFUTED, UNVERIFIED, VERIFIED, Verdict
from truecall_py.ledger.store import REFUSED
from truecall_py.reporting import calls, queries, rejudge, text
from truecall_py.reporting.calls import Call

ENDS = {VERIFIED: 0, REFUTED: 1, UNVERIFIED: 3}


@click.command()
@options.SESSION
@click.option("--again", is_flag=True, help="Judge the call again now, if the ledger holds enough of it.")
@options.STATE
def last(session: str, again: bool, state: str) -> int:
    """Shows the newest call that was refuted, refused or unverified, or the newest stop that held the agent.

    Shows its contract and the contract's place, the evidence, and the order to the agent. The ledger keeps no tool
    output, secrets or long arguments; --again says so if it needs them.

    Exit codes: 0 shown, or nothing to show; with --again 0 verified, 1 refuted, 3 unverified; 2 wrong usage; 3 the
    ledger cannot be read.
    """
    ledger = queries.open_ledger(state)
    if ledger is None:
        click.echo(EMPTY.format(state=state))
        return 0
    session = queries.find_session_id(ledger, session)
    call = next((candidate for candidate in select_calls(ledger, session) if was_stopped(candidate)), None)
    held = queries.find_held_stop(ledger, call.events[-1].id if call else 0, session)
    if held is not None:
        stop = next(other for other in queries.list_stops(ledger, held.session) if other.event.call == held.call)
        click.echo(f"{format_age(held.at, time.time())}:")
        text.stop(stop)
        if call is None or call.call not in [row[0] for row in stop.opened]:
            if again:
                click.echo("again: the conditions of a stop are judged again at the agent's next stop")
            return 3 if again else 0
    if call is None:
        click.echo("no call was refuted, refused or unverified")
        return 0
    session_calls = read_session(ledger, call.session)
    call = next(other for other in session_calls if other.call == call.call)
    click.echo(f"{format_age(call.at, time.time())}:")
    text.print_full(call, session_calls)
    if not again:
        return 0
    try:
        verdicts = rejudge.rejudge_call(call, ledger.read_key(), state)
    except Unverified as trouble:
        click.echo(f"again: cannot judge it again: {trouble.why}")
        return 3
    for verdict in verdicts:
        print_verdict(verdict)
    return max((ENDS[verdict.state] for verdict in verdicts), key=(0, 3, 1).index)


def was_stopped(call: Call) -> bool:
    """Whether the agent got a correction for the call, or the call was refused or is pending."""
    return call.corrected or call.state in (REFUSED, calls.PENDING)


def print_verdict(verdict: Verdict) -> None:
    click.echo(f"again: {text.render_state(verdict.state)} {verdict.contract}  {verdict.source}")
    for outcome in verdict.outcomes:
        text.print_wrapped("expected", outcome.expected)
        text.print_wrapped("because" if outcome.state == UNVERIFIED else "found", outcome.found)
