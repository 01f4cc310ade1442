"""Finds the operations that a call begins, by contracts with a receipt, and makes the events that record them before
the call."""

from __future__ import annotations

from truecall_py.contracts.facts import Facts
from truecall_py.contracts.template import resolve_text
from truecall_py.core.errors import Unverified
from truecall_py.core.record import record
from truecall_py.judging.engine import Moment, enter_application, find_applications, make_world
from truecall_py.judging.receipt import resolve_match
from truecall_py.ledger.events import name_turn, shorten_phrase
from truecall_py.ledger.store import Event
from truecall_py.operations.view import INTENT, make_digest, make_identity, make_instance, name_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.contracts.model import Contract
    from truecall_py.core.types import ToolCall


@record(frozen=True)
class Intent:
    """One operation that a call begins or began: `match` is resolved, `key` is the digest of its idempotency key
    (""), `name` names its event."""

    contract: Contract
    match: dict[str, Any]
    identity: str
    key: str
    name: str


def select_with_receipt(contracts: Sequence[Contract]) -> list[Contract]:
    return [contract for contract in contracts if "receipt" in contract.plain]


def find_intents(
    contract: Contract, call: ToolCall, moment: Moment, key: bytes, before: bool = True,
    unsure: list[str] | None = None,
) -> list[Intent]:  # fmt: skip
    """Returns the operations that a call begins by one contract; [] if that is not known, with the reason added to
    `unsure`."""
    world = make_world(contract, call, moment)
    unsure = [] if unsure is None else unsure
    try:
        applying = find_applications(contract, call, world, before)
    except Unverified as error:
        unsure.append(error.why)
        return []
    intents = []
    for number, application in enumerate(applying if not isinstance(applying, str) else ()):
        facts = Facts(call, enter_application(world, application), application.file, application.match)
        try:
            match = resolve_match(contract.plain["receipt"]["match"], facts)
        except Unverified as error:
            unsure.append(error.why)
            continue
        name = f"{INTENT}{contract.id}{f' {number}' if number else ''}"
        intents.append(
            Intent(contract, match, make_identity(contract, match, key), make_key(contract, facts, key), name)
        )
    return intents


def make_key(contract: Contract, facts: Facts, key: bytes) -> str:
    """Returns the digest of the idempotency key that the call carries, or ""."""
    given = contract.plain.get("key")
    try:
        text = resolve_text(given, facts, "text") if given else ""
    except Unverified:
        return ""
    return make_digest(key, "key", text) if text else ""


def make_intent_event(
    intent: Intent, call: ToolCall, folder: str, at: float, key: bytes, private: bool = False, late: bool = False
) -> Event:  # fmt: skip
    contract = intent.contract
    receipt = contract.plain["receipt"]
    data: dict[str, Any] = {
        "contract": contract.id, "source": contract.source, "project": contract.project, "folder": folder,
        "key": intent.key, "owner": receipt.get("owner", ""),
    }  # fmt: skip
    if not private:
        data["match"] = {path[:80]: shorten_phrase(str(value)) for path, value in intent.match.items()}
    if number := make_instance(intent.match, key):
        data["instance"] = number
    if receipt.get("review") is not None:
        data["review"] = at + float(receipt["review"])
    data |= {"late": True} if late else {}
    data |= {"observe": True} if contract.plain["mode"] == "observe" else {}
    return Event(call.session, name_call(call, at), intent.name, at, call.harness,
                 name_turn(call), call.agent, call.tool, intent.identity, "", data)  # fmt: skip
