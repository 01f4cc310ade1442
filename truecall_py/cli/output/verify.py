"""The output of `truecall verify`: text, JSON or JUnit."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from truecall_py.cli.output.junit import Case, render_suite
from truecall_py.core.plural import count
from truecall_py.core.record import record
from truecall_py.core.redaction import escape_hidden, quote
from truecall_py.core.types import REFUTED, UNVERIFIED, VERIFIED, Verdict
from truecall_py.judging.judge import Judgement
from truecall_py.reporting.names import name_outcome

MANY = 20  # with more payloads, those without a contract are only counted
COLOURS = {VERIFIED: "green", REFUTED: "bold red", UNVERIFIED: "yellow"}


@record(frozen=True)
class Judged:
    """One payload and its judgement; `trouble`: why it is not a hook payload."""

    name: str
    judgement: Judgement | None
    trouble: str = ""

    @property
    def state(self) -> str:
        """The worst verdict, "" where no contract applied."""
        if self.judgement is None:
            return UNVERIFIED
        states = {verdict.state for verdict in self.judgement.verdicts}
        return next((state for state in (REFUTED, UNVERIFIED) if state in states), "verified" if states else "")


def make_console() -> tuple[Console, io.StringIO]:
    """A console that writes into a buffer, with the width and colours of the terminal."""
    buffer = io.StringIO()
    real = Console(file=sys.stdout)
    width = real.width if real.is_terminal else 100
    return Console(
        file=buffer, width=width, force_terminal=real.is_terminal, no_color=real.no_color,
        color_system="auto" if real.is_terminal else None, highlight=False,
    ), buffer  # fmt: skip


def render_text(results: list[Judged]) -> str:
    """Each payload with its contracts and checks, and the correction that the agent would read."""
    out, buffer = make_console()
    brief = len(results) > MANY
    for result in results:
        if not brief or result.state or result.judgement is None:
            print_payload(out, result)
    print_summary(out, results)
    # Trailing blanks of table columns are noise in a file or a pipe.
    return buffer.getvalue() if out.is_terminal else "\n".join(map(str.rstrip, buffer.getvalue().split("\n")))


def print_payload(out: Console, result: Judged) -> None:
    judgement = result.judgement
    out.print(Text(result.name, style="bold"), soft_wrap=True)
    if judgement is None:
        out.print(Text(f"  unverified: {result.trouble}", style="yellow"))
        return
    call = judgement.call
    if call is None:
        out.print("  no finished tool call: nothing to judge", style="dim")
        return
    out.print(Text(f"  {call.harness} {call.event}, {escape_hidden(call.tool)}", style="dim"))
    if not judgement.verdicts:
        out.print("  no contract applies", style="dim")
    for verdict in judgement.verdicts:
        print_verdict(out, verdict)
    if judgement.correction:
        how = "instead of the tool's output" if judgement.correction.replace else "beside the tool's output"
        how = "instead of making the call" if call.event == "PreToolUse" else how
        title = f"the agent reads, {how}"
        out.print(Panel(Text(judgement.correction.text), title=title, title_align="left", border_style="red"))
    for notice in judgement.notices:
        out.print(Text(f"  the person reads: {notice}", style="yellow"))


def print_verdict(out: Console, verdict: Verdict) -> None:
    line = Text("  ")
    line.append(verdict.state.upper(), style=COLOURS[verdict.state])
    line.append(f" {verdict.contract}")
    line.append(f"  {name_outcome(verdict.outcome)}" if verdict.outcome != VERIFIED else "")
    line.append(f"  {verdict.source}" if verdict.source else "", style="dim")
    if verdict.mode == "observe":
        line.append("  (observe)", style="dim")
    out.print(line)
    table = Table.grid(padding=(0, 1))
    table.add_column(min_width=4)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for outcome in verdict.outcomes:
        words = "because" if outcome.state == UNVERIFIED else "found"
        table.add_row("", outcome.check, Text(f"{outcome.seconds * 1000:.0f} ms", style="dim"))
        table.add_row("", "expected", Text(quote(outcome.expected, 600)))
        table.add_row("", words, Text(quote(outcome.found, 600), style=COLOURS[outcome.state]))
        if outcome.candidates:
            table.add_row("", "exists", Text(", ".join(map(escape_hidden, outcome.candidates))))
    out.print(table)


def print_summary(out: Console, results: list[Judged]) -> None:
    states = (VERIFIED, REFUTED, UNVERIFIED, "")
    counts = {state: sum(result.state == state for result in results) for state in states}
    words = [f"{counts[state]} {state or 'without a contract'}" for state in counts if counts[state]]
    out.print(Text(f"{count(len(results), 'payload')}: {', '.join(words)}", style="bold"))


def make_plain(result: Judged) -> dict[str, Any]:
    judgement = result.judgement
    call = judgement.call if judgement else None
    plain: dict[str, Any] = {"payload": result.name, "verdict": result.state or None}
    if judgement is None:
        return {**plain, "trouble": result.trouble}
    if call:
        plain |= {"harness": call.harness, "event": call.event, "tool": call.tool, "call_id": call.call_id}
    plain["contracts"] = [
        {
            "id": verdict.contract, "source": verdict.source, "verdict": verdict.state, "outcome": verdict.outcome,
            "mode": verdict.mode, "subject": verdict.subject, "seconds": round(verdict.seconds, 4),
            "checks": [
                {
                    "check": outcome.check, "verdict": outcome.state, "cause": outcome.cause or None,
                    "expected": quote(outcome.expected, 2000), "found": quote(outcome.found, 2000),
                    "candidates": list(outcome.candidates),
                    "seconds": round(outcome.seconds, 4),
                }
                for outcome in verdict.outcomes
            ],
        }
        for verdict in judgement.verdicts
    ]  # fmt: skip
    plain["correction"] = judgement.correction.text if judgement.correction else None
    plain["replaces_output"] = judgement.correction.replace if judgement.correction else None
    return plain


def render_json(results: list[Judged]) -> str:
    return json.dumps([make_plain(result) for result in results], indent=2, ensure_ascii=True) + "\n"


def render_junit(results: list[Judged]) -> str:
    """One test case per judged contract; a payload without a contract is skipped."""
    found = []
    for result in results:
        group = os.path.basename(result.name) if result.name != "-" else "standard input"
        for name, kind, words, seconds in list_cases(result):
            found.append(Case(group, name, kind, words, {"time": f"{seconds:.4f}"}))
    return render_suite("truecall verify", found)


def list_cases(result: Judged) -> list[tuple[str, str, str, float]]:
    """Name, kind ("" | failure | error | skipped), text and seconds of each test case of a payload."""
    judgement = result.judgement
    if judgement is None:
        return [("payload", "error", escape_hidden(result.trouble), 0.0)]
    if not judgement.verdicts:
        return [("no contract applies", "skipped", "no contract applies to this payload", 0.0)]
    lines = []
    for verdict in judgement.verdicts:
        kind = {REFUTED: "failure", UNVERIFIED: "error"}.get(verdict.state, "")
        words = "\n".join(
            f"{outcome.check}: expected {quote(outcome.expected, 600)}; found {quote(outcome.found, 600)}"
            for outcome in verdict.outcomes
            if outcome.state == verdict.state
        )
        name = f"{verdict.contract} [{escape_hidden(verdict.subject)}]" if verdict.subject else verdict.contract
        lines.append((name, kind, words if kind else "", verdict.seconds))
    return lines


FORMS = {"text": render_text, "json": render_json, "junit": render_junit}
