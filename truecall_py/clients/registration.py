"""What a client wants to be told of a hook: the declared data of a registration, and how the entry and the command
line in it are written and recognised. Never reads or writes a client's file."""

from __future__ import annotations

import json
import os

from truecall_py.clients.payload import quote_word
from truecall_py.core.paths import find_hooks_folder
from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from truecall_py.clients.settings_rules import SettingsRules

# How the client's file is made: its settings, in which events hold groups of handlers; the same without
# groups; a program; a program of which there is a template in hooks/.
GROUPS, FLAT, SCRIPT, PLUGIN = "groups", "flat", "script", "plugin"
VARIABLE = "TRUECALL_PYTHON="
MARK = "Written by `truecall install"
COMMENTS, BOM = "comments", "a byte order mark"
EVERY = (None, "", "*", ".*")  # the matchers that no call fails to match


@record(frozen=True)
class Plugin:
    """How a client takes this repository as a plugin. `root` is the variable that names the plugin's folder in a
    command line; `hooks`, `manifest` and `marketplace` are files of the repository ("": it has none of its own)."""

    root: str
    hooks: str
    manifest: str
    install: str  # the command with which a person installs the plugin
    remove: str
    names_hooks: bool = False  # the manifest must name the file of hooks
    marketplace: str = ""


@record(frozen=True)
class Registration:
    """One client's registration. `name` is its name in clients.NAMES, `client` the one that people know. `home` is
    (the environment variable that moves the client's own folder, the path below it, the path below the home folder);
    `user` is a file in there, `project` one below the project's folder."""

    name: str
    client: str
    events: tuple[str, ...]
    home: tuple[str, str, str]
    user: str
    project: str
    example: str  # the file in install/ that a person pastes from
    executable: str  # its name on the PATH
    marks: tuple[str, ...]  # files and folders of a project that show that somebody uses the client there
    agent_variables: tuple[str, ...]  # what it sets for the commands that an agent runs; a person's shell has none
    scratch: tuple[str, ...] = ()  # folders of a project into which it writes itself
    shared: tuple[str, ...] = ()  # other folders of a project that all its git worktrees share
    home_servers: tuple[str, ...] = ()  # files below the home folder that name MCP servers
    project_servers: tuple[str, ...] = ()  # the same below a project, or a folder above it
    beside_servers: tuple[str, ...] = ()  # the same beside the file of the registration
    own_servers: tuple[str, ...] = ()  # prefixes of the servers that the client brings along, which no file names
    form: str = GROUPS
    command: str = "command"
    timeout: tuple[str, int] = ("timeout", 30)  # the client's own name and unit; the hook's deadline is 20 s
    slow: tuple[tuple[str, int], ...] = ()  # time-outs of events at which the hook works longer (types.AT_STOP)
    status: str = ""  # replaces the command line in what the model reads
    frame: tuple[tuple[str, Any], ...] = ()  # what a new file holds beside the hooks
    reads: tuple[str, ...] = ()  # what it accepts beyond strict JSON; anything else voids the whole file
    keys: tuple[str, ...] = ()  # the only top-level keys it accepts, where others void the file
    types: tuple[str, ...] = ()  # the handler types it accepts, where a bad handler voids the file
    off: tuple[tuple[str, bool], ...] = ()  # switches in the same file: with this value no hook runs
    twice: bool = True  # runs the same command twice where two files register it
    adds: tuple[str, ...] = ()  # keys that the client itself writes into a new file
    here: bool = False  # takes the variable of `home`, set and empty, for the current folder
    expands: bool = False  # the client itself replaces $NAME anywhere in its settings
    remark: str = ""  # what a person must do besides, project scope
    one_scope: bool = False  # `install` refuses while the file of the other scope registers truecall
    every: tuple[Any, ...] = EVERY  # the matchers that no call fails to match, where that is not all of EVERY
    longest: tuple[str, float] = ("", 0.0)  # (versions, the largest time-out that they count with); 0: not known
    untold: str = ""  # the calls of which it tells no hook, as `doctor` says it
    plugin: Plugin | None = None
    rules: SettingsRules | None = None  # values in its file for which it does not read the file, or our hook in it


def build_line(harness: str, event: str, python: str, launcher: str, state: str) -> str:
    """The command line that a client runs. No version in it: a trusted command stays the same."""
    return f"{VARIABLE}{quote_word(python)} {quote_word(launcher)} {harness} {event} --state {quote_word(state)}"


def lex_command(command: str) -> list[str]:
    """The words of a command line as a shell reads them; none of a line that holds more than one plain command."""
    import shlex

    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""
        words = list(lexer)
    except ValueError:
        return []
    return [] if any(word and not word.strip("();<>|&") for word in words) else words


def split_words(command: object) -> list[str]:
    """The words of a command line of ours, after the interpreter: [launcher, harness, event, ...]; empty for
    anybody else's. It recognises ours by what no upgrade and no move changes. Where a person joined a command of
    their own to ours, the line is theirs and is left to them."""
    if not isinstance(command, str) or not command.lstrip().startswith(VARIABLE) or "run.sh" not in command:
        return []
    words = lex_command(command)[1:]
    return words if words and words[0].rpartition("/")[2] == "run.sh" else []


def is_by_hand(command: object, harness: str) -> bool:
    """Whether a command starts the launcher for this harness without what `install` writes before it."""
    if not isinstance(command, str) or split_words(command):
        return False
    return any(f"/hooks/run.sh{end} {harness} " in command for end in ("", "'", '"'))


def find_timeout(about: Registration, event: str) -> int:
    """The time-out of an event, in the client's own unit."""
    return dict(about.slow).get(event, about.timeout[1])


def build_entry(about: Registration, command: str, event: str) -> dict[str, Any]:
    """The one item below an event: a group with one handler, or the handler itself. Without a matcher, which
    misses nothing in every client."""
    handler: dict[str, Any] = {
        "type": "command",
        about.command: command,
        about.timeout[0]: find_timeout(about, event),
    }
    if about.status:
        handler["statusMessage"] = about.status
    return handler if about.form == FLAT else {"hooks": [handler]}


def build_fragment(about: Registration, command_of: Callable[[str], str]) -> dict[str, Any]:
    """What a new settings file holds."""
    hooks = {event: [build_entry(about, command_of(event), event)] for event in about.events}
    return {**dict(about.frame), "hooks": hooks}


def build_program(about: Registration, command_of: Callable[[str], str]) -> str:
    """The text of the program that a client runs or loads."""
    command = command_of(about.events[0])
    if about.form == SCRIPT:
        return f"#!/bin/sh\n# {MARK} {about.name}`, taken away by `truecall uninstall {about.name}`.\n{command}\n"
    with open(os.path.join(find_hooks_folder(), os.path.basename(about.example)), encoding="utf-8") as file:
        return file.read().replace('"@COMMAND@"', json.dumps(command))


def render_registration(about: Registration, command_of: Callable[[str], str]) -> str:
    """The whole of a file that holds this registration and nothing else: what a person pastes from."""
    if about.form in (SCRIPT, PLUGIN):
        return build_program(about, command_of)
    return json.dumps(build_fragment(about, command_of), indent=2, ensure_ascii=False) + "\n"
