"""Ledgers for the tests of what is shown of them, written through the public class as the hook writes them."""

from __future__ import annotations

import time
from typing import Any

from truecall_py.ledger.store import BATCH, ENDED, REFUSED, REQUESTED, SETTLED, WAITING, Event, Ledger

NOTE = "mcp__notes__save_note"


def verdict(state: str, contract: str = "note-saved", **more: Any) -> dict[str, Any]:
    outcome = {"verified": "landed", "refuted": "lie", "unverified": "unknown", "pending": "unknown"}[state]
    plain = {"contract": contract, "state": state, "outcome": outcome, "source": "truecall.yaml:3",
             "expected": "a file at /p/notes/a.md", "mode": "enforce"}  # fmt: skip
    plain["found"] = {"refuted": "nothing at /p/notes/a.md", "unverified": "the server did not answer"}.get(state, "it")
    return {**plain, **more}


def call(
    ledger: Ledger, name: str, *told: dict[str, Any], at: float, session: str = "s1", tool: str = NOTE,
    args: dict[str, str] | None = None, same: str = "", harness: str = "claude-code", **more: Any,
) -> None:  # fmt: skip
    """A call from request to end, `at` seconds ago."""
    began, args = time.time() - at, args if args is not None else {"title": "a", "body": "hello"}
    identity = (same or name).ljust(32, "0")
    state = max((each["state"] for each in told), key=["verified", "pending", "unverified", "refuted"].index, default="")
    column = {"harness": harness, "turn": "t1", "tool": tool, "identity": identity}
    ledger.add(Event(session, name, REQUESTED, began, data={"args": args, "cwd": "/p"}, **column))
    bad = state in ("refuted", "unverified")
    data = {"args": args, "reported": "success", "verdicts": list(told), "seconds": 0.02, "attempt": 1,
            "order": "again" if bad else "", "form": "replace" if bad else "silent", "kind": "other"}  # fmt: skip
    ledger.add(Event(session, name, ENDED, began + 1.5, state=state, data={**data, **more}, **column))


def scene(state: str) -> None:
    """A lie with its second try that lands, a lie after which the agent goes another way, one that it lets be, one
    that could not be told, an observed one, one refused, one pending that settled, one that runs."""
    ledger, now = Ledger(state), time.time()
    call(ledger, "lie-1", verdict("refuted"), at=4000, same="note")
    call(ledger, "lie-1b", verdict("verified"), at=3990, same="note", attempt=2, changed=[])
    call(ledger, "lie-2", verdict("refuted", grants="note"), at=3900, args={"title": "b"})
    call(ledger, "way-2", verdict("verified", "written", grants="note"), at=3880, tool="Write")
    call(ledger, "ok-1", verdict("verified", "built"), at=3800, tool="Bash", args={"command": "make"})
    call(ledger, "plain", at=3700, tool="Read", args={"file_path": "/p/x"})
    call(ledger, "seen", verdict("refuted", "trial", mode="observe"), at=3600, tool="Bash", form="observe", order="")
    ledger.add(Event("s1", "batch-1", BATCH, now - 3590, "claude-code", data={"calls": 1}))
    call(ledger, "open", verdict("unverified", "up", cause="world", expected="an answer"), at=3000, session="s2", tool="Bash", harness="codex")
    call(ledger, "long", verdict("pending", "up"), at=2000, session="s2", tool="Bash", harness="codex", form="append")
    ledger.add(Event("s2", "long", SETTLED, now - 1900, "codex", state="verified",
                     data={"by": "stop", "verdicts": [verdict("verified", "up")]}))  # fmt: skip
    ledger.add(Event("s2", "rests", REFUSED, now - 1000, "codex", "t2", tool=NOTE,
                     data={"why": "it lied twice", "route": NOTE, "ticks": 2, "alternatives": ["Write"]}))  # fmt: skip
    ledger.add(Event("s2", "runs", REQUESTED, now - 700, "codex", "t2", tool="Bash", identity="i" * 32,
                     data={"args": {"command": "sleep 99"}, "cwd": "/p"}))  # fmt: skip
    ledger.add(Event("s2", "", WAITING, now - 699, "codex", "t2", tool="Bash", identity="i" * 32,
                     data={"args": {"command": "sleep 99"}}))  # fmt: skip
    call(ledger, "lie-3", verdict("refuted", found="nothing at all. " * 20), at=30, session="s1", args={"title": "c"},
         changed=["title"], attempt=1)  # fmt: skip
    ledger.close()
