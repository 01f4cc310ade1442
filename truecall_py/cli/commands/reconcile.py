"""`truecall reconcile`: looks up what became of operations and calls that stand open. Shows what was found; what is
settled is decided by the same code as at the stop."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import click

from truecall_py.cli.commands.log import EMPTY, folder_of
from truecall_py.cli.commands.trust import a_person
from truecall_py.core.errors import UsageError
from truecall_py.core.timestamps import ago, length, local, spoken
from truecall_py.core.types import DUPLICATE, REFUTED, VERIFIED
from truecall_py.ledger import pending_calls
from truecall_py.ledger.events import PENDING
from truecall_py.ledger.store import Ledger
from truecall_py.operations import reconcile as reconciling
from truecall_py.operations import recover
from truecall_py.operations.reconcile import Item, Result
from truecall_py.reporting import queries
from truecall_py.reporting.text import count, fitting, width, wrapped
from truecall_py.reporting.text import word as coloured

OPEN, OVERDUE = 3, 4
PATIENCE = 60.0  # seconds for what is kept beside a ledger that was begun anew
# What is to be done about an operation that was not given up: it is done; it is accepted.
STANDS = (
    "nothing needs to be made again; where it should not have been done, undo it at its source",
    "wait until it is settled (truecall reconcile --watch), or cancel it at its source and reconcile then",
)
NOTHING = "nothing stands open: every operation and call that was begun is settled"


@click.command()
@click.option("--watch", is_flag=True, help="Go on until all is settled, or until Ctrl-C.")
@click.option("--every", metavar="TIME", default="30s", show_default=True, help="With --watch: between two rounds.")
@click.option("--json", "as_json", is_flag=True, help="As JSON; with --watch one line for each round.")
@click.option("--give-up", metavar="CALL", help="Take an operation for never made, by the id of its call.")
@click.option("--person", is_flag=True, help="A person is there, although an agent's environment is set.")
@click.option("--state", metavar="DIR", help="The state folder.")
def reconcile(watch: bool, every: str, as_json: bool, give_up: str | None, person: bool, state: str | None) -> int:
    """Looks up what became of operations and calls that stand open.

    Each is looked at once, for at most 10 seconds, by the contract that it was begun under, if that is still
    trusted; nothing is made again. One that is not settled after its `review` is overdue, and stays open. It can be
    stopped at any time, and run twice at once: what was learnt is kept. With --give-up the source is asked first, and
    what it says is accepted or done is not given up.

    Exit codes: 0 nothing stands open, 1 something was refuted or done twice, 2 wrong usage, 3 something stands open,
    was not given up, or the ledger cannot be read, 4 something is overdue.
    """
    folder, pause = folder_of(state), length(every)
    if give_up is not None:
        a_person(person)
    ledger = queries.opened(folder)
    if ledger is None and next(recover.kept(folder), None) is not None:
        ledger = Ledger(folder)  # it was deleted, and what was begun is still kept beside it
    if ledger is None:
        click.echo(json.dumps(plain([], time.time())) if as_json else EMPTY.format(state=folder))
        return 0
    try:
        begun_anew(ledger, folder)
        if give_up is not None:
            return gave_up(ledger, folder, give_up)
        return watched(ledger, folder, pause, as_json) if watch else once(ledger, folder, as_json)
    except KeyboardInterrupt:
        click.echo("\nstopped; what was learnt is kept", err=True)
        return 130


def begun_anew(ledger: Ledger, folder: str) -> None:
    """Takes in what is kept of calls that the ledger does not know, and tells of those that nobody can look up."""
    left = recover.taken_in(ledger, ledger.key(), folder, (), time.monotonic() + PATIENCE)
    if left.strange:
        where = os.path.join(folder, pending_calls.OPERATIONS)
        what = f"{count(left.strange, 'call')} that the ledger does not know and that may have begun something"
        click.echo(f"no trusted contract is about {what}: {where}", err=True)


def gave_up(ledger: Ledger, folder: str, call: str) -> int:
    found = reconciling.named(ledger, call) if call else []
    if not found:
        raise UsageError(f"no operation that stands open was begun by a call {call[:80]!r}", do="truecall reconcile")
    made = [reconciling.given_up(ledger, folder, each) for each in found]
    for each in made:
        what = fitting(about(each.item), width() - 14)
        if each.state == reconciling.GIVEN_UP:
            click.echo(f"given up: {what}; it can be begun again")
            wrapped("because", f"a person says so; {each.why}")
        else:
            click.echo(f"not given up: {what}")
            wrapped("found", f"its source says now: {each.found}")
            wrapped("to do", STANDS[each.state == PENDING])
    return 0 if all(each.state == reconciling.GIVEN_UP for each in made) else OPEN


def once(ledger: Ledger, folder: str, as_json: bool) -> int:
    """One round; the exit code."""
    items = reconciling.work(ledger)
    results = []
    for each in reconciling.rounds(ledger, folder, items):
        results.append(each)
        if not as_json:
            show(each, time.time())
    now = time.time()
    if as_json:
        click.echo(json.dumps(plain(results, now), indent=2))
    else:
        click.echo(summary(results, now) if results else NOTHING)
    return exit_code(results, now)


def watched(ledger: Ledger, folder: str, pause: float, as_json: bool) -> int:
    """Rounds until nothing is open that can be looked at; each thing ever more seldom. The exit code of all."""
    looks: dict[str, int] = {}
    due: dict[str, float] = {}
    told: dict[str, tuple[str, str, bool]] = {}
    done: dict[str, Result] = {}
    while True:
        begun = time.monotonic()
        items = reconciling.work(ledger)
        for each in reconciling.rounds(ledger, folder, [item for item in items if due.get(item.name, 0.0) <= begun]):
            name = each.item.name
            looks[name] = looks.get(name, 0) + 1
            due[name] = begun + max(pause, reconciling.PAUSES[min(looks[name], len(reconciling.PAUSES) - 1)])
            done[name] = each
            mark = (each.state, each.found, each.item.overdue(time.time()))
            if told.get(name) != mark and not as_json:
                show(each, time.time())
            told[name] = mark
        names = {item.name for item in items}
        for name, each in done.items():
            if each.open and name not in names:  # somebody else settled it, or gave it up
                done[name] = reconciling.unkept(ledger, each.item)
        now = time.time()
        if as_json:
            click.echo(json.dumps(plain(list(done.values()), now)))
        left = [each for name, each in done.items()
                if each.open and name in names and reconciling.looked(each.item, folder)]  # fmt: skip
        if not left:
            if not as_json:
                click.echo(summary(list(done.values()), now) if done else NOTHING)
            return exit_code(list(done.values()), now)
        time.sleep(max(0.0, min(pause, min(due[each.item.name] for each in left) - time.monotonic())))


def exit_code(results: list[Result], now: float) -> int:
    """The one place where what was found becomes an exit code."""
    left = [each for each in results if each.open]
    if any(each.item.overdue(now) for each in left):
        return OVERDUE
    if any(each.state in (REFUTED, DUPLICATE) for each in results):
        return 1
    return OPEN if left else 0


def about(item: Item) -> str:
    """A thing by its contract, and what must stand in its receipt."""
    match = item.operation.match if item.operation else {}
    told = ", ".join(f"{name} {value}" for name, value in match.items())
    return f"{item.contract}  {told or item.tool}"


def show(result: Result, now: float) -> None:
    """One thing and how it stands, with who looks at it where it is overdue."""
    item = result.item
    late = result.open and item.overdue(now)
    head = "  " + (click.style("overdue", fg="red", bold=True) + " " * 4 if late else word(result.state, 11))
    when = ago(item.since, now)
    room = width() - 13 - len(when) - 2
    click.echo(head + f"{fitting(about(item), room):<{room}}  {when}")
    if result.found:
        wrapped("found", result.found)
    if result.why:
        wrapped("because", result.why)
    for each in result.whole:
        wrapped("whole", each)
    if result.open:
        wrapped("call", f"{item.tool} {item.call}")
        deadline = item.deadline
        if deadline is not None:
            span = spoken(abs(now - deadline))
            wrapped("review", f"{span} ago, {local(deadline)}" if late else f"in {span}, {local(deadline)}")
        if item.owner:
            wrapped("owner", item.owner)


def word(state: str, room: int) -> str:
    colour = {"unknown": "yellow", DUPLICATE: "red"}.get(state)
    return click.style(state, fg=colour) + " " * max(0, room - len(state)) if colour else coloured(state, room)


def summary(results: list[Result], now: float) -> str:
    """How many things stand how, each in one way only: what is overdue is no longer counted as pending or unknown."""
    late = [each for each in results if each.open and each.item.overdue(now)]
    rest = [each for each in results if each not in late]
    names = [(VERIFIED, "done"), (REFUTED, "refuted"), (DUPLICATE, "done twice"), (PENDING, "pending")]
    parts = [f"{sum(each.state == state for each in rest)} {name}" for state, name in names
             if any(each.state == state for each in rest)]  # fmt: skip
    unknown = sum(each.open and each.state != PENDING for each in rest)
    parts += [f"{unknown} unknown"] if unknown else []
    parts += [f"{len(late)} overdue"] if late else []
    return f"looked at {count(len(results), 'thing')} that stood open: {', '.join(parts)}"


def plain(results: list[Result], now: float) -> dict[str, Any]:
    """What was found as data, under keys that stay. Times are in seconds since the epoch."""
    return {
        "at": now, "open": sum(each.open for each in results),
        "overdue": sum(each.open and each.item.overdue(now) for each in results),
        "items": [
            {
                "contract": each.item.contract, "tool": each.item.tool, "session": each.item.session,
                "call": each.item.call, "match": each.item.operation.match if each.item.operation else None,
                "was": each.item.state, "state": each.state, "found": each.found or None,
                "why": each.why or None, "whole": list(each.whole),
                "since": each.item.since, "review": each.item.deadline, "owner": each.item.owner or None,
                "overdue": each.open and each.item.overdue(now),
            }
            for each in results
        ],
    }  # fmt: skip
