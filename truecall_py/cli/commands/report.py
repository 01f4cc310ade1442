"""`truecall report`: the ledger as one page of HTML. Shows; judges and counts nothing."""

from __future__ import annotations

import os
import stat as modes
import sys
import time

import click

from truecall_py.cli.commands.log import EMPTY, WHOLE, find_state_folder
from truecall_py.core.atomic_write import write_whole
from truecall_py.core.errors import UsageError
from truecall_py.core.timestamps import parse_time
from truecall_py.ledger.store import Ledger
from truecall_py.reporting import queries

NAME = "truecall-report.html"


@click.command()
@click.option("--since", metavar="TIME", help="Only calls since then: 2h, 7d, 2026-11-29.")
@click.option("--session", metavar="S", default="", help="Only this session: its id, or the start of it.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default=NAME,
    show_default=True,
    help="The file; - for standard output.",
)
@click.option("--force", is_flag=True, help="Overwrite a file that is not a report.")
@click.option("--state", metavar="DIR", help="The state folder.")
def report(since: str | None, session: str, output: str, force: bool, state: str | None) -> None:
    """Writes an HTML page that compares what agents reported with what truecall found.

    The page shows figures, plots, every false success with its evidence, its correction and what followed, and a
    timeline per session. It is one file, has no script and loads nothing.

    The page holds everything that the ledger holds, arguments and evidence included. Only you can read it. An older
    report is overwritten, any other file only with --force. Prints the path.

    Exit codes: 0 written (or no ledger yet, and nothing written), 2 wrong usage, or the file cannot be written, 3 the
    ledger cannot be read.
    """
    folder, now = find_state_folder(state), time.time()
    from_ = parse_time(since, now) if since else 0.0
    if output != "-":
        output = os.path.abspath(output)
        may_write(output, force)
    ledger = queries.open_ledger(folder)
    if ledger is None:
        click.echo(EMPTY.format(state=folder), err=True)
        return
    text = render_report(ledger, from_, session, now)
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
            raise UsageError(
                f"the ledger has no call of session {session[:80]!r}", do="list the newest with: truecall log"
            )
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
