"""The names of stored outcomes, orders and delivery forms, as people read them."""

from __future__ import annotations

from truecall_py.core.types import FALSE_SUCCESS, LANDED, NOT_LANDED, REPORTED_FAILURE
from truecall_py.policy import orders

OUTCOMES = {LANDED: "success", REPORTED_FAILURE: "reported failure", FALSE_SUCCESS: "false success",
            NOT_LANDED: "effect missing"}  # fmt: skip
ORDERS = {
    orders.AGAIN: "to make the same call again",
    orders.CHECK_THEN_AGAIN: "to check whether its effect is there, and repeat it only if not",
    orders.SAME_KEY: "to make it again with the same idempotency key",
    orders.NEVER_AGAIN: "not to repeat it, and to find out what happened",
    orders.BY_REMEDY: "to follow the contract's remedy", orders.OTHER_WAY: "to correct it first",
    orders.CHECK_FIRST: "to check first, and not to repeat it",
    orders.NOT_YOURS: "to tell the user that it could not be verified",
    orders.NOT_FINISHED: "to wait: it is not finished", orders.SUCCEEDED_ANYWAY: "not to repeat it: it worked",
    orders.NOTHING_NEW: "to check: it changed nothing", orders.OTHER_ROUTE: "to take another route",
    orders.WAIT_AGAIN: "to wait, then to make the same call again",
    orders.FIX_AGAIN: "to fix it, then to run it again",
    orders.FIX_FORM: "to fix the arguments", orders.PICK: "to use one of the closest matches",
    orders.REPLAN: "to plan the step again: the thing does not exist",
    orders.REQUIRED: "to make the required effect first",
    orders.GUARDED: "to meet the guard first",
    orders.HAND_OVER: "to stop this step and hand it to the user",
    orders.LOOK_UP: "to find out what happened to it, and not to make it again",
    orders.ACCEPTED: "not to make it again: it is accepted but not finished",
    orders.ALREADY_DONE: "not to make it again: its source says that it is done",
    orders.UNDO_ONE: "not to make it again: it was done twice, and a person must undo one",
}  # fmt: skip
FORMS = {orders.REPLACE: "instead of the tool's output", orders.APPEND: "beside the tool's output"}


def name_outcome(outcome: str) -> str:
    """The name of a stored outcome."""
    return OUTCOMES.get(outcome, outcome)


def describe_order(order: str, form: str) -> str:
    """The order that an agent got and how it was delivered, as a phrase; "" without a correction."""
    if form == orders.OBSERVE:
        return "nothing, in observe mode"
    words = ORDERS.get(order, order)
    return f"{words or 'not to report it as done'}, {FORMS[form]}" if form in FORMS else words
