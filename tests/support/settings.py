"""The settings files of every client, and the commands that edit them."""

from __future__ import annotations

import os
import sys
from typing import Any

from truecall_py import clients
from truecall_py.cli import main
from truecall_py.clients import registration
from truecall_py.clients.jsonc import Document
from truecall_py.core import paths
from truecall_py.setup import backups

HARNESSES = {name: clients.load_part(name, "registration") for name in sorted(clients.NAMES)}
JSON = [
    name for name, module in HARNESSES.items() if module.REGISTRATION.form in (registration.GROUPS, registration.FLAT)
]
USER = {
    "claude-code": ".claude/settings.json", "cline": ".cline/hooks/PostToolUse", "codex": ".codex/hooks.json",
    "copilot-cli": ".copilot/hooks/truecall.json", "gemini-cli": ".gemini/settings.json",
    "opencode": ".config/opencode/plugins/truecall.ts", "qwen-code": ".qwen/settings.json",
}  # fmt: skip
PROJECT = {
    "claude-code": ".claude/settings.local.json", "cline": ".clinerules/hooks/PostToolUse",
    "codex": ".codex/hooks.json",
    "copilot-cli": ".github/hooks/truecall.json", "gemini-cli": ".gemini/settings.json",
    "opencode": ".opencode/plugins/truecall.ts", "qwen-code": ".qwen/settings.json",
}  # fmt: skip
EVENTS = {
    "claude-code": {"PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "SubagentStop"},
    "codex": {"PreToolUse", "PostToolUse", "PermissionRequest", "Stop", "SubagentStop"},
    "gemini-cli": {"AfterTool"}, "qwen-code": {"PostToolUse", "PostToolUseFailure"},
    "copilot-cli": {"postToolUse", "postToolUseFailure"},
}  # fmt: skip


def run(person: Any, *argv: str, code: int = 0, **more: Any) -> str:
    done = person.command(*argv, **more)
    assert done.returncode == code, (argv, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return str(done.stdout + done.stderr)


def state_folder(person: Any) -> str:
    with backups.locked(person.state):
        return str(person.state)


def home(person: Any, name: str) -> str:
    return os.path.join(person.home, name)


def tree(*folders: str) -> dict[str, Any]:
    """Every file, folder and link below, with its content and its mode."""
    found: dict[str, Any] = {}
    for top in folders:
        for folder, below, names in os.walk(top):
            for name in (*below, *names):
                path = os.path.join(folder, name)
                mode = os.lstat(path).st_mode
                if os.path.islink(path):
                    found[path] = (mode, os.readlink(path))
                elif os.path.isdir(path):
                    found[path] = mode
                else:
                    found[path] = (mode, read(path))
    return found


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def commands(path: str) -> dict[str, str]:
    """event -> the one command of ours in a settings file."""
    found: dict[str, str] = {}
    hooks = Document(read(path).decode()).root.plain()["hooks"]
    for event, groups in hooks.items():
        for group in groups:
            for handler in group.get("hooks", [group]):
                command = handler.get("command", handler.get("bash"))
                if registration.split_words(command):
                    assert event not in found
                    found[event] = command
    return found


def inside(monkeypatch: Any, person: Any) -> Any:
    """The commands in this process: hundreds of them take a moment."""
    for key, text in person.env.items():
        monkeypatch.setenv(key, text)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(person.root)
    return lambda *argv: main.run(list(argv))


def moved(person: Any, path: str) -> None:
    """As if the install had been made with another interpreter, from another place."""
    text = read(path).decode()
    person.write(
        path, text.replace(sys.executable, "/old/bin/python").replace(paths.find_launcher(), "/old/hooks/run.sh")
    )
