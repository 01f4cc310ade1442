"""`truecall trust`: a person reviews a contract file, and the hook enforces that content from then on."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Iterator, Sequence
from typing import Any

import click

from truecall_py.cli import options
from truecall_py.contracts.matchers import describe
from truecall_py.contracts.model import COMBINATORS, FILE_NAME
from truecall_py.core.plural import count
from truecall_py.core.redaction import escape_hidden
from truecall_py.trust.pin import Compiled, canonicalize_path, compile_file, list_trusted_paths, revoke
from truecall_py.trust.pin import trust as store
from truecall_py.trust.store import UNTRUSTED, check_state_folder, list_pins, load_source, locate_pins, read_pin


@click.command()
@click.argument("path", required=False)
@click.option("--yes", is_flag=True, help="Do not ask (needed without a terminal).")
@options.PERSON
@click.option("--list", "listing", is_flag=True, help="List the trusted files.")
@click.option("--revoke", "revoking", is_flag=True, help="Stop trusting PATH.")
@options.STATE
def trust(path: str | None, yes: bool, person: bool, listing: bool, revoking: bool, state: str) -> None:
    """Validates, shows and pins a contract file. The hook enforces the pinned version.

    PATH is a contract file or its folder; default: ./truecall.yaml. Code that a contract names inside its folder is
    pinned too. If the file changes, the hook keeps enforcing the pinned version until you run this command again.

    Exit codes: 0 done, 2 wrong usage, an unusable file or an agent's shell, 3 the state folder cannot be used, 130
    you answered no.
    """
    check_state_folder(state)
    if listing:
        print_trusted(state)
        return
    options.refuse_agents(person)
    target = os.path.join(path or ".", FILE_NAME) if path is None or os.path.isdir(path) else path
    if revoking:
        click.echo(f"{canonicalize_path(target)}: no longer trusted ({count(revoke(target, state), 'version')})")
        return
    compiled = compile_file(target)
    print_contracts(compiled)
    options.confirm("Enforce these contracts?", yes, "review the file first, then add --yes")
    store(compiled, state)
    click.echo(f"trusted: {compiled.path}")


def print_contracts(compiled: Compiled) -> None:
    """Prints what is about to be trusted: each contract of the file with its tools, checks and commands, and the
    number of contracts per pack."""
    say(compiled.path)
    for plain in compiled.contracts:
        if plain.get("pack"):
            continue
        about = ", ".join([*plain.get("tool", ()), *(f"kind {kind}" for kind in plain.get("kind", ()))])
        observe = "  (observe only)" if plain.get("mode") == "observe" else ""
        if plain.get("event") == "stop":
            about = f"at the stop{f', about {about}' if about else ''}"
        say(f"  {plain['id']}: {about}{observe}")
        if plain.get("claims"):
            say(f"    if the last message contains {' or '.join(map(render_value, plain['claims']))}")
        for path, matcher in plain["when"].items():
            say(f"    when {path} {describe(matcher)}")
        for line in list_check_lines(plain["post"]):
            say(f"    {line}")
        for line in list_check_lines(plain.get("pre", [])):
            say(f"    before the call: {line}")
        for effect in plain.get("requires", ()):
            say(f"    before the call: the effect {effect} must be verified")
        for line in list_operation_lines(plain):
            say(f"    {line}")
        for name in ("remedy", "alternatives"):  # orders to the agent
            if plain.get(name):
                say(f"    {name}: {render_value(plain[name])}")
    for line in list_pack_lines(compiled.contracts):
        say(f"  {line}")
    if compiled.policy:
        say(f"  policy: {render_value(compiled.policy)}")
    for problem in compiled.warnings:
        say(f"  warning, line {problem.line}: {problem.message}")
    if compiled.pinned:
        say(f"  also pinned: {', '.join(compiled.pinned)}")
    if compiled.unpinned:
        say(f"  run but not pinned: {', '.join(compiled.unpinned)}")
    if os.path.basename(compiled.path) != FILE_NAME:
        say(f"  note: the hook reads this file only with --contracts, because its name is not {FILE_NAME}")


def list_pack_lines(contracts: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A line per pack: its contracts ship with truecall, and listing each would hide the file's own."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for plain in contracts:
        if plain.get("pack"):
            observe = "  (observe only)" if plain.get("mode") == "observe" else ""
            found.setdefault((plain["pack"], observe), []).append(plain)
    for (pack, observe), those in found.items():
        first = sum(bool(plain.get("pre")) for plain in those)
        some = "all" if first == len(those) else f"{first} of them"
        before = f", {some} before the call" if first else ""
        yield f"pack {pack}: {count(len(those), 'contract')}{before}{observe}"


def list_operation_lines(plain: dict[str, Any]) -> Iterator[str]:
    """The lines about a contract's receipt, idempotency key and steps."""
    if receipt := plain.get("receipt"):
        for line in list_check_lines(receipt["from"]):
            yield f"receipt from {line}"
        for path, wanted in receipt["match"].items():
            yield f"  {path} is {render_value(wanted)}"
        yield f"  {receipt['state']}: " + ", ".join(f"{word} is {means}" for word, means in receipt["states"].items())
        yield f"  a second call for it is {'refused' if receipt['duplicates'] == 'refuse' else 'reported'}"
    if plain.get("key"):
        yield f"idempotency key {plain['key']}"
    if plain.get("steps"):
        yield f"steps: {', '.join(plain['steps'])}"


def say(text: str) -> None:
    """Prints a line; control characters of a contract cannot hide other lines."""
    click.echo(escape_hidden(text.replace("\n", "\\n")))


def list_check_lines(checks: Any, indent: str = "") -> Iterator[str]:
    """A line per check with its parameters; argv as a shell command."""
    for item in checks if isinstance(checks, list) else [checks]:
        name, params = item["check"], item["params"]
        if name in COMBINATORS:
            yield f"{indent}{name}:"
            yield from list_check_lines(params, indent + "  ")
            continue
        words = (
            f"{key}: {shlex.join(map(str, value)) if key == 'run' else render_value(value)}"
            for key, value in params.items()
        )
        yield f"{indent}{name}  {', '.join(words)}"


def render_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def print_trusted(state: str) -> None:
    paths = list_trusted_paths(state)
    if not paths:
        click.echo("nothing is trusted yet. To start: truecall trust, in a folder with a truecall.yaml")
    for path in paths:
        folder = locate_pins(state, path)
        names = list_pins(folder)
        known = load_source(path, os.path.dirname(path), state)
        if known is None or known.status == UNTRUSTED:
            click.echo(f"{path}: not enforced, because it {known.why if known else 'is not trusted'}")
            continue
        header = read_pin(os.path.join(folder, names[0])).header
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(header["trusted_at"]))
        more = f", {len(names)} versions" if len(names) > 1 else ""
        click.echo(f"{path}: {known.status}, {count(len(known.load_contracts()), 'contract')}, since {at}{more}")
