"""A story of calls, one after the other, through the real hook process."""

from __future__ import annotations

import json
import os
import sqlite3

LIES = """\
version: 1
contracts:
  - id: note-saved
    tool: mcp__notes__save_note
    post: {file_exists: {path: "{{project}}/notes/{{args.title}}.md"}}
"""


class Story:
    """One session: calls of a tool that lies or does not, each with the hook before it and the hook after it."""

    def __init__(self, project, harness):
        self.project, self.harness, self.number = project, harness, 0

    def call(self, title="a", lands=False, tool="mcp__notes__save_note", **more):
        """(the answer before the call, the answer after it or None where the call was refused)."""
        self.number += 1
        payload = self.project.mcp(self.harness, tool, args={"title": title, "body": "x"},
                                   tool_use_id=f"toolu_{self.number}", **more)  # fmt: skip
        return self.play(payload, f"notes/{title}.md" if lands else "")

    def play(self, payload, makes=""):
        asked = {key: value for key, value in payload.items() if key not in ("tool_response", "duration_ms")}
        before = self.project.hook({**asked, "hook_event_name": "PreToolUse"}, self.harness, "PreToolUse")
        if denied(before):
            self.batch(payload)
            return before, None
        if makes:
            self.project.write(makes, "x")
        after = self.project.hook(payload, self.harness)
        if makes:
            os.unlink(os.path.join(self.project.root, makes))
        self.batch(payload)
        return before, after

    def batch(self, payload):
        if self.harness == "claude-code":
            assert batch_of(self, payload).form == "silent"


def batch_of(story, payload):
    """The answer to the batch of one call, as Claude Code tells of it."""
    row = {"tool_name": payload["tool_name"], "tool_input": {}, "tool_use_id": payload["tool_use_id"]}
    told = {"session_id": payload["session_id"], "cwd": story.project.root, "hook_event_name": "PostToolBatch",
            "tool_calls": [{**row, "tool_response": "x"}]}  # fmt: skip
    return story.project.hook(told, "claude-code", "PostToolBatch")


def denied(answer):
    return bool(answer.out) and answer.json["hookSpecificOutput"].get("permissionDecision") == "deny"


def events(project):
    with sqlite3.connect(os.path.join(project.state, "ledger.db")) as db:
        return [(name, json.loads(data)) for name, data in db.execute("SELECT event, data FROM events ORDER BY id")]
