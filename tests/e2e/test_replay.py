"""What real clients wrote down of a session, read by `replay`, beside what they told a hook of the very same calls."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from e2e.sessions import CLAUDE_CODE, CODEX, NOTE, NOTES
from truecall_py.clients import load_hook
from truecall_py.clients.transcripts import Lines, Made
from truecall_py.replay import transcripts as past

# What a contract may ask of a call. A duration is in no transcript, and the answer's own object is behind these.
SAME = ("tool", "kinds", "args", "files", "result", "text", "cwd", "start_cwd", "session", "agent", "call_id", "turn",
        "background")  # fmt: skip
# A rollout of 0.144.6 holds no command of a script.
READ = [agent for agent in (*CLAUDE_CODE, *CODEX) if not agent.code_mode or agent.version != "0.144.6"]


def turns(agent: Any, project: str) -> list[Any]:
    """A note, commands that end well and badly, one elsewhere, and a file."""
    if agent.code_mode:
        lines = ({"cmd": "echo hello"}, {"cmd": "echo bad; exit 3"}, {"cmd": "pwd", "workdir": "/"}, {"cmd": "true"})
        scripts = [f"text(JSON.stringify(await tools.exec_command({json.dumps(line)})))" for line in lines]
        return [agent.turn(("save_note", NOTE)), *([("exec", script)] for script in scripts)]
    if agent.harness == "codex":
        patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch\n"
        return [agent.turn(("save_note", NOTE)), [("exec_command", {"cmd": "echo hello"})],
                [("exec_command", {"cmd": "echo bad; exit 3"})], [("exec_command", {"cmd": "pwd", "workdir": "/"})],
                [("apply_patch", patch)]]  # fmt: skip
    return [agent.turn(("save_note", NOTE)), [("Bash", {"command": "echo hello", "description": "a"})],
            [("Bash", {"command": "echo bad; exit 3", "description": "b"})],
            [("Bash", {"command": "cd / && pwd", "description": "c"})],
            [("Write", {"file_path": os.path.join(project, "a.txt"), "content": "one\n"})]]  # fmt: skip


def transcripts(home: str) -> list[str]:
    below = [os.path.join(folder, name) for folder, _, names in os.walk(home) for name in names]
    return [each for each in below if each.endswith(".jsonl") and ("/projects/" in each or "/sessions/" in each)]


def better(agent: Any, call: Any, name: str) -> bool:
    """Where a transcript knows more than the payload: in which folder a command began that leaves it (a hook knows that
    by the look before the call alone), and, with Codex 0.144.6, the folder that a command was given."""
    command = call.args.get("command", "")
    if agent.harness == "claude-code":
        return name == "start_cwd" and command.startswith("cd ") and call.start_cwd.endswith("/project")
    return agent.version == "0.144.6" and name in ("cwd", "start_cwd") and command == "pwd" and call.cwd == "/"


@pytest.mark.parametrize("agent", READ, ids=str)
def test_a_call_is_read_as_the_hook_was_told_of_it(agent: Any, session: Any, tmp_path: Any) -> None:
    """Every field that a contract may ask for is the same, from the payload and from the transcript."""
    told = tmp_path / "told"
    told.mkdir()
    project = os.path.join(os.path.realpath(tmp_path), "e2e", "project")
    done = session(turns(agent, project), NOTES, hook=f"cat > {told}/$$.json")
    payloads = [json.loads(each.read_text()) for each in told.iterdir()]
    parse = load_hook(agent.harness).parse
    hooked = {call.call_id: call for call in map(parse, payloads) if call is not None}
    assert len(hooked) == 5
    (path,) = transcripts(done.client.home)
    lines = Lines()
    made = [each.call for each in past.read_events(path, lines) if isinstance(each, Made)]
    assert not lines.damaged and not lines.unknown and {call.call_id for call in made} == set(hooked)
    for call in made:
        other = hooked[call.call_id]
        for name in SAME:
            assert getattr(call, name) == getattr(other, name) or better(agent, call, name), (call.tool, name)
    assert [call.exit_code for call in made if "shell" in call.kinds][:3] == [0, 3, 0]
