"""`truecall log`: what was asked of the hook and what it found, from the ledger. Shows and forgets; never judges."""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence

import click

from truecall_py.cli.commands.trust import a_person
from truecall_py.core import paths
from truecall_py.core.errors import UsageError
from truecall_py.core.glob import fits
from truecall_py.core.timestamps import length, local, moment
from truecall_py.core.types import DUPLICATE, HONEST_FAILURE, LANDED, LIE, NOT_LANDED
from truecall_py.ledger.store import Event, Ledger
from truecall_py.reporting import calls, queries, text
from truecall_py.reporting.calls import Call

OUTCOMES = (LIE, LANDED, HONEST_FAILURE, NOT_LANDED, DUPLICATE, "unknown")
WHOLE = 1_000_000  # events of one session that are read at most
EMPTY = "nothing is in the ledger yet: no hook has written to {state}"


@click.command()
@click.argument("call", required=False)
@click.option("--session", metavar="S", default="", help="Only this session, by its id or its beginning.")
@click.option("--tool", metavar="GLOB", default="", help="Only tools of this name; * and ? are allowed.")
@click.option("--state", "verdict", type=click.Choice(calls.STATES), help="Only calls that stand so.")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="Only calls with such an outcome.")
@click.option("--since", metavar="TIME", help="Not before: 2h, 7d, 2026-11-29.")
@click.option("--limit", metavar="N", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@click.option("--json", "as_json", is_flag=True, help="As JSON; times in seconds since the epoch.")
@click.option("--prune", metavar="AGE", help="Forget sessions in which nothing happened for so long (30d).")
@click.option("--yes", is_flag=True, help="Do not ask before forgetting.")
@click.option("--person", is_flag=True, help="A person is there, although an agent's environment is set.")
@click.option("--state-folder", "state", metavar="DIR", help="The state folder.")
def log(
    call: str | None, session: str, tool: str, verdict: str | None, outcome: str | None, since: str | None,
    limit: int, as_json: bool, prune: str | None, yes: bool, person: bool, state: str | None,
) -> None:  # fmt: skip
    """Lists the calls that the hook was told of, the newest first, the stops at which an agent was held, and when a
    person switched truecall off or on.

    CALL, an id or its beginning, shows one in full: when it was requested and ended, every verdict with its
    evidence, which attempt it was, what the agent was ordered to do, and what it did next.

    Exit codes: 0 shown (an empty ledger too), 2 wrong usage or no such call, 3 the ledger cannot be read.
    """
    now, folder = time.time(), folder_of(state)
    since_at = moment(since, now) if since else 0.0
    if prune is not None:
        a_person(person, "make truecall forget")
    ledger = queries.opened(folder)
    if prune is not None and (ledger is not None or os.path.isdir(folder)):
        forget(ledger, folder, now - length(prune), yes)
    elif ledger is None:
        click.echo("[]" if as_json else EMPTY.format(state=folder))
    elif call:
        one(ledger, call, queries.whole(ledger, session), as_json)
    else:
        session = queries.whole(ledger, session)
        found = itertools.islice(chosen(ledger, session, tool, verdict, outcome, since_at), limit)
        every = not (tool or verdict or outcome)
        switches = queries.switches(ledger, since_at) if every and not session else []
        listed(found, as_json, Stops(ledger, since_at) if every else None, switches, limit)


def folder_of(given: str | None) -> str:
    return os.path.abspath(given) if given else paths.state()


def chosen(
    ledger: Ledger, session: str = "", tool: str = "", state: str | None = None, outcome: str | None = None,
    since: float = 0.0,
) -> Iterator[Call]:  # fmt: skip
    """The calls that fit, the newest first."""
    for name, call in queries.keys(ledger, since, session):
        for each in calls.of(ledger.of(name, call)):
            if tool and not fits(tool, each.tool):
                continue
            if state is not None and each.state != state:
                continue
            if outcome is None or any(told.get("outcome") == outcome for told in each.verdicts):
                yield each


class Stops:
    """The stops at which agents were held, given out between the calls of a list, the newest first."""

    def __init__(self, ledger: Ledger, since: float) -> None:
        self.ledger, self.since = ledger, since
        self.left: dict[str, list[queries.Stopped]] = {}

    def before(self, call: Call) -> Iterator[queries.Stopped]:
        """Those of its session that came after the call and were not given yet."""
        if call.session not in self.left:
            every = queries.stops(self.ledger, call.session, self.since)
            self.left[call.session] = [each for each in every if each.held]
        left = self.left[call.session]
        while left and left[0].event.id > call.events[-1].id:
            yield left.pop(0)


def listed(
    found: Iterator[Call], as_json: bool, stops: Stops | None = None, switches: Sequence[Event] = (),
    limit: int = 1,
) -> None:  # fmt: skip
    """Calls, the newest first, and between them the stops at which the agent was held, and that truecall was switched
    off or on (text alone)."""
    if as_json:
        click.echo(json.dumps([text.plain(each) for each in found], indent=2))
        return
    shown, session, left = 0, None, list(switches)
    for each in found:
        while left and left[0].at > each.at:
            text.switch_line(left.pop(0))
        if each.session != session:
            session = each.session
            head = text.fitting(f"session {session}  {each.harness}", text.width())
            click.echo(click.style(head, bold=True))
        for stop in stops.before(each) if stops else ():
            text.stop_line(stop)
        text.line(each)
        shown += 1
    for event in left if shown < limit else ():  # no call is left out, so that these are the oldest
        text.switch_line(event)
    if not shown:
        click.echo("no call fits")


def session_of(ledger: Ledger, session: str) -> list[Call]:
    return calls.of(ledger.session(session, WHOLE))


def one(ledger: Ledger, call: str, session: str, as_json: bool) -> None:
    found = queries.named(ledger, call, session)
    if not found:
        raise UsageError(f"the ledger knows no call {call[:80]!r}", do="truecall log lists the newest")
    if len({name for _, name in found}) > 1:
        some = ", ".join(name for _, name in found[:4])
        raise UsageError(f"{len(found)} calls begin with {call[:80]!r}: {some}", do="say more of its id")
    every = session_of(ledger, found[0][0])
    each = next(each for each in every if each.call == found[0][1])
    if as_json:
        click.echo(json.dumps(text.plain(each, every), indent=2))
    else:
        text.full(each, every)
        if len(found) > 1:
            click.echo(f"  {len(found) - 1} older sessions have a call of this id: --session tells them apart")


def forget(ledger: Ledger | None, folder: str, before: float, yes: bool) -> None:
    """Forgets old sessions, and what lies beside the ledger of them; asks first."""
    if not yes:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("this is no terminal, so nobody can be asked", do="add --yes")
        click.confirm(f"Forget every session in which nothing happened since {local(before)}?", abort=True)
    if ledger is None:
        queries.beside(folder, before)
        click.echo(EMPTY.format(state=folder))
        return
    sessions, events = queries.prune(ledger, before)
    click.echo(f"forgotten: {text.count(sessions, 'session')}, {text.count(events, 'event')}")
    if left := queries.left(ledger, before):
        count = text.count(left, "session")
        click.echo(f"kept: {count} of an operation that is not settled; truecall reconcile lists them")
