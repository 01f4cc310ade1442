"""The style sheet of the page: two sets of colours, and the rules in style.css for screens of any width and paper. It
loads nothing: the fonts are the system's own."""

from __future__ import annotations

import os

# name: (light, dark). Every colour of STATES, and ink and muted, is read as text on both grounds (WCAG 2.2, AA).
GROUNDS = {"paper": ("#faf9f6", "#15171b"), "card": ("#ffffff", "#1d2026")}
INKS = {"ink": ("#1f2328", "#e8e6e1"), "muted": ("#5b6370", "#a6adb8"), "accent": ("#1d5fa8", "#8ab8f5")}
LINES = {"line": ("#e4e1da", "#333840"), "soft": ("#f1efea", "#262a31")}
STATES = {
    "lie": ("#b3261e", "#ff8f86"), "refuted": ("#a04a00", "#f2a65e"), "unverified": ("#7a5c00", "#e3c565"),
    "pending": ("#1d5fa8", "#8ab8f5"), "refused": ("#6d3fa3", "#c9a9f7"), "verified": ("#13694a", "#6fd3a7"),
    "none": ("#626a76", "#9aa2ae"),
}  # fmt: skip
COLOURS = {**GROUNDS, **INKS, **LINES, **STATES}


def render_tokens(which: int) -> str:
    return "".join(f"--{name}:{colours[which]};" for name, colours in COLOURS.items())


def render_sheet() -> str:
    """The whole style sheet."""
    states = "".join(f".{name}{{--tone:var(--{name})}}" for name in STATES)
    with open(os.path.join(os.path.dirname(__file__), "style.css"), encoding="utf-8") as file:
        rules = file.read()
    return (
        f":root{{color-scheme:light dark;{render_tokens(0)}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{render_tokens(1)}}}}}{states}\n{rules}"
    )
