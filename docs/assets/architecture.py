"""Draws architecture.svg: the rooms of truecall_py in the order of their imports, and the way of one call.

`python docs/assets/architecture.py` reads the imports and writes the picture. A test holds the two equal."""

from __future__ import annotations

import os
import sys
from xml.sax.saxutils import escape

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [ROOT, os.path.join(ROOT, "install")]

from generate import rooms  # noqa: E402 - found by way of the path above

PICTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "architecture.svg")
WIDTH, MARGIN, HEIGHT, GAP = 480, 14, 34, 10  # of the picture, around it, of a box, between boxes
LETTER, LINE = 9, 26  # the width of a letter of a name, the height of a line of the list
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# The way of one call: (room, what happens there).
STEPS = (
    ("hook", "reads the event, sets the deadline"),
    ("clients", "parses the payload"),
    ("trust", "finds the trusted contracts"),
    ("judging", "runs the contracts that match"),
    ("checks", "compare expected and found"),
    ("world", "probes files, processes, network"),
    ("ledger", "records the verdict, counts attempts"),
    ("policy", "chooses the order"),
    ("messages", "words the correction"),
    ("clients", "renders the answer"),
)
STYLE = """
.ground { fill: #ffffff } .box { fill: #ffffff; stroke: #8c959f } .on { fill: #ddf4ff; stroke: #0969da }
text { fill: #1f2328 } .faint { fill: #59636e } .badge { fill: #0969da } .number { fill: #ffffff }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117 } .box { fill: #0d1117; stroke: #656c76 } .on { fill: #121d2f; stroke: #4493f8 }
text { fill: #f0f6fc } .faint { fill: #9198a1 } .badge { fill: #1f6feb } }
"""


def numbers(room: str) -> list[int]:
    """The steps that happen in a room."""
    return [number for number, (where, _) in enumerate(STEPS, 1) if where == room]


def badge(x: int, y: int, number: int) -> list[str]:
    """A number in a circle."""
    return [
        f'<circle class="badge" cx="{x}" cy="{y}" r="10"/>',
        f'<text class="number" x="{x}" y="{y + 4}" text-anchor="middle" font-size="12">{number}</text>',
    ]


def box_width(room: str) -> int:
    return len(room) * LETTER + 24


def box(room: str, x: int, y: int) -> list[str]:
    """A room, with the numbers of its steps on its upper edge."""
    kind, width, letters = "box on" if numbers(room) else "box", box_width(room), len(room) * LETTER
    parts = [
        f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{HEIGHT}" rx="6"/>',
        f'<text x="{x + width // 2}" y="{y + 22}" text-anchor="middle" textLength="{letters}">{room}</text>',
    ]
    for place, number in enumerate(reversed(numbers(room))):
        parts += badge(x + width - 4 - 22 * place, y, number)
    return parts


def rows() -> list[list[str]]:
    """The levels from the top, each in as many rows as its boxes need."""
    found: list[list[str]] = []
    for level in reversed(rooms.levels()):
        row: list[str] = []
        for room in level:
            if row and sum(map(box_width, [*row, room])) + GAP * len(row) > WIDTH - 2 * MARGIN:
                found.append(row)
                row = []
            row.append(room)
        found.append(row)
    return found


def draw() -> str:
    """The picture: the rooms, then the list of steps."""
    rule = "A room imports only from the rows below it."
    body = [f'<text class="faint" x="{MARGIN}" y="26" font-size="14">{rule}</text>']
    y = 48
    for row in rows():
        x = (WIDTH - sum(map(box_width, row)) - GAP * (len(row) - 1)) // 2
        for room in row:
            body += box(room, x, y)
            x += box_width(room) + GAP
        y += HEIGHT + 2 * GAP
    y += GAP
    body.append(f'<text class="faint" x="{MARGIN}" y="{y}" font-size="14">The way of one call:</text>')
    for number, (room, words) in enumerate(STEPS, 1):
        y += LINE
        body += badge(MARGIN + 10, y - 5, number)
        body.append(f'<text x="{MARGIN + 30}" y="{y}" font-size="14">{room}: {escape(words)}</text>')
    y += MARGIN
    size = f'viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}"'
    way = "; ".join(f"{number} {room} {words}" for number, (room, words) in enumerate(STEPS, 1))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>The rooms of truecall, and the way of one call: {way}.</title>",
        f"<style>{STYLE}</style>", f'<rect class="ground" width="{WIDTH}" height="{y}" rx="10"/>',
        f'<g font-family="{FONTS}" font-size="15">', *body, "</g>", "</svg>\n",
    ])  # fmt: skip


if __name__ == "__main__":
    with open(PICTURE, "w", encoding="utf-8") as file:
        file.write(draw())
