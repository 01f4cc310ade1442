"""`truecall log`: the calls in the ledger, and what truecall found. Shows and prunes; never judges."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterator, Sequence

import click

from truecall_py.cli import options
from truecall_py.core.errors import UsageError
from truecall_py.core.glob import matches_glob
from truecall_py.core.plural import count
from truecall_py.core.timestamps import format_local_time, parse_duration
from truecall_py.core.types import DUPLICATE, FALSE_SUCCESS, LANDED, NOT_LANDED, REPORTED_FAILURE, UNKNOWN
from truecall_py.ledger.store import Event, Ledger
from truecall_py.reporting import calls, queries, text
from truecall_py.reporting.calls import Call
from truecall_py.reporting.names import name_outcome

STORED_OUTCOMES = (FALSE_SUCCESS, LANDED, REPORTED_FAILURE, NOT_LANDED, DUPLICATE, UNKNOWN)
OUTCOMES = {name_outcome(stored): stored for stored in STORED_OUTCOMES}
WHOLE = 1_000_000  # the most events that are read of one session
EMPTY = "the ledger is empty: no hook has written to {state} yet"


def parse_outcome(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """The stored outcome of a name; a stored outcome is accepted, too. Raises click.BadParameter."""
    if value is None or value in OUTCOMES.values():
        return value
    if value not in OUTCOMES:
        raise click.BadParameter(f"{value!r} is not one of: {', '.join(OUTCOMES)}")
    return OUTCOMES[value]


@click.command()
@click.argument("call", required=False)
@options.SESSION
@click.option("--tool", metavar="GLOB", default="", help="Only tools with this name; * and ? are wildcards.")
@click.option("--state", "verdict", type=click.Choice(calls.STATES), help="Only calls in this state.")
@click.option("--outcome", metavar="OUTCOME", callback=parse_outcome,
              help=f"Only calls with this outcome: {', '.join(OUTCOMES)}.")  # fmt: skip
@options.SINCE
@click.option("--limit", metavar="N", type=click.IntRange(1), default=20, show_default=True,
              help="The most calls to show.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="As JSON; times in seconds since the epoch.")
@click.option("--prune", metavar="AGE", help="Delete sessions without an event for this long (30d).")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@options.PERSON
@click.option("--state-folder", "folder", metavar="DIR", callback=options.resolve_state, help="The state folder.")
def log(
    call: str | None, session: str, tool: str, verdict: str | None, outcome: str | None, since: float,
    limit: int, as_json: bool, prune: str | None, yes: bool, person: bool, folder: str,
) -> None:  # fmt: skip
    """Lists the recorded calls, newest first, with the stops that held an agent and the times truecall was turned off
    or on.

    CALL (an id, or the start of one) shows that call in full: its times, every verdict with its evidence, the
    attempt, the order to the agent, and the agent's next steps.

    Exit codes: 0 shown (even if empty), 2 wrong usage or no such call, 3 the ledger cannot be read.
    """
    if prune is not None:
        options.refuse_agents(person, "delete from the ledger")
    ledger = queries.open_ledger(folder)
    if prune is not None and (ledger is not None or os.path.isdir(folder)):
        forget(ledger, folder, time.time() - parse_duration(prune), yes)
    elif ledger is None:
        click.echo("[]" if as_json else EMPTY.format(state=folder))
    elif call:
        print_call(ledger, call, queries.find_session_id(ledger, session), as_json)
    else:
        session = queries.find_session_id(ledger, session)
        rows = itertools.islice(select_calls(ledger, session, tool, verdict, outcome, since), limit)
        with_stops = not (tool or verdict or outcome)
        switches = queries.list_switches(ledger, since) if with_stops and not session else []
        print_calls(rows, as_json, Stops(ledger, since) if with_stops else None, switches, limit)


def select_calls(
    ledger: Ledger, session: str = "", tool: str = "", state: str | None = None, outcome: str | None = None,
    since: float = 0.0,
) -> Iterator[Call]:  # fmt: skip
    """The calls that match the filters, newest first."""
    for name, call in queries.list_calls(ledger, since, session):
        for each in calls.group_calls(ledger.of(name, call)):
            if tool and not matches_glob(tool, each.tool):
                continue
            if state is not None and each.state != state:
                continue
            if outcome is None or any(verdict.get("outcome") == outcome for verdict in each.verdicts):
                yield each


class Stops:
    """The stops that held an agent, newest first, to be listed between the calls."""

    def __init__(self, ledger: Ledger, since: float) -> None:
        self.ledger, self.since = ledger, since
        self.left: dict[str, list[queries.Stopped]] = {}

    def before(self, call: Call) -> Iterator[queries.Stopped]:
        """The stops of the call's session that came after it and were not listed yet."""
        if call.session not in self.left:
            stoppeds = queries.list_stops(self.ledger, call.session, self.since)
            self.left[call.session] = [stopped for stopped in stoppeds if stopped.held]
        left = self.left[call.session]
        while left and left[0].event.id > call.events[-1].id:
            yield left.pop(0)


def print_calls(
    found: Iterator[Call], as_json: bool, stops: Stops | None = None, switches: Sequence[Event] = (),
    limit: int = 1,
) -> None:  # fmt: skip
    """Prints calls, newest first; as text also the stops that held an agent and the switches between them."""
    if as_json:
        click.echo(json.dumps([text.make_plain(row) for row in found], indent=2))
        return
    shown, session, left = 0, None, list(switches)
    for call in found:
        while left and left[0].at > call.at:
            text.switch_line(left.pop(0))
        if call.session != session:
            session = call.session
            head = text.fit_line(f"session {session}  {call.harness}", text.find_width())
            click.echo(click.style(head, bold=True))
        for stop in stops.before(call) if stops else ():
            text.stop_line(stop)
        text.print_line(call)
        shown += 1
    for event in left if shown < limit else ():  # no call was left out, so these are the oldest
        text.switch_line(event)
    if not shown:
        click.echo("no call matches")


def read_session(ledger: Ledger, session: str) -> list[Call]:
    return calls.group_calls(ledger.session(session, WHOLE))


def print_call(ledger: Ledger, call: str, session: str, as_json: bool) -> None:
    names = queries.find_by_id(ledger, call, session)
    if not names:
        raise UsageError(f"there is no call {call[:80]!r} in the ledger", do="list the newest with: truecall log")
    if len({name for _, name in names}) > 1:
        some = ", ".join(name for _, name in names[:4])
        raise UsageError(f"{len(names)} calls start with {call[:80]!r}: {some}", do="give more of the id")
    session_calls = read_session(ledger, names[0][0])
    each = next(each for each in session_calls if each.call == names[0][1])
    if as_json:
        click.echo(json.dumps(text.make_plain(each, session_calls), indent=2))
    else:
        text.print_full(each, session_calls)
        if len(names) > 1:
            click.echo(f"  {len(names) - 1} older sessions have a call with this id: choose one with --session")


def forget(ledger: Ledger | None, folder: str, before: float, yes: bool) -> None:
    """Deletes sessions without an event since `before` (seconds since the epoch) and their files; asks first."""
    options.confirm(f"Delete every session without an event since {format_local_time(before)}?", yes)
    if ledger is None:
        queries.delete_session_files(folder, before)
        click.echo(EMPTY.format(state=folder))
        return
    sessions, events = queries.prune(ledger, before)
    click.echo(f"deleted: {count(sessions, 'session')}, {count(events, 'event')}")
    if left := queries.count_left(ledger, before):
        click.echo(f"kept: {count(left, 'session')} with an unresolved operation. To list them: truecall reconcile")
