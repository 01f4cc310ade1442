"""`truecall last`: why the agent was stopped last, and whether that still holds. Shows; what is judged again is
judged by the engine, and only where the ledger has the very call."""

from __future__ import annotations

import time

import click

from truecall_py.cli.commands.log import EMPTY, chosen, folder_of, session_of
from truecall_py.core.errors import Unverified
from truecall_py.core.timestamps import ago
from truecall_py.core.types import REFUTED, UNVERIFIED, VERIFIED, Verdict
from truecall_py.ledger.store import REFUSED
from truecall_py.reporting import calls, queries, rejudge, text
from truecall_py.reporting.calls import Call

ENDS = {VERIFIED: 0, REFUTED: 1, UNVERIFIED: 3}


@click.command()
@click.option("--session", metavar="S", default="", help="Only this session, by its id or its beginning.")
@click.option("--again", is_flag=True, help="Judge it again, now, where the ledger has enough of it.")
@click.option("--state", metavar="DIR", help="The state folder.")
def last(session: str, again: bool, state: str | None) -> int:
    """Shows the newest stop at which the agent was held, or call that was refuted, refused, or could not be verified.

    With its contract, where that is written, the evidence, and what the agent was ordered to do. The answer of a
    tool is not kept, and secrets and long arguments are not: --again says so where it needs them.

    Exit codes: 0 shown, or nothing to show; with --again 0 verified now, 1 refuted, 3 could not verify; 2 wrong
    usage; 3 the ledger cannot be read.
    """
    folder = folder_of(state)
    ledger = queries.opened(folder)
    if ledger is None:
        click.echo(EMPTY.format(state=folder))
        return 0
    session = queries.whole(ledger, session)
    found = next((each for each in chosen(ledger, session) if stopped(each)), None)
    held = queries.held(ledger, found.events[-1].id if found else 0, session)
    if held is not None:
        stop = next(each for each in queries.stops(ledger, held.session) if each.event.call == held.call)
        click.echo(f"{ago(held.at, time.time())}:")
        text.stop(stop)
        if found is None or found.call not in [each[0] for each in stop.opened]:
            if again:
                click.echo("again: what is judged at the stop is judged again when the agent stops next")
            return 3 if again else 0
    if found is None:
        click.echo("nothing was refuted, refused or left unverified")
        return 0
    every = session_of(ledger, found.session)
    found = next(each for each in every if each.call == found.call)
    click.echo(f"{ago(found.at, time.time())}:")
    text.full(found, every)
    if not again:
        return 0
    try:
        verdicts = rejudge.judged(found, ledger.key(), folder)
    except Unverified as trouble:
        click.echo(f"again: it cannot be judged again, because {trouble.why}")
        return 3
    for each in verdicts:
        shown(each)
    return max((ENDS[each.state] for each in verdicts), key=(0, 3, 1).index)


def stopped(call: Call) -> bool:
    """Whether the agent was told that a call is not done, not allowed, or not known to be done."""
    return call.corrected or call.state in (REFUSED, calls.PENDING)


def shown(verdict: Verdict) -> None:
    click.echo(f"again: {text.word(verdict.state)} {verdict.contract}  {verdict.source}")
    for outcome in verdict.outcomes:
        text.wrapped("expected", outcome.expected)
        text.wrapped("because" if outcome.state == UNVERIFIED else "found", outcome.found)
