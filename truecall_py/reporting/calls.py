"""A call with its events, from its request to what the agent did next. A view over events for `log`, `last`, `stats`
and reports; runs no check, and changes no decision of the hook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from truecall_py.core.record import record
from truecall_py.core.types import FAILURE, FALSE_SUCCESS, REFUTED, SUCCESS, UNVERIFIED, VERIFIED
from truecall_py.ledger.events import identify_contract
from truecall_py.ledger.store import ENDED, JUDGED, REFUSED, REQUESTED, SETTLED, WAITING, Event

PENDING, RUNNING = "pending", "running"
KINDS = (REQUESTED, WAITING, ENDED, REFUSED, JUDGED, SETTLED)
BESIDE = ("intent ", "receipt ", "steps ")  # the events of a call's operation: operations, steps
STATES = (REFUTED, UNVERIFIED, VERIFIED, PENDING, REFUSED, RUNNING)
DECIDED = (VERIFIED, REFUTED, UNVERIFIED)
SAME, OTHER, NOTHING = "same call", "other route", "nothing"
TOLD = ("append", "replace")


@record(frozen=True)
class Call:
    """One call. `began` and `ended` are in seconds since the epoch (None: not recorded). `state` is the worst current
    verdict, `refused`, `running` (requested, no end recorded), or "" without a contract. `verdicts` are the current
    ones; `events` all events, in order."""

    session: str
    call: str
    events: tuple[Event, ...]
    state: str
    began: float | None
    ended: float | None
    data: dict[str, Any]  # the data of ENDED, or REFUSED
    args: dict[str, Any]
    verdicts: tuple[dict[str, Any], ...]

    @property
    def tool(self) -> str:
        return next((event.tool for event in reversed(self.events) if event.tool), "")

    @property
    def identity(self) -> str:
        mine = (event.identity for event in reversed(self.events) if event.identity and event.event in KINDS)
        return next(mine, "")

    @property
    def first(self) -> Event:
        return self.events[0]

    @property
    def harness(self) -> str:
        return self.first.harness

    @property
    def cwd(self) -> str:
        return next((str(event.data["cwd"]) for event in self.events if event.data.get("cwd")), "")

    @property
    def reported(self) -> str:
        return str(self.data.get("reported", ""))

    @property
    def at(self) -> float:
        """The time for sorting and display, in seconds since the epoch."""
        return self.began if self.began is not None else self.first.at

    @property
    def enforced(self) -> tuple[dict[str, Any], ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.get("mode") != "observe")

    @property
    def told(self) -> bool:
        """Whether the agent got a text about it."""
        if "form" in self.data:
            return self.data["form"] in TOLD
        if any(event.event == REFUSED for event in self.events):
            return True
        missing = any(verdict.get("state") in (REFUTED, UNVERIFIED) for verdict in self.enforced)
        return self.reported != FAILURE and missing

    @property
    def corrected(self) -> bool:
        """Whether the agent got a correction that still counts."""
        return self.told and any(verdict.get("state") in (REFUTED, UNVERIFIED) for verdict in self.enforced)

    @property
    def wrong(self) -> tuple[dict[str, Any], ...]:
        """The refuted and unverified verdicts, both from the call's end and current."""
        first = self.data.get("verdicts")
        rows = [*(first if isinstance(first, (list, tuple)) else ()), *self.verdicts]
        return tuple(
            row for row in rows
            if isinstance(row, dict) and row.get("mode") != "observe" and row.get("state") in (REFUTED, UNVERIFIED)
        )  # fmt: skip

    @property
    def was_corrected(self) -> bool:
        """Whether the agent got a correction, whatever was found later."""
        return self.told and bool(self.wrong)


def group_calls(events: Iterable[Event]) -> list[Call]:
    """The calls of these events, in the order in which they began."""
    groups: dict[tuple[str, str], list[Event]] = {}
    loose = []
    for event in events:
        if event.event == WAITING and (event.session, event.call) not in groups:
            loose.append(event)
        elif event.event in KINDS or event.event.startswith(BESIDE):
            groups.setdefault((event.session, event.call), []).append(event)
    for each in loose:
        group = list_permission_events(each, groups)
        if group is not None:
            group.append(each)
            group.sort(key=lambda one: one.id)
    return [make_call(group) for group in groups.values() if any(event.event in KINDS for event in group)]


def list_permission_events(waiting: Event, groups: dict[tuple[str, str], list[Event]]) -> list[Event] | None:
    """The events of the call that waits for permission. Codex sends no call id with that, so it is the last earlier
    one of this turn with the same arguments."""
    events = None
    for (session, _), group in groups.items():
        first = group[0]
        if session == waiting.session and first.id < waiting.id and first.turn == waiting.turn:
            events = group if first.identity == waiting.identity else events
    return events


def make_call(events: Sequence[Event]) -> Call:
    """The call of these events, which are all of one call."""
    last = {event.event: event for event in events}
    event, ended, refused = (last.get(name) for name in (REQUESTED, ENDED, REFUSED))
    settled = last.get(SETTLED) or last.get(JUDGED)
    data = ended.data if ended else refused.data if refused else {}
    verdicts = list(data.get("verdicts", ())) if isinstance(data.get("verdicts", ()), (list, tuple)) else []
    if settled:
        verdicts = replace_verdicts(verdicts, settled.data.get("verdicts", ()))
        state = settled.state
    elif ended:
        state = ended.state
    else:
        state = REFUSED if refused else RUNNING
    args = data.get("args") or (event.data.get("args") if event else None) or {}
    verdicts = [verdict for verdict in verdicts if isinstance(verdict, dict)]
    return Call(
        events[0].session, events[0].call, tuple(events), state, event.at if event else None,
        ended.at if ended else None, data, args if isinstance(args, dict) else {}, tuple(verdicts),
    )  # fmt: skip


def replace_verdicts(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """The verdicts, with later ones in place of those that they replace."""
    later = {mark(verdict): verdict for verdict in new if isinstance(verdict, dict)}
    kept = []
    for verdict in old:
        if isinstance(verdict, dict):
            order_fields = {name: verdict[name] for name in ("order", "form", "kind") if name in verdict}
            kept.append({**order_fields, **later.pop(mark(verdict), verdict)})
    return kept + list(later.values())


def mark(verdict: dict[str, Any]) -> tuple[str, str, str]:
    return (*identify_contract(verdict), str(verdict.get("subject", "")))


def find_next_step(call: Call, calls: Sequence[Call]) -> tuple[str, Call | None]:
    """The agent's next step for the same effect, among `calls` of the session: SAME, OTHER or NOTHING, and the call.
    Calls that ran in parallel do not count."""
    last = call.events[-1].id
    ended = last if call.ended is None else next(event.id for event in call.events if event.event == ENDED)
    for other in calls:
        if other.first.id <= ended or other.call == call.call or other.first.agent != call.first.agent:
            continue
        if call.identity and other.identity == call.identity:
            return SAME, other
        if has_same_effect(call, other):
            return OTHER, other
    return NOTHING, None


def describe_attempt(call: Call, every: Sequence[Call]) -> tuple[int | None, Any]:
    """The number of the attempt, and the arguments that changed since the previous one (None: there was none). Uses
    the hook's own count if there is one, otherwise the earlier calls."""
    if call.data.get("attempt") or not call.verdicts:
        return call.data.get("attempt"), call.data.get("changed")
    number, older = 1, None
    for other in every:
        if other.call == call.call or other.events[-1].id > call.first.id:
            continue
        if other.identity == call.identity:
            number = 1 if other.state == VERIFIED else number + (other.corrected or other.state == REFUSED)
        contracts = {identify_contract(verdict) for verdict in other.verdicts}
        if other.corrected and any(identify_contract(verdict) in contracts for verdict in call.verdicts):
            older = other
    if older is None:
        return number, None
    names = {*older.args, *call.args}
    return number, sorted(name for name in names if older.args.get(name) != call.args.get(name))


def has_same_effect(call: Call, other: Call) -> bool:
    """Whether another call has the effect that this one missed: it grants the same, a contract expects the same of
    it, or it is one of the contract's alternatives."""
    wrong = [verdict for verdict in call.enforced if verdict.get("state") != VERIFIED] or list(call.wrong)
    if not wrong:
        wrong = [{"alternatives": call.data.get("alternatives", ())}]
    for verdict in wrong:
        if other.tool in (verdict.get("alternatives") or ()):
            return True
        for theirs in other.verdicts:
            if verdict.get("grants") and theirs.get("grants") == verdict["grants"]:
                return True
            expected = verdict.get("expected")
            if expected and theirs.get("expected") == expected and mark(theirs) == mark(verdict):
                return True
    return False


def is_false_success(call: Call) -> bool:
    """Whether the call was a false success."""
    return any(verdict.get("outcome") == FALSE_SUCCESS for verdict in call.verdicts)


def has_claim(call: Call) -> bool:
    """Whether the call reported success and was judged."""
    return call.reported == SUCCESS and any(verdict.get("state") in DECIDED for verdict in call.verdicts)
