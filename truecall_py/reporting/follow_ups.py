"""What followed a call that was not done, step by step, until it was resolved or dropped. A view over calls; runs no
check and decides nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from heapq import merge
from itertools import islice
from typing import Any

from truecall_py.core.record import record
from truecall_py.core.types import VERIFIED
from truecall_py.ledger import open_calls
from truecall_py.ledger.store import ENDED, SETTLED
from truecall_py.reporting import calls
from truecall_py.reporting.calls import Call

STEPS = 12  # the most steps that are returned; all are followed
# The upper bounds, in seconds, of the classes of time until resolution.
BOUNDS = (10.0, 60.0, 600.0, 3600.0, 86400.0, float("inf"))


@record(frozen=True)
class Sequel:
    """`steps` are what the agent did next about the same effect, and after that: (same call | other route, the call);
    `more` how many of them are not handed out. `right` is when it was put right, in seconds since the epoch (None: it
    was not), `by` what did it: the name of a step, or who looked again and found it done."""

    steps: tuple[tuple[str, Call], ...] = ()
    more: int = 0
    right: float | None = None
    by: str = ""


class Sequels:
    """The sequels of the calls of one session. What came of a call is found once, however many lead to it, and looked
    for among those alone that could be it: a session may have very many calls."""

    def __init__(self, every: Sequence[Call]) -> None:
        self.every = every
        self.known: dict[str, tuple[str, Call | None]] = {}
        self.place = {call.call: number for number, call in enumerate(every)}
        self.index: dict[tuple[str, ...], list[int]] = {}
        for number, call in enumerate(every):
            for key in list_brought_keys(call):
                self.index.setdefault(key, []).append(number)

    def next(self, call: Call) -> tuple[str, Call | None]:
        """calls.find_next_step for this call among all of the session."""
        if call.call not in self.known:
            self.known[call.call] = self.found(call)
        return self.known[call.call]

    def found(self, call: Call) -> tuple[str, Call | None]:
        here = self.place[call.call]
        lists = [self.index[key] for key in sorted(list_wanted_keys(call)) if key in self.index]
        later = [islice(places, bisect_right(places, here), None) for places in lists]
        for number in merge(*later):
            what, other = calls.find_next_step(call, (self.every[number],))
            if other is not None:
                return what, other
        return calls.NOTHING, None

    def of(self, call: Call) -> Sequel:
        """The follow-up of one call. Steps only go forward, so this ends."""
        steps: list[tuple[str, Call]] = []
        more, here = 0, call
        while True:
            if (settled := find_settlement(here)) is not None:
                by = steps[-1][0] if steps else settled[1]
                return Sequel(tuple(steps), more, settled[0], by)
            what, other = self.next(here)
            if other is None:
                return Sequel(tuple(steps), more)
            if len(steps) < STEPS:
                steps.append((what, other))
            else:
                more += 1
            if other.state == VERIFIED and find_settlement(other) is None:
                return Sequel(tuple(steps), more, find_end(other), what)
            here = other


def list_brought_keys(call: Call) -> set[tuple[str, ...]]:
    """The keys under which a call may follow an earlier one."""
    return {("identity", call.identity), ("tool", call.tool)}.union(*map(list_effects, call.verdicts))


def list_wanted_keys(call: Call) -> set[tuple[str, ...]]:
    """The keys under which a call may be followed: at least all that `calls.find_next_step` uses."""
    keys: set[tuple[str, ...]] = {("identity", call.identity)} if call.identity else set()
    for row in (*call.enforced, *call.wrong, call.data):
        other = row.get("alternatives")
        keys |= list_effects(row) | {
            ("tool", str(tool)) for tool in (other if isinstance(other, (list, tuple)) else ())
        }
    return keys


def list_effects(row: dict[str, Any]) -> set[tuple[str, ...]]:
    """The keys of a verdict's effect."""
    keys: set[tuple[str, ...]] = {("grants", str(row["grants"]))} if row.get("grants") else set()
    return keys | {("expected", str(row["expected"]), *calls.mark(row))} if row.get("expected") else keys


def find_settlement(call: Call) -> tuple[float, str] | None:
    """When, and by what, an unresolved call was found done."""
    for event in call.events:
        if event.event == SETTLED and event.state == VERIFIED:
            return event.at, str(event.data.get("by") or "a later look")
    return None


def find_end(call: Call) -> float:
    return call.ended if call.ended is not None else call.at


def is_open(call: Call) -> bool:
    """Whether a call stood open when it ended, as the gate at the stop understands it: refuted, not finished, or in
    doubt through the tool or the world, and not in observe mode only."""
    rows = [row for event in call.events if event.event == ENDED for row in event.data.get("verdicts") or ()]
    return any(isinstance(row, dict) and open_calls.find_open_state(row) for row in rows)


class Waits:
    """How long calls stood open: for each bound of BOUNDS, how many were put right within it, and how many were still
    open when the session was heard of last."""

    def __init__(self) -> None:
        self.right, self.open = [0] * len(BOUNDS), [0] * len(BOUNDS)

    def session(self, every: Sequence[Call], sequels: Sequels) -> None:
        """Adds the calls of one session."""
        last = max((event.at for call in every for event in call.events), default=0.0)
        for call in every:
            if is_open(call):
                right = sequels.of(call).right
                row, until = (self.open, last) if right is None else (self.right, right)
                row[find_bound(until - find_end(call))] += 1


def find_bound(seconds: float) -> int:
    """The class of a time in BOUNDS; negative times count as 0."""
    return next(place for place, most in enumerate(BOUNDS) if seconds < most or most == BOUNDS[-1])
