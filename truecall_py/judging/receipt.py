"""Judges an operation by its authoritative source: which receipts are about it, its state, and which of two receipts
is newer. Only the source counts, not the tool's own words. An unknown state is never done, never failed, and never
leads to an order to repeat.

A receipt (in Outcome.receipt and in the ledger) is a map: `match` (required fields, resolved; None if that failed),
`state` (verified, pending, refuted, duplicate, or "" if unreadable), `as_of` (a number or a time as text; None),
`effect` (the value of its `id`, or ""), `which` (a digest of the whole receipt), `owner`.
"""

from __future__ import annotations

from truecall_py.checks import load_check
from truecall_py.contracts.facts import Facts, value_at
from truecall_py.contracts.matchers import is_same, quote_value
from truecall_py.contracts.template import fill_fields, resolve
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, DUPLICATE, PENDING, REFUTED, UNVERIFIED, VERIFIED, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.contracts.model import Contract

    Receipt = dict[str, Any]

CHECK = "receipt"  # the name of its outcome
MAX_RECEIPTS = 10_000  # receipts in one piece of evidence
# Seconds by which the clock of a source may be ahead of this machine's. A receipt further in the future is refused:
# once believed, it would stay the newest for ever.
CLOCK_SKEW = 24 * 3600.0
FINAL = (VERIFIED, REFUTED, DUPLICATE)
# Any other cause counts as a source that does not answer.
OWN_CAUSES = ("contract", "truecall")


def judge_receipt(contract: Contract, call: ToolCall, facts: Facts) -> Outcome:
    """Returns the Outcome of the operation that a call stands for. Only a bug raises."""
    spec = contract.plain["receipt"]
    receipt: Receipt = {"match": None, "state": "", "as_of": None, "effect": "", "which": ""}
    receipt["owner"] = spec.get("owner", "")
    began = facts.world.now()
    expected = "a receipt of this operation from its source"
    try:
        receipt["match"] = resolve_match(spec["match"], facts)
        expected = describe_expected(spec, receipt["match"])
        source = load_check(spec["from"]["check"])
        params = fill_fields(source.FIELDS, spec["from"]["params"], facts)
        evidence = source.evidence(params, call, facts.world)
        receipt |= choose_receipt(spec, receipt["match"], evidence, facts.world.wall())
    except Unverified as why:
        cause = why.cause if why.cause in (*OWN_CAUSES, "tool") else "world"
        took = facts.world.now() - began
        return Outcome(CHECK, UNVERIFIED, expected, why.why, cause, seconds=took, receipt=receipt)
    said = receipt.pop("found")
    state, cause = (UNVERIFIED, "world") if receipt["state"] == PENDING else (receipt["state"], "")
    state = REFUTED if state == DUPLICATE else state
    return Outcome(CHECK, state, expected, said, cause, seconds=facts.world.now() - began, receipt=receipt)


def resolve_match(match: dict[str, Any], facts: Facts) -> dict[str, Any]:
    """Returns the fields that the receipt must have, by path. Raises Unverified for a value that identifies no
    operation: null, empty text, a list or a map."""
    resolved: dict[str, Any] = resolve(match, facts, "value")
    for path, value in resolved.items():
        if value is None or value == "" or isinstance(value, (list, dict)):
            why = f"{path} of the receipt would have to be {quote_value(value, 60)}, which names no operation"
            raise Unverified(why, "contract")
    return resolved


def describe_expected(spec: dict[str, Any], match: dict[str, Any]) -> str:
    """Describes the receipt that would verify the operation."""
    done = [word for word, meaning in spec["states"].items() if meaning == VERIFIED]
    about = ", ".join(f"{path} {quote_value(value, 60)}" for path, value in match.items())
    states = " or ".join(map(quote_value, done))
    return f"a receipt ({spec['from']['check']}) with {about}, and {spec['state']} {states}"


def choose_receipt(spec: dict[str, Any], match: dict[str, Any], evidence: Any, now: float) -> Receipt:
    """Returns the deciding receipt in the evidence: `state`, `as_of`, `effect`, `which`, `found`. `now` is in seconds
    since the epoch. Raises Unverified."""
    listed = list_receipts(spec, evidence)
    mine = [receipt for receipt in listed if is_about(receipt, match)]
    if not mine:
        raise Unverified(describe_absence(listed, match), "world")
    read = [read_receipt(spec, receipt, now) for receipt in mine]
    newest: dict[str, Receipt] = {}
    for number, receipt in enumerate(read):
        name = receipt["effect"] or str(number)  # without an id, equal receipts count as two
        newest[name] = choose_later(newest[name], receipt) if name in newest else receipt
    done = [receipt for receipt in newest.values() if receipt["state"] == VERIFIED]
    if len(done) > 1:
        names = ", ".join(quote_value(last["effect"], 60) if last["effect"] else last["found"] for last in done[:4])
        which = " ".join(sorted(receipt["which"] for receipt in done))[:100]
        return {**done[-1], "state": DUPLICATE, "which": which,
                "found": f"{len(done)} effects of this one operation are done: {names}"}  # fmt: skip
    chosen = read[0]
    for receipt in read[1:]:
        chosen = choose_later(chosen, receipt)
    if not chosen["state"]:
        raise Unverified(f"{chosen['found']}, a state that the contract does not list", "world")
    return chosen


def list_receipts(spec: dict[str, Any], evidence: Any) -> list[Any]:
    """Returns the receipts in the evidence; [] if the source has nothing. Raises Unverified."""
    if evidence is ABSENT:
        return []
    path = spec.get("items")
    listed = value_at(evidence, path) if path else evidence
    if path and not isinstance(listed, list):
        raise Unverified(f"the evidence has no list at {path}, but {quote_value(listed, 80)}", "world")
    listed = listed if isinstance(listed, list) else [listed]
    if len(listed) > MAX_RECEIPTS:
        raise Unverified(f"the evidence holds more than {MAX_RECEIPTS} receipts", "world")
    return listed


def is_about(receipt: Any, match: dict[str, Any]) -> bool:
    """Tells whether a receipt is about this operation: each field is present and equal, including its type."""
    return isinstance(receipt, dict) and all(is_same(value_at(receipt, path), value) for path, value in match.items())


def describe_absence(listed: Sequence[Any], match: dict[str, Any]) -> str:
    """Describes what the source has instead of a receipt of the operation."""
    if not listed:
        return "the source has no receipt of it"
    first = listed[0]
    for path, value in match.items():
        there = value_at(first, path) if isinstance(first, dict) else ABSENT
        if not is_same(there, value):
            count = "the one receipt" if len(listed) == 1 else f"none of {len(listed)} receipts"
            verb = "is that of another operation" if len(listed) == 1 else "is of this operation"
            return f"{count} {verb}: {path} is {quote_value(there, 80)} and not {quote_value(value, 80)}"
    return f"none of {len(listed)} receipts is of this operation"


def read_receipt(spec: dict[str, Any], receipt: dict[str, Any], now: float) -> Receipt:
    """Reads one receipt of the operation. `now` is in seconds since the epoch. Raises Unverified for an unreadable
    time or id."""
    from truecall_py.core.fast_json import dumps
    from truecall_py.core.hashing import sha256

    word = value_at(receipt, spec["state"])
    state = spec["states"].get(word, "") if isinstance(word, str) else ""
    evidence = f"{spec['state']} is {quote_value(word, 80)}"
    as_of = effect = None
    if spec.get("as_of"):
        as_of = value_at(receipt, spec["as_of"])
        check_time(as_of, now)
        evidence += f" as of {quote_value(as_of, 60)}"
    if spec.get("id"):
        effect = value_at(receipt, spec["id"])
        if effect is ABSENT or effect in (None, "") or isinstance(effect, (bool, list, dict)):
            raise Unverified(f"the receipt's {spec['id']} is {quote_value(effect, 60)}, which names no effect",
                             "world")
        evidence += f", {spec['id']} {quote_value(effect, 80)}"
    name = "" if effect is None else str(effect)
    name = name if len(name) <= 200 else sha256(name.encode("utf-8", "replace"))
    which = sha256(dumps(sorted(receipt.items())).encode())[:16]
    return {"state": state, "as_of": as_of, "effect": name, "which": which, "found": evidence}


def choose_later(old: Receipt, new: Receipt) -> Receipt:
    """Returns the receipt to believe: the newer one, and without times a final one before a pending one. Raises
    Unverified if they contradict each other or their times cannot be compared."""
    order = compare_times(old["as_of"], new["as_of"])
    older, newer = (old, new) if order <= 0 else (new, old)
    ids = older["effect"], newer["effect"]
    if (older["state"], newer["state"]) == (VERIFIED, REFUTED) and all(ids) and ids[0] != ids[1]:
        first, second = (quote_value(id_, 60) for id_ in ids)
        why = f"effect {first} was done, and another one, {second}, was rejected after it"
        raise Unverified(f"{why}: a rejection says nothing of another effect", "world")
    if order:
        return new if order < 0 else old
    if old["state"] == new["state"]:
        return new
    for final, other in ((old, new), (new, old)):
        if final["state"] in FINAL and other["state"] == PENDING:
            return final
    words = " and ".join(receipt["state"] or "a state of no known meaning" for receipt in (old, new))
    why = f"two receipts contradict each other ({words}), and nothing says which is the newer one"
    raise Unverified(why, "world")


def compare_times(old: Any, new: Any) -> int:
    """Returns -1 if `old` is older than `new`, 1 if it is newer, 0 if both are of the same time or have none. Raises
    Unverified."""
    if old is None and new is None:
        return 0
    if old is None or new is None:
        raise Unverified("one receipt says as of when it is, and the other does not", "world")
    (kind, left), (other, right) = parse_moment(old), parse_moment(new)
    if kind != other:
        raise Unverified(f"{quote_value(old, 60)} and {quote_value(new, 60)} cannot be compared in time", "world")
    return int(left > right) - int(left < right)


def check_time(as_of: Any, now: float) -> None:
    """Raises Unverified for an invalid as_of or a time in the future. A number has no known unit, so it is not
    compared with the clock."""
    kind, when = parse_moment(as_of)
    if kind == "time" and when.timestamp() > now + CLOCK_SKEW:
        why = f"which is more than {CLOCK_SKEW / 3600:.0f} hours ahead of this machine's clock"
        raise Unverified(f"the receipt is as of {quote_value(as_of, 60)}, {why}", "world")


def parse_moment(value: Any) -> tuple[str, Any]:
    """Returns (kind, comparable value) of an as_of: a finite number, or an ISO 8601 time with its zone. Raises
    Unverified for anything else."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value - value == 0:
        return "number", value
    if isinstance(value, str) and 19 <= len(value) <= 40:
        from datetime import datetime

        text = f"{value[:-1]}+00:00" if value[-1] in "Zz" else value
        head, dot, rest = text.partition(".")
        digits = len(rest) - len(rest.lstrip("0123456789"))
        if dot:  # Python before 3.11 needs six digits
            text = f"{head}.{rest[:digits][:6]:0<6}{rest[digits:]}"
        try:
            parsed = datetime.fromisoformat(text)
        except ValueError:
            parsed = None
        if parsed is not None and parsed.tzinfo is not None:
            return "time", parsed
    why = f"the receipt is as of {quote_value(value, 60)}, which is neither a number nor a time with its zone"
    raise Unverified(why, "world")
