"""Where Claude Code finds hooks besides its registration's own file, and what would keep it from running them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from truecall_py.clients.claude_code.registration import NEW, OLD, REGISTRATION
from truecall_py.clients.handlers import WARNING, Finding, Handler, Inventory
from truecall_py.clients.settings_files import PROJECT, USER, find_repository, place, read_plain


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
