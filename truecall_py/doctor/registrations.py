"""Where truecall is registered: every command line of ours in every file that a client reads hooks from. Reads
only; what it cannot read becomes a Finding, never an exception."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from typing import Any

from truecall_py import clients
from truecall_py.clients import jsonc
from truecall_py.clients.handlers import ERROR, PLUGIN_SCOPE, WARNING, Finding, Handler, Inventory, is_ours
from truecall_py.clients.jsonc import Document, SettingsError
from truecall_py.clients.payload import quote_word
from truecall_py.clients.registration import FLAT, GROUPS, PLUGIN, SCRIPT, Registration, split_words
from truecall_py.clients.settings_files import PROJECT, USER, find_repository, look, place
from truecall_py.core.errors import TruecallError
from truecall_py.core.paths import find_launcher
from truecall_py.setup import hook_entries

COMMAND = "const COMMAND: string = "


def find_function(name: str, function: str) -> Any:
    """Returns a function of the client's own module `doctor`, None where the client has none of that name."""
    return getattr(clients.find_part(name, "doctor"), function, None)


def ask_client(name: str, function: str, *given: Any) -> Any:
    """Returns what such a function returns, [] without it."""
    own = find_function(name, function)
    return own(*given) if own is not None else []


def take_inventory(names: list[str], project: str) -> Inventory:
    """The inventory of these clients, for sessions that are started in `project`. Raises UsageError."""
    handlers: list[Handler] = []
    findings: list[Finding] = []
    read: dict[str, str] = {}
    for name in names:
        about = clients.load_registration(name)
        done: set[str] = set()
        for scope, path in list_files(about, project):
            real = os.path.realpath(path)
            if real in done or not os.path.lexists(path):
                continue
            done.add(real)
            try:
                text = read[path] = look(path).decode()
                handlers += list_handlers(about, scope, path, text)
            except SettingsError as error:
                text = read.get(path, "")
                findings.append(describe_invalid(name, path, text, error))
            except TruecallError as error:
                findings.append(Finding(WARNING, name, error.what, error.where or path, error.do))
    return Inventory(tuple(handlers), tuple(findings), read)


def describe_invalid(name: str, path: str, text: str, error: SettingsError) -> Finding:
    """A file that the client does not read. One in which we stand is broken, any other is to be known."""
    ours = "run.sh" in text and "truecall" in text
    where = f"{path}:{jsonc.place(text, error.offset)}" if error.offset >= 0 and text else path
    do = error.do.replace("run this again", "run truecall doctor again") or "mend it"
    return Finding(ERROR if ours else WARNING, name, error.what, where, do)


def list_files(about: Registration, project: str) -> Iterator[tuple[str, str]]:
    """(scope, path) of every file in which the client may find hooks."""
    above = [(PROJECT, folder) for folder in ask_client(about.name, "list_folders_above", project)]
    for scope, base in ((USER, project), (PROJECT, project), *above):
        path = place(about, scope, base)
        yield scope, path
        further = ask_client(about.name, "list_further_files", path, scope, base == project)
        yield from ((scope, other) for other in further)
    yield from ((PLUGIN_SCOPE, path) for path in ask_client(about.name, "list_plugin_hooks", project))


def list_handlers(about: Registration, scope: str, path: str, text: str) -> list[Handler]:
    """The commands of ours in one file. Raises SettingsError for one that the client would not read."""
    if about.form in (SCRIPT, PLUGIN):
        return list_program_handlers(about, scope, path, text)
    read_handlers = find_function(about.name, "read_handlers")
    handlers: list[Handler] | None = read_handlers(scope, path, text) if read_handlers is not None else None
    if handlers is not None:
        return handlers
    doc, handlers = Document(text), []
    hook_entries.check(doc, about)
    root = os.path.dirname(os.path.dirname(path)) if scope == PLUGIN_SCOPE else ""
    hooks = hook_entries.find_hooks(doc)
    for event in hooks.members if hooks is not None and hooks.kind == "object" else []:
        for number, group in enumerate(event.node.members):
            for at, node in enumerate(hook_entries.list_handlers(about, group.node)):
                command = hook_entries.find_command(about, node)
                if is_ours(command, about.name, scope):
                    where = f"{path}:{jsonc.place(text, node.start)}"
                    handlers.append(Handler(about, scope, path, where, event.key, command, command, root,
                                         group.node.plain(), node.plain(), (number, at)))  # fmt: skip
    return handlers


def list_program_handlers(about: Registration, scope: str, path: str, text: str) -> list[Handler]:
    """A script is started as it is; of a plugin, the line that it starts."""
    event = about.events[0]
    if about.form == SCRIPT:
        lines = [line for line in text.splitlines() if is_ours(line, about.name, scope)]
        run = "" if scope == PROJECT and not is_bare(text) else quote_word(path)
        return [Handler(about, scope, path, path, event, line, run or line) for line in lines[:1]]
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(COMMAND):
            try:
                command = json.loads(line.removeprefix(COMMAND).rstrip("; "))
            except ValueError:
                do = f"truecall uninstall {about.name}, then truecall install {about.name}"
                raise SettingsError("the line with the command in it was edited", -1, do) from None
            if is_ours(command, about.name, scope):
                return [Handler(about, scope, path, f"{path}:{number}", event, command, command)]
    return []


def is_bare(text: str) -> bool:
    """Whether a script does nothing but what its one line of ours does."""
    rest = [line for line in text.splitlines() if not split_words(line)]
    return text.startswith("#!/bin/sh\n") and all(line.startswith("#") or not line.strip() for line in rest)


def explain_unproven(handler: Handler, folder: str) -> str:
    """Why a command that a project's file holds is not run: anybody may have put it there. "" for one that is run."""
    if handler.scope != PROJECT:
        return ""
    folder = find_repository(folder) or folder
    rest, python = handler.words, handler.python
    if len(rest) < 3 or any(letter in handler.command.replace("'\"'\"'", "") for letter in "$`;&|<>()\n\r\\!"):
        return "it is not as truecall install writes it"
    try:
        every = shlex.split(handler.command)
    except ValueError:
        return "no shell would read it"
    if len(every) - len(rest) != bool(python):
        return "it is not as truecall install writes it"
    for path, own in ((rest[0], find_launcher()), (python, sys.executable)):
        real = os.path.realpath(path) if path else ""
        outside = os.path.isabs(path) and not f"{real}/".startswith(f"{os.path.realpath(folder).rstrip('/')}/")
        if path and not outside and real != os.path.realpath(own):
            return f"{path} lies in the project"
    return ""


def is_settings_file(about: Registration) -> bool:
    """Whether the client's file is one of settings."""
    return about.form in (GROUPS, FLAT)
