"""Numbers with their nouns."""

from __future__ import annotations


def count(number: int, noun: str, plural: str = "s") -> str:
    """The number with its noun; `plural`: the ending of the noun for other numbers than 1."""
    return f"{number} {noun}{'' if number == 1 else plural}"
