"""`truecall report`: the ledger as one page of HTML that a person can open anywhere. Shows; judges and counts
nothing."""

from __future__ import annotations

import os
import stat as modes
import sys
import time

import click

from truecall_py.cli.commands.log import EMPTY, WHOLE, folder_of
from truecall_py.core.atomic_write import write_whole
from truecall_py.core.errors import UsageError
from truecall_py.core.timestamps import moment
from truecall_py.ledger.store import Ledger
from truecall_py.reporting import queries

NAME = "truecall-report.html"


@click.command()
@click.option("--since", metavar="TIME", help="Only calls made since then: 2h, 7d, 2026-11-29.")
@click.option("--session", metavar="S", default="", help="Only this session, by its id or its beginning.")
@click.option(
    "-o", "--output", metavar="FILE", default=NAME, show_default=True, help="Where to; - for standard output."
)
@click.option("--force", is_flag=True, help="Overwrite a file that is no report.")
@click.option("--state", metavar="DIR", help="The state folder.")
def report(since: str | None, session: str, output: str, force: bool, state: str | None) -> None:
    """Writes a page that shows what agents reported and what was there.

    One file without a script, which loads nothing: figures, plots, every false claim with its evidence, the
    correction and what followed, and the timeline of each session. An older report is overwritten, any other file
    only with --force. It holds what the ledger holds, arguments and findings too, and only you can read it. Prints
    the path.

    Exit codes: 0 written (nothing is, where no hook ever wrote to a ledger), 2 wrong usage, or the file cannot be
    written, 3 the ledger cannot be read.
    """
    folder, now = folder_of(state), time.time()
    from_ = moment(since, now) if since else 0.0
    if output != "-":
        output = os.path.abspath(output)
        may_write(output, force)
    ledger = queries.opened(folder)
    if ledger is None:
        click.echo(EMPTY.format(state=folder), err=True)
        return
    text = page(ledger, from_, session, now)
    if output == "-":
        sys.stdout.buffer.write(text.encode())
        return
    write(output, text, force)
    click.echo(output)


def page(ledger: Ledger, since: float, session: str, now: float) -> str:
    """The page of these sessions. Raises UsageError for a session that is not there."""
    from truecall_py.reporting.html import document
    from truecall_py.reporting.html.account import Account

    names = queries.sessions(ledger, since)
    if session:
        session = queries.whole(ledger, session)
        if session not in names:
            raise UsageError(
                f"the ledger knows no call of session {session[:80]!r}", do="truecall log lists the newest"
            )
        names = [session]
    account = Account(since, now)
    for name in reversed(names):
        account.session(name, ledger.session(name, WHOLE))
    return document.page(account, session)


def may_write(path: str, force: bool) -> None:
    """Raises UsageError where the report may not take this place: what is there is no file, or not
    ours."""
    from truecall_py.reporting.html.document import START

    try:
        about = os.lstat(path)
    except OSError:
        return  # nothing there; what else may be wrong is said when it is written
    if not modes.S_ISREG(about.st_mode):
        raise UsageError("this is no file", path, "name another one with -o, or - for standard output")
    if force:
        return
    try:
        with open(path, "rb") as file:
            ours = file.read(len(START)) == START.encode()
    except OSError:
        ours = False
    if not ours:
        raise UsageError(
            "there is a file that truecall report did not write", path, "name another one with -o, or add --force"
        )


def write(path: str, text: str, force: bool) -> None:
    """Writes the page in one step. Raises UsageError."""
    try:
        write_whole(path, text.encode(), last=lambda: may_write(path, force))
    except OSError as error:
        raise UsageError(f"the file cannot be written: {error.strerror}", path, "name another with -o") from None
