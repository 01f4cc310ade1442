"""`truecall doctor` on switches: which settings file counts, and which one wins; each was seen with the real client."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from support.doctor import LOCAL, SHARED, doctor, merge, said
from support.settings import USER, home, read, run

# -- switches: which file counts, which one wins (each was seen with the real client) ------------------------

OFF, ON = {"disableAllHooks": True}, {"disableAllHooks": False}
SHUT, OPEN = {"hooksConfig": {"enabled": False}}, {"hooksConfig": {"enabled": True}}
GITHUB = (".github/copilot/settings.json", ".github/copilot/settings.local.json")


def trusting(person: Any) -> None:
    """Gemini CLI and Codex trust the project."""
    person.write(home(person, ".gemini/trustedFolders.json"), json.dumps({person.root: "TRUST_FOLDER"}))
    os.makedirs(home(person, ".codex"), exist_ok=True)
    with open(home(person, ".codex/config.toml"), "a") as file:
        file.write(f"\n[projects.{json.dumps(person.root)}]\ntrust_level = \"trusted\"\n")


@pytest.mark.parametrize("name, files, off", [
    ("claude-code", {"~/.claude/settings.json": OFF, LOCAL: ON}, False),
    ("claude-code", {"~/.claude/settings.json": OFF, SHARED: ON}, False),
    ("claude-code", {SHARED: OFF, LOCAL: ON}, False),
    ("claude-code", {"~/.claude/settings.json": ON, LOCAL: OFF}, True),
    ("claude-code", {SHARED: OFF}, True),
    ("claude-code", {GITHUB[0]: OFF}, False),
    ("qwen-code", {"~/.qwen/settings.json": OFF, ".qwen/settings.json": ON}, False),
    ("qwen-code", {"~/.qwen/settings.json": ON, ".qwen/settings.json": OFF}, True),
    ("gemini-cli", {"~/.gemini/settings.json": SHUT, ".gemini/settings.json": OPEN}, False),
    ("gemini-cli", {"~/.gemini/settings.json": OPEN, ".gemini/settings.json": SHUT}, True),
    ("copilot-cli", {"~/.copilot/hooks/truecall.json": OFF}, True),
    ("copilot-cli", {"~/.copilot/hooks/other.json": OFF}, False),
    ("copilot-cli", {".github/hooks/other.json": OFF}, False),
    ("copilot-cli", {"~/.copilot/settings.json": OFF}, False),
    ("copilot-cli", {GITHUB[0]: OFF}, True),
    ("copilot-cli", {GITHUB[1]: OFF}, True),
    ("copilot-cli", {SHARED: OFF}, True),
    ("copilot-cli", {LOCAL: OFF}, True),
    ("copilot-cli", {GITHUB[0]: OFF, GITHUB[1]: ON}, False),
    ("copilot-cli", {SHARED: OFF, GITHUB[0]: ON}, False),
])  # fmt: skip
def test_of_several_switches_the_last_one_wins(healthy: Any, name: str, files: dict[str, Any], off: bool) -> None:
    """Off where the file that wins says so, and not where another one that it overrides does, or one that the
    client does not ask."""
    run(healthy, "install", name)
    trusting(healthy)
    for path, more in files.items():
        merge(healthy, path, more)
    wrong = said(doctor(healthy, name, code=1 if off else 0), "error", name)
    assert ("runs no hook" in wrong) == off
    if off:
        assert next(path.replace("~", healthy.home) for path, more in files.items() if more in (OFF, SHUT)) in wrong


def test_a_switch_in_a_file_that_is_not_read(healthy: Any) -> None:
    """A comment voids a settings file of Claude Code and Copilot CLI, its switch included; Gemini CLI reads nothing of a
    project that it does not trust."""
    for name in ("claude-code", "copilot-cli", "gemini-cli"):
        run(healthy, "install", name)
    healthy.write(LOCAL, "// no\n" + json.dumps(OFF))
    healthy.write(GITHUB[0], "// no\n" + json.dumps(OFF))
    merge(healthy, ".gemini/settings.json", SHUT)
    assert "runs no hook" not in said(doctor(healthy), "error")
    healthy.write(LOCAL, json.dumps({**OFF, "permissions": []}))  # nor with a value of another kind, in Claude Code
    assert "runs no hook" not in said(doctor(healthy, "claude-code"), "error")
    assert "Copilot CLI in a folder that it trusts runs no hook" in said(doctor(healthy, "copilot-cli", code=1), "error")
    os.unlink(os.path.join(healthy.root, LOCAL))
    trusting(healthy)
    assert "Gemini CLI runs no hook at all" in said(doctor(healthy, code=1), "error", "gemini-cli")


@pytest.mark.parametrize("path", ["~/.gemini/settings.json", ".gemini/settings.json"])
def test_a_list_of_disabled_hooks(healthy: Any, path: str) -> None:
    """Gemini CLI's list names a hook by its command, or by its name where it has one; no file takes back what another
    one lists."""
    run(healthy, "install", "gemini-cli")
    trusting(healthy)
    plain = json.loads(read(home(healthy, USER["gemini-cli"])))
    handler = plain["hooks"]["AfterTool"][0]["hooks"][0]
    merge(healthy, path, {"hooksConfig": {"disabled": ["another"]}})
    doctor(healthy)
    merge(healthy, path, {"hooksConfig": {"disabled": ["another", handler["command"]]}})
    merge(healthy, ".gemini/settings.json" if path[0] == "~" else "~/.gemini/settings.json",
          {"hooksConfig": {"disabled": []}})  # fmt: skip
    assert "names our hook" in said(doctor(healthy, code=1), "error", "gemini-cli")
    handler["name"] = "checks"
    merge(healthy, "~/.gemini/settings.json", {"hooks": plain["hooks"]})
    assert "names our hook" not in said(doctor(healthy, code=1), "error", "gemini-cli")
    merge(healthy, path, {"hooksConfig": {"disabled": ["checks"]}})
    assert "names our hook" in said(doctor(healthy, code=1), "error", "gemini-cli")


def test_a_switch_in_a_project_of_codex(healthy: Any) -> None:
    """Each config.toml from the repository's root down to the session's folder counts where Codex trusts the project,
    the last one most, by the feature's old name as well."""
    os.mkdir(os.path.join(healthy.root, ".git"))
    below = healthy.folder("project", "a", "b")
    run(healthy, "install", "codex")
    healthy.write(".codex/config.toml", "[features]\nhooks = false\n")
    assert "runs no hook" not in said(doctor(healthy, "codex"), "error")
    trusting(healthy)
    for folder in (healthy.root, below):
        wrong = said(doctor(healthy, "codex", code=1, cwd=folder), "error")
        assert "features.hooks is false" in wrong and f"{healthy.root}/.codex/config.toml" in wrong
    healthy.write("a/b/.codex/config.toml", "[features]\nhooks = true\n")
    doctor(healthy, "codex", cwd=below)
    healthy.write(".codex/config.toml", "[features]\ncodex_hooks = false\n")
    assert "features.codex_hooks is false" in said(doctor(healthy, "codex", code=1), "error")
    config = home(healthy, ".codex/config.toml")
    healthy.write(config, b"features.hooks = false\n" + read(config))
    healthy.write(".codex/config.toml", "[features]\nhooks = true\n")
    doctor(healthy, "codex")


# -- a session in a subfolder of a repository ---------------------------------------------------------------


def test_a_registration_at_the_root_seen_from_below(healthy: Any) -> None:
    """Codex runs it, Claude Code only in its newer version, which is told; the others do not look there."""
    os.mkdir(os.path.join(healthy.root, ".git"))
    below = healthy.folder("project", "a", "b")
    trusting(healthy)
    for name in ("claude-code", "codex", "qwen-code"):
        run(healthy, "install", name, "--project")
    found = doctor(healthy, code=0, cwd=below)
    assert f"{healthy.root}/.codex/hooks.json" in said(found, "ok", "codex")
    assert "PostToolUse answered the canary" in said(found, "ok", "claude-code")
    warned = said(found, "warning", "claude-code")
    assert "2.1.197 does not" in warned and f"start claude in {healthy.root}" in warned
    assert "does not look there from this folder" in said(found, "warning", "qwen-code")
    assert "2.1.197" not in said(doctor(healthy), "warning")
    run(healthy, "install", "claude-code")
    assert not said(doctor(healthy, cwd=below), "warning", "claude-code")


def test_a_switch_at_the_root_seen_from_below(healthy: Any) -> None:
    """Claude Code 2.1.332 takes the local settings of the repository's root before all others, 2.1.197 not at all."""
    os.mkdir(os.path.join(healthy.root, ".git"))
    below = healthy.folder("project", "a", "b")
    run(healthy, "install", "claude-code")
    merge(healthy, LOCAL, OFF)
    merge(healthy, f"a/b/{LOCAL}", ON)
    wrong = said(doctor(healthy, code=1, cwd=below), "error")
    assert "so Claude Code 2.1.332 runs no hook" in wrong and f"{healthy.root}/{LOCAL}" in wrong
    merge(healthy, LOCAL, ON)
    merge(healthy, f"a/b/{LOCAL}", OFF)
    assert "so Claude Code 2.1.197 runs no hook" in said(doctor(healthy, code=1, cwd=below), "error")
    merge(healthy, f"a/b/{LOCAL}", ON)
    merge(healthy, SHARED, OFF)
    doctor(healthy, cwd=below)
