"""`truecall doctor`: proves that truecall is asked, by running what is registered, and says what would keep it
from that. Changes nothing."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterable, Iterator
from typing import Any

import click

from truecall_py.cli.commands.install import HARNESSES, name_clients
from truecall_py.cli.commands.lint import NEARLY
from truecall_py.clients import load_hook
from truecall_py.clients.handlers import ERROR, NOTE, OK, PLUGIN_SCOPE, WARNING, Finding, Handler
from truecall_py.clients.payload import quote_word
from truecall_py.core import paths
from truecall_py.core.errors import TruecallError
from truecall_py.core.plural import count
from truecall_py.core.redaction import escape_hidden
from truecall_py.core.timestamps import format_local_time
from truecall_py.doctor import activity, contracts, registration_faults, registrations, self_test
from truecall_py.doctor.self_test import Surroundings
from truecall_py.hook import pause
from truecall_py.reporting.text import find_width

PATIENCE = 30.0  # seconds for one canary, where the client's own time-out is not less
SLOW = 5.0


@click.command()
@click.argument("harness", metavar="[HARNESS]", required=False, type=click.Choice(HARNESSES))
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="How the findings are written.")  # fmt: skip
@click.option("--state", metavar="DIR", help="The folder of the trust store, if not the one that is registered.")
@name_clients
def doctor(harness: str | None, form: str, state: str | None) -> None:
    """Proves that the hook works, and says what would keep it from that.

    HARNESS is CLIENTS; all of them if left
    out. doctor runs every command that is registered for a session in the current folder, with a call that no
    agent made, and checks its answer. Then it tries each with a broken contract and with one that holds. It
    changes nothing.

    Ends with 0 where all is well (warnings are allowed), 1 where something is broken or nothing is registered,
    2 for wrong usage.
    """
    names = [harness] if harness else HARNESSES
    findings = list(diagnose(names, harness is None, state))
    if form == "json":
        click.echo(registration_faults.render_json(findings))
    else:
        print_findings(findings)
    if any(finding.level == ERROR for finding in findings):
        click.get_current_context().exit(1)


def diagnose(names: list[str], every: bool, state: str | None) -> Iterator[Finding]:
    folder = os.getcwd()
    inventory = registrations.take_inventory(names, folder)
    yield from registration_faults.describe_absent(names, inventory, every, folder)
    yield from registration_faults.find_drafts(names, folder)
    for name in names:
        around = self_test.find_environment(name, folder, os.environ)
        yield from (finding for finding in inventory.findings if finding.group == name)
        yield from registration_faults.find_client_faults(name, inventory, folder, around.env)
        clients_seen: set[str] = set()
        off = dict(find_switch(name, inventory.handlers))
        yield from off.values()
        for handler in inventory.handlers:
            if handler.harness == name and state_of(handler) not in off:  # else it would answer with nothing
                yield (answer := prove_registration(handler, around))
                if answer.level in (OK, WARNING) and not around.withheld and prove_engine_once(handler, clients_seen):
                    yield prove_judgement(handler, around)
    states = list(dict.fromkeys(state_of(handler) for handler in inventory.handlers))
    used = os.path.abspath(state) if state else (states or [paths.find_state_folder()])[0]
    for other in states:
        if other != used:
            what = f"some registered commands look for trust in {other}, others in {used}"
            yield Finding(WARNING, "contracts", what, other, "truecall install HARNESS again, for each of them")
    here = paths.find_state_folder()
    if here != used and not state:
        what = f"the registered commands look for trust in {used}, and `truecall trust` here writes to {here}"
        yield Finding(WARNING, "contracts", what, used, f"truecall trust --state '{used}'")
    yield from contracts.find_contracts(folder, used, NEARLY)
    clients = {handler.harness: hasattr(load_hook(handler.harness), "BEFORE") for handler in inventory.handlers}
    yield from contracts.find_unguarded(folder, used, clients)
    yield from activity.find_activity(dict.fromkeys(handler.harness for handler in inventory.handlers), folder, used)


def state_of(handler: Handler) -> str:
    return handler.option("--state") or paths.find_state_folder()


def find_switch(name: str, handlers: Iterable[Handler]) -> Iterator[tuple[str, Finding]]:
    """(state folder, what to say of it) where a person switched off what is registered with this client."""
    for state in dict.fromkeys(state_of(handler) for handler in handlers if handler.harness == name):
        ends = pause.read_end(state, time.time())
        if ends is not None:
            more = "" if state == paths.find_state_folder() else f" --state {quote_word(state)}"
            until = format_local_time(ends)
            what = f"truecall is switched off until {until}: no call is judged, and nothing can be proven"
            where = pause.switch_path(state)
            yield state, Finding(ERROR, name, what, where, f"truecall on{more}, then truecall doctor")


def prove_engine_once(handler: Handler, asked: set[str]) -> bool:
    """Whether the engine behind this command is still to be proven, which one event after success is enough for."""
    hook = load_hook(handler.harness)
    successes = [event for event in hook.HANDLED if event not in getattr(hook, "FAILED", ())]
    before = handler.event == self_test.find_event_before(handler.harness)
    line = " ".join(word for word in [handler.root, handler.python, *handler.words]
                    if word != handler.event or before)  # fmt: skip
    if (
        (handler.event not in successes and not before)
        or line in asked
        or registrations.explain_unproven(handler, os.getcwd())
    ):
        return False
    asked.add(line)
    return True


def prove_registration(handler: Handler, around: Surroundings) -> Finding:
    """Runs one registered command as its client does, with the canary, and looks at the answer."""
    name, event = handler.harness, handler.event
    if event not in (*load_hook(name).HANDLED, *handler.about.events):
        return Finding(WARNING, name, f"{event} is an event that truecall does not judge", handler.where,
                       handler.render_install())  # fmt: skip
    if why := registrations.explain_unproven(handler, os.getcwd()):
        what = f"{event} was not proven: a project's file holds the command, and {why}"
        return Finding(WARNING, name, what, handler.where, f"look at it, then: {handler.render_install()}")
    if around.withheld:
        what = f"{event} was not proven: what a project's file has loaded into every hook is not run here"
        return Finding(WARNING, name, f"{what} ({', '.join(around.withheld)})", handler.where,
                       "look at it, and take it out if it is not yours")  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="truecall-doctor-") as scratch:
        folder = os.path.realpath(scratch)
        self_test.write_contract(folder)
        payload = self_test.build_payload(name, event, folder)
        began = time.monotonic()
        try:
            code, out, err = run_handler(handler, handler.run, payload, folder, around)
        except subprocess.TimeoutExpired as late:
            why = f"no answer to the canary of {event} within {late.timeout:g} s: the client goes on in silence"
            return Finding(ERROR, name, why, handler.where, handler.render_install())
        except (OSError, ValueError) as error:
            why = f"no shell could be started with the command: {error}"
            return Finding(ERROR, name, why, handler.where, handler.render_install())
        took = time.monotonic() - began
    wrong = self_test.find_fault(name, event, payload, code, out, err)
    if wrong:
        do = handler.render_install()
        if handler.option("--contracts") and not out:
            what = f"the canary of {event} cannot prove a command that names its own --contracts"
            return Finding(WARNING, name, what, handler.where, do)
        _, setting = around.wrap(handler.run)
        through = f" (through {setting})" if setting else ""
        return Finding(ERROR, name, f"{event}: {wrong}{through}", handler.where, do)
    if took > SLOW:
        return Finding(WARNING, name, f"{event} answered the canary, but only after {took:.1f} s", handler.where)
    client = handler.about.client
    return Finding(OK, name, f"{event} answered the canary in {took * 1000:.0f} ms, as {client} reads it")


def prove_judgement(handler: Handler, around: Surroundings) -> Finding:
    """Runs the line of ours with a trusted contract that the canary breaks, then with what keeps it: whether the
    engine and a check work, and the answer is right. At the event before a call: whether it looks."""
    name, event = handler.harness, handler.event
    then = handler.render_install()
    do = f"install truecall's package again (a part of it may be missing), then: {then}"
    with tempfile.TemporaryDirectory(prefix="truecall-doctor-") as scratch:
        folder = os.path.realpath(scratch)
        try:
            path, state = self_test.prove(folder)
            line = self_test.extend_line(handler.command, path, state)
            if not line:
                what = f"{event}: that contracts are judged was not proven, since the line is more than our command"
                return Finding(NOTE, name, what, handler.where)
            payload = self_test.build_payload(name, event, folder)
            broken = run_handler(handler, line, payload, folder, around)
            if event == self_test.find_event_before(name):
                return check_snapshot(handler, self_test.has_snapshot(state), broken)
            with open(os.path.join(folder, self_test.EFFECT), "x", encoding="utf-8"):
                kept = run_handler(handler, line, payload, folder, around)
        except subprocess.TimeoutExpired as late:
            what = f"{event}: no contract was judged within {late.timeout:g} s"
            return Finding(ERROR, name, what, handler.where, do)
        except (TruecallError, ImportError, OSError, ValueError) as error:
            return Finding(ERROR, name, f"{event}: no contract can be judged: {error}", handler.where, do)
    if wrong := self_test.find_fault(name, event, payload, *broken, self_test.REFUTED):
        return Finding(ERROR, name, f"{event}, where a contract is broken: {wrong}", handler.where, do)
    if wrong := self_test.find_silent_fault(kept[0], kept[1]):
        return Finding(ERROR, name, f"{event}, where a contract is kept: {wrong}", handler.where, do)
    return Finding(OK, name, f"{event} told of a contract that was broken, and kept silent on one that was kept")


def check_snapshot(handler: Handler, kept: bool, answer: tuple[int, bytes, bytes]) -> Finding:
    """What is to be said of the look before a call, by what it kept and what it answered."""
    wrong = self_test.find_silent_fault(answer[0], answer[1]) or ("" if kept else "what it saw was not kept")
    if wrong:
        what = f"{handler.event}: {wrong}, so what changed in a call cannot be told"
        return Finding(ERROR, handler.harness, what, handler.where, handler.render_install())
    return Finding(OK, handler.harness, f"{handler.event} looked before the canary, and kept what it saw")


def run_handler(
    handler: Handler, line: str, told: dict[str, Any], folder: str, around: Surroundings
) -> tuple[int, bytes, bytes]:
    """(exit code, output, errors) of a line of this handler, started as its client would. Raises TimeoutExpired,
    OSError, ValueError."""
    env = self_test.build_environment(handler.harness, folder, around.env)
    if handler.scope == PLUGIN_SCOPE and handler.about.plugin is not None:
        env[handler.about.plugin.root] = handler.root
    data = json.dumps(told).encode()
    return run_command(around.wrap(line)[0], folder, env, data, find_timeout(handler))


def find_timeout(handler: Handler) -> float:
    given = handler.timeout if isinstance(handler.timeout, (int, float)) else 0
    seconds = given / (handler.about.timeout[1] / 30)
    return min(seconds, PATIENCE) if seconds > 0 else PATIENCE


def run_command(
    command: str, folder: str, env: dict[str, str], data: bytes, seconds: float
) -> tuple[int, bytes, bytes]:
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


def print_findings(findings: list[Finding]) -> None:
    group = ""
    order = list(dict.fromkeys(finding.group for finding in findings))
    for finding in sorted(findings, key=lambda each: order.index(each.group)):
        if finding.group != group:
            group = finding.group
            click.echo(group)
        where = f"  [{finding.where}]" if finding.where else ""
        say(f"  {finding.level:<8} {finding.what}{where}", 11)
        if finding.do and finding.level != OK:
            say(f"           -> {finding.do}", 14)
    errors = sum(finding.level == ERROR for finding in findings)
    warnings = sum(finding.level == WARNING for finding in findings)
    click.echo(f"{count(errors, 'error')}, {count(warnings, 'warning')}")


def say(text: str, indent: int) -> None:
    """A finding on one line; folded under its own beginning at a terminal, paths and long words kept whole."""
    plain = escape_hidden(text.replace("\n", " "))
    if sys.stdout.isatty():
        fold = textwrap.TextWrapper(find_width(), "", " " * indent, break_long_words=False, break_on_hyphens=False)
        plain = fold.fill(plain)
    click.echo(plain)
