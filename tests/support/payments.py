"""A payment service on the loopback, the contract of its receipts, and an agent that pays."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from support.project import SESSION
from truecall_py.ledger.store import Ledger
from truecall_py.operations import view

PAY = "mcp__pay__charge"
CONTRACT = """\
version: 1
contracts:
  - id: charged
    tool: mcp__pay__charge
    key: "{{args.idempotency_key}}"
    receipt:
      from: {http_status: {url: "http://127.0.0.1:PORT/operations/{{args.order}}"}}
      items: operations
      match: {tenant: "{{args.tenant}}", op: charge, resource: "{{args.order}}", effect: debit}
      state: status
      states: {completed: verified, pending: pending, rejected: refuted}
      id: charge
      as_of: updated_at
      review: 2h
      owner: billing
"""


class Service:
    """A bank: what it did is in `done`, by order; `answers` is what it says of an order instead (a status or a map)."""

    def __init__(self):
        service = self
        self.done, self.answers, self.asked, self.slow = {}, {}, [], 0.0
        self.gate = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *words):
                pass

            def do_GET(self):
                service.asked.append(self.path)
                if service.slow:
                    service.gate.wait(service.slow)
                status, body = service.answer(self.path.rpartition("/")[2])
                data = json.dumps(body).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass  # whoever asked has gone

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def answer(self, order):
        given = self.answers.get(order)
        if isinstance(given, int):
            return given, {"operations": self.done.get(order, [])}
        if given is not None:
            return 200, given
        return (200, {"operations": self.done[order]}) if order in self.done else (404, {})

    def does(self, order="o1", status="completed", at=1, **more):
        """Does the work, whatever its answer says of it."""
        receipt = {"tenant": "acme", "op": "charge", "resource": order, "effect": "debit", "status": status,
                   "charge": "ch_1", "updated_at": at, **more}  # fmt: skip
        self.done.setdefault(order, []).append(receipt)
        return receipt

    def close(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()


class Agent:
    """One agent that charges: its calls with their hooks, and its stops."""

    transcript = None

    def __init__(self, project, harness="claude-code", session=SESSION, turn="turn-1"):
        self.project, self.harness, self.session, self.turn = project, harness, session, turn

    @property
    def marks(self):
        return {"session_id": self.session, ("turn_id" if self.harness == "codex" else "prompt_id"): self.turn}

    def call(self, name="c1", order="o1", key=None, tool=PAY, **more):
        args = {"tenant": "acme", "order": order, "amount": 5, **({"idempotency_key": key} if key else {})}
        args |= more.pop("args", {})
        return self.project.mcp(self.harness, tool=tool, args=args, tool_use_id=name,
                                transcript_path=self.transcript, **self.marks, **more)  # fmt: skip

    def asks(self, *given, **more):
        """The hook before a call."""
        payload = self.call(*given, **more)
        before = {name: payload[name] for name in payload if name not in ("tool_response", "duration_ms", "error")}
        return self.project.hook({**before, "hook_event_name": "PreToolUse"}, self.harness, "PreToolUse")

    def ends(self, *given, **more):
        """The hook after a call that reported success."""
        return self.project.hook(self.call(*given, **more), self.harness)

    def times_out(self, *given, **more):
        """The hook after a call whose answer was lost (Claude Code)."""
        payload = self.call(*given, hook_event_name="PostToolUseFailure", tool_response=None,
                            error="MCP error -32001: Request timed out", is_interrupt=False, **more)  # fmt: skip
        return self.project.hook(payload, self.harness, "PostToolUseFailure")

    def stop(self, active=False):
        payload = {"transcript_path": self.transcript, "cwd": self.project.root, "hook_event_name": "Stop",
                   "stop_hook_active": active, "last_assistant_message": "Charged.", "permission_mode": "default",
                   **self.marks}  # fmt: skip
        more = {"model": "some-model"} if self.harness == "codex" else {"background_tasks": [], "session_crons": []}
        return self.project.hook({**payload, **more}, self.harness, "Stop")


def silent(answer):
    return (answer.code, answer.out, answer.err) == (0, b"", b"")


def refusal(answer):
    """Why a call was not let through."""
    inside = answer.json["hookSpecificOutput"]
    assert inside["permissionDecision"] == "deny", answer
    return inside["permissionDecisionReason"]


def every(project):
    return view.read_operations(Ledger(project.state))


def state(project):
    """The state of the one operation that there is."""
    (only,) = every(project)
    return only.state


def reconcile(project, *argv):
    done = project.command("reconcile", *argv)
    assert "Traceback" not in done.stderr and "bug" not in done.stderr, done
    return done


LOCAL = """\
version: 1
contracts:
  - id: shipped
    tool: mcp__shop__ship
    receipt:
      from: %s
      match: {order: "{{args.order}}"}
      state: state
      states: {sent: verified, packed: pending, lost: refuted}
"""
SOURCES = {
    "sqlite": '{sqlite: {file: "{{project}}/shop.db", query: "SELECT * FROM parcels WHERE \\"order\\" = ?", '
    'params: ["{{args.order}}"]}}',
    "command": '{command: {run: [./look.sh, "{{args.order}}"]}}',
    "custom run": "{custom: {run: [./custom.sh]}}",
    "custom python": "{custom: {python: 'look.py:receipt'}}",
}


def says(project, source, word):
    """What the source of this machine says from now on."""
    if source == "sqlite":
        import sqlite3

        base = sqlite3.connect(os.path.join(project.root, "shop.db"))
        base.execute('CREATE TABLE IF NOT EXISTS parcels ("order" TEXT PRIMARY KEY, state TEXT)')
        if word:
            base.execute("INSERT OR REPLACE INTO parcels VALUES ('o1', ?)", (word,))
        base.commit()
        base.close()
    elif word:
        project.write("state", word)
