"""One case file: a world, a payload, a contract, and what must come of them. Used by the tests beside this
folder; README.md says what a file may hold."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

from truecall_py import clients, judge
from truecall_py.api import look_before
from truecall_py.core import paths
from truecall_py.core.errors import ContractError, PayloadError
from truecall_py.trust.pin import compile_file, trust

HERE = Path(__file__).parent.parent / "data" / "cases"
KEYS = {"source", "why", "needs", "before", "world", "payload", "contract", "check", "through", "env", "expect", "also", "name"}
EXPECTED = {
    "verdict", "outcome", "cause", "found", "expected", "candidates", "verdicts", "reply", "says", "not_says",
    "error", "unreadable", "must_not_exist", "dead", "seconds", "replaces", "notices",
}  # fmt: skip
WORLD = {"files", "bytes", "modes", "setup", "serve", "repository", "after_trust"}
ALLOWED = {
    "claude-code": {"decision", "reason", "systemMessage", "hookSpecificOutput"},
    "codex": {"decision", "reason", "systemMessage", "hookSpecificOutput"},
    "gemini-cli": {"decision", "reason"},
    "copilot-cli": {"decision", "reason"},
}
EVENTS = {"gemini-cli": "AfterTool", "copilot-cli": "postToolUse"}  # PostToolUse elsewhere
HEADLINES = {"refuted": "NOT DONE", "unverified": "NOT CONFIRMED", "verified": "", "none": ""}
# What must never stand raw in an answer: controls, and what hides or turns text around.
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


def load(path):
    """The cases of one file: the first as it stands, then `also`, each with what it changes."""
    found = []
    plain = yaml.safe_load(path.read_text(encoding="utf-8"))
    name = path.relative_to(HERE).with_suffix("").as_posix() if path.is_relative_to(HERE) else path.stem
    unknown = set(plain) - KEYS
    assert not unknown, f"{path.name}: unknown keys {unknown}"
    for number, changes in enumerate([{}, *plain.get("also", ())]):
        assert not set(changes) - KEYS, f"{path.name}: unknown keys {set(changes) - KEYS}"
        base = {key: copy.deepcopy(value) for key, value in plain.items() if key not in ("also", "name")}
        base = {**base, **changes}
        name_here = f"{name}#{changes['name']}" if number else name
        assert not set(base["expect"]) - EXPECTED, f"{name_here}: {set(base['expect']) - EXPECTED}"
        for each in ("before", "world"):
            assert not set(base.get(each) or {}) - WORLD, f"{name_here}: {set(base[each]) - WORLD}"
        found.append(Case(name_here, base))
    return found


class Server:
    """Routes (path: [status, headers, body], or a list of such answers, the last one for ever)."""

    def __init__(self, routes):
        state = {
            path: list(answers if isinstance(answers[0], list) else [answers]) for path, answers in routes.items()
        }
        asked = self.asked = []

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *words):
                pass

            def do_GET(self):
                asked.append(self.path)
                answers = state.get(self.path.partition("?")[0]) or state.get("*") or [[404, {}, "not found"]]
                status, headers, body = answers[0] if len(answers) == 1 else answers.pop(0)
                data = body.encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value.replace("@PORT@", str(self.server.server_address[1])))
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data if self.command != "HEAD" else b"")

            do_HEAD = do_POST = do_GET

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Case:
    """One case: `build` makes its world, `judged` asks the library, `hooked` the real hook process."""

    def __init__(self, name, plain):
        self.name = name
        self.plain = plain
        self.expect = plain["expect"]
        self.through = plain.get("through", ["judge", "hook"])
        self.server = None

    # -- the world -----------------------------------------------------------------------------------

    def build(self, folder):
        self.world, self.home, self.state = (folder / name for name in ("world", "home", "state"))
        self.world.mkdir()
        (self.home / "bin").mkdir(parents=True)
        world = self.plain.get("world") or {}
        if world.get("serve"):
            self.server = Server(world["serve"])
        self.pending = None if self.plain.get("before") is None else world
        self.lay(world if self.pending is None else self.plain["before"])
        self.contract = self.world / "truecall.yaml"
        text = self.contract_text()
        if text is not None:
            self.contract.write_bytes(text.encode())

    def happen(self):
        """What the call does: the world after it, on top of the one before."""
        if self.pending is not None:
            self.lay(self.pending)
            self.pending = None

    def lay(self, world):
        for path, text in (world.get("files") or {}).items():
            self.place(path).write_bytes(self.filled(text).encode())
        for path, numbers in (world.get("bytes") or {}).items():
            self.place(path).write_bytes(bytes.fromhex(numbers))
        for path, mode in (world.get("modes") or {}).items():
            self.place(path).chmod(int(mode, 8))
        script = world.get("setup", "")
        if world.get("repository"):
            script = GIT + script
        if script:
            subprocess.run(
                ["sh", "-eu", "-c", self.filled(script)], cwd=self.world, env=self.environment({}), check=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=30,
            )  # fmt: skip

    def place(self, path):
        full = Path(self.filled(path)) if path.startswith("@") else self.world / path
        full.parent.mkdir(parents=True, exist_ok=True)
        return full

    def close(self):
        if self.server:
            self.server.close()
            self.server = None

    def contract_text(self):
        given = self.plain.get("contract")
        if self.plain.get("check"):
            post = self.plain["check"]
            given = {
                "version": 1,
                "contracts": [{"id": "case", "tool": "*", "post": post if isinstance(post, list) else [post]}],
            }
        if given is None:
            return None
        if isinstance(given, str):
            return self.filled(given)
        return self.filled(yaml.safe_dump(given, sort_keys=False, allow_unicode=True, width=1000))

    def filled(self, text):
        text = text.replace("@WORLD@", str(self.world)).replace("@HOME@", str(self.home))
        return text.replace("@PORT@", str(self.server.port) if self.server else "1")

    def environment(self, more):
        """Nothing of the environment that runs the tests but what a program needs to be found."""
        path = os.environ.get("PATH", "/usr/bin:/bin")
        plain = {
            "PATH": path,
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_STATE_HOME": str(self.home / ".state"),
            "LANG": "C.UTF-8",
        }
        for name, value in more.items():
            plain[name] = self.filled(str(value)).replace("$PATH", path)
        return plain

    # -- the call ------------------------------------------------------------------------------------

    @property
    def harness(self):
        payload = self.plain.get("payload", {})
        return payload.get("harness", "claude-code") if isinstance(payload, dict) else "claude-code"

    def payload(self, call_id=None):
        """The bytes on the hook's standard input."""
        given = self.plain.get("payload", {})
        if isinstance(given, str):
            return self.filled(given).encode("utf-8", "surrogateescape")
        given = {key: value for key, value in given.items() if key != "harness"}
        if not given.pop("bare", False):
            given = {**clients.load_part(self.harness, "samples").EXAMPLE, **given}
            if given["tool_name"] == "Bash" and "tool_input" not in given:
                given["tool_input"] = {"command": "make", "description": "Build"}
                given["tool_response"] = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}
        if call_id:
            given["tool_use_id"] = call_id
        given = self.values(given)
        return json.dumps(given, ensure_ascii=False).encode("utf-8", "surrogatepass")

    def announced(self):
        """The bytes that the hook before the call gets."""
        given = json.loads(self.payload())
        for name in ("tool_response", "duration_ms", "error"):
            given.pop(name, None)
        return json.dumps({**given, "hook_event_name": "PreToolUse"}).encode()

    def judgement(self, contracts):
        """The Judgement of the library, with the look before the call where the case has a world before it."""
        snapshot = None if self.pending is None else look_before(self.announced(), contracts)
        self.happen()
        return judge(self.payload(), contracts, snapshot=snapshot)

    def values(self, value):
        if isinstance(value, dict):
            return {key: self.values(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.values(item) for item in value]
        if isinstance(value, str) and value.startswith("@FILE:"):
            return (self.world / value[6:-1]).read_text()
        return self.filled(value) if isinstance(value, str) else value

    def judged(self, monkeypatch):
        """The Judgement, or the error that the library raises."""
        for name in list(os.environ):
            if name not in ("PATH", "PYTEST_CURRENT_TEST"):
                monkeypatch.delenv(name)
        for name, value in self.environment(self.plain.get("env") or {}).items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(self.world)
        try:
            return self.judgement(self.contract)
        except (PayloadError, ContractError) as error:
            return error

    def hook(self, call_id=None, cwd=None, argv=()):
        """(exit status, standard output) of the real hook process, started as a harness starts it."""
        env = self.environment(self.plain.get("env") or {})
        env["TRUECALL_PYTHON"] = sys.executable
        if self.harness == "claude-code":
            env.setdefault("CLAUDE_PROJECT_DIR", str(self.world))
        if self.pending is not None:
            command = ["/bin/sh", paths.find_launcher(), self.harness, "PreToolUse", "--state", str(self.state), *argv]
            subprocess.run(command, cwd=self.world, env=env, input=self.announced(), capture_output=True, timeout=60)
            self.happen()
        event = EVENTS.get(self.harness, "PostToolUse")
        command = ["/bin/sh", paths.find_launcher(), self.harness, event, "--state", str(self.state), *argv]
        if cwd == "gone":
            gone = self.world / "gone"
            gone.mkdir(exist_ok=True)
            command = ["/bin/sh", "-c", 'rmdir "$0"; exec "$@"', str(gone), *command]
            cwd = gone
        done = subprocess.run(
            command, cwd=cwd or self.world, env=env, input=self.payload(call_id), capture_output=True, timeout=60
        )
        return done.returncode, done.stdout

    def pin(self):
        """Trusts the contract file as a person would; what is broken stays untrusted."""
        if self.contract.exists():
            try:
                trust(compile_file(str(self.contract)), str(self.state))
            except ContractError:
                return
        for path, text in (self.plain.get("world") or {}).get("after_trust", {}).items():
            self.place(path).write_bytes(self.filled(text).encode())

    # -- what must come of it ------------------------------------------------------------------------

    def check_judgement(self, found):
        expect = self.expect
        if "unreadable" in expect:
            assert isinstance(found, PayloadError), found
            assert expect["unreadable"] in str(found)
            return
        if expect.get("error"):
            assert isinstance(found, ContractError), found
            assert expect["error"] in [problem.code for problem in found.problems], found.problems
            return
        assert not isinstance(found, Exception), found
        verdicts = found.verdicts
        state = worst(verdicts)
        assert state == expect["verdict"], [(verdict.state, verdict.outcomes) for verdict in verdicts]
        if "verdicts" in expect:
            assert {verdict.contract: verdict.state for verdict in verdicts} == expect["verdicts"]
        chosen = next((verdict for verdict in verdicts if verdict.state == state), None)
        for name in ("outcome", "cause"):
            if name in expect:
                assert getattr(chosen, name) == expect[name]
        if chosen:
            outcome = next(each for each in chosen.outcomes if each.state == state)
            for name in ("found", "expected"):
                if name in expect:
                    assert self.filled(expect[name]) in getattr(outcome, name)
            if "candidates" in expect:
                assert [os.path.basename(path) for path in outcome.candidates] == expect["candidates"]

    def check_reply(self, status, output):
        """The answer of the hook process in the sender's dialect."""
        assert status == 0
        headline = self.expect.get("reply", self.headline())
        if headline == "silent":
            assert output == b""
            return
        assert output, "the hook said nothing"
        text = output.decode("ascii")
        answer = json.loads(text)
        assert text.count("\n") == 1 and isinstance(answer, dict)
        assert set(answer) <= ALLOWED[self.harness], answer
        inner = answer.get("hookSpecificOutput", {})
        if headline == "notice":
            assert set(answer) == {"systemMessage"}
            told = answer["systemMessage"]
        elif self.harness == "codex":
            assert set(inner) == {"hookEventName", "additionalContext"}
            told = inner["additionalContext"]
            assert answer.get("reason", told) == told and ("decision" in answer) == ("reason" in answer)
            assert answer.get("decision", "block") == "block"
            assert ("decision" in answer) == self.expect.get("replaces", "decision" in answer)
        else:
            assert answer["decision"] == "block"
            told = answer["reason"]
            assert set(inner) <= {"hookEventName", "updatedToolOutput"}
            assert ("updatedToolOutput" in inner) == self.expect.get("replaces", "updatedToolOutput" in inner)
        if headline != "notice":
            assert told.startswith(headline), told
        assert not RAW.search(told), told
        assert len(told.encode()) < 9000
        for words in self.expect.get("says", ()):
            assert self.filled(words) in told, told
        for words in self.expect.get("not_says", ()):
            assert self.filled(words) not in told, told

    def headline(self):
        expect = self.expect
        if "unreadable" in expect or "error" in expect:
            return "NOT CONFIRMED"
        return HEADLINES[expect["verdict"]] or "silent"

    def check_world(self):
        for path in self.expect.get("must_not_exist", ()):
            assert not os.path.lexists(self.world / path), f"{path} was made"
        for path in self.expect.get("dead", ()):
            assert dead(int((self.world / path).read_text())), f"the process of {path} lives"


def worst(verdicts):
    states = [verdict.state for verdict in verdicts]
    return next((state for state in ("refuted", "unverified", "verified") if state in states), "none")


def dead(pid):
    """Whether a process is gone, or only not yet waited for."""
    until = time.monotonic() + 2
    while time.monotonic() < until:
        shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
        if not shown.stdout.strip() or shown.stdout.strip().startswith("Z"):
            return True
        time.sleep(0.05)
    return False


GIT = """\
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_COUNT=2
export GIT_CONFIG_KEY_0=init.defaultBranch GIT_CONFIG_VALUE_0=main
export GIT_CONFIG_KEY_1=commit.gpgsign GIT_CONFIG_VALUE_1=false
export GIT_AUTHOR_NAME=Dev GIT_AUTHOR_EMAIL=dev@example.invalid
export GIT_COMMITTER_NAME=Dev GIT_COMMITTER_EMAIL=dev@example.invalid
g() { git "$@" >/dev/null 2>&1; }
"""
