"""The figures at the head of the page, each with its definition, and the plots. Counts nothing: the numbers come from
`statistics` (as in `truecall stats`), `follow_ups` and `operations`."""

from __future__ import annotations

from typing import Any

from truecall_py.core.plural import count
from truecall_py.operations.view import Operations
from truecall_py.reporting import calls
from truecall_py.reporting.html import plots
from truecall_py.reporting.html.account import Account
from truecall_py.reporting.html.findings import WORDS, render_fact
from truecall_py.reporting.html.markup import Markup, join, section, tag

NO_OPERATIONS = "no operations yet"
SPANS = ("under 10 s", "10 s to 1 min", "1 to 10 min", "10 min to 1 h", "1 h to 1 day", "1 day or longer")


def render_card(
    name: str, part: int, whole: int, nothing: str, about: str, tones: tuple[str, str], counted: tuple[str, str, str],
    drawn: Markup | None = None,
) -> Markup:  # fmt: skip
    """One figure, `part` of `whole`; `nothing` is what stands there where there is none at all. `tones` are its
    colours where the part is none and where it is some; `counted` says what numerator and denominator are, and
    what is left out; `drawn` is a picture of it, which makes it the large one."""
    value = f"{part} of {whole}" if whole else nothing
    colour = f"{tones[bool(part)]} tone" if whole else "quiet"
    words = zip(("Counted", "Of all", "Left out"), counted, strict=True)
    how = tag(
        "details",
        tag("summary", "How it is counted"),
        tag("dl", *(part for pair in words for part in render_fact(*pair))),
    )
    return tag(
        "div", tag("h3", name), tag("p", value, class_=f"number {colour}"), drawn, tag("p", about, class_="muted"),
        how, class_="card hero" if drawn else "card",
    )  # fmt: skip


def render_claims(plain: dict[str, Any]) -> Markup:
    """The card of false successes among all claims of success."""
    claims = plain["claims"]
    judged, false, open_ = claims["judged"], claims["false"], claims["not_told"]
    parts = [
        ("lie", "false", false), ("unverified", "unverified", open_), ("verified", "true", judged - false - open_)
    ]
    drawn = join(plots.render_bar("Claims of success", parts, max(1, judged)), plots.render_legend(parts))
    about = f"{100 * claims['rate']:.1f}% of the claims of success were false" if judged else "no call was judged yet"
    return render_card(
        "False successes", false, judged, "no claims yet", about, ("verified", "lie"),
        ("calls that reported success and are refuted now",
         "calls that reported success and were judged",
         "calls without a contract, calls that reported a failure or nothing, and pending calls; an unverified claim "
         "counts among all, not among the false"), drawn,
    )  # fmt: skip


def render_corrections(plain: dict[str, Any], right: int) -> Markup:
    """The card of resolved corrections among all corrections."""
    after = plain["after"]
    given = sum(after.values())
    came = ", ".join(f"{word.replace('_', ' ')} {number}" for word, number in after.items())
    about = f"next step: {came}" if given else "no call needed a correction"
    return render_card(
        "Corrections resolved", right, given, "no corrections yet", about,
        ("refuted", "verified" if right == given else "unverified"),
        ("corrections after which the same call, or another with the same effect, was verified in the same session, "
         "or a later check found it done",
         "calls for which the agent got a correction",
         "findings of contracts in observe mode, and reported failures"),
    )  # fmt: skip


def render_operations(told: Operations) -> tuple[Markup, Markup]:
    """The cards of duplicate and overdue operations among all operations."""
    tones = ("verified", "lie")
    return render_card(
        "Duplicates", told.duplicates, told.count, NO_OPERATIONS, "done or requested more than once", tones,
        ("operations with a second effect, or a second request under another key",
         "operations that a contract declared", "calls without an operation"),
    ), render_card(
        "Overdue operations", told.overdue, told.count, NO_OPERATIONS,
        "neither resolved nor given up in time", tones,
        ("operations that are still pending or unknown after their review time",
         "all operations that a contract declared",
         "calls without an operation"),
    )  # fmt: skip


def render_stops(held: int, every: int) -> Markup:
    return render_card(
        "Stops held", held, every, "no stops yet", "the agent wanted to stop with something unresolved",
        ("verified", "unverified"),
        ("stops that held the agent, because a call was unresolved or a claim was false",
         "judged stops of agents and sub-agents",
         "stops of clients that do not report them, and of sessions without a contract"),
    )  # fmt: skip


def render_figures(account: Account) -> Markup:
    """The head of the page: all cards, and the number of sessions and calls."""
    plain = account.figures.plain()
    said = f"{count(plain['sessions'], 'session')}, {count(plain['calls'], 'call')}, {plain['judged']} of them judged"
    if plain["refused"]:
        said += f"; {count(plain['refused'], 'call')} refused before running"
    if plain["observe"]["would_have_blocked"]:
        blocked = count(plain["observe"]["would_have_blocked"], "call")
        said += f"; {blocked} that a contract in observe mode would have blocked"
    cards = [render_claims(plain), render_corrections(plain, account.right), *render_operations(account.operations),
             render_stops(account.held, account.stops)]  # fmt: skip
    return section("figures", "Figures", tag("p", said, ".", class_="lead"), tag("div", *cards, class_="cards"))


def render_by_tool(account: Account) -> Markup:
    kinds = [(name, WORDS[name]) for name in ("lie", "refuted", "unverified", "pending", "verified")]
    rows = [(str(row["tool"]), [row[name] for name, _ in kinds]) for row in account.figures.plain()["outcomes"]]
    rows.sort(key=lambda row: (-sum(row[1]), row[0]))
    about = "Judged calls by their current state. Refuted, but no false success: the tool did not report "
    about += "success, or its operation was done twice."
    return plots.render_bars("Outcomes by tool", about, "tool", kinds, rows, "No call was judged yet.")


def render_by_class(account: Account) -> Markup:
    kinds = [("verified", "verified"), ("refuted", "refuted again"), ("unverified", "open"), ("none", "no retry")]
    rows = []
    for row in account.figures.plain()["retries"]:
        none = row["corrections"] - row[calls.SAME.replace(" ", "_")] - row[calls.OTHER.replace(" ", "_")]
        rows.append((str(row["class"]), [row["landed"], row["refuted_again"], row["open"], none]))
    about = "Corrections by class of failure, and the verdict on the next call with the same effect."
    return plots.render_bars("Retries by class", about, "class", kinds, rows, "No correction was given yet.")


def render_by_wait(account: Account) -> Markup:
    kinds = [("verified", "resolved"), ("refuted", "still open")]
    waits = account.waits
    rows = [(name, [waits.right[place], waits.open[place]]) for place, name in enumerate(SPANS)]
    about = "Calls that were unresolved when they ended (refuted, pending, or unverified because of the tool or the "
    about += "machine), by the time until they were resolved, or until the last event of their session."
    return plots.render_bars("Time unresolved", about, "time", kinds, rows, "No call was unresolved.", order=False)


def render_pictures(account: Account) -> Markup:
    drawn = tag("div", render_by_tool(account), render_by_class(account), render_by_wait(account), class_="plots")
    return section("plots", "Plots", drawn)
