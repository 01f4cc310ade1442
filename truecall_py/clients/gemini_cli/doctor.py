"""What `doctor` must know of Gemini CLI: whether it runs a project's hooks, and what switches hooks off."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from truecall_py.clients.gemini_cli.registration import REGISTRATION
from truecall_py.clients.handlers import ERROR, Finding, Handler
from truecall_py.clients.settings_files import PROJECT, USER, find_last_switch, place, read_as_client, read_plain
from truecall_py.clients.switches import find_switched_off


def trusts_folder(project: str) -> tuple[bool, str]:
    """(whether it trusts a folder, and so reads the settings in it, as far as its files tell; the file in which it
    keeps that)."""
    user = place(REGISTRATION, USER, project)
    path = os.path.join(os.path.dirname(user), "trustedFolders.json")
    if os.environ.get("GEMINI_CLI_TRUST_WORKSPACE") == "true":
        return True, path
    if find_last_switch([user], REGISTRATION, "security.folderTrust.enabled")[0] is False:
        return True, path
    known = read_plain(path)
    while known.get(project) != "TRUST_FOLDER":
        if project == os.path.dirname(project):
            return False, path
        project = os.path.dirname(project)
    return True, path


def find_switches(mine: list[Handler], project: str, given: Mapping[str, str]) -> Iterator[Finding]:
    """The switch in the settings, and a list that names hooks of ours: by their name where they have one, else by
    their command. The lists of all files count."""
    files = [place(REGISTRATION, USER, project)]
    if trusts_folder(project)[0]:
        files.append(place(REGISTRATION, PROJECT, project))
    yield from find_switched_off(REGISTRATION, [(REGISTRATION.client, files)])
    for path in dict.fromkeys(files):
        config = read_as_client(path, REGISTRATION).get("hooksConfig")
        names = config.get("disabled") if isinstance(config, dict) else None
        for handler in mine:
            if isinstance(names, list) and (handler.title or handler.command) in names:
                what = f"hooksConfig.disabled in {path} names our hook, so Gemini CLI does not run it"
                yield Finding(ERROR, REGISTRATION.name, what, handler.where, f"take it out of that list in {path}")
