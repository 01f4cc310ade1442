"""What a guard's `requires` asks of the ledger: whether an effect was verified in this session. Never takes what was
not judged for verified, and never a verdict from another session."""

from __future__ import annotations

from truecall_py.core.errors import TrustError, Unverified
from truecall_py.core.fast_json import dumps
from truecall_py.core.types import REFUTED, UNVERIFIED, VERIFIED, Outcome
from truecall_py.ledger.store import ENDED, JUDGED, SELECT, SETTLED, LedgerError, StoredEvent, fit_column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.judging.recorder import Recorder
    from truecall_py.trust.store import Source

MOST = 100  # events about one effect that are looked at, the newest first


class Given:
    """Effects that somebody says were verified, and no others; None where nobody says anything. For judgements
    without a session."""

    def __init__(self, effects: Sequence[str] | None) -> None:
        self.effects = None if effects is None else frozenset(effects)

    def outcome(self, effect: str) -> Outcome:
        expected = f"the effect {effect} was verified in this session"
        if self.effects is None:
            raise Unverified("what was verified in a session is known to the hook alone", "harness")
        if effect in self.effects:
            return Outcome("requires", VERIFIED, expected, "it is said to be")
        return Outcome("requires", REFUTED, expected, "it is not among those that are said to be")


class Granted:
    """The effects of one session: `memory` is its ledger, `found` are the contract files, which say who grants
    what."""

    def __init__(self, recorder: Recorder, found: Sequence[Source]) -> None:
        self.recorder, self.found = recorder, found

    def outcome(self, effect: str) -> Outcome:
        """Verified where the newest verdict that decided says so; what could not be told since changes nothing.
        Raises Unverified where the ledger cannot be read."""
        expected = f"the effect {effect} was verified in this session"
        newest: dict[str, Any] | None = None
        for row in self.rows(effect):
            newest = newest or row
            if row.get("state") == VERIFIED:
                return Outcome("requires", VERIFIED, expected, f"verified by {row.get('contract', '')}")
            if row.get("state") == REFUTED:
                break
        return Outcome("requires", REFUTED, expected, f"{told(newest)}; {self.granters(effect)}")

    def rows(self, effect: str) -> list[dict[str, Any]]:
        """The verdicts on the effect, the newest first. Raises Unverified."""
        ledger = self.recorder.ledger
        mark = dumps({"grants": effect})[1:-1]  # as the event's data holds it
        sql = f"{SELECT} session = ? AND event IN (?, ?, ?) AND instr(data, ?) > 0 ORDER BY id DESC LIMIT {MOST}"
        try:
            found = ledger.query(sql, (fit_column(self.recorder.call.session), ENDED, JUDGED, SETTLED, mark))
        except LedgerError as error:
            raise Unverified(f"what was verified in this session cannot be read: {error.what}", "truecall") from None
        rows: list[dict[str, Any]] = []
        for event in map(StoredEvent, found):
            told = [each for each in event.data.get("verdicts", ()) if each.get("grants") == effect]
            rows += sorted(told, key=lambda each: each.get("state") == VERIFIED)  # of one call the worst counts
        return rows

    def granters(self, effect: str) -> str:
        """Who could bring it about, for a person and an agent."""
        names: list[str] = []
        for source in self.found:
            try:
                contracts = [contract for contract in source.contracts() if contract.plain.get("grants") == effect]
                names += [f"{each.id} ({each.source})" for each in contracts]
            except (TrustError, ValueError, LookupError, TypeError, AttributeError):
                continue  # a damaged pin grants nothing
        return f"granted by {', '.join(names[:5])}" if names else "no contract that is trusted here grants it"


def told(row: dict[str, Any] | None) -> str:
    """What came last, in words."""
    if row is None:
        return "nothing that brings it about was judged in this session"
    words = {REFUTED: "refuted", UNVERIFIED: "could not be verified"}.get(str(row.get("state")), "not finished")
    found = f": {row['found']}" if row.get("found") else ""
    return f"the last time it was {words} ({row.get('contract', '')}{found})"
