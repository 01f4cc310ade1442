"""One folder for each client, and the recognition of a payload's sender.

Everything that is known of one client is in its own folder, and nothing of it elsewhere. To add one:

1. Make the folder `clients/<name>/`, with `_` for `-`, and in it the modules that clients/interface.py lists. The
   folder of a client that is much like it is a good start.
2. Add the name to NAMES.
3. Run `python install/generate`: it names what the folder still lacks, then writes the launcher and
   the settings to paste.
"""

from __future__ import annotations

import sys

from truecall_py.core.errors import PayloadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from truecall_py.clients.registration import Registration

NAMES = ("claude-code", "codex", "gemini-cli", "qwen-code", "copilot-cli", "opencode", "cline")
DEFAULT = NAMES[0]  # whose payloads most others copied, and whose answers most understand


def load_part(name: str, part: str) -> ModuleType:
    """The module `part` of a client's folder. Raises PayloadError for a name that is not in NAMES, ImportError."""
    if name not in NAMES:
        raise PayloadError(
            f"the harness {name[:60]!r} is not known", do=f"use one of {', '.join(NAMES)}, or leave --harness out"
        )
    full = f"{__name__}.{name.replace('-', '_')}.{part}"
    __import__(full)
    return sys.modules[full]


def find_part(name: str, part: str) -> ModuleType | None:
    """The same; None where the client has no such module."""
    try:
        return load_part(name, part)
    except ModuleNotFoundError as missing:
        if missing.name != f"{__name__}.{name.replace('-', '_')}.{part}":
            raise
        return None


def load_hook(name: str) -> ModuleType:
    """The module that reads a client's payloads and answers them. Raises PayloadError for an unknown name."""
    return load_part(name, "hook")


def load_registration(name: str) -> Registration:
    """Where and how a client is told of a hook. Raises PayloadError for an unknown name."""
    about: Registration = load_part(name, "registration").REGISTRATION
    return about


def find_sender(payload: dict[str, Any], first: str = DEFAULT) -> str:
    """Who sent a payload: a name of NAMES, or that of a client that truecall does not support; "" for an unknown
    shape. The client `first` is asked first, so that of the others nothing is loaded where it is the sender."""
    first = first if first in NAMES else DEFAULT
    if load_hook(first).recognises(payload):
        return first
    from truecall_py.clients import unsupported

    found = unsupported.find_by_keys(payload)
    found = found or next((name for name in NAMES if load_hook(name).recognises(payload)), "")
    if found:
        return found
    event = payload.get("hook_event_name")
    return unsupported.EVENTS.get(event, DEFAULT) if isinstance(event, str) else ""


def recognise(payload: dict[str, Any], first: str = DEFAULT) -> str:
    """The client of NAMES that sent a payload, by its keys alone. Raises PayloadError for any other shape."""
    name = find_sender(payload, first)
    if not name:
        keys = ", ".join(sorted(str(key) for key in payload)[:8]) or "none"
        raise PayloadError(f"the payload names no hook_event_name (its keys: {keys[:200]})")
    if name not in NAMES:
        raise PayloadError(
            f"this payload has the shape of {name}, which truecall does not support yet",
            do=f"register truecall in one of {', '.join(NAMES)}",
        )
    return name
