"""The small world of an example that a check prints in the docs."""

from __future__ import annotations

import http.server
import os
import subprocess
from typing import Any


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
