"""The same judgement as a function for Python programs. Reads no standard input, prints nothing, and
needs no trust: its caller chose the contracts."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from truecall_py import clients
from truecall_py.core.errors import PayloadError
from truecall_py.core.types import DEADLINE, Correction, ToolCall
from truecall_py.hook.stdin import parse_payload
from truecall_py.judging import judge as judging
from truecall_py.judging.judge import Judgement, conclude, find_contracts, judge_contracts
from truecall_py.trust import pin
from truecall_py.trust.store import TRUSTED, Pin, Source, make_source
from truecall_py.world.snapshots import Snapshot

__all__ = ["Judgement", "judge", "look_before"]


def judge(
    payload: Mapping[str, Any] | str | bytes,
    contracts: str | os.PathLike[str] | Mapping[str, Any] | Sequence[Source],
    *,
    harness: str | None = None,
    deadline: float = DEADLINE,
    snapshot: Snapshot | None = None,
    verified: Sequence[str] | None = None,
) -> Judgement:
    """Judges one hook payload by contracts, against the world as it is now.

    `payload` is a harness's hook input: the object, or its JSON. `contracts` is the path of a contract file,
    or the parsed content of one (then `{{project}}` is the working folder), or sources that were loaded
    before. `harness` is recognised by the payload's keys if left out. `deadline` is in seconds, for all
    checks together. `snapshot` is what `look_before` saw before the call.

    Returns a Judgement: its `verdicts` (empty where no contract applies), and the `correction` that an agent
    would be told (None where there is nothing to tell). `call` is None for an event that is no tool call. Of a call
    that is announced (PreToolUse) the guards are judged: refuted is one that they refuse. What `requires` asks for is
    known to the hook alone; `verified` names the effects to be taken for verified, and no other counts then.
    Raises PayloadError for a payload that no harness is known to send, ContractError for a contract file
    that cannot be used.
    """
    ends = time.monotonic() + deadline
    call = call_of(payload, harness)
    if call is None:
        return guarded(payload, load_sources(contracts), harness, ends, verified)
    verdicts = judge_contracts(find_contracts(load_sources(contracts), call), call, ends, snapshot=snapshot)
    return conclude(call, verdicts)


def guarded(
    payload: Mapping[str, Any] | str | bytes, contracts: Sequence[Source], harness: str | None, ends: float,
    verified: Sequence[str] | None,
) -> Judgement:  # fmt: skip
    """What the guards say of a call that is announced; a Judgement without a call for any other event, and where no
    guard is about it."""
    call = parse_announced(payload, harness)
    if call is None:
        return Judgement(None)
    from truecall_py.guards.barrier import judge_guards
    from truecall_py.guards.granted_effects import DeclaredEffects
    from truecall_py.messages import guards

    bar = judge_guards(find_contracts(contracts, call), call, ends, None, DeclaredEffects(verified))
    if not bar.verdicts:
        return Judgement(None)
    refusal = Correction(guards.render_refusal(bar.enforced, call, {}), True) if bar.enforced else None
    notices = tuple(guards.render_observe_notice(verdict, call) for verdict in bar.observed)
    return Judgement(call, bar.verdicts, refusal, notices)


def look_before(
    payload: Mapping[str, Any] | str | bytes,
    contracts: str | os.PathLike[str] | Mapping[str, Any] | Sequence[Source],
    *,
    harness: str | None = None,
    deadline: float = DEADLINE,
) -> Snapshot | None:
    """What the contracts want to know of the world before the call that a payload announces (PreToolUse of Claude
    Code or Codex), for `judge` after it. None where that is nothing, or for any other event. The parameters and
    errors are those of `judge`."""
    ends = time.monotonic() + deadline
    call = parse_announced(payload, harness)
    return None if call is None else judging.take_snapshot(find_contracts(load_sources(contracts), call), call, ends)


def call_of(payload: Mapping[str, Any] | str | bytes, harness: str | None = None) -> ToolCall | None:
    """The ToolCall of a payload; None for an event that is no finished tool call. Raises PayloadError."""
    plain = load_payload(payload)
    call: ToolCall | None = clients.load_hook(harness or clients.recognise(plain)).parse(plain)
    return call


def parse_announced(payload: Mapping[str, Any] | str | bytes, harness: str | None = None) -> ToolCall | None:
    """The ToolCall that a payload announces; None for any other event. Raises PayloadError."""
    plain = load_payload(payload)
    module = clients.load_hook(harness or clients.recognise(plain))
    call: ToolCall | None = module.parse_before(plain) if hasattr(module, "parse_before") else None
    return call


def load_payload(payload: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
    """The object that a payload is. Raises PayloadError."""
    if isinstance(payload, str):
        payload = payload.encode("utf-8", "surrogatepass")
    if not isinstance(payload, (bytes, Mapping)):
        raise PayloadError(f"a payload is a mapping, or JSON as text or bytes, not {type(payload).__name__}")
    plain = parse_payload(payload) if isinstance(payload, bytes) else dict(payload)
    if not plain:
        raise PayloadError("the payload is an empty object")
    return plain


def load_sources(contracts: str | os.PathLike[str] | Mapping[str, Any] | Sequence[Source]) -> Sequence[Source]:
    if isinstance(contracts, (str, os.PathLike)):
        return [pin.load_untrusted(os.fspath(contracts))]
    if isinstance(contracts, Mapping):
        import json  # what JSON writes is YAML too, and without the aliases that contracts may not have

        from truecall_py.contract_files.yaml_reader import UNSEEN

        here = os.path.join(os.getcwd(), "contracts")
        written = json.dumps(dict(contracts), ensure_ascii=False, allow_nan=False)
        # What a person who trusts a file could not see must be written as an escape; here, too, it is that text.
        written = UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
        data = written.encode("utf-8", "surrogatepass")  # the loader refuses half of a pair, and says so
        return [make_source(Pin(pin.compile_file(here, data).pin, here), here, os.getcwd(), TRUSTED)]
    return contracts
