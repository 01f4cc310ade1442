"""A project of its own, with its own home and trust store, in which the real hook process is started through the
launcher."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from support.warm import run_command

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(ROOT, "tests", "data")
RUN = os.path.join(ROOT, "hooks", "run.sh")
SESSION = "00000000-0000-4000-8000-000000000001"
PATIENCE = 25  # seconds until a hook process counts as one that does not answer

NOTE = """\
version: 1
contracts:
  - id: note-saved
    tool: mcp__notes__save_note
    post:
      - file_exists: {path: "{{project}}/notes/{{args.title}}.md", contains: "{{args.body}}"}
"""


class Answer:
    """What the hook process said, and how it reaches the agent or the person."""

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code, self.out, self.err = code, out, err

    def __repr__(self) -> str:
        return f"exit code {self.code}\nstdout: {self.out[:1500]!r}\nstderr: {self.err[:500]!r}"

    @property
    def json(self) -> dict:
        """The one JSON object; there must be nothing beside it, and nothing in it that a client rejects."""
        assert self.code == 0, self
        assert self.out.isascii() and self.out.count(b"\n") == 1 and self.out.endswith(b"\n"), self
        value = json.loads(self.out)
        json.dumps(value, ensure_ascii=False).encode()  # no half of a surrogate pair
        assert isinstance(value, dict) and value, self
        return value

    @property
    def form(self) -> str:
        """silent | replace | append | notice: notice is for the person alone, replace takes the place of the
        tool's output (in Claude Code where that is possible), append stands beside it."""
        assert b"Traceback" not in self.out + self.err, self
        if not self.out:
            assert self.code == 0, self
            return "silent"
        inside = self.json.get("hookSpecificOutput", {})
        if "decision" in self.json:
            assert self.json["decision"] == "block" and self.json["reason"], self
            return "replace" if "updatedToolOutput" in inside or "additionalContext" in inside else "append"
        return "append" if inside.get("additionalContext") else "notice"

    @property
    def text(self) -> str:
        """What the agent reads; there must be something."""
        assert self.form in ("replace", "append"), self
        return self.json.get("reason") or self.json["hookSpecificOutput"]["additionalContext"]

    @property
    def notice(self) -> str:
        return self.json.get("systemMessage", "") if self.out else ""

    @property
    def blocked(self) -> bool:
        """Whether it is the form without JSON that clients take for a block: exit code 2 and a reason."""
        return self.code == 2 and b"NOT CONFIRMED" in self.err and b"Traceback" not in self.err


class Project:
    """A folder with its own home, trust store and environment, free of every mark of an agent."""

    def __init__(self, base: str) -> None:
        self.base = os.path.realpath(base)
        self.root = self.folder("project")
        self.home = self.folder("home")
        self.state = os.path.join(self.base, "state", "truecall")
        self.own = os.path.join(self.base, "config", "truecall", "truecall.yaml")
        self.contract = os.path.join(self.root, "truecall.yaml")
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": self.home,
            "XDG_STATE_HOME": os.path.join(self.base, "state"),
            "XDG_CONFIG_HOME": os.path.join(self.base, "config"),
            "TRUECALL_PYTHON": sys.executable,
        }

    def folder(self, *names: str) -> str:
        path = os.path.join(self.base, *names)
        os.makedirs(path, exist_ok=True)
        return path

    def write(self, name: str, text: str | bytes, mode: int = 0o644) -> str:
        """A file below the project (or at an absolute path)."""
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
        os.chmod(path, mode)
        return path

    def trust(self, text: str = NOTE, path: str = "") -> str:
        """Writes a contract file and trusts it; where its newest pin lies."""
        from truecall_py.trust import pin

        target = self.write(path or self.contract, text)
        return pin.trust(pin.compile_file(target), self.state)

    # -- payloads --------------------------------------------------------------------------------------

    def payload(self, harness: str, tool: str, args: dict, answer: object = "", **more: object) -> dict:
        """What a harness sends after a call. `more` adds keys; a value of None takes one away."""
        plain = {
            "session_id": SESSION,
            "transcript_path": None,
            "cwd": self.root,
            "hook_event_name": "PostToolUse",
            "permission_mode": "default",
            "tool_name": tool,
            "tool_input": args,
            "tool_response": answer,
            "tool_use_id": "toolu_01",
        }
        if harness == "codex":
            plain |= {"turn_id": "turn-1", "model": "some-model"}
        else:
            plain |= {"duration_ms": 20, "effort": {"level": "high"}}
        plain |= more
        return {name: value for name, value in plain.items() if value is not None}

    def mcp(self, harness: str = "claude-code", tool: str = "mcp__notes__save_note", **more: object) -> dict:
        """An MCP tool that says it saved a note."""
        blocks = [{"type": "text", "text": "note saved"}]
        args = more.pop("args", None) or {"title": "a", "body": "hello"}
        return self.payload(harness, tool, args, blocks if harness != "codex" else {"content": blocks}, **more)

    def bash(self, command: str, harness: str = "claude-code", stdout: str = "", **more: object) -> dict:
        answer: object = stdout
        if harness != "codex":
            answer = {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False,
                      "noOutputExpected": False, **more.pop("response", {})}  # fmt: skip
        return self.payload(harness, "Bash", {"command": command}, answer, **more)

    def wrote(self, path: str, content: str, **more: object) -> dict:
        """Claude Code's Write: the content comes twice."""
        full = os.path.join(self.root, path)
        answer = {"type": "create", "filePath": full, "content": content, "structuredPatch": [],
                  "originalFile": None, "userModified": False}  # fmt: skip
        return self.payload("claude-code", "Write", {"file_path": full, "content": content}, answer, **more)

    def failed(self, tool: str, args: dict, error: str) -> dict:
        """Claude Code's event for a call that says itself that it failed."""
        event = "PostToolUseFailure"
        return self.payload(
            "claude-code", tool, args, hook_event_name=event, tool_response=None, error=error, is_interrupt=False
        )

    # -- the process -----------------------------------------------------------------------------------

    def environment(self, harness: str, env: dict | None = None) -> dict:
        """The environment of a hook; a value of None takes a variable away."""
        base = {**self.env, **({"CLAUDE_PROJECT_DIR": self.root} if harness == "claude-code" else {}), **(env or {})}
        return {name: value for name, value in base.items() if value is not None}

    def argv(self, harness: str, event: str, options: tuple, run: str) -> list[str]:
        return ["sh", run, *(word for word in (harness, event) if word), *options]

    def start(self, harness="claude-code", event="PostToolUse", options=(), env=None, run=RUN, **more):
        """The launcher as a running process, all three streams piped, in a process group of its own."""
        return subprocess.Popen(
            self.argv(harness, event, options, run), env=self.environment(harness, env), start_new_session=True,
            **{"cwd": self.root, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
               **more},
        )  # fmt: skip

    def hook(
        self, payload: object, harness="claude-code", event="PostToolUse", options=(), env=None, run=RUN, shell="",
        **more,
    ) -> Answer:  # fmt: skip
        """The answer of a hook process to a payload (an object, or the bytes themselves). `shell` is a line
        of sh that ends in "$@", for what must be done to the process before it starts."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload, ensure_ascii=False).encode()
        argv = self.argv(harness, event, options, run)
        done = subprocess.run(
            ["sh", "-c", shell, "sh", *argv] if shell else argv, input=data, capture_output=True,
            timeout=PATIENCE, check=False, env=self.environment(harness, env), **{"cwd": self.root, **more},
        )  # fmt: skip
        return Answer(done.returncode, done.stdout, done.stderr)

    def command(self, *argv: str, env: dict | None = None, **more) -> subprocess.CompletedProcess:
        """One command of `truecall`, run in the project."""
        environment = {**self.env, "PYTHONPATH": ROOT, **(env or {})}
        return run_command(list(argv), more.pop("cwd", self.root), environment, PATIENCE, **more)


def interruptible():
    """For a child that a test interrupts: what started the tests may ignore the signal, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
