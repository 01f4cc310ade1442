"""`truecall verify`: the hook's own judgement by hand, on payloads that were captured."""

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
@click.option("--harness", type=click.Choice(NAMES), help="Who sent the payloads; recognised if left out.")
@click.option("--format", "form", type=click.Choice(["text", "json", "junit"]), default="text", show_default=True)
@click.option("--require-match", is_flag=True, help="End with 3 where no contract applied to a tool call.")
def verify(
    payload: tuple[str, ...], contracts: str | None, harness: str | None, form: str, require_match: bool
) -> int:
    """Judges captured hook payloads against the world as it is now.

    PAYLOAD is a file, a folder of *.json files, or - for standard input. No trust is needed: you run it.

    Of a call that is only announced (PreToolUse) its guards are judged: refuted is one that they refuse.

    Exit codes: 0 all verified or none applied, 1 refuted, 2 wrong usage, 3 could not verify.
    """
    from truecall_py.cli.output import verify as verify_report

    names = payload_files.found(payload)
    sources = payload_files.sources(contracts)
    results = list(progress(judged(names, sources, harness), len(names), form))
    click.echo(verify_report.FORMS[form](results), nl=False, color=True)
    return exit_code(results, require_match)


def judged(names: Sequence[str], sources: Sequence[Source], harness: str | None) -> Iterator[Judged]:
    for name in names:
        try:
            yield Judged(name, judge(payload_files.read(name), sources, harness=harness))
        except PayloadError as error:
            yield Judged(name, None, str(error))


def progress(results: Iterator[Judged], count: int, form: str) -> Iterator[Judged]:
    """The results, with a bar on standard error where a person waits for many."""
    if count < 10 or not sys.stderr.isatty():
        yield from results
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(results, "judging", total=count, console=Console(stderr=True), transient=True)


def exit_code(results: Sequence[Judged], require_match: bool) -> int:
    """The one place where verdicts become an exit code."""
    states = [result.state for result in results]
    if REFUTED in states:
        return 1
    calls = [result for result in results if result.judgement is None or result.judgement.call is not None]
    if UNVERIFIED in states or (require_match and (not calls or any(not result.state for result in calls))):
        return 3
    return 0
