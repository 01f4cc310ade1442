"""The hook: one event on standard input, one answer on standard output, whatever happens in between.

The fail-closed boundary. Everything that goes wrong here ends in an answer that says so; nothing ends in
silence but an event that is not judged, a call that no contract names, and one that kept all of them.
Standard library only, and as little of it as can be: this runs on every tool call.
"""

from __future__ import annotations

import os
import time

from truecall_py.core.errors import DeadlineReached, PayloadError, TruecallError, TrustError
from truecall_py.core.types import STOPS, Correction, Reply
from truecall_py.hook.deadline import arm, disarm
from truecall_py.hook.stdin import Options, decode, held_already, read_stdin, registration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from truecall_py.contracts.model import Contract
    from truecall_py.core.types import Stop, ToolCall
    from truecall_py.judging.recorder import Recorder
    from truecall_py.trust.store import Source

SEAL = "#truecall:end"  # the launcher takes nothing for an answer that does not end so
LOOKING = frozenset(("read", "fetch", "agent"))


def adapter(payload: dict[str, Any], registered: str) -> ModuleType:
    """The hook module of the client that sent this payload: its shape counts, not `registered`, the client that the
    command line names and that is only asked first. Raises PayloadError."""
    from truecall_py.clients import load_hook, recognise

    return load_hook(recognise(payload, registered))


def calls(harness: ModuleType, payload: dict[str, Any]) -> tuple[ToolCall, ...]:
    """The calls that a payload tells of and that are judged: the one that ended, or those of a batch that no
    event of their own ever told of."""
    call = harness.parse(payload)
    if call is not None:
        return (call,)
    refused: tuple[ToolCall, ...] = harness.refused(payload) if hasattr(harness, "refused") else ()
    return refused


def judged(
    harness: ModuleType, event: str, every: tuple[ToolCall, ...], options: Options, ends: float,
    notices: tuple[str, ...],
) -> Reply:  # fmt: skip
    """The reply to the calls of one event: every contract that counts is asked about each."""
    from truecall_py.core import paths
    from truecall_py.trust import store

    state = options.state or paths.state()
    session = paths.anchor(harness.PROJECT_ENV)
    sources = store.sources(session, state, paths.user_file(), options.contracts)
    corrections = []
    for call in every:
        correction, notices = judged_by(sources, call, state, session, ends, notices, options.transcript)
        corrections.append(correction)
        if event == "PostToolBatch" and any(source.guards(call) for source in sources):
            from truecall_py.guards.barrier import helped

            corrections.append(helped(sources, call, ends, session))
        if call.tool in getattr(harness, "WATCHES", ()) or os.path.exists(paths.runs(state, call.session)):
            from truecall_py.operations.settle import judge_ended

            corrections += judge_ended(harness, call, sources, state, session, ends, options.transcript)
    correction = corrections[0]
    if len(corrections) > 1:
        from truecall_py.messages.corrections import join_corrections

        correction = join_corrections(corrections)
    return answer(harness, event, every[0], correction, notices)


def asked(
    harness: ModuleType, event: str, call: ToolCall, options: Options, ends: float, notices: tuple[str, ...]
) -> Reply:
    """The reply before a call: what the contracts want to know of the world is kept for the judgement after it, and
    a call whose route rests is refused."""
    from truecall_py.core import paths
    from truecall_py.trust import store

    state = options.state or paths.state()
    session = paths.anchor(harness.PROJECT_ENV)
    sources = store.sources(session, state, paths.user_file(), options.contracts)
    inner = harness.inner(call) if hasattr(harness, "inner") else call
    contracts, within = [], []
    for source in sources:
        try:
            contracts += source.named(call)
            within += source.named(inner) if inner is not call else []
        except TrustError:
            continue  # told after the call
    all_contracts = [*contracts, *within]
    recorder, more = remembered(sources, all_contracts, call, state)
    notices += more
    if any(source.guards(judged_call) for source in sources for judged_call in (call, inner)):
        from truecall_py.guards.barrier import barrier

        bar, notices = barrier(harness, sources, (call, inner), state, ends, session, recorder, notices)
        if bar is not None:
            return bar
    unseen = bool(all_contracts) and getattr(harness, "ENDS_UNTOLD", False)
    rest = None if recorder is None else recorder.record_request(all_contracts, unseen)
    why = ""
    if rest is not None:
        from truecall_py.messages.corrections import render_cooldown

        why = render_cooldown(rest, call)
    elif call.session and any("receipt" in contract.plain for contract in contracts):
        from truecall_py.operations.duplicate_guard import explain_refusal

        known_call = call if recorder is None else recorder.call
        why = explain_refusal(recorder, contracts, known_call, ends, session, options.transcript)
    notices += () if recorder is None else recorder.take_complaint()
    if why:
        refusal: Reply = harness.refuse(event, why, notices)
        return refusal
    if contracts:
        from truecall_py.judging.judge import take_snapshot

        snapshot = take_snapshot(contracts, call, ends, session)
        if snapshot is not None:
            from truecall_py.world.snapshots import keep

            if not keep(state, call.session, call.call_id, snapshot):
                from truecall_py.ledger.notices_shown import report_unkept_snapshot

                notices += report_unkept_snapshot(state, call.session)
    return answer(harness, event, None, None, notices)


def remembered(
    found: list[Source], contracts: list[Contract], call: ToolCall, state: str
) -> tuple[Recorder | None, tuple[str, ...]]:
    """The ledger for this call, and what to tell the person; nothing where nothing is enforced, or the session has
    no name."""
    if not call.session or not any(source.index is not None for source in found):
        return None, ()
    from truecall_py.judging.recorder import open_recorder

    return open_recorder(found, contracts, call, state)


def stopped(harness: ModuleType, stop: Stop, options: Options, ends: float, notices: tuple[str, ...]) -> Reply:
    """The reply to an agent that wants to stop."""
    from truecall_py.core import paths
    from truecall_py.stop import reply as stopping
    from truecall_py.trust import store

    state = options.state or paths.state()
    session = paths.anchor(harness.PROJECT_ENV)
    sources = store.sources(session, state, paths.user_file(), options.contracts)
    return stopping.answer_stop(harness, stop, sources, state, session, ends, notices)


def noted(harness: ModuleType, event: str, payload: dict[str, Any], options: Options) -> Correction | None:
    """Writes down what is told of no finished call: that a batch ended, that a person is asked. A Correction where a
    refusal in the batch ends the loop."""
    waits = harness.waits(payload) if hasattr(harness, "waits") else None
    if waits is None and event != "PostToolBatch":
        return None
    from truecall_py.core import paths
    from truecall_py.hook import client_events

    state = options.state or paths.state()
    if waits is not None:
        client_events.waiting(state, waits)
        return None
    last = client_events.batch(state, harness.NAME, payload)
    if last is None:
        return None
    from truecall_py.messages.corrections import render_loop_end_notice

    return Correction(render_loop_end_notice(last.tool), False, True)


def judged_by(
    found: list[Source], call: ToolCall, state: str, session: str, ends: float, notices: tuple[str, ...],
    transcript: str | None,
) -> tuple[Correction | None, tuple[str, ...]]:  # fmt: skip
    from truecall_py.trust import store
    untrusted: list[str] = []
    contracts = []
    for source in found:
        try:
            contracts += source.named(call)
        except TrustError as error:
            source = source.doubted(error.what)
        if source.status == store.TRUSTED:
            continue
        if source.status == store.UNTRUSTED:
            if not call.kinds <= LOOKING:
                from truecall_py.messages.failures import render_untrusted as words

                untrusted.append(words(source.path, source.why))
        else:
            from truecall_py.ledger.notices_shown import report_changed

            notices += report_changed(source, call.session, state)
    recorder, more = remembered(found, contracts, call, state)
    notices += more
    stops = any(source.index and source.index.get("stop") for source in found)
    if recorder is not None and stops:
        from truecall_py.stop.claims import match_calls

        recorder.stops = match_calls(found, call, ends)
    correction = None
    if contracts:
        from truecall_py.judging.judge import conclude, find_snapshot, judge_contracts

        snapshot = find_snapshot(contracts, call, state, ends, transcript)
        verdicts = judge_contracts(contracts, call, ends, session, snapshot)
        if any("receipt" in contract.plain for contract in contracts):
            from truecall_py.operations.duplicate_guard import apply_history

            judged = call if recorder is None else recorder.call
            verdicts = apply_history(recorder, contracts, judged, verdicts, session)
        judgement = conclude(call, verdicts, notices, recorder)
        correction, notices = judgement.correction, judgement.notices
    elif recorder is not None:
        recorder.record_end((), {}, call.reported, {})
    if correction is not None and recorder is not None and stops:
        from truecall_py.operations.duplicate_guard import add_progress

        correction = add_progress(correction, recorder, found, recorder.call)
    notices += () if recorder is None else recorder.take_complaint()
    if untrusted:
        from truecall_py.messages.corrections import append_untrusted

        correction = append_untrusted(correction, untrusted)
    return correction, notices


def answer(
    harness: ModuleType, event: str, call: ToolCall | None, correction: Correction | None, notices: tuple[str, ...]
) -> Reply:
    if correction is None and not notices:
        return Reply()
    reply: Reply = harness.render(event, call, correction, notices)
    return reply


def loud(options: Options, why: str, do: str = "", harness: ModuleType | None = None) -> Reply:
    """The answer where nothing could be judged."""
    from truecall_py.hook.fallback import answer

    return answer(options, why, do, harness)


def reply_to(options: Options, ends: float) -> Reply:
    """The reply to the event on standard input. Raises TruecallError for what the boundary words."""
    harness = None
    try:
        data = read_stdin(min(ends, time.monotonic() + options.deadline))
        if options.event in STOPS:
            options.active = held_already(data)
        if options.wrong:
            raise PayloadError(f"the registered command is wrong: {options.wrong}")
        payload = decode(data)
        del data
        harness = adapter(payload, options.harness)
        path = payload.get("transcript_path")
        options.transcript = path if isinstance(path, str) and path else None
        notices = registration(options.harness, harness.NAME)
        event = str(payload.get("hook_event_name") or options.event)
        if options.off():
            return Reply()
        options.stop = harness.stopping(payload) if hasattr(harness, "stopping") else None
        if options.stop is not None:
            return stopped(harness, options.stop, options, ends, notices)
        announced = harness.announced(payload) if hasattr(harness, "announced") else None
        if announced is not None:
            options.announced = announced
            return asked(harness, event, announced, options, ends, notices)
        parsed_calls = calls(harness, payload)
        if not parsed_calls:
            over = noted(harness, event, payload, options)
            notices += () if over is None else (over.text,)
            return answer(harness, event, None, over, notices)
        return judged(harness, event, parsed_calls, options, ends, notices)
    except TruecallError as error:
        where = f"{error.where}: " if error.where else ""
        return loud(options, f"{where}{error.what}", error.do, harness)


def guarded(argv: list[str]) -> Reply:
    """The boundary: any end of the work becomes a reply."""
    options = Options(argv)
    try:
        try:
            arm(options.deadline + 0.5)
            return reply_to(options, time.monotonic() + options.deadline)
        finally:
            disarm()
    except DeadlineReached as end:
        return loud(options, str(end))
    except BaseException as error:
        from truecall_py.core import paths
        from truecall_py.hook import crash_report

        path = crash_report.write(error, options.state or paths.state())
        do = f"A report is in {path}." if path else ""
        return loud(options, f"it met a bug of its own ({type(error).__name__})", do)


def main(argv: list[str], seal: bool = False) -> int:
    """Answers one hook event; what the process ends with. `seal` is for the launcher."""
    reply = guarded(argv)
    out = reply.stdout + (f"\n{SEAL}" if seal else "\n" if reply.stdout else "")
    try:
        data = out.encode("ascii")
        while data:
            data = data[os.write(1, data) :]
    except OSError:
        return 2  # nobody reads: every client takes 2 for "blocked", none takes it for "well"
    return 0
