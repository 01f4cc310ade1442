"""How often a failure may be tried again, by its kind. Data and arithmetic; asks nobody and words nothing.

The kinds and their numbers are those of the deterministic guards: what is wrong in form is mended once, what is not
there is not asked for again, what passes by is waited for, what a compiler says is worked on."""

from __future__ import annotations

from truecall_py.core.record import record
from truecall_py.core.types import FAILURE, FALSE_SUCCESS, LANDED, REFUTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.core.types import Verdict

SCHEMA, MISSING, TRANSIENT, COMPILE, LINT, TEST, OTHER = (
    "schema", "missing", "transient", "compile", "lint", "test", "other",
)  # fmt: skip
CLASSES = (SCHEMA, MISSING, TRANSIENT, COMPILE, LINT, TEST, OTHER)
# Retries after the first attempt: (fewest, most); a session earns its place between the two.
RETRIES = {
    SCHEMA: (1, 1), MISSING: (0, 0), TRANSIENT: (3, 3), COMPILE: (2, 3), LINT: (2, 3), TEST: (2, 3), OTHER: (1, 1),
}  # fmt: skip
SESSION_LIMIT = 10  # refuted attempts that end a session
# What a tool says of itself when trying again may help; looked for only where it reported a failure.
TRANSIENT_PHRASES = (
    "timed out", "timeout", "time-out", "connection refused", "connection reset", "econnrefused", "econnreset",
    "etimedout", "temporarily unavailable", "service unavailable", "bad gateway", "gateway timeout",
    "too many requests",
)  # fmt: skip
TRANSIENT_STATUSES = frozenset(("429", "502", "503", "504"))
# The words before a number that make a status of it; of a line or a size it is none.
WORDS_BEFORE_STATUS = frozenset(
    ("http", "httperror", "status", "code", "error", "returned", "response", "got", "with")
)
MISSING_PHRASES = ("not a git repository", "command not found")  # the end of a failure where asking again is idle
REPEATABLE = ("safe", "keyed")
RECENT_VERDICTS = 5  # verdicts by which freedom is earned


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


def classify_failure(verdict: Verdict, said: str, text: str) -> str:
    """The class of a refuted verdict: the contract's own word, else what check and evidence show. `said` is what
    the tool reported, `text` its own words."""
    if verdict.kind:
        return verdict.kind
    failed = next((outcome for outcome in verdict.outcomes if outcome.state == REFUTED), None)
    gone = said == FAILURE and reports_missing(text)
    if said == FAILURE and not gone and verdict.repeat in REPEATABLE and reports_transient(text):
        return TRANSIENT
    if failed is None:
        return MISSING if gone else OTHER
    return failed.failure or (MISSING if gone or (failed.candidates and said == FAILURE) else OTHER)


def reports_missing(text: str) -> bool:
    """Whether a failure ends with the word that what was asked is not there at all: not where a long log tells of
    it on the way."""
    last = text.rstrip().rpartition("\n")[2].lower()
    return any(word in last for word in MISSING_PHRASES)


def reports_transient(text: str) -> bool:
    """Whether the words of a failure tell of what passes by. A number is a status only behind a word that says so."""
    low = text.lower()
    if any(word in low for word in TRANSIENT_PHRASES):
        return True
    if not any(code in low for code in TRANSIENT_STATUSES):
        return False
    words = "".join(letter if letter.isalnum() else " " for letter in low).split()
    return any(words[at] in TRANSIENT_STATUSES and is_status(words, at) for at in range(1, len(words)))


def is_status(words: Sequence[str], at: int) -> bool:
    """Whether the number in this place is said to be a status: `error: 503`, `HTTP/2 503`, `HTTP/1.1 503`."""
    return words[at - 1] in WORDS_BEFORE_STATUS or "http" in (words[at - 2], words[max(at - 3, 0)])


def count_retries(kind: str, recent: Sequence[str], policy: dict[str, Any]) -> int:
    """The retries of a class for a session with these recent outcomes (the newest last). What landed earns more of
    the range, a lie less; without either it is the middle."""
    fewest, most = parse_range(policy.get("retries", {}).get(kind, RETRIES[kind]))
    last = list(recent)[-RECENT_VERDICTS:]
    if FALSE_SUCCESS in last:
        return fewest
    if len(last) >= 3 and all(outcome == LANDED for outcome in last):
        return most
    return (fewest + most) // 2


def parse_range(given: Any) -> tuple[int, int]:
    """A number or a pair of numbers as a range."""
    fewest, most = given if isinstance(given, (list, tuple)) else (given, given)
    return int(fewest), int(most)
