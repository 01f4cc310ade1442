"""Compares values with matchers, wherever a contract compares. An unverified comparison never becomes true or
false."""

from __future__ import annotations

from truecall_py.contracts.field import field
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.world.world import World

DELTAS = ("increased_by", "changed")
TYPES = ("string", "number", "integer", "boolean", "null", "array", "object")

FIELDS = (
    field("equals", "value", "The same value; types count: 1 is not \"1\", true is not 1.", templated=True),
    field("not_equals", "value", "Any other value.", templated=True),
    field("one_of", "list", "One of these values.", templated=True),
    field("contains", "value", "Text that contains this text, or a list that contains this value.", templated=True),
    field("not_contains", "value", "Text or a list that does not contain it.", templated=True),
    field("matches", "pattern", "A regular expression that matches somewhere in the text; bounded in time."),
    field("at_least", "number", "This number or a greater one.", templated=True),
    field("at_most", "number", "This number or a smaller one.", templated=True),
    field("exists", "boolean", "true: there is a value; false: there is none."),
    field("type", "choice", "The JSON type of the value.", choices=TYPES),
    field("length", "operand", "The length of a text, list or object: a number or a matcher."),
    field("increased_by", "number", "The number grew by this much since before the call (negative: shrank)."),
    field("changed", "boolean", "true: the value differs from the one before the call; false: it is the same."),
    field("runs", "texts", "A pattern for the parsed shell command, e.g. `git push *`; in a list, any may match."),
)  # fmt: skip


def is_same(left: Any, right: Any) -> bool:
    """Whether two values are equal, types included, to any depth."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left == right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_same(left[key], right[key]) for key in left)
    return type(left) is type(right) and bool(left == right)


def has_part(value: Any, part: Any) -> bool:
    """Whether a text, list or map contains a part. Raises Unverified for an empty text and for a part that is not
    text."""
    if isinstance(value, str):
        if part == "":
            raise Unverified("every text contains an empty one", "contract")
        if not isinstance(part, str):
            raise Unverified(f"text cannot contain {quote_value(part)}, which is not text", "contract")
        return part in value
    if isinstance(value, list):
        return any(is_same(item, part) for item in value)
    if isinstance(value, dict):
        return isinstance(part, str) and part in value
    return False


def measure(value: Any) -> Any:
    """Return the length of a text, list or map, ABSENT for anything else."""
    return len(value) if isinstance(value, (str, list, dict)) else ABSENT


def as_number(value: Any) -> float | int | None:
    """Return the value if it is a number, else None."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def require_number(value: Any, operator: str) -> float | int:
    """Return the operand of an operator. Raises Unverified if it is not a number."""
    found = as_number(value)
    if found is None:
        raise Unverified(f"{operator} needs a number and got {quote_value(value)}", "contract")
    return found


def name_type(value: Any) -> str:
    """Return the JSON type of a value, "absent" for ABSENT."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    for name, kind in (("number", float), ("string", str), ("array", list), ("object", dict)):
        if isinstance(value, kind):
            return name
    return "absent"


def apply_operator(operator: str, wanted: Any, value: Any, world: World) -> bool:
    """Whether a value meets one operator. Raises Unverified."""
    if operator == "exists":
        return (value is not ABSENT) is wanted
    if value is ABSENT:
        return False
    if operator == "not_equals":
        return not is_same(value, wanted)
    if operator == "equals":
        return is_same(value, wanted)
    if operator == "one_of":
        if not isinstance(wanted, list):
            raise Unverified(f"one_of needs a list and got {quote_value(wanted)}", "contract")
        return any(is_same(value, item) for item in wanted)
    if operator == "contains":
        return has_part(value, wanted)
    if operator == "not_contains":
        if not isinstance(value, (str, list, dict)):
            raise Unverified(f"{quote_value(value)} can neither contain nor lack anything", "tool")
        return not has_part(value, wanted)
    if operator == "matches":
        return isinstance(value, str) and world.search(wanted, value)
    if operator in ("at_least", "at_most"):
        found = as_number(value)
        if found is None:
            return False
        limit = require_number(wanted, operator)
        return found >= limit if operator == "at_least" else found <= limit
    if operator == "type":
        found_type = name_type(value)
        return found_type == wanted or (wanted == "number" and found_type == "integer")
    if operator == "length":
        return isinstance(value, (str, list, dict)) and is_same(len(value), wanted)
    raise Unverified(f"the matcher {operator} is not known to this version of truecall", "truecall")


def is_comparable(matcher: dict[str, Any], value: Any) -> bool:
    """Whether the operators apply to the type of the value. If not, a mismatch says nothing about the opposite."""
    if value is ABSENT:
        return set(matcher) == {"exists"}
    needs = {"at_least": as_number(value) is not None, "at_most": as_number(value) is not None,
             "matches": isinstance(value, str), "length": isinstance(value, (str, list, dict)),
             "contains": isinstance(value, (str, list, dict))}  # fmt: skip
    return all(needs.get(operator, True) for operator in matcher)


def refuse_unreachable(matcher: dict[str, Any], value: Any, whole: Any, names: Sequence[str]) -> None:
    """Raise Unverified if no value may exist (`exists: false`) but a name of the path leads into a text, a number or
    a short list. Then `whole` has an unknown shape, and the value may be elsewhere in it."""
    if value is not ABSENT or matcher.get("exists") is not False:
        return
    for at, name in enumerate(names):
        if not whole or (isinstance(whole, dict) and name not in whole):
            return  # null, false, "" and an empty list mean that there is nothing
        if isinstance(whole, dict):
            whole = whole[name]
        elif isinstance(whole, list) and name.isascii() and name.isdigit():
            if int(name) >= len(whole):
                return
            whole = whole[int(name)]
        else:
            place = ".".join(names[:at]) or "the whole"
            raise Unverified(f"{place} is {quote_value(whole, 80)}, which can have no {name}", "contract")


def has_delta(matcher: Any) -> bool:
    """Whether a matcher, or a map of matchers, compares with the value before the call."""
    return isinstance(matcher, dict) and any(
        name in DELTAS or (isinstance(inside, dict) and has_delta(inside)) for name, inside in matcher.items()
    )


def has_changed(operator: str, wanted: Any, value: Any, before: tuple[Any] | None) -> bool:
    """Whether a value changed as wanted since before the call. Raises Unverified."""
    if before is None:
        raise Unverified(f"{operator} needs the value before the call, and nothing saw that", "harness")
    (was,) = before
    if operator == "changed":
        return (value is not was if value is ABSENT or was is ABSENT else not is_same(value, was)) is wanted
    old, new = as_number(was), as_number(value)
    if old is None:
        raise Unverified(f"before the call the value was {quote_value(was, 60)}, which is no number", "tool")
    return new is not None and new - old == require_number(wanted, operator)


def matches(
    matcher: dict[str, Any], value: Any, world: World, condition: bool = False, before: tuple[Any] | None = None
) -> bool:
    """Whether `value` (ABSENT: none) meets every operator. `before` contains the value before the call (ABSENT:
    none); None: no snapshot has it. Raises Unverified.

    ABSENT meets only `exists: false`. The negative operators differ: a `condition` (in `when`) meets them, so that a
    contract also applies without an optional argument. In a check they are unverified, because a misspelt path must
    not verify anything. `runs` belongs to judging.engine, which knows the exit code.
    """
    if not matcher:
        raise Unverified("the matcher asserts nothing", "contract")
    for operator, wanted in matcher.items():
        if operator in DELTAS:
            if not has_changed(operator, wanted, value, before):
                return False
            continue
        if operator == "length" and isinstance(wanted, dict) and isinstance(value, (str, list, dict)):
            was = None if before is None else (measure(before[0]),)
            if not matches(wanted, len(value), world, condition, was):
                return False
            continue
        if value is ABSENT and operator in ("not_equals", "not_contains"):
            if condition:
                continue
            raise Unverified(f"there is no value that {operator} could be asked of", "tool")
        if not apply_operator(operator, wanted, value, world):
            return False
    return True


def describe(matcher: dict[str, Any]) -> str:
    """Return the matcher as a phrase that follows the name of the value: `equals "x" and is at least 3`."""
    words = {
        "equals": "equals {}", "not_equals": "is not {}", "one_of": "is one of {}", "contains": "contains {}",
        "not_contains": "does not contain {}", "matches": "matches {}", "at_least": "is at least {}",
        "at_most": "is at most {}", "type": "is of type {}",
        "increased_by": "is {} more than before the call",
    }  # fmt: skip
    parts = []
    for operator, wanted in matcher.items():
        if operator == "exists":
            parts.append("is there" if wanted else "is not there")
        elif operator == "changed":
            parts.append("is another than before the call" if wanted else "is the same as before the call")
        elif operator == "runs":
            parts.append("runs " + " or ".join(map(quote_value, wanted if isinstance(wanted, list) else [wanted])))
        elif operator == "length":
            parts.append(f"has a length that {describe(wanted if isinstance(wanted, dict) else {'equals': wanted})}")
        else:
            parts.append(words.get(operator, operator + " {}").format(quote_value(wanted)))
    return " and ".join(parts)


def quote_value(value: Any, limit: int = 160) -> str:
    """Return a value as a short literal, with secrets masked and the middle cut out."""
    from truecall_py.core.fast_json import dumps
    from truecall_py.core.redaction import cut_window, mask_secrets

    if value is ABSENT:
        return "nothing"
    if isinstance(value, str):
        text = cut_window(value, limit)
        text = quote_text(mask_secrets(text) if "\n" in text else text)  # a private key spans lines
    else:
        try:
            text = cut_window(dumps(value), limit)
        except (TypeError, ValueError):
            text = repr(value)
    text = mask_secrets(text)
    if len(text) <= limit:
        return text
    keep = (limit - 5) // 2
    return f"{text[:keep]} ... {text[-keep:]}"


def quote_text(text: str) -> str:
    """Return a text as a literal in double quotes."""
    for raw, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(raw, written)
    return f'"{text}"'
