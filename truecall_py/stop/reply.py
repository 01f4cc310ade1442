"""Decides at a stop whether the agent may end its turn, from the ledger and one more probe (`gate`). Holds an agent
once and never twice for the same reason. An unverified effect is never a pass."""

from __future__ import annotations

import os
import time

from truecall_py.core.types import REFUTED, Reply, Stop, Verdict
from truecall_py.ledger import open_calls, pending_calls
from truecall_py.ledger.events import encode_verdict, seal
from truecall_py.ledger.notices_shown import locate_mark, mark_shown
from truecall_py.ledger.open_calls import Open
from truecall_py.ledger.session_marks import LedgerLost
from truecall_py.ledger.store import STOP, Event, LedgerError
from truecall_py.messages import stop as stop_words
from truecall_py.stop.gate import Gate, judge_sources
from truecall_py.trust import store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any

    from truecall_py.trust.store import Source

KEYS_PER_EVENT = 40  # keys of unresolved verdicts per event
VERDICTS_PER_EVENT = 6  # verdicts at the stop that one event keeps, with their evidence


def answer_stop(
    harness: ModuleType, stop: Stop, sources: Sequence[Source], state: str, folder: str, ends: float,
    notices: tuple[str, ...],
) -> Reply:  # fmt: skip
    """Returns the reply to an agent that wants to stop."""
    notices += list_untrusted(stop, sources, state)
    if not any(source.index is not None for source in sources):
        return render_answer(harness, stop, "", notices)
    if not stop.session:
        return answer_without_session(harness, stop, sources, ends, notices)
    try:
        kept = pending_calls.list_names(state, stop.session)
        gate = Gate(harness, stop, sources, state, folder, ends)
        opened = gate.list_open(gate.resolve_endless())
        verdicts, wrong = gate.judge_claims()
        doubts = gate.list_doubts()
        if gate.has_lost_ledger() and not opened:
            raise LedgerLost("the ledger was begun anew or could not be written in this turn: not all is known")
    except LedgerError as error:
        return answer_without_ledger(harness, stop, sources, state, ends, error, notices)
    holding = [verdict for verdict in verdicts if verdict.mode != "observe" and is_actionable(verdict)]
    new = [call for call in opened if call.key not in gate.shown]
    held = open_calls.list_held(gate.stops, stop)
    hold = not stop.active and bool(new or any((verdict.contract, verdict.state) not in held for verdict in holding))
    if hold:  # where the ledger could not take down that it held, a mark did
        digest = seal([[call.key for call in new], [verdict.contract for verdict in holding]], gate.ledger.read_key())
        hold = not os.path.exists(locate_mark(state, f"{stop.session}{stop.turn}", stop.agent, f"stop {digest}"))
        if not record_stop(gate, hold, opened, verdicts) and hold:
            hold_once(state, stop, digest)
    else:
        record_stop(gate, hold, opened, verdicts)
    if not hold and not stop.agent and (stop.active or not opened):
        pending_calls.end_turn(state, stop.session, kept, gate.list_running(), time.time())
    notices += tuple(stop_words.render_damaged_notice(why) for why in wrong)
    if hold:
        return render_answer(
            harness, stop, stop_words.render_hold(opened, holding), notices + list_notices(verdicts, holding)
        )
    if opened or holding:
        notices += (stop_words.render_unresolved_notice(opened, holding, doubts),)
    return render_answer(harness, stop, "", notices + list_notices(verdicts, holding))


def is_actionable(verdict: Verdict) -> bool:
    """Tells whether the agent can fix an unresolved verdict."""
    return verdict.state == REFUTED or verdict.cause in open_calls.ACTIONABLE_CAUSES


def hold_once(state: str, stop: Stop, what: str = "") -> bool:
    """Tells whether this agent was already held in this turn (for `what`), and marks that beside the ledger."""
    return mark_shown(state, f"{stop.session}{stop.turn}", stop.agent, f"stop {what}")


def list_notices(verdicts: Sequence[Verdict], holding: Sequence[Verdict]) -> tuple[str, ...]:
    """Returns the notices for the user about everything else."""
    return tuple(stop_words.render_verdict_notice(verdict) for verdict in verdicts if verdict not in holding)


def list_untrusted(stop: Stop, sources: Sequence[Source], state: str) -> tuple[str, ...]:
    """Returns the notices about untrusted contract files, once a session."""
    return tuple(
        stop_words.render_untrusted_notice(source.path, source.why) for source in sources
        if source.status == store.UNTRUSTED and stop.session and not stop.agent
        and not mark_shown(state, stop.session, source.path, "untrusted at the stop")
    )  # fmt: skip


def record_stop(gate: Gate, hold: bool, opened: Sequence[Open], verdicts: Sequence[Verdict]) -> bool:
    """Records the stop, in as many events as needed. Returns whether that succeeded."""
    at, stop = time.time(), gate.stop
    keys = [list(call.key) for call in opened]
    parts = range(0, len(keys) or 1, KEYS_PER_EVENT)
    rows: list[dict[str, Any]] = [{"open": keys[start : start + KEYS_PER_EVENT]} for start in parts]
    rows[0] = {"held": hold, **rows[0], "claims": [[verdict.contract, verdict.state] for verdict in verdicts][:100]}
    kept = keep_evidence(gate, verdicts)
    rows += [
        {"verdicts": kept[start : start + VERDICTS_PER_EVENT]} for start in range(0, len(kept), VERDICTS_PER_EVENT)
    ]
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


def keep_evidence(gate: Gate, verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Returns stop verdicts as they are stored; without evidence for a contract with `store: none`."""
    rows = [encode_verdict(verdict, "", gate.ledger.read_key(), "") for verdict in verdicts[:KEYS_PER_EVENT]]
    return [
        {name: value for name, value in row.items() if not other.private or name not in ("found", "expected")}
        for row, other in zip(rows, verdicts)  # noqa: B905 - of the first ones
    ]


def answer_without_session(
    harness: ModuleType, stop: Stop, sources: Sequence[Source], ends: float, notices: tuple[str, ...]
) -> Reply:
    """Returns the reply if the client names no session. No agent can be held only once then, so the user is
    notified."""
    verdicts, wrong = judge_sources(sources, stop, None, (), ends)
    notices += (stop_words.render_unverified_notice("the client names no session"),)
    notices += (*map(stop_words.render_damaged_notice, wrong), *list_notices(verdicts, ()))
    return render_answer(harness, stop, "", notices)


def answer_without_ledger(
    harness: ModuleType, stop: Stop, sources: Sequence[Source], state: str, ends: float, error: LedgerError,
    notices: tuple[str, ...],
) -> Reply:  # fmt: skip
    """Returns the reply if the ledger cannot be read: the agent is held once, to tell the user."""
    verdicts, wrong = judge_sources(sources, stop, None, (), ends)
    holding = [verdict for verdict in verdicts if verdict.mode != "observe" and is_actionable(verdict)]
    notices += (stop_words.render_unverified_notice(error.what),)
    notices += (*map(stop_words.render_damaged_notice, wrong), *list_notices(verdicts, holding))
    if stop.active or hold_once(state, stop):
        return render_answer(harness, stop, "", notices)
    return render_answer(harness, stop, stop_words.render_unverified_turn(error.what, holding), notices)


def render_answer(harness: ModuleType, stop: Stop, text: str, notices: tuple[str, ...]) -> Reply:
    reply: Reply = harness.hold(stop.event, text, notices)
    return reply
