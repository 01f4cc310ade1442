"""What `truecall stats` says."""

from __future__ import annotations

import json
from typing import Any


def stats(project: Any, *argv: str) -> dict[str, Any]:
    done = project.command("stats", "--json", *argv)
    assert done.returncode == 0 and not done.stderr, done
    found: dict[str, Any] = json.loads(done.stdout)
    return found
