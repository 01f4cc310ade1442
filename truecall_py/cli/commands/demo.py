"""`truecall demo`: a false success, its correction and the retry, for someone new to truecall. The agent is a script,
and the demo says so; the tool, the files, the hook process and its payload are real."""

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

from truecall_py.clients import DEFAULT, load_hook, load_part
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

# A note tool with a common bug: it swallows the error where its folder is missing, and reports success.
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


def build_payload(folder: str, answer: str, number: int) -> dict[str, Any]:
    """The payload that the client sends after this call."""
    return {
        **load_part(DEFAULT, "samples").EXAMPLE,
        "transcript_path": os.path.join(folder, "session.jsonl"),
        "cwd": folder,
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
    """The hook's answer, from the command that a client registers, and its time in milliseconds."""
    client = load_hook(DEFAULT)
    env = {**os.environ, client.PROJECT_ENV: folder, "TRUECALL_PYTHON": sys.executable}
    argv = ["/bin/sh", paths.find_launcher(), DEFAULT, client.HANDLED[0], "--state", os.path.join(folder, ".state")]
    began = time.monotonic()
    done = subprocess.run(  # noqa: S603 - our own launcher, found beside the package
        argv, cwd=folder, env=env, input=json.dumps(build_payload(folder, answer, number)), capture_output=True,
        text=True, check=True, timeout=60,
    )  # fmt: skip
    return (json.loads(done.stdout) if done.stdout else None), (time.monotonic() - began) * 1000


@click.command()
def demo() -> int:
    """Shows what truecall does. Takes a few seconds, uses a temporary folder and no network.

    Exit codes: 0 the demo worked, 3 it did not (a bug).
    """
    console = Console(width=min(Console().width, 88), highlight=False)
    with tempfile.TemporaryDirectory(prefix="truecall-demo-") as made:
        folder = os.path.realpath(made)
        return play_demo(console, folder)


def play_demo(console: Console, folder: str) -> int:
    say = console.print
    say(Rule("without truecall", style="dim", align="left"))
    answer = call_tool(folder)
    say(Text.assemble(("agent  ", "bold cyan"), "calls save_note with ", (json.dumps(ARGS["text"]), "italic")))
    say(Text.assemble(("tool   ", "bold magenta"), answer))
    say(Text.assemble(("agent  ", "bold cyan"), "“Done, your note is saved.”"))
    say(Text.assemble(("disk   ", "bold"), (describe_disk(folder), "bold red")))
    say("       A false success. The agent believed it, and so will you.\n")

    say(Rule("with truecall: one contract, checked after every call of the tool", style="dim", align="left"))
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
        return report_unexpected(console, "truecall missed the false success")
    say(Text.assemble(("hook   ", "bold"), f"checks the disk ({took:.0f} ms) and replaces the tool’s answer:"))
    say(Panel(Text(verdict["reason"]), border_style="red"))
    say(Text.assemble(("agent  ", "bold cyan"), "follows the order and calls save_note again"))

    second = call_tool(folder)
    verdict, took = hook(folder, second, 2)
    say(Text.assemble(("tool   ", "bold magenta"), second))
    if verdict is not None:
        return report_unexpected(console, "truecall blocked a call that worked")
    say(Text.assemble(("disk   ", "bold"), (describe_disk(folder), "bold green")))
    say(Text.assemble(("hook   ", "bold"), f"says nothing ({took:.0f} ms): the call kept its contract\n"))
    end = "The agent is a script. The tool, the file, the hook process and its input format are real."
    say(f"{end} Next, in your own project: truecall init", style="dim")
    return 0


def describe_disk(folder: str) -> str:
    path = os.path.join(folder, "notes", f"{ARGS['name']}.md")
    if not os.path.exists(path):
        return f"notes/{ARGS['name']}.md does not exist"
    with open(path, encoding="utf-8") as file:
        return f"notes/{ARGS['name']}.md: {file.read()!r}"


def report_unexpected(console: Console, what: str) -> int:
    console.print(f"The demo failed: {what}.", style="bold red")
    return 3
