"""Draws session.svg: the output of `truecall demo` as a terminal that needs no font and no host.

`python docs/assets/session.py` runs the demo and writes the picture. A test holds the two equal."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from xml.sax.saxutils import escape

from rich.console import Console
from rich.text import Text

PICTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "session.svg")
COLUMNS = 72  # few enough for a phone
WIDTH, HEIGHT, SIZE, MARGIN = 9, 19, 15, 16  # of a cell, of a letter, and around the text
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
GROUND, PLAIN, FAINT = "#0d1117", "#e6edf3", "#9198a1"
COLOURS = {1: "#ff7b72", 2: "#7ee787", 5: "#d2a8ff", 6: "#56d4dd"}  # by the number of the ANSI colour
CONSOLE = Console()
NAME = "truecall-demo-4h7q2xk9"


def run_demo() -> str:
    """The coloured output of the demo. The folder's random name is replaced, and the times are left out."""
    env = {**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color", "TMPDIR": "/tmp"}  # noqa: S108
    env.pop("NO_COLOR", None)
    argv = [sys.executable, "-m", "truecall_py", "demo"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=env, timeout=120)  # noqa: S603
    return re.sub(r" \(\d+ ms\)", "", re.sub(r"truecall-demo-\w{8}", NAME, done.stdout))


def words(line: Text) -> list[tuple[int, int]]:
    """(start, end) of each word of a line. A word has one style."""
    edges = {edge for span in line.spans for edge in (span.start, span.end)}
    edges |= {edge for found in re.finditer(r"\S+", line.plain) for edge in found.span()}
    ends = sorted(edges | {0, len(line.plain)})
    return [pair for pair in itertools.pairwise(ends) if line.plain[slice(*pair)].strip()]


def word(line: Text, row: int, start: int, end: int) -> str:
    """One word as a `text` element, as wide as its cells whatever the font."""
    style = line.get_style_at_offset(CONSOLE, start)
    number = style.color.number if style.color else None
    colour = COLOURS.get(number or 0, FAINT if style.dim else PLAIN)
    marks = ' font-weight="bold"' if style.bold else ' font-style="italic"' if style.italic else ""
    place = f'x="{MARGIN + start * WIDTH}" y="{MARGIN + row * HEIGHT + SIZE}" textLength="{(end - start) * WIDTH}"'
    return f'<text {place} fill="{colour}"{marks}>{escape(line.plain[start:end])}</text>'


def draw(output: str) -> str:
    """The picture of a terminal after `truecall demo`."""
    lines = [Text.from_ansi("$ truecall demo", style="bold"), *Text.from_ansi(output.rstrip("\n")).split("\n")]
    width, height = COLUMNS * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    body = [word(line, row, *pair) for row, line in enumerate(lines) for pair in words(line)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join([
        f'{head} role="img" aria-labelledby="title">',
        '<title id="title">A terminal after "truecall demo": a tool reports success, the file is missing, truecall '
        "tells the agent to repeat the call, and the second call works.</title>",
        f'<rect width="{width}" height="{height}" rx="10" fill="{GROUND}"/>',
        f'<g font-family="{FONTS}" font-size="{SIZE}">',
        *body,
        "</g>",
        "</svg>\n",
    ])  # fmt: skip


if __name__ == "__main__":
    with open(PICTURE, "w", encoding="utf-8") as file:
        file.write(draw(run_demo()))
