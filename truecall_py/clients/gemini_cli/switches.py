"""What switches the hooks of Gemini CLI off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from truecall_py.clients.gemini_cli.doctor import trusts_folder
from truecall_py.clients.gemini_cli.registration import REGISTRATION
from truecall_py.clients.handlers import ERROR, Finding, Handler
from truecall_py.clients.settings_files import PROJECT, USER, place, read_as_client
from truecall_py.clients.switches import find_switched_off


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
