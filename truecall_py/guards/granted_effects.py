"""Answers a guard's `requires`: was an effect verified in this session? Only a verdict of this session's ledger
counts."""

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

MAX_EVENTS = 100  # events read for one effect, newest first


class DeclaredEffects:
    """The effects that a caller of `judge()` or `verify` declares as verified; None if it declares nothing."""

    def __init__(self, effects: Sequence[str] | None) -> None:
        self.effects = None if effects is None else frozenset(effects)

    def judge_effect(self, effect: str) -> Outcome:
        """Returns the Outcome for one effect. Raises Unverified if nothing is declared."""
        expected = f"the effect {effect} was verified in this session"
        if self.effects is None:
            raise Unverified("what was verified in a session is known to the hook alone", "harness")
        if effect in self.effects:
            return Outcome("requires", VERIFIED, expected, "it is said to be")
        return Outcome("requires", REFUTED, expected, "it is not among those that are said to be")


class GrantedEffects:
    """The effects verified in one session, read from the ledger of `recorder`. `sources` are the contract files,
    which name the contracts that grant an effect."""

    def __init__(self, recorder: Recorder, sources: Sequence[Source]) -> None:
        self.recorder, self.found = recorder, sources

    def judge_effect(self, effect: str) -> Outcome:
        """Returns the Outcome for one effect: its newest verdict that is verified or refuted counts, an unverified
        one since changes nothing. Raises Unverified if the ledger cannot be read."""
        expected = f"the effect {effect} was verified in this session"
        newest: dict[str, Any] | None = None
        for verdict in self.read_rows(effect):
            newest = newest or verdict
            if verdict.get("state") == VERIFIED:
                return Outcome("requires", VERIFIED, expected, f"verified by {verdict.get('contract', '')}")
            if verdict.get("state") == REFUTED:
                break
        return Outcome("requires", REFUTED, expected, f"{describe_last(newest)}; {self.name_granters(effect)}")

    def read_rows(self, effect: str) -> list[dict[str, Any]]:
        """Returns the stored verdicts on the effect, newest first. Raises Unverified."""
        ledger = self.recorder.ledger
        mark = dumps({"grants": effect})[1:-1]  # as the event's data holds it
        sql = f"{SELECT} session = ? AND event IN (?, ?, ?) AND instr(data, ?) > 0"
        try:
            values = (fit_column(self.recorder.call.session), ENDED, JUDGED, SETTLED, mark)
            stored = ledger.query(f"{sql} ORDER BY id DESC LIMIT {MAX_EVENTS}", values)
        except LedgerError as error:
            raise Unverified(f"what was verified in this session cannot be read: {error.what}", "truecall") from None
        rows: list[dict[str, Any]] = []
        for event in map(StoredEvent, stored):
            matching = [verdict for verdict in event.data.get("verdicts", ()) if verdict.get("grants") == effect]
            # Among the verdicts of one call the worst counts.
            rows += sorted(matching, key=lambda verdict: verdict.get("state") == VERIFIED)
        return rows

    def name_granters(self, effect: str) -> str:
        """Names the contracts that grant the effect, for the agent and the user."""
        names: list[str] = []
        for source in self.found:
            try:
                contracts = source.load_contracts()
                names += [f"{one.id} ({one.source})" for one in contracts if one.plain.get("grants") == effect]
            except (TrustError, ValueError, LookupError, TypeError, AttributeError):
                continue  # a damaged pin grants nothing
        return f"granted by {', '.join(names[:5])}" if names else "no contract that is trusted here grants it"


def describe_last(row: dict[str, Any] | None) -> str:
    """Describes the newest verdict on an effect, or that there is none."""
    if row is None:
        return "nothing that brings it about was judged in this session"
    verb = {REFUTED: "refuted", UNVERIFIED: "could not be verified"}.get(str(row.get("state")), "not finished")
    evidence = f": {row['found']}" if row.get("found") else ""
    return f"the last time it was {verb} ({row.get('contract', '')}{evidence})"
