"""One session of a real client: a fresh home and project, a trusted contract file, a registered hook and a scripted
model; afterwards, what that model was sent."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field

from e2e import clients
from e2e.mock_anthropic import Anthropic
from e2e.mock_openai import OpenAI
from e2e.mock_server import MAIN, Model
from truecall_py import clients as harnesses
from truecall_py.clients import registration
from truecall_py.core import paths
from truecall_py.trust import pin

PATIENCE = 300  # seconds for one session, which takes a few, and many on a busy machine
TRUECALL = "truecall"
PACKAGES = {"claude-code": ("@anthropic-ai/claude-code", "claude"), "codex": ("@openai/codex", "codex")}
MCP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcp_notes.py")

NOTES = """\
version: 1
contracts:
  - id: note-saved
    tool: mcp__notes__save_note*
    post:
      - file_exists:
          path: "{{project}}/notes/{{args.name}}.md"
          contains: "{{args.text}}"
    repeat: safe
"""
NOTE = {"name": "release", "text": "Ship version 2 on Friday."}
SAVED = "Saved note 'release' (25 characters)."  # what the tool says, whether it is true or not
LIE = "NOT DONE: mcp__notes__save_note reported success, but"  # how the correction of the lie begins
# What is another in every session: ids, and times that were measured.
VARYING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|(?<=[Cc]hunk.(?:ID|id))[\\\": ]+[0-9a-f]{6}|(?<=[Ww]all.time)(?:_seconds)?[\\\": ]+[0-9.e-]+"
)


@dataclass(frozen=True)
class Agent:
    """A client in one version, and the model it thinks that it talks to."""

    harness: str  # by the name that truecall gives it
    version: str
    model: str = ""
    code_mode: bool = False

    def __str__(self) -> str:
        return " ".join(word for word in (self.harness, self.version, self.model) if word)

    @property
    def program(self) -> str:
        package, binary = PACKAGES[self.harness]
        return clients.client(package, self.version, binary)

    def turn(self, *calls: tuple[str, dict]) -> list:
        """A turn of the model with calls of the notes server's tools, in the way of this client."""
        if self.code_mode:
            nested = ", ".join(f"tools.mcp__notes__{tool}({json.dumps(args)})" for tool, args in calls)
            gather = f"await {nested}" if len(calls) == 1 else f"await Promise.allSettled([{nested}])"
            return [("exec", f"text(JSON.stringify({gather}))")]
        prefix = "mcp__notes__" if self.harness == "claude-code" else "mcp__notes/"
        return [(prefix + tool, args) for tool, args in calls]


CLAUDE_CODE = (Agent("claude-code", "2.1.197"), Agent("claude-code", "2.1.332"))
CODEX = (
    Agent("codex", "0.144.6", "gpt-5.5"),
    Agent("codex", "0.144.6", "gpt-5.6-sol", code_mode=True),
    Agent("codex", "0.171.0", "gpt-5.5"),
    Agent("codex", "0.171.0", "gpt-6.2-sol", code_mode=True),
)


@dataclass
class Sent:
    """What a request tells the model that the one before it did not."""

    results: dict[str, str] = field(default_factory=dict)  # call id -> the text in the place of the tool's output
    beside: list[tuple[str, str]] = field(default_factory=list)  # (role, text)


@dataclass
class Session:
    client: Client
    bodies: dict[str, list[dict]]  # conversation -> the body of every request
    times: list[float]  # when each request of the main conversation came

    def sent(self, number: int, conversation: str = MAIN) -> Sent:
        """What the request of that number told the model. Number 0 is the first, before any call."""
        requests = [self.client.entries(body) for body in self.bodies[conversation]]
        assert number < len(requests), f"there were only {len(requests)} requests\n{self.client.output[-3000:]}"
        return self.client.read(requests[number][len(requests[number - 1]) if number else 0 :])

    def result(self, turn: int = 0, call: int = 0, conversation: str = MAIN) -> str:
        """The text that the model reads as the output of that call of that turn."""
        results = self.sent(turn + 1, conversation).results
        return next(text for name, text in results.items() if name.endswith(f"_{turn}_{call}"))

    def beside(self, turn: int = 0, conversation: str = MAIN) -> str:
        """All that the model reads beside the outputs of that turn's calls."""
        return "\n".join(text for _, text in self.sent(turn + 1, conversation).beside)

    def told(self) -> str:
        """All that the model was told in all requests, except for what is another in every session."""
        bare = {name: [self.client.bare(body) for body in bodies] for name, bodies in self.bodies.items()}
        return VARYING.sub("-", json.dumps(bare, indent=1))


def run(
    agent: Agent,
    base: str,
    turns: list,
    contracts: str = NOTES,
    *,
    hook: str = TRUECALL,
    agents: dict[str, list] | None = None,
    folder: str = "project",
    env: dict[str, str] | None = None,
    trusted: bool = True,
) -> Session:
    """A session below `base` (emptied first) in which the model plays `turns`, and `agents`, by a marker in their
    task, play theirs. `hook` is "" for none, or another command in truecall's place; `trusted` says whether Codex
    is told to run it."""
    client = KINDS[agent.harness](agent, base, folder)
    client.trusted = trusted
    client.trust(contracts)
    if hook:
        register(agent.harness, client, hook)
    with client.api(turns, agents) as model:
        client.play(model, env or {})
        return Session(client, model.bodies, model.times)


def register(harness: str, client: Client, hook: str) -> None:
    """Registers the hook as install/*.json shows it."""
    about = harnesses.load_registration(harness)
    own = {event: f'"{paths.find_launcher()}" {harness} {event}' for event in about.events}
    text = registration.render_registration(about, lambda event: own[event] if hook == TRUECALL else hook)
    place = (client.home, about.home[2], about.user) if harness == "codex" else (client.project, about.project)
    write(os.path.join(*place), text)


def write(path: str, text: str) -> str:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


class Client:
    """A client's folders, how it is started, and how its requests are read."""

    api: type[Model]
    output = ""  # what it printed
    trusted = True

    def __init__(self, agent: Agent, base: str, folder: str) -> None:
        self.agent, self.base = agent, base
        shutil.rmtree(base, ignore_errors=True)
        self.project, self.home, self.state, self.tmp = (
            os.path.join(base, name) for name in (folder, "home", "state", "tmp")
        )
        for path in (self.project, self.home, self.tmp):
            os.makedirs(path)

    def trust(self, contracts: str) -> None:
        path = write(os.path.join(self.project, "truecall.yaml"), contracts)
        pin.trust(pin.compile_file(path), os.path.join(self.state, "truecall"))

    def play(self, model: Model, more: dict[str, str]) -> None:
        argv, own = self.command(model)
        env = {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "dumb", "HOME": self.home, "TMPDIR": self.tmp,
            "XDG_STATE_HOME": self.state, "TRUECALL_PYTHON": sys.executable,
        }  # fmt: skip
        process = subprocess.Popen(
            argv, cwd=self.project, env={**env, **own, **more}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace", start_new_session=True,
        )  # fmt: skip
        try:
            self.output, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            self.output, _ = process.communicate()
            raise AssertionError(f"no end within {PATIENCE} seconds\n{self.output[-3000:]}") from None
        assert process.returncode == 0, f"it ended with {process.returncode}\n{self.output[-3000:]}"

    def command(self, model: Model) -> tuple[list[str], dict[str, str]]:
        """The client's command line and what it needs in its environment."""
        raise NotImplementedError

    def entries(self, body: dict) -> list:
        """The conversation in a request."""
        raise NotImplementedError

    def read(self, entries: list) -> Sent:
        raise NotImplementedError

    def bare(self, body: dict) -> dict:
        """A request without what is not meant for the model."""
        return {name: value for name, value in body.items() if name not in ("metadata", "client_metadata")}


class ClaudeCode(Client):
    api = Anthropic

    def command(self, model: Model) -> tuple[list[str], dict[str, str]]:
        server = {"command": sys.executable, "args": [MCP, self.project]}
        servers = write(os.path.join(self.base, "mcp.json"), json.dumps({"mcpServers": {"notes": server}}))
        argv = [self.agent.program, "-p", "Do the task.", "--mcp-config", servers, "--dangerously-skip-permissions"]
        argv += ["--output-format", "stream-json", "--verbose", "--include-hook-events"]
        env = {
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",  # then the permissions may be skipped as root too
        }
        return [*argv, *(("--model", self.agent.model) if self.agent.model else ())], env

    def entries(self, body: dict) -> list:
        return body["messages"]

    def read(self, entries: list) -> Sent:
        sent = Sent()
        for message in entries:
            content = message["content"]
            for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                if block["type"] == "tool_result":
                    sent.results[block["tool_use_id"]] = text_of(block["content"])
                elif block["type"] == "text" and message["role"] != "assistant":
                    sent.beside.append((message["role"], block["text"]))
        return sent


class Codex(Client):
    api = OpenAI
    config = """
model = {model}
model_provider = "mock"
check_for_update_on_startup = false
analytics.enabled = false
projects.{project}.trust_level = "trusted"
mcp_servers.notes = {{ command = {python}, args = [{server}, {project}] }}

[model_providers.mock]
name = "mock"
base_url = {url}
env_key = "MODEL_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
"""

    def command(self, model: Model) -> tuple[list[str], dict[str, str]]:
        values = {"model": self.agent.model, "project": self.project, "python": sys.executable, "server": MCP}
        values["url"] = model.url + "/v1"
        quoted = {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}
        write(os.path.join(self.home, ".codex", "config.toml"), self.config.format(**quoted))
        argv = [self.agent.program, "exec", "--json", "--skip-git-repo-check", "Do the task."]
        argv += ["--dangerously-bypass-approvals-and-sandbox"]
        return argv + ["--dangerously-bypass-hook-trust"] * self.trusted, {"MODEL_KEY": "none"}

    def entries(self, body: dict) -> list:
        return body["input"]

    def read(self, entries: list) -> Sent:
        sent = Sent()
        for item in entries:
            if item["type"].endswith("_output"):
                sent.results[item["call_id"]] = text_of(item["output"])
            elif item.get("role") in ("user", "developer") and "content" in item:
                sent.beside.append((item["role"], text_of(item["content"])))
        return sent


KINDS: dict[str, type[Client]] = {"claude-code": ClaudeCode, "codex": Codex}


def text_of(content: str | list) -> str:
    """The text of a result, which is a text or a list of blocks."""
    return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)


def command(agent, line):
    """A turn in which Codex runs a command, in the form of its version."""
    script = f"text(JSON.stringify(await tools.exec_command({json.dumps({'cmd': line})})))"
    return [("exec", script) if agent.code_mode else ("exec_command", {"cmd": line})]
