"""One session over time: each call with its states, and each stop. Shows as many calls as there is room for, problems
first, and says how many it left out."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from truecall_py.core.plural import count
from truecall_py.core.timestamps import format_duration, format_local_time
from truecall_py.core.types import VERIFIED
from truecall_py.ledger.store import REFUSED, STOP, Event
from truecall_py.reporting import follow_ups, text
from truecall_py.reporting.calls import Call
from truecall_py.reporting.follow_ups import Sequels
from truecall_py.reporting.html import findings, plots
from truecall_py.reporting.html.findings import render_fact
from truecall_py.reporting.html.markup import Markup, join, render_data, tag

STOPS = 60  # the most stops of one session, the last ones
QUIET = ("none", VERIFIED)


class Timeline:
    """One session on the page; `places`: the ids of the shown calls, by call."""

    def __init__(
        self, name: str, events: Sequence[Event], every: Sequence[Call], number: int, first: int, room: int
    ) -> None:
        self.name, self.every, self.number = name, every, number
        self.shown = select_calls(every, room)
        self.places = {call.call: f"c{first + place}" for place, call in enumerate(self.shown)}
        self.stops = [event for event in events if event.event == STOP and "held" in event.data]

    def markup(self, followed: Sequels) -> Markup:
        began, ended = self.every[0].at, max(follow_ups.find_end(call) for call in self.every)
        head = tag(
            "header", tag("h3", "Session ", render_data(self.name, 200)),
            tag("p", self.every[0].harness or "unknown client", f", {format_day(began)}, ",
                f"{count(len(self.every), 'call')}, {format_duration(max(0.0, ended - began))}", class_="muted"),
            tag("p", *self.sums()),
        )  # fmt: skip
        drawn = [
            {"stands": findings.find_state(call), "began": call.at, "ended": call.ended,
             "says": f"{call.tool}: {findings.WORDS[findings.find_state(call)]}, {format_local_time(call.at)}"}
            for call in self.shown
        ]  # fmt: skip
        start, end = (" ".join(format_local_time(at).split()[1:2]) for at in (began, ended))
        strip = plots.strip(drawn, began, ended, start, end, format_duration(max(0.0, ended - began)), self.number)
        rows = [(call.at, 0, self.call(call, followed)) for call in self.shown]
        rows += [(event.at, 1, stop(event)) for event in self.stops[-STOPS:]]
        markup = tag("ol", *(row for _, _, row in sorted(rows, key=lambda row: row[:2])), class_="calls")
        return tag("article", head, strip, markup, self.left_out(), class_="session", id=f"s{self.number}")

    def sums(self) -> list[object]:
        """The number of calls by state, as badges."""
        found = [findings.find_state(call) for call in self.every]
        parts: list[object] = []
        for name, word in findings.WORDS.items():
            if name in found:
                parts += [tag("span", f"{word} {found.count(name)}", class_=f"badge {plots.find_tone(name)}"), " "]
        return parts

    def left_out(self) -> Markup | None:
        """The number of calls that are not shown, and the command that lists them."""
        left = len(self.every) - len(self.shown)
        if not left:
            return None
        quiet = all(findings.find_state(call) in QUIET for call in self.every if call.call not in self.places)
        which = "verified, or without a contract" if quiet else "older, or verified"
        command = f"truecall log --session {shlex.quote(self.name)} --limit {len(self.every)}"
        return tag("p", f"Not shown here: {count(left, 'call')} ({which}). To list them: ", tag("code", command),
                   class_="gone")  # fmt: skip

    def call(self, each: Call, followed: Sequels) -> Markup:
        """A call as one line that opens."""
        name = findings.find_state(each)
        line = tag(
            "summary", findings.render_clock(each.at), tag("span", render_data(each.tool, 200), class_="tool"),
            findings.mark(each), tag("span", render_data(findings.render_brief(each), 200), class_="about"),
            class_="line",
        )  # fmt: skip
        facts = render_fact("call", render_data(each.call)) + (
            render_fact("folder", render_data(each.cwd)) if each.cwd else []
        )
        for word, value in (("turn", each.first.turn), ("agent", each.first.agent)):
            facts += render_fact(word, render_data(value)) if value else []
        facts += findings.render_arguments(each)
        for moment, said in text.list_states(each):
            facts += render_fact(moment or "", said)
        if number := findings.render_attempt(each, self.every):
            facts += render_fact("attempt", number)
        facts += findings.render_refusal(each)
        if each.corrected and (markup := findings.describe_correction(each)):
            facts += render_fact("order", markup)
        if each.corrected or each.state == REFUSED or follow_ups.is_open(each):
            sequel = followed.of(each)
            facts += render_fact("then", findings.render_next_steps(each, sequel))
            facts += render_fact("in the end", findings.render_ending(each, sequel))
        inside = tag("div", tag("dl", *facts, class_="facts"), findings.render_verdicts(each), class_="inside")
        return tag("li", tag("details", line, inside), class_=plots.find_tone(name), id=self.places[each.call])


def format_day(at: float) -> str:
    return " ".join(format_local_time(at).split()[:2])


def select_calls(every: Sequence[Call], room: int) -> list[Call]:
    """At most `room` calls, in order: problems first, the newest of them."""
    if len(every) <= room:
        return list(every)
    loud = [call for call in every if findings.find_state(call) not in QUIET]
    quiet = [call for call in every if findings.find_state(call) in QUIET]
    kept = loud[-room:] if room else []
    kept += quiet[len(quiet) - (room - len(kept)) :]
    names = {call.call for call in kept}
    return [call for call in every if call.call in names]


def stop(event: Event) -> Markup:
    """A stop: whether the agent was held, why, and what its last message claimed."""
    held, opened, claims = event.data.get("held"), event.data.get("open"), event.data.get("claims")
    who = "The sub-agent stopped" if event.agent else "The agent stopped"
    said = [f"{who}, and was held once" if held else who]
    if isinstance(opened, list) and opened:
        said.append(f"{count(len(opened), 'verdict')} unresolved")
    line = tag("div", findings.render_clock(event.at), tag("span", ": ".join(said)), class_="line")
    parts = [
        join("; " if number else None, render_data(claim[0], 200), f" {findings.WORDS.get(str(claim[1]), 'unknown')}")
        for number, claim in enumerate(claims[:STOPS] if isinstance(claims, list) else [])
        if isinstance(claim, list) and len(claim) == 2
    ]  # fmt: skip
    return tag(
        "li", line, tag("p", "Judged at the stop: ", *parts) if parts else None, class_="refused" if held else None
    )
