"""`truecall reconcile`: checks unresolved operations and calls again. Shows results; the code of the stop gate
decides them."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import click

from truecall_py.cli import options
from truecall_py.cli.commands.log import EMPTY
from truecall_py.core.errors import UsageError
from truecall_py.core.plural import count
from truecall_py.core.timestamps import format_age, format_duration, format_local_time, parse_duration
from truecall_py.core.types import DUPLICATE, REFUTED, VERIFIED
from truecall_py.ledger import pending_calls
from truecall_py.ledger.events import PENDING
from truecall_py.ledger.store import Ledger
from truecall_py.operations import reconcile as reconciling
from truecall_py.operations import recover
from truecall_py.operations.reconcile import Item, Result
from truecall_py.reporting import queries
from truecall_py.reporting.text import find_width, fit_line, print_wrapped
from truecall_py.reporting.text import render_state as coloured

OPEN, OVERDUE = 3, 4
PATIENCE = 60.0  # seconds for the calls that are stored beside a ledger that was started anew
# What to do about an operation that was not given up: where it is done, and where it is accepted.
STANDS = (
    "nothing; if it should not have been done, undo it at its source",
    "wait until it is finished (truecall reconcile --watch), or cancel it at its source, then run this again",
)
NOTHING = "nothing is unresolved: every recorded operation and call is verified or refuted"


@click.command()
@click.option("--watch", is_flag=True, help="Continue until everything is resolved, or until Ctrl-C.")
@click.option("--every", metavar="TIME", default="30s", show_default=True,
              help="With --watch: the time between two rounds.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="As JSON; with --watch one line per round.")
@click.option("--give-up", metavar="CALL", help="Record that this call never started its operation.")
@options.PERSON
@options.STATE
def reconcile(watch: bool, every: str, as_json: bool, give_up: str | None, person: bool, state: str) -> int:
    """Checks unresolved operations and calls again.

    Checks each one once, for 10 seconds at most, by the contract under which it was started, if that is still
    trusted. Repeats no call. An operation that is unresolved after its `review` time is overdue. You can stop the
    command at any time, or run it twice at once: results are kept.

    --give-up asks the source first, and does not give up an operation that is accepted or done.

    Exit codes: 0 nothing is unresolved, 1 something is refuted or done twice, 2 wrong usage, 3 something is
    unresolved or was not given up, or the ledger cannot be read, 4 something is overdue.
    """
    pause = parse_duration(every)
    if give_up is not None:
        options.refuse_agents(person)
    ledger = queries.open_ledger(state)
    if ledger is None and next(recover.iterate_kept(state), None) is not None:
        ledger = Ledger(state)  # it was deleted, and what was begun is still kept beside it
    if ledger is None:
        click.echo(json.dumps(make_plain([], time.time())) if as_json else EMPTY.format(state=state))
        return 0
    try:
        restore_missing_calls(ledger, state)
        if give_up is not None:
            return give_up_call(ledger, state, give_up)
        return watch_items(ledger, state, pause, as_json) if watch else run_round(ledger, state, as_json)
    except KeyboardInterrupt:
        click.echo("\nstopped; the results so far are kept", err=True)
        return 130


def restore_missing_calls(ledger: Ledger, folder: str) -> None:
    """Records the stored calls that are missing in the ledger, and reports those without a trusted contract."""
    left = recover.recover_calls(ledger, ledger.read_key(), folder, (), time.monotonic() + PATIENCE)
    if left.foreign:
        where = os.path.join(folder, pending_calls.OPERATIONS)
        what = f"{count(left.foreign, 'call')} outside the ledger may have started an operation"
        about = "it" if left.foreign == 1 else "them"
        click.echo(f"{what}, but no trusted contract is about {about}: {where}", err=True)


def give_up_call(ledger: Ledger, folder: str, call: str) -> int:
    items = reconciling.find_by_call(ledger, call) if call else []
    if not items:
        raise UsageError(
            f"call {call[:80]!r} started no unresolved operation", do="list them with: truecall reconcile"
        )
    results = [reconciling.give_up(ledger, folder, item) for item in items]
    for result in results:
        what = fit_line(describe_item(result.item), find_width() - 14)
        if result.state == reconciling.GIVEN_UP:
            click.echo(f"given up: {what}; it can be started again")
            print_wrapped("because", f"a person says so; {result.why}")
        else:
            click.echo(f"not given up: {what}")
            print_wrapped("found", f"its source now says: {result.found}")
            print_wrapped("to do", STANDS[result.state == PENDING])
    return 0 if all(result.state == reconciling.GIVEN_UP for result in results) else OPEN


def run_round(ledger: Ledger, folder: str, as_json: bool) -> int:
    """Runs one round and returns the exit code."""
    items = reconciling.list_unresolved(ledger)
    results = []
    for result in reconciling.reconcile(ledger, folder, items):
        results.append(result)
        if not as_json:
            show(result, time.time())
    now = time.time()
    if as_json:
        click.echo(json.dumps(make_plain(results, now), indent=2))
    else:
        click.echo(count_states(results, now) if results else NOTHING)
    return find_exit_code(results, now)


def watch_items(ledger: Ledger, folder: str, pause: float, as_json: bool) -> int:
    """Runs rounds until nothing that can be checked is unresolved, each item at growing intervals; returns the exit
    code."""
    looks: dict[str, int] = {}
    due: dict[str, float] = {}
    reported: dict[str, tuple[str, str, bool]] = {}
    done: dict[str, Result] = {}
    while True:
        begun = time.monotonic()
        items = reconciling.list_unresolved(ledger)
        for result in reconciling.reconcile(
            ledger, folder, [item for item in items if due.get(item.name, 0.0) <= begun]
        ):
            name = result.item.name
            looks[name] = looks.get(name, 0) + 1
            due[name] = begun + max(pause, reconciling.PAUSES[min(looks[name], len(reconciling.PAUSES) - 1)])
            done[name] = result
            mark = (result.state, result.found, result.item.overdue(time.time()))
            if reported.get(name) != mark and not as_json:
                show(result, time.time())
            reported[name] = mark
        names = {item.name for item in items}
        for name, result in done.items():
            if result.open and name not in names:  # another process resolved it, or gave it up
                done[name] = reconciling.report_unkept(ledger, result.item)
        now = time.time()
        if as_json:
            click.echo(json.dumps(make_plain(list(done.values()), now)))
        left = [result for name, result in done.items()
                if result.open and name in names and reconciling.read_last_lookup(result.item, folder)]  # fmt: skip
        if not left:
            if not as_json:
                click.echo(count_states(list(done.values()), now) if done else NOTHING)
            return find_exit_code(list(done.values()), now)
        time.sleep(max(0.0, min(pause, min(due[result.item.name] for result in left) - time.monotonic())))


def find_exit_code(results: list[Result], now: float) -> int:
    """The exit code for these results; `now` in seconds since the epoch."""
    left = [result for result in results if result.open]
    if any(result.item.overdue(now) for result in left):
        return OVERDUE
    if any(result.state in (REFUTED, DUPLICATE) for result in results):
        return 1
    return OPEN if left else 0


def describe_item(item: Item) -> str:
    """An item by its contract and the values in its receipt."""
    match = item.operation.match if item.operation else {}
    matched = ", ".join(f"{name} {value}" for name, value in match.items())
    return f"{item.contract}  {matched or item.tool}"


def show(result: Result, now: float) -> None:
    """Prints one item with its state, and its owner if it is unresolved."""
    item = result.item
    late = result.open and item.overdue(now)
    head = "  " + (click.style("overdue", fg="red", bold=True) + " " * 4 if late else colour_state(result.state, 11))
    when = format_age(item.since, now)
    room = find_width() - 13 - len(when) - 2
    click.echo(head + f"{fit_line(describe_item(item), room):<{room}}  {when}")
    if result.found:
        print_wrapped("found", result.found)
    if result.why:
        print_wrapped("because", result.why)
    for event in result.whole:
        print_wrapped("whole", event)
    if result.open:
        print_wrapped("call", f"{item.tool} {item.call}")
        deadline = item.deadline
        if deadline is not None:
            span = format_duration(abs(now - deadline))
            until = format_local_time(deadline)
            print_wrapped("review", f"{span} ago, {until}" if late else f"in {span}, {until}")
        if item.owner:
            print_wrapped("owner", item.owner)


def colour_state(state: str, room: int) -> str:
    colour = {"unknown": "yellow", DUPLICATE: "red"}.get(state)
    return click.style(state, fg=colour) + " " * max(0, room - len(state)) if colour else coloured(state, room)


def count_states(results: list[Result], now: float) -> str:
    """The number of items by state; an overdue one is not counted as pending or unknown too."""
    late = [result for result in results if result.open and result.item.overdue(now)]
    rest = [result for result in results if result not in late]
    names = [(VERIFIED, "done"), (REFUTED, "refuted"), (DUPLICATE, "done twice"), (PENDING, "pending")]
    parts = [f"{sum(result.state == state for result in rest)} {name}" for state, name in names
             if any(result.state == state for result in rest)]  # fmt: skip
    unknown = sum(result.open and result.state != PENDING for result in rest)
    parts += [f"{unknown} unknown"] if unknown else []
    parts += [f"{len(late)} overdue"] if late else []
    return f"checked {count(len(results), 'unresolved item')}: {', '.join(parts)}"


def make_plain(results: list[Result], now: float) -> dict[str, Any]:
    """The results as JSON data with stable keys. Times are in seconds since the epoch."""
    return {
        "at": now, "open": sum(result.open for result in results),
        "overdue": sum(result.open and result.item.overdue(now) for result in results),
        "items": [
            {
                "contract": result.item.contract, "tool": result.item.tool, "session": result.item.session,
                "call": result.item.call, "match": result.item.operation.match if result.item.operation else None,
                "was": result.item.state, "state": result.state, "found": result.found or None,
                "why": result.why or None, "whole": list(result.whole),
                "since": result.item.since, "review": result.item.deadline, "owner": result.item.owner or None,
                "overdue": result.open and result.item.overdue(now),
            }
            for result in results
        ],
    }  # fmt: skip
