"""The examples that the checks print in the docs are run: each gives the verdict it claims."""

from __future__ import annotations

import http.server
import os
import subprocess
import threading
from typing import Any

import pytest

import truecall_py
from truecall_py import checks
from truecall_py.api import look_before

EXAMPLES = [(name, example) for name in checks.NAMES for example in checks.module(name).EXAMPLES]


class Handler(http.server.BaseHTTPRequestHandler):
    pages: dict[str, Any] = {}

    def do_GET(self) -> None:
        status, headers, body = self.pages.get(self.path, [404, {}, ""])
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        pass


def quiet(folder: Any) -> dict[str, str]:
    """An environment in which git asks nobody and reads no configuration of the person's."""
    return {
        "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
    }  # fmt: skip


def build(world: Any, given: Any) -> None:
    """What an example says of the world: `files` are written, `executable` ones made so, `setup` is run by sh."""
    for path, content in given.get("files", {}).items():
        os.makedirs(os.path.dirname(world / path), exist_ok=True)
        (world / path).write_text(content)
    for path in given.get("executable", ()):
        (world / path).chmod(0o755)
    if given.get("setup"):
        subprocess.run(["sh", "-e"], input=given["setup"], text=True, check=True, cwd=world, capture_output=True)


def filled(value: Any, port: int) -> Any:
    if isinstance(value, str):
        return value.replace("{port}", str(port))
    if isinstance(value, dict):
        return {key: filled(item, port) for key, item in value.items()}
    return [filled(item, port) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[f"{name}: {each['title']}" for name, each in EXAMPLES])
def test_the_example_gives_its_verdict(name: str, example: Any, tmp_path: Any, monkeypatch: Any) -> None:
    """In the little world that an example describes, its check ends as the example says."""
    world = tmp_path / "world"
    world.mkdir()
    monkeypatch.chdir(world)
    for variable, value in quiet(tmp_path).items():
        monkeypatch.setenv(variable, value)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Pages", (Handler,), {"pages": example.get("serve")}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    payload = {
        "session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "mcp__a__b", "tool_use_id": "t",
        "tool_input": filled(example.get("args", {}), server.server_port), "tool_response": example.get("result"), "cwd": str(world),
    }  # fmt: skip
    contract = {"id": "example", "tool": "mcp__a__b", "post": {name: filled(example["check"], server.server_port)}}
    contracts = {"version": 1, "contracts": [contract]}
    try:
        snapshot = None
        if "before" in example:
            build(world, example["before"])
            asked = {key: value for key, value in payload.items() if key != "tool_response"}
            snapshot = look_before({**asked, "hook_event_name": "PreToolUse"}, contracts)
        build(world, example)
        found = truecall_py.judge(payload, contracts, deadline=15, snapshot=snapshot)
    finally:
        server.shutdown()
        server.server_close()
    assert [verdict.state for verdict in found.verdicts] == [example["verdict"]], found.verdicts
