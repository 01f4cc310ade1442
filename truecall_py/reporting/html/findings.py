"""What was found of one call, told to a person: how it stands, its verdicts with their evidence, the correction that
went out, what followed. Words and nothing else; whatever the ledger holds is quoted, never trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truecall_py.core.timestamps import local, spoken
from truecall_py.core.types import DUPLICATE, LIE, REFUTED, UNVERIFIED, VERIFIED
from truecall_py.ledger.store import REFUSED
from truecall_py.policy import orders
from truecall_py.reporting import calls
from truecall_py.reporting.calls import Call
from truecall_py.reporting.follow_ups import Sequel, over
from truecall_py.reporting.html.markup import Markup, data, join, tag, text
from truecall_py.reporting.html.plots import tone

WORDS = {
    "lie": "false claim", REFUTED: "refuted", UNVERIFIED: "could not verify", calls.PENDING: "pending",
    REFUSED: "refused", VERIFIED: "verified", calls.RUNNING: "no end told", "none": "no contract",
}  # fmt: skip
ORDERS = {
    orders.AGAIN: "to make the same call again",
    orders.LOOK_THEN_AGAIN: "to look whether it is there, and only then again",
    orders.SAME_KEY: "to make it again with the same key",
    orders.NEVER_AGAIN: "not to repeat it, and to look up what happened",
    orders.BY_REMEDY: "to follow the contract's remedy", orders.OTHER_WAY: "to take another way",
    orders.CHECK_FIRST: "to check first, and not to repeat it",
    orders.NOT_YOURS: "to tell the user that it could not be verified",
    orders.NOT_FINISHED: "to wait: it is not finished", orders.LANDED_ANYWAY: "not to repeat it: it did land",
    orders.NOTHING_NEW: "to look: nothing was changed by it", orders.OTHER_ROUTE: "to take another route",
    orders.WAIT_AGAIN: "to wait, and then to make the same call again", orders.FIX_AGAIN: "to fix it, and then again",
    orders.MEND_FORM: "to mend the arguments", orders.PICK: "to pick one of the candidates",
    orders.REPLAN: "to plan anew: it is not there",
    orders.REQUIRED: "to bring about first what it requires",
    orders.GUARDED: "to see first that what is expected holds",
    orders.HAND_OVER: "to stop this step and hand it to the user",
    orders.LOOK_UP: "to look up what became of it, and not to make it again",
    orders.ACCEPTED: "not to make it again: it is accepted and not finished",
    orders.DONE_ALREADY: "not to make it again: its source says that it is done",
    orders.UNDO_ONE: "not to make it again: it was done twice, and a person must undo one",
}  # fmt: skip
FORMS = {
    orders.REPLACE: "in place of the tool's output", orders.APPEND: "beside the tool's output",
}  # fmt: skip
DONE_TWICE = "done twice"
ARGUMENTS = 12  # of one call that are shown
VERDICTS = 12


def stands(call: Call) -> str:
    """How a call stands, as a name of WORDS."""
    if calls.lied(call):
        return LIE
    return call.state if call.state in WORDS else "none"


def badge(name: str, word: str = "") -> Markup:
    return tag("span", word or WORDS.get(name, name), class_=f"badge {tone(name) if name in WORDS else 'none'}")


def mark(call: Call) -> Markup:
    """The badge of a call."""
    twice = any(each.get("outcome") == DUPLICATE for each in call.verdicts) and stands(call) == REFUTED
    return badge(stands(call), DONE_TWICE if twice else "")


def clock(at: float, whole: bool = False) -> Markup:
    """A time of day, or with its date; the page says once in which zone."""
    said = local(at).split()
    return tag("time", " ".join(said[:2]) if whole or len(said) < 2 else said[1])


def brief(call: Call) -> str:
    """The arguments in a line."""
    return " ".join(f"{name}={value}" for name, value in list(call.args.items())[:4])


def arguments(call: Call) -> list[Markup]:
    """The rows of a list of facts that tell of the arguments."""
    given = list(call.args.items())
    rows = [
        part
        for name, value in given[:ARGUMENTS]
        for part in fact(data(name, 120), tag("div", data(value), class_="quote"))
    ]
    if len(given) > ARGUMENTS:
        rows += fact("and", f"{len(given) - ARGUMENTS} more arguments")
    return rows


def fact(name: object, value: object) -> list[Markup]:
    return [tag("dt", name), tag("dd", value)]


def verdicts(call: Call) -> Markup:
    """Every verdict that counts now, with its evidence."""
    made = [verdict(each) for each in call.verdicts[:VERDICTS]]
    left = len(call.verdicts) - len(made)
    return join(*made, tag("p", f"and {left} more verdicts", class_="muted") if left else None)


def verdict(each: dict[str, Any]) -> Markup:
    name = LIE if each.get("outcome") == LIE else str(each.get("state", ""))
    word = DONE_TWICE if each.get("outcome") == DUPLICATE else ""
    observed = " (observe: the agent was not told)" if each.get("mode") == orders.OBSERVE else ""
    where = join(" in ", data(each["source"], 200)) if each.get("source") else None
    head = tag("p", badge(name, word), " ", data(each.get("contract", ""), 200), where, observed)
    return tag(
        "div",
        head,
        tag("dl", *evidence(each), class_="facts"),
        class_=f"verdict {tone(name) if name in WORDS else 'none'}",
    )


def evidence(each: dict[str, Any]) -> list[Markup]:
    """The rows: about what, what was expected, what was found."""
    rows: list[Markup] = []
    found = "because" if each.get("state") == UNVERIFIED else "found"
    for key, name in (("subject", "about"), ("expected", "expected"), ("found", found)):
        if each.get(key):
            rows += fact(name, tag("div", tag("bdi", each[key]), class_=f"quote {key}"))
    return rows


def correction(call: Call) -> Markup | None:
    """What the agent was told, in a sentence; None where it was told nothing."""
    said = []
    for each in [row for row in call.verdicts if row.get("order") or row.get("form")] or [call.data]:
        order, form = str(each.get("order") or ""), str(each.get("form") or "")
        if form == orders.OBSERVE:
            said.append(text("nothing: the contract only observes"))
        elif form in FORMS:
            said.append(join(ORDERS.get(order, text(order)) if order else "that it is not done", f", {FORMS[form]}"))
    if said:
        return join(*dict.fromkeys(said), between="; ")
    return text("that it is not done, or may not be") if call.told else None


def refused(call: Call) -> list[Markup]:
    """The rows that tell why a call was not let through: what rests, over what, and what to use instead."""
    rows: list[Markup] = []
    if call.state == REFUSED:
        for name, key in (("rests", "route"), ("contract", "contract"), ("found", "found")):
            rows += fact(name, data(call.data[key])) if call.data.get(key) else []
        if (order := str(call.data.get("order") or "")) in ORDERS:
            rows += fact("told", ORDERS[order])
        other = call.data.get("alternatives")
        if isinstance(other, list) and other:
            rows += fact("instead", join(*(data(each, 200) for each in other[:ARGUMENTS]), between=", "))
    return rows


def attempt(call: Call, every: Sequence[Call]) -> str | None:
    """Which attempt it was and what was another since the one before."""
    number, changed = calls.attempt(call, every)
    if not number:
        return None
    if not isinstance(changed, list):
        return f"{number}"
    what = f"changed {', '.join(map(str, changed[:20]))}" if changed else "nothing changed"
    return f"{number}, with {what} since the one before"


def followed(call: Call, sequel: Sequel) -> Markup:
    """What the agent did next, step by step."""
    made, at = [], over(call)
    for what, other in sequel.steps:
        took = f", {spoken(max(0.0, other.at - at))} later: "
        made.append(tag("li", what, took, data(other.tool, 200), " ", mark(other)))
        at = over(other)
    if sequel.more:
        made.append(tag("li", f"and {sequel.more} more steps"))
    if not made and call.state == REFUSED:
        return text("not asked for again in this session")
    if not made:
        return text("nothing more about it in this session")
    return tag("ol", *made, class_="steps")


def ending(call: Call, sequel: Sequel) -> Markup:
    """Whether it was put right, and how long that took. What was refused was never made."""
    if sequel.right is None and call.state == REFUSED:
        return text("it was not made")
    if sequel.right is None:
        return tag("b", "not put right", class_="refuted tone")
    after = f" after {spoken(max(0.0, sequel.right - over(call)))}"
    how = (
        f" ({sequel.by})"
        if sequel.by == calls.OTHER
        else ""
        if sequel.by == calls.SAME
        else f" (found done by {sequel.by})"
    )
    return join(tag("b", "put right", class_="verified tone"), after, how)
