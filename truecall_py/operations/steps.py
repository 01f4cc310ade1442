"""Tracks operations of several steps: such an operation is done only when every step is verified. Reads only the
ledger; asks no source.

Instances differ by `by` (a template over the steps' arguments as stored), else by the tenant and resource of the
receipts. A step without these counts only if there is one instance.
"""

from __future__ import annotations

from truecall_py.contracts.facts import value_at
from truecall_py.contracts.template import resolve_text
from truecall_py.core.errors import TrustError, Unverified
from truecall_py.core.record import record
from truecall_py.core.types import ABSENT, DUPLICATE, REFUTED, UNVERIFIED, VERIFIED, Outcome, Stop, ToolCall, Verdict
from truecall_py.judging.engine import make_verdict
from truecall_py.ledger.store import ENDED, JUDGED, REQUESTED, SELECT, SETTLED, STOP, Event, Ledger, StoredEvent
from truecall_py.operations.view import INTENT, OPERATION_EVENTS, RECEIPT
from truecall_py.operations.view import list_operations as operations_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from truecall_py.contracts.model import Contract
    from truecall_py.trust.store import Source
    from truecall_py.world.world import World

NOT_BEGUN = "not begun"
STEPS = "steps "  # prefix of the events that record reported progress


@record(frozen=True)
class Progress:
    """One instance: the state of each step by contract (verified, refuted, unverified, pending, unknown, duplicate,
    not begun), `owners` of steps, and the `calls` that belong to it."""

    contract: str
    states: dict[str, str]
    owners: dict[str, str]
    calls: frozenset[str]

    @property
    def is_partial(self) -> bool:
        return any(state != VERIFIED for state in self.states.values())

    @property
    def description(self) -> str:
        """E.g. `1 of 2 steps of onboard are done: create-user is verified; add-member is refuted (owner: people)`."""
        done = sum(state == VERIFIED for state in self.states.values())
        verb = "is" if done == 1 and len(self.states) == 1 else "are"
        parts = [
            f"{name} is {state}{f' (owner: {owner})' if owner and state != VERIFIED else ''}"
            for name, state, owner in ((name, self.states[name], self.owners.get(name)) for name in self.states)
        ]  # fmt: skip
        return f"{done} of {len(self.states)} steps of {self.contract} {verb} done: {'; '.join(parts)}"


class Arguments:
    """The scope of `by`: the arguments of a call as stored."""

    def __init__(self, args: Any) -> None:
        self.args = args if isinstance(args, dict) else {}

    def get(self, path: str) -> Any:
        root, _, rest = path.partition(".")
        return value_at(self.args, rest) if root == "args" and rest else ABSENT


def widen_events(ledger: Ledger, events: Sequence[Event], calls: Collection[str]) -> list[Event]:
    """Returns a session's events with those from elsewhere about the same operations: other sessions (whose calls are
    named SESSION/CALL), and earlier events. Raises LedgerError."""
    names = {str(event.data["instance"]) for event in events
             if event.call in calls and event.event.startswith(INTENT) and event.data.get("instance")}  # fmt: skip
    known, here = {event.id for event in events}, {event.session for event in events}
    events_ = list(events)
    inside = f"SELECT identity FROM events WHERE {OPERATION_EVENTS} AND instr(data, ?)"  # noqa: S608 - our own words
    for name in sorted(names):
        rows = ledger.query(f"{SELECT} {OPERATION_EVENTS} AND identity IN ({inside})", (name,))
        for number, session, call, *rest in rows:
            if number not in known:
                known.add(number)
                events_.append(
                    StoredEvent((number, session, call if session in here else f"{session}/{call}", *rest))
                )
    return sorted(events_, key=lambda event: event.id)


def list_progress(contract: Contract, events: Sequence[Event]) -> list[Progress]:
    """Returns every instance that was begun in the events of a session."""
    steps: list[str] = contract.plain["steps"]
    states_by: dict[str, dict[str, str]] = {}
    calls: dict[str, set[str]] = {}
    owners: dict[str, dict[str, str]] = {}
    loose: list[tuple[str, str, str]] = []
    for call, step, state, owner, instance in read_steps(contract, events):
        if instance is None:
            loose.append((step, state, call))
            continue
        states_by.setdefault(instance, {})[step] = state
        calls.setdefault(instance, set()).add(call)
        if owner:
            owners.setdefault(instance, {})[step] = owner
    if len(states_by) <= 1:
        only = next(iter(states_by), "")
        for step, state, call in loose:
            states_by.setdefault(only, {})[step] = state
            calls.setdefault(only, set()).add(call)
    return [
        Progress(contract.id, {step: states.get(step, NOT_BEGUN) for step in steps}, owners.get(name, {}),
                 frozenset(calls[name]))
        for name, states in states_by.items()
    ]  # fmt: skip


def read_steps(contract: Contract, events: Sequence[Event]) -> list[tuple[str, str, str, str, str | None]]:
    """Returns (call, step, state, owner, instance) of every begun step, in the order of the calls."""
    steps, by = contract.plain["steps"], contract.plain.get("by")
    if by:  # of other sessions' calls the arguments are not known
        here = {event.session for event in events if event.event in (REQUESTED, ENDED)}
        events = [event for event in events if event.session in here]
    rows: dict[tuple[str, str], list[Any]] = {}
    args: dict[str, Any] = {}
    judged: set[tuple[str, str]] = set()
    for event in events:
        if event.event in (REQUESTED, ENDED) and event.data.get("args"):
            args[event.call] = event.data["args"]
        if event.event.startswith(INTENT) and event.data.get("contract") in steps:
            row = ["unknown", str(event.data.get("owner", "")), event.data.get("instance")]
            rows.setdefault((event.call, str(event.data["contract"])), row)
        if event.event in (ENDED, JUDGED, SETTLED):
            for verdict in event.data.get("verdicts", ()):
                if verdict.get("contract") in steps:
                    row = rows.setdefault((event.call, str(verdict["contract"])), ["", "", None])
                    row[0] = str(verdict.get("state", UNVERIFIED))
                    judged.add((event.call, str(verdict["contract"])))
        if event.event.startswith(RECEIPT) and (event.call, str(event.data.get("contract"))) in rows:
            operation = next(iter(operations_of(other for other in events if other.identity == event.identity)), None)
            step = event.call, str(event.data["contract"])
            if operation is None:
                del rows[step]  # it was never made
            elif step not in judged or operation.state in (DUPLICATE, REFUTED):
                rows[step][0] = operation.state  # once it is judged, what else must hold counts as well
    return [
        (call, step, row[0], row[1], name_instance(by, args.get(call)) if by else row[2])
        for (call, step), row in rows.items()
    ]  # fmt: skip


def name_instance(by: str, args: Any) -> str | None:
    """Returns the instance that the arguments of a call name, or None."""
    try:
        return str(resolve_text(by, Arguments(args), "text"))
    except Unverified:
        return None


def judge_at_stop(
    contract: Contract, call: ToolCall, world: World, events: Sequence[Event], mine: Sequence[Event], stop: Stop
) -> Verdict | None:
    """Returns the Verdict on what this turn began and left unfinished; None if there is nothing, or the agent was
    already held for it in this turn."""
    ours = {event.call for event in mine}
    partial = [
        progress for progress in list_progress(contract, events) if progress.is_partial and progress.calls & ours
    ]
    held = any(
        event.event == STOP and event.turn == stop.turn and event.agent == stop.agent and event.data.get("held")
        and [contract.id, UNVERIFIED] in event.data.get("claims", ())
        for event in events
    )  # fmt: skip
    if not partial or held:
        return None
    expected = f"all steps of {contract.id}: {', '.join(contract.plain['steps'])}"
    outcomes = tuple(Outcome("steps", UNVERIFIED, expected, progress.description, "world") for progress in partial)
    return make_verdict(contract, call, world, None, outcomes, world.now())


def list_for_call(
    sources: Sequence[Source], ledger: Ledger, events: Sequence[Event], call: str
) -> list[tuple[str, str]]:  # fmt: skip
    """Returns (contract, progress) of each unfinished operation that a call is a step of; `events` are those of its
    session. Raises LedgerError."""
    lines = []
    for source in sources:
        try:
            contracts = [contract for contract in source.load_stop_contracts() if contract.plain.get("steps")]
        except TrustError:
            continue  # reported at the stop
        events = widen_events(ledger, events, {call}) if contracts else events
        for contract in contracts:
            lines += [(contract.id, progress.description) for progress in list_progress(contract, events)
                     if progress.is_partial and call in progress.calls]  # fmt: skip
    return lines
