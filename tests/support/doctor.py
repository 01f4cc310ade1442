"""`truecall doctor`, and what it found."""

from __future__ import annotations

import json
import os
from typing import Any

from support.settings import home, read

GOOD = "version: 1\nuse: [files]\n"


def doctor(person: Any, *argv: str, code: int = 0, **more: Any) -> list[dict[str, str]]:
    """The findings."""
    done = person.command("doctor", *argv, "--format", "json", **more)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert not done.stderr, done.stderr
    found: list[dict[str, str]] = json.loads(done.stdout)
    assert all(each["do"] for each in found if each["level"] in ("warning", "error")), found
    return found


def said(found: list[dict[str, str]], level: str, group: str = "") -> str:
    return "\n".join(f"{each['what']} [{each['where']}] -> {each['do']}" for each in found
                     if each["level"] == level and group in ("", each["group"]))  # fmt: skip


def edited(path: str, old: str, new: str) -> None:
    text = read(path).decode()
    assert old in text, (path, old)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))


LOCAL, SHARED = ".claude/settings.local.json", ".claude/settings.json"


def merge(person: Any, path: str, more: dict[str, Any]) -> None:
    """Adds keys to a settings file; a path that begins with ~/ is below the home folder."""
    full = home(person, path[2:]) if path.startswith("~/") else os.path.join(person.root, path)
    plain = json.loads(read(full)) if os.path.exists(full) else {}
    person.write(full, json.dumps({**plain, **more}, indent=2))
