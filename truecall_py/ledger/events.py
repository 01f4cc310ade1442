"""What the ledger says about a call: how often it was tried, what became of its tool before, what rests. Turns calls
and verdicts into events and events into facts; words nothing, and never judges the world.

What an event keeps in `data` beside its columns (everything from a call masked and cut):
  requested  args, cwd, contracts, observing, untold (the ids of those that name it, and of those of them that only
             observe; whether its end may be told to nobody)
  waiting    args                        (Codex' PermissionRequest, without an id: joined by turn and arguments)
  refused    why (quarantine | guard), route, ticks, alternatives, contract, found; of a guard: verdicts, attempt,
             kind, order, cwd
  ended      args, reported, exit_code, background, attempt, changed, kind, order, form, seconds,
             edits (whether it is a tool that changes files),
             stop (whether it is a call that contracts at the stop ask for, by contract),
             verdicts: [{contract, file, state, outcome, kind, found, expected, subject, cause, mode, grants,
             alternatives, route, order, form,
             operation, owner}]          (the identity of the operation, where the contract has a receipt)
  judged     by, verdicts                (what was pending has ended, and not all of it is verified)
  settled    by, verdicts                (what was pending or stood open is verified now)
  batch      calls                       (Claude Code's PostToolBatch: one tick)
  stop       held, open, claims, message_cut
  switch     on, until
  lost                                   (the ledger was begun anew while this turn of the session went on)
Its column `state` is, for ended, judged and settled, the worst verdict (verified, refuted, unverified, pending; "":
no contract applied).
"""

from __future__ import annotations

from truecall_py.core.record import record
from truecall_py.core.types import REFUTED, UNVERIFIED, VERIFIED, ToolCall, Verdict
from truecall_py.ledger.store import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from truecall_py.policy.retry_budgets import Budget

PENDING = "pending"
COOLDOWNS = "resting"  # a file in the state folder: while it is there, the launcher lets batches of calls be counted
# Arguments of a command that say nothing of what is done: two that differ in them alone are the same call.
NOISE = frozenset(("description", "timeout", "timeout_ms", "yield_time_ms", "max_output_tokens", "justification",
                   "explanation"))  # fmt: skip
SHOWN_FORMS = ("append", "replace")  # the forms in which an agent reads a correction
LONG_TEXT = 10_000  # characters of a text above which blanks count
EDITED = "files, by an edit in between"  # beside names of arguments: what changed since the attempt before
SHELL = "shell"  # the route of a command's verdict: its contract is paused
MAX_TEXT = 400  # characters of one argument or phrase that are kept
RANK = {REFUTED: 3, UNVERIFIED: 2, PENDING: 1, VERIFIED: 0}


@record(frozen=True)
class Trial:
    """The attempts so far of a call: its `budget` (None: nothing refuted), the arguments that `changed` since the
    previous attempt (None: there was none), the results of earlier attempts, one line each, and the paused routes
    (`resting`)."""

    budget: Budget | None = None
    changed: tuple[str, ...] | None = None
    history: tuple[str, ...] = ()
    resting: frozenset[str] = frozenset()


@record(frozen=True)
class Cooldown:
    """A paused route: a tool, or a shell contract, for `ticks` more batches. `alternatives` are the other ways;
    `over` says that the session has no attempts left for any of them."""

    route: str
    ticks: int
    contract: str
    found: str
    alternatives: tuple[str, ...] = ()
    over: bool = False


def read_cooldown(data: dict[str, Any]) -> Cooldown:
    """Returns the Cooldown for which a call was refused, from the event's data."""
    ways = data.get("alternatives", ())
    return Cooldown(str(data.get("route", "")), int(data.get("ticks", 1)), str(data.get("contract", "")),
                str(data.get("found", "")), tuple(ways) if isinstance(ways, (list, tuple)) else (),
                bool(data.get("over")))  # fmt: skip


def name_turn(call: ToolCall) -> str:
    """Returns the turn of a call; calls of a sub-agent have turns of their own."""
    return f"{call.turn}/{call.agent}" if call.agent else call.turn


def strip_noise(call: ToolCall) -> dict[str, Any]:
    """Returns the arguments that identify a call: long text as its digest; for a command, without its description and
    with blanks collapsed. Other tools keep both, since they may matter there."""
    from truecall_py.core.hashing import blake2b

    args_ = {}
    shell = "shell" in call.kinds
    for name, value in call.args.items():
        if isinstance(value, str) and len(value) > LONG_TEXT:
            value = blake2b(value.encode("utf-8", "replace"))
        elif isinstance(value, str) and shell:
            value = " ".join(value.split())
        if not shell or name not in NOISE:
            args_[name] = value
    return args_


def make_identity(call: ToolCall, key: bytes) -> str:
    """Returns the keyed digest of tool and arguments without noise; for a command, with the folder in which it
    starts."""
    folder = call.start_cwd if "shell" in call.kinds else None
    return seal([call.tool, folder, sorted(strip_noise(call).items())], key)


def seal(plain: Any, key: bytes) -> str:
    """Returns the keyed digest of a JSON value: equal values match, and none can be guessed."""
    from truecall_py.core.fast_json import dumps
    from truecall_py.core.hashing import hmac_sha256

    return hmac_sha256(key, dumps(plain).encode())[:32]


def mask_args(args: dict[str, Any]) -> dict[str, str]:
    """Returns the arguments for storage: secrets masked by name and shape, long ones cut."""
    from truecall_py.core.fast_json import dumps
    from truecall_py.core.redaction import cut_window, mask_secrets, mask_value, shorten

    kept = {}
    for name, value in list(args.items())[:40]:
        safe = mask_value(cut_window(value, MAX_TEXT) if isinstance(value, str) else value, name)
        text = safe if isinstance(safe, str) else mask_secrets(cut_window(dumps(safe), MAX_TEXT))
        kept[name[:80]] = shorten(text, MAX_TEXT)
    return kept


def is_partial(text: str) -> bool:
    """Tells whether an argument was not stored verbatim."""
    from truecall_py.core.secret_patterns import MASK

    return MASK in text or " bytes left out ...] " in text


def shorten_phrase(text: str) -> str:
    from truecall_py.core.redaction import cut_window, mask_secrets, shorten

    return shorten(mask_secrets(cut_window(text, MAX_TEXT)), MAX_TEXT)


def encode_verdict(verdict: Verdict, kind: str, key: bytes, call: str) -> dict[str, Any]:
    """Returns a verdict as an event stores it. `effect` is the sealed name of its effect: a file or what a command
    names, in its folder; without either, the call itself, by its identity `call`."""
    outcome = next((outcome for outcome in verdict.outcomes if outcome.state == verdict.state), None)
    receipt = receipt_of(verdict)
    plain = {
        "contract": verdict.contract, "state": PENDING if is_pending(verdict) else verdict.state,
        "outcome": verdict.outcome, "kind": kind, "subject": shorten_phrase(verdict.subject), "cause": verdict.cause,
        "mode": verdict.mode, "grants": verdict.grants, "alternatives": list(verdict.alternatives),
        "found": shorten_phrase(outcome.found) if outcome else "",
        "expected": shorten_phrase(outcome.expected) if outcome else "",
        "source": verdict.source, "file": shorten_path(verdict.file),
        "effect": seal([*verdict.about, "" if verdict.subject else call], key) if verdict.about else "",
    }  # fmt: skip
    if receipt is not None:
        plain["operation"], plain["owner"] = receipt.get("operation", "") or "unknown", receipt.get("owner", "")
    return {name: value for name, value in plain.items() if value not in ("", [])}


def is_pending(verdict: Verdict) -> bool:
    """Tells whether the call runs on in the background, or its operation is accepted and not done."""
    receipt = receipt_of(verdict)
    return any(outcome.check == "background" for outcome in verdict.outcomes) or (
        verdict.state == UNVERIFIED and receipt is not None and receipt["state"] == PENDING
    )


def receipt_of(verdict: Verdict) -> dict[str, Any] | None:
    """Returns the receipt of a verdict; None if its contract has none."""
    return next((outcome.receipt for outcome in verdict.outcomes if outcome.receipt is not None), None)


def worst_state(states: Sequence[str]) -> str:
    return max(states, key=lambda state: RANK.get(state, 0), default="")


def find_route(call: ToolCall) -> str:
    """Returns the route that a false success pauses: the MCP tool, or SHELL for the contract; "" for built-in tools,
    which are never paused."""
    if "mcp" in call.kinds:
        return call.tool
    return SHELL if "shell" in call.kinds else ""


def shorten_path(path: str) -> str:
    """Returns a contract file's path as events store it: the end of a long one is a digest."""
    if len(path) <= 100:
        return path
    from truecall_py.core.hashing import sha256

    return f"{path[:60]}~{sha256(path.encode('utf-8', 'replace'))[:32]}"


def identify_contract(row: Mapping[str, Any]) -> tuple[str, str]:
    """Returns what identifies the contract of a stored verdict: its file and its id."""
    return str(row.get("file", "")), str(row.get("contract", ""))


def name_contract_route(file: str, contract: str) -> str:
    """Returns the name of a shell contract as a route."""
    return f"contract {contract} of {file}"


def update_rows(event: Event, later: Event | None) -> tuple[dict[str, Any], ...]:
    """Returns the current verdicts of a call; pending ones as judged `later` (JUDGED, SETTLED; None: not yet)."""
    rows = tuple(event.data.get("verdicts", ()))
    if later is None or not any(row.get("state") == PENDING for row in rows):
        return rows
    new = {(*identify_contract(row), row.get("subject")): row for row in later.data.get("verdicts", ())}
    return tuple(
        {**row, **new[mark]} if row.get("state") == PENDING and mark in new else row
        for row in rows for mark in [(*identify_contract(row), row.get("subject"))]
    )  # fmt: skip

