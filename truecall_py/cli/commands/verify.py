"""`truecall verify`: judges captured payloads as the hook would."""

from __future__ import annotations

import sys

import click

from truecall_py.api import judge
from truecall_py.cli import payload_files
from truecall_py.cli.output.verify import Judged
from truecall_py.clients import NAMES
from truecall_py.core.errors import PayloadError
from truecall_py.core.types import REFUTED, UNVERIFIED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from truecall_py.trust.store import Source


@click.command()
@click.argument("payload", nargs=-1, required=True)
@click.option("--contracts", metavar="PATH", help="A contract file; default: every truecall.yaml from here upward.")
@click.option(
    "--harness", "--client", "harness", type=click.Choice(NAMES), metavar="CLIENT",
    help=f"The client that sent them; default: recognised. One of {', '.join(NAMES)}.",
)  # fmt: skip
@click.option("--format", "form", type=click.Choice(["text", "json", "junit"]), default="text", show_default=True)
@click.option("--require-match", is_flag=True, help="Exit with 3 if no contract applies to a tool call.")
def verify(
    payload: tuple[str, ...], contracts: str | None, harness: str | None, form: str, require_match: bool
) -> int:
    """Judges captured hook payloads against the current state of the machine.

    PAYLOAD is a file, a folder of *.json files, or - for standard input. The contract file need not be trusted.

    For a call that has not run yet (PreToolUse) the guards are judged: a call that they refuse is refuted.

    Exit codes: 0 all verified or no contract applies, 1 refuted, 2 wrong usage, 3 unverified.
    """
    from truecall_py.cli.output import verify as verify_report

    names = payload_files.find_payloads(payload)
    sources = payload_files.find_sources(contracts)
    results = list(show_progress(judge_payloads(names, sources, harness), len(names), form))
    click.echo(verify_report.FORMS[form](results), nl=False, color=True)
    return find_exit_code(results, require_match)


def judge_payloads(names: Sequence[str], sources: Sequence[Source], harness: str | None) -> Iterator[Judged]:
    for name in names:
        try:
            yield Judged(name, judge(payload_files.read(name), sources, harness=harness))
        except PayloadError as error:
            yield Judged(name, None, str(error))


def show_progress(results: Iterator[Judged], count: int, form: str) -> Iterator[Judged]:
    """The results, with a progress bar on standard error for many in a terminal."""
    if count < 10 or not sys.stderr.isatty():
        yield from results
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(results, "judging", total=count, console=Console(stderr=True), transient=True)


def find_exit_code(results: Sequence[Judged], require_match: bool) -> int:
    """The exit code for these results."""
    states = [result.state for result in results]
    if REFUTED in states:
        return 1
    calls = [result for result in results if result.judgement is None or result.judgement.call is not None]
    if UNVERIFIED in states or (require_match and (not calls or any(not result.state for result in calls))):
        return 3
    return 0
