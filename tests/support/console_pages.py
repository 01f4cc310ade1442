"""Runs the commands of a page of the documentation, in order, in a home folder of its own, and compares the output
that the page shows with what the program prints.

What a page may hold, as Markdown that a reader sees as usual:

    ```console            `$ ` begins a command, at a terminal; the lines below it are its output. `...` is any text.
    ```sh                 commands that must end with 0; nothing is compared
    ```yaml title="NAME"  a file: it is written to NAME (any language; `title="NAME (appended)"` adds to it)

and in comments that only the source shows:

    <!-- run: COMMAND -->          a command that the reader does not need, such as a client that is there
    <!-- not run: REASON -->       the next block is not run
    <!-- agent runs: COMMAND -->   what Claude Code does when its model runs COMMAND: every hook that is registered in
                                   Claude Code's settings is asked. If a ```text block comes next, the model must
                                   read it; else the hooks must say nothing.
    <!-- agent stops: MESSAGE -->  the same for the end of a turn

`python tests/support/console_pages.py PAGE ...` writes the output of today into pages. It needs an empty folder
/home/you that it may fill, since that is the home folder that pages show.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fcntl import ioctl

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHOWN_HOME = "/home/you"
COLUMNS = 100
PATIENCE = 150  # seconds for one command
BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>[a-z]*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<body>.*?)^(?P=indent)```$"
    r"|^<!-- (?P<verb>run|not run|agent runs|agent stops): (?P<what>.+?) -->$",
    re.M | re.S,
)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
PROMPT = re.compile(rb"\[[yY]/[nN]\]: $")
# What differs from run to run, and how it is written for the comparison.
VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?( [+-]\d{4})?)?"), "DATE"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "CLOCK"),
    (re.compile(r"\bjust now\b|\b\d+(\.\d+)? (ms|s|min) ago\b"), "AGO"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|min)\b"), "DURATION"),
    (re.compile(r"\b\d+[\s│]+bytes\b"), "SIZE"),
)


@dataclass
class Step:
    """One thing to do. `command` is what to run, or the file's name, or the reason; `body` is the output or the file's
    text as the page shows it; `start` and `end` are where `body` stands in the page."""

    kind: str  # run, command, script, file, file (appended), skip, agent runs, agent stops
    command: str
    body: str = ""
    start: int = 0
    end: int = 0


def steps(page: str) -> list[Step]:
    """What a page asks to be done, in order."""
    found: list[Step] = []
    skip = False
    for match in BLOCK.finditer(page):
        language, title, body, start = match["language"], match["title"], match["body"], match.start("body")
        after = found[-1] if found else None
        if match["verb"] == "not run":
            skip = True
            continue
        if match["verb"]:
            found.append(Step(match["verb"], match["what"]))
        elif skip:
            found.append(Step("skip", body))
        elif title:
            name, appended, _ = title.partition(" (appended)")
            found.append(Step("file" + appended, name, body))
        elif language == "console":
            found.extend(commands(body, start))
        elif language == "sh":
            found.append(Step("script", body))
        elif language == "text" and after and after.kind.startswith("agent") and not after.body:
            after.body, after.start, after.end = body, start, match.end("body")
        skip = False
    return found


def commands(block: str, offset: int) -> Iterator[Step]:
    """The commands of one console block, each with its output. A command goes on below a line that ends with `\\`."""
    lines = block.splitlines(keepends=True)
    while lines:
        if not lines[0].startswith("$ "):
            raise ValueError(f"a console block must begin with a command: {lines[0]!r}")
        command = lines.pop(0)
        offset += len(command)
        while command.endswith("\\\n"):
            command, offset = command + lines[0], offset + len(lines[0])
            lines.pop(0)
        body = ""
        while lines and not lines[0].startswith("$ "):
            body += lines.pop(0)
        yield Step("command", command[2:].rstrip("\n"), body, offset, offset + len(body))
        offset += len(body)


def environment(home: str) -> dict[str, str]:
    """A person's environment at a terminal, with `home` as the home folder and this Python's truecall first."""
    return {
        "HOME": home, "PATH": os.path.dirname(sys.executable) + ":" + os.environ["PATH"], "TERM": "dumb",
        "LANG": "C.UTF-8", "SHELL": "/bin/sh", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "you@example.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }  # fmt: skip


class Terminal:
    """A home folder, and a shell in it that keeps its folder and the last exit code from command to command."""

    def __init__(self, home: str) -> None:
        self.home, self.folder, self.code = home, home, 0
        self.columns = COLUMNS + len(home) - len(SHOWN_HOME)
        self.env = environment(home)
        self.calls = 0
        self.events: list[str] = []

    def argv(self, script: str) -> list[str]:
        """`script` for a shell that first takes on the last exit code and in the end says where it is."""
        where = os.path.join(self.home, ".where")
        return ["sh", "-c", f"(exit {self.code})\n{script}\nset -- $?\npwd > '{where}'\nexit $1"]

    def finish(self, code: int) -> None:
        self.code = code
        where = os.path.join(self.home, ".where")
        if os.path.exists(where):  # not where the script itself said `exit`
            with open(where, encoding="utf-8") as file:
                self.folder = file.read().rstrip("\n")
            os.unlink(where)

    def script(self, script: str) -> str:
        """Runs it without a terminal; what it printed. It must end with 0."""
        done = subprocess.run(
            self.argv("set -e\n" + script), cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        self.finish(done.returncode)
        assert done.returncode == 0, f"{script}\nended with {done.returncode}:\n{done.stdout}"
        return done.stdout

    def command(self, command: str) -> str:
        """Runs it at a terminal, says y to every question; what stood on the screen."""
        master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, self.columns, 0, 0))
        process = subprocess.Popen(
            self.argv(command), cwd=self.folder, env=self.env, stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        screen, until = b"", time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if not select.select([master], [], [], 0.2)[0]:
                continue
            try:
                more = os.read(master, 65536)
            except OSError:  # the other end is closed (Linux)
                break
            if not more:
                break
            screen += more
            if PROMPT.search(screen):
                os.write(master, b"y\n")
        else:
            process.kill()
        os.close(master)
        self.finish(process.wait(PATIENCE))
        return self.shown(COLOUR.sub("", screen.decode().replace("\r\n", "\n")))

    def shown(self, text: str) -> str:
        """As a reader whose home folder is the shown one would see it."""
        return text.replace(self.home, SHOWN_HOME)

    # -- the client ------------------------------------------------------------------------------------

    def hooks(self, event: str, payload: dict[str, object]) -> str:
        """What the model reads of the answers of the hooks that are registered for `event`."""
        groups: list[dict[str, list[dict[str, str]]]] = []
        for path in (f"{self.home}/.claude/settings.json", f"{self.folder}/.claude/settings.local.json"):
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    groups += json.load(file)["hooks"].get(event, [])
        common = {
            "session_id": "5f1d3a52-9c0e-4a67-8f57-2f6f0a1c9b11", "transcript_path": "", "cwd": self.folder,
            "permission_mode": "default", "hook_event_name": event, **payload,
        }  # fmt: skip
        self.events.append(event)
        read = ""
        for hook in (hook for group in groups for hook in group["hooks"]):
            done = subprocess.run(
                ["sh", "-c", hook["command"]], input=json.dumps(common), cwd=self.folder, capture_output=True, text=True,
                env={**self.env, "CLAUDE_PROJECT_DIR": self.folder}, timeout=PATIENCE, check=True,
            )  # fmt: skip
            if done.stdout:
                answer = json.loads(done.stdout)
                hidden = answer.get("hookSpecificOutput", {})
                said = answer.get("reason") or hidden.get("permissionDecisionReason") or hidden.get("additionalContext")
                read += (said or answer.get("systemMessage", "")) + "\n"
        return self.shown(read)

    def agent_runs(self, command: str) -> str:
        """The hooks before a call, the command, and the hooks after it; what the model reads of the hooks."""
        self.calls += 1
        call = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"toolu_{self.calls:02}"}
        read = self.hooks("PreToolUse", call)
        if read:
            return read
        printed = self.script(command).rstrip("\n")
        response = {"stdout": printed, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
        return self.hooks("PostToolUse", {**call, "tool_response": response, "duration_ms": 30})

    def agent_stops(self, message: str) -> str:
        """The hooks at the end of a turn; what the model reads of them."""
        return self.hooks("Stop", {"stop_hook_active": False, "last_assistant_message": message})


def output(step: Step, terminal: Terminal) -> str:
    """Does a step; its output, where there is one to compare."""
    if step.kind in ("run", "script"):
        terminal.script(step.command)
    elif step.kind.startswith("file"):
        path = os.path.join(terminal.folder, os.path.expanduser(step.command.replace("~", terminal.home)))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a" if step.kind == "file (appended)" else "w", encoding="utf-8") as file:
            file.write(step.body.replace(SHOWN_HOME, terminal.home))
    elif step.kind == "command":
        return terminal.command(step.command.replace(SHOWN_HOME, terminal.home))
    elif step.kind == "agent runs":
        return terminal.agent_runs(step.command)
    elif step.kind == "agent stops":
        return terminal.agent_stops(step.command)
    return ""


def compared(text: str) -> str:
    """Text without what depends on the moment or on the width of the screen."""
    for pattern, name in VARIES:
        text = pattern.sub(name, text)
    return re.sub(r"[\s─│╭╮╰╯]+", "", text)


def same(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; `...` in it stands for any text."""
    pattern = ".*?".join(re.escape(compared(part)) for part in shown.split("..."))
    return re.fullmatch(pattern, compared(printed), re.S) is not None


def differences(page: str, home: str) -> Iterator[tuple[Step, str]]:
    """Runs a page; each step of which the page shows another output than was printed, with that output."""
    terminal = Terminal(home)
    for step in steps(page):
        printed = output(step, terminal)
        if step.kind in ("command", "agent runs", "agent stops") and not same(step.body, printed):
            yield step, printed


def rewrite(path: str) -> None:
    """Writes what is printed today into a page."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    os.makedirs(SHOWN_HOME)
    try:
        changes = list(differences(page, SHOWN_HOME))
    finally:
        shutil.rmtree(SHOWN_HOME)
    for step, printed in reversed(changes):
        if not step.end:
            sys.stderr.write(f"{path}: the hooks say something after {step.command!r}, and the page shows nothing:\n{printed}")
            continue
        page = page[: step.start] + "\n".join(line.rstrip() for line in printed.splitlines()) + "\n" * bool(printed) + page[step.end :]
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(name)
