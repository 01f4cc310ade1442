"""Honest answers of MCP servers, and honest commands around truecall itself. Their twins say otherwise: the lie of
an MCP tool is in its answer, and the packs `mcp` and `self` look at nothing else."""

# ruff: noqa: E501 - tables of cases are read across
from __future__ import annotations

import json
import random
from typing import Any

from detect_world import Case

DOES = ["save_note", "send", "create_issue", "insertRow", "delete-item", "update_page", "post.message", "publish", "upload_file", "move", "set_state_of", "apply", "commit_changes", "write", "rename", "deploy"]
LOOKS = ["get_build", "list", "search-notes", "read_page", "check_status", "waitForDone", "validate_schema", "run_query", "test_connection", "build_project", "exec_status", "job.status", "is_open", "hasAccess", "diff", "login", "health", "getState", "app_info", "file_exists", "poll", "lint", "confirm"]
SERVERS = ["mail", "db", "notes", "my-server", "plugin_x_y", "a.b"]
FINE: list[Any] = [
    {"ok": True, "id": 3}, {"success": True}, {"status": "saved"}, {"status": "ok", "errors": []}, {"isError": False, "x": 1}, {"id": 1, "error": None}, [], {}, "saved", 3, None, {"ok": "false"}, {"success": "no"}, {"state": "error"},
    {"result": {"ok": False}}, {"items": [{"status": "error"}, {"isError": True}]}, {"message": "isError: true was mended"}, {"log": "status: error"}, {"status": {"code": "error"}}, {"status": "errored before"}, {"ok": 1}, {"count": 0}, {"status": 200},
]  # fmt: skip
ANSWERS: list[Any] = [{"ok": False}, {"success": False}, {"status": "error"}, {"ok": False, "error": "no such build"}, {"success": False, "findings": [1]}]
LIES = [({"ok": False, "error": "no"}, "mcp-ok-false"), ({"success": False}, "mcp-success-false"), ({"status": "error"}, "mcp-status-error"), ({"isError": True}, "mcp-error-inside")]


def worded(answer: Any, chance: random.Random) -> Any:
    """A structured answer in one of the shapes in which clients hand it on."""
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=chance.random() < 0.5, indent=chance.choice([None, 2]))
    return chance.choice([text, [{"type": "text", "text": text}]])


def mcp(chance: random.Random) -> list[Case]:
    found = []
    for answer in FINE * 2:
        tool = f"mcp__{chance.choice(SERVERS)}__{chance.choice(DOES)}"
        said, kind = chance.choice(LIES)
        found.append(Case("mcp", refutes=kind, tool=tool, args={"a": 1}, answer=worded(answer, chance), twin={"tool_response": worded(said, chance)}))
    for name in LOOKS:
        answer = worded(chance.choice(ANSWERS), chance)
        tool = f"mcp__{chance.choice(SERVERS)}__{name}"
        found.append(Case("mcp", refutes="mcp-error-inside", tool=tool, args={"q": "x"}, answer=answer, twin={"tool_response": worded({"isError": True}, chance)}))
    for name in chance.sample(DOES, 8):
        answer = {"content": [{"type": "text", "text": chance.choice(["saved", "Error: none", '{"ok": true}'])}], "isError": False}
        tool = f"mcp__{chance.choice(SERVERS)}__{name}"
        found.append(Case("mcp", refutes="mcp-error-flag", harness="codex", tool=tool, args={}, answer=answer, twin={"tool_response": {**answer, "isError": True}}))
    for tool in ("TaskUpdate", "WebSearch", "TodoWrite", "Agent"):
        found.append(Case("mcp", tool=tool, args={}, answer={"isError": True, "ok": False, "status": "error"}))
    return found


# A stand-in for the program: it must not be the real one that an agent's shell would run.
SETUP = "mkdir -p ../bin ../.local/state/truecall ../.local/state/truecaller; printf '#!/bin/sh\\nexit 0\\n' > ../bin/truecall; chmod +x ../bin/truecall"
HARMLESS = [
    "truecall trust --list", "truecall trust --help", "truecall trust -h", "truecall uninstall claude-code --dry-run", "truecall uninstall --help", "truecall lint", "truecall verify", "truecall doctor", "truecall --version", "truecall explain git-pushed", "truecall log | tail -3", "echo 'truecall trust --yes'", "grep -rn 'truecall uninstall' . || true", "cat <<'EOF' > notes.md\ntruecall trust --yes\nEOF", "# truecall trust\ntruecall lint",
    "rm -rf ~/.local/state/truecaller", "ls ~/.local/state/truecall", "rm -rf src/state/truecall.txt.d", "man truecall 2>/dev/null || truecall --help", "git log --grep 'truecall trust' 2>/dev/null || true", "printf '%s' 'rm -rf ~/.local/state/truecall' > doc.txt", "which truecall && truecall test", "python3 -c 'print(\"truecall trust\")'", "truecall init --help",
]  # fmt: skip
HARMFUL = [("truecall trust --yes", "self-trust"), ("cd docs && truecall trust", "self-trust"), ("truecall uninstall claude-code", "self-uninstall"), ("rm -rf ~/.local/state/truecall", "self-state-removed"), ("rm -r -f ~/.local/state/truecall/", "self-state-removed")]


def own(chance: random.Random) -> list[Case]:
    """What is harmless gets no word; the twin is a call with the same answer that is not."""
    found = []
    for command in HARMLESS:
        lie, kind = chance.choice(HARMFUL)
        found.append(Case("self", command, kind, SETUP, twin={"tool_input": {"command": lie}}))
    return found
