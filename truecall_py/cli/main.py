"""The command line: a click group that imports a command only when it runs. `run` is one of the three places that
may catch every exception: a bug ends in a crash report and exit code 3, never in a traceback."""

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
    "init": "Set up this project: write a contract file, trust it, register the hook.",
    "demo": "Watch a false success, its correction and the retry, in five seconds.",
    "hook": "Answer one hook event of a client (the command that settings register).",
    "verify": "Judge captured payloads against the current state of the machine.",
    "explain": "Show how truecall reads a payload and which contracts apply.",
    "lint": "Check contract files.",
    "rule": "Explain a code of `truecall lint`.",
    "test": "Run the examples in contract files.",
    "record": "Draft a contract from a captured call and what it changed.",
    "convert": "Convert JSON contracts of truecall's predecessor into a contract file.",
    "schema": "Print the JSON Schema of contract files, for editors.",
    "trust": "Review and pin a contract file, so that the hook enforces it.",
    "install": "Register the hook with a client.",
    "uninstall": "Remove the hook from a client's settings.",
    "doctor": "Test that the hook works, and report what would stop it.",
    "last": "Show the newest refuted call or held stop, with its evidence.",
    "log": "List the recorded calls, or show one in full.",
    "reconcile": "Check unresolved operations and calls again.",
    "stats": "Count false successes, and what agents did after a correction.",
    "report": "Write the ledger as one HTML page.",
    "export": "Write the ledger as OpenTelemetry, JSON lines or CSV.",
    "replay": "Judge the calls of past transcripts.",
    "off": "Turn truecall off for a while.",
    "on": "Turn truecall on again.",
}


MODULES = {"on": "off", "uninstall": "install"}  # the commands whose code is in the module of another one


class LazyGroup(click.Group):
    """A group that lists its commands from COMMANDS and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"truecall_py.cli.commands.{MODULES.get(cmd_name, cmd_name)}")
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command

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
            hint = f" Did you mean {close[0]!r}?" if close else " To list them: truecall --help"
            raise click.UsageError(f"There is no command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="truecall", message="%(prog)s %(version)s")
def group() -> None:
    """Checks whether a coding agent's tool call did what it reported, and makes the agent correct it.

    Exit codes: 0 verified or nothing found, 1 refuted or problems found, 2 wrong usage, 3 unverified.
    """


# The errors of a disk that takes no more output.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)


def explain_error(error: TruecallError) -> str:
    if isinstance(error, ContractError):
        return "\n".join(
            f"{error.path}:{problem.line}:{problem.column}: {problem.code} {problem.message}"
            + (f"\n  -> {problem.hint}" if problem.hint else "")
            for problem in error.problems
        )
    return str(error)


def run(argv: list[str]) -> int:
    """Runs a command and returns the process's exit code."""
    if sys.stdout is None:  # the caller closed it and wants no output
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    for stream in (sys.stdout, sys.stderr):  # a terminal without some letters is no reason to fail
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        plain = False if os.environ.get("NO_COLOR") else None  # None: as the terminal is
        code = group.main(argv, prog_name="truecall", standalone_mode=False, color=plain)
        # Flushed here, so that a reader that left raises BrokenPipeError inside this block.
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("\ntruecall: stopped. Nothing was changed.", err=True)
        return 130
    except TruecallError as error:
        click.echo(f"truecall: {explain_error(error)}", err=True)
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 2
    except OSError as error:
        if error.errno not in FULL or error.filename is not None:
            return report_bug(error)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # otherwise Python reports the error again on exit
        why = f"cannot write the output: {error.strerror}\n  -> free some space, or write it elsewhere"
        click.echo(f"truecall: {why}", err=True)
        return 2
    except Exception as error:
        return report_bug(error)
    return code if isinstance(code, int) else 0


def report_bug(error: Exception) -> int:
    """Writes a crash report without user data and says where it is; returns exit code 3."""
    path = crash_report.write_report(error, paths.find_state_folder())
    where = f"\n  -> the crash report holds none of your data: {path}" if path else ""
    click.echo(f"truecall: this is a bug in truecall ({type(error).__name__}){where}", err=True)
    return 3
