"""Which order a verdict calls for, and in which form it reaches the agent. Never words it and never changes
a verdict. The table is the one in docs/corrections.md; budgets and quarantine come with the memory."""

from __future__ import annotations

from truecall_py.records import record
from truecall_py.types import FAILURE, REFUTED, UNVERIFIED, VERIFIED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.types import ToolCall, Verdict

# The orders, each worded in `wording`.
AGAIN, LOOK_THEN_AGAIN, SAME_KEY, NEVER_AGAIN = "again", "look then again", "same key", "never again"
BY_REMEDY, OTHER_WAY, CHECK_FIRST, NOT_YOURS, NOT_FINISHED, LANDED_ANYWAY, NOTHING_NEW = (
    "by remedy", "other way", "check first", "not yours", "not finished", "landed anyway", "nothing new",
)  # fmt: skip
SILENT, APPEND, REPLACE, OBSERVE = "silent", "append", "replace", "observe"

REPEATABLE = frozenset(("write", "read"))  # an edit that did land would not find its text again, or add it twice
FILES = frozenset(("write", "edit", "delete", "read"))
OF_THE_WORLD = ("tool", "world")


@record(frozen=True)
class Delivery:
    """How one verdict is told: the order, and silent | append | replace | observe."""

    order: str
    form: str


QUIET = Delivery("", SILENT)


def repeat_order(verdict: Verdict, call: ToolCall) -> str:
    """What to do about the call. A remedy without a word on repeating stands for itself: what the contract
    found wrong (a file that does not parse) the same call would often bring back."""
    if verdict.remedy and not verdict.repeat:
        return BY_REMEDY
    said = verdict.repeat or ("safe" if call.kinds <= REPEATABLE else "")
    return {"safe": AGAIN, "keyed": SAME_KEY, "never": NEVER_AGAIN}.get(said, LOOK_THEN_AGAIN)


def deliver(verdict: Verdict, call: ToolCall, said: str) -> Delivery:
    """The Delivery of one verdict; `said` is what the tool reported (facts.reported)."""
    delivery = enforce(verdict, call, said)
    if verdict.mode == OBSERVE and delivery.form != SILENT:
        return Delivery(delivery.order, OBSERVE)
    return delivery


def enforce(verdict: Verdict, call: ToolCall, said: str) -> Delivery:
    if said == FAILURE:
        return after_failure(verdict, call)
    if verdict.state == VERIFIED:
        return QUIET
    if verdict.state == REFUTED:
        return Delivery(repeat_order(verdict, call), REPLACE)
    if call.background:
        return Delivery(NOT_FINISHED, APPEND)
    if verdict.cause in OF_THE_WORLD:
        return Delivery(CHECK_FIRST, REPLACE)
    return Delivery(NOTHING_NEW if verdict.cause == "vacuous" else NOT_YOURS, APPEND)


def after_failure(verdict: Verdict, call: ToolCall) -> Delivery:
    """The tool said itself that it failed: no accusation, and a word only where it helps."""
    if verdict.state == VERIFIED:
        # That a file is there says little of a change to it that failed, and a safe call may be made again.
        idle = verdict.repeat == "safe" or call.kinds & FILES
        return QUIET if idle else Delivery(LANDED_ANYWAY, APPEND)
    helps = verdict.remedy or any(outcome.candidates for outcome in verdict.outcomes)
    if verdict.state == UNVERIFIED or not helps:
        return QUIET
    return Delivery(OTHER_WAY, APPEND)
