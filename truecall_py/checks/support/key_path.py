"""Finds values in a document by a path: `server.port`, `items[0]`, `items[name=web].port`, `items[*]`, `"a.b".c`. A
quoted name is a name, whatever it contains, so a value of the call cannot choose another place."""

from __future__ import annotations

from truecall_py.checks.support.env_and_ini import DOUBT
from truecall_py.contracts.matchers import is_same
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Step = tuple[str, str, str]

NAME, ALL, WHERE = "name", "all", "where"
MOST = 100_000  # values that a path may name


def parse(text: str) -> list[Step]:
    """Return the steps of a path: (NAME, a key or position, ""), (ALL, "", ""), (WHERE, a key, its value). Raises
    Unverified for a malformed path."""
    steps: list[Step] = []
    at, dot = 0, True
    while at < len(text):
        if text[at] == "[":
            at, step = parse_bracket(text, at + 1)
            steps.append(step)
        elif dot:
            at, name = parse_word(text, at, ".[]")
            steps.append((NAME, name, ""))
        else:
            raise build_error(text, at)
        dot = text[at : at + 1] == "."
        at += dot
    if dot:
        raise build_error(text, at)
    return steps


def build_error(text: str, at: int) -> Unverified:
    why = f"{text} is no path such as a.b, items[0] or items[name=web].port (character {at + 1})"
    return Unverified(why, "contract")


def parse_bracket(text: str, at: int) -> tuple[int, Step]:
    """Return (the end of the bracket, its content)."""
    if text.startswith("*]", at):
        return at + 2, (ALL, "", "")
    at, key = parse_word(text, at, "[]=")
    step = (NAME, key, "")
    if text[at : at + 1] == "=":
        at, value = parse_word(text, at + 1, "[]=")
        step = (WHERE, key, value)
    if text[at : at + 1] != "]":
        raise build_error(text, at)
    return at + 1, step


def parse_word(text: str, at: int, ends: str) -> tuple[int, str]:
    """Return (the end of a name, the name): characters up to one of `ends`, with parts in quotes."""
    start, name = at, ""
    while at < len(text) and text[at] not in ends:
        if text[at] != '"':
            name += text[at]
            at += 1
            continue
        at += 1
        while text[at : at + 1] != '"':
            at += text[at : at + 1] == "\\"
            if at >= len(text):
                raise build_error(text, at)
            name += text[at]
            at += 1
        at += 1
    if at == start:
        raise build_error(text, at)
    return at, name


def select_values(value: Any, steps: list[Step]) -> list[tuple[str, Any]]:
    """Return (place, value or ABSENT) for everything that the steps name. Empty only if `[*]` has nothing; a missing
    key or element gives one ABSENT value."""
    found = [("", value)]
    for kind, key, wanted in steps:
        there: list[tuple[str, Any]] = []
        for place, held in found:
            if held is ABSENT:
                there.append((place, ABSENT))
            elif isinstance(held, dict) and DOUBT in held:
                raise Unverified(f"{place}: {held[DOUBT]}", "probe")
            elif kind == NAME:
                there.append((f"{place}.{key}".lstrip("."), find_child(held, key)))
            elif kind == ALL:
                there += list_children(place, held)
            else:
                there += select_elements(place, held, key, wanted)
        if len(there) > MOST:
            raise Unverified(f"the path names more than {MOST} values", "probe")
        found = there
    return found


def find_child(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return value.get(key, ABSENT)
    if isinstance(value, list) and key.isascii() and key.isdigit() and len(key) < 10 and int(key) < len(value):
        return value[int(key)]
    return ABSENT


def list_children(place: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, list):
        return [(f"{place}[{number}]", item) for number, item in enumerate(value)]
    if isinstance(value, dict):
        return [(f"{place}.{key}".lstrip("."), item) for key, item in value.items()]
    return [(f"{place}[*]", ABSENT)]


def select_elements(place: str, value: Any, key: str, wanted: str) -> list[tuple[str, Any]]:
    """Return the elements of a list that are maps with this value at the key; one ABSENT without any."""
    here = f"{place}[{key}={wanted}]"
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    return [(here, item) for item in items if is_written_as(item.get(key), wanted)] or [(here, ABSENT)]


def is_written_as(value: Any, wanted: str) -> bool:
    """Whether a text, number or boolean is written this way."""
    if isinstance(value, bool):
        return wanted == ("true" if value else "false")
    return is_same(value, wanted) if isinstance(value, str) else isinstance(value,
                                                                            (int, float)) and str(value) == wanted


def suggest_name(value: Any, steps: list[Step]) -> str:
    """Return what exists at the first wrong step of the path, for people."""
    for number in range(len(steps), 0, -1):
        held = select_values(value, steps[: number - 1])
        if len(held) == 1 and held[0][1] is not ABSENT:
            place, item = held[0]
            if isinstance(item, dict):
                names = ", ".join(sorted(item)[:8]) + (", ..." if len(item) > 8 else "")
                return f"{place or 'the file'} has {names or 'no keys'}"
            if isinstance(item, list):
                return f"{place or 'the file'} is a list of {len(item)}"
            return f"{place or 'the file'} is no map"
    return ""
