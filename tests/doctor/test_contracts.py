"""`truecall doctor` on contracts: whether they are trusted, unchanged, and about tools that there are."""

from __future__ import annotations

import os
from typing import Any

import pytest
from support.doctor import GOOD, doctor, said
from support.settings import home, run


def test_the_contracts(person: Any) -> None:
    """None; not trusted, with its errors; trusted; changed; deleted; a name that is nearly right."""
    run(person, "install", "qwen-code")
    assert "there is no truecall.yaml" in said(doctor(person), "warning")
    person.write(person.contract, "version: 1\ncontracts:\n  - id: x\n    tol: y\n")
    wrong = said(doctor(person, code=1), "error", "contracts")
    assert f"-> truecall trust {person.contract}" in wrong and "truecall.yaml:4:" in wrong
    person.trust(GOOD)
    assert "trusted and unchanged" in said(doctor(person), "ok", "contracts")
    person.write(person.contract, GOOD + "# more\n")
    assert "what was trusted is in force" in said(doctor(person), "warning")
    os.unlink(person.contract)
    assert "--revoke" in said(doctor(person), "warning")
    person.write("truecall.yml", GOOD)
    below = person.folder("project", "deep", "er")
    assert f"mv {person.root}/truecall.yml {person.contract}" in said(doctor(person, cwd=below), "warning")
    person.write(person.own, GOOD)
    found = doctor(person, code=1, env={"XDG_CONFIG_HOME": os.path.join(person.base, "config")})
    assert person.own in said(found, "error", "contracts")


def test_code_that_changed(person: Any) -> None:
    """Code that a contract runs and that is no longer what was trusted."""
    run(person, "install", "qwen-code")
    person.write("check.py", "print(1)\n")
    person.trust('version: 1\ncontracts:\n  - id: c\n    tool: t\n    post: {custom: {run: [python3, ./check.py]}}\n')
    doctor(person)
    person.write("check.py", "print(2)\n")
    assert "not what was trusted" in said(doctor(person, code=1), "error", "contracts")


@pytest.mark.parametrize("path, text", [
    (".mcp.json", '{"mcpServers": {"notes": {}}}'),
    ("~/.claude.json", '{"projects": {"@ROOT@": {"mcpServers": {"notes": {}}}}}'),
    ("~/.codex/config.toml", '[mcp_servers.notes]\ncommand = "x"\n'),
    ("~/.qwen/settings.json", '{"mcpServers": {"notes": {}}}'),
])  # fmt: skip
def test_a_tool_whose_server_nobody_has(person: Any, path: str, text: str) -> None:
    """A contract for an MCP server that no client's settings name is a warning, until one does."""
    run(person, "install", "claude-code")
    person.trust()
    assert "an MCP server 'notes'" in said(doctor(person), "warning", "contracts")
    full = home(person, path[2:]) if path.startswith("~/") else path
    person.write(full, text.replace("@ROOT@", person.root))
    assert not said(doctor(person), "warning", "contracts")
