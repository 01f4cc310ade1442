"""What `doctor` must know of Copilot CLI: where it finds hooks besides its registration's own file, and what switches
them off."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from truecall_py.clients.copilot_cli.registration import REGISTRATION
from truecall_py.clients.handlers import ERROR, WARNING, Finding, Handler, Inventory
from truecall_py.clients.settings_files import PROJECT, list_names, read_as_client
from truecall_py.clients.switches import find_switched_off

# Where it looks for its switch, the last one wins; its files in the home folder do not count.
FILES = (".claude/settings.json", ".claude/settings.local.json", ".github/copilot/settings.json",
         ".github/copilot/settings.local.json")  # fmt: skip


def list_further_files(path: str, scope: str, here: bool) -> list[str]:
    """The other files with hooks beside the registration's file at `path`: every *.json of that folder."""
    folder = os.path.dirname(path)
    return [os.path.join(folder, name) for name in list_names(folder) if name.endswith(".json")]


def find_faults(mine: list[Handler], found: Inventory, project: str) -> Iterator[Finding]:
    """It runs the hooks of a project's .claude/settings.json and .claude/settings.local.json, too."""
    beside = os.path.join(project, ".claude")
    in_project = (handler for handler in found.handlers if handler.scope == PROJECT)
    shared = [handler for handler in in_project if os.path.dirname(handler.path) == beside]
    if shared:
        file = os.path.basename(shared[0].path)
        what = f"Copilot CLI also runs the hooks of .claude/{file}, so each call is judged twice"
        yield Finding(WARNING, REGISTRATION.name, what, shared[0].where, shared[0].render_uninstall())


def find_switches(mine: list[Handler], project: str, given: Mapping[str, str]) -> Iterator[Finding]:
    """The switch in the project's settings, and the one in each file of hooks, which counts for that file alone."""
    files = [os.path.join(project, file) for file in FILES]
    yield from find_switched_off(REGISTRATION, [(f"{REGISTRATION.client} in a folder that it trusts", files)])
    for path in dict.fromkeys(handler.path for handler in mine):
        if read_as_client(path, REGISTRATION).get("disableAllHooks") is True:
            what = "disableAllHooks is true in this file, so Copilot CLI runs no hook of it"
            yield Finding(ERROR, REGISTRATION.name, what, path, f"change it in {path}")
