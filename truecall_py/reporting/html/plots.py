"""Plots as inline SVG. Lengths along a line are percentages, so that a plot fills its place and its text keeps its
size. Every number in a plot also stands beside it as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from truecall_py.reporting.html.markup import Markup, join, render_table, tag

Parts = Sequence[tuple[str, str, int]]  # (class of the colour, name, how many)
ROWS = 20  # of one plot

# How a call is drawn: (lane, class, path around 0,0). Shape and lane carry the same information as colour.
MARKS = {
    "lie": (0, "mark cross", "M-5-5 5 5M5-5-5 5"),
    "refuted": (0, "mark", "M0-6.5 6.5 0 0 6.5-6.5 0z"),
    "refused": (0, "mark", "M-6-2.5H6v5H-6z"),
    "unverified": (1, "mark", "M0-6 6 5H-6z"),
    "pending": (1, "mark ring", "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z"),
    "running": (1, "mark ring", "M-4-4H4V4H-4z"),
    "verified": (2, "mark", "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z"),
    "none": (2, "mark", "M-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0z"),
}
LANES = ("wrong", "open", "good")
HEIGHT = 24  # of one lane


def format_percent(share: float) -> str:
    """A share of the width, from 0 to 1."""
    return f"{100 * min(1.0, max(0.0, share)):.2f}%"


def render_bar(name: str, parts: Parts, whole: int) -> Markup:
    """One bar of parts side by side; `whole`: the count of the full width."""
    legend = ", ".join(f"{count} {word}" for _, word, count in parts if count) or "none"
    drawn, at = [tag("rect", class_="ground", width="100%", height="10")], 0
    for colour, _, count in parts:
        if count:
            width = format_percent(count / whole)
            drawn.append(tag("rect", class_=f"fill {colour}", x=format_percent(at / whole), width=width, height="10"))
            at += count
    return tag("svg", tag("title", f"{name}: {legend}"), *drawn, class_="bar", role="img")


def render_legend(parts: Parts) -> Markup:
    items = []
    for colour, name, count in parts:
        square = tag("rect", class_=f"fill {colour}", width="100%", height="100%")
        key = tag("span", tag("svg", square, class_="key", aria_hidden="true"), class_="inline")
        items.append(tag("li", key, f"{name} {count}" if count else name))
    return tag("ul", *items, class_="legend")


def render_bars(
    title: str, about: str, first: str, kinds: Sequence[tuple[str, str]], rows: Sequence[tuple[str, Sequence[int]]],
    nothing: str, order: bool = True,
) -> Markup:  # fmt: skip
    """A figure of bars, one a row, with the numbers beside them. `kinds` are (colour, name) of the parts, and are
    shown where there is one; `about` says what is counted; `nothing` is what stands there where there is none;
    `order` says that rows without a number are left out."""
    head = tag("figcaption", tag("h3", title), about)
    rows = [(name, counts) for name, counts in rows if sum(counts) or not order]
    if not any(sum(counts) for _, counts in rows):
        return tag("figure", head, tag("p", nothing, class_="muted"))
    there = [place for place in range(len(kinds)) if any(counts[place] for _, counts in rows)]
    kinds = [kinds[place] for place in there]  # a column without a number says nothing, and takes room on a phone
    rows = [(name, [counts[place] for place in there]) for name, counts in rows]
    shown, whole = rows[:ROWS], max(sum(counts) for _, counts in rows)
    lines: list[tuple[object, ...]] = []
    for name, counts in shown:
        parts = [(*kind, count) for kind, count in zip(kinds, counts, strict=True)]
        cells = (str(count) if count else "·" for count in counts)
        lines.append((join(tag("bdi", name), render_bar(name, parts, whole)), *cells))
    left = len(rows) - len(shown)
    more = tag("p", f"{left} more: truecall stats shows them all", class_="muted") if left else None
    heads = (first, *(word for _, word in kinds))
    return tag("figure", head, render_legend([(*kind, 0) for kind in kinds]), render_table(title, heads, lines), more)


def strip(
    drawn: Iterable[dict[str, Any]], began: float, ended: float, start: str, end: str, took: str, number: int
) -> Markup:
    """A session along its time: each call a mark where it began, with a line for as long as it took. `drawn` are its
    calls: {stands, began, ended, says}; `start`, `end` and `took` are what stands below; `number` tells ids apart."""
    length = max(ended - began, 1e-6)
    marks, count = [], 0
    for row in range(len(LANES)):
        marks.append(tag("line", class_="lane", x1="0%", x2="100%", y1=HEIGHT * row + 12, y2=HEIGHT * row + 12))
    for part in drawn:
        lane, shape, path = MARKS.get(part["stands"], MARKS["none"])
        y, count, colour = HEIGHT * lane + 12, count + 1, find_tone(part["stands"])
        at = format_percent((part["began"] - began) / length)
        if part["ended"] is not None:
            until = format_percent((part["ended"] - began) / length)
            marks.append(tag("line", class_=f"span {colour}", x1=at, x2=until, y1=y, y2=y))
        inside = tag("path", tag("title", part["says"]), class_=f"{shape} {colour}", d=path)
        marks.append(tag("svg", inside, x=at, y=y, width="1", height="1"))
    title, about = f"strip{number}", f"strip{number}-about"
    picture = tag(
        "svg", tag("title", f"{count} calls over the time of the session", id=title),
        tag("desc", "The list below has the same calls in words.", id=about),
        *marks, class_="all", role="img", aria_labelledby=f"{title} {about}",
    )  # fmt: skip
    lanes = tag("div", *(tag("span", name) for name in LANES), class_="lanes", aria_hidden="true")
    axis = tag("div", tag("span", start), tag("span", took), tag("span", end), class_="axis")
    return tag("div", lanes, tag("div", picture, class_="plane"), axis, class_="strip")


def find_tone(stands: str) -> str:
    """The colour class of a call's state."""
    return "none" if stands == "running" else stands
