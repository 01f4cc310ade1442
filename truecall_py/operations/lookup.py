"""Asks the source of an operation once how it ended, and records the answer. Begins and refuses nothing."""

from __future__ import annotations

from truecall_py.contracts.facts import Facts
from truecall_py.core.errors import Unverified
from truecall_py.core.types import UNVERIFIED, Outcome, ToolCall
from truecall_py.judging.engine import Moment, enter_application, find_applications, make_world
from truecall_py.operations.precedence import weigh_receipt
from truecall_py.operations.view import Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from truecall_py.contracts.model import Contract
    from truecall_py.judging.recorder import Recorder
    from truecall_py.ledger.store import Ledger
    from truecall_py.world.world import World


def look_up_earlier(
    recorder: Recorder, contract: Contract, earlier: Operation, call: ToolCall, moment: Moment
) -> None:
    """Asks the source how an earlier call ended, and records the answer. Raises LedgerError."""
    from truecall_py.ledger.pending_calls import OPERATIONS, find_call

    kept = find_call(recorder.state, earlier.last.session, earlier.last.call, OPERATIONS)
    sought = kept.guarded() if kept is not None else ToolCall(**{**call.__dict__, "session": earlier.last.session,
                                                           "call_id": earlier.last.call})  # fmt: skip
    look_up_call(recorder.ledger, recorder.history.key, contract, sought, moment, "call " + call.call_id)


def look_up_call(ledger: Ledger, key: bytes, contract: Contract, call: ToolCall, moment: Moment, by: str) -> str:
    """Asks the source of one contract how a call ended; records and returns the answer. Raises LedgerError."""
    said = "its contract does not apply to what was kept of the call"
    for answer in ask_source(ledger, key, contract, call, moment, by):
        said = answer.found
    return said


def ask_source(
    ledger: Ledger, key: bytes, contract: Contract, call: ToolCall, moment: Moment, by: str
) -> Iterator[Outcome]:
    """Returns what the source of one contract says of each operation of a call, weighed and recorded. Raises
    LedgerError."""
    from truecall_py.judging.receipt import CHECK, judge_receipt
    from truecall_py.trust.store import find_changed_code

    if contract.plain.get("pins") and (changed := find_changed_code(contract.plain)):
        yield Outcome(CHECK, UNVERIFIED, "", f"{changed} was changed since the contract was trusted", "contract")
        return
    world = make_world(contract, call, moment)
    for application in list_applications(contract, call, world):
        answer = judge_receipt(
            contract, call, Facts(call, enter_application(world, application), application.file, application.match)
        )
        if answer.receipt is not None and answer.receipt["match"] is not None:
            answer = weigh_receipt(ledger, key, contract, call, answer, moment.received, by)
        yield answer


def list_applications(contract: Contract, call: ToolCall, world: World) -> Sequence[Any]:
    try:
        applying = find_applications(contract, call, world, before=True)
    except Unverified:
        return ()
    return () if isinstance(applying, str) else applying
