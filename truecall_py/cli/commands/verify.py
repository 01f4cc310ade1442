"""`truecall verify`: judges captured payloads as the hook would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from truecall_py.api import judge
from truecall_py.cli import options, payload_files
from truecall_py.cli.output import verify as verify_report
from truecall_py.cli.output.progress import track
from truecall_py.cli.output.verify import Judged
from truecall_py.core.errors import PayloadError
from truecall_py.core.types import REFUTED, UNVERIFIED
from truecall_py.trust.store import Source


@click.command()
@click.argument("payload", nargs=-1, required=True)
@options.CONTRACTS
@options.CLIENT
@click.option("--format", "form", type=click.Choice(list(verify_report.FORMS)), default="text", show_default=True)
@click.option("--require-match", is_flag=True, help="Exit with 3 if no contract applies to a tool call.")
def verify(
    payload: tuple[str, ...], contracts: str | None, harness: str | None, form: str, require_match: bool
) -> int:
    """Judges captured hook payloads against the current state of the machine.

    PAYLOAD is a file, a folder of *.json files, or - for standard input. The contract file need not be trusted.

    For a call that has not run yet (PreToolUse) the guards are judged: a call that they refuse is refuted.

    Exit codes: 0 all verified or no contract applies, 1 refuted, 2 wrong usage, 3 unverified.
    """
    names = payload_files.list_files(payload, "payload", ".json", stdin=True)
    sources = payload_files.find_sources(contracts)
    results = list(track(judge_payloads(names, sources, harness), "judging", len(names)))
    click.echo(verify_report.FORMS[form](results), nl=False, color=True)
    return find_exit_code(results, require_match)


def judge_payloads(names: Sequence[str], sources: Sequence[Source], harness: str | None) -> Iterator[Judged]:
    for name in names:
        try:
            yield Judged(name, judge(payload_files.read(name), sources, harness=harness))
        except PayloadError as error:
            yield Judged(name, None, str(error))


def find_exit_code(results: Sequence[Judged], require_match: bool) -> int:
    """The exit code for these results."""
    states = [result.state for result in results]
    if REFUTED in states:
        return 1
    calls = [result for result in results if result.judgement is None or result.judgement.call is not None]
    if UNVERIFIED in states or (require_match and (not calls or any(not result.state for result in calls))):
        return 3
    return 0
