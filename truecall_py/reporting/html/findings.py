"""One call in words: its state, its verdicts with their evidence, its correction, and what followed. Text from the
ledger is quoted, never trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truecall_py.core.timestamps import format_duration, format_local_time
from truecall_py.core.types import DUPLICATE, FALSE_SUCCESS, REFUTED, UNVERIFIED, VERIFIED
from truecall_py.ledger.store import REFUSED
from truecall_py.policy import orders
from truecall_py.reporting import calls
from truecall_py.reporting.calls import Call
from truecall_py.reporting.follow_ups import Sequel, find_end
from truecall_py.reporting.html.markup import Markup, escape_text, join, render_data, tag
from truecall_py.reporting.html.plots import find_tone
from truecall_py.reporting.names import FORMS, ORDERS, describe_order

WORDS = {
    "lie": "false success", REFUTED: "refuted", UNVERIFIED: "unverified", calls.PENDING: "pending",
    REFUSED: "refused", VERIFIED: "verified", calls.RUNNING: "no end recorded", "none": "no contract",
}  # fmt: skip
DONE_TWICE = "done twice"
ARGUMENTS = 12  # of one call that are shown
VERDICTS = 12


def find_state(call: Call) -> str:
    """The state of a call, as a key of WORDS."""
    if calls.is_false_success(call):
        return FALSE_SUCCESS
    return call.state if call.state in WORDS else "none"


def render_badge(name: str, word: str = "") -> Markup:
    return tag("span", word or WORDS.get(name, name), class_=f"badge {find_tone(name) if name in WORDS else 'none'}")


def mark(call: Call) -> Markup:
    """The badge of a call."""
    twice = any(row.get("outcome") == DUPLICATE for row in call.verdicts) and find_state(call) == REFUTED
    return render_badge(find_state(call), DONE_TWICE if twice else "")


def render_clock(at: float, whole: bool = False) -> Markup:
    """A time of day; with its date if `whole`."""
    said = format_local_time(at).split()
    return tag("time", " ".join(said[:2]) if whole or len(said) < 2 else said[1])


def render_brief(call: Call) -> str:
    """The first arguments in one line."""
    return " ".join(f"{name}={value}" for name, value in list(call.args.items())[:4])


def render_arguments(call: Call) -> list[Markup]:
    """The rows for the arguments."""
    given = list(call.args.items())
    rows: list[Markup] = []
    for name, value in given[:ARGUMENTS]:
        rows += render_fact(render_data(name, 120), tag("div", render_data(value), class_="quote"))
    if len(given) > ARGUMENTS:
        rows += render_fact("and", f"{len(given) - ARGUMENTS} more arguments")
    return rows


def render_fact(name: object, value: object) -> list[Markup]:
    return [tag("dt", name), tag("dd", value)]


def render_verdicts(call: Call) -> Markup:
    """The current verdicts with their evidence."""
    parts = [render_verdict(row) for row in call.verdicts[:VERDICTS]]
    left = len(call.verdicts) - len(parts)
    return join(*parts, tag("p", f"and {left} more verdicts", class_="muted") if left else None)


def render_verdict(each: dict[str, Any]) -> Markup:
    name = FALSE_SUCCESS if each.get("outcome") == FALSE_SUCCESS else str(each.get("state", ""))
    word = DONE_TWICE if each.get("outcome") == DUPLICATE else ""
    observed = " (observe: no correction)" if each.get("mode") == orders.OBSERVE else ""
    where = join(" in ", render_data(each["source"], 200)) if each.get("source") else None
    head = tag("p", render_badge(name, word), " ", render_data(each.get("contract", ""), 200), where, observed)
    colour = find_tone(name) if name in WORDS else "none"
    return tag("div", head, tag("dl", *render_evidence(each), class_="facts"), class_=f"verdict {colour}")


def render_evidence(each: dict[str, Any]) -> list[Markup]:
    """The rows for one verdict: subject, expected, found."""
    rows: list[Markup] = []
    evidence_word = "because" if each.get("state") == UNVERIFIED else "found"
    for key, name in (("subject", "about"), ("expected", "expected"), ("found", evidence_word)):
        if each.get(key):
            rows += render_fact(name, tag("div", tag("bdi", each[key]), class_=f"quote {key}"))
    return rows


def describe_correction(call: Call) -> Markup | None:
    """The order to the agent, in a phrase; None without a correction."""
    rows = [row for row in call.verdicts if row.get("order") or row.get("form")] or [call.data]
    delivered = (row for row in rows if row.get("form") in (*FORMS, orders.OBSERVE))
    phrases = [describe_order(str(row.get("order") or ""), row["form"]) for row in delivered]
    if phrases:
        return escape_text("; ".join(dict.fromkeys(phrases)))
    return escape_text("not to report it as done") if call.told else None


def render_refusal(call: Call) -> list[Markup]:
    """The rows about a refused call: the paused tool or the guard, its evidence, the order and the alternatives."""
    rows: list[Markup] = []
    if call.state == REFUSED:
        for name, key in (("paused", "route"), ("contract", "contract"), ("found", "found")):
            rows += render_fact(name, render_data(call.data[key])) if call.data.get(key) else []
        if (order := str(call.data.get("order") or "")) in ORDERS:
            rows += render_fact("order", ORDERS[order])
        other = call.data.get("alternatives")
        if isinstance(other, list) and other:
            rows += render_fact(
                "instead", join(*(render_data(value, 200) for value in other[:ARGUMENTS]), between=", ")
            )
    return rows


def render_attempt(call: Call, every: Sequence[Call]) -> str | None:
    """The number of the attempt, and what changed since the previous one."""
    number, changed = calls.describe_attempt(call, every)
    if not number:
        return None
    if not isinstance(changed, list):
        return f"{number}"
    what = f"changed {', '.join(map(str, changed[:20]))}" if changed else "nothing changed"
    return f"{number}; {what} since the previous one"


def render_next_steps(call: Call, sequel: Sequel) -> Markup:
    """The agent's next steps."""
    parts, at = [], find_end(call)
    for what, other in sequel.steps:
        took = f", {format_duration(max(0.0, other.at - at))} later: "
        parts.append(tag("li", what, took, render_data(other.tool, 200), " ", mark(other)))
        at = find_end(other)
    if sequel.more:
        parts.append(tag("li", f"and {sequel.more} more steps"))
    if not parts and call.state == REFUSED:
        return escape_text("not tried again in this session")
    if not parts:
        return escape_text("no further attempt in this session")
    return tag("ol", *parts, class_="steps")


def render_ending(call: Call, sequel: Sequel) -> Markup:
    """Whether the call was resolved, and after how long; a refused call was never made."""
    if sequel.right is None and call.state == REFUSED:
        return escape_text("it was not made")
    if sequel.right is None:
        return tag("b", "not resolved", class_="refuted tone")
    after = f" after {format_duration(max(0.0, sequel.right - find_end(call)))}"
    how = {calls.SAME: "", calls.OTHER: f" ({sequel.by})"}.get(sequel.by, f" (found by {sequel.by})")
    return join(tag("b", "resolved", class_="verified tone"), after, how)


def render_false_success(call: Call, sequel: Sequel, place: str) -> Markup:
    """The card of one call; `place`: its id in the timeline, "" if it is not shown there."""
    head = tag(
        "header", render_badge(FALSE_SUCCESS), " ", render_clock(call.at, whole=True),
        tag("h3", render_data(call.tool, 200), " reported success"),
    )  # fmt: skip
    rows: list[Markup] = []
    for verdict in call.verdicts:
        if verdict.get("outcome") == FALSE_SUCCESS:
            rows += render_evidence(verdict)
            source = (" in ", render_data(verdict["source"], 200)) if verdict.get("source") else ()
            rows += render_fact("contract", join(render_data(verdict.get("contract", ""), 200), *source))
    rows += render_fact("order", describe_correction(call) or "nothing")
    rows += render_fact("then", render_next_steps(call, sequel))
    rows += render_fact("in the end", render_ending(call, sequel))
    arguments = None
    if given := render_arguments(call):
        arguments = tag("details", tag("summary", "Arguments", class_="muted"), tag("dl", *given, class_="facts"))
    link = tag("p", tag("a", "In the timeline", href=f"#{place}"), class_="muted") if place else None
    return tag("article", head, tag("dl", *rows, class_="facts"), arguments, link, class_="lie-card lie")
