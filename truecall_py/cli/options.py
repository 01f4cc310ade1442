"""What several commands share: options together with the values behind them, and questions to a person."""

from __future__ import annotations

import os
import sys
import time

import click

from truecall_py.clients import NAMES
from truecall_py.core import paths
from truecall_py.core.errors import UsageError
from truecall_py.core.timestamps import parse_time


def resolve_state(context: click.Context, option: click.Parameter, value: str | None) -> str:
    """The absolute path of the state folder."""
    return os.path.abspath(value) if value else paths.find_state_folder()


def resolve_since(context: click.Context, option: click.Parameter, value: str | None) -> float:
    """The time in seconds since the epoch, 0.0 if the option is left out. Raises UsageError."""
    return parse_time(value, time.time()) if value else 0.0


STATE = click.option("--state", metavar="DIR", callback=resolve_state, help="The state folder.")
REGISTERED_STATE = click.option("--state", metavar="DIR", callback=resolve_state,
                                help="The state folder; the registered command names it.")  # fmt: skip
SINCE = click.option("--since", metavar="TIME", callback=resolve_since,
                     help="Only calls since then: 2h, 7d, 2026-11-29.")  # fmt: skip
SESSION = click.option("--session", metavar="S", default="", help="Only this session: its id, or the start of it.")
CONTRACTS = click.option("--contracts", metavar="PATH",
                         help="A contract file; default: every truecall.yaml from here upward.")  # fmt: skip
CLIENT = click.option(
    "--harness", "--client", "harness", type=click.Choice(NAMES), metavar="CLIENT",
    help=f"The client that sent the payload; default: recognised. One of {', '.join(NAMES)}.",
)  # fmt: skip
PERSON = click.option(
    "--person", is_flag=True, help="Confirm that a human runs this, although the environment looks like an agent's."
)


def list_agent_variables() -> list[str]:
    """The variables that clients set for the commands of their agents."""
    from truecall_py.clients import load_registration, unsupported

    known = [name for client in NAMES for name in load_registration(client).agent_variables]
    return [*known, *unsupported.AGENT_VARIABLES]


def refuse_agents(person: bool, action: str = "change what is trusted") -> None:
    """Raises UsageError in an agent's shell, unless `person` (the option --person) is set. `action` completes the
    sentence "only a person may"."""
    marks = [name for name in list_agent_variables() if os.environ.get(name)]
    if marks and not person:
        raise UsageError(
            f"only a person may {action}, and this looks like an agent's shell ({marks[0]} is set)",
            do="run it in your own terminal, or add --person",
        )


def require_terminal(yes: bool, do: str = "add --yes") -> None:
    """Raises UsageError if a question is needed and there is no terminal; `yes`: no question is needed."""
    if not yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("cannot ask: this is not a terminal", do=do)


def confirm(question: str, yes: bool, do: str = "add --yes") -> None:
    """Asks, unless `yes`. Raises click.Abort for a no, and UsageError without a terminal."""
    require_terminal(yes, do)
    if not yes:
        click.confirm(question, abort=True)
