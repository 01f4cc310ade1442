"""Fills in templates such as `{{args.title}}` with values of the call. Values stay data: the result is never read as
a template, a pattern or a command. A missing value never becomes an empty text."""

from __future__ import annotations

from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    from truecall_py.contracts.field import Field

    class Scope(Protocol):
        """A place to look up names; ABSENT for an unknown one."""

        def get(self, path: str) -> Any: ...


OPEN, CLOSE = "{{", "}}"
# Kinds in which a text that is one template keeps the type of its value.
TYPED = ("value", "list", "number", "operand", "matcher", "matchers")


class Part:
    """One `{{…}}`: a dotted path, the default for a missing value (ABSENT: none), and whether only the last part of a
    path is wanted (`{{match.source | name}}`)."""

    __slots__ = ("default", "last", "path")

    def __init__(self, path: str, default: Any = ABSENT, last: bool = False) -> None:
        self.path = path
        self.default = default
        self.last = last


def parse(text: str) -> list[str | Part]:
    """Return the literal pieces and the Parts of a template, in order. Raises ValueError."""
    pieces: list[str | Part] = []
    rest = text
    while OPEN in rest:
        literal, rest = rest.split(OPEN, 1)
        if CLOSE not in rest:
            raise ValueError("{{ is not closed by }}")
        inside, rest = rest.split(CLOSE, 1)
        if literal:
            pieces.append(literal)
        pieces.append(parse_part(inside))
    if rest or not pieces:
        pieces.append(rest)
    return pieces


def parse_part(inside: str) -> Part:
    """Return the Part of the text between the braces. Raises ValueError."""
    path, bar, filter_ = inside.partition("|")
    path = path.strip()
    for name in path.split("."):
        if not name or any(character in " \t{}\"'" for character in name):
            raise ValueError(f"{inside.strip()!r} is not a dotted name such as args.title")
    if not bar:
        return Part(path)
    name, colon, literal = filter_.partition(":")
    if not colon and name.strip() == "name":
        return Part(path, last=True)
    literal = literal.strip()
    if name.strip() != "default" or not colon or len(literal) < 2 or literal[0] != '"' or literal[-1] != '"':
        raise ValueError('the filters are default, written {{args.x | default: "text"}}, and name')
    return Part(path, literal[1:-1])


def find_value(part: Part, scope: Scope) -> Any:
    """Return the value of a Part, or its default. Raises Unverified if the call has neither."""
    value = scope.get(part.path)
    if value is ABSENT and part.default is not ABSENT:
        return part.default
    if value is ABSENT:
        # The contract names an argument that this call lacks, or misspells one: not the agent's fault.
        raise Unverified(f"{OPEN}{part.path}{CLOSE} is not in this call", "contract")
    return value


def take_last_part(path: str, part: Part) -> str:
    """Return the last part of a path. Raises Unverified if it is not a name."""
    name = path.rstrip("/").rpartition("/")[2]
    if name in ("", ".", ".."):
        raise Unverified(f"{OPEN}{part.path}{CLOSE} is a path without a name at its end", "tool")
    return name


def to_text(part: Part, scope: Scope) -> str:
    """Return the value of a Part as text. Raises Unverified for null, a list or an object."""
    value = find_value(part, scope)
    if isinstance(value, str):
        return take_last_part(value, part) if part.last else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    what = "null" if value is None else "a list" if isinstance(value, list) else "an object"
    raise Unverified(f"{OPEN}{part.path}{CLOSE} is {what} where text is needed", "contract")


def resolve(value: Any, scope: Scope, kind: str = "value") -> Any:
    """Return `value` with its templates filled in, in maps and lists too. A text that is one template keeps the type
    of its value, unless `kind` needs text. `kind` is the kind of a Field, with its own rules for paths, URLs and
    argv. Raises Unverified."""
    if isinstance(value, str):
        return resolve_text(value, scope, kind) if OPEN in value else value
    if isinstance(value, list):
        if kind == "argv":
            return resolve_argv(value, scope)
        return [resolve(item, scope, kind) for item in value]
    if isinstance(value, dict):
        return {key: resolve(item, scope, kind) for key, item in value.items()}
    return value


def resolve_text(text: str, scope: Scope, kind: str) -> Any:
    try:
        pieces = parse(text)
    except ValueError as error:
        raise Unverified(str(error), "contract") from None
    if len(pieces) == 1 and isinstance(pieces[0], Part) and kind in TYPED and not pieces[0].last:
        return find_value(pieces[0], scope)
    if kind in ("path", "glob"):
        return resolve_path(pieces, scope, escape_glob if kind == "glob" else str)
    if kind == "key":
        return "".join(piece if isinstance(piece, str) else quote_key(to_text(piece, scope)) for piece in pieces)
    if kind == "url":
        return resolve_url(pieces, scope)
    return "".join(piece if isinstance(piece, str) else to_text(piece, scope) for piece in pieces)


def is_trusted(piece: str | Part) -> bool:
    """Whether a piece of a path comes from the contract: literal text or {{project}}."""
    return isinstance(piece, str) or piece.path == "project"


ROOTED = ("cwd", "start_cwd", "file.path")  # always absolute: a longer path may begin with them


def escape_glob(text: str) -> str:
    """Return `text` as a glob that matches only itself: `[*]`, `[?]` and `[[]` are the characters themselves."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in text)


def quote_key(text: str) -> str:
    """Return `text` as one name of a key path, whatever dots and brackets it contains."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def resolve_path(pieces: list[str | Part], scope: Scope, written: Callable[[str], str] = str) -> str:
    """Return the path (or glob) of the pieces; `written` converts a value of the call. Raises Unverified for a path
    that leaves its folder."""
    whole = len(pieces) == 1
    path = ""
    for piece in pieces:
        text = piece if isinstance(piece, str) else to_text(piece, scope)
        if "\0" in text or not text:
            raise Unverified(f"the path {name_piece(piece)} is empty or holds a NUL character", "tool")
        if not whole and not is_trusted(piece):
            rooted = not path and isinstance(piece, Part) and piece.path in ROOTED
            if text.startswith(("/", "~")) and (path.endswith("/") or not path) and not rooted:
                why = f"the value of {name_piece(piece)} is an absolute path inside a longer path"
                raise Unverified(why, "tool" if path else "contract")
        path += text if isinstance(piece, str) else written(text)
    if not whole and climbs_out(path, pieces):
        raise Unverified("the values in the path climb out of the contract's folder (..)", "tool")
    return path


def climbs_out(path: str, pieces: list[str | Part]) -> bool:
    """Whether a value brings a `..`, or forms one with the literal text, as `./y` does in `.{{args.x}}`."""
    literal = sum(piece.split("/").count("..") for piece in pieces if isinstance(piece, str))
    return path.split("/").count("..") > literal and not all(map(is_trusted, pieces))


def name_piece(piece: str | Part) -> str:
    """Return a piece as the contract writes it."""
    return piece if isinstance(piece, str) else f"{OPEN}{piece.path}{CLOSE}"


UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"


def percent_encode(text: str) -> str:
    return "".join(
        character if character in UNRESERVED else "".join(f"%{byte:02X}" for byte in character.encode())
        for character in text
    )


def forms_authority(pieces: list[str | Part]) -> bool:
    """Whether a value would be part of the scheme, host or port of a URL."""
    before = ""
    for piece in pieces:
        if isinstance(piece, Part):
            _, found, rest = before.partition("://")
            return not found or "/" not in rest
        before += piece
    return False


def resolve_url(pieces: list[str | Part], scope: Scope) -> str:
    """Return the URL of the pieces, with percent-encoded values. Raises Unverified."""
    if forms_authority(pieces):
        raise Unverified("a value of the call would form the scheme, host or port of the URL", "contract")
    url = ""
    for piece in pieces:
        if isinstance(piece, str):
            url += piece
            continue
        text = to_text(piece, scope)
        if text in ("", ".", ".."):
            raise Unverified(f"the value of {name_piece(piece)} is {text!r}, which changes what the URL means",
                             "tool")
        url += percent_encode(text)
    return url


def resolve_argv(items: list[Any], scope: Scope) -> list[str]:
    """Return the words of an argv list. Raises Unverified for a value that would be an option."""
    argv: list[str] = []
    for item in items:
        text = resolve_text(item, scope, "text") if isinstance(item, str) else str(item)
        if isinstance(item, str) and OPEN in item:
            first = parse(item)[0]
            if "\0" in text:
                raise Unverified(f"the argument {item!r} holds a NUL character", "tool")
            if isinstance(first, Part) and text.startswith("-") and "--" not in argv:
                raise Unverified(f"the value of {name_piece(first)} begins with -, and no -- stands before it",
                                 "tool")
        argv.append(text)
    return argv


def list_names(value: Any) -> set[str]:
    """Return every dotted path in the templates of `value`. Malformed templates are ignored."""
    found: set[str] = set()
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str) and OPEN in item:
            try:
                found.update(piece.path for piece in parse(item) if isinstance(piece, Part))
            except ValueError:
                continue
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, dict):
            pending.extend(item.values())
    return found


def fill_fields(fields: Sequence[Field], given: dict[str, Any], scope: Scope) -> dict[str, Any]:
    """Return the parameters of a check with their templates filled in. Raises Unverified."""
    params = dict(given)
    for field in fields:
        if field.templated and field.name in params:
            params[field.name] = resolve(params[field.name], scope, field.kind)
    return params
