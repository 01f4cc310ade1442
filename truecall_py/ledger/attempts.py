"""Counts how often a call was tried, and how many attempts its session has spent, from the events of the ledger.
Loaded only after a refutation.

Calls that ran side by side are one attempt: the agent had not seen the first result yet. An attempt is given back
once its effect is there. After an edit, a call that compiles, lints or tests is a new one.
"""

from __future__ import annotations

from truecall_py.core.record import record
from truecall_py.core.types import (
    FAILURE,
    FALSE_SUCCESS,
    LANDED,
    REFUTED,
    REPORTED_FAILURE,
    SUCCESS,
    VERIFIED,
    ToolCall,
    Verdict,
)
from truecall_py.ledger.events import (
    EDITED,
    NOISE,
    SHOWN_FORMS,
    Trial,
    identify_contract,
    is_partial,
    mask_args,
    name_turn,
    shorten_path,
    update_rows,
)
from truecall_py.ledger.open_calls import find_open_state, is_put_right
from truecall_py.ledger.store import BATCH, ENDED, JUDGED, REFUSED, REQUESTED, SETTLED, Event
from truecall_py.policy import retry_budgets
from truecall_py.policy.retry_budgets import COMPILE, LINT, TEST, Budget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.ledger.session_history import SessionHistory

WORKED_ON = (COMPILE, LINT, TEST)
NOT_YET_WRITTEN = 1 << 62  # the place in the ledger of what is not written yet
MAX_EARLIER = 2  # earlier attempts that a correction lists
GUARD = "guard"  # why a call was refused, as remembering.barred has it


@record(frozen=True)
class Try:
    """One call that ended or was refused. `asked` and `ended` are positions in the ledger; `rows` are its current
    verdicts; `landed` says that its effect is there; `event` is None for the call that is being judged."""

    asked: int
    ended: int
    turn: str
    agent: str
    event: Event | None = None
    rows: tuple[dict[str, Any], ...] = ()
    landed: bool = False

    @property
    def data(self) -> dict[str, Any]:
        return self.event.data if self.event else {}

    @property
    def refused(self) -> bool:
        return self.event is not None and self.event.event == REFUSED

    @property
    def wrong(self) -> list[dict[str, Any]]:
        """The verdicts by which it failed: the effect was missing, and the agent was told."""
        return [row for row in self.rows if row.get("state") == REFUTED and row.get("form") in SHOWN_FORMS]

    @property
    def failed(self) -> bool:
        """Whether it was refused or refuted. A reported failure without a correction does not count."""
        return self.refused or bool(self.wrong)

    @property
    def counts(self) -> bool:
        """Whether it counts against the session's limit; a reported failure only if it was a repetition."""
        first = int(self.data.get("attempt") or 1) == 1
        return self.refused or any(not first or row.get("outcome") != REPORTED_FAILURE for row in self.wrong)


def list_tries(events: Sequence[Event]) -> list[Try]:
    """Returns the calls of a session that ended or were refused, in the order of their ends."""
    requested = {event.call: event.id for event in events if event.event == REQUESTED}
    later = {event.call: event for event in reversed(events) if event.event in (JUDGED, SETTLED)}  # the first counts
    settled = {event.call for event in events if event.event == SETTLED}
    met = {event.call for event in events if event.event == REQUESTED and event.data.get("met")}
    return [
        Try(requested.get(event.call, event.id), event.id, event.turn, event.agent, event,
            update_rows(event, later.get(event.call)),
            event.state == VERIFIED or event.call in settled or (event.call in met and is_only_guarded(event)))
        for event in events if event.event in (ENDED, REFUSED)
    ]  # fmt: skip


def is_only_guarded(event: Event) -> bool:
    """Tells whether a call had only guards, and reported success."""
    return event.event == ENDED and not event.data.get("verdicts") and event.data.get("reported") == SUCCESS


def group_attempts(same: Sequence[Try], batches: Sequence[int]) -> list[list[Try]]:
    """Groups calls with the same arguments into attempts: a call requested before another had ended belongs to it,
    even of another agent. `batches` are the positions where a batch of calls ended."""
    groups: list[list[Try]] = []
    for attempt in same:
        if groups and any(
            (attempt.asked < other.ended and (other is groups[-1][0] or other.agent == attempt.agent))
            or is_same_batch(other, attempt, batches)
            for other in groups[-1]
        ):
            groups[-1].append(attempt)
        else:
            groups.append([attempt])
    return groups


def is_same_batch(one: Try, other: Try, batches: Sequence[int]) -> bool:
    """Tells whether two consecutive calls were of one batch. Batches are recorded only after the first false success
    that can pause a tool."""
    told = one.refused or any(row.get("outcome") == FALSE_SUCCESS and row.get("route") for row in one.rows)
    between = any(one.ended < place < other.ended for place in batches)
    return bool(batches) and told and not between and (one.turn, one.agent) == (other.turn, other.agent)


def find_trial(history: SessionHistory, call: ToolCall, verdict: Verdict, said: str, text: str) -> Trial:
    """Returns the attempts so far of a refuted call. Raises LedgerError."""
    events = history.list_before(call)
    past, mine = list_tries(events), history.identity(call)
    request = next(
        (event.id for event in events if event.event == REQUESTED and event.call == call.call_id), NOT_YET_WRITTEN
    )
    batches = [event.id for event in events if event.event == BATCH]
    kind = retry_budgets.classify_failure(verdict, said, text)
    series = group_attempts(
        [*select_same(past, mine), Try(request, NOT_YET_WRITTEN, name_turn(call), call.agent)], batches
    )
    counted, edited = count_attempts(series, past, kind, verdict)
    attempt = len(counted) + 1
    recent = [
        row["outcome"] for attempt in past for row in attempt.rows if row.get("outcome") in (LANDED, FALSE_SUCCESS)
    ]
    honest = verdict.outcome == REPORTED_FAILURE and attempt == 1
    allowed = retry_budgets.count_retries(kind, recent, history.policy)
    most = int(history.policy.get("session", retry_budgets.SESSION_LIMIT))
    budget = Budget(kind, attempt, allowed, count_spent(past, events, batches) + (not honest), most)
    earlier = [
        attempt
        for attempt in past
        if attempt not in series[-1] and attempt.failed and is_related(attempt, verdict, mine)
    ]
    return Trial(budget, list_changes(call, mine, earlier, edited), describe_earlier(counted, earlier))


def is_used_up(history: SessionHistory, call: ToolCall, more: int = 0) -> bool:
    """Tells whether the session had spent all of its attempts before this call, counting `more`. Raises
    LedgerError."""
    events = history.list_before(call)
    batches = [event.id for event in events if event.event == BATCH]
    most = int(history.policy.get("session", retry_budgets.SESSION_LIMIT))
    return count_spent(list_tries(events), events, batches) + more >= most


def select_same(past: Sequence[Try], identity: str) -> list[Try]:
    return [attempt for attempt in past if attempt.event is not None and attempt.event.identity == identity]


def count_attempts(
    series: Sequence[list[Try]], past: Sequence[Try], kind: str, verdict: Verdict
) -> tuple[list[list[Try]], bool]:
    """Returns the number of attempts that count before the last of `series`, and whether an edit made the call a new
    one."""
    counted: list[list[Try]] = []
    before: list[Try] = []
    edited = False
    for group in series:
        edited = bool(before) and kind in WORKED_ON and has_edit_between(past, before, group, verdict)
        if edited or any(attempt.landed for attempt in group):
            counted = []
        before = group
        if (
            group is not series[-1]
            and any(attempt.failed for attempt in group)
            and not any(attempt.landed for attempt in group)
        ):
            counted.append(group)
    return counted, edited


def has_edit_between(past: Sequence[Try], before: Sequence[Try], after: Sequence[Try], verdict: Verdict) -> bool:
    """Tells whether something was edited between two attempts: by a tool that edits files, or by a command that may
    change them. Failed or unresolved calls, and other runs that the same contract is about, do not count."""
    since, until = min(attempt.asked for attempt in before), min(attempt.asked for attempt in after)
    for attempt in past:
        if attempt.event is None or not since < attempt.ended < until or attempt in before or attempt in after:
            continue
        if (
            attempt.refused
            or attempt.data.get("reported") == FAILURE
            or any(find_open_state(row) for row in attempt.rows)
        ):
            continue
        if any(identify_contract(row) == (shorten_path(verdict.file), verdict.contract) for row in attempt.rows):
            continue
        if attempt.data.get("edits") or may_alter(attempt.data.get("args", {}).get("command")):
            return True
    return False


def may_alter(command: Any) -> bool:
    """Tells whether a shell command may have changed anything."""
    if not isinstance(command, str):
        return False
    from truecall_py.shell.commands import parse_simple_commands
    from truecall_py.shell.later_effects import only_reads

    simples = parse_simple_commands(command)
    return simples is None or not all(only_reads(simple) for simple in simples)


def count_spent(past: Sequence[Try], events: Sequence[Event], batches: Sequence[int]) -> int:
    """Counts the attempts of a session that were refuted or refused and not fixed since."""
    used: set[tuple[int, int]] = set()
    by_call: dict[str, list[Try]] = {}
    for attempt in past:
        if attempt.event is not None and attempt.counts and not attempt.landed:
            by_call.setdefault(attempt.event.identity, []).append(attempt)
    return sum(
        1 for same in by_call.values() for group in group_attempts(same, batches)
        if not any(is_made_good(attempt, events, used) for attempt in group)
    )  # fmt: skip


def is_made_good(one: Try, events: Sequence[Event], used: set[tuple[int, int]]) -> bool:
    """Tells whether the missing effect of a call is there now, by itself or by an alternative of the contract."""
    if one.event is None:
        return False
    if one.data.get("why") == GUARD:
        return all(has_met_guard_since(one, row, events, used) for row in one.rows)
    ways = set(one.data.get("alternatives", ())).union(*(row.get("alternatives", ()) for row in one.wrong))
    if all(
        is_put_right(one.event, row, events, used) or has_succeeded_since(one, row, events)
        for row in one.wrong or [{}]
    ):
        return True
    for later in events:
        there = later.id > one.ended and later.event == ENDED and later.state == VERIFIED
        if there and later.tool in ways and (later.id, -1) not in used:
            used.add((later.id, -1))
            return True
    return False


def has_met_guard_since(one: Try, row: dict[str, Any], events: Sequence[Event], used: set[tuple[int, int]]) -> bool:
    """Tells whether the guard that refused a call has passed another one since, so that the agent knows its
    condition. Each pass offsets one refusal."""
    guard = list(identify_contract(row))
    for later in events:
        met = later.data.get("met", ()) if later.id > one.ended and later.event == REQUESTED else ()
        if guard in met and (later.id, met.index(guard)) not in used:
            used.add((later.id, met.index(guard)))
            return True
    return False


def has_succeeded_since(one: Try, row: dict[str, Any], events: Sequence[Event]) -> bool:
    """Tells whether the same contract verified the same effect of a later call."""
    wanted = (VERIFIED, row.get("expected"), identify_contract(row))
    return bool(wanted[1]) and any(
        (verdict.get("state"), verdict.get("expected"), identify_contract(verdict)) == wanted
        for later in events if later.id > one.ended and later.event == ENDED
        for verdict in later.data.get("verdicts", ())
    )  # fmt: skip


def is_related(one: Try, verdict: Verdict, mine: str) -> bool:
    """Tells whether a call was about the same effect: the same call or contract, or one that grants the same."""
    if one.refused:
        return one.event is not None and one.event.identity == mine
    return any(
        identify_contract(row) == (shorten_path(verdict.file), verdict.contract)
        or (verdict.grants and row.get("grants") == verdict.grants)
        for row in one.rows
    )


def list_changes(call: ToolCall, mine: str, earlier: Sequence[Try], edited: bool) -> tuple[str, ...] | None:
    """Returns what changed since the previous attempt: names of arguments, and whether something was edited. None
    without a previous attempt or without its arguments."""
    if not earlier:
        return None
    older, now = earlier[-1].data.get("args", {}), mask_args(call.args)
    if now and not older:
        return None
    noise = NOISE if "shell" in call.kinds else frozenset()
    names = sorted(name for name in {*older, *now} - noise if older.get(name) != now.get(name))
    if not names and earlier[-1].event is not None and earlier[-1].event.identity != mine:
        names = sorted(name for name, text in now.items() if is_partial(text))  # it is in what is masked or cut
    return (*names, EDITED) if edited else tuple(names)


def describe_earlier(counted: Sequence[list[Try]], earlier: Sequence[Try]) -> tuple[str, ...]:
    """Returns the last attempts, one line each: those of this very call by number, and before them others for the
    same effect."""
    own = [(number, group[-1]) for number, group in enumerate(counted, 1)][-MAX_EARLIER:]
    inside = [attempt for group in counted for attempt in group]
    others = (
        [attempt for attempt in earlier if attempt not in inside][-(MAX_EARLIER - len(own)) :]
        if len(own) < MAX_EARLIER
        else []
    )
    return (*(f"before that: {describe_try(attempt)}" for attempt in others),
            *(f"attempt {number}: {describe_try(attempt)}" for number, attempt in own))  # fmt: skip


def describe_try(one: Try) -> str:
    """Describes the result of a call."""
    tool = one.event.tool if one.event else ""
    if one.refused:
        why = "by a guard" if one.data.get("why") == GUARD else "since its route rested"
        return f"{tool} was refused, {why}"
    found = next((row.get("found", "") for row in one.wrong), "")
    return f"{tool} reported {one.data.get('reported') or 'nothing'}; found {found or 'that it is not there'}"
