"""The whole page: its head with the policy that keeps everything out, its parts in order, and what was left out.
Needs nothing from anywhere: no script, no picture, no font, no request."""

from __future__ import annotations

import base64
import hashlib

from truecall_py.core.timestamps import local
from truecall_py.core.version import __version__
from truecall_py.reporting.html import summary
from truecall_py.reporting.html.account import Account
from truecall_py.reporting.html.markup import Markup, data, join, style, tag
from truecall_py.reporting.html.style import sheet
from truecall_py.reporting.text import count

TITLE = "What agents reported, and what was there"
GENERATOR = "truecall report"
# How a page begins, by which a page of ours is known again.
START = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="{GENERATOR}'
PARTS = (("figures", "Figures"), ("plots", "Plots"), ("lies", "False claims"), ("timeline", "Timeline"))


def policy(css: str) -> str:
    """The Content-Security-Policy: nothing but this very style sheet."""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def page(account: Account, session: str = "") -> str:
    """The page as text. `session` is the one that it is about, "" for all."""
    css = sheet()
    head = tag(
        "head", tag("meta", charset="utf-8"), tag("meta", name="generator", content=f"{GENERATOR} {__version__}"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy(css)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"), tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"truecall: {TITLE}"), style(css),
    )  # fmt: skip
    body = tag(
        "body", tag("a", "Skip to the figures", href="#figures", class_="skip"), top(account, session),
        tag("main", summary.figures(account), summary.pictures(account), false_claims(account), sessions(account)),
        bottom(account),
    )  # fmt: skip
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def top(account: Account, session: str) -> Markup:
    about: list[object] = [
        f"{minute(account.first)} to {minute(account.last)}" if account.last else "Nothing was told of yet"
    ]
    if account.since:
        about.append(f", of what began since {minute(account.since)}")
    if session:
        about += [", session ", data(session, 200)]
    links = tag("ul", *(tag("li", tag("a", name, href=f"#{place}")) for place, name in PARTS))
    return tag(
        "header", tag("p", "truecall report", class_="brand"), tag("h1", TITLE), tag("p", *about, ".", class_="lead"),
        tag("nav", links, aria_label="Parts of this page"),
    )  # fmt: skip


def minute(at: float) -> str:
    """A time to the minute; the foot of the page says in which zone."""
    return local(at)[:16]


def false_claims(account: Account) -> Markup:
    none = "No call reported a success that a contract refuted."
    lead = "Each call that reported success while its effect was not there, the newest session first."
    left = None
    if account.lies_left:
        most = len(account.lies) + account.lies_left
        left = tag("p", f"{count(account.lies_left, 'older false claim')} left out here: ",
                   tag("code", f"truecall log --outcome lie --limit {most}"), class_="gone")  # fmt: skip
    return tag(
        "section", tag("h2", "False claims", id="lies"), tag("p", lead if account.lies else none, class_="lead"),
        *account.lies, left, aria_labelledby="lies",
    )  # fmt: skip


def sessions(account: Account) -> Markup:
    lead = "Sessions, the newest first; each call opens, and tells of its states, its verdicts and what followed."
    left = None
    if account.sessions_left:
        left = tag("p", f"{count(account.sessions_left, 'older session')} with {count(account.calls_left, 'call')}, "
                   "counted in the figures and left out here: ", tag("code", "truecall report --session S"),
                   " shows one, ", tag("code", "truecall log"), " lists them.", class_="gone")  # fmt: skip
    return tag(
        "section", tag("h2", "Timeline", id="timeline"),
        tag("p", lead if account.sessions else "No call was told of.", class_="lead"),
        *account.sessions, left, aria_labelledby="timeline",
    )  # fmt: skip


def bottom(account: Account) -> Markup:
    return tag(
        "footer",
        tag("p", f"Made by truecall {__version__} at {local(account.now)}, from the ledger of this machine and "
            f"nothing else; times are in the zone of that clock ({' '.join(local(account.now).split()[2:])})."),
        tag("p", join("Secrets were masked and long values cut before they were kept. The figures of calls as text: ",
                      tag("code", "truecall stats"), "; what stands open now: ", tag("code", "truecall reconcile"),
                      ".")),
    )  # fmt: skip
