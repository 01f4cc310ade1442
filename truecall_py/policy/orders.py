"""Chooses the order for a verdict and the form in which it reaches the agent. The table is in
docs/reference/corrections.md; the attempts come from the ledger. Writes no text."""

from __future__ import annotations

from truecall_py.core.record import record
from truecall_py.core.types import (
    BROKEN_OFF,
    DUPLICATE,
    FAILURE,
    PENDING,
    REFUTED,
    UNVERIFIED,
    VERIFIED,
    ToolCall,
    Verdict,
)
from truecall_py.policy.retry_budgets import COMPILE, LINT, MISSING, SCHEMA, TEST, TRANSIENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.ledger.events import Trial

# The orders; messages words them.
AGAIN, CHECK_THEN_AGAIN, SAME_KEY, NEVER_AGAIN = "again", "look then again", "same key", "never again"
BY_REMEDY, OTHER_WAY, CHECK_FIRST, NOT_YOURS, NOT_FINISHED, SUCCEEDED_ANYWAY, NOTHING_NEW = (
    "by remedy", "other way", "check first", "not yours", "not finished", "landed anyway", "nothing new",
)  # fmt: skip
# Orders that need the attempts so far.
OTHER_ROUTE, WAIT_AGAIN, FIX_AGAIN, FIX_FORM, PICK, REPLAN, HAND_OVER = (
    "other route", "wait and again", "fix and again", "mend the form", "pick a candidate", "plan anew", "hand over",
)  # fmt: skip
# Orders about an operation with a receipt.
LOOK_UP, ACCEPTED, ALREADY_DONE, UNDO_ONE = "look up", "accepted", "done already", "undo one"
# Orders of guards only.
REQUIRED, GUARDED = "bring it about first", "meet the guard"
SILENT, APPEND, REPLACE, OBSERVE = "silent", "append", "replace", "observe"

REPEATABLE = frozenset(("write", "read"))  # not edit: repeated, it fails or adds its text twice
FILES = frozenset(("write", "edit", "delete", "read"))
OF_THE_WORLD = ("tool", "world")


@record(frozen=True)
class Delivery:
    """How one verdict is delivered: the order, and silent | append | replace | observe."""

    order: str
    form: str


QUIET = Delivery("", SILENT)


def choose_repeat_order(verdict: Verdict, call: ToolCall) -> str:
    """Returns the order about repeating the call. A remedy without `repeat` is given alone: the same call would often
    bring back the same fault, such as a file that does not parse."""
    if verdict.remedy and not verdict.repeat:
        return BY_REMEDY
    said = verdict.repeat or ("safe" if call.kinds <= REPEATABLE else "")
    return {"safe": AGAIN, "keyed": SAME_KEY, "never": NEVER_AGAIN}.get(said, CHECK_THEN_AGAIN)


def deliver(verdict: Verdict, call: ToolCall, said: str, trial: Trial | None = None) -> Delivery:
    """Returns the Delivery of one verdict. `said` is what the tool reported (facts.find_reported), `trial` the
    attempts so far (None: not known)."""
    delivery = choose_delivery(verdict, call, said, trial)
    if verdict.mode == OBSERVE and delivery.form != SILENT:
        return Delivery(delivery.order, OBSERVE)
    return delivery


def list_free_routes(verdict: Verdict, trial: Trial | None) -> tuple[str, ...]:
    """Returns the alternatives that are not paused."""
    return tuple(option for option in verdict.alternatives if trial is None or option not in trial.resting)


def choose_by_attempt(verdict: Verdict, trial: Trial | None) -> str:
    """Returns the order that the class of failure and the attempts so far call for; "" for the order of a first
    attempt."""
    budget = trial.budget if trial else None
    if budget is None:
        return ""
    if budget.spent >= budget.most:
        return HAND_OVER
    if budget.gone:
        if budget.kind == MISSING and budget.attempt == 1:
            return PICK if any(outcome.candidates for outcome in verdict.outcomes) else REPLAN
        # One attempt over the budget: another route, which has a budget of its own, is tried last.
        return OTHER_ROUTE if list_free_routes(verdict, trial) and budget.attempt == budget.retries + 1 else HAND_OVER
    if verdict.repeat == "never":
        return ""
    if budget.kind == TRANSIENT:
        return WAIT_AGAIN
    if budget.kind in (COMPILE, LINT, TEST):
        return FIX_AGAIN
    if budget.kind == SCHEMA:
        return FIX_FORM
    return ""


def choose_delivery(verdict: Verdict, call: ToolCall, said: str, trial: Trial | None) -> Delivery:
    """Does the same as `deliver`, as if the contract enforced."""
    receipt = next((outcome.receipt for outcome in verdict.outcomes if outcome.receipt is not None), None)
    lost = said == FAILURE or call.event == BROKEN_OFF
    by_receipt = None if receipt is None else choose_by_receipt(verdict, receipt["state"], lost)
    if by_receipt is not None:
        return by_receipt
    if said == FAILURE:
        return choose_after_failure(verdict, call, trial)
    if verdict.state == VERIFIED:
        return QUIET
    if verdict.state == REFUTED:
        return Delivery(choose_by_attempt(verdict, trial) or choose_repeat_order(verdict, call), REPLACE)
    if call.background:
        return Delivery(NOT_FINISHED, APPEND)
    if verdict.cause in OF_THE_WORLD:
        return Delivery(CHECK_FIRST, REPLACE)
    return Delivery(NOTHING_NEW if verdict.cause == "vacuous" else NOT_YOURS, APPEND)


def choose_by_receipt(verdict: Verdict, state: str, lost: bool) -> Delivery | None:
    """Returns the Delivery that an operation's receipt calls for; None if it is as for any other contract. An
    operation that may be done is never repeated, whatever the tool said. `lost`: the call failed or was broken
    off."""
    if verdict.state == VERIFIED:
        return Delivery(ALREADY_DONE, APPEND) if lost else QUIET
    if verdict.state == UNVERIFIED:
        if state == PENDING:
            return Delivery(ACCEPTED, APPEND)
        return Delivery(LOOK_UP, REPLACE if not lost and verdict.cause in OF_THE_WORLD else APPEND)
    order = {DUPLICATE: UNDO_ONE, VERIFIED: NEVER_AGAIN}.get(state)  # done, but another check failed
    return Delivery(order, APPEND if lost else REPLACE) if order else None


def choose_after_failure(verdict: Verdict, call: ToolCall, trial: Trial | None) -> Delivery:
    """Returns the Delivery after a failure that the tool reported itself: only what helps the agent."""
    if verdict.state == VERIFIED:
        # An existing file says little about a failed change to it, and a safe call may be repeated.
        idle = verdict.repeat == "safe" or call.kinds & FILES
        return QUIET if idle else Delivery(SUCCEEDED_ANYWAY, APPEND)
    if verdict.state == UNVERIFIED:
        return QUIET
    order = choose_by_attempt(verdict, trial)
    if order in (HAND_OVER, WAIT_AGAIN, PICK):
        return Delivery(order, APPEND)
    helps = verdict.remedy or any(outcome.candidates for outcome in verdict.outcomes)
    return Delivery(order if order in (FIX_AGAIN, FIX_FORM) else OTHER_WAY, APPEND) if helps else QUIET
