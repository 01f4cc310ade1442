"""A call, as the ledger tells of it from its request to what the agent did next. A view over events for `log`,
`last`, `stats` and reports; never asks the world, and decides nothing that the hook has not decided."""

from __future__ import annotations

from truecall_py.core.record import record
from truecall_py.core.types import FAILURE, LIE, REFUTED, SUCCESS, UNVERIFIED, VERIFIED
from truecall_py.ledger.events import contract_of
from truecall_py.ledger.store import ENDED, JUDGED, REFUSED, REQUESTED, SETTLED, WAITING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from truecall_py.ledger.store import Event

PENDING, RUNNING = "pending", "running"
KINDS = (REQUESTED, WAITING, ENDED, REFUSED, JUDGED, SETTLED)
BESIDE = ("intent ", "receipt ", "steps ")  # what is told of a call's operation: operations.py, steps.py
STATES = (REFUTED, UNVERIFIED, VERIFIED, PENDING, REFUSED, RUNNING)
DECIDED = (VERIFIED, REFUTED, UNVERIFIED)
SAME, OTHER, NOTHING = "same call", "other route", "nothing"
TOLD = ("append", "replace")


@record(frozen=True)
class Call:
    """One call. `began` and `ended` are in seconds since the epoch (None: not told); `state` is the worst verdict as
    it stands now, `refused`, `running` (asked for, and no end was told), or "" where no contract applied; `verdicts`
    are the ones that count now; `events` all that is known, in order."""

    session: str
    call: str
    events: tuple[Event, ...]
    state: str
    began: float | None
    ended: float | None
    data: dict[str, Any]  # what ENDED, or REFUSED, keeps
    args: dict[str, Any]
    verdicts: tuple[dict[str, Any], ...]

    @property
    def tool(self) -> str:
        return next((each.tool for each in reversed(self.events) if each.tool), "")

    @property
    def identity(self) -> str:
        mine = (each.identity for each in reversed(self.events) if each.identity and each.event in KINDS)
        return next(mine, "")

    @property
    def first(self) -> Event:
        return self.events[0]

    @property
    def harness(self) -> str:
        return self.first.harness

    @property
    def cwd(self) -> str:
        return next((str(each.data["cwd"]) for each in self.events if each.data.get("cwd")), "")

    @property
    def reported(self) -> str:
        return str(self.data.get("reported", ""))

    @property
    def at(self) -> float:
        """When it happened, for sorting and showing."""
        return self.began if self.began is not None else self.first.at

    @property
    def enforced(self) -> tuple[dict[str, Any], ...]:
        return tuple(each for each in self.verdicts if each.get("mode") != "observe")

    @property
    def told(self) -> bool:
        """Whether the agent was told something about it."""
        if "form" in self.data:
            return self.data["form"] in TOLD
        if any(each.event == REFUSED for each in self.events):
            return True
        return self.reported != FAILURE and any(each.get("state") in (REFUTED, UNVERIFIED) for each in self.enforced)

    @property
    def corrected(self) -> bool:
        """Whether the agent was told that it is not done, or may not be."""
        return self.told and any(each.get("state") in (REFUTED, UNVERIFIED) for each in self.enforced)

    @property
    def wrong(self) -> tuple[dict[str, Any], ...]:
        """The verdicts by which it was not done, or may not be: those of when it ended, and those that count now."""
        first = self.data.get("verdicts")
        rows = [*(first if isinstance(first, (list, tuple)) else ()), *self.verdicts]
        return tuple(
            each for each in rows
            if isinstance(each, dict) and each.get("mode") != "observe" and each.get("state") in (REFUTED, UNVERIFIED)
        )  # fmt: skip

    @property
    def was_corrected(self) -> bool:
        """Whether the agent was told that it is not done, or may not be, whatever was found later."""
        return self.told and bool(self.wrong)


def of(events: Iterable[Event]) -> list[Call]:
    """The calls that events of any sessions tell of, in the order in which they began."""
    groups: dict[tuple[str, str], list[Event]] = {}
    loose = []
    for each in events:
        if each.event == WAITING and (each.session, each.call) not in groups:
            loose.append(each)
        elif each.event in KINDS or each.event.startswith(BESIDE):
            groups.setdefault((each.session, each.call), []).append(each)
    for each in loose:
        group = asking(each, groups)
        if group is not None:
            group.append(each)
            group.sort(key=lambda one: one.id)
    return [one(group) for group in groups.values() if any(each.event in KINDS for each in group)]


def asking(waiting: Event, groups: dict[tuple[str, str], list[Event]]) -> list[Event] | None:
    """The call that waits: Codex tells of that without the call's id, so it is the last one in this turn with these
    arguments that was asked for before."""
    found = None
    for (session, _), group in groups.items():
        first = group[0]
        if session == waiting.session and first.id < waiting.id and first.turn == waiting.turn:
            found = group if first.identity == waiting.identity else found
    return found


def one(events: Sequence[Event]) -> Call:
    """The call that these events, all of one call, tell of."""
    last = {each.event: each for each in events}
    asked, ended, refused = (last.get(name) for name in (REQUESTED, ENDED, REFUSED))
    settled = last.get(SETTLED) or last.get(JUDGED)
    data = ended.data if ended else refused.data if refused else {}
    verdicts = list(data.get("verdicts", ())) if isinstance(data.get("verdicts", ()), (list, tuple)) else []
    if settled:
        verdicts = renewed(verdicts, settled.data.get("verdicts", ()))
        state = settled.state
    elif ended:
        state = ended.state
    else:
        state = REFUSED if refused else RUNNING
    args = data.get("args") or (asked.data.get("args") if asked else None) or {}
    verdicts = [each for each in verdicts if isinstance(each, dict)]
    return Call(
        events[0].session, events[0].call, tuple(events), state, asked.at if asked else None,
        ended.at if ended else None, data, args if isinstance(args, dict) else {}, tuple(verdicts),
    )  # fmt: skip


def renewed(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Verdicts with those that came later in the place of the ones they settle."""
    later = {mark(each): each for each in new if isinstance(each, dict)}
    kept = []
    for each in old:
        if isinstance(each, dict):
            told = {name: each[name] for name in ("order", "form", "kind") if name in each}
            kept.append({**told, **later.pop(mark(each), each)})
    return kept + list(later.values())


def mark(verdict: dict[str, Any]) -> tuple[str, str, str]:
    return (*contract_of(verdict), str(verdict.get("subject", "")))


def after(call: Call, calls: Sequence[Call]) -> tuple[str, Call | None]:
    """What the agent did next about the same effect, among all calls of the session: (same call | other route |
    nothing, that call). Calls that ran side by side with it are no answer to it."""
    ended = call.events[-1].id if call.ended is None else next(each.id for each in call.events if each.event == ENDED)
    for other in calls:
        if other.first.id <= ended or other.call == call.call or other.first.agent != call.first.agent:
            continue
        if call.identity and other.identity == call.identity:
            return SAME, other
        if same_effect(call, other):
            return OTHER, other
    return NOTHING, None


def attempt(call: Call, every: Sequence[Call]) -> tuple[int | None, Any]:
    """Which attempt a call was, and what was changed since the one before (None: there was none). The hook counts
    where something was refuted; of any other call it is told by those before it."""
    if call.data.get("attempt") or not call.verdicts:
        return call.data.get("attempt"), call.data.get("changed")
    number, older = 1, None
    for other in every:
        if other.call == call.call or other.events[-1].id > call.first.id:
            continue
        if other.identity == call.identity:
            number = 1 if other.state == VERIFIED else number + (other.corrected or other.state == REFUSED)
        contracts = {contract_of(each) for each in other.verdicts}
        if other.corrected and any(contract_of(each) in contracts for each in call.verdicts):
            older = other
    if older is None:
        return number, None
    names = {*older.args, *call.args}
    return number, sorted(name for name in names if older.args.get(name) != call.args.get(name))


def same_effect(call: Call, other: Call) -> bool:
    """Whether another call was about what this one did not bring about: it grants the same, a contract expects the
    very same of it, or it goes the way that the contract names."""
    wrong = [each for each in call.enforced if each.get("state") != VERIFIED] or list(call.wrong)
    if not wrong:
        wrong = [{"alternatives": call.data.get("alternatives", ())}]
    for each in wrong:
        if other.tool in (each.get("alternatives") or ()):
            return True
        for theirs in other.verdicts:
            if each.get("grants") and theirs.get("grants") == each["grants"]:
                return True
            if each.get("expected") and theirs.get("expected") == each["expected"] and mark(theirs) == mark(each):
                return True
    return False


def lied(call: Call) -> bool:
    """Whether it claimed success falsely."""
    return any(each.get("outcome") == LIE for each in call.verdicts)


def claimed(call: Call) -> bool:
    """Whether it claimed success, and a contract was asked about that."""
    return call.reported == SUCCESS and any(each.get("state") in DECIDED for each in call.verdicts)
