"""One card per false success: the claim, the evidence, the correction, and what the agent did next."""

from __future__ import annotations

from truecall_py.core.types import FALSE_SUCCESS
from truecall_py.reporting.calls import Call
from truecall_py.reporting.follow_ups import Sequel
from truecall_py.reporting.html import findings
from truecall_py.reporting.html.findings import render_fact
from truecall_py.reporting.html.markup import Markup, join, render_data, tag


def render_card(call: Call, sequel: Sequel, place: str) -> Markup:
    """The card of one call; `place`: its id in the timeline, "" if it is not shown there."""
    head = tag(
        "header", findings.render_badge(FALSE_SUCCESS), " ", findings.render_clock(call.at, whole=True),
        tag("h3", render_data(call.tool, 200), " reported success"),
    )  # fmt: skip
    rows: list[Markup] = []
    for verdict in call.verdicts:
        if verdict.get("outcome") == FALSE_SUCCESS:
            rows += findings.render_evidence(verdict)
            source = (" in ", render_data(verdict["source"], 200)) if verdict.get("source") else ()
            rows += render_fact("contract", join(render_data(verdict.get("contract", ""), 200), *source))
    rows += render_fact("order", findings.describe_correction(call) or "nothing")
    rows += render_fact("then", findings.render_next_steps(call, sequel))
    rows += render_fact("in the end", findings.render_ending(call, sequel))
    arguments = None
    if given := findings.render_arguments(call):
        arguments = tag("details", tag("summary", "Arguments", class_="muted"), tag("dl", *given, class_="facts"))
    link = tag("p", tag("a", "In the timeline", href=f"#{place}"), class_="muted") if place else None
    return tag("article", head, tag("dl", *rows, class_="facts"), arguments, link, class_="lie-card lie")
