"""Where Copilot CLI finds hooks besides its registration's own file."""

from __future__ import annotations

import os
from collections.abc import Iterator

from truecall_py.clients.copilot_cli.registration import REGISTRATION
from truecall_py.clients.handlers import WARNING, Finding, Handler, Inventory, render_uninstall
from truecall_py.clients.settings_files import PROJECT, list_names


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
        yield Finding(WARNING, REGISTRATION.name, what, shared[0].where, render_uninstall(shared[0]))
