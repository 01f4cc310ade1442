"""The command line: a click group whose commands are imported only when they run. The third and last place
that may catch everything; a bug ends in a report and exit code 3, never in a traceback."""

from __future__ import annotations

import errno
import io
import os
import sys
from importlib import import_module

import click

from truecall_py.core import paths
from truecall_py.core.errors import ContractError, TruecallError
from truecall_py.core.version import __version__
from truecall_py.hook import crash_report

COMMANDS = {
    "init": "Begin: a contract file for this project, trusted and registered.",
    "demo": "See it in five seconds: the lie, the correction, the second try that lands.",
    "hook": "Answer one hook event of an agent harness (what the settings register).",
    "verify": "Judge captured payloads by hand.",
    "explain": "Show how a payload was understood and which contracts apply.",
    "lint": "Check contract files.",
    "test": "Run the examples that contracts carry.",
    "record": "Turn a captured call into a first contract, by what it changed.",
    "convert": "Turn the JSON contracts of truecall's ancestor into a contract file.",
    "schema": "Print the JSON Schema of contract files, for editors.",
    "trust": "Pin a contract file, so that the hook enforces it.",
    "install": "Register the hook with a client.",
    "uninstall": "Take the hook out of a client's settings.",
    "doctor": "Prove that the hook works, and say what would keep it from that.",
    "last": "Why was the agent stopped? The newest refuted call, with its evidence.",
    "log": "List what the hook was told, or show one call in full.",
    "reconcile": "Look up what became of operations and calls that stand open.",
    "stats": "Count false claims, and what agents did after a correction.",
    "report": "Write a page that shows it all, for people to look at.",
    "export": "Write the ledger as OpenTelemetry, JSON lines or CSV.",
    "replay": "Read past transcripts: which contracts would have applied, and what they say.",
    "off": "Switch truecall off for a while.",
    "on": "Switch it on again.",
}


class LazyGroup(click.Group):
    """A group that knows its commands' names and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found = getattr(import_module(f"truecall_py.cli.commands.{cmd_name}"), cmd_name)
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(name, COMMANDS, 1)
            hint = f" Did you mean {close[0]!r}?" if close else " `truecall --help` lists them."
            raise click.UsageError(f"There is no command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="truecall", message="%(prog)s %(version)s")
def group() -> None:
    """Checks whether a coding agent's tool call really did what it reported, and makes the agent put it right.

    Exit codes: 0 verified or nothing to say, 1 refuted or findings, 2 wrong usage, 3 could not verify.
    """


# What the system says where output goes to a disk that takes nothing more.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)


def say(text: str) -> None:
    click.echo(text, err=True)


def explained(error: TruecallError) -> str:
    if isinstance(error, ContractError):
        lines = [
            f"{error.path}:{problem.line}:{problem.column}: {problem.code} {problem.message}"
            + (f"\n  -> {problem.hint}" if problem.hint else "")
            for problem in error.problems
        ]
        return "\n".join(lines)
    return str(error)


def run(argv: list[str]) -> int:
    """Runs a command; the exit code the process ends with."""
    if sys.stdout is None:  # closed by whoever started it, who wants no output
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    for stream in (sys.stdout, sys.stderr):  # a terminal that has not every letter is no reason to fail
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        plain = False if os.environ.get("NO_COLOR") else None  # None: as the terminal is
        code = group.main(argv, prog_name="truecall", standalone_mode=False, color=plain)
        # Whoever reads our output may have left; what is still in the buffer is then nobody's.
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        say("\ntruecall: stopped; nothing was changed")
        return 130
    except TruecallError as error:
        say(f"truecall: {explained(error)}")
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 2
    except OSError as error:
        if error.errno not in FULL or error.filename is not None:
            return bug(error)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python complains once more at its end
        say(f"truecall: the output cannot be written: {error.strerror}\n  -> make room, or send it elsewhere")
        return 2
    except Exception as error:
        return bug(error)
    return code if isinstance(code, int) else 0


def bug(error: Exception) -> int:
    """Writes a bug down, without anybody's data, and says where; the exit code of one."""
    path = crash_report.write(error, paths.state())
    where = f"; a report without any of your data is in {path}" if path else ""
    say(f"truecall: this is a bug of truecall's own ({type(error).__name__}){where}")
    return 3
