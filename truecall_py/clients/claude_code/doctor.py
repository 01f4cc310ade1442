"""What `doctor` must know of Claude Code: where it finds hooks besides its registration's own file, what keeps it
from running them, and the environment in which it starts them. Reads only."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from truecall_py.clients.claude_code.registration import NEW, OLD, REGISTRATION
from truecall_py.clients.handlers import ERROR, WARNING, Finding, Handler, Inventory
from truecall_py.clients.payload import quote_word
from truecall_py.clients.settings_files import PROJECT, USER, find_repository, place, read_as_client, read_plain
from truecall_py.clients.switches import find_switched_off, join_versions

SIMPLE = "CLAUDE_CODE_SIMPLE"
TRUE = ("1", "true", "yes", "on")
PREFIX = "CLAUDE_CODE_SHELL_PREFIX"
# Of a project's variables, those that may bear on a hook and start nothing; and those by which a program or a piece
# of code is put in the place of another. All others are left out: they change no answer.
HARMLESS = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE")
LOADING = ("LD_", "DYLD_", "BASH_", "GCONV_", "GLIBC_", "TRUECALL_", "OPENSSL_")
PUTTING = ("PATH", "LOCPATH", "SHELLOPTS", "ENV", "IFS", "PS4", PREFIX)


def list_folders_above(project: str) -> list[str]:
    """The folders above a project whose registrations may count in it: 2.1.332 asks the repository's root alone, for
    its local settings."""
    root = find_repository(project)
    return [root] if root not in ("", project) else []


def list_further_files(path: str, scope: str, here: bool) -> list[str]:
    """The other files with hooks beside the registration's file at `path`. `here` is false for a folder above."""
    return [os.path.join(os.path.dirname(path), "settings.json")] if scope == PROJECT and here else []


def list_plugin_hooks(project: str) -> list[str]:
    """The hooks.json of each installed plugin called truecall that a settings file switches on."""
    folder = os.path.dirname(place(REGISTRATION, USER, project))
    enabled: dict[str, Any] = {}
    # A project's own word on where a marketplace lies is not taken: what is found there is run.
    known = read_plain(os.path.join(folder, "settings.json")).get("extraKnownMarketplaces")
    beside = os.path.join(project, ".claude")
    for path in (os.path.join(folder, "settings.json"), os.path.join(beside, "settings.json"),
                 os.path.join(beside, "settings.local.json")):  # fmt: skip
        found = read_plain(path).get("enabledPlugins")
        enabled.update(found if isinstance(found, dict) else {})
    installed = read_plain(os.path.join(folder, "plugins", "installed_plugins.json")).get("plugins")
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


def find_faults(mine: list[Handler], found: Inventory, project: str) -> Iterator[Finding]:
    """A registration in the repository's root alone, which 2.1.332 runs in a subfolder, too, and 2.1.197 does not."""
    upper = [place(REGISTRATION, PROJECT, folder) for folder in list_folders_above(project)]
    here = {handler.event for handler in mine if handler.path not in upper}
    lone = [handler for handler in mine if handler.path in upper and handler.event not in here]
    if lone:
        root = lone[0].path.removesuffix(f"/{REGISTRATION.project}")
        what = "it is registered for the repository's root alone: in this folder "
        what += f"{NEW} runs the hook, and {OLD} does not"
        yield Finding(WARNING, REGISTRATION.name, what, lone[0].path,
                      f"start claude in {root}, or: truecall install claude-code")  # fmt: skip


# -- switches, as seen in the two versions that were run: the older one reads nothing of the repository's root in a
# subfolder, the newer one takes SIMPLE from no project's file.


def find_switches(mine: list[Handler], project: str, given: Mapping[str, str]) -> Iterator[Finding]:
    """Everything with which Claude Code runs no hook of ours in a session in `project`. `given` is the environment
    that it is started with."""
    files = [place(REGISTRATION, USER, project), *list_settings_files(project)]
    above = [place(REGISTRATION, PROJECT, folder) for folder in list_folders_above(project)]
    ways = [(OLD, files), (NEW, [*files, *above])] if above else [(REGISTRATION.client, files)]
    yield from find_switched_off(REGISTRATION, ways)
    yield from find_simple_mode(project, given)


def list_settings_files(project: str) -> list[str]:
    """The files of a project that Claude Code reads, the one that wins last."""
    own = place(REGISTRATION, PROJECT, project)
    return [os.path.join(os.path.dirname(own), "settings.json"), own]


def read_variables(path: str) -> dict[str, str]:
    """The environment that a settings file of Claude Code gives to all that it starts."""
    variables = read_as_client(path, REGISTRATION).get("env")
    plain = variables.items() if isinstance(variables, dict) else ()
    return {key: str(value) for key, value in plain if isinstance(value, (str, int, float))}


def find_simple_mode(project: str, given: Mapping[str, str]) -> Iterator[Finding]:
    """Claude Code in its simple mode runs no hook. Settings win over the environment that it is started with."""
    user = place(REGISTRATION, USER, project)
    ways = [(OLD, [user, *list_settings_files(project)]), (NEW, [user])]
    hits = []
    for who, files in ways:
        value, where = given.get(SIMPLE, ""), ""
        for path in files:
            if SIMPLE in (variables := read_variables(path)):
                value, where = variables[SIMPLE], path
        if value.strip().lower() in TRUE:
            hits.append((who, value, where))
    for value, where in dict.fromkeys((value, where) for _, value, where in hits):
        who = join_versions([who for who, *rest in hits if rest == [value, where]], ways)
        source = "the env of this file" if where else "the environment"
        what = f"{SIMPLE} is {value!r} in {source}, so {who} runs no hook at all"
        do = f"take it out of {where}" if where else f"unset {SIMPLE}"
        yield Finding(ERROR, REGISTRATION.name, what, where, do)


# -- the environment of a hook: what Claude Code has itself, and what its settings add. What a project's file would
# have loaded or run is never taken over, since anybody may have put it there.


def read_environment(project: str, given: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """(what a hook is started with in a session in `project` that is started with `given`, what a project's files
    would add to it and truecall does not run)."""
    env = {**given, **read_variables(place(REGISTRATION, USER, project))}
    withheld = []
    files = list_settings_files(project)
    files += [place(REGISTRATION, PROJECT, folder) for folder in list_folders_above(project)]
    for path in files:
        for key, value in read_variables(path).items():
            if key in HARMLESS or (key == "PATH" and lies_elsewhere(value, project)):
                env[key] = value
            elif key in PUTTING or key.startswith(LOADING):
                withheld.append(f"{key} in {path}")
    return env, tuple(withheld)


def lies_elsewhere(value: str, project: str) -> bool:
    """Whether no folder of a PATH lies in the project, or follows the working folder."""
    root = os.path.realpath(find_repository(project) or project).rstrip("/")
    return all(folder.startswith("/") and not f"{os.path.realpath(folder)}/".startswith(f"{root}/")
               for folder in value.split(":"))  # fmt: skip


def wrap_command(command: str, env: Mapping[str, str]) -> tuple[str, str]:
    """(the line that Claude Code gives to the shell, the setting that changed it): with a prefix, that program with
    the command as its last word. What follows the last blank and dash are words of its own."""
    prefix = env.get(PREFIX, "")
    if not prefix:
        return command, ""
    at = prefix.rfind(" -")
    program, rest = (prefix[:at], f"{prefix[at + 1 :]} ") if at > 0 else (prefix, "")
    return f"{quote_word(program)} {rest}{quote_word(command)}", f"{PREFIX}={prefix}"
