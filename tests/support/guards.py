"""An agent that asks before it acts, and two guards."""

from __future__ import annotations

import json
import os
import sqlite3

SCHEMA = """\
version: 1
contracts:
  - id: note-form
    tool: mcp__notes__save_note
    pre:
      schema:
        schema:
          type: object
          required: [title, body]
          additionalProperties: false
          properties: {title: {type: string, maxLength: 40}, body: {type: string}, tags: {type: array}}
"""
TEMPLATE = """\
version: 1
contracts:
  - id: template-there
    tool: mcp__notes__save_note
    pre: {file_exists: {path: "{{project}}/templates/{{args.title}}.md"}}
"""


def announced(payload, **more):
    """The payload of the hook before a call."""
    kept = {key: value for key, value in payload.items() if key not in ("tool_response", "duration_ms", "error")}
    return {**kept, "hook_event_name": "PreToolUse", **more}


class Asker:
    """One session: each call is announced, and the answer read."""

    def __init__(self, project, harness):
        self.project, self.harness, self.number = project, harness, 0

    def answer(self, payload, **more):
        self.number += 1
        asked = announced(payload, **{"tool_use_id": f"toolu_{self.number}", **more})
        return self.project.hook(asked, self.harness, "PreToolUse")

    def note(self, **args):
        return self.answer(self.project.mcp(self.harness, args=args))

    def refusal(self, payload):
        return reason(self.answer(payload))


def reason(answer, decision="deny"):
    """Why a call is refused; it must be."""
    inside = answer.json["hookSpecificOutput"]
    assert (inside["hookEventName"], inside["permissionDecision"]) == ("PreToolUse", decision), answer
    return inside["permissionDecisionReason"]


def events(project):
    with sqlite3.connect(os.path.join(project.state, "ledger.db")) as db:
        rows = db.execute("SELECT event, state, data FROM events ORDER BY id")
        return [(event, state, json.loads(data)) for event, state, data in rows]


DOWN = """\
version: 1
contracts:
  - id: up
    tool: mcp__notes__save_note
    pre: {http_status: {url: "http://127.0.0.1:1/health"}}
"""
BROKEN = """\
version: 1
contracts:
  - id: asked
    tool: mcp__notes__save_note
    pre: {custom: {run: [/nonexistent/program]}}
"""
REQUIRES = """\
version: 1
contracts:
  - id: built
    tool: mcp__notes__build
    post: {file_exists: {path: "{{project}}/out"}}
    vacuous: ok
    grants: build-there
  - id: deploy
    tool: mcp__notes__deploy
    requires: build-there
"""
