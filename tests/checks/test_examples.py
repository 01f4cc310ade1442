"""The examples that the checks print in the docs are run: each gives the verdict it claims."""

from __future__ import annotations

import http.server
import threading
from typing import Any

import pytest
from support.check_examples import Handler, build, filled, quiet

import truecall_py
from truecall_py import checks
from truecall_py.api import look_before

EXAMPLES = [(name, example) for name in checks.NAMES for example in checks.load_check(name).EXAMPLES]


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
