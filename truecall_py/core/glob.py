"""The one glob: * is any text, ? any character, everything else itself. Case counts, and the whole text
must fit. Linear in practice: only the last * is ever tried again."""

from __future__ import annotations


def matches_glob(pattern: str, text: str) -> bool:
    """Whether the whole of `text` fits `pattern`."""
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
