"""Where truecall is registered: every command line of ours in every file that a client reads hooks from. Reads
only; what it cannot read becomes a Finding, never an exception."""

from __future__ import annotations

import json
import os
import shlex
import sys

from truecall_py.clients.registration import (
    FLAT,
    GROUPS,
    PLUGIN,
    SCRIPT,
    VARIABLE,
    Registration,
    by_hand,
    quoted,
    words,
)
from truecall_py.core.errors import TruecallError
from truecall_py.core.paths import launcher
from truecall_py.core.record import record
from truecall_py.setup import codex_trust, file_changes, hook_entries, jsonc, plan
from truecall_py.setup.jsonc import Document, SettingsError
from truecall_py.setup.plan import PROJECT, USER, Job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

OK, NOTE, WARNING, ERROR = "ok", "note", "warning", "error"
PLUGIN_SCOPE = "plugin"
COMMAND = "const COMMAND: string = "


@record(frozen=True)
class Finding:
    """One thing that was looked at. `group` is a harness or "contracts", `do` the command that mends it."""

    level: str
    group: str
    what: str
    where: str = ""
    do: str = ""


@record(frozen=True)
class Handler:
    """One command of ours as a client has it. `run` is what the client starts, `command` the line of ours in it;
    `trust` is (key, hash) in Codex' trust, `root` the folder of the plugin that it comes from."""

    harness: str
    scope: str
    path: str
    where: str
    event: str
    command: str
    run: str
    timeout: Any = None
    matcher: Any = None
    trust: tuple[str, str] = ("", "")
    root: str = ""
    more: tuple[str, ...] = ()  # what the entry says that `install` does not write
    title: str = ""  # the name that somebody gave to the entry

    @property
    def about(self) -> Registration:
        found = plan.registered()[self.harness].REGISTRATION
        assert isinstance(found, Registration)
        return found

    @property
    def words(self) -> list[str]:
        """[launcher, harness, event, ...]; empty where a shell would not read it so either."""
        try:
            every = shlex.split(self.command)
        except ValueError:
            return []
        starts = [at for at, word in enumerate(every) if word.endswith("/run.sh") and not word.startswith(VARIABLE)]
        return every[starts[0] :] if starts else []

    @property
    def python(self) -> str:
        """The interpreter that the line names, or ""."""
        try:
            first = shlex.split(self.command)[:1]
        except ValueError:
            return ""
        return first[0].removeprefix(VARIABLE) if first and first[0].startswith(VARIABLE) else ""

    def option(self, name: str) -> str:
        """The value of an option of the line, or ""."""
        rest = self.words
        for at, word in enumerate(rest):
            if word == name:
                return rest[at + 1] if at + 1 < len(rest) else ""
            if word.startswith(f"{name}="):
                return word.partition("=")[2]
        return ""


@record(frozen=True)
class Inventory:
    """What was found: commands of ours, and what is to be said of the files. `read` are the texts by path."""

    handlers: tuple[Handler, ...]
    findings: tuple[Finding, ...]
    read: dict[str, str]


def taken(names: list[str], project: str, state: str) -> Inventory:
    """The inventory of these harnesses, for sessions that are started in `project`. Raises UsageError."""
    handlers: list[Handler] = []
    findings: list[Finding] = []
    read: dict[str, str] = {}
    modules = plan.registered()
    for name in names:
        about = modules[name].REGISTRATION
        done: set[str] = set()
        for scope, path in files(name, about, project, state):
            real = os.path.realpath(path)
            if real in done or not os.path.lexists(path):
                continue
            done.add(real)
            try:
                seen = file_changes.look(path)
                text = read[path] = plan.text_of(seen)
                handlers += inside(name, about, scope, path, text)
            except SettingsError as error:
                text = read.get(path, "")
                findings.append(invalid(name, path, text, error))
            except TruecallError as error:
                findings.append(Finding(WARNING, name, error.what, error.where or path, error.do))
    return Inventory(tuple(handlers), tuple(findings), read)


def invalid(name: str, path: str, text: str, error: SettingsError) -> Finding:
    """A file that the client does not read. One in which we stand is broken, any other is to be known."""
    ours = "run.sh" in text and "truecall" in text
    where = f"{path}:{jsonc.place(text, error.offset)}" if error.offset >= 0 and text else path
    do = error.do.replace("run this again", "run truecall doctor again") or "mend it"
    return Finding(ERROR if ours else WARNING, name, error.what, where, do)


def files(name: str, about: Registration, project: str, state: str) -> Iterator[tuple[str, str]]:
    """(scope, path) of every file in which the client may find hooks."""
    further = [(PROJECT, folder) for folder in above(name, project)]
    for scope, base in ((USER, project), (PROJECT, project), *further):
        path = Job(name, about, scope, base, state).path
        yield scope, path
        folder = os.path.dirname(path)
        if name == "claude-code" and scope == PROJECT and base == project:
            yield scope, os.path.join(folder, "settings.json")
        if name == "codex":
            yield scope, os.path.join(folder, "config.toml")
        if name == "copilot-cli":
            yield from ((scope, os.path.join(folder, other)) for other in listing(folder) if other.endswith(".json"))
    found = {"claude-code": plugins, "codex": codex_plugins}.get(name)
    yield from ((PLUGIN_SCOPE, path) for path in (found(about, project, state) if found else ()))


def above(name: str, project: str) -> list[str]:
    """The folders above a project whose registrations may count in it, too: Codex asks each up to the repository's
    root, Claude Code 2.1.332 that root alone, for its local settings; no other client asks any."""
    if name == "codex":
        return codex_trust.parents(project)[1:]
    root = plan.repository(project) if name == "claude-code" else ""
    return [root] if root not in ("", project) else []


def inside(name: str, about: Registration, scope: str, path: str, text: str) -> list[Handler]:
    """The commands of ours in one file. Raises SettingsError for one that the client would not read."""
    if about.form in (SCRIPT, PLUGIN):
        return in_program(name, about, scope, path, text)
    if path.endswith(".toml"):
        return in_toml(name, about, scope, path, text)
    doc = Document(text)
    hook_entries.check(doc, about)
    found = []
    root = os.path.dirname(os.path.dirname(path)) if scope == PLUGIN_SCOPE else ""
    key = codex_trust.canonical(path)
    if scope == PLUGIN_SCOPE and name == "codex":  # .../cache/MARKETPLACE/truecall/VERSION/hooks/codex.json
        key = f"truecall@{root.split('/')[-3]}:{os.path.relpath(path, root)}"
    hooks = hook_entries.hooks_of(doc)
    for event in hooks.members if hooks is not None and hooks.kind == "object" else []:
        for number, group in enumerate(event.node.members):
            for at, node in enumerate(hook_entries.handlers(about, group.node)):
                command = hook_entries.command_of(about, node)
                if not mine(command, name, scope):
                    continue
                plain, outer = node.plain(), group.node.plain()
                trust = ("", "")
                if name == "codex":
                    digest = codex_trust.trusted_hash(event.key, outer, plain)
                    trust = (f"{key}:{codex_trust.label(event.key)}:{number}:{at}", digest)
                where = f"{path}:{jsonc.place(text, node.start)}"
                told = plain.get(about.timeout[0])
                found.append(Handler(name, scope, path, where, event.key, command, command, told,
                                     outer.get("matcher"), trust, root, unusual(about, plain),
                                     str(plain.get("name") or "")))  # fmt: skip
    return found


def unusual(about: Registration, plain: dict[str, Any]) -> tuple[str, ...]:
    """The keys of an entry that may keep a client from running our command, or from hearing its answer."""
    usual = {"type", "matcher", "statusMessage", about.command, about.timeout[0]}
    odd = [key for key in plain if key not in usual]
    if not isinstance(plain.get("statusMessage", ""), str):
        odd.append("statusMessage")
    return tuple(odd)


def mine(command: Any, name: str, scope: str) -> bool:
    if scope == PLUGIN_SCOPE:
        return isinstance(command, str) and "run.sh" in command
    return bool(words(command)) or by_hand(command, name)


def in_toml(name: str, about: Registration, scope: str, path: str, text: str) -> list[Handler]:
    found = []
    hooks = codex_trust.parsed(text).get("hooks", {})
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            inner = group.get("hooks") if isinstance(group, dict) else None
            for at, plain in enumerate(inner if isinstance(inner, list) else ()):
                if not isinstance(plain, dict) or not mine(plain.get("command"), name, scope):
                    continue
                key = f"{codex_trust.canonical(path)}:{codex_trust.label(event)}:{number}:{at}"
                if not isinstance(plain.get("timeout", 0), (int, float)):
                    raise SettingsError(f"a hook of {event} has a timeout that is no number")
                trust = (key, codex_trust.trusted_hash(event, group, plain))
                command = plain["command"]
                found.append(Handler(name, scope, path, path, event, command, command, plain.get("timeout"),
                                     group.get("matcher"), trust, more=unusual(about, plain)))  # fmt: skip
    return found


def in_program(name: str, about: Registration, scope: str, path: str, text: str) -> list[Handler]:
    """A script is started as it is; of a plugin, the line that it starts."""
    event = about.events[0]
    if about.form == SCRIPT:
        lines = [line for line in text.splitlines() if mine(line, name, scope)]
        run = "" if scope == PROJECT and not bare(text) else quoted(path)
        return [Handler(name, scope, path, path, event, line, run or line) for line in lines[:1]]
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(COMMAND):
            try:
                command = json.loads(line.removeprefix(COMMAND).rstrip("; "))
            except ValueError:
                raise SettingsError("the line with the command in it was edited", -1,
                                    f"truecall uninstall {name}, then truecall install {name}") from None  # fmt: skip
            if mine(command, name, scope):
                return [Handler(name, scope, path, f"{path}:{number}", event, command, command)]
    return []


def bare(text: str) -> bool:
    """Whether a script does nothing but what its one line of ours does."""
    rest = [line for line in text.splitlines() if not words(line)]
    return text.startswith("#!/bin/sh\n") and all(line.startswith("#") or not line.strip() for line in rest)


def unproven(handler: Handler, folder: str) -> str:
    """Why a command that a project's file holds is not run: anybody may have put it there. "" for one that is run."""
    if handler.scope != PROJECT:
        return ""
    folder = plan.repository(folder) or folder
    rest, python = handler.words, handler.python
    if len(rest) < 3 or any(letter in handler.command.replace("'\"'\"'", "") for letter in "$`;&|<>()\n\r\\!"):
        return "it is not as truecall install writes it"
    try:
        every = shlex.split(handler.command)
    except ValueError:
        return "no shell would read it"
    if len(every) - len(rest) != bool(python):
        return "it is not as truecall install writes it"
    for path, own in ((rest[0], launcher()), (python, sys.executable)):
        real = os.path.realpath(path) if path else ""
        outside = os.path.isabs(path) and not f"{real}/".startswith(f"{os.path.realpath(folder).rstrip('/')}/")
        if path and not outside and real != os.path.realpath(own):
            return f"{path} lies in the project"
    return ""


def plugins(about: Registration, project: str, state: str) -> list[str]:
    """The hooks.json of each installed plugin called truecall that a settings file of Claude Code switches on."""
    folder = os.path.dirname(Job("claude-code", about, USER, project, state).path)
    enabled: dict[str, Any] = {}
    # A project's own word on where a marketplace lies is not taken: what is found there is run.
    known = plain(os.path.join(folder, "settings.json")).get("extraKnownMarketplaces")
    beside = os.path.join(project, ".claude")
    for path in (os.path.join(folder, "settings.json"), os.path.join(beside, "settings.json"),
                 os.path.join(beside, "settings.local.json")):  # fmt: skip
        found = plain(path).get("enabledPlugins")
        enabled.update(found if isinstance(found, dict) else {})
    installed = plain(os.path.join(folder, "plugins", "installed_plugins.json")).get("plugins")
    places = []
    for name, rows in installed.items() if isinstance(installed, dict) else ():
        if name.partition("@")[0] != "truecall" or enabled.get(name) is not True:
            continue
        entry = known.get(name.partition("@")[2]) if isinstance(known, dict) else None
        source = entry.get("source") if isinstance(entry, dict) else None
        if isinstance(source, dict) and source.get("source") == "directory":  # run from there, not from the copy
            rows = [{"installPath": source.get("path")}]
        for row in rows if isinstance(rows, list) else [rows]:
            where = row.get("installPath") if isinstance(row, dict) else None
            if isinstance(where, str):
                places.append(os.path.join(where, "hooks", "hooks.json"))
    return places


def codex_plugins(about: Registration, project: str, state: str) -> list[str]:
    """The same for Codex, where config.toml switches plugins on."""
    folder = os.path.dirname(Job("codex", about, USER, project, state).path)
    try:
        config = plan.text_of(file_changes.look(os.path.join(folder, "config.toml")))
        listed = codex_trust.parsed(config).get("plugins")
    except TruecallError:
        return []
    places = []
    for name, row in listed.items() if isinstance(listed, dict) else ():
        plugin, _, market = name.partition("@")
        if plugin != "truecall" or not isinstance(row, dict) or row.get("enabled") is not True:
            continue
        cache = os.path.join(folder, "plugins", "cache", market, plugin)
        places += [os.path.join(cache, version, "hooks", "codex.json") for version in listing(cache)[-1:]]
    return places


def listing(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def plain(path: str) -> dict[str, Any]:
    """A JSON file (with comments) as plain data; empty where there is none that can be read."""
    try:
        found = Document(plan.text_of(file_changes.look(path))).root.plain()
    except TruecallError:
        return {}
    return found if isinstance(found, dict) else {}


def settled(about: Registration) -> bool:
    """Whether the client's file is one of settings."""
    return about.form in (GROUPS, FLAT)
