"""The examples that the checks print in the docs are run: each gives the verdict it claims."""

from __future__ import annotations

import http.server
import os
import threading
from typing import Any

import pytest

import truecall_py
from truecall_py import checks

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


def filled(value: Any, port: int) -> Any:
    if isinstance(value, str):
        return value.replace("{port}", str(port))
    if isinstance(value, dict):
        return {key: filled(item, port) for key, item in value.items()}
    return [filled(item, port) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[f"{name}: {each['title']}" for name, each in EXAMPLES])
def test_the_example_gives_its_verdict(name: str, example: Any, tmp_path: Any, monkeypatch: Any) -> None:
    """In the little world that an example describes, its check ends as the example says."""
    monkeypatch.chdir(tmp_path)
    for path, content in example["files"].items():
        os.makedirs(os.path.dirname(tmp_path / path), exist_ok=True)
        (tmp_path / path).write_text(content)
    for path in example.get("executable", ()):
        (tmp_path / path).chmod(0o755)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Pages", (Handler,), {"pages": example.get("serve")}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    payload = {
        "session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "mcp__a__b", "tool_use_id": "t",
        "tool_input": example.get("args", {}), "tool_response": example.get("result"), "cwd": str(tmp_path),
    }  # fmt: skip
    contract = {"id": "example", "tool": "mcp__a__b", "post": {name: filled(example["check"], server.server_port)}}
    try:
        found = truecall_py.judge(payload, {"version": 1, "contracts": [contract]}, deadline=15)
    finally:
        server.shutdown()
        server.server_close()
    assert [verdict.state for verdict in found.verdicts] == [example["verdict"]], found.verdicts
