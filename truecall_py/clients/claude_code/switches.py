"""What switches the hooks of Claude Code off, as seen in the two versions that were run: the older one reads nothing
of the repository's root in a subfolder, the newer one takes SIMPLE from no project's file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from truecall_py.clients.claude_code.doctor import list_folders_above
from truecall_py.clients.claude_code.registration import NEW, OLD, REGISTRATION
from truecall_py.clients.handlers import ERROR, Finding, Handler
from truecall_py.clients.settings_files import PROJECT, USER, place, read_as_client
from truecall_py.clients.switches import find_switched_off, join_versions

SIMPLE = "CLAUDE_CODE_SIMPLE"
TRUE = ("1", "true", "yes", "on")


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
