"""One card per false success: the claim, the evidence, the correction, and what the agent did next."""

from __future__ import annotations

from truecall_py.core.types import FALSE_SUCCESS
from truecall_py.reporting.calls import Call
from truecall_py.reporting.follow_ups import Sequel
from truecall_py.reporting.html import findings
from truecall_py.reporting.html.findings import fact
from truecall_py.reporting.html.markup import Markup, data, join, tag


def card(call: Call, sequel: Sequel, place: str) -> Markup:
    """The card of one call; `place`: its id in the timeline, "" if it is not shown there."""
    head = tag(
        "header", findings.badge(FALSE_SUCCESS), " ", findings.clock(call.at, whole=True),
        tag("h3", data(call.tool, 200), " reported success"),
    )  # fmt: skip
    rows: list[Markup] = []
    for verdict in call.verdicts:
        if verdict.get("outcome") == FALSE_SUCCESS:
            rows += findings.evidence(verdict)
            rows += fact("contract", join(data(verdict.get("contract", ""), 200), *source(verdict.get("source"))))
    rows += fact("order", findings.correction(call) or "nothing")
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
