"""Judges a stored call again. Never judges a different call: the arguments are rebuilt until their digest is the
stored one."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

from truecall_py.clients import NAMES, load_hook
from truecall_py.clients.payload import make_unanswered
from truecall_py.core import paths
from truecall_py.core.errors import PayloadError, TruecallError, Unverified
from truecall_py.core.fast_json import JsonError, loads
from truecall_py.core.secret_patterns import MASK
from truecall_py.core.types import ABSENT, DEADLINE, UNKNOWN, VERIFIED, ToolCall, Verdict
from truecall_py.guards import barrier
from truecall_py.judging import judge
from truecall_py.ledger import events
from truecall_py.ledger.store import REFUSED
from truecall_py.reporting.calls import Call
from truecall_py.trust import store
from truecall_py.world import snapshots

CUT = " bytes left out ...] "
MANY = 6  # the most arguments that may be text or JSON


def rejudge_call(call: Call, key: bytes, state: str) -> list[Verdict]:
    """The current verdicts on the call. Raises Unverified with what is missing."""
    wanted = {str(verdict.get("contract")) for verdict in call.enforced if verdict.get("state") != VERIFIED}
    if not wanted:
        raise Unverified("it was refused before it ran, so it has no effect to check", "truecall")
    again = rebuild_call(call, key)
    if not call.cwd:
        raise Unverified("the ledger has no request of it, and so no folder", "harness")
    try:
        sources = store.load_sources(call.cwd, state, paths.find_user_file(), None)
        contracts = [contract for contract in judge.find_contracts(sources, again) if contract.id in wanted]
    except TruecallError as error:
        raise Unverified(f"its contracts cannot be read: {error.what}", "contract") from None
    if not contracts:
        some = ", ".join(sorted(wanted))
        raise Unverified(f"{some} is not among the contracts that are trusted for {call.cwd} now", "contract")
    if call.state == REFUSED:
        ends, session = time.monotonic() + DEADLINE, call.cwd
        return list(barrier.judge_guards(contracts, make_unanswered(again, "PreToolUse"), ends, session).verdicts)
    before = snapshots.find_snapshot(state, call.session, call.call)
    verdicts = judge.judge_contracts(contracts, again, time.monotonic() + DEADLINE, call.cwd, before)
    if not verdicts:
        raise Unverified("its contracts do not apply to what the ledger stores of it", "harness")
    return verdicts


def rebuild_call(call: Call, key: bytes) -> ToolCall:
    """The call without its answer, which is not stored. Raises Unverified if it may differ from the real one."""
    hook = load_hook(call.harness) if call.harness in NAMES else None
    if not getattr(hook, "REBUILT", False):
        raise Unverified(f"calls of {call.harness} cannot be rebuilt from the ledger", "harness")
    for name, value in call.args.items():
        if MASK in str(value) or CUT in str(value):
            how = "masked" if MASK in str(value) else "cut"
            raise Unverified(f"its argument {name} was {how} when it was stored", "truecall")
    for args in iterate_forms(call.args):
        payload = {
            "hook_event_name": "PostToolUse", "session_id": call.session, "cwd": call.cwd or None,
            "tool_name": call.tool, "tool_input": args, "tool_use_id": call.call, "turn_id": call.first.turn,
        }  # fmt: skip
        try:
            found = load_hook(call.harness).parse(payload)
        except PayloadError:
            continue
        if found is not None and events.make_identity(found, key) == call.identity:
            plain = found.__dict__
            return ToolCall(**{**plain, "result": ABSENT, "text": None, "reported": call.reported or UNKNOWN,
                               "exit_code": call.data.get("exit_code"), "transcript": None})  # fmt: skip
    raise Unverified("its stored arguments differ from those of the call", "truecall")


def iterate_forms(args: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All readings of the stored arguments, each as text or as JSON: the ledger stores text."""
    choices: list[list[Any]] = []
    for value in args.values():
        choices.append([value])
        try:
            plain = loads(str(value))
        except JsonError:
            continue
        if sum(len(choice) > 1 for choice in choices) < MANY:
            choices[-1].append(plain)
    for values in itertools.product(*choices):
        yield dict(zip(args, values, strict=True))
