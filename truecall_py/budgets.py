"""How often a failure may be tried again, by its kind. Data and arithmetic; asks nobody and words nothing.

The kinds and their numbers are those of the deterministic guards: what is wrong in form is mended once, what is not
there is not asked for again, what passes by is waited for, what a compiler says is worked on."""

from __future__ import annotations

from truecall_py.records import record
from truecall_py.types import FAILURE, LANDED, LIE, REFUTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.types import Verdict

SCHEMA, MISSING, TRANSIENT, COMPILE, LINT, TEST, OTHER = (
    "schema", "missing", "transient", "compile", "lint", "test", "other",
)  # fmt: skip
CLASSES = (SCHEMA, MISSING, TRANSIENT, COMPILE, LINT, TEST, OTHER)
# Retries after the first attempt: (fewest, most); a session earns its place between the two.
RETRIES = {
    SCHEMA: (1, 1), MISSING: (0, 0), TRANSIENT: (3, 3), COMPILE: (2, 3), LINT: (2, 3), TEST: (2, 3), OTHER: (1, 1),
}  # fmt: skip
SESSION = 10  # refuted attempts that end a session
OF_CHECK = {"schema": SCHEMA, "parses": COMPILE, "tests": TEST}
# What a tool says of itself when trying again may help; looked for only where it reported a failure.
PASSING = ("timed out", "timeout", "time-out", "connection refused", "connection reset", "econnrefused", "econnreset",
           "etimedout", "temporarily unavailable", "service unavailable", "bad gateway", "gateway timeout",
           "too many requests", "502", "503", "504", "429")  # fmt: skip
REPEATABLE = ("safe", "keyed")
RECENT = 5  # verdicts by which freedom is earned


@record(frozen=True)
class Budget:
    """What one call may still cost. `attempt` counts refuted attempts of this call, this one included; `retries` are
    those that its class and the session's record allow; `spent` those of the whole session, `most` their limit."""

    kind: str
    attempt: int
    retries: int
    spent: int
    most: int

    @property
    def gone(self) -> bool:
        return self.attempt > self.retries or self.spent >= self.most


def kind_of(verdict: Verdict, said: str, text: str) -> str:
    """The class of a refuted verdict: the contract's own word, else what check and evidence show. `said` is what
    the tool reported, `text` its own words."""
    if verdict.kind:
        return verdict.kind
    failed = next((outcome for outcome in verdict.outcomes if outcome.state == REFUTED), None)
    if said == FAILURE and verdict.repeat in REPEATABLE and any(word in text.lower() for word in PASSING):
        return TRANSIENT
    if failed is None:
        return OTHER
    return OF_CHECK.get(failed.check, MISSING if failed.candidates and said == FAILURE else OTHER)


def retries(kind: str, recent: Sequence[str], policy: dict[str, Any]) -> int:
    """The retries of a class for a session with these recent outcomes (the newest last). What landed earns more of
    the range, a lie less; without either it is the middle."""
    fewest, most = span(policy.get("retries", {}).get(kind, RETRIES[kind]))
    last = list(recent)[-RECENT:]
    if LIE in last:
        return fewest
    if len(last) >= 3 and all(outcome == LANDED for outcome in last):
        return most
    return (fewest + most) // 2


def span(given: Any) -> tuple[int, int]:
    """A number or a pair of numbers as a range."""
    fewest, most = given if isinstance(given, (list, tuple)) else (given, given)
    return int(fewest), int(most)
