"""What switches the hooks of Codex off."""

from __future__ import annotations

import os

from truecall_py.clients.codex.doctor import list_folders_above
from truecall_py.clients.codex.registration import REGISTRATION
from truecall_py.clients.settings_files import PROJECT, USER, place, read_plain
from truecall_py.clients.switches import make_finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from truecall_py.clients.handlers import Finding, Handler


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
