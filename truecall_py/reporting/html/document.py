"""The whole page: a head with a policy that blocks all requests, the parts in order, and what was left out. It has no
script, picture or font, and loads nothing."""

from __future__ import annotations

import base64
import hashlib

from truecall_py.core.plural import count
from truecall_py.core.timestamps import format_local_time
from truecall_py.core.version import __version__
from truecall_py.reporting.html import summary
from truecall_py.reporting.html.account import Account
from truecall_py.reporting.html.markup import Markup, join, render_data, section, style, tag
from truecall_py.reporting.html.style import render_sheet

TITLE = "What agents reported, and what truecall found"
GENERATOR = "truecall report"
# The start of every page, by which truecall knows its own reports.
START = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="{GENERATOR}'
PARTS = (("figures", "Figures"), ("plots", "Plots"), ("lies", "False successes"), ("timeline", "Timeline"))


def build_policy(css: str) -> str:
    """The Content-Security-Policy: only this style sheet is allowed."""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def render_page(account: Account, session: str = "") -> str:
    """The page as text; `session`: the only session on it, "" for all."""
    css = render_sheet()
    head = tag(
        "head", tag("meta", charset="utf-8"), tag("meta", name="generator", content=f"{GENERATOR} {__version__}"),
        tag("meta", http_equiv="Content-Security-Policy", content=build_policy(css)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"), tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"truecall: {TITLE}"), style(css),
    )  # fmt: skip
    body = tag(
        "body", tag("a", "Skip to the figures", href="#figures", class_="skip"), render_top(account, session),
        tag("main", summary.render_figures(account), summary.render_pictures(account),
            render_false_claims(account), render_sessions(account)),
        render_footer(account),
    )  # fmt: skip
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def render_top(account: Account, session: str) -> Markup:
    about: list[object] = [
        f"{format_minute(account.first)} to {format_minute(account.last)}"
        if account.last
        else "No call was recorded yet"
    ]
    if account.since:
        about.append(f", calls since {format_minute(account.since)}")
    if session:
        about += [", session ", render_data(session, 200)]
    links = tag("ul", *(tag("li", tag("a", name, href=f"#{place}")) for place, name in PARTS))
    return tag(
        "header", tag("p", "truecall report", class_="brand"), tag("h1", TITLE), tag("p", *about, ".", class_="lead"),
        tag("nav", links, aria_label="Parts of this page"),
    )  # fmt: skip


def format_minute(at: float) -> str:
    """A time to the minute; the footer names the time zone."""
    return format_local_time(at)[:16]


def render_false_claims(account: Account) -> Markup:
    lead = "Each call that reported success while its effect was missing, newest session first."
    if not account.lies:
        lead = "No call reported a success that a contract refuted."
    left = None
    if account.lies_left:
        most = len(account.lies) + account.lies_left
        older = count(account.lies_left, "older false success", "es")
        left = tag("p", f"Not shown here: {older}. To list them: ",
                   tag("code", f"truecall log --outcome 'false success' --limit {most}"), class_="gone")  # fmt: skip
    return section("lies", "False successes", tag("p", lead, class_="lead"), *account.lies, left)


def render_sessions(account: Account) -> Markup:
    lead = "Sessions, newest first. Open a call to see its states, its verdicts and what followed."
    left = None
    if account.sessions_left:
        older = f"{count(account.sessions_left, 'older session')} with {count(account.calls_left, 'call')}"
        left = tag("p", f"Not shown here, but counted in the figures: {older}. To list them: ",
                   tag("code", "truecall log"), ". To show one: ", tag("code", "truecall report --session S"),
                   class_="gone")  # fmt: skip
    lead = lead if account.sessions else "No call was recorded."
    return section("timeline", "Timeline", tag("p", lead, class_="lead"), *account.sessions, left)


def render_footer(account: Account) -> Markup:
    return tag(
        "footer",
        tag("p", f"Made by truecall {__version__} at {format_local_time(account.now)}, "
            "from the ledger of this machine only. "
            f"Time zone: {' '.join(format_local_time(account.now).split()[2:])}."),
        tag("p", join("Secrets were masked and long values cut before they were stored. The figures as text: ",
                      tag("code", "truecall stats"), ". Unresolved calls: ", tag("code", "truecall reconcile"), ".")),
    )  # fmt: skip
