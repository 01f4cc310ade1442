"""The gate at the stop: whether an agent may end its turn, by what the ledger says of it and what is there now. Holds
an agent once, and never again for the same; never lets a doubt pass for a success.

Before it holds anybody it looks again (`gate`).
"""

from __future__ import annotations

import os
import time

from truecall_py.core.types import REFUTED
from truecall_py.ledger import open_calls, pending_calls
from truecall_py.ledger.events import as_data, sealed
from truecall_py.ledger.notices_shown import mark, told_before
from truecall_py.ledger.open_calls import Open
from truecall_py.ledger.session_marks import LedgerLost
from truecall_py.ledger.store import STOP, Event, LedgerError
from truecall_py.messages import stop as stop_words
from truecall_py.stop.gate import Gate, at_stop
from truecall_py.trust import store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any

    from truecall_py.core.types import Reply, Stop, Verdict
    from truecall_py.trust.store import Source

AT_ONCE = 40  # keys of what stands open that one event of the ledger keeps
FINDINGS = 6  # verdicts at the stop that one event keeps, with their evidence


def reply(
    harness: ModuleType, stop: Stop, found: Sequence[Source], state: str, folder: str, ends: float,
    notices: tuple[str, ...],
) -> Reply:  # fmt: skip
    """The answer to an agent that wants to stop."""
    notices += unjudged(stop, found, state)
    if not any(source.index is not None for source in found):
        return answer(harness, stop, "", notices)
    if not stop.session:
        return nameless(harness, stop, found, ends, notices)
    try:
        kept = pending_calls.names(state, stop.session)
        gate = Gate(harness, stop, found, state, folder, ends)
        opened = gate.opened(gate.learn())
        judged, wrong = gate.claims()
        doubts = gate.doubts()
        if gate.lost() and not opened:
            raise LedgerLost("the ledger was begun anew or could not be written in this turn: not all is known")
    except LedgerError as error:
        return forgetful(harness, stop, found, state, ends, error, notices)
    holding = [each for each in judged if each.mode != "observe" and held_for(each)]
    new = [each for each in opened if each.key not in gate.told]
    before = open_calls.held_before(gate.stops, stop)
    hold = not stop.active and bool(new or any((each.contract, each.state) not in before for each in holding))
    if hold:  # where the ledger could not take down that it held, a mark did
        what = sealed([[each.key for each in new], [each.contract for each in holding]], gate.ledger.key())
        hold = not os.path.exists(mark(state, f"{stop.session}{stop.turn}", stop.agent, f"stop {what}"))
        if not remember(gate, hold, opened, judged) and hold:
            held_once(state, stop, what)
    else:
        remember(gate, hold, opened, judged)
    if not hold and not stop.agent and (stop.active or not opened):
        pending_calls.end(state, stop.session, kept, gate.staying(), time.time())
    notices += tuple(stop_words.render_damaged_notice(why) for why in wrong)
    if hold:
        return answer(harness, stop, stop_words.render_hold(opened, holding), notices + told(judged, holding))
    if opened or holding:
        notices += (stop_words.render_unresolved_notice(opened, holding, doubts),)
    return answer(harness, stop, "", notices + told(judged, holding))


def held_for(verdict: Verdict) -> bool:
    """Whether what was found at the stop is the agent's to mend."""
    return verdict.state == REFUTED or verdict.cause in open_calls.OF_THE_WORLD


def held_once(state: str, stop: Stop, what: str = "") -> bool:
    """Whether this agent was held in this turn before (for `what`), by a mark beside the ledger; it is set now."""
    return told_before(state, f"{stop.session}{stop.turn}", stop.agent, f"stop {what}")


def told(judged: Sequence[Verdict], holding: Sequence[Verdict]) -> tuple[str, ...]:
    """What the person is told of the rest."""
    return tuple(stop_words.render_verdict_notice(each) for each in judged if each not in holding)


def unjudged(stop: Stop, found: Sequence[Source], state: str) -> tuple[str, ...]:
    """What the person is told, once a session, of contract files by which nothing was judged: nobody trusted them."""
    return tuple(
        stop_words.render_untrusted_notice(source.path, source.why) for source in found
        if source.status == store.UNTRUSTED and stop.session and not stop.agent
        and not told_before(state, stop.session, source.path, "untrusted at the stop")
    )  # fmt: skip


def remember(gate: Gate, hold: bool, opened: Sequence[Open], judged: Sequence[Verdict]) -> bool:
    """Writes the stop down, in as many events as it takes; whether that could be done."""
    at, stop = time.time(), gate.stop
    keys = [list(each.key) for each in opened]
    parts = range(0, len(keys) or 1, AT_ONCE)
    rows: list[dict[str, Any]] = [{"open": keys[start : start + AT_ONCE]} for start in parts]
    rows[0] = {"held": hold, **rows[0], "claims": [[each.contract, each.state] for each in judged][:100]}
    found = evidence(gate, judged)
    rows += [{"verdicts": found[start : start + FINDINGS]} for start in range(0, len(found), FINDINGS)]
    name = f"stop {at:.6f} {os.getpid()}"
    try:
        gate.ledger.add(*(
            Event(stop.session, f"{name} {number}" if number else name, STOP, at, stop.harness, stop.turn, stop.agent,
                  data=data)
            for number, data in enumerate(rows)
        ))  # fmt: skip
    except LedgerError:
        return False
    return True


def evidence(gate: Gate, judged: Sequence[Verdict]) -> list[dict[str, Any]]:
    """What the ledger keeps of verdicts at a stop; of a contract with `store: none`, not what was found."""
    rows = [as_data(each, "", gate.ledger.key(), "") for each in judged[:AT_ONCE]]
    return [
        {name: value for name, value in row.items() if not each.private or name not in ("found", "expected")}
        for row, each in zip(rows, judged)  # noqa: B905 - of the first ones
    ]


def nameless(
    harness: ModuleType, stop: Stop, found: Sequence[Source], ends: float, notices: tuple[str, ...]
) -> Reply:
    """The answer where the client names no session: nobody can be held once, so the person is told."""
    judged, wrong = at_stop(found, stop, None, (), ends)
    notices += (stop_words.render_unverified_notice("the client names no session"),)
    notices += (*map(stop_words.render_damaged_notice, wrong), *told(judged, ()))
    return answer(harness, stop, "", notices)


def forgetful(
    harness: ModuleType, stop: Stop, found: Sequence[Source], state: str, ends: float, error: LedgerError,
    notices: tuple[str, ...],
) -> Reply:  # fmt: skip
    """The answer where nobody can say what was done: the agent is held once, to tell the person so."""
    judged, wrong = at_stop(found, stop, None, (), ends)
    holding = [each for each in judged if each.mode != "observe" and held_for(each)]
    notices += (stop_words.render_unverified_notice(error.what),)
    notices += (*map(stop_words.render_damaged_notice, wrong), *told(judged, holding))
    if stop.active or held_once(state, stop):
        return answer(harness, stop, "", notices)
    return answer(harness, stop, stop_words.render_unverified_turn(error.what, holding), notices)


def answer(harness: ModuleType, stop: Stop, text: str, notices: tuple[str, ...]) -> Reply:
    made: Reply = harness.hold(stop.event, text, notices)
    return made
