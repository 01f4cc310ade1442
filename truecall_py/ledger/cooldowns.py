"""Finds the paused routes (a tool, or a shell contract) after repeated false successes, from the events of the
ledger. Loaded only after a false success.

The unit (`ticks`) is one batch of calls. If the client does not report batches, it is a group of calls that ran side
by side.
"""

from __future__ import annotations

from truecall_py.core.types import FALSE_SUCCESS, LANDED
from truecall_py.ledger.events import Cooldown, name_contract_route, update_rows
from truecall_py.ledger.store import BATCH, ENDED, JUDGED, REFUSED, REQUESTED, SETTLED, Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any



def find_cooldowns(events: Sequence[Event], policy: Mapping[str, Any]) -> dict[str, Cooldown]:
    """Returns the routes that are paused after these events of a session. `policy` is the contract file's own."""
    cooldowns: dict[str, Cooldown] = {}
    after = int(policy.get("quarantine", {}).get("after", 2))
    ticks = int(policy.get("quarantine", {}).get("ticks", 3))
    if not after or not ticks:
        return cooldowns
    lies: dict[str, int] = {}
    requested = {event.call: place for place, event in enumerate(events) if event.event == REQUESTED}
    last: dict[tuple[str, str], int] = {}  # where a call with these arguments lied last
    for index, rows in iterate_judgements(events):
        call = events[index]
        counted = set()  # one false success per call, however many contracts refute it
        for row in rows:
            route = find_route(row)
            if not route or row.get("mode") == "observe":
                continue
            if row.get("outcome") == LANDED:
                lies[route] = 0
                cooldowns.pop(route, None)
            if row.get("outcome") != FALSE_SUCCESS or route in counted:
                continue
            counted.add(route)
            twin = last.get((route, call.identity), -1) > requested.get(call.call, index)  # they ran side by side
            last[route, call.identity] = index
            if twin and call.identity:
                continue
            lies[route] = lies.get(route, 0) + 1
            if lies[route] >= after:
                lies[route] = 0
                since = count_ticks(events, index)
                if since <= ticks:
                    left = min(ticks, ticks - since + 1)
                    cooldowns[route] = Cooldown(route, left, row.get("contract", ""), row.get("found", ""),
                                        tuple(row.get("alternatives", ())))  # fmt: skip
                else:
                    cooldowns.pop(route, None)
    return cooldowns


def iterate_judgements(events: Sequence[Event]) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yields (position, verdicts) of each time that calls were judged: at their end, and when pending work ended. A
    later fix does not change an earlier verdict."""
    ended: dict[str, Event] = {}
    for index, event in enumerate(events):
        if event.event == ENDED:
            ended[event.call] = event
            yield index, list(event.data.get("verdicts", ()))
        elif event.event in (JUDGED, SETTLED) and event.call in ended:
            first = ended.pop(event.call)
            old = first.data.get("verdicts", ())
            yield index, [new for row, new in zip(old, update_rows(first, event)) if new is not row]  # noqa: B905 - as many


def find_route(row: Mapping[str, Any]) -> str:
    """Returns the route that is paused if this verdict is a false success; "" if none ever is."""
    route = str(row.get("route", ""))
    return route if route != "shell" else name_contract_route(str(row.get("file", "")), str(row.get("contract", "")))


def count_ticks(events: Sequence[Event], index: int) -> int:
    """Returns the batches since an event; 1 in the batch that follows its own."""
    later = events[index + 1 :]
    if any(event.event == BATCH for event in events):
        return sum(1 for event in later if event.event == BATCH)
    began = count_groups(later)
    return began if later and later[-1].event == REQUESTED else began + 1


def count_groups(events: Sequence[Event]) -> int:
    """Counts groups of calls that ran side by side: a new one begins when a call is requested after another ended."""
    count, ended = 0, True
    for event in events:
        if event.event in (REQUESTED, REFUSED) and ended:
            count, ended = count + 1, event.event == REFUSED
        elif event.event == ENDED:
            ended = True
    return count
