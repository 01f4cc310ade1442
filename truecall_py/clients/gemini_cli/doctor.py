"""Whether Gemini CLI runs a project's hooks."""

from __future__ import annotations

import os

from truecall_py.clients.gemini_cli.registration import REGISTRATION
from truecall_py.clients.settings_files import USER, find_last_switch, place, read_plain


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
