"""The output of `truecall replay`: one transcript at a time, as text or JSON lines, and the totals at the end."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import click

from truecall_py import clients
from truecall_py.cli.output.tables import print_table
from truecall_py.clients.transcripts import Lines, Made
from truecall_py.core.plural import count
from truecall_py.core.record import record
from truecall_py.core.redaction import escape_hidden, quote
from truecall_py.core.types import REFUTED, UNVERIFIED, VERIFIED, Outcome
from truecall_py.replay.claims import SAYS_SO, Claimed
from truecall_py.replay.judge import STATES, THEN, Replayed
from truecall_py.reporting.names import name_outcome
from truecall_py.reporting.text import fit_line

COLOURS = {VERIFIED: "green", REFUTED: "red", UNVERIFIED: "yellow", SAYS_SO: "yellow", THEN: None}
WORDS = {REFUTED: "REFUTED", UNVERIFIED: "UNVERIFIED", VERIFIED: "verified", THEN: "needs world", SAYS_SO: "SAYS SO"}
NAMES = {THEN: "needs-world", SAYS_SO: "says-so"}  # in JSON
KEYS = {REFUTED: "refuted", UNVERIFIED: "unverified", VERIFIED: "verified", THEN: "world"}
MANY = 2000  # the most tools, and the most contracts, that are counted by name
SUMS = ("transcripts", "lines", "calls", "applied", *KEYS.values(), "claims", "says_so", "unanswered", "scripts",
        "damaged", "unknown", "unreadable", "others")  # fmt: skip


@record(frozen=True)
class Look:
    """The options of the output: `brief` leaves out calls without a problem; `room` is the width in letters."""

    as_json: bool
    brief: bool
    every: bool
    colour: bool
    room: int


class Sums:
    """The totals of transcripts; `tools` and `contracts` by name."""

    def __init__(self) -> None:
        self.total = dict.fromkeys(SUMS, 0)
        self.tools: dict[str, dict[str, int]] = {}
        self.contracts: dict[str, dict[str, int]] = {}

    def call(self, made: Made, found: list[Replayed]) -> None:
        worst = min((replayed.state for replayed in found), key=STATES.index, default="")
        states = {KEYS[worst]: 1} if worst else {}
        one = {"calls": 1, "applied": int(bool(found)), **states}
        add(self.total, {**one, "unanswered": int(made.trouble != "" and made.call.event == "PreToolUse")})
        add(find_row(self.tools, made.call.tool, "calls"), one)
        for replayed in found:
            add(find_row(self.contracts, replayed.contract, "verdicts"), {"verdicts": 1, KEYS[replayed.state]: 1})

    def claim(self, claimed: Claimed) -> None:
        if claimed.state == SAYS_SO:
            add(self.total, {"says_so": 1})
            return
        add(self.total, {"claims": int(claimed.state == REFUTED), KEYS[claimed.state]: 1})
        add(find_row(self.contracts, claimed.contract, "verdicts"), {"verdicts": 1, KEYS[claimed.state]: 1})

    def transcript(self, lines: Lines) -> None:
        strangers = sum(lines.unknown.values())
        known = {"transcripts": 1, "lines": lines.number, "damaged": lines.damaged, "unknown": strangers,
                 "scripts": lines.scripts}  # fmt: skip
        add(self.total, known if lines.harness or not lines.number else {"others": 1})

    def plus(self, other: Sums) -> None:
        add(self.total, other.total)
        for name, counts in other.tools.items():
            add(find_row(self.tools, name, "calls"), counts)
        for name, counts in other.contracts.items():
            add(find_row(self.contracts, name, "verdicts"), counts)


def find_row(found: dict[str, dict[str, int]], name: str, first: str) -> dict[str, int]:
    name = name if name in found or len(found) < MANY else "(others)"
    return found.setdefault(name, {first: 0, **({"applied": 0} if first == "calls" else {}),
                                   **dict.fromkeys(KEYS.values(), 0)})  # fmt: skip


def add(sums: dict[str, int], more: dict[str, int]) -> None:
    for name, number in more.items():
        sums[name] = sums.get(name, 0) + number


# -- one transcript ----------------------------------------------------------------------------------------------


class Page:
    """One transcript as text; its name precedes its first line."""

    def __init__(self, path: str, look: Look) -> None:
        self.path, self.look, self.begun = path, look, False

    def style(self, text: str, **how: Any) -> str:
        return click.style(text, **how) if self.look.colour else text

    def lines(self, *given: str) -> Iterator[bytes]:
        if not self.begun:
            self.begun = True
            yield (self.style(escape_hidden(self.path), bold=True) + "\n").encode("utf-8", "backslashreplace")
        for replayed in given:
            yield (replayed + "\n").encode("utf-8", "backslashreplace")

    def head(self, state: str, what: str, line: int, rest: str) -> str:
        about = fit_line(f"{what}  line {line}  {rest}", self.look.room - 14)
        return f"  {self.style(f'{WORDS[state]:<11}', fg=COLOURS[state])} {about}"

    def detail(self, name: str, text: str) -> list[str]:
        parts = textwrap.wrap(quote(text, 600), max(30, self.look.room - 16), break_on_hyphens=False) or [""]
        return [f"    {'' if number else name:<11} {part}" for number, part in enumerate(parts)]

    def call(self, made: Made, found: list[Replayed]) -> Iterator[bytes]:
        tool = made.call.tool
        if not found and self.look.every:
            about = fit_line(f"line {made.line}  {tool}", self.look.room - 14)
            yield from self.lines(f"  {'no contract':<11} {about}")
        for replayed in found:
            if self.look.brief and replayed.state in (THEN, VERIFIED):
                continue
            outcome = "" if replayed.outcome in ("", "unknown") else f"  {name_outcome(replayed.outcome)}"
            observed = "  (observe)" if replayed.mode == "observe" else ""
            what = f"{tool}{outcome}{observed}"
            yield from self.lines(self.head(replayed.state, replayed.contract, made.line, what))
            yield from self.checks(replayed)

    def checks(self, each: Replayed) -> Iterator[bytes]:
        for one in each.outcomes:
            if one.state == THEN:
                yield from self.lines(*self.detail("asks", f"{one.check}: {one.expected}"))
            elif one.state != VERIFIED:
                words = "because" if one.state == UNVERIFIED else "found"
                yield from self.lines(*self.detail("expected", one.expected), *self.detail(words, one.found))

    def claim(self, claimed: Claimed) -> Iterator[bytes]:
        if self.look.brief and claimed.state == THEN:
            return
        words = f"\u201c{quote(claimed.quote, 300)}\u201d" if claimed.quote else ""
        name = claimed.contract or "a last message"
        head = self.head(claimed.state, name, claimed.line, words)
        yield from self.lines(head, *self.detail("found", claimed.found))

    def end(self, lines: Lines, sums: Sums) -> Iterator[bytes]:
        if not lines.harness and lines.number:
            readable = (name for name in clients.NAMES if clients.find_part(name, "transcript") is not None)
            names = " or ".join(clients.load_registration(name).client for name in readable)
            yield from self.lines(f"  not a transcript of {names}")
            return
        total = sums.total
        for number, why in lines.places:
            yield from self.lines(self.style(f"  line {number}: {fit_line(why, self.look.room - 20)}", fg="yellow"))
        if lines.damaged > len(lines.places):
            yield from self.lines(f"  and {lines.damaged - len(lines.places)} more unreadable lines")
        if lines.unknown:
            some = ", ".join(f"{name} ({number})" for name, number in sorted(lines.unknown.items())[:6])
            yield from self.lines("  " + fit_line(f"lines of an unknown kind: {some}", self.look.room - 2))
        if lines.scripts:
            some = count(lines.scripts, "script")
            yield from self.lines(f"  {some} of code mode, whose calls the rollout does not record")
        if not self.look.brief or self.begun:
            said = f"{count(total['calls'], 'call')}, {total['applied']} with a contract"
            yield from self.lines(self.style(f"  {lines.harness or 'empty'}: {said}", dim=True))


class Plain:
    """One transcript as JSON lines."""

    def __init__(self, path: str, look: Look) -> None:
        self.path = path

    def one(self, kind: str, **more: Any) -> Iterator[bytes]:
        yield json.dumps({"kind": kind, "transcript": quote(self.path, 4000), **more}).encode() + b"\n"

    def call(self, made: Made, found: list[Replayed]) -> Iterator[bytes]:
        call = made.call
        contracts = [
            {
                "id": replayed.contract, "source": replayed.source, "mode": replayed.mode,
                "verdict": colour_state(replayed.state),
                "outcome": replayed.outcome or None, "subject": quote(replayed.subject, 400),
                "checks": [check(one) for one in replayed.outcomes],
            }
            for replayed in found
        ]  # fmt: skip
        yield from self.one(
            "call", line=made.line, harness=call.harness, session=call.session, turn=call.turn, agent=call.agent,
            call=call.call_id, tool=call.tool, kinds=sorted(call.kinds), reported=call.reported,
            exit_code=call.exit_code, trouble=made.trouble or None, contracts=contracts,
        )  # fmt: skip

    def claim(self, claimed: Claimed) -> Iterator[bytes]:
        yield from self.one(
            "claim", line=claimed.line, contract=claimed.contract or None, verdict=colour_state(claimed.state),
            quote=quote(claimed.quote, 2000), found=claimed.found,
        )  # fmt: skip

    def end(self, lines: Lines, sums: Sums) -> Iterator[bytes]:
        places = [{"line": number, "why": quote(why, 400)} for number, why in lines.places]
        yield from self.one(
            "transcript", harness=lines.harness or None, lines=lines.number, damaged=lines.damaged, places=places,
            unknown=lines.unknown, scripts=lines.scripts, calls=sums.total["calls"],
        )  # fmt: skip


def check(one: Outcome) -> dict[str, Any]:
    evidence = None if one.state == THEN else quote(one.found, 2000)
    return {
        "check": one.check,
        "verdict": colour_state(one.state),
        "expected": quote(one.expected, 2000),
        "found": evidence,
    }


def colour_state(state: str) -> str:
    return NAMES.get(state, state)


# -- all of them ---------------------------------------------------------------------------------------------------


def render_trouble(path: str, why: str, look: Look) -> bytes:
    """The output for a transcript that could not be read to its end."""
    if look.as_json:
        return json.dumps({"kind": "trouble", "transcript": quote(path, 4000), "why": why}).encode() + b"\n"
    page = Page(path, look)
    return b"".join(page.lines(page.style(f"  READING FAILED: {why}", fg="red")))


def print_summary(sums: Sums, look: Look) -> None:
    """Writes the totals to standard output."""
    total = sums.total
    if look.as_json:
        tools = [{"tool": quote(name, 400), **counts} for name, counts in order_counts(sums.tools)]
        contracts = [{"contract": name, **counts} for name, counts in order_counts(sums.contracts)]
        click.echo(json.dumps({"kind": "summary", **total, "tools": tools, "contracts": contracts}))
        return
    click.echo("\n" + click.style(f"{count(total['transcripts'], 'transcript')}, {count(total['calls'], 'call')}, "
                                  f"{total['applied']} with a contract", bold=True))  # fmt: skip
    for sentence in list_sentences(total):
        click.echo(sentence)
    names = ("verified", "refuted", "unverified", "world")
    tools = [{"tool": name, **counts} for name, counts in order_counts(sums.tools)]
    print_table("tool", tools, "calls", "applied", *names)
    contracts = [{"contract": name, **counts} for name, counts in order_counts(sums.contracts)]
    print_table("contract", contracts, "verdicts", *names)


def list_sentences(total: dict[str, int]) -> Iterator[str]:
    """The totals in sentences, without those that are 0."""
    counts_by_state = [(total[KEYS[state]], state) for state in (REFUTED, UNVERIFIED, VERIFIED)]
    judged = ", ".join(f"{number} {state}" for number, state in counts_by_state if number)
    if judged:
        yield f"by the calls themselves: {judged}"
    if total["world"]:
        need = "needs" if total["world"] == 1 else "need"
        yield f"{total['world']} {need} files or services as they were (\u201cworld\u201d below), not judged"
    if total["claims"]:
        yield f"{count(total['claims'], 'claim')} without the call that its contract requires"
    if total["says_so"]:
        some = count(total["says_so"], "last message")
        yield f"{some} with a claim, in a turn without a call that changes anything"
    if total["unanswered"]:
        yield f"{count(total['unanswered'], 'call')} without an answer"
    if total["scripts"]:
        yield f"{count(total['scripts'], 'script')} of code mode, whose calls the rollout does not record"
    if total["damaged"]:
        yield f"{count(total['damaged'], 'unreadable line')}"
    if total["unknown"]:
        yield f"{count(total['unknown'], 'line')} of an unknown kind"
    if total["others"]:
        yield f"{count(total['others'], 'file')} that neither client wrote"
    if total["unreadable"]:
        yield f"{count(total['unreadable'], 'transcript')} that could not be read to the end"


def order_counts(named: dict[str, dict[str, int]]) -> Iterable[tuple[str, dict[str, int]]]:
    """The counts by name, most refuted first."""

    def first(item: tuple[str, dict[str, int]]) -> tuple[Any, ...]:
        counts = item[1]
        count = counts.get("calls", counts.get("verdicts", 0))
        return -counts["refuted"], -counts["unverified"], -counts.get("applied", 0), -count, item[0]

    return sorted(named.items(), key=first)
