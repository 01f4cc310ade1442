"""Calls and stops as text, for `log` and `last`: in a list, in full, and as plain data. Shows; decides nothing."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Any

import click

from truecall_py.core.redaction import escape_hidden
from truecall_py.core.timestamps import format_duration, format_local_time
from truecall_py.core.types import REFUTED, UNVERIFIED, VERIFIED
from truecall_py.ledger.store import ENDED, JUDGED, REFUSED, REQUESTED, SETTLED, WAITING, Event
from truecall_py.reporting import calls
from truecall_py.reporting.calls import BESIDE, Call
from truecall_py.reporting.names import describe_order, name_outcome
from truecall_py.reporting.queries import Stopped

COLOURS = {VERIFIED: "green", REFUTED: "red", UNVERIFIED: "yellow", calls.PENDING: "yellow", REFUSED: "red"}
NAMES = {"": "no contract"}
WHY = {"guard": "a guard does not hold", "quarantine": "its tool is paused",
       "duplicate": "its operation was started before"}  # fmt: skip
BY = {"call": "this call's own hook", "stop": "the stop gate"}  # others: reconcile, or another call


def find_width() -> int:
    """The width of a line in letters: the terminal's, from 60 to 160; 80 without a terminal."""
    return max(60, min(shutil.get_terminal_size().columns, 160)) if sys.stdout.isatty() else 80


def fit_line(text: str, room: int) -> str:
    """The text as one harmless line, cut to `room` letters."""
    plain = escape_hidden(text.replace("\n", " "))
    return plain if len(plain) <= room else plain[: max(0, room - 3)] + "..."


def render_state(state: str, room: int = 0) -> str:
    """The state in its colour, padded to `room` letters."""
    name = NAMES.get(state, state)
    return click.style(name, fg=COLOURS.get(state)) + " " * max(0, room - len(name))


def print_line(call: Call) -> None:
    """Prints a call in one line, with a line for each verdict that is not verified."""
    room = find_width()
    head = f"{format_local_time(call.at)}  "
    about = f"{call.tool}  {call.call}"
    click.echo(head + render_state(call.state, 12) + fit_line(about, room - len(head) - 12))
    for verdict in call.verdicts:
        if verdict.get("state") != VERIFIED:
            observed = " (observe)" if verdict.get("mode") == "observe" else ""
            said = f"{verdict.get('contract', '')}{observed}: {render_outcome(verdict)}: {verdict.get('found', '')}"
            click.echo("    " + fit_line(said, room - 4))


def render_outcome(verdict: dict[str, Any]) -> str:
    state, found = str(verdict.get("state", "")), str(verdict.get("outcome", ""))
    return name_outcome(found) if found and found != "unknown" else state


def print_full(call: Call, every: list[Call]) -> None:
    """Prints all that the ledger has about one call; `every`: the calls of its session."""
    first = call.first
    click.echo(f"{click.style(fit_line(call.call, 60), bold=True)}  {render_state(call.state)}")
    print_row("tool", call.tool)
    print_row("session", f"{call.session} ({first.harness or 'unknown client'})")
    for name, value in (("turn", first.turn), ("agent", first.agent), ("folder", call.cwd)):
        if value:
            print_row(name, value)
    for number, (name, value) in enumerate(call.args.items()):
        print_row("" if number else "arguments", f"{name}: {value}")
    for at, said in list_states(call):
        print_row(at, said)
    print_verdict_rows(call.verdicts)
    print_attempt(call, every)
    what, other = calls.find_next_step(call, every)
    if call.corrected or call.state == REFUSED:
        print_row("then", describe_next_step(call, what, other))


def stop_line(each: Stopped) -> None:
    """Prints a stop in one line."""
    head = f"{format_local_time(each.event.at)}  "
    word = "held" if each.held else "stopped"
    about = f"at the stop{' of a sub-agent' if each.event.agent else ''}: {', '.join(each.contracts)}"
    colour = "red" if each.held else None
    said = fit_line(about, find_width() - len(head) - 12)
    click.echo(head + click.style(word, fg=colour) + " " * (12 - len(word)) + said)


def switch_line(event: Event) -> None:
    """Prints in one line that a person turned truecall off or on."""
    on, until = event.data.get("on") is True, event.data.get("until")
    said = f"until {format_local_time(until)}" if isinstance(until, (int, float)) else ""
    name = "turned on" if on else "turned off"
    styled = click.style(name, fg=None if on else "yellow")
    click.echo(f"{format_local_time(event.at)}  {styled} by a person {said}".rstrip())


def stop(each: Stopped) -> None:
    """Prints all that the ledger has about a stop that held an agent."""
    event = each.event
    click.echo(f"{click.style('held at the stop', bold=True)}{' of a sub-agent' if event.agent else ''}")
    print_row("session", f"{event.session} ({event.harness or 'unknown client'})")
    for name, value in (("turn", event.turn), ("agent", event.agent)):
        if value:
            print_row(name, value)
    for call, contract, state in each.opened:
        print_row("open", f"{contract}: {state}, call {call}")
    print_verdict_rows(each.verdicts)


def print_row(name: str, value: str) -> None:
    click.echo(f"  {name:<10} {fit_line(value, max(find_width(), 80) - 13)}")


def wrap_row(value: str) -> list[str]:
    """The value in as many lines as it needs."""
    return textwrap.wrap(escape_hidden(value), max(find_width(), 80) - 13, break_on_hyphens=False) or [""]


def print_wrapped(name: str, value: str) -> None:
    """Prints a row in as many lines as it needs; evidence is never cut."""
    for number, text in enumerate(
        textwrap.wrap(escape_hidden(value), find_width() - 15, break_on_hyphens=False) or [""]
    ):
        click.echo(f"    {'' if number else name:<10} {text}")


def list_states(call: Call) -> list[tuple[str, str]]:
    """The events of a call in order, as time of day and text."""
    rows = [row for event in call.events for row in describe_event(event, call)]
    if call.state == calls.RUNNING:
        rows.append(("", "no end was recorded: it is running, was denied, or the session ended"))
    return rows


def describe_event(event: Event, call: Call) -> list[tuple[str, str]]:
    """Lines about one event: time of day and text."""
    at = format_local_time(event.at).split()[1] if event.at else ""
    if event.event == REQUESTED:
        return [(at, f"requested, {format_local_time(event.at)}")]
    if event.event == WAITING:
        return [(at, "waited for the user's permission")]
    if event.event == REFUSED:
        lines = wrap_row(f"refused by truecall before it ran: {explain_refusal(event)}")
        return [("" if number else at, text) for number, text in enumerate(lines)]
    if event.event in (JUDGED, SETTLED):
        by, word = event.data.get("by"), "resolved" if event.event == SETTLED else "judged again"
        return [(at, f"{word}{f' by {by}' if by else ''}: {NAMES.get(event.state, event.state)}")]
    if event.event.startswith(BESIDE):
        return [("" if number else at, text) for number, text in enumerate(wrap_row(describe_operation(event)))]
    if event.event != ENDED:
        return [(at, event.event)]
    took = ""
    if call.began is not None and call.ended is not None:
        took = f" after {format_duration(call.ended - call.began)}"
    code = event.data.get("exit_code")
    said = f"ended{took}, reported {event.data.get('reported') or 'nothing'}"
    said += f", exit code {code}" if code is not None else ""
    said += ", in the background" if event.data.get("background") else ""
    judged = event.data.get("seconds")
    if not isinstance(judged, (int, float)):
        return [(at, said)]
    return [(at, said), ("", f"judged in {format_duration(float(judged))}")]


def explain_refusal(event: Event) -> str:
    """Why truecall refused a call."""
    reason = str(event.data.get("why", "quarantine"))
    earlier = event.data.get("earlier")
    if reason == "duplicate" and isinstance(earlier, list) and len(earlier) == 3:
        return f"call {earlier[1]} started its operation, which is {earlier[2]}"
    return WHY.get(reason, reason)


def describe_operation(event: Event) -> str:
    """The text about an event of an operation."""
    data, (kind, _, name) = event.data, event.event.partition(" ")
    if kind == "intent":
        match = data.get("match") or {}
        late = " (recorded after the call)" if data.get("late") else ""
        said = ", ".join(f"{path} {value}" for path, value in match.items()) or "not stored"
        said += f"; owner {data['owner']}" if data.get("owner") else ""
        review = data.get("review")
        said += f"; due by {format_local_time(float(review))}" if isinstance(review, (int, float)) else ""
        return f"meant as {name}{late}: {said}"
    if kind == "receipt":
        by = str(data.get("by", "call"))
        if event.state == "dropped":
            return f"given up as never started, by {BY.get(by, by)}"
        return f"its source told {BY.get(by, by)}: {data.get('found') or event.state}"
    return str(data.get("found", ""))


def print_verdict_rows(told: Iterable[dict[str, Any]]) -> None:
    """Prints verdicts from the ledger with their evidence."""
    for claim in told:
        observed = "  (observe: no correction)" if claim.get("mode") == "observe" else ""
        said = render_outcome(claim)
        more = f"  {said}" if said != claim.get("state") else ""
        source = f"  {fit_line(str(claim['source']), 40)}" if claim.get("source") else ""
        name = fit_line(str(claim.get("contract", "")), 40)
        click.echo(f"  {render_state(str(claim.get('state', '')), 10)} {name}{more}{source}{observed}")
        evidence = "because" if claim.get("state") == UNVERIFIED else "found"
        for key, label in (("subject", "about"), ("expected", "expected"), ("found", evidence)):
            if claim.get(key):
                print_wrapped(label, str(claim[key]))


def print_attempt(call: Call, every: list[Call]) -> None:
    """Prints the attempt, what changed since the previous one, and the order to the agent."""
    number, changed = calls.describe_attempt(call, every)
    if number:
        since = ""
        if isinstance(changed, (list, tuple)):
            what = f"changed: {', '.join(map(str, changed))}" if changed else "nothing changed"
            since = f"; since the previous attempt, {what}"
        print_row("attempt", f"{number}{since}")
    if call.state == REFUSED:
        print_refusal(call.data)
    if call.data.get("order"):
        words = describe_order(str(call.data["order"]), str(call.data.get("form") or ""))
        kind = f" (class {call.data['kind']})" if call.data.get("kind") else ""
        for place, part in enumerate(wrap_row(words + kind)):
            print_row("" if place else "order", part)


def print_refusal(data: dict[str, Any]) -> None:
    """Prints why a call was refused: the paused tool or the guard, its evidence, and the alternatives."""
    ticks = data.get("ticks")
    for name, value in (("paused", data.get("route")), ("for", f"{ticks} more batches" if ticks else ""),
                        ("contract", data.get("contract")), ("found", data.get("found")),
                        ("instead", ", ".join(map(str, data.get("alternatives") or ())))):  # fmt: skip
        if value:
            print_row(name, str(value))


def describe_next_step(call: Call, what: str, other: Call | None) -> str:
    if other is None and call.state == REFUSED:
        return "not tried again in this session"
    if other is None:
        return "no further attempt in this session"
    ended = call.ended if call.ended is not None else call.first.at
    state = NAMES.get(other.state, other.state)
    return f"{what}: {other.tool} {other.call}, {state}, {format_duration(other.at - ended)} later"


def make_plain(call: Call, every: list[Call] | None = None) -> dict[str, Any]:
    """A call as JSON data with stable keys. Times are in seconds since the epoch."""
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
            {"event": event.event, "at": event.at, "state": event.state or None, "data": event.data}
            for event in call.events
        ]
        what, other = calls.find_next_step(call, every)
        found["attempt"], found["changed"] = calls.describe_attempt(call, every)
        found["then"] = {"what": what, "call": other.call, "state": other.state or None} if other else {"what": what}
    return found
