"""Every false claim of success: what was claimed, what was there, what the agent was told, what it did about it."""

from __future__ import annotations

from truecall_py.core.types import LIE
from truecall_py.reporting.calls import Call
from truecall_py.reporting.follow_ups import Sequel
from truecall_py.reporting.html import findings
from truecall_py.reporting.html.findings import fact
from truecall_py.reporting.html.markup import Markup, data, join, tag


def card(call: Call, sequel: Sequel, place: str) -> Markup:
    """One lie. `place` is the id of the call in the timeline, "" where it is not shown there."""
    head = tag(
        "header", findings.badge(LIE), " ", findings.clock(call.at, whole=True),
        tag("h3", data(call.tool, 200), " reported success"),
    )  # fmt: skip
    rows: list[Markup] = []
    for each in call.verdicts:
        if each.get("outcome") == LIE:
            rows += findings.evidence(each)
            rows += fact("contract", join(data(each.get("contract", ""), 200), *source(each.get("source"))))
    rows += fact("told", findings.correction(call) or "nothing")
    rows += fact("then", findings.followed(call, sequel))
    rows += fact("in the end", findings.ending(call, sequel))
    given = findings.arguments(call)
    with_ = (
        tag("details", tag("summary", "Arguments", class_="muted"), tag("dl", *given, class_="facts"))
        if given
        else None
    )
    link = tag("p", tag("a", "In the timeline", href=f"#{place}"), class_="muted") if place else None
    return tag("article", head, tag("dl", *rows, class_="facts"), with_, link, class_="lie-card lie")


def source(where: object) -> tuple[object, ...]:
    return (" in ", data(where, 200)) if where else ()
