"""Estimates whether a regular expression can take exponential time: a repetition inside a repetition, or alternatives
in a repetition, where the same text matches in more than one way. It reads the interpreter's own parse. It is only
advice: a time limit bounds the matching itself."""

from __future__ import annotations

import re
import sys
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as codes  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
else:
    import sre_constants as codes
    import sre_parse as parser

# Every ASCII character and one for the rest: enough to see whether two sets share a character.
ALPHABET = frozenset(map(chr, range(128))) | {"é"}
CLASSES = {
    codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_NOT_DIGIT: r"\D", codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_WORD: r"\w", codes.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip
MANY = 8  # fewer repetitions are harmless


def is_slow(pattern: str) -> bool:
    """Whether a regular expression can take exponential time. False for a malformed one, which TC206 reports."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed: Any = parser.parse(pattern)
            return has_hazard(list(parsed))
    except (re.error, RecursionError, OverflowError):
        return False


def has_hazard(items: list[Any]) -> bool:
    """Whether a parsed sequence contains an ambiguous repetition."""
    return any(
        (is_repetition(operation, argument) and is_ambiguous(list(argument[2])))
        or any(map(has_hazard, list_bodies(operation, argument)))
        for operation, argument in items
    )


def is_repetition(operation: Any, argument: Any) -> bool:
    """Whether an item repeats often enough to matter."""
    return operation in (codes.MAX_REPEAT, codes.MIN_REPEAT) and argument[1] >= MANY


def list_bodies(operation: Any, argument: Any) -> list[list[Any]]:
    """Return the sequences inside one item of a parsed pattern."""
    if operation is codes.SUBPATTERN:
        return [list(argument[3])]
    if operation is codes.BRANCH:
        return [list(branch) for branch in argument[1]]
    if operation in (codes.MAX_REPEAT, codes.MIN_REPEAT) or str(operation) == "POSSESSIVE_REPEAT":
        return [list(argument[2])]
    if str(operation) == "ATOMIC_GROUP":
        return [list(argument)]
    return [list(argument[1])] if operation in (codes.ASSERT, codes.ASSERT_NOT) else []


def is_ambiguous(body: list[Any]) -> bool:
    """Whether the body of a repetition can end at two places of the same text, or begin in two ways."""
    body = flatten(body)
    return has_overlap(body, first_characters(body)[0])


def flatten(items: list[Any]) -> list[Any]:
    """Return a sequence without the brackets of its groups."""
    found: list[Any] = []
    for operation, argument in items:
        found += flatten(list(argument[3])) if operation is codes.SUBPATTERN else [(operation, argument)]
    return found


def has_overlap(items: list[Any], after: set[str]) -> bool:
    """Whether two ways through a sequence match the same text. `after` are the characters that may follow it."""
    for index, (operation, argument) in enumerate(items):
        follows, empty = first_characters(items[index + 1 :])
        if empty:
            follows = follows | after
        if operation is codes.BRANCH:
            branches = [flatten(list(branch)) for branch in argument[1]]
            starts = [first_characters(branch)[0] for branch in branches]
            if sum(map(len, starts)) > len(set().union(*starts)):
                return True
            if any(has_overlap(branch, follows) for branch in branches):
                return True
        elif operation in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            if is_repetition(operation, argument) and first_characters(list(argument[2]))[0] & follows:
                return True
            if has_overlap(flatten(list(argument[2])), follows):
                return True
    return False


def first_characters(items: list[Any]) -> tuple[set[str], bool]:
    """Return the characters that a sequence can begin with, and whether it can be empty."""
    found: set[str] = set()
    for operation, argument in items:
        here, empty = first_characters_of(operation, argument)
        found |= here
        if not empty:
            return found, False
    return found, True


def first_characters_of(operation: Any, argument: Any) -> tuple[set[str], bool]:
    """Return the same for one item of a parsed pattern."""
    if operation is codes.LITERAL:
        return {chr(argument) if argument < 128 else "é"}, False
    if operation is codes.NOT_LITERAL:
        return set(ALPHABET - {chr(argument)}), False
    if operation is codes.ANY:
        return set(ALPHABET - {"\n"}), False
    if operation is codes.IN:
        return list_members(argument), False
    if operation in (codes.MAX_REPEAT, codes.MIN_REPEAT) or str(operation) == "POSSESSIVE_REPEAT":
        here, empty = first_characters(list(argument[2]))
        return here, empty or argument[0] == 0
    if operation is codes.BRANCH:
        starts = [first_characters(list(branch)) for branch in argument[1]]
        return set().union(*(start for start, _ in starts)), any(empty for _, empty in starts)
    if operation is codes.SUBPATTERN:
        return first_characters(list(argument[3]))
    if str(operation) == "ATOMIC_GROUP":
        return first_characters(list(argument))
    if operation in (codes.AT, codes.ASSERT, codes.ASSERT_NOT):
        return set(), True
    return set(), True  # a reference to a group: unknown, so no warning


def list_members(argument: list[Any]) -> set[str]:
    """Return the characters of a set such as [a-z]."""
    found: set[str] = set()
    negated = False
    for operation, value in argument:
        if operation is codes.NEGATE:
            negated = True
        elif operation is codes.LITERAL:
            found.add(chr(value) if value < 128 else "é")
        elif operation is codes.RANGE:
            found |= {character for character in ALPHABET if value[0] <= ord(character) <= value[1]}
            if value[1] >= 128:
                found.add("é")
        elif operation is codes.CATEGORY and value in CLASSES:
            found |= {character for character in ALPHABET if re.match(CLASSES[value], character)}
    return set(ALPHABET) - found if negated else found
