"""What `doctor` must know of Codex: where it finds hooks besides its registration's own file, what switches them off,
and whether it trusts them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from truecall_py.clients.codex import trust
from truecall_py.clients.codex.registration import REGISTRATION
from truecall_py.clients.handlers import ERROR, OK, PLUGIN_SCOPE, Finding, Handler, Inventory, is_ours
from truecall_py.clients.jsonc import SettingsError
from truecall_py.clients.settings_files import PROJECT, USER, list_names, parse_toml, place, read_plain
from truecall_py.clients.switches import make_finding


def list_folders_above(project: str) -> list[str]:
    """The folders above a project whose registrations count in it: each up to the repository's root."""
    return trust.list_parents(project)[1:]


def list_further_files(path: str, scope: str, here: bool) -> list[str]:
    """The other files with hooks beside the registration's file at `path`."""
    return [os.path.join(os.path.dirname(path), "config.toml")]


def list_plugin_hooks(project: str) -> list[str]:
    """The hooks of each installed plugin called truecall that config.toml switches on."""
    folder = os.path.dirname(place(REGISTRATION, USER, project))
    listed = read_plain(os.path.join(folder, "config.toml")).get("plugins")
    places = []
    for name, row in listed.items() if isinstance(listed, dict) else ():
        plugin, _, market = name.partition("@")
        if plugin != "truecall" or not isinstance(row, dict) or row.get("enabled") is not True:
            continue
        cache = os.path.join(folder, "plugins", "cache", market, plugin)
        places += [os.path.join(cache, version, "hooks", "codex.json") for version in list_names(cache)[-1:]]
    return places


def read_handlers(scope: str, path: str, text: str) -> list[Handler] | None:
    """The commands of ours in a config.toml; None for another file. Raises SettingsError for one that Codex does not
    read."""
    if not path.endswith(".toml"):
        return None
    handlers = []
    hooks = parse_toml(text).get("hooks", {})
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            inner = group.get("hooks") if isinstance(group, dict) else None
            for at, entry in enumerate(inner if isinstance(inner, list) else ()):
                if not isinstance(entry, dict) or not is_ours(entry.get("command"), REGISTRATION.name, scope):
                    continue
                if not isinstance(entry.get("timeout", 0), (int, float)):
                    raise SettingsError(f"a hook of {event} has a timeout that is no number")
                command = entry["command"]
                handlers.append(Handler(REGISTRATION, scope, path, path, event, command, command, "", group, entry,
                                     (number, at)))  # fmt: skip
    return handlers


def name_hooks_file(handler: Handler) -> str:
    """The file of a hook as Codex' trust names it; that of a plugin is .../MARKETPLACE/truecall/VERSION/hooks/…"""
    if handler.scope != PLUGIN_SCOPE:
        return trust.name_hooks_file(handler.path)
    return f"truecall@{handler.root.split('/')[-3]}:{os.path.relpath(handler.path, handler.root)}"


def find_faults(mine: list[Handler], found: Inventory, project: str) -> Iterator[Finding]:
    """Whether Codex trusts each hook as it is now, and runs hooks at all."""
    name = REGISTRATION.name
    config = os.path.join(os.path.dirname(place(REGISTRATION, USER, project)), trust.FILE)
    text = found.read.get(config, "")
    try:
        state = trust.read_states(parse_toml(text))
    except SettingsError as error:
        yield Finding(ERROR, name, error.what, config, error.do or "mend it")
        return
    for handler in mine:
        digest = trust.compute_hash(handler.event, handler.group or {}, handler.entry or {})
        key = ":".join((name_hooks_file(handler), trust.label(handler.event), *map(str, handler.position)))
        stored = state.get(key, {}).get("trusted_hash")
        if stored != digest:
            why = "it was changed after it was trusted" if stored else "nobody trusted it yet"
            plugin = handler.scope == PLUGIN_SCOPE
            do = "start codex, and trust the hook there" if plugin else handler.render_install()
            yield Finding(ERROR, name, f"Codex does not trust this hook ({why}) and skips it in silence",
                          handler.where, do)  # fmt: skip
        else:
            yield Finding(OK, name, f"Codex trusts the hook of {handler.event}", handler.where)
    for path in dict.fromkeys(handler.path for handler in mine):
        here = next(handler for handler in mine if handler.path == path)
        for said in trust.remarks(text, name_hooks_file(here), here.scope == PROJECT, project):
            if not said.startswith("features."):  # find_switches knows which file of several counts
                yield Finding(ERROR, name, said, config, f"change it in {config}, or start codex here and confirm")
        beside = os.path.join(os.path.dirname(path), trust.FILE)
        second = [] if path == beside else second_of(found.read.get(beside, ""))
        if second:
            yield Finding(ERROR, name, f"{beside} registers hooks, too ({', '.join(second)})", path,
                          "move them into hooks.json")  # fmt: skip


def second_of(text: str) -> list[str]:
    """The events for which a config.toml registers hooks itself; none in one that cannot be read."""
    try:
        return trust.list_second_events(parse_toml(text))
    except SettingsError:
        return []


def find_switches(mine: list[Handler], project: str, given: Mapping[str, str]) -> Iterator[Finding]:
    """Codex reads the person's config.toml, and where it trusts the project those from the repository's root down
    to the session's folder; the last one that says anything wins."""
    own = os.path.join(os.path.dirname(place(REGISTRATION, USER, project)), "config.toml")
    folders = [project, *list_folders_above(project)]
    rows = read_plain(own).get("projects")
    known = [rows.get(folder) for folder in folders] if isinstance(rows, dict) else []
    files = [own]
    if any(isinstance(row, dict) and row.get("trust_level") == "trusted" for row in known):
        beside = [os.path.dirname(place(REGISTRATION, PROJECT, folder)) for folder in reversed(folders)]
        files += [os.path.join(above, "config.toml") for above in beside]
    said: dict[str, tuple[Any, str]] = {}
    for path in files:
        features = read_plain(path).get("features")
        if isinstance(features, dict):
            said |= {key: (value, path) for key, value in features.items()}
    # The new name wins over the old one.
    name = next((feature for feature in ("hooks", "codex_hooks") if feature in said), "")
    if name and said[name][0] is False:
        yield make_finding(REGISTRATION.name, f"features.{name} is false in config.toml", "Codex", said[name][1])
