"""`truecall doctor`: proves that truecall is asked, by running what is registered, and says what would keep it
from that. Changes nothing."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time

import click

from truecall_py import canary, diagnosis, enforcement, installs, inventory, places
from truecall_py.commands.lint import NEARLY
from truecall_py.inventory import ERROR, OK, PLUGIN_SCOPE, WARNING, Finding, Handler
from truecall_py.masking import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

HARNESSES = installs.registered()
PATIENCE = 30.0  # seconds for one canary, where the client's own time-out is not less
SLOW = 5.0


@click.command()
@click.argument("harness", metavar="[HARNESS]", required=False, type=click.Choice(list(HARNESSES)))
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="How the findings are written.")  # fmt: skip
@click.option("--state", metavar="DIR", help="The folder of the trust store, if not the one that is registered.")
def doctor(harness: str | None, form: str, state: str | None) -> None:
    """Proves that the hook works, and says what would keep it from that.

    HARNESS is claude-code, cline, codex, copilot-cli, gemini-cli, opencode or qwen-code; all of them if left
    out. Every command line that is registered for a session in the current folder is run with a call that no
    agent made, and its answer is checked. Nothing is changed.

    Ends with 0 where all is well (warnings are allowed), 1 where something is broken or nothing is registered,
    2 for wrong usage.
    """
    names = [harness] if harness else list(HARNESSES)
    findings = list(diagnosed(names, harness is None, state))
    if form == "json":
        click.echo(diagnosis.as_json(findings))
    else:
        as_text(findings)
    if any(finding.level == ERROR for finding in findings):
        click.get_current_context().exit(1)


def diagnosed(names: list[str], every: bool, state: str | None) -> Iterator[Finding]:
    folder = os.getcwd()
    found = inventory.taken(names, folder, places.state())
    yield from diagnosis.absent(names, found, every)
    for name in names:
        yield from (finding for finding in found.findings if finding.group == name)
        yield from diagnosis.of_harness(name, found, folder)
        for handler in found.handlers:
            if handler.harness == name:
                yield proven(handler)
    yield from diagnosis.across(found)
    states = list(dict.fromkeys(handler.option("--state") or places.state() for handler in found.handlers))
    used = os.path.abspath(state) if state else (states or [places.state()])[0]
    for other in states:
        if other != used:
            what = f"some registered commands look for trust in {other}, others in {used}"
            yield Finding(WARNING, "contracts", what, other, "truecall install HARNESS again, for each of them")
    here = places.state()
    if here != used and not state:
        what = f"the registered commands look for trust in {used}, and `truecall trust` here writes to {here}"
        yield Finding(WARNING, "contracts", what, used, f"truecall trust --state '{used}'")
    yield from enforcement.found(folder, used, NEARLY)


def proven(handler: Handler) -> Finding:
    """Runs one registered command as its client does, with the canary, and looks at the answer."""
    name, event = handler.harness, handler.event
    if event not in (*HARNESSES[name].HANDLED, *HARNESSES[name].REGISTRATION.events):
        return Finding(WARNING, name, f"{event} is an event that truecall does not judge", handler.where,
                       diagnosis.mending(handler))  # fmt: skip
    if why := inventory.unproven(handler, os.getcwd()):
        what = f"{event} was not proven: a project's file holds the command, and {why}"
        return Finding(WARNING, name, what, handler.where, f"look at it, then: {diagnosis.mending(handler)}")
    with tempfile.TemporaryDirectory(prefix="truecall-doctor-") as made:
        folder = os.path.realpath(made)
        canary.lay(folder)
        told = canary.payload(name, event, folder)
        env = canary.environment(name, folder, os.environ)
        if handler.scope == PLUGIN_SCOPE:
            env["CLAUDE_PLUGIN_ROOT"] = handler.root
        began = time.monotonic()
        try:
            code, out, err = played(handler.run, folder, env, json.dumps(told).encode(), patience(handler))
        except subprocess.TimeoutExpired as late:
            why = f"no answer to the canary of {event} within {late.timeout:g} s: the client goes on in silence"
            return Finding(ERROR, name, why, handler.where, diagnosis.mending(handler))
        except (OSError, ValueError) as error:
            why = f"no shell could be started with the command: {error}"
            return Finding(ERROR, name, why, handler.where, diagnosis.mending(handler))
        took = time.monotonic() - began
    wrong = canary.trouble(name, event, told, code, out, err)
    if wrong:
        do = diagnosis.mending(handler)
        if handler.option("--contracts") and not out:
            what = f"the canary of {event} cannot prove a command that names its own --contracts"
            return Finding(WARNING, name, what, handler.where, do)
        return Finding(ERROR, name, f"{event}: {wrong}", handler.where, do)
    if took > SLOW:
        return Finding(WARNING, name, f"{event} answered the canary, but only after {took:.1f} s", handler.where)
    client = HARNESSES[name].REGISTRATION.client
    return Finding(OK, name, f"{event} answered the canary in {took * 1000:.0f} ms, as {client} reads it")


def patience(handler: Handler) -> float:
    given = handler.timeout if isinstance(handler.timeout, (int, float)) else 0
    seconds = given / (handler.about.timeout[1] / 30)
    return min(seconds, PATIENCE) if seconds > 0 else PATIENCE


def played(command: str, folder: str, env: dict[str, str], data: bytes, seconds: float) -> tuple[int, bytes, bytes]:
    """(exit code, output, errors) of the command; whatever it started ends with it. Raises TimeoutExpired."""
    process = subprocess.Popen(  # noqa: S603 - the very line that the client runs
        ["/bin/sh", "-c", command], cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        out, err = process.communicate(data, timeout=seconds)
        return process.returncode, out, err
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def as_text(findings: list[Finding]) -> None:
    group = ""
    order = list(dict.fromkeys(finding.group for finding in findings))
    for finding in sorted(findings, key=lambda each: order.index(each.group)):
        if finding.group != group:
            group = finding.group
            click.echo(group)
        where = f"  [{finding.where}]" if finding.where else ""
        click.echo(harmless(f"  {finding.level:<8} {finding.what}{where}".replace("\n", " ")))
        if finding.do and finding.level != OK:
            click.echo(harmless(f"           -> {finding.do}".replace("\n", " ")))
    errors = sum(finding.level == ERROR for finding in findings)
    warnings = sum(finding.level == WARNING for finding in findings)
    click.echo(f"{count(errors, 'error')}, {count(warnings, 'warning')}")


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
