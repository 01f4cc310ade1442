"""The figures of a ledger's calls: false successes, refuted and unverified calls, and what agents did after a
correction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truecall_py.core.types import FALSE_SUCCESS, REFUTED, UNVERIFIED, VERIFIED
from truecall_py.ledger.store import REFUSED
from truecall_py.reporting import calls
from truecall_py.reporting.calls import NOTHING, OTHER, PENDING, SAME, Call
from truecall_py.reporting.follow_ups import Sequels

Row = dict[str, int]
# The states of a judged call; each call has one.
OUTCOMES = (FALSE_SUCCESS, REFUTED, UNVERIFIED, PENDING, VERIFIED)
LED = {VERIFIED: "landed", REFUTED: "refuted again"}  # else: open


class Figures:
    """The totals over sessions. Holds no session after counting it, so a ledger of any size fits."""

    def __init__(self) -> None:
        self.sessions = self.calls = self.judged = self.refused = self.would_block = 0
        self.claims = {"judged": 0, "false": 0, "not told": 0}
        self.tools: dict[str, Row] = {}
        self.outcomes: dict[str, Row] = {}
        self.contracts: dict[str, Row] = {}
        self.retries: dict[str, Row] = {}
        self.after = {SAME: 0, OTHER: 0, NOTHING: 0}

    def session(self, every: Sequence[Call], followed: Sequels | None = None) -> None:
        """Adds the calls of one session; `followed`: their follow-ups, if known already."""
        followed = followed or Sequels(every)
        self.sessions += 1
        for call in every:
            self.calls += 1
            self.refused += call.state == REFUSED
            if call.verdicts:
                self.judged += 1
                self.call(call)
            if call.was_corrected:
                self.correction(call, *followed.next(call))

    def call(self, call: Call) -> None:
        lie = calls.is_false_success(call)
        states = [verdict.get("state") for verdict in call.verdicts]
        if calls.has_claim(call):
            self.claims["judged"] += 1
            self.claims["false"] += lie
            self.claims["not told"] += not lie and UNVERIFIED in states
        add(self.tools, call.tool, calls=1, refuted=REFUTED in states, unverified=UNVERIFIED in states, lies=lie)
        stands = FALSE_SUCCESS if lie else call.state
        add(self.outcomes, call.tool, **{name: name == stands for name in OUTCOMES})
        for verdict in call.verdicts:
            state, observed = verdict.get("state"), verdict.get("mode") == "observe"
            add(self.contracts, str(verdict.get("contract", "")), verdicts=1, refuted=state == REFUTED,
                unverified=state == UNVERIFIED, lies=verdict.get("outcome") == FALSE_SUCCESS,
                would_block=observed and state == REFUTED)  # fmt: skip
        self.would_block += any(
            verdict.get("mode") == "observe" and verdict.get("state") == REFUTED for verdict in call.verdicts
        )

    def correction(self, call: Call, what: str, other: Call | None) -> None:
        """Counts what followed one correction."""
        self.after[what] += 1
        led = LED.get(other.state, "open") if other else ""
        row = {"corrections": 1, SAME: what == SAME, OTHER: what == OTHER}
        add(self.retries, classify_call(call), **row, **{name: led == name for name in (*LED.values(), "open")})

    def plain(self) -> dict[str, Any]:
        """All figures as JSON data with stable keys."""
        judged = self.claims["judged"]
        return {
            "sessions": self.sessions, "calls": self.calls, "judged": self.judged, "refused": self.refused,
            "claims": {"judged": judged, "false": self.claims["false"], "not_told": self.claims["not told"],
                       "rate": round(self.claims["false"] / judged, 4) if judged else None},
            "observe": {"would_have_blocked": self.would_block},
            "tools": make_rows("tool", self.tools), "outcomes": make_rows("tool", self.outcomes),
            "contracts": make_rows("contract", self.contracts), "retries": make_rows("class", self.retries),
            "after": {make_key(name): count for name, count in self.after.items()},
        }  # fmt: skip


def classify_call(call: Call) -> str:
    """The class of failure of a corrected call."""
    kind = next((str(verdict["kind"]) for verdict in call.wrong if verdict.get("kind")), "")
    return kind or str(call.data.get("kind") or "") or "other"


def add(table: dict[str, Row], name: str, **counts: int) -> None:
    row = table.setdefault(name, dict.fromkeys(counts, 0))
    for column, count in counts.items():
        row[column] += int(count)


def make_rows(name: str, table: dict[str, Row]) -> list[dict[str, Any]]:
    """The rows of a table, most refuted first."""
    order = sorted(table.items(), key=lambda item: (-item[1].get("refuted", item[1].get("corrections", 0)), item[0]))
    return [{name: first, **{make_key(column): count for column, count in row.items()}} for first, row in order]


def make_key(words: str) -> str:
    return words.replace(" ", "_")
