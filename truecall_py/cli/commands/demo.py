"""`truecall demo`: the lie, the correction and the second try, for somebody who has never heard of it. The
agent is scripted and says so; the tool, the files, the hook process and its payload are real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import click
from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from truecall_py.core import paths
from truecall_py.trust.pin import compile_file, trust

CONTRACTS = """\
version: 1
contracts:
  - id: note-saved
    description: the note file holds the text that was sent
    tool: mcp__notes__save_note
    post:
      - file_exists:
          path: "{{project}}/notes/{{args.name}}.md"
          contains: "{{args.text}}"
    repeat: safe
"""

# A note tool with a common fault: it answers before it has a folder to write to, and swallows the error.
TOOL = """\
import os, sys
name, text = sys.argv[1:]
try:
    with open(f"notes/{name}.md", "w") as file:
        file.write(text)
except OSError:
    os.makedirs("notes", exist_ok=True)   # "the next one will work"
print(f"Saved note '{name}' ({len(text)} characters).")
"""

ARGS = {"name": "release", "text": "Ship version 2 on Friday."}


def payload(folder: str, answer: str, number: int) -> dict[str, Any]:
    """What Claude Code sends its hooks after this call (the shape was captured from 2.1.197)."""
    return {
        "session_id": "00000000-0000-4000-8000-000000000001",
        "transcript_path": os.path.join(folder, "session.jsonl"),
        "cwd": folder,
        "permission_mode": "default",
        "hook_event_name": "PostToolUse",
        "tool_name": "mcp__notes__save_note",
        "tool_input": ARGS,
        "tool_response": [{"type": "text", "text": answer}],
        "tool_use_id": f"toolu_demo_{number}",
        "duration_ms": 8,
    }


def call_tool(folder: str) -> str:
    argv = [sys.executable, "-I", "-c", TOOL, ARGS["name"], ARGS["text"]]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True, timeout=30).stdout.strip()  # noqa: S603


def hook(folder: str, answer: str, number: int) -> tuple[dict[str, Any] | None, float]:
    """The hook's answer, through the very command that a harness registers, and its milliseconds."""
    env = {**os.environ, "CLAUDE_PROJECT_DIR": folder, "TRUECALL_PYTHON": sys.executable}
    argv = ["/bin/sh", paths.launcher(), "claude-code", "PostToolUse", "--state", os.path.join(folder, ".state")]
    began = time.monotonic()
    done = subprocess.run(  # noqa: S603 - our own launcher, found beside the package
        argv, cwd=folder, env=env, input=json.dumps(payload(folder, answer, number)), capture_output=True, text=True,
        check=True, timeout=60,
    )  # fmt: skip
    return (json.loads(done.stdout) if done.stdout else None), (time.monotonic() - began) * 1000


@click.command()
def demo() -> int:
    """Shows what truecall does, in a temporary folder, without network, in a few seconds.

    Exit codes: 0 it went as shown, 3 it did not (that would be a bug).
    """
    console = Console(width=min(Console().width, 88), highlight=False)
    with tempfile.TemporaryDirectory(prefix="truecall-demo-") as made:
        folder = os.path.realpath(made)
        return played(console, folder)


def played(console: Console, folder: str) -> int:
    say = console.print
    say(Rule("without truecall", style="dim", align="left"))
    answer = call_tool(folder)
    say(Text.assemble(("agent  ", "bold cyan"), "calls save_note, to keep ", (json.dumps(ARGS["text"]), "italic")))
    say(Text.assemble(("tool   ", "bold magenta"), answer))
    say(Text.assemble(("agent  ", "bold cyan"), "“Done, your note is saved.”"))
    say(Text.assemble(("disk   ", "bold"), (disk(folder), "bold red")))
    say("       The tool lied, the agent believed it, and so will you.\n")

    say(Rule("with truecall: one contract, checked after every call of that tool", style="dim", align="left"))
    say(Text(CONTRACTS.split("contracts:\n")[1].rstrip(), style="green"))
    path = os.path.join(folder, "truecall.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(CONTRACTS)
    trust(compile_file(path), os.path.join(folder, ".state"))
    os.rmdir(os.path.join(folder, "notes"))  # as it was before the first try

    first = call_tool(folder)
    verdict, took = hook(folder, first, 1)
    say(Text.assemble(("tool   ", "bold magenta"), first))
    if verdict is None or verdict.get("decision") != "block":
        return unexpected(console, "the lie was not caught")
    say(Text.assemble(("hook   ", "bold"), f"looked at the disk ({took:.0f} ms) and answers in the tool’s place:"))
    say(Panel(Text(verdict["reason"]), border_style="red"))
    say(Text.assemble(("agent  ", "bold cyan"), "does what it is told, and calls save_note once more"))

    second = call_tool(folder)
    verdict, took = hook(folder, second, 2)
    say(Text.assemble(("tool   ", "bold magenta"), second))
    if verdict is not None:
        return unexpected(console, "a call that worked was blocked")
    say(Text.assemble(("disk   ", "bold"), (disk(folder), "bold green")))
    say(Text.assemble(("hook   ", "bold"), f"says nothing ({took:.0f} ms): what kept its contract is let through\n"))
    end = "The agent here is a script. The tool, the file, the hook process and the shape of its input are real."
    say(f"{end} Next, in a project of yours: truecall init", style="dim")
    return 0


def disk(folder: str) -> str:
    path = os.path.join(folder, "notes", f"{ARGS['name']}.md")
    if not os.path.exists(path):
        return f"notes/{ARGS['name']}.md is not there"
    with open(path, encoding="utf-8") as file:
        return f"notes/{ARGS['name']}.md: {file.read()!r}"


def unexpected(console: Console, what: str) -> int:
    console.print(f"This is not what should have happened: {what}.", style="bold red")
    return 3
