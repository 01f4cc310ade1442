"""The glob of tool names and texts: * is any text, ? is one character. Case-sensitive, over the whole text. Only the
last * is tried again, so long patterns stay fast."""

from __future__ import annotations


def matches_glob(pattern: str, text: str) -> bool:
    """Tells whether the whole of `text` matches `pattern`."""
    at = place = 0
    star, mark = -1, 0
    while place < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, mark = at, place
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", text[place]):
            at += 1
            place += 1
        elif star >= 0:
            mark += 1
            at, place = star + 1, mark
        else:
            return False
    return all(character == "*" for character in pattern[at:])
