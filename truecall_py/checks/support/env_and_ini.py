"""Reads .env and INI files as texts by name. If their readers disagree on a value (inline comments, quotes, `$NAME`,
duplicate keys), the value is marked as doubtful."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DOUBT = "\0doubt"  # as in documents.py: a value on which readers disagree
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


class Malformed(ValueError):
    """A text does not have its format: what is wrong, and where (line and column from 1; 0: unknown)."""

    def __init__(self, words: str, line: int = 0, column: int = 0) -> None:
        where = f" (line {line}{f', column {column}' if column else ''})" if line else ""
        super().__init__(words + where)


def mark_doubt(why: str) -> dict[str, str]:
    return {DOUBT: why}


def parse_env(text: str) -> dict[str, Any]:
    """Return the variables of a .env file; the last of a duplicate name counts. Raises Malformed."""
    found: dict[str, Any] = {}
    lines = text.replace("\r\n", "\n").split("\n")
    number = 0
    while number < len(lines):
        first = number
        line = lines[number].strip()
        number += 1
        if not line or line.startswith("#"):
            continue
        name, equals, rest = line.removeprefix("export ").lstrip().partition("=")
        name, rest = name.rstrip(), rest.lstrip()
        if not name or set(name) - LETTERS or name[0].isdigit():
            raise Malformed(f"{name[:40]!r} is no name of a variable", first + 1)
        if not equals:
            found[name] = mark_doubt(f"{name} has no value of its own (line {first + 1})")
            continue
        quote = rest[:1]
        if quote not in ('"', "'"):
            found[name] = parse_bare(rest)
            continue
        held, line = [], rest[1:]
        while (end := find_closing_quote(line, quote)) < 0:  # a quoted text may continue
            if number == len(lines):
                raise Malformed(f"the {quote} that opens the value of {name} is not closed", first + 1)
            held.append(line)
            line = lines[number]
            number += 1
        found[name] = parse_quoted("\n".join([*held, line[:end]]), line[end + 1 :].strip(), quote)
    return found


def find_closing_quote(line: str, quote: str) -> int:
    """Return the position of the closing quote in this line, -1 if the text continues."""
    at = 0
    while at < len(line):
        if line[at] == quote:
            return at
        at += 2 if line[at] == "\\" and quote == '"' else 1
    return -1


def parse_quoted(value: str, behind: str, quote: str) -> Any:
    """Return the value of a quoted text, and the rest of its line."""
    if behind and not behind.startswith("#"):
        return mark_doubt("something follows the closing quote")
    if quote == "'":
        return value if "\\" not in value else mark_doubt("readers differ on a backslash in single quotes")
    if "$" in value.replace("\\$", "") or "`" in value:
        return mark_doubt("it holds a $, which some readers replace")
    made, at = [], 0
    while at < len(value):
        escape = ESCAPES.get(value[at + 1 : at + 2]) if value[at] == "\\" else None
        if value[at] == "\\" and escape is None:
            return mark_doubt("readers differ on a backslash in it")
        made.append(escape if escape is not None else value[at])
        at += 2 if escape is not None else 1
    return "".join(made)


def parse_bare(rest: str) -> Any:
    """Return an unquoted value: up to a # after a blank."""
    value = rest.split(" #")[0].split("\t#")[0].rstrip() if not rest.startswith("#") else rest
    if "#" in value:
        return mark_doubt("it holds a # without quotes, which some readers take for a comment")
    if any(character in value for character in "$`\\\"'"):
        return mark_doubt("it holds a $, a quote or a backslash without quotes, on which readers differ")
    return value


def parse_ini(text: str) -> dict[str, Any]:
    """Return the sections of an INI file, each a map of its keys, with the keys before the first section beside them.
    Raises Malformed."""
    found: dict[str, Any] = {}
    section: dict[str, Any] = found
    key, indent = "", 0
    more: dict[int, tuple[dict[str, Any], str, list[str]]] = {}  # for the line of a key: how its value continues
    begun = 0
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        words = line.strip()
        if not words or words[0] in "#;":
            continue
        depth = len(line) - len(line.lstrip())
        if key and depth > indent:  # the value of the key above continues
            more.setdefault(begun, (section, key, []))[2].append(words)
            continue
        if words[0] == "[":
            name, bracket, behind = words[1:].partition("]")
            if not bracket or (behind.strip() and behind.strip()[0] not in "#;"):
                raise Malformed(f"the section {words[:40]} is not closed by ]", number)
            name = name.strip()
            held = found.setdefault(name, {})
            if not isinstance(held, dict) or DOUBT in held:
                found[name], held = mark_doubt(f"{name[:60]} is both a key before the sections and a section"), {}
            section, key = held, ""
            continue
        name, mark, value = split_line(words)
        key, indent, begun = name, depth, number
        if not name:
            raise Malformed(f"a key is missing before {words[:40]}", number)
        value = value.strip()
        if name in section:
            section[name] = mark_doubt(f"the key {name[:60]} stands twice")
        elif not mark:
            section[name] = mark_doubt(f"{name[:60]} has no value of its own (line {number})")
        else:
            section[name] = value if is_safe(value) else mark_doubt(explain_unsafe(value))
    for section, key, lines in more.values():
        if isinstance(section[key], str):
            why = next(filter(None, map(explain_unsafe, lines)), "")
            section[key] = mark_doubt(why) if why else "\n".join([section[key], *lines])
    for section in [found, *(each for each in found.values() if isinstance(each, dict) and DOUBT not in each)]:
        mark_case_twins(section)
    return found


def mark_case_twins(section: dict[str, Any]) -> None:
    """Mark keys as doubtful that differ only in case, because some readers treat them as one key."""
    names: dict[str, list[str]] = {}
    for name, value in section.items():
        if not isinstance(value, dict) or DOUBT in value:  # the name of a section is exact
            names.setdefault(name.lower(), []).append(name)
    for alike in names.values():
        for name in alike if len(alike) > 1 else ():
            section[name] = mark_doubt(f"the key {name[:60]} stands there in another case as well")


def find_elsewhere(whole: dict[str, Any], names: list[str]) -> str:
    """Return why some readers of an INI file would find a value at these names: they ignore case, or use the section
    DEFAULT. "" if none would."""
    held: Any = whole
    for name in names[:-1]:
        if name not in held and any(each.lower() == name.lower() for each in held):
            return f"there is a section {name} in another case"
        held = held.get(name)
        if not isinstance(held, dict):
            return ""
    last = names[-1].lower()
    if any(each.lower() == last for each in held):
        return f"there is {names[-1]} in another case, which some readers take for the same"
    default = whole.get("DEFAULT")
    if len(names) == 2 and isinstance(default, dict) and any(each.lower() == last for each in default):
        return f"some readers take {names[-1]} from the section DEFAULT"
    return ""


def split_line(words: str) -> tuple[str, str, str]:
    """Return (key, = or :, value); the first separator counts."""
    places = [at for at in (words.find("="), words.find(":")) if at >= 0]
    if not places:
        return words, "", ""
    at = min(places)
    return words[:at].rstrip(), words[at], words[at + 1 :]


def explain_unsafe(value: str) -> str:
    """Return why readers of INI disagree on a value, or ""."""
    if any(mark in value for mark in (" #", " ;", "\t#", "\t;")):
        return "it holds a # or ; behind a blank, which some readers take for a comment"
    if value[:1] in ("\"", "'"):
        return "it begins with a quote, which some readers take away"
    if "%(" in value or "${" in value:
        return "it holds a name that some readers replace"
    return "it ends with a backslash, behind which some readers go on" if value.endswith("\\") else ""


def is_safe(value: str) -> bool:
    return not explain_unsafe(value)
