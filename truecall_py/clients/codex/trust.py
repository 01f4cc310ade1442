"""Codex' trust in our hook: the entry in the person's config.toml, its hash, and what it is called. Never
touches another byte of that file, and never says that a project is trusted: that is a person's decision.

`install` and `uninstall` change FILE, beside the person's registration, together with the registration itself.
"""

from __future__ import annotations

import json
import os
import re

from truecall_py.clients.jsonc import Document, SettingsError
from truecall_py.clients.registration import Registration, find_timeout, split_words
from truecall_py.clients.settings_files import parse_toml
from truecall_py.core.hashing import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


    Handlers = list[tuple[str, str, bool]]

FILE = "config.toml"
OWN = re.compile(r"[ \t]*(trusted_hash|trusted_content_hash|enabled)[ \t]*=")
HASH = re.compile(r"([ \t]*trusted_hash[ \t]*=[ \t]*)([\"'])[^\"'\r\n]*\2")


def label(event: str) -> str:
    """PostToolUse -> post_tool_use."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", event).lower()


def compute_hash(event: str, group: dict[str, Any], handler: dict[str, Any]) -> str:
    """What Codex computes for a command hook; it runs one only where this is stored."""
    hashed: dict[str, Any] = {name: handler[name] for name in ("type", "command", "statusMessage") if name in handler}
    timeout = handler.get("timeout")
    hashed |= {"timeout": max(1, timeout) if isinstance(timeout, int) else 600, "async": handler.get("async", False)}
    whole: dict[str, Any] = {"event_name": label(event), "hooks": [hashed]}
    if group.get("matcher") is not None:
        whole["matcher"] = group["matcher"]
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + sha256(text.encode("utf-8", "surrogatepass"))  # half a letter: Codex does not read it at all


def name_hooks_file(path: str) -> str:
    """A hooks.json as Codex names it: the folder of CODEX_HOME with its links resolved, any other as it is,
    and never the link that the file itself may be."""
    folder, name = os.path.split(path)
    given = os.environ.get("CODEX_HOME", "")
    moved = bool(given) and os.path.abspath(given) == folder
    return os.path.join(os.path.realpath(folder) if moved else folder, name)


def list_handlers(doc: Document | None, path: str) -> Handlers:
    """(key in hooks.state, hash where it is ours, whether it is ours) of every handler of a hooks.json."""
    hooks = doc.root.plain().get("hooks", {}) if doc is not None else {}
    lines_found = []
    for event, groups in hooks.items():
        # What is of another shape is below an event that Codex does not know, or in a group that it passes over.
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            inside = group.get("hooks") if isinstance(group, dict) else None
            for place, handler in enumerate(inside if isinstance(inside, list) else ()):
                if not isinstance(handler, dict):
                    continue
                mine = bool(split_words(handler.get("command")))
                key = f"{path}:{label(event)}:{number}:{place}"
                lines_found.append((key, compute_hash(event, group, handler) if mine else "", mine))
    return lines_found


def read_states(plain: dict[str, Any]) -> dict[str, Any]:
    """hooks.state of a config.toml. Raises SettingsError where it is no table of tables."""
    hooks = plain.get("hooks", {})
    state = hooks.get("state", {}) if isinstance(hooks, dict) else None
    if not isinstance(state, dict) or not all(isinstance(value, dict) for value in state.values()):
        raise SettingsError("hooks.state in it is no table of tables", 0, "mend it")
    return state


def list_second_events(plain: dict[str, Any]) -> list[str]:
    """The events that a config.toml registers hooks for itself."""
    hooks = plain.get("hooks", {})
    return sorted(key for key in hooks if key != "state") if isinstance(hooks, dict) else ["hooks"]


def refuse_second(text: str) -> None:
    """Raises SettingsError for the text of a config.toml that registers hooks itself."""
    if events := list_second_events(parse_toml(text)):
        what = f"it registers hooks itself ({', '.join(events)}), and Codex would run both with a warning"
        raise SettingsError(what, -1, "move these hooks into hooks.json, and run this again; or add there")


def grant(
    toml: str, path: str, before: Document | None, after: Document | None, known: frozenset[str] = frozenset()
) -> tuple[str, str]:
    """(config.toml for a hooks.json at `path` that was `before` and becomes `after`, the piece appended to it
    or ""): our handlers are trusted, and a foreign one that moved keeps the trust that it had. `known` are
    keys that are ours whatever the file says. Raises SettingsError where that cannot be written without
    touching anything else."""
    then, now = list_handlers(before, path), list_handlers(after, path)
    hashes = {key: value for key, value, mine in now if mine}
    ours = {value for _, value, mine in [*then, *now] if mine}
    foreign = zip((key for key, _, mine in then if not mine), (key for key, _, mine in now if not mine), strict=False)
    moved = {old: new for old, new in foreign if old != new}
    plain = parse_toml(toml)
    state = read_states(plain)
    gone = {key for key, _, mine in then if mine} | known
    gone |= {key for key, value in state.items() if key.startswith(f"{path}:") and value.get("trusted_hash") in ours}
    expected = {moved.get(key, key): value for key, value in state.items() if key in moved or key not in gone}
    missing = [key for key in hashes if key not in state or key in moved]
    for key, value in hashes.items():
        expected[key] = {**(state[key] if key not in missing else {}), "trusted_hash": value}

    text = edit_states(toml, moved, hashes, gone)
    newline, piece = "\r\n" if "\r\n" in toml else "\n", ""
    for key in missing:
        gap = newline * (not text.endswith("\n")) + newline if text.strip("\ufeff") else ""
        table = gap + newline.join((render_head(key), f'trusted_hash = "{hashes[key]}"', ""))
        piece, text = piece + table, text + table
    if not differs_in_states(plain, text, expected):
        want = "\n".join(f'    {render_head(key)}\n    trusted_hash = "{value}"' for key, value in hashes.items())
        do = f"make it hold this, and run this again:\n{want}" if want else f"take the entries of {path} out of it"
        raise SettingsError("hooks.state is not written as tables of its own, so it is left alone", 0, do)
    return text, piece


def revoke(toml: str, path: str, before: Document | None, after: Document | None, pieces: tuple[str, ...]) -> str:
    """config.toml without our trust in the hooks.json at `path`. `pieces` are what `grant` appended; where they stand
    as they were written, nothing else changes by a byte. Raises SettingsError."""
    rows = (parse_header(row) for piece in pieces for row in piece.splitlines(keepends=True))
    left, _ = grant(toml, path, before, after, frozenset(key for key in rows if key is not None))
    exact = toml
    for piece in pieces:
        exact = exact.replace(piece, "") if piece and exact.count(piece) == 1 else left
    return exact if exact != left and parse_toml(exact) == parse_toml(left) else left


def render_head(key: str) -> str:
    return f"[hooks.state.{json.dumps(key, ensure_ascii=False)}]"


def edit_states(toml: str, moved: dict[str, str], hashes: dict[str, str], gone: set[str]) -> str:
    """The text with the tables of hooks.state renamed, given another hash, or taken out."""
    lines = toml.splitlines(keepends=True)
    headers = [(number, parse_header(line)) for number, line in enumerate(lines)]
    for number, key in reversed(headers):
        if key is None:
            continue
        end = number + 1
        while end < len(lines) and OWN.match(lines[end]):
            end += 1
        if key in moved:
            line = lines[number]
            closed = next(at for at in range(len(line)) if line[at] == "]" and parse_header(line[: at + 1]) == key)
            lines[number] = render_head(moved[key]) + line[closed + 1 :]
        elif key in hashes:
            for place in range(number + 1, end):
                if found := HASH.match(lines[place]):
                    lines[place] = f'{found[1]}"{hashes[key]}"' + lines[place][found.end() :]
        elif key in gone:
            start = number - 1 if number and not lines[number - 1].strip() else number
            del lines[start:end]
    return "".join(lines)


def differs_in_states(plain: dict[str, Any], text: str, expected: dict[str, Any]) -> bool:
    """Whether a text differs from what `plain` was read from in hooks.state alone, which is as expected."""
    try:
        result = parse_toml(text)
        if read_states(result) != expected:
            return False
    except SettingsError:
        return False
    bare = [
        {**whole, "hooks": {name: value for name, value in whole.get("hooks", {}).items() if name != "state"}}
        for whole in (plain, result)
    ]
    return bare[0] == bare[1]


def parse_header(line: str) -> str | None:
    """The key of a table below hooks.state whose header a line is."""
    if not line.lstrip(" \t").startswith("[") or "hooks" not in line or "state" not in line:
        return None
    try:
        states = parse_toml(line)["hooks"]["state"]
    except (SettingsError, LookupError, TypeError):
        return None
    key = next(iter(states), None) if isinstance(states, dict) and len(states) == 1 else None
    return key if key is not None and states[key] == {} else None


def refresh(pieces: tuple[str, ...], text: str) -> tuple[str, ...]:
    """The pieces appended once, with the hashes that stand in their tables now."""
    state = read_states(parse_toml(text))
    found = []
    for piece in pieces:
        rows = piece.splitlines(keepends=True)
        for number, row in enumerate(rows):
            key, after = parse_header(row), number + 1
            if key in state and after < len(rows) and (old := HASH.match(rows[after])):
                rows[after] = f'{old[1]}"{state[key].get("trusted_hash")}"' + rows[after][old.end() :]
        found.append("".join(rows))
    return tuple(found)


def paste(about: Registration, command_of: Callable[[str], str]) -> str:
    """The registration in the form that config.toml takes, to paste."""
    rows = []
    for event in about.events:
        command = json.dumps(command_of(event), ensure_ascii=False)
        rows += [f"[[hooks.{event}]]", f"[[hooks.{event}.hooks]]", 'type = "command"', f"command = {command}"]
        rows += [f"{about.timeout[0]} = {find_timeout(about, event)}", ""]
    return "\n".join(rows)


def remarks(text: str, path: str, project: bool, folder: str) -> list[str]:
    """What a person must do besides, by the text of their config.toml. Raises SettingsError."""
    found, plain = [], parse_toml(text)
    features = plain.get("features", {})
    for name in ("hooks", "codex_hooks"):
        if isinstance(features, dict) and features.get(name) is False:
            found.append(f"features.{name} is false in config.toml, so Codex runs no hook until that is changed")
    for key, value in read_states(plain).items():
        if key.startswith(f"{path}:") and value.get("enabled") is False:
            found.append(f"hooks.state of config.toml has enabled = false for {key}: Codex does not run it")
    listed = plain.get("projects", {})
    levels = [listed.get(parent, {}) for parent in list_parents(folder)] if isinstance(listed, dict) else []
    if project and not any(isinstance(level, dict) and level.get("trust_level") == "trusted" for level in levels):
        table = f'    [projects.{json.dumps(folder, ensure_ascii=False)}]\n    trust_level = "trusted"'
        found.append("Codex reads a project's hooks.json only where it trusts the project, and this one it does not:"
                     " start `codex` in this folder and confirm that you trust it, or add to the end of your "
                     f"config.toml:\n{table}")  # fmt: skip
    return found


def list_parents(folder: str) -> list[str]:
    """The folder, and those above it up to the root of its repository: Codex asks for these."""
    found = [folder]
    while not os.path.lexists(os.path.join(found[-1], ".git")):
        above = os.path.dirname(found[-1])
        if above == found[-1]:
            return [folder]
        found.append(above)
    return found
