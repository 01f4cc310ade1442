"""Reads a requirement as people write it (`requests[security]==2.31`, `@scope/tool@1.2.3`) into name and version. It
never guesses a name: an address or a path names no package."""

from __future__ import annotations

from truecall_py.core.errors import Unverified

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
DIGITS = frozenset("0123456789")


def parse_pip(text: str) -> tuple[str, str, bool]:
    """Return (name, required version or "", whether it applies only under a condition). Raises Unverified."""
    text, semicolon, _ = text.strip().partition(";")
    name = read_name(text)
    rest = text[len(name) :].strip()
    if rest.startswith("["):
        rest = rest.partition("]")[2].strip()
    if not name or not name[0].isalnum() or (rest and rest[0] not in "=<>!~@("):
        raise Unverified(f"{text[:80]!r} does not name a package", "contract")
    if "/" in name or name.endswith((".whl", ".txt", ".zip", ".tar.gz", ".toml")):
        raise Unverified(f"{text[:80]!r} is a file, and the name of its package is not in it", "contract")
    # An address does not name a version: only the presence of the package can be verified.
    return name, "" if rest.startswith("@") else rest.strip("()").strip(), bool(semicolon)


def parse_npm(text: str) -> tuple[str, str, bool]:
    """Return the same for npm: a version, a range, a tag, or an address."""
    text = text.strip()
    scope, slash, rest = text.partition("/") if text.startswith("@") else ("", "", text)
    base, _, wanted = rest.partition("@")
    words = [base, scope.removeprefix("@")] if scope else [base]
    if any(not word or word.startswith(".") or set(word) - NAME - {"~"} for word in words):
        raise Unverified(f"{text[:80]!r} does not name a package", "contract")
    if base.lower().endswith((".tgz", ".tar.gz", ".tar")):
        raise Unverified(f"{text[:80]!r} is a file, and the name of its package is not in it", "contract")
    return f"{scope}{slash}{base}", "" if ":" in wanted or "/" in wanted else wanted.strip(), False


def is_allowed_by_pip(version: str, wanted: str) -> bool:
    """Whether `wanted` (`>=1.0,<2`) allows an installed version. Raises Unverified if only pip can decide: for
    versions that are more than numbers."""
    for part in wanted.split(","):
        sign = part.strip()[: len(part.strip()) - len(part.strip().lstrip("=<>!~"))]
        asked = part.strip()[len(sign) :].strip()
        if sign == "==":
            held = meets_specifier(version, asked)
        elif sign == "!=":
            held = not meets_specifier(version, asked)
        else:
            have, least = parse_release(version.partition("+")[0]), parse_release(asked)
            if have is None or least is None or sign not in ("<", "<=", ">", ">=", "~="):
                raise build_doubt(version, wanted)
            order = compare_versions(have, least)
            held = order in {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1), "~=": (0, 1)}[sign]
            if held and sign == "~=":
                if len(least) < 2:
                    raise build_doubt(version, wanted)
                held = pad_numbers(have, len(least) - 1)[: len(least) - 1] == least[:-1]
        if not held:
            return False
    return True


def is_allowed_by_npm(version: str, wanted: str) -> bool:
    """Whether `wanted` allows an installed version: `1.2.3`, `1.2`, `1.x`, `^1.2.3`, `~1.2.3`, `>=1.2.3`. Raises
    Unverified for a tag, and if only npm can decide."""
    sign = wanted[: len(wanted) - len(wanted.lstrip("=<>^~"))]
    asked = wanted[len(sign) :].strip().removeprefix("v")
    if sign in ("", "=") and asked == version:
        return True
    parts = asked.split(".")
    while len(parts) > 1 and parts[-1] in ("x", "X", "*"):
        parts.pop()
    have, least = parse_release(version.partition("+")[0]), parse_release(".".join(parts).partition("+")[0])
    if least is None or len(least) > 3 or sign not in ("", "=", "^", "~", ">="):
        exact = sign in ("", "=") and asked.count(".") >= 2 and asked[0] in DIGITS and " " not in asked
        if exact and have is not None and "-" in asked:
            return False  # a full version, other than the one that is there
        raise build_doubt(version, wanted)
    if have is None:
        if sign in ("", "=") and len(least) == 3:
            return False
        raise build_doubt(version, wanted)
    if compare_versions(have, least) < 0:
        return False
    if sign == ">=":
        return True
    fixed = len(least) if sign in ("", "=") else min(2, len(least)) if sign == "~" else count_fixed_numbers(least)
    return pad_numbers(have, 3)[:fixed] == least[:fixed]


def count_fixed_numbers(numbers: list[int]) -> int:
    """Return how many numbers of a version `^` keeps: up to the first that is not 0."""
    return next((at + 1 for at, number in enumerate(numbers) if number), len(numbers))


def build_doubt(version: str, wanted: str) -> Unverified:
    return Unverified(f"whether {version} is one of {wanted[:80]} cannot be told by their spelling", "probe")


def compare_versions(left: list[int], right: list[int]) -> int:
    size = max(len(left), len(right))
    first, second = pad_numbers(left, size), pad_numbers(right, size)
    return (first > second) - (first < second)


def read_name(text: str) -> str:
    """Return the part of a text that can be a name."""
    end = 0
    while end < len(text) and text[end] in NAME:
        end += 1
    return text[:end]


def meets_specifier(version: str, wanted: str) -> bool:
    """Whether an installed version is the one that `==` requires. Raises Unverified if the spelling differs in a way
    that only pip can compare."""
    if wanted.endswith(".*"):
        prefix = parse_release(wanted[:-2])
        found = parse_release(version.partition("+")[0], loose=True)
        return prefix is not None and found is not None and pad_numbers(found, len(prefix))[: len(prefix)] == prefix
    have = version if "+" in wanted else version.partition("+")[0]
    ours, theirs = (text.strip().lower().removeprefix("v") for text in (have, wanted))
    if ours == theirs:
        return True
    left, right = parse_release(ours), parse_release(theirs)
    if left is None or right is None:
        first, second = parse_release(ours, loose=True), parse_release(theirs, loose=True)
        if first is not None and second is not None and not is_same_release(first, second):
            return False
        raise Unverified(f"whether {version} is {wanted} cannot be told by their spelling", "probe")
    return is_same_release(left, right)


def parse_release(text: str, loose: bool = False) -> list[int] | None:
    """Return the numbers of a version; with `loose` up to the first part that is more than a number, otherwise None
    then."""
    found: list[int] = []
    for part in text.lower().removeprefix("v").split("."):
        if part and part.isascii() and DIGITS.issuperset(part):
            found.append(int(part[:18]))
            continue
        if not loose:
            return None
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        return found + ([int(digits[:18])] if digits else []) or None
    return found


def is_same_release(left: list[int], right: list[int]) -> bool:
    """Whether two versions are the same release, as 1.0 and 1.0.0 are."""
    return compare_versions(left, right) == 0


def pad_numbers(numbers: list[int], size: int) -> list[Any]:
    return numbers + [0] * (size - len(numbers))
