"""Describes what is wrong with the arguments of a call, so that the agent can fix them: the missing, misspelt and
unknown fields, the values sent, and what the schema says about these fields. It never quotes the whole value or
schema."""

from __future__ import annotations

from truecall_py.checks.support.nearest_names import score_likeness
from truecall_py.contracts.matchers import quote_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MOST = 6  # fields of which the schema is quoted
LONGEST = 160  # letters of one quoted value or rule


def describe_errors(errors: Sequence[dict[str, Any]], count: int) -> str:
    """Return the errors of `worker.schemas`, `count` in all, as one phrase."""
    told: list[str] = []
    rules: dict[str, Any] = {}
    spelt: dict[str, str] = {}  # a missing field and what was taken for it
    for error in errors:
        told += list_phrases(error, rules, spelt)
    told = [phrase for phrase in dict.fromkeys(told) if not any(phrase == f"`{name}` is missing" for name in spelt)]
    more = f"; and {count - len(errors)} more" if count > len(errors) else ""
    excerpt = "; ".join(f"{name}: {quote_value(rule, LONGEST)}" for name, rule in list(rules.items())[:MOST])
    return "; ".join(told) + more + (f"; by the schema: {excerpt}" if excerpt else "")


def list_phrases(error: dict[str, Any], rules: dict[str, Any], spelt: dict[str, str]) -> list[str]:
    """Return the phrases of one error, and add what the schema says about its fields to `rules`."""
    place = error["path"].removeprefix("$").removeprefix(".")
    known: dict[str, Any] = error.get("properties") or {}
    if error["keyword"] == "required":
        for name in error["names"]:
            if name in known:
                rules[join_path(place, name)] = known[name]
        return [f"`{join_path(place, name)}` is missing" for name in error["names"]]
    if error["keyword"] in ("additionalProperties", "unevaluatedProperties") and error["names"]:
        found = []
        for name in error["names"]:
            meant = find_nearest(name, [each for each in known if each not in error["given"]])
            sent = quote_value(error["values"].get(name), LONGEST)
            if meant:
                rules[join_path(place, meant)] = known[meant]
                spelt[join_path(place, meant)] = name
                found.append(f"`{join_path(place, name)}` is no field: did you mean `{meant}`? (sent: {sent})")
            else:
                fields = f"; the fields are {', '.join(list(known)[:12])}" if known else ""
                found.append(f"`{join_path(place, name)}` is a field too many (sent: {sent}){fields}")
        return found
    if error.get("rule") is not None:
        rules[place or "all of it"] = error["rule"]
    return [f"`{place or 'the arguments'}` is not as it must be (sent: {quote_value(error['value'], LONGEST)})"]


def join_path(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def find_nearest(name: str, known: Sequence[str]) -> str:
    """Return the field that was most likely meant, "" if none is near."""
    plain = name.replace("_", "").replace("-", "").lower()
    for other in known:
        if other.replace("_", "").replace("-", "").lower() == plain:
            return other
    ranked = sorted(((score_likeness(name, other), other) for other in known), reverse=True)
    return ranked[0][1] if ranked and ranked[0][0] >= 0.5 else ""
