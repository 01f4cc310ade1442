"""Writes values as the strict YAML of contract files. Reading the result gives exactly the same value. A value that
the format cannot express is refused."""

from __future__ import annotations

import re

from truecall_py.contract_files.yaml_reader import FRACTION, UNSEEN, WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Words that every YAML reader takes for text, such as durations and classes of status.
PLAIN = re.compile(r"(?:-{0,2}[A-Za-z_][A-Za-z0-9_./-]*|[1-9][0-9]*(?:ms|s|m)|[1-5]xx)\Z")
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
WIDTH = 110  # columns up to which a map is written in one line
COMMENT = 96


def write_flow(value: Any) -> str:
    """Return a value in one line. Raises ValueError for a value that the format cannot express."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{write_text(str(key))}: {write_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(write_flow, value)) + "]"
    if isinstance(value, str):
        return write_text(value)
    return write_number(value)


def write_text(value: str) -> str:
    """Return a text, quoted unless every reader takes the bare word for the same text."""
    if PLAIN.match(value) and not WORDS.match(value):
        return value
    return '"' + "".join(map(escape_character, value)) + '"'


def escape_character(one: str) -> str:
    """Return a character as it appears in double quotes."""
    if "\ud800" <= one <= "\udfff":
        raise ValueError("a text holds half of a surrogate pair")
    if one in ESCAPES:
        return ESCAPES[one]
    if one.isprintable() and not UNSEEN.match(one):
        return one
    return f"\\u{ord(one):04x}" if ord(one) < 0x10000 else f"\\U{ord(one):08x}"


def write_number(value: Any) -> str:
    """Return a number, true, false or null. Raises ValueError for a number on which readers disagree."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    written = repr(value)
    if isinstance(value, int) and abs(value) < 2**63 and len(written) < 20:
        return written
    if isinstance(value, float) and FRACTION.match(written) and written != "-0.0":
        return written
    raise ValueError(f"the number {written} cannot be written in a contract")


def write_block(value: Any, indent: int) -> list[str]:
    """Return the lines of a map or list, with each short entry in one line."""
    pad = " " * indent
    lines: list[str] = []
    for key, item in value.items() if isinstance(value, dict) else (("-", item) for item in value):
        head = f"{pad}- " if key == "-" and not isinstance(value, dict) else f"{pad}{write_text(str(key))}: "
        short = head + write_flow(item)
        if len(short) <= WIDTH or not isinstance(item, (dict, list)) or not item:
            lines.append(short)
            continue
        inner = write_block(item, indent + 2)
        if isinstance(value, dict):
            lines += [head.rstrip(), *inner]
        else:
            lines += [head + inner[0].lstrip(), *inner[1:]]
    return lines


def write_entry(value: dict[str, Any], indent: int) -> list[str]:
    """Return the lines of one entry of a list, one key per line."""
    lines = write_block(value, indent + 2)
    return [" " * indent + "- " + lines[0].lstrip(), *lines[1:]]


def write_duration(milliseconds: int) -> str:
    """Return a duration of the format, in seconds if it is a whole number of them."""
    return f"{milliseconds}ms" if milliseconds % 1000 else f"{milliseconds // 1000}s"


def write_comment(words: str, indent: int) -> list[str]:
    """Return the lines of a comment. No character of the words can end it."""
    from textwrap import wrap

    clean = "".join(one if one.isprintable() and not UNSEEN.match(one) else "?" for one in words)
    pad = " " * indent
    return [f"{pad}# {line}" for line in wrap(clean, COMMENT - indent, break_on_hyphens=False)]
