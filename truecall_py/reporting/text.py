"""How `log` and `last` show calls and stops: in a list, in full, as plain data. Shows; decides nothing."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Any

import click

from truecall_py.core.redaction import harmless
from truecall_py.core.timestamps import local, spoken
from truecall_py.core.types import REFUTED, UNVERIFIED, VERIFIED
from truecall_py.ledger.store import ENDED, JUDGED, REFUSED, REQUESTED, SETTLED, WAITING, Event
from truecall_py.reporting import calls
from truecall_py.reporting.calls import BESIDE, Call
from truecall_py.reporting.queries import Stopped

COLOURS = {VERIFIED: "green", REFUTED: "red", UNVERIFIED: "yellow", calls.PENDING: "yellow", REFUSED: "red"}
NAMES = {"": "no contract"}
WHY = {"guard": "a guard does not hold", "quarantine": "its route rests", "duplicate": "it was begun already"}
BY = {"call": "this call's own hook", "stop": "the gate at the stop"}  # else: reconcile, or another call


def width() -> int:
    """Letters a line may have: the terminal's, between 60 and 160; 80 where there is none."""
    return max(60, min(shutil.get_terminal_size().columns, 160)) if sys.stdout.isatty() else 80


def fitting(text: str, room: int) -> str:
    """One line, harmless, cut at its end where it is longer than the room for it."""
    plain = harmless(text.replace("\n", " "))
    return plain if len(plain) <= room else plain[: max(0, room - 3)] + "..."


def word(state: str, room: int = 0) -> str:
    """A state in its colour, padded to `room`."""
    name = NAMES.get(state, state)
    return click.style(name, fg=COLOURS.get(state)) + " " * max(0, room - len(name))


def line(call: Call) -> None:
    """A call in one line, and one for each verdict that is not verified."""
    room = width()
    head = f"{local(call.at)}  "
    about = f"{call.tool}  {call.call}"
    click.echo(head + word(call.state, 12) + fitting(about, room - len(head) - 12))
    for each in call.verdicts:
        if each.get("state") != VERIFIED:
            observed = " (observe)" if each.get("mode") == "observe" else ""
            said = f"{each.get('contract', '')}{observed}: {outcome(each)}: {each.get('found', '')}"
            click.echo("    " + fitting(said, room - 4))


def outcome(verdict: dict[str, Any]) -> str:
    state, found = str(verdict.get("state", "")), str(verdict.get("outcome", ""))
    return found if found and found != "unknown" else state


def full(call: Call, every: list[Call]) -> None:
    """Everything that is known of one call; `every` are the calls of its session."""
    first = call.first
    click.echo(f"{click.style(fitting(call.call, 60), bold=True)}  {word(call.state)}")
    row("tool", call.tool)
    row("session", f"{call.session} ({first.harness or 'harness not told'})")
    for name, value in (("turn", first.turn), ("agent", first.agent), ("folder", call.cwd)):
        if value:
            row(name, value)
    for number, (name, value) in enumerate(call.args.items()):
        row("" if number else "arguments", f"{name}: {value}")
    for each in call.events:
        for at, said in happened(each, call):
            row(at, said)
    if call.state == calls.RUNNING:
        row("", "no end was told: it runs, was denied, or the session ended")
    verdicts(call)
    attempt(call, every)
    what, other = calls.after(call, every)
    if call.corrected or call.state == REFUSED:
        row("then", next_words(call, what, other))


def stop_line(each: Stopped) -> None:
    """A stop at which the agent was held, in one line."""
    head = f"{local(each.event.at)}  "
    word = "held" if each.held else "stopped"
    about = f"at the stop{' of a sub-agent' if each.event.agent else ''}: {', '.join(each.contracts)}"
    colour = "red" if each.held else None
    said = fitting(about, width() - len(head) - 12)
    click.echo(head + click.style(word, fg=colour) + " " * (12 - len(word)) + said)


def switch_line(event: Event) -> None:
    """That a person switched truecall off or on, in one line."""
    on, until = event.data.get("on") is True, event.data.get("until")
    said = f"until {local(until)}" if isinstance(until, (int, float)) else ""
    name = "switched on" if on else "switched off"
    click.echo(f"{local(event.at)}  {click.style(name, fg=None if on else 'yellow')} by a person {said}".rstrip())


def stop(each: Stopped) -> None:
    """Everything that is known of a stop at which the agent was held."""
    event = each.event
    click.echo(f"{click.style('held at the stop', bold=True)}{' of a sub-agent' if event.agent else ''}")
    row("session", f"{event.session} ({event.harness or 'harness not told'})")
    for name, value in (("turn", event.turn), ("agent", event.agent)):
        if value:
            row(name, value)
    for call, contract, state in each.opened:
        row("open", f"{contract}: {state}, call {call}")
    rows(each.verdicts)


def row(name: str, value: str) -> None:
    click.echo(f"  {name:<10} {fitting(value, max(width(), 80) - 13)}")


def wrapped(name: str, value: str) -> None:
    """A row that takes as many lines as it needs: evidence is never cut here."""
    for number, text in enumerate(textwrap.wrap(harmless(value), width() - 15, break_on_hyphens=False) or [""]):
        click.echo(f"    {'' if number else name:<10} {text}")


def happened(event: Event, call: Call) -> list[tuple[str, str]]:
    """(time of day, what happened) of one event."""
    at = local(event.at).split()[1] if event.at else ""
    if event.event == REQUESTED:
        return [(at, f"requested, {local(event.at)}")]
    if event.event == WAITING:
        return [(at, "waited for the user's permission")]
    if event.event == REFUSED:
        lines = textwrap.wrap(harmless(f"refused by truecall before it ran: {why(event)}"), max(width(), 80) - 13)
        return [("" if number else at, text) for number, text in enumerate(lines)]
    if event.event in (JUDGED, SETTLED):
        by, word = event.data.get("by"), "settled" if event.event == SETTLED else "judged again"
        return [(at, f"{word}{f' by {by}' if by else ''}: {NAMES.get(event.state, event.state)}")]
    if event.event.startswith(BESIDE):
        lines = textwrap.wrap(harmless(of_operation(event)), max(width(), 80) - 13, break_on_hyphens=False) or [""]
        return [("" if number else at, text) for number, text in enumerate(lines)]
    if event.event != ENDED:
        return [(at, event.event)]
    took = f" after {spoken(call.ended - call.began)}" if call.began is not None and call.ended is not None else ""
    code = event.data.get("exit_code")
    said = f"ended{took}, reported {event.data.get('reported') or 'nothing'}"
    said += f", exit code {code}" if code is not None else ""
    said += ", in the background" if event.data.get("background") else ""
    judged = event.data.get("seconds")
    return [(at, said), *([("", f"judged in {spoken(float(judged))}")] if isinstance(judged, (int, float)) else [])]


def why(event: Event) -> str:
    """Why a call was refused."""
    told = str(event.data.get("why", "quarantine"))
    earlier = event.data.get("earlier")
    if told == "duplicate" and isinstance(earlier, list) and len(earlier) == 3:
        return f"its operation was begun by call {earlier[1]}, and is {earlier[2]}"
    return WHY.get(told, told)


def of_operation(event: Event) -> str:
    """What an event tells of the operation that a call is."""
    data, (kind, _, name) = event.data, event.event.partition(" ")
    if kind == "intent":
        match = data.get("match") or {}
        late = " (written down after the call)" if data.get("late") else ""
        said = ", ".join(f"{path} {value}" for path, value in match.items()) or "not kept"
        said += f"; owner {data['owner']}" if data.get("owner") else ""
        review = data.get("review")
        said += f"; to be settled by {local(float(review))}" if isinstance(review, (int, float)) else ""
        return f"meant as {name}{late}: {said}"
    if kind == "receipt":
        by = str(data.get("by", "call"))
        if event.state == "dropped":
            return f"given up as never made, by {BY.get(by, by)}"
        return f"its source said, asked by {BY.get(by, by)}: {data.get('found') or event.state}"
    return str(data.get("found", ""))


def verdicts(call: Call) -> None:
    rows(call.verdicts)


def rows(told: Iterable[dict[str, Any]]) -> None:
    """Verdicts, as the ledger keeps them, with their evidence."""
    for each in told:
        observed = "  (observe: the agent was not told)" if each.get("mode") == "observe" else ""
        said = outcome(each)
        more = f"  {said}" if said != each.get("state") else ""
        source = f"  {fitting(str(each['source']), 40)}" if each.get("source") else ""
        name = fitting(str(each.get("contract", "")), 40)
        click.echo(f"  {word(str(each.get('state', '')), 10)} {name}{more}{source}{observed}")
        if each.get("subject"):
            wrapped("about", str(each["subject"]))
        if each.get("expected"):
            wrapped("expected", str(each["expected"]))
        if each.get("found"):
            wrapped("because" if each.get("state") == UNVERIFIED else "found", str(each["found"]))


def attempt(call: Call, every: list[Call]) -> None:
    """Which attempt it was, what was another since the one before, and what the agent was ordered to do."""
    number, changed = calls.attempt(call, every)
    if number:
        since = ""
        if isinstance(changed, (list, tuple)):
            what = f"changed: {', '.join(map(str, changed))}" if changed else "nothing changed"
            since = f"; since the attempt before, {what}"
        row("attempt", f"{number}{since}")
    if call.state == REFUSED:
        refused(call.data)
    if call.data.get("order"):
        kind = f", class {call.data['kind']}" if call.data.get("kind") else ""
        row("order", f"{call.data['order']} ({call.data.get('form', 'told')}{kind})")


def refused(data: dict[str, Any]) -> None:
    """Why a call was not let through: what rests, by which contract, over what, and what to use instead."""
    ticks = data.get("ticks")
    for name, value in (("rests", data.get("route")), ("for", f"{ticks} more ticks" if ticks else ""),
                        ("contract", data.get("contract")), ("found", data.get("found")),
                        ("instead", ", ".join(map(str, data.get("alternatives") or ())))):  # fmt: skip
        if value:
            row(name, str(value))


def next_words(call: Call, what: str, other: Call | None) -> str:
    if other is None and call.state == REFUSED:
        return "not asked for again in this session"
    if other is None:
        return "nothing more about it in this session"
    ended = call.ended if call.ended is not None else call.first.at
    state = NAMES.get(other.state, other.state)
    return f"{what}: {other.tool} {other.call}, {state}, {spoken(other.at - ended)} later"


def plain(call: Call, every: list[Call] | None = None) -> dict[str, Any]:
    """A call as data, under keys that stay. Times are in seconds since the epoch."""
    data = call.data
    found: dict[str, Any] = {
        "session": call.session, "call": call.call, "harness": call.harness, "turn": call.first.turn,
        "agent": call.first.agent, "tool": call.tool, "state": call.state or None, "reported": call.reported or None,
        "began": call.began, "ended": call.ended, "args": call.args, "verdicts": list(call.verdicts),
        "attempt": data.get("attempt"), "changed": data.get("changed"), "class": data.get("kind"),
        "order": data.get("order"), "form": data.get("form"),
    }  # fmt: skip
    if every is not None:
        found["events"] = [
            {"event": each.event, "at": each.at, "state": each.state or None, "data": each.data}
            for each in call.events
        ]
        what, other = calls.after(call, every)
        found["attempt"], found["changed"] = calls.attempt(call, every)
        found["then"] = {"what": what, "call": other.call, "state": other.state or None} if other else {"what": what}
    return found


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
