"""What switches the hooks of Copilot CLI off."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from truecall_py.clients.copilot_cli.registration import REGISTRATION
from truecall_py.clients.handlers import ERROR, Finding, Handler
from truecall_py.clients.settings_files import read_as_client
from truecall_py.clients.switches import find_switched_off

# Where it looks for its switch, the last one wins; its files in the home folder do not count.
FILES = (".claude/settings.json", ".claude/settings.local.json", ".github/copilot/settings.json",
         ".github/copilot/settings.local.json")  # fmt: skip


def find_switches(mine: list[Handler], project: str, given: Mapping[str, str]) -> Iterator[Finding]:
    """The switch in the project's settings, and the one in each file of hooks, which counts for that file alone."""
    files = [os.path.join(project, file) for file in FILES]
    yield from find_switched_off(REGISTRATION, [(f"{REGISTRATION.client} in a folder that it trusts", files)])
    for path in dict.fromkeys(handler.path for handler in mine):
        if read_as_client(path, REGISTRATION).get("disableAllHooks") is True:
            what = "disableAllHooks is true in this file, so Copilot CLI runs no hook of it"
            yield Finding(ERROR, REGISTRATION.name, what, path, f"change it in {path}")
