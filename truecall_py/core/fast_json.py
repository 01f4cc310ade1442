"""Strict JSON at a third of the cost of `import json`.

`json` imports `re`, which doubles the start of the interpreter. Its C scanner and encoder alone cost a twentieth of
that. They are private to CPython, so both have a fallback, and a test compares the two.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEPTH = 200  # levels of nesting; real payloads stay below 20
BLANKS = " \t\n\r"


class JsonError(ValueError):
    """The text is not one strict JSON value; the message says what is wrong."""


def build_object(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """Builds the dict of one JSON object. Raises JsonError for a duplicate key."""
    result = dict(items)
    if len(result) != len(items):
        seen: set[str] = set()
        for key, _ in items:
            if key in seen:
                raise JsonError(f"the key {key[:60]!r} stands twice in one object")
            seen.add(key)
    return result


def refuse_constant(name: str) -> Any:
    """Raises JsonError for NaN and Infinity."""
    raise JsonError(f"{name} is not a JSON number")


def parse_finite(digits: str) -> float:
    """Parses a float. Raises JsonError if it overflows."""
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise JsonError(f"the number {digits[:40]} is too large")
    return number


class Rules:
    """The attributes that the C scanner reads from its decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(build_object)
    parse_float = staticmethod(parse_finite)
    parse_int = int
    parse_constant = staticmethod(refuse_constant)


class OwnRules(Rules):
    """Rules for JSON that truecall wrote: it has no duplicate keys, so none are looked for."""

    object_pairs_hook = None  # type: ignore[assignment]


def scan(text: str, rules: type[Rules]) -> Any:
    """Returns the one JSON value in `text`. Raises JsonError."""
    try:
        from _json import make_scanner
    except ImportError:  # another Python than CPython
        return scan_portably(text)
    start = len(text) - len(text.lstrip(BLANKS))
    try:
        value, end = make_scanner(rules)(text, start)  # type: ignore[arg-type]
    except JsonError:
        raise
    except (StopIteration, ValueError, RecursionError, SystemError):
        # SystemError: up to 3.11 the scanner takes JSONDecodeError from a module that is not loaded here.
        return scan_portably(text)  # the same refusal, in words
    if text[end:].strip(BLANKS):
        raise JsonError(f"something follows the JSON value, at character {end}")
    return value


def scan_portably(text: str) -> Any:
    """Does the same with `json`: for other Pythons, and to word an error. Raises JsonError."""
    import json

    try:
        return json.loads(
            text, object_pairs_hook=build_object, parse_float=parse_finite, parse_constant=refuse_constant
        )
    except RecursionError:
        raise JsonError("it is nested too deeply") from None
    except JsonError:
        raise
    except ValueError as error:
        raise JsonError(str(error)) from None


def loads(text: str, own: bool = False) -> Any:
    """Parses one strict JSON value: no duplicate keys, NaN or infinity, nothing after it, at most DEPTH levels. `own`
    says that truecall wrote it. Raises JsonError."""
    value = scan(text, OwnRules if own else Rules)
    if text.count("[") + text.count("{") > DEPTH and is_too_deep(value):
        raise JsonError(f"it is nested deeper than {DEPTH} levels")
    return value


def is_too_deep(value: Any) -> bool:
    """Tells whether a JSON value has more than DEPTH levels."""
    level = [value]
    for _ in range(DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if not below:
            return False
        level = below
    return any(isinstance(item, (dict, list)) for item in level)


def dumps(value: Any) -> str:
    """Returns compact ASCII JSON on one line. Raises ValueError for NaN and TypeError for a value that JSON lacks."""
    try:
        from _json import encode_basestring_ascii, make_encoder

        encode = make_encoder(
            None, refuse_type, encode_basestring_ascii, None, ":", ",", False, False, False
        )
        return "".join(encode(value, 0))
    except (ImportError, TypeError):
        import json

        return json.dumps(value, separators=(",", ":"), allow_nan=False)


def refuse_type(value: object) -> Any:
    """Raises TypeError for a value that JSON lacks; the encoder's `default`."""
    raise TypeError(f"{type(value).__name__} has no JSON form")
