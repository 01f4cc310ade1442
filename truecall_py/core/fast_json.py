"""Strict JSON in, ASCII JSON out, at a third of the price of `import json`. Never guesses.

`json` imports `re`, which doubles the start of the interpreter; its C scanner and encoder alone cost a
twentieth. They are private to CPython, so both have a fallback, and a test holds the two ways equal.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEPTH = 200  # levels of nesting; real payloads stay below 20
BLANKS = " \t\n\r"


class JsonError(ValueError):
    """The text is not one strict JSON value; the message says what is wrong with it."""


def build_object(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(items)
    if len(found) != len(items):
        seen: set[str] = set()
        for key, _ in items:
            if key in seen:
                raise JsonError(f"the key {key[:60]!r} stands twice in one object")
            seen.add(key)
    return found


def refuse_constant(name: str) -> Any:
    raise JsonError(f"{name} is not a JSON number")


def parse_finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise JsonError(f"the number {digits[:40]} is too large")
    return number


class Rules:
    """The attributes that the C scanner reads from the decoder it belongs to."""

    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(build_object)
    parse_float = staticmethod(parse_finite)
    parse_int = int
    parse_constant = staticmethod(refuse_constant)


class OwnRules(Rules):
    """For what truecall wrote itself: nothing is written twice there, and no key need be looked at."""

    object_pairs_hook = None  # type: ignore[assignment]


def scan(text: str, rules: type[Rules]) -> Any:
    """The JSON value that `text` holds and nothing else. Raises Refused."""
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
    """Reads one strict JSON value: no duplicate keys, no NaN, no infinity, nothing behind it, at most
    DEPTH levels. `own`: truecall wrote it. Raises Refused."""
    value = scan(text, OwnRules if own else Rules)
    if text.count("[") + text.count("{") > DEPTH and is_too_deep(value):
        raise JsonError(f"it is nested deeper than {DEPTH} levels")
    return value


def is_too_deep(value: Any) -> bool:
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
    """Compact ASCII JSON on one line. Raises ValueError for NaN and TypeError for what JSON has not."""
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
    raise TypeError(f"{type(value).__name__} has no JSON form")
