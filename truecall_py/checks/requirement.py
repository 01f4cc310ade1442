"""What a person writes to have a package installed (`requests[security]==2.31`, `@scope/tool@1.2.3`), read into name
and version. Never guesses a name: an address or a path names no package."""

from __future__ import annotations

from truecall_py.errors import Unverified

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
DIGITS = frozenset("0123456789")


def of_pip(text: str) -> tuple[str, str, bool]:
    """(name, the version that `==` asks for or "", whether it holds only under a condition). Raises Unverified."""
    text, semicolon, _ = text.strip().partition(";")
    name = leading(text)
    rest = text[len(name) :].strip()
    if rest.startswith("["):
        rest = rest.partition("]")[2].strip()
    if not name or not name[0].isalnum() or (rest and rest[0] not in "=<>!~@("):
        raise Unverified(f"{text[:80]!r} does not name a package", "contract")
    if "/" in name or name.endswith((".whl", ".txt", ".zip", ".tar.gz", ".toml")):
        raise Unverified(f"{text[:80]!r} is a file, and the name of its package is not in it", "contract")
    exact = [part.strip(" =") for part in rest.strip("()").split(",") if part.strip().startswith("==")]
    return name, exact[0] if exact else "", bool(semicolon)


def of_npm(text: str) -> tuple[str, str, bool]:
    """The same for npm: only a full version is one, every range and tag may lead to another."""
    text = text.strip()
    scope, slash, rest = text.partition("/") if text.startswith("@") else ("", "", text)
    base, _, wanted = rest.partition("@")
    words = [base, scope.removeprefix("@")] if scope else [base]
    if any(not word or word.startswith(".") or set(word) - NAME - {"~"} for word in words):
        raise Unverified(f"{text[:80]!r} does not name a package", "contract")
    if base.lower().endswith((".tgz", ".tar.gz", ".tar")):
        raise Unverified(f"{text[:80]!r} is a file, and the name of its package is not in it", "contract")
    name = f"{scope}{slash}{base}"
    parts = wanted.removeprefix("v").split("-")[0].split("+")[0].split(".")
    exact = len(parts) == 3 and all(part and DIGITS.issuperset(part) for part in parts)
    return name, wanted.removeprefix("v") if exact else "", False


def leading(text: str) -> str:
    """The part of a text that can be a name."""
    end = 0
    while end < len(text) and text[end] in NAME:
        end += 1
    return text[:end]


def meets(version: str, wanted: str) -> bool:
    """Whether an installed version is the one that `==` asks for. Raises Unverified where the spelling differs in a
    way that only pip can compare."""
    if wanted.endswith(".*"):
        prefix = release(wanted[:-2])
        found = release(version.partition("+")[0], loose=True)
        return prefix is not None and found is not None and padded(found, len(prefix))[: len(prefix)] == prefix
    have = version if "+" in wanted else version.partition("+")[0]
    ours, theirs = (text.strip().lower().removeprefix("v") for text in (have, wanted))
    if ours == theirs:
        return True
    left, right = release(ours), release(theirs)
    if left is None or right is None:
        first, second = release(ours, loose=True), release(theirs, loose=True)
        if first is not None and second is not None and not alike(first, second):
            return False
        raise Unverified(f"whether {version} is {wanted} cannot be told by their spelling", "probe")
    return alike(left, right)


def release(text: str, loose: bool = False) -> list[int] | None:
    """The numbers of a version; with `loose` up to the first part that is more than a number, else None then."""
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


def alike(left: list[int], right: list[int]) -> bool:
    """1.0 and 1.0.0 are the same release."""
    size = max(len(left), len(right))
    return padded(left, size) == padded(right, size)


def padded(numbers: list[int], size: int) -> list[Any]:
    return numbers + [0] * (size - len(numbers))
