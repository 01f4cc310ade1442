"""`truecall trust`: a person looks at a contract file once, and from then on the hook enforces that content."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import click

from truecall_py.contracts.matchers import describe
from truecall_py.contracts.model import COMBINATORS, FILE_NAME
from truecall_py.core import paths as places
from truecall_py.core.errors import UsageError
from truecall_py.core.redaction import harmless
from truecall_py.trust.pin import Compiled, canonical, compile_file, revoke, trusted_paths
from truecall_py.trust.pin import trust as store
from truecall_py.trust.store import UNTRUSTED, check, folder_of, pins, read_pin, source

# What agents' harnesses set for the commands they run.
AGENT_MARKS = (
    "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_SANDBOX", "CODEX_THREAD_ID", "GEMINI_CLI", "GEMINI_SESSION_ID",
    "QWEN_CODE_SESSION_ID", "COPILOT_CLI", "CURSOR_AGENT", "OPENCODE",
)  # fmt: skip


@click.command()
@click.argument("path", required=False)
@click.option("--yes", is_flag=True, help="Do not ask (needed where there is no terminal).")
@click.option("--person", is_flag=True, help="A person is there, although an agent's environment is set.")
@click.option("--list", "listing", is_flag=True, help="List what is trusted.")
@click.option("--revoke", "revoking", is_flag=True, help="Take trust back from PATH.")
@click.option("--state", metavar="DIR", help="The folder of the trust store.")
def trust(path: str | None, yes: bool, person: bool, listing: bool, revoking: bool, state: str | None) -> None:
    """Validates, shows and pins a contract file; the hook enforces what was pinned.

    PATH is a contract file or its folder; ./truecall.yaml if left out. The code that a contract names inside
    its folder is pinned with it. When the file changes, the trusted form stays in force until this command
    is run again.

    Exit codes: 0 done, 2 wrong usage, a file that cannot be used or an agent's shell, 3 the store cannot be used, 130
    you said no.
    """
    state = os.path.abspath(state) if state else places.state()
    check(state)
    if listing:
        listed(state)
        return
    a_person(person)
    target = os.path.join(path or ".", FILE_NAME) if path is None or os.path.isdir(path) else path
    if revoking:
        count = revoke(target, state)
        click.echo(f"{canonical(target)}: {count} trusted {'content' if count == 1 else 'contents'} taken back")
        return
    compiled = compile_file(target)
    shown(compiled)
    confirm(yes)
    store(compiled, state)
    click.echo(f"trusted: {compiled.path}")


def a_person(said: bool, what: str = "change what is trusted") -> None:
    """Raises UsageError in an agent's shell, unless somebody said that a person is there. `what` is what only a
    person may do."""
    marks = [name for name in AGENT_MARKS if os.environ.get(name)]
    if marks and not said:
        raise UsageError(
            f"this looks like an agent's own shell ({marks[0]} is set), and only a person may {what}",
            do="run it in a terminal of your own, or add --person",
        )


def confirm(yes: bool) -> None:
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("this is no terminal, so nobody can be asked", do="look at it first, then add --yes")
    click.confirm("Enforce these contracts?", abort=True)


def shown(compiled: Compiled) -> None:
    """What is about to be trusted: every contract of the file's own with what it applies to, what it checks and what
    it runs, and how many come with each pack."""
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
            say(f"    where the last message holds {' or '.join(map(shown_value, plain['claims']))}")
        for path, matcher in plain["when"].items():
            say(f"    when {path} {describe(matcher)}")
        for line in checks_in(plain["post"]):
            say(f"    {line}")
        for line in checks_in(plain.get("pre", [])):
            say(f"    before the call: {line}")
        for effect in plain.get("requires", ()):
            say(f"    before the call: the effect {effect} was verified")
        for line in operation(plain):
            say(f"    {line}")
        for name in ("remedy", "alternatives"):  # what an agent is told to do
            if plain.get(name):
                say(f"    {name}: {shown_value(plain[name])}")
    for line in packs(compiled.contracts):
        say(f"  {line}")
    if compiled.policy:
        say(f"  policy: {shown_value(compiled.policy)}")
    for problem in compiled.warnings:
        say(f"  warning, line {problem.line}: {problem.message}")
    if compiled.pinned:
        say(f"  pinned with it: {', '.join(compiled.pinned)}")
    if compiled.unpinned:
        say(f"  run, but not pinned: {', '.join(compiled.unpinned)}")
    if os.path.basename(compiled.path) != FILE_NAME:
        say(f"  note: the hook reads this file only with --contracts, since its name is not {FILE_NAME}")


def packs(contracts: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A line for each pack: its contracts are truecall's own and the same everywhere, and one by one they would push
    out of sight what must be looked at."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for plain in contracts:
        if plain.get("pack"):
            observe = "  (observe only)" if plain.get("mode") == "observe" else ""
            found.setdefault((plain["pack"], observe), []).append(plain)
    for (pack, observe), those in found.items():
        first = sum(bool(plain.get("pre")) for plain in those)
        some = "all" if first == len(those) else f"{first} of them"
        before = f", {some} before the call" if first else ""
        yield f"pack {pack}: {len(those)} contract{'' if len(those) == 1 else 's'}{before}{observe}"


def operation(plain: dict[str, Any]) -> Iterator[str]:
    """What a contract asks of the source of its receipt, what must stand in it, and the steps that it joins."""
    if receipt := plain.get("receipt"):
        for line in checks_in(receipt["from"]):
            yield f"receipt from {line}"
        for path, wanted in receipt["match"].items():
            yield f"  {path} is {shown_value(wanted)}"
        yield f"  {receipt['state']}: " + ", ".join(f"{word} is {means}" for word, means in receipt["states"].items())
        yield f"  a second call of it is {'refused' if receipt['duplicates'] == 'refuse' else 'reported'}"
    if plain.get("key"):
        yield f"idempotency key {plain['key']}"
    if plain.get("steps"):
        yield f"steps: {', '.join(plain['steps'])}"


def say(text: str) -> None:
    """A line; nothing in a contract may move the cursor over what a person should see."""
    click.echo(harmless(text.replace("\n", "\\n")))


def checks_in(checks: Any, indent: str = "") -> Iterator[str]:
    """A line for every check and everything it was told, argv as a shell would have it."""
    for item in checks if isinstance(checks, list) else [checks]:
        name, params = item["check"], item["params"]
        if name in COMBINATORS:
            yield f"{indent}{name}:"
            yield from checks_in(params, indent + "  ")
            continue
        words = (
            f"{key}: {shlex.join(map(str, value)) if key == 'run' else shown_value(value)}"
            for key, value in params.items()
        )
        yield f"{indent}{name}  {', '.join(words)}"


def shown_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def listed(state: str) -> None:
    paths = trusted_paths(state)
    if not paths:
        click.echo("nothing is trusted yet; `truecall trust` in a folder with a truecall.yaml begins")
    for path in paths:
        folder = folder_of(state, path)
        names = pins(folder)
        found = source(path, os.path.dirname(path), state)
        if found is None or found.status == UNTRUSTED:
            click.echo(f"{path}: not enforced; it {found.why if found else 'is not trusted'}")
            continue
        header = read_pin(os.path.join(folder, names[0])).header
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(header["trusted_at"]))
        more = f", {len(names)} contents" if len(names) > 1 else ""
        click.echo(f"{path}: {found.status}, {len(found.contracts())} contracts, since {at}{more}")
