"""The repository as a plugin, as far as its files tell it; the real clients are asked in e2e/test_plugin.py."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

import pytest
from support.project import ROOT

from truecall_py import clients
from truecall_py.core.version import __version__


def content(*names: str) -> Any:
    with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.parametrize("folder", [".claude-plugin", ".codex-plugin"])
def test_the_manifest_is_of_this_version(folder: str) -> None:
    """The plugin's version is the package's."""
    about = content(folder, "plugin.json")
    assert (about["name"], about["version"]) == ("truecall", __version__)


def test_the_marketplace_lists_this_folder() -> None:
    """Both clients install the plugin from the repository itself."""
    assert [(each["name"], each["source"]) for each in content(".claude-plugin", "marketplace.json")["plugins"]] == [
        ("truecall", "./")
    ]


@pytest.mark.parametrize("name, path", [("claude-code", "hooks/hooks.json"), ("codex", "hooks/codex.json")])
def test_every_event_is_registered_as_install_does(name: str, path: str) -> None:
    """The same events, time-out and status message as `truecall install` writes."""
    about = clients.load_registration(name)
    hooks = content(*path.split("/"))["hooks"]
    assert tuple(hooks) == about.events
    for event, groups in hooks.items():
        assert list(groups[0]) == ["hooks"]
        handler = groups[0]["hooks"][0]
        assert handler["command"] == f'"${{CLAUDE_PLUGIN_ROOT}}/hooks/run.sh" {name} {event}'
        assert handler["timeout"] == (660 if event in ("Stop", "SubagentStop") else 30) and handler.get("statusMessage", "") == about.status


@pytest.mark.parametrize("name, path", [("claude-code", "hooks/hooks.json"), ("codex", "hooks/codex.json")])
def test_the_lie_is_caught_from_a_folder_with_a_space(project: Any, name: str, path: str) -> None:
    """The command as a shell runs it, with the plugin's folder in the variable that the client sets."""
    root = os.path.join(project.base, "plug in \u00fc")
    for part in ("hooks", "truecall_py"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(os.path.join(ROOT, part), os.path.join(root, part), ignore=ignored)
    project.trust()
    command = content(*path.split("/"))["hooks"]["PostToolUse"][0]["hooks"][0]["command"]
    env = {**project.environment(name), "CLAUDE_PLUGIN_ROOT": root}
    payload = json.dumps(project.mcp(name)).encode()
    done = subprocess.run(["sh", "-c", command], input=payload, capture_output=True, cwd=project.root, env=env)
    assert json.loads(done.stdout)["reason"].startswith("NOT DONE"), done
