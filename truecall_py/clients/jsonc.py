"""JSON as text: read with comments and trailing commas, changed in one place with every other byte kept.
Never reads or writes a file, never formats again what was there, and never takes for JSON what is none."""

from __future__ import annotations

import json
import re
from typing import Any

from truecall_py.core.errors import TruecallError

DEEPEST = 300  # levels of nesting
BLANK = re.compile(r"[ \t\r\n]*")
STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


class SettingsError(TruecallError):
    """A settings file that is left as it is. `offset` is the place in the text, -1 for the whole file."""

    def __init__(self, what: str, offset: int = -1, do: str = "") -> None:
        super().__init__(what, do=do)
        self.offset = offset


class Node:
    """One value of the text: from `start` to before `end`. `kind` is object, array or scalar."""

    __slots__ = ("end", "kind", "members", "start", "value")

    def __init__(self, kind: str, start: int) -> None:
        self.kind = kind
        self.start = start
        self.end = start
        self.value: Any = None
        self.members: list[Member] = []

    def plain(self) -> Any:
        """The value as Python has it."""
        if self.kind == "object":
            return {member.key: member.node.plain() for member in self.members}
        return [member.node.plain() for member in self.members] if self.kind == "array" else self.value

    def get(self, key: str) -> Node | None:
        return next((member.node for member in self.members if member.key == key), None)

    def index(self, key: str) -> int:
        return next(number for number, member in enumerate(self.members) if member.key == key)


class Member:
    """A member of an object or an item of an array (without a key). `at` is where it begins, `comma` where
    the comma behind it stands, -1 for none."""

    __slots__ = ("at", "comma", "key", "node")

    def __init__(self, key: str, at: int, node: Node, comma: int) -> None:
        self.key = key
        self.at = at
        self.node = node
        self.comma = comma


class Document:
    """A parsed text. `comments` are (start, end), `trailing` the places of trailing commas, `repeated` those of
    keys that an object has twice. Raises SettingsError for what is no JSON."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bom = text.startswith("\ufeff")
        self.comments: list[tuple[int, int]] = []
        self.trailing: list[int] = []
        self.repeated: list[int] = []
        self.pos = self.blank(1 if self.bom else 0)
        if self.pos == len(text):
            raise SettingsError("it is empty, which is no JSON", 0, "write {} into it, or delete it")
        self.root = self.read(0)
        self.pos = self.blank(self.pos)
        if self.pos < len(text):
            raise SettingsError("there is something behind the end of the JSON", self.pos)

    def blank(self, pos: int) -> int:
        """The next place that holds neither blanks nor a comment."""
        text = self.text
        while True:
            pos = BLANK.match(text, pos).end()  # type: ignore[union-attr]  # it matches nothing, too
            if not text.startswith("/", pos):
                return pos
            if text.startswith("//", pos):
                ends = [place for place in (text.find("\n", pos), text.find("\r", pos)) if place >= 0]
                end = min(ends, default=len(text))
            elif text.startswith("/*", pos):
                end = text.find("*/", pos + 2) + 2
                if end < 2:
                    raise SettingsError("this comment does not end", pos)
            else:
                return pos
            self.comments.append((pos, end))
            pos = end

    def read(self, depth: int) -> Node:
        text, start = self.text, self.pos
        letter = text[start : start + 1]
        if depth > DEEPEST:
            raise SettingsError(f"it is nested deeper than {DEEPEST} levels", start)
        if letter in ("{", "["):
            return self.container(letter, depth)
        node = Node("scalar", start)
        found = (STRING if letter == '"' else SCALAR).match(text, start)
        if found is None:
            string = "this string is not closed, or holds what JSON does not allow"
            what = string if letter == '"' else "a value is missing" if letter else "it ends in the middle"
            raise SettingsError(what, start)
        node.end = self.pos = found.end()
        try:
            simple = letter == '"' and "\\" not in found[0]
            node.value = found[0][1:-1] if simple else json.loads(found[0])
        except ValueError:  # digits without end
            raise SettingsError("this number is too long", start) from None
        return node

    def container(self, letter: str, depth: int) -> Node:
        text, end = self.text, "}" if letter == "{" else "]"
        node = Node("object" if letter == "{" else "array", self.pos)
        seen: set[str] = set()
        self.pos = self.blank(self.pos + 1)
        while text[self.pos : self.pos + 1] != end:
            at, key = self.pos, ""
            if letter == "{":
                key = self.key()
                if key in seen:
                    self.repeated.append(at)
                seen.add(key)
            value = self.read(depth + 1)
            self.pos = self.blank(self.pos)
            comma = self.pos if text[self.pos : self.pos + 1] == "," else -1
            node.members.append(Member(key, at, value, comma))
            if comma >= 0:
                self.pos = self.blank(self.pos + 1)
                if text[self.pos : self.pos + 1] == end:
                    self.trailing.append(comma)
            elif text[self.pos : self.pos + 1] != end:
                gone = self.pos >= len(text)
                raise SettingsError("it ends in the middle" if gone else f"a comma or {end} is missing", self.pos)
        self.pos += 1
        node.end = self.pos
        return node

    def key(self) -> str:
        found = STRING.match(self.text, self.pos)
        if found is None:
            gone = self.pos >= len(self.text)
            raise SettingsError("it ends in the middle" if gone else "a key in double quotes is missing", self.pos)
        colon = self.blank(found.end())
        if self.text[colon : colon + 1] != ":":
            raise SettingsError("a colon is missing", colon)
        self.pos = self.blank(colon + 1)
        return str(json.loads(found[0]))

    # -- how it is written -----------------------------------------------------------------------------

    @property
    def newline(self) -> str:
        first = self.text.find("\n")
        return "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"

    @property
    def unit(self) -> str:
        """One level of indentation, "" for a text on one line."""
        for member in self.root.members:
            if (margin := self.margin(member.at)) is not None:
                return margin
        return "  " if "\n" in self.text[self.root.start : self.root.end] or not self.root.members else ""

    def margin(self, at: int) -> str | None:
        """The blanks before a place at the beginning of a line; None elsewhere."""
        before = self.text[max(self.text.rfind("\n", 0, at), self.text.rfind("\r", 0, at)) + 1 : at]
        begins = len(before) < at - (1 if self.bom else 0)
        return before if begins and not before.strip(" \t") else None

    def indent(self, at: int) -> str:
        """The blanks at the beginning of the line that a place is in."""
        line = self.text[max(self.text.rfind("\n", 0, at), self.text.rfind("\r", 0, at)) + 1 :]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def written(self, value: Any, prefix: str | None) -> str:
        """A value in this text's style: over several lines below a margin, or on one (prefix None)."""
        if prefix is None:
            wide = ": " in self.text or not self.root.members
            return json.dumps(value, ensure_ascii=False, separators=(", ", ": ") if wide else (",", ":"))
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit or "  ").split("\n")
        return (self.newline + prefix).join(lines)

    def comments_in(self, start: int, end: int) -> list[tuple[int, int]]:
        return [place for place in self.comments if start <= place[0] < end]


def place(text: str, offset: int) -> str:
    """line:column of an offset."""
    head = text[: max(offset, 0)].replace("\r\n", "\n").replace("\r", "\n")
    return f"{head.count(chr(10)) + 1}:{len(head) - head.rfind(chr(10))}"


def apply(text: str, edits: list[tuple[int, int, str]]) -> str:
    """The text with pieces replaced: (start, end, new), none over another."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def add_entry(doc: Document, container: Node, key: str, value: Any) -> tuple[str, str]:
    """(The text with a member or item put behind the last one, the piece that went in; "" where it went in
    as two). `key` is "" for an array."""
    text, last = doc.text, container.members[-1] if container.members else None
    tail = container.start + 1 if last is None else last.comma + 1 if last.comma >= 0 else last.node.end
    remarks = doc.comments_in(tail, container.end)
    inside = text[container.start + 1 : (last.at if last else container.end - 1)]
    several = "\n" in inside or "\r" in inside or (last is None and bool(doc.unit))
    prefix: str | None = None
    if several:
        margins = (doc.margin(member.at) for member in reversed(container.members))
        prefix = next((margin for margin in margins if margin is not None), None)
        prefix = doc.indent(container.start) + (doc.unit or "  ") if prefix is None else prefix
    name = ""
    if container.kind == "object":
        name = json.dumps(key, ensure_ascii=False) + (": " if prefix is not None or ": " in text else ":")
    item = name + doc.written(value, prefix)
    at = remarks[-1][1] if remarks else tail
    if prefix is not None or (remarks and text[remarks[-1][0] : remarks[-1][0] + 2] == "//"):
        item = doc.newline + (prefix or "") + item
    elif last is not None and ", " in text:
        item = " " + item
    if last is None:
        if not remarks:
            at = container.end - 1 if not several else at
        if several and not ("\n" in text[at : container.end] or "\r" in text[at : container.end]):
            at = container.end - 1
            item += doc.newline + doc.indent(container.start)
        return apply(text, [(at, at, item)]), item
    if last.comma >= 0:
        return apply(text, [(at, at, item + ",")]), item + ","
    if at == tail:
        return apply(text, [(at, at, "," + item)]), "," + item
    return apply(text, [(tail, tail, ","), (at, at, item)]), ""


def remove_entry(doc: Document, container: Node, number: int) -> str:
    """The text without a member or item, its comma and the blanks before it; comments stay."""
    text, member = doc.text, container.members[number]
    if len(container.members) == 1 and not doc.comments_in(container.start, container.end):
        return apply(text, [(container.start + 1, container.end - 1, "")])
    start, end = member.at, member.node.end
    while text[start - 1] in " \t\r\n":
        start -= 1
    edits = []
    if member.comma >= 0:
        if text[end : member.comma].strip(" \t\r\n"):
            edits.append((member.comma, member.comma + 1, ""))  # a comment stands before it
        else:
            end = member.comma + 1
        if number == 0 and start == container.start + 1 and start == member.at:
            end += len(text[end:]) - len(text[end:].lstrip(" \t"))
    elif number > 0:
        comma = container.members[number - 1].comma
        edits.append((comma, comma + 1, ""))
        start = max(start, comma + 1)
    line = any(place[1] == start and text.startswith("//", place[0]) for place in doc.comments)
    if line and text[end : end + 1] not in ("\n", "\r"):
        start += len(doc.newline)
    return apply(text, [*edits, (start, end, "")])


def replace_value(doc: Document, node: Node, value: Any) -> str:
    """The text with another value in a place."""
    old = doc.text[node.start : node.end]
    new = doc.written(value, doc.indent(node.start) if "\n" in old or "\r" in old else None)
    return apply(doc.text, [(node.start, node.end, new)])
