"""`truecall report`: the ledger as one page of HTML. Shows; judges and counts nothing."""

from __future__ import annotations

import os
import stat as modes
import sys
import time

import click

from truecall_py.cli import options
from truecall_py.cli.commands.log import EMPTY, WHOLE
from truecall_py.core.atomic_write import write_whole
from truecall_py.core.errors import UsageError
from truecall_py.ledger.store import Ledger
from truecall_py.reporting import queries

NAME = "truecall-report.html"


@click.command()
@options.SINCE
@options.SESSION
@click.option("-o", "--output", metavar="FILE", default=NAME, show_default=True,
              help="The file; - for standard output.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite a file that is not a report.")
@options.STATE
def report(since: float, session: str, output: str, force: bool, state: str) -> None:
    """Writes an HTML page that compares what agents reported with what truecall found.

    The page shows figures, plots, every false success with its evidence, its correction and what followed, and a
    timeline per session. It is one file, has no script and loads nothing.

    The page holds everything that the ledger holds, arguments and evidence included. Only you can read it. An older
    report is overwritten, any other file only with --force. Prints the path.

    Exit codes: 0 written (or no ledger yet, and nothing written), 2 wrong usage, or the file cannot be written, 3 the
    ledger cannot be read.
    """
    if output != "-":
        output = os.path.abspath(output)
        may_write(output, force)
    ledger = queries.open_ledger(state)
    if ledger is None:
        click.echo(EMPTY.format(state=state), err=True)
        return
    text = render_report(ledger, since, session, time.time())
    if output == "-":
        sys.stdout.buffer.write(text.encode())
        return
    write(output, text, force)
    click.echo(output)


def render_report(ledger: Ledger, since: float, session: str, now: float) -> str:
    """The page as HTML; `since` and `now` in seconds since the epoch. Raises UsageError for an unknown session."""
    from truecall_py.reporting.html import document
    from truecall_py.reporting.html.account import Account

    names = queries.list_sessions(ledger, since)
    if session:
        session = queries.find_session_id(ledger, session)
        if session not in names:
            what = f"the ledger has no call of session {session[:80]!r}"
            raise UsageError(what, do="list the newest with: truecall log")
        names = [session]
    account = Account(since, now)
    for name in reversed(names):
        account.session(name, ledger.session(name, WHOLE))
    return document.render_page(account, session)


def may_write(path: str, force: bool) -> None:
    """Raises UsageError if the report may not be written here: the path is not a file, or not a report."""
    from truecall_py.reporting.html.document import START

    try:
        about = os.lstat(path)
    except OSError:
        return  # nothing there; other errors appear on writing
    if not modes.S_ISREG(about.st_mode):
        raise UsageError("this is not a regular file", path, "name another one with -o, or - for standard output")
    if force:
        return
    try:
        with open(path, "rb") as file:
            ours = file.read(len(START)) == START.encode()
    except OSError:
        ours = False
    if not ours:
        raise UsageError("this file exists and is not a report", path, "name another one with -o, or add --force")


def write(path: str, text: str, force: bool) -> None:
    """Writes the page in one step. Raises UsageError."""
    try:
        write_whole(path, text.encode(), last=lambda: may_write(path, force))
    except OSError as error:
        raise UsageError(f"cannot write the file: {error.strerror}", path, "name another file with -o") from None
