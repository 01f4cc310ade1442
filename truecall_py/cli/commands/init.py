"""`truecall init`: writes a contract file, trusts it and registers the hook, in one command. Never overwrites a
contract file."""

from __future__ import annotations

import contextlib
import os

import click

from truecall_py.cli import options
from truecall_py.cli.commands import schema
from truecall_py.cli.commands.install import HARNESSES, carry_out, parse_job
from truecall_py.cli.commands.trust import print_contracts
from truecall_py.contracts.model import FILE_NAME
from truecall_py.core.errors import TruecallError, UsageError
from truecall_py.setup import project_kind
from truecall_py.setup.plan import install
from truecall_py.trust.pin import canonicalize_path, compile_file, trust
from truecall_py.trust.store import TRUSTED, check_state_folder, load_source

REVIEW_FIRST = "review the file first, then add --yes"


@click.command()
@click.option("--observe", is_flag=True, help="Begin in observe mode: you are told, the agent is not.")
@click.option("--yes", is_flag=True, help="Do not ask (needed where there is no terminal).")
@options.PERSON
@click.option("--harness", "names", metavar="NAME", multiple=True, type=click.Choice(HARNESSES),
              help="Register with this client, not with those that are found; may be repeated.")  # fmt: skip
@options.REGISTERED_STATE
def init(observe: bool, yes: bool, person: bool, names: tuple[str, ...], state: str) -> int:
    """Begins: writes a truecall.yaml that fits the project, trusts it, and registers the hook.

    Looks for the kind of project and for the clients that are here (their programs and folders), and asks before
    it trusts and before it registers. A truecall.yaml that is there stays as it is. --observe is the way to begin
    in a team.

    Ends with 0 when the hook is registered, 1 where you said no or no client was found, 2 for wrong usage or for
    settings that could not be changed.
    """
    options.refuse_agents(person)
    options.require_terminal(yes, REVIEW_FIRST)
    folder = os.getcwd()
    check_state_folder(state)
    kinds, here = project_kind.detect_kinds(folder), project_kind.detect_clients(folder)
    click.echo(f"project: {', '.join(kinds) or 'of no kind that is known'}")
    click.echo(f"clients: {', '.join(here) or 'none found'}")
    write_files(folder, kinds, observe)
    if not ask_trust(os.path.join(folder, FILE_NAME), state, yes):
        click.echo("It is not trusted, and nothing is registered. When it says what you want: truecall init")
        return 1
    return register_clients(names or tuple(here), state, yes)


def write_files(folder: str, kinds: list[str], observe: bool) -> None:
    """Writes the contract file and its schema, unless they exist. Raises UsageError."""
    path = os.path.join(folder, FILE_NAME)
    if not create(path, project_kind.build_contract_file(kinds, observe)):
        click.echo(f"{FILE_NAME}: is there already, and stays as it is")
        if observe:
            click.echo("note: --observe is for a new file; in yours it is the line: mode: observe")
        return
    click.echo(f"{FILE_NAME}: written")
    if create(os.path.join(folder, project_kind.SCHEMA), schema.render_schema()):
        click.echo(f"{project_kind.SCHEMA}: written, for your editor")


def create(path: str, text: str) -> bool:
    """Creates a file; returns False if the path exists. Raises UsageError."""
    if os.path.lexists(path):
        return False
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            file.write(text)
        os.link(temporary, path)  # never over a file that came in between
    except FileExistsError:
        return False
    except OSError as error:
        what = f"the file cannot be written: {error.strerror}"
        raise UsageError(what, path, "look at the permissions of its folder") from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
    return True


def ask_trust(path: str, state: str, yes: bool) -> bool:
    """Shows the contract file and asks to trust it; returns whether it is trusted now. Raises TruecallError."""
    path = canonicalize_path(path)
    known = load_source(path, os.path.dirname(path), state)
    if known is not None and known.status == TRUSTED:
        click.echo(f"trusted already: {path}")
        return True
    compiled = compile_file(path)
    print_contracts(compiled)
    try:
        options.confirm("Enforce these contracts?", yes, REVIEW_FIRST)
    except click.Abort:
        return False
    trust(compiled, state)
    click.echo(f"trusted: {path}")
    return True


def register_clients(names: tuple[str, ...], state: str, yes: bool) -> int:
    """Registers with each client that the person agrees to, and returns the exit code."""
    code, done = 0, []
    for name in dict.fromkeys(names):
        what = parse_job(name, True, False, state)
        try:
            if not yes and not click.confirm(f"Register with {what.about.client} in {what.path}?", default=True):
                continue
            plan, _ = carry_out(what, install, False)
        except click.Abort:
            break
        except TruecallError as error:
            click.echo(f"{name}: not registered\n{error}", err=True)
            code = error.exit_code
            continue
        done.append(name)
        click.echo(f"{name}: {'registered' if plan.changes else 'registered already'} in {what.path}")
        for note in plan.notes:
            click.echo(f"note: {note}")
    if not done:
        click.echo(f"No client asks truecall yet. For one of {', '.join(HARNESSES)}: truecall install NAME")
        return code or 1
    click.echo("Now try it: truecall doctor")
    return code
