"""Transcripts of clients, and `truecall replay` over them."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any

from support.project import DATA

HERE = os.path.join(DATA, "transcripts")
CLAUDE = ("claude-code-2.1.197", "claude-code-2.1.332")
CONTRACTS = """\
version: 1
contracts:
  - id: note-there
    tool: mcp__notes__save_note
    post: {file_exists: {path: "{{project}}/notes/{{args.name}}.md"}}
  - id: note-long
    tool: mcp__notes__save_note
    post: {result: {of: text, contains: 25 characters}}
  - id: exit-zero
    kind: shell
    post: {result: {of: exit_code, equals: 0}}
"""


def claude(*blocks: Any, session: str = "s1", prompt: str = "p1", **more: Any) -> list[dict]:
    """The lines of a transcript of Claude Code: a text is a prompt, ("says", text) the model's, (tool, arguments, answer)
    a call with its answer, and one without an answer a call that has none."""
    base = {"sessionId": session, "cwd": "/home/dev/app", "isSidechain": False, **more}
    lines: list[dict] = []
    for number, block in enumerate(blocks):
        if isinstance(block, str):
            prompt = f"p{number}" if number else prompt
            lines.append({**base, "type": "user", "promptId": prompt, "message": {"role": "user", "content": block}})
        elif block[0] == "says":
            said = {"id": f"m{number}", "content": [{"type": "text", "text": block[1]}]}
            lines.append({**base, "type": "assistant", "message": said})
        else:
            tool, args, *answer = block
            asks = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": args}
            lines.append({**base, "type": "assistant", "message": {"id": f"m{number}", "content": [asks]}})
            for one in answer:
                text = one if isinstance(one, str) else json.dumps(one)
                result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
                lines.append({**base, "type": "user", "message": {"content": [result]}, "toolUseResult": one})
    return lines


def shell(command: str, out: str = "ok") -> tuple[str, dict, dict]:
    return "Bash", {"command": command}, {"stdout": out, "stderr": "", "interrupted": False, "isImage": False}


def written(project: Any, name: str, lines: list[Any]) -> str:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    path: str = project.write(name, text)
    return path


def replay(project: Any, *argv: str, code: int) -> list[dict[str, Any]]:
    done = project.command("replay", "--json", *argv)
    assert done.returncode == code and not done.stderr, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def of(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["kind"] == kind]


def serving(item: str) -> Any:
    """What a worker does in the tests of the pool: the item says."""
    if item == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "bug":
        raise KeyError(item)
    if item == "slow":
        time.sleep(0.3)
    if item == "wait":
        time.sleep(60)
    size = 3 if item.startswith("large") else 1
    for number in range(size):
        yield f"{item} {number} ".encode() + b"x" * (300_000 if size == 3 else 0)
    yield len(item)
