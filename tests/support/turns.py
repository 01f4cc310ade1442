"""One turn of an agent, through the real hook process: its calls and its stops."""

from __future__ import annotations

import json
import os

from support.project import SESSION
from truecall_py.ledger.store import Ledger

TWO = """\
version: 1
contracts:
  - id: note-saved
    tool: mcp__notes__save_note*
    post:
      - file_exists: {path: "{{project}}/notes/{{args.title}}.md", contains: "{{args.body}}"}
"""


class Turn:
    """One turn of an agent: its calls with their hooks, and its stops."""

    def __init__(self, project, harness="claude-code", name="turn-1", session=SESSION):
        self.project, self.harness, self.name, self.session = project, harness, name, session
        self.calls = 0

    @property
    def marks(self):
        return {"session_id": self.session, ("turn_id" if self.harness == "codex" else "prompt_id"): self.name}

    def told(self, payload):
        """Both hooks of a call."""
        before = {name: payload[name] for name in payload if name not in ("tool_response", "duration_ms", "error")}
        self.project.hook({**before, "hook_event_name": "PreToolUse"}, self.harness, "PreToolUse")
        return self.project.hook(payload, self.harness, payload["hook_event_name"])

    def asked(self, payload):
        """Only the hook before a call."""
        before = {name: payload[name] for name in payload if name not in ("tool_response", "duration_ms")}
        return self.project.hook({**before, "hook_event_name": "PreToolUse"}, self.harness, "PreToolUse")

    def save(self, title="a", write=False, **more):
        """A note that is said to be saved."""
        payload = self.note(title, **more)
        if not write:
            return self.told(payload)
        self.asked(payload)
        self.project.write(f"notes/{title}.md", "hello")
        return self.project.hook(payload, self.harness)

    def note(self, title="a", **more):
        self.calls += 1
        more = {"tool_use_id": f"toolu_{self.calls:02}", **self.marks, **more}
        return self.project.mcp(self.harness, args={"title": title, "body": "hello"}, **more)

    def bash(self, command, **more):
        self.calls += 1
        more = {"tool_use_id": f"toolu_{self.calls:02}", **self.marks, **more}
        return self.project.bash(command, self.harness, **more)

    def ran(self, command, code=0, **more):
        """Both hooks of a command that ended with that exit code, as the client tells it."""
        payload = self.bash(command, **more)
        if self.harness == "codex":
            path = rollout(self.project, completed(payload["tool_use_id"], "CommandExecution", exit_code=code))
            return self.told({**payload, "transcript_path": path})
        if code:
            del payload["tool_response"]
            payload |= {"hook_event_name": "PostToolUseFailure", "error": f"Exit code {code}\nfailed"}
        return self.told(payload)

    def stop(self, message="Done.", active=False, event="Stop", **more):
        payload = {
            "transcript_path": None, "cwd": self.project.root, "hook_event_name": event, "stop_hook_active": active,
            "last_assistant_message": message, "permission_mode": "default", **self.marks,
        }  # fmt: skip
        if self.harness == "claude-code":
            payload |= {"background_tasks": [], "session_crons": []}
        else:
            payload |= {"model": "some-model"}
        return self.project.hook({**payload, **more}, self.harness, event)

    def agent(self, name):
        """The marks of a sub-agent's payloads."""
        return {"agent_id": name, "agent_type": "general-purpose"}


def reason(answer):
    """Why the agent is held; there are no keys but those that both clients take."""
    assert set(answer.json) <= {"decision", "reason", "systemMessage"}, answer
    assert answer.json.get("decision") == "block", answer
    return answer.json["reason"]


def silent(answer):
    return (answer.code, answer.out, answer.err) == (0, b"", b"")


def events(project, kind):
    return [each for each in Ledger(project.state).session(SESSION) if each.event == kind]


AT_STOP = """\
version: 1
contracts:
  - id: built
    event: stop
    post: {command: {run: [test, -e, done.txt]}}
    remedy: run make
"""
MADE = """\
version: 1
contracts:
  - id: built
    tool: Bash
    when: {args.command: {runs: "make *"}}
    post: {file_exists: {path: "{{project}}/app"}}
"""
LATER = {"response": {"backgroundTaskId": "b1"}}
RUNNING = [{"id": "b1", "type": "shell", "status": "running", "description": "make app", "command": "make app"}]


def rollout(project, *records):
    lines = [json.dumps({"type": kind, "payload": payload}) for kind, payload in records]
    return project.write(os.path.join(project.base, "rollout.jsonl"), "\n".join(lines) + "\n")


def completed(call, kind="FileChange", status="completed", **more):
    return "event_msg", {"type": "item_completed", "item": {"type": kind, "id": call, "status": status, **more}}
