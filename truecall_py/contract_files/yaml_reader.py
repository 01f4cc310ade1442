"""Reads the bytes of a contract file into plain data, with the place (line, column) of every value and key.

It accepts a strict subset of YAML, from the event stream of PyYAML. It refuses a value on which two YAML readers
could disagree, and suggests the quoted form. It never builds an object, follows an alias or recurses.
"""

from __future__ import annotations

import re

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
)

from truecall_py.contract_files.lint.codes import make_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.core.types import Problem

    Path = tuple[str | int, ...]
    Place = tuple[int, int]

LARGEST = 1_000_000  # bytes
DEEPEST = 64
MOST = 50_000  # values; PyYAML reads about 50,000 a second

# Line separators that only some readers break at, marks that only some editors show, and characters that
# reorder what a person reads before trusting it.
UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\uffff]")

WORDS = re.compile(r"(?:y|n|yes|no|on|off|true|false|null|~)\Z", re.IGNORECASE)
WHOLE = re.compile(r"(?:0|-?[1-9][0-9]*)\Z")
FRACTION = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+\Z")
DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt\s].*)?\Z", re.DOTALL)
NUMERIC = re.compile(
    r"""[-+]?(?:
        0[xX][0-9a-fA-F_]+ | 0[oO][0-7_]+ | 0[bB][01_]+ |       # other bases
        [0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)? |           # base 60: 1:30
        (?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)? |
        \.(?:inf|nan)
    )\Z""",
    re.VERBOSE | re.IGNORECASE,
)


class Document:
    """The result of reading. `data` is None if nothing could be read. `empty` are the paths of keys without a value,
    `doubtful` the paths of values that already have a problem."""

    def __init__(self) -> None:
        self.data: Any = None
        self.values: dict[Path, Place] = {}
        self.keys: dict[Path, Place] = {}
        self.empty: set[Path] = set()
        self.doubtful: set[Path] = set()
        self.problems: list[Problem] = []
        self.complete = False  # whether the whole text was read

    def place(self, path: Path, key: bool = False) -> Place:
        """Return the place of the value (or the key) at `path`, or of the nearest parent."""
        while path:
            found = (self.keys.get(path) if key else None) or self.values.get(path) or self.keys.get(path)
            if found:
                return found
            path = path[:-1]
        return self.values.get((), (1, 1))


class StopReading(Exception):
    """Nothing after this place can be read."""


def parse(data: bytes) -> Document:
    """Return the Document of a file. Never raises: its `problems` say what is wrong."""
    document = Document()
    text = decode(data, document)
    if text is not None:
        try:
            Builder(document, text).build()
            document.complete = True
        except StopReading:
            pass
        except yaml.MarkedYAMLError as error:
            document.problems.append(explain_syntax_error(error, text))
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            document.problems.append(make_problem("TC004", (1, 1), f"the file cannot be read as YAML: {error}"))
    return document


def decode(data: bytes, document: Document) -> str | None:
    """Return the text of a file with line feeds, None if it is unreadable."""
    if len(data) > LARGEST:
        words = f"the file is larger than {LARGEST // 1_000_000} MB"
        document.problems.append(make_problem("TC001", (1, 1), words))
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", "replace")
        place = before.count("\n") + 1, len(before) - before.rfind("\n")
        document.problems.append(make_problem("TC002", place, f"the byte 0x{data[error.start]:02x} is not UTF-8"))
        return None
    # PyYAML keeps a carriage return in some scalars, but no value may depend on the line ends of the file.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    found = UNSEEN.search(text)
    if found:
        place = text.count("\n", 0, found.start()) + 1, found.start() - text.rfind("\n", 0, found.start())
        code = f"\\u{ord(found[0]):04x}"
        hint = f"remove it, or write it as the escape {code} in a text in double quotes"
        document.problems.append(make_problem("TC003", place, f"the character {code} is invisible", hint))
        return None
    return text


def quote_scalar(text: str) -> str:
    """Return `text` as a quoted YAML scalar."""
    if '"' in text or "\\" in text:
        return "'" + text.replace("'", "''") + "'"
    return f'"{text}"'


class Frame:
    """A map or list that is being filled. `key` is the key of the next value, None before a key."""

    __slots__ = ("into", "key", "path", "seen")

    def __init__(self, into: dict[str, Any] | list[Any], path: Path) -> None:
        self.into = into
        self.path = path
        self.key: str | None = None
        self.seen: dict[str, Place] = {}


class Builder:
    """Builds a Document from the events of PyYAML."""
    def __init__(self, document: Document, text: str) -> None:
        self.document = document
        self.text = text
        self.stack: list[Frame] = []
        self.count = 0

    def report(self, code: str, event: Any, message: str, hint: str = "") -> None:
        place = event.start_mark.line + 1, event.start_mark.column + 1
        self.document.problems.append(make_problem(code, place, message, hint))

    def build(self) -> None:
        documents = 0
        for event in yaml.parse(self.text, Loader=yaml.SafeLoader):
            if isinstance(event, DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self.report("TC006", event, "a second document begins here, but a contract file is one document")
                    return
                if event.version or event.tags:
                    self.report("TC016", event, "a YAML directive (%...) is not allowed")
            elif isinstance(event, NodeEvent):
                self.add_node(event)
            elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
                self.stack.pop()

    def add_node(self, event: Any) -> None:
        self.count += 1
        if self.count > MOST:
            self.report("TC001", event, f"the file contains more than {MOST} values")
            raise StopReading
        if isinstance(event, AliasEvent):
            self.report(
                "TC008",
                event,
                f"the alias *{event.anchor} is not allowed",
                suggest_quotes(str(event.anchor), "*"),
            )
            self.put(event, None, doubtful=True)
            return
        if event.anchor is not None:
            self.report("TC008", event, f"the anchor &{event.anchor} is not allowed",
                        suggest_quotes(event.anchor, "&"))
        if event.tag is not None:
            shown = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.report("TC007", event, f"the tag {shown} is not allowed", "remove it; quotes make a value text")
        if isinstance(event, ScalarEvent):
            self.add_scalar(event)
            return
        self.refuse_braces(event)
        if len(self.stack) >= DEEPEST:
            self.report("TC001", event, f"the file is nested more than {DEEPEST} levels deep")
            raise StopReading
        into: dict[str, Any] | list[Any] = {} if isinstance(event, MappingStartEvent) else []
        frame = self.stack[-1] if self.stack else None
        if frame and isinstance(frame.into, dict) and frame.key is None:
            self.report("TC011", event, "this key is a map or a list, but keys must be text",
                        "write a text as the key")
            raise StopReading
        self.stack.append(Frame(into, self.put(event, into, event.tag is not None)))

    def refuse_braces(self, event: Any) -> None:
        """Report an unquoted template: `path: {{project}}/x` is a map in a map to YAML."""
        start = event.start_mark.index
        if not isinstance(event, MappingStartEvent) or self.text[start : start + 2] != "{{":
            return
        line = self.text[start:].split("\n", 1)[0].split(" #", 1)[0].rstrip()
        if self.stack and "{" in self.text[:start].rsplit("\n", 1)[-1]:
            # In a flow map or list the text ends before the next bracket or comma.
            line = re.match(r"(?:\{\{[^{}]*\}\}|[^,\[\]{}])*", line)[0].rstrip() or line  # type: ignore[index]
        self.report("TC015", event, "a value that begins with {{ must be quoted", f"write {quote_scalar(line)}")
        raise StopReading

    def put(self, event: Any, value: Any, doubtful: bool = False, empty: bool = False) -> Path:
        """Store a value where it belongs, and return its path."""
        place = event.start_mark.line + 1, event.start_mark.column + 1
        path: Path = ()
        if not self.stack:
            self.document.data = value
        else:
            frame = self.stack[-1]
            if isinstance(frame.into, list):
                path = (*frame.path, len(frame.into))
                frame.into.append(value)
            elif frame.key is None:
                frame.key = ""  # an alias as a key, already reported
                return path
            else:
                path = (*frame.path, frame.key)
                frame.into[frame.key] = value
                frame.key = None
        self.document.values[path] = place
        if doubtful:
            self.document.doubtful.add(path)
        if empty:
            self.document.empty.add(path)
        return path

    def add_scalar(self, event: Any) -> None:
        count = len(self.document.problems)
        plain = event.style is None
        value = self.parse_plain(event) if plain else event.value
        if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            self.report(
                "TC003",
                event,
                "the text contains half of a surrogate pair",
                'write the character, or "\\U0001f600"',
            )
            value = ""
        doubtful = len(self.document.problems) > count or event.tag is not None
        frame = self.stack[-1] if self.stack else None
        if frame is None or isinstance(frame.into, list) or frame.key is not None:
            self.put(event, value, doubtful, plain and event.value == "")
            return
        self.add_key(event, frame, value, doubtful, plain)

    def add_key(self, event: Any, frame: Frame, value: Any, doubtful: bool, plain: bool) -> None:
        written = event.value
        if not isinstance(value, str) and not doubtful:
            self.report("TC011", event, f"the key {written or '(nothing)'} is not text",
                        f"write {quote_scalar(written)}")
        place = event.start_mark.line + 1, event.start_mark.column + 1
        if written in frame.seen:
            line = frame.seen[written][0]
            self.report("TC010", event, f"the key `{written}` occurs twice in this map, first in line {line}",
                        "remove one of the two, or make its value a list")  # fmt: skip
        frame.seen[written] = place
        frame.key = written
        path: Path = (*frame.path, written)
        self.document.keys[path] = place
        if doubtful or not isinstance(value, str):
            self.document.doubtful.add(path)

    def parse_plain(self, event: Any) -> Any:
        """Return the value of an unquoted scalar. An ambiguous one is reported, and returned as text."""
        text = event.value
        if text == "":
            return None
        if text in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[text]
        if WORDS.match(text):
            plainly = {"~": "null", "null": "null", "true": "true", "y": "true", "yes": "true", "on": "true"}
            hint = f"write {quote_scalar(text)} if it is text, or {plainly.get(text.lower(), 'false')}"
            self.report("TC012", event, f"YAML readers disagree on the meaning of {text}", hint)
        elif WHOLE.match(text) and len(text) < 20 and abs(int(text)) < 2**63:
            return int(text)
        elif FRACTION.match(text) and text == repr(float(text)) and text != "-0.0":
            return float(text)
        elif DATE.match(text):
            self.report("TC014", event, f"{text} is a date to some YAML readers", f"write {quote_scalar(text)}")
        elif NUMERIC.match(text):
            self.report("TC013", event, f"YAML readers disagree on the number {text}", suggest_number(text))
        elif text == "<<":
            self.report("TC009", event, "the merge key << is not allowed", 'write the keys out, or quote it: "<<"')
        elif text == "=":
            self.report("TC012", event, "= is a special value to some YAML readers", 'write "="')
        elif "\t" in text:
            self.report("TC005", event, "an unquoted text contains a tab",
                        f"write {quote_scalar(text)}, or use spaces")
        return text


def suggest_number(text: str) -> str:
    """Return how to write a number so that all readers agree."""
    bare = text.replace("_", "").lower()
    try:
        if bare.lstrip("+-")[:2] in ("0x", "0o", "0b"):
            value: float | int = int(bare, 0)
        else:
            value = float(bare) if re.search("[.e]", bare) else int(bare)
        plainly = repr(int(value)) if value == int(value) and not FRACTION.match(text) else repr(value)
    except (ValueError, OverflowError):
        return f"write {quote_scalar(text)}"
    if len(plainly) > 18 or not (WHOLE.match(plainly) or FRACTION.match(plainly)):
        return f"write {quote_scalar(text)}"
    return f"write {quote_scalar(text)} if it is text, or {plainly} if it is a number"


def suggest_quotes(name: str, sign: str) -> str:
    """Return how to write a text that begins like an alias or anchor."""
    return f"write the value out; if {sign}{name} is text, quote it: {quote_scalar(sign + name)}"


def explain_syntax_error(error: yaml.MarkedYAMLError, text: str) -> Problem:
    """Return a problem for an error of PyYAML, with its place and a fix."""
    mark = error.problem_mark or error.context_mark
    place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    words = error.problem or "it cannot be read"
    lines = text.split("\n")
    line = lines[place[0] - 1] if place[0] <= len(lines) else ""
    here = line[place[1] - 1 : place[1]]
    if here == "\t" or (line.lstrip(" ").startswith("\t") and "block" in str(error.context or "")):
        return make_problem("TC005", place, "a tab is used where YAML allows only spaces", "indent with spaces")
    if "mapping values are not allowed" in words:
        return make_problem("TC004", place, "a colon in an unquoted text, or a wrong indentation",
                       "quote the text with the colon, or align the key with its neighbours")  # fmt: skip
    if "cannot start any token" in words:
        return make_problem("TC004", place, f"an unquoted value cannot begin with {here}", "quote the value")
    if "unexpected end of stream" in words and error.context_mark:
        start = error.context_mark.line + 1, error.context_mark.column + 1
        return make_problem("TC004", start, "the quote that begins here is not closed",
                            "close it with the same quote")
    if "expected ',' or ']'" in words or "expected ',' or '}'" in words:
        return make_problem("TC004", place, f"the bracket is not closed, or a comma is missing ({words})",
                       "add what is missing; quote texts that contain brackets, braces or commas")  # fmt: skip
    if "could not find expected ':'" in words:
        return make_problem("TC004", place, "a key without a colon",
                            "write `key: value`; quote a text of several lines")
    if "undefined alias" in words or "anchor" in words:
        return make_problem("TC008", place, words, "write the value out; quote a text that begins with & or *")
    if "tag" in words:
        return make_problem("TC007", place, words, "remove the tag; quote a text that begins with !")
    return make_problem("TC004", place, f"the YAML cannot be read here: {words}")
