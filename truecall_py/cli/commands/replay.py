"""`truecall replay`: what contracts say about the calls of past transcripts. Reads transcripts and contract files and
writes its output. Runs only the checks that need nothing but the call."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import click

from truecall_py.cli import options, payload_files
from truecall_py.cli.output import replay as replay_report
from truecall_py.cli.output.replay import Look, Page, Plain, Sums
from truecall_py.clients.transcripts import Lines, Made
from truecall_py.replay import transcripts
from truecall_py.replay.claims import Claims
from truecall_py.replay.judge import judge_past_call
from truecall_py.replay.process_pool import TICK, Done, Pool
from truecall_py.reporting.text import find_width
from truecall_py.trust.store import Source

MANY = 20  # with more transcripts, only problems are shown


@click.command()
@click.argument("transcript", nargs=-1, required=True)
@options.CONTRACTS
@click.option("--all", "every", is_flag=True, help="Show every call, even one without a contract.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines: each call, claim and transcript, then the totals.")
@click.option("--jobs", metavar="N", type=click.IntRange(1), help="Processes; default: one per core.")
def replay(transcript: tuple[str, ...], contracts: str | None, every: bool, as_json: bool, jobs: int | None) -> int:
    """Shows for every call in past transcripts which contracts apply, and their verdicts.

    TRANSCRIPT is a transcript of Claude Code, a rollout of Codex, or a folder of them (*.jsonl). Only checks of the
    call itself run: result, schema, and tests by output. Other checks would need the files and services as they were
    at the time: they are named, but not run. No command and no code of a contract is run.

    With more than 20 transcripts, only refuted and unverified calls are shown, and the totals.

    Also lists last messages with a claim that no call supports. Contracts with `claims` decide that; without any, a
    few plain patterns do, and such a message is shown as "says so", not as refuted.

    Exit codes: 0 nothing refuted, 1 a call or claim is refuted, 2 wrong usage, 3 something is unverified or cannot be
    read.
    """
    paths = payload_files.list_files(transcript, "transcript", ".jsonl", accept=os.path.isfile)
    files = list(dict.fromkeys(paths))
    sources = payload_files.find_sources(contracts)
    many = len(files) > MANY
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    look = Look(as_json, many and not every, every, colour, find_width())
    total = Sums()
    with Pool(partial(render_transcript, sources, look), files, jobs or count_cores(), lambda done: None) as pool:
        write_output(pool, look, total)
    replay_report.print_summary(total, look)
    return find_exit_code(total)


def find_exit_code(sums: Sums) -> int:
    """The exit code for these totals."""
    total = sums.total
    if total["refuted"]:
        return 1
    return 3 if any(total[name] for name in ("unverified", "scripts", "damaged", "unreadable")) else 0


def count_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def render_transcript(sources: Sequence[Source], look: Look, path: str) -> Iterator[Any]:
    """The output for one transcript, as bytes, and its Sums at the end. Runs in a process of the pool."""
    page = Plain(path, look) if look.as_json else Page(path, look)
    lines, sums, claims = Lines(), Sums(), Claims(sources)
    try:
        for each in transcripts.read_events(path, lines):
            if isinstance(each, Made):
                verdicts = judge_past_call(each, sources)
                sums.call(each, verdicts)
                claims.made(each)
                yield from page.call(each, verdicts)
                continue
            for claimed in claims.said(each, bool(lines.damaged)):
                sums.claim(claimed)
                yield from page.claim(claimed)
    except OSError as error:
        sums.total["unreadable"] += 1
        yield replay_report.render_trouble(path, error.strerror or str(error), look)
    sums.transcript(lines)
    yield from page.end(lines, sums)
    yield sums


def write_output(pool: Pool, look: Look, total: Sums) -> None:
    """Writes the pool's output to standard output, with a progress bar on standard error in a terminal."""
    out = sys.stdout.buffer
    bar = Bar(len(pool.items)) if len(pool.items) > 1 and sys.stderr.isatty() else None
    if bar:
        pool.tick = bar.tick
    try:
        for result in pool:
            if bar:
                bar.hide()
            if not isinstance(result, Done):
                out.write(result.data)
            elif result.died:
                total.total["unreadable"] += 1
                out.write(replay_report.render_trouble(result.item, result.died, look))
            else:
                total.plus(result.told)
            out.flush()
    finally:
        if bar:
            bar.end()


class Bar:
    """A progress bar that is drawn by `tick`: a thread of its own would not survive a fork."""

    def __init__(self, count: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.progress = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
        self.task = self.progress.add_task("", total=count)
        self.live = False
        self.next = time.monotonic() + TICK

    def tick(self, done: int) -> None:
        if time.monotonic() < self.next:
            return
        self.next = time.monotonic() + TICK
        if not self.live:
            self.progress.start()
            self.live = True
        self.progress.update(self.task, completed=done, refresh=True)

    def hide(self) -> None:
        """Removes the bar before other output goes to the same terminal."""
        if self.live and sys.stdout.isatty():
            self.progress.stop()
            self.live = False

    def end(self) -> None:
        if self.live:
            self.progress.stop()
