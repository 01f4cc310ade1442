"""The hook: one event on standard input, one answer on standard output.

It fails closed: an error becomes an answer that reports it. It is silent only for an event that it does not judge, a
call that no contract names, and a call that kept all of its contracts. It runs on every tool call, so it imports the
standard library only, and as little of that as possible.
"""

from __future__ import annotations

import os
import time

from truecall_py.core.errors import DeadlineReached, PayloadError, TruecallError, TrustError
from truecall_py.core.types import READ_ONLY, STOP_EVENTS, Correction, Reply, Stop, ToolCall
from truecall_py.hook.deadline import arm_deadline, disarm_deadline
from truecall_py.hook.stdin import Options, check_registration, find_stop_hook_active, parse_payload, read_stdin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from truecall_py.contracts.model import Contract
    from truecall_py.judging.recorder import Recorder
    from truecall_py.trust.store import Source

SEAL = "#truecall:end"  # the launcher accepts only output that ends with this line


def load_client(payload: dict[str, Any], registered: str) -> ModuleType:
    """Returns the hook module of the client that sent this payload. The payload's shape decides; `registered`, the
    client named on the command line, is only tried first. Raises PayloadError."""
    from truecall_py.clients import load_hook, recognise

    return load_hook(recognise(payload, registered))


def parse_calls(client: ModuleType, payload: dict[str, Any]) -> tuple[ToolCall, ...]:
    """Returns the calls of a payload that are to be judged: the call that ended, or the calls of a batch that the
    client refused and reported in no event of their own."""
    call = client.parse(payload)
    if call is not None:
        return (call,)
    refused: tuple[ToolCall, ...] = client.parse_refused(payload) if hasattr(client, "parse_refused") else ()
    return refused


def answer_calls(
    client: ModuleType, event: str, calls: tuple[ToolCall, ...], options: Options, ends: float,
    notices: tuple[str, ...],
) -> Reply:  # fmt: skip
    """Returns the reply to the finished calls of one event. Each is judged by every contract that names it."""
    from truecall_py.core import paths
    from truecall_py.trust import store

    state = options.state or paths.find_state_folder()
    session = paths.find_project_folder(client.PROJECT_ENV)
    sources = store.load_sources(session, state, paths.find_user_file(), options.contracts)
    corrections = []
    for call in calls:
        correction, notices = judge_call(sources, call, state, session, ends, notices, options.transcript)
        corrections.append(correction)
        if event == "PostToolBatch" and any(source.may_guard(call) for source in sources):
            from truecall_py.guards.barrier import explain_client_refusal

            corrections.append(explain_client_refusal(sources, call, ends, session))
        watched = call.tool in getattr(client, "WATCHES", ())
        if watched or os.path.exists(paths.locate_runs_mark(state, call.session)):
            from truecall_py.operations.settle import judge_ended

            corrections += judge_ended(client, call, sources, state, session, ends, options.transcript)
    correction = corrections[0]
    if len(corrections) > 1:
        from truecall_py.messages.corrections import join_corrections

        correction = join_corrections(corrections)
    return render_answer(client, event, calls[0], correction, notices)


def answer_request(
    client: ModuleType, event: str, call: ToolCall, options: Options, ends: float, notices: tuple[str, ...]
) -> Reply:
    """Returns the reply before a call. Refuses a call whose tool is paused, that a guard forbids, or that would
    repeat an operation; else takes the snapshot that its contracts need afterwards."""
    from truecall_py.core import paths
    from truecall_py.trust import store

    state = options.state or paths.find_state_folder()
    session = paths.find_project_folder(client.PROJECT_ENV)
    sources = store.load_sources(session, state, paths.find_user_file(), options.contracts)
    inner = client.unwrap_call(call) if hasattr(client, "unwrap_call") else call
    contracts, inner_contracts = [], []
    for source in sources:
        try:
            contracts += source.find_contracts(call)
            inner_contracts += source.find_contracts(inner) if inner is not call else []
        except TrustError:
            continue  # reported after the call
    all_contracts = [*contracts, *inner_contracts]
    recorder, open_notices = open_ledger(sources, all_contracts, call, state)
    notices += open_notices
    if any(source.may_guard(judged_call) for source in sources for judged_call in (call, inner)):
        from truecall_py.guards.barrier import answer_guards

        refusal_reply, notices = answer_guards(
            client, sources, (call, inner), state, ends, session, recorder, notices
        )
        if refusal_reply is not None:
            return refusal_reply
    may_end_unseen = bool(all_contracts) and getattr(client, "ENDS_UNTOLD", False)
    cooldown = None if recorder is None else recorder.record_request(all_contracts, may_end_unseen)
    reason = ""
    if cooldown is not None:
        from truecall_py.messages.corrections import render_cooldown

        reason = render_cooldown(cooldown, call)
    elif call.session and any("receipt" in contract.plain for contract in contracts):
        from truecall_py.operations.duplicate_guard import explain_refusal

        known_call = call if recorder is None else recorder.call
        reason = explain_refusal(recorder, contracts, known_call, ends, session, options.transcript)
    notices += () if recorder is None else recorder.take_complaint()
    if reason:
        refusal: Reply = client.refuse(event, reason, notices)
        return refusal
    if contracts:
        from truecall_py.judging.judge import take_snapshot

        snapshot = take_snapshot(contracts, call, ends, session)
        if snapshot is not None:
            from truecall_py.world.snapshots import keep_snapshot

            if not keep_snapshot(state, call.session, call.call_id, snapshot):
                from truecall_py.ledger.notices_shown import report_unkept_snapshot

                notices += report_unkept_snapshot(state, call.session)
    return render_answer(client, event, None, None, notices)


def open_ledger(
    sources: list[Source], contracts: list[Contract], call: ToolCall, state: str
) -> tuple[Recorder | None, tuple[str, ...]]:
    """Returns (the ledger for this call, notices for the user). (None, ()) if no contract file is enforced or the
    session has no name."""
    if not call.session or not any(source.index is not None for source in sources):
        return None, ()
    from truecall_py.judging.recorder import open_recorder

    return open_recorder(sources, contracts, call, state)


def answer_stop(client: ModuleType, stop: Stop, options: Options, ends: float, notices: tuple[str, ...]) -> Reply:
    """Returns the reply to an agent that wants to stop."""
    from truecall_py.core import paths
    from truecall_py.stop import reply as stopping
    from truecall_py.trust import store

    state = options.state or paths.find_state_folder()
    session = paths.find_project_folder(client.PROJECT_ENV)
    sources = store.load_sources(session, state, paths.find_user_file(), options.contracts)
    return stopping.answer_stop(client, stop, sources, state, session, ends, notices)


def record_client_event(
    client: ModuleType, event: str, payload: dict[str, Any], options: Options
) -> Correction | None:
    """Records an event without a finished call: the end of a batch, or a call that waits for approval. Returns a
    Correction if a refusal in the batch ends the agent's loop, else None."""
    waiting_call = client.parse_waiting(payload) if hasattr(client, "parse_waiting") else None
    if waiting_call is None and event != "PostToolBatch":
        return None
    from truecall_py.core import paths
    from truecall_py.hook import client_events

    state = options.state or paths.find_state_folder()
    if waiting_call is not None:
        client_events.record_waiting(state, waiting_call)
        return None
    ending_refusal = client_events.record_batch(state, client.NAME, payload)
    if ending_refusal is None:
        return None
    from truecall_py.messages.corrections import render_loop_end_notice

    return Correction(render_loop_end_notice(ending_refusal.tool), False, True)


def judge_call(
    sources: list[Source], call: ToolCall, state: str, session: str, ends: float, notices: tuple[str, ...],
    transcript: str | None,
) -> tuple[Correction | None, tuple[str, ...]]:  # fmt: skip
    """Judges one finished call and records the verdicts. Returns (correction for the agent or None, notices for the
    user). `ends` is the monotonic time of the deadline, `session` the project folder."""
    from truecall_py.trust import store
    untrusted: list[str] = []
    contracts = []
    for source in sources:
        try:
            contracts += source.find_contracts(call)
        except TrustError as error:
            source = source.make_untrusted(error.what)
        if source.status == store.TRUSTED:
            continue
        if source.status == store.UNTRUSTED:
            if not call.kinds <= READ_ONLY:
                from truecall_py.messages.failures import render_untrusted as render

                untrusted.append(render(source.path, source.why))
        else:
            from truecall_py.ledger.notices_shown import report_changed

            notices += report_changed(source, call.session, state)
    recorder, open_notices = open_ledger(sources, contracts, call, state)
    notices += open_notices
    has_stop_contracts = any(source.index and source.index.get("stop") for source in sources)
    if recorder is not None and has_stop_contracts:
        from truecall_py.stop.claims import match_calls

        recorder.stops = match_calls(sources, call, ends)
    correction = None
    if contracts:
        from truecall_py.judging.judge import conclude, find_snapshot, judge_contracts

        snapshot = find_snapshot(contracts, call, state, ends, transcript)
        verdicts = judge_contracts(contracts, call, ends, session, snapshot)
        if any("receipt" in contract.plain for contract in contracts):
            from truecall_py.operations.duplicate_guard import apply_history

            recorded_call = call if recorder is None else recorder.call
            verdicts = apply_history(recorder, contracts, recorded_call, verdicts, session)
        judgement = conclude(call, verdicts, notices, recorder)
        correction, notices = judgement.correction, judgement.notices
    elif recorder is not None:
        recorder.record_end((), {}, call.reported, {})
    if correction is not None and recorder is not None and has_stop_contracts:
        from truecall_py.operations.duplicate_guard import add_progress

        correction = add_progress(correction, recorder, sources, recorder.call)
    notices += () if recorder is None else recorder.take_complaint()
    if untrusted:
        from truecall_py.messages.corrections import append_untrusted

        correction = append_untrusted(correction, untrusted)
    return correction, notices


def render_answer(
    client: ModuleType, event: str, call: ToolCall | None, correction: Correction | None, notices: tuple[str, ...]
) -> Reply:
    """Renders correction and notices in the client's format; an empty reply if there are none."""
    if correction is None and not notices:
        return Reply()
    reply: Reply = client.render(event, call, correction, notices)
    return reply


def answer_failure(options: Options, reason: str, do: str = "", client: ModuleType | None = None) -> Reply:
    """Returns the reply for a call that could not be judged. Loads its module only when it is needed."""
    from truecall_py.hook.fallback import answer_unjudged

    return answer_unjudged(options, reason, do, client)


def answer_event(options: Options, ends: float) -> Reply:
    """Returns the reply to the event on standard input. Every TruecallError becomes a reply. `ends` is the monotonic
    time of the deadline."""
    client = None
    try:
        data = read_stdin(min(ends, time.monotonic() + options.deadline))
        if options.event in STOP_EVENTS:
            options.active = find_stop_hook_active(data)
        if options.wrong:
            raise PayloadError(f"the registered command is wrong: {options.wrong}")
        payload = parse_payload(data)
        del data
        client = load_client(payload, options.harness)
        path = payload.get("transcript_path")
        options.transcript = path if isinstance(path, str) and path else None
        notices = check_registration(options.harness, client.NAME)
        event = str(payload.get("hook_event_name") or options.event)
        if options.is_paused():
            return Reply()
        options.stop = client.parse_stop(payload) if hasattr(client, "parse_stop") else None
        if options.stop is not None:
            return answer_stop(client, options.stop, options, ends, notices)
        announced_call = client.parse_before(payload) if hasattr(client, "parse_before") else None
        if announced_call is not None:
            options.announced = announced_call
            return answer_request(client, event, announced_call, options, ends, notices)
        parsed_calls = parse_calls(client, payload)
        if not parsed_calls:
            correction = record_client_event(client, event, payload, options)
            notices += () if correction is None else (correction.text,)
            return render_answer(client, event, None, correction, notices)
        return answer_calls(client, event, parsed_calls, options, ends, notices)
    except TruecallError as error:
        where = f"{error.where}: " if error.where else ""
        return answer_failure(options, f"{where}{error.what}", error.do, client)


def answer_always(argv: list[str]) -> Reply:
    """The fail-closed boundary: returns a reply whatever happens, after a deadline, a signal or a bug too."""
    options = Options(argv)
    try:
        try:
            arm_deadline(options.deadline + 0.5)
            return answer_event(options, time.monotonic() + options.deadline)
        finally:
            disarm_deadline()
    except DeadlineReached as end:
        return answer_failure(options, str(end))
    except BaseException as error:
        from truecall_py.core import paths
        from truecall_py.hook import crash_report

        path = crash_report.write_report(error, options.state or paths.find_state_folder())
        do = f"A report is in {path}." if path else ""
        return answer_failure(options, f"it met a bug of its own ({type(error).__name__})", do)


def main(argv: list[str], seal: bool = False) -> int:
    """Answers one hook event and returns the exit code. With `seal` the output ends with SEAL, which the launcher
    checks."""
    reply = answer_always(argv)
    out = reply.stdout + (f"\n{SEAL}" if seal else "\n" if reply.stdout else "")
    try:
        data = out.encode("ascii")
        while data:
            data = data[os.write(1, data) :]
    except OSError:
        return 2  # stdout is closed; every client reads exit code 2 as blocked
    return 0
