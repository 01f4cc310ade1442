"""Retry budgets by class of failure. Data and arithmetic only.

The defaults: a wrong form is fixed once, a missing thing is not requested again, a transient failure is retried, and
compiler, linter and test errors get several attempts.
"""

from __future__ import annotations

from truecall_py.core.record import record
from truecall_py.core.types import FAILURE, FALSE_SUCCESS, LANDED, REFUTED, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


SCHEMA, MISSING, TRANSIENT, COMPILE, LINT, TEST, OTHER = (
    "schema", "missing", "transient", "compile", "lint", "test", "other",
)  # fmt: skip
CLASSES = (SCHEMA, MISSING, TRANSIENT, COMPILE, LINT, TEST, OTHER)
# Retries after the first attempt: (minimum, maximum).
RETRIES = {
    SCHEMA: (1, 1), MISSING: (0, 0), TRANSIENT: (3, 3), COMPILE: (2, 3), LINT: (2, 3), TEST: (2, 3), OTHER: (1, 1),
}  # fmt: skip
SESSION_LIMIT = 10  # refuted attempts that end a session
# Output of a tool when a retry may help; only searched after a reported failure.
TRANSIENT_PHRASES = (
    "timed out", "timeout", "time-out", "connection refused", "connection reset", "econnrefused", "econnreset",
    "etimedout", "temporarily unavailable", "service unavailable", "bad gateway", "gateway timeout",
    "too many requests",
)  # fmt: skip
TRANSIENT_STATUSES = frozenset(("429", "502", "503", "504"))
# A number after one of these words is a status, not a line or a size.
WORDS_BEFORE_STATUS = frozenset(
    ("http", "httperror", "status", "code", "error", "returned", "response", "got", "with")
)
MISSING_PHRASES = ("not a git repository", "command not found")  # at the end of a failure that a retry cannot cure
REPEATABLE = ("safe", "keyed")
RECENT_VERDICTS = 5  # verdicts that set a session's retries


@record(frozen=True)
class Budget:
    """The retries that one call has left. `attempt` counts the refuted attempts of this call, including this one;
    `retries` is the limit of its class in this session; `spent` counts those of the whole session, `most` is their
    limit."""

    kind: str
    attempt: int
    retries: int
    spent: int
    most: int

    @property
    def gone(self) -> bool:
        """Whether no retry is left."""
        return self.attempt > self.retries or self.spent >= self.most


def classify_failure(verdict: Verdict, said: str, text: str) -> str:
    """Returns the class of a refuted verdict: the contract's own, else by check and evidence. `said` is what the tool
    reported, `text` its output."""
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
    """Tells whether the last line of a failure says that the thing requested does not exist. Earlier lines of a log
    do not count."""
    last = text.rstrip().rpartition("\n")[2].lower()
    return any(word in last for word in MISSING_PHRASES)


def reports_transient(text: str) -> bool:
    """Tells whether the text of a failure names a transient cause. A number counts as a status only after a word that
    says so."""
    low = text.lower()
    if any(word in low for word in TRANSIENT_PHRASES):
        return True
    if not any(code in low for code in TRANSIENT_STATUSES):
        return False
    words = "".join(letter if letter.isalnum() else " " for letter in low).split()
    return any(words[at] in TRANSIENT_STATUSES and is_status(words, at) for at in range(1, len(words)))


def is_status(words: Sequence[str], at: int) -> bool:
    """Tells whether the number at this position is a status: `error: 503`, `HTTP/2 503`, `HTTP/1.1 503`."""
    return words[at - 1] in WORDS_BEFORE_STATUS or "http" in (words[at - 2], words[max(at - 3, 0)])


def count_retries(kind: str, recent: Sequence[str], policy: dict[str, Any]) -> int:
    """Returns the retries of a class for a session with these recent outcomes (newest last): the maximum after three
    verified calls in a row, the minimum after a false success, else the midpoint."""
    fewest, most = parse_range(policy.get("retries", {}).get(kind, RETRIES[kind]))
    last = list(recent)[-RECENT_VERDICTS:]
    if FALSE_SUCCESS in last:
        return fewest
    if len(last) >= 3 and all(outcome == LANDED for outcome in last):
        return most
    return (fewest + most) // 2


def parse_range(limit: Any) -> tuple[int, int]:
    """Returns a number or a pair of numbers as (minimum, maximum)."""
    fewest, most = limit if isinstance(limit, (list, tuple)) else (limit, limit)
    return int(fewest), int(most)
