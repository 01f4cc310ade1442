"""What is enforced in a folder: its contract files and their trust, names that are nearly one, code that changed,
and tools that no client here can have. Never changes the trust store."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from truecall_py.clients import NAMES, load_hook, load_registration
from truecall_py.clients.handlers import ERROR, OK, WARNING, Finding
from truecall_py.clients.settings_files import PROJECT, USER, place, read_plain
from truecall_py.contract_files import loader
from truecall_py.contract_files.lint.codes import escape_control
from truecall_py.contracts.model import FILE_NAME, is_guard
from truecall_py.core import paths as places
from truecall_py.core.errors import TruecallError
from truecall_py.messages.corrections import quote_shell_word
from truecall_py.trust import store
from truecall_py.trust.store import CHANGED, DELETED, TRUSTED, UNTRUSTED, Source

GROUP = "contracts"
WORDS = {
    CHANGED: "it was changed after it was trusted; what was trusted is in force",
    DELETED: "it was deleted, and what was trusted is still in force",
}
# The keys of settings below which clients name their MCP servers.
SERVERS = ("mcpServers", "mcp_servers", "mcp", "servers")


def find_contracts(folder: str, state: str, nearly: tuple[str, ...]) -> Iterator[Finding]:
    """Everything to be said of the contracts that count in a folder."""
    yield from find_misnamed(folder, nearly)
    try:
        sources = store.load_sources(folder, state, places.find_user_file(), None)
    except TruecallError as error:
        yield Finding(ERROR, GROUP, error.what, error.where, error.do)
        return
    if not sources:
        yield Finding(WARNING, GROUP, f"there is no {FILE_NAME} here or above, so nothing is checked", folder,
                      "truecall init")  # fmt: skip
    known = list_servers(folder)
    for source in sources:
        yield from check_source(source, known)


def find_unguarded(folder: str, state: str, clients: dict[str, bool]) -> Iterator[Finding]:
    """Guards that are never asked: `clients` are those that are registered here, by name, and whether truecall is
    asked there before a call."""
    deaf = sorted(name for name, asks in clients.items() if not asks)
    try:
        sources = store.load_sources(folder, state, places.find_user_file(), None)
        contracts = [
            contract for source in sources for contract in source.load_contracts() if is_guard(contract.plain)
        ]
    except (TruecallError, ValueError, LookupError, TypeError):
        return  # told by `found`
    if not contracts or not deaf:
        return
    able = [name for name in NAMES if hasattr(load_hook(name), "BEFORE")]
    asking = " or ".join(load_registration(name).client for name in able)
    names = ", ".join(contract.id for contract in contracts[:5]) + (" and others" if len(contracts) > 5 else "")
    what = f"{names} guard calls before they are made, and {', '.join(deaf)} asks truecall only afterwards"
    yield Finding(WARNING, GROUP, what, do=f"write `post` beside `pre`, or use {asking} for such work")


def check_source(source: Source, known: set[str]) -> Iterator[Finding]:
    path, do = source.path, f"truecall trust {quote_shell_word(source.path)}"
    if source.status == UNTRUSTED:
        why = source.why or "has not been trusted by a person yet"
        yield Finding(ERROR, GROUP, f"it {why}: every call is answered with not confirmed", path, do)
        yield from list_errors(path)
        return
    try:
        contracts = source.load_contracts()
    except (TruecallError, ValueError, LookupError, TypeError) as error:
        yield Finding(ERROR, GROUP, f"the pin is damaged: {error}", path, do)
        return
    if source.status == TRUSTED:
        number = f"{len(contracts)} contract{'' if len(contracts) == 1 else 's'}"
        yield Finding(OK, GROUP, f"trusted and unchanged, {number}", path)
    else:
        undo = f"{do}, or truecall trust --revoke {quote_shell_word(path)}" if source.status == DELETED else do
        yield Finding(WARNING, GROUP, f"it {source.why}" if source.why else WORDS[source.status], path, undo)
        yield from list_errors(path) if source.status == CHANGED else ()
    for contract in contracts:
        if changed := store.find_changed_code(contract.plain):
            yield Finding(ERROR, GROUP, f"{contract.id} runs code that is not what was trusted: {changed}",
                          contract.source, f"look at it, then: {do}")  # fmt: skip
        for tool in contract.plain.get("tool") or ():
            server = find_missing_server(tool, known)
            if server:
                what = f"{contract.id} is for {tool}, and no client's settings here name an MCP server {server!r}"
                yield Finding(WARNING, GROUP, what, contract.source, "mend the name, or connect the server")


def list_errors(path: str) -> Iterator[Finding]:
    """What keeps a file from being trusted."""
    try:
        problems = loader.find_problems(places.read_bytes(path), path)
    except OSError:
        return
    for problem in problems:
        if problem.severity == "error":
            where = f"{escape_control(path)}:{problem.line}:{problem.column}"
            yield Finding(ERROR, GROUP, f"{problem.code} {problem.message}", where, problem.hint)


def find_misnamed(folder: str, nearly: tuple[str, ...]) -> Iterator[Finding]:
    """Files here and above that somebody meant to be a contract file."""
    here = os.path.realpath(folder)
    while True:
        try:
            names = sorted(os.listdir(here))
        except OSError:
            names = []
        for name in names:
            if name != FILE_NAME and name.lower() in nearly:
                path = os.path.join(here, name)
                target = quote_shell_word(os.path.join(here, FILE_NAME))
                yield Finding(WARNING, GROUP, "it is not read: the name is another", path,
                              f"mv {quote_shell_word(path)} {target}")  # fmt: skip
        if here == os.path.dirname(here):
            return
        here = os.path.dirname(here)


def find_missing_server(tool: str, known: set[str]) -> str:
    """The server in a tool's name that nobody knows, or ""."""
    parts = tool.split("__")
    own = tuple(start for name in NAMES for start in load_registration(name).own_servers)
    if len(parts) < 3 or parts[0] != "mcp" or "*" in parts[1] or "?" in parts[1] or parts[1].startswith(own):
        return ""
    return "" if any(tool.startswith(f"mcp__{name}__") for name in known) else parts[1]


def list_servers(folder: str) -> set[str]:
    """The MCP servers that any client's settings name, as tools are named after them."""
    home, folders = os.path.expanduser("~"), [os.path.realpath(folder)]
    while folders[-1] != os.path.dirname(folders[-1]):
        folders.append(os.path.dirname(folders[-1]))
    paths = []
    for client in NAMES:
        about = load_registration(client)
        beside = [os.path.dirname(place(about, scope, folder)) for scope in (USER, PROJECT)]
        paths += [os.path.join(home, name) for name in about.home_servers]
        paths += [os.path.join(here, name) for here in folders for name in about.project_servers]
        paths += [os.path.join(here, name) for here in beside for name in about.beside_servers]
    names: set[str] = set()
    for path in dict.fromkeys(map(os.path.normpath, paths)):
        names |= list_named_servers(read_plain(path), folder) if os.path.lexists(path) else set()
    return {re.sub(r"[^a-zA-Z0-9_-]", "_", name) for name in names}


def list_named_servers(plain: dict[str, Any], folder: str) -> set[str]:
    found: set[str] = set()
    for key in SERVERS:
        table = plain.get(key)
        found |= set(table) if isinstance(table, dict) else set()
    projects = plain.get("projects")
    for path in {folder, os.path.realpath(folder)}:
        if isinstance(projects, dict) and isinstance(projects.get(path), dict):
            found |= list_named_servers(
                {key: value for key, value in projects[path].items() if key != "projects"}, folder
            )
    return found
