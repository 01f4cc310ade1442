"""What the ledger says about a call: how often it was tried, what became of its tool before, what rests. Turns calls
and verdicts into events and events into facts; words nothing, and never judges the world.

What an event keeps in `data` beside its columns (everything from a call masked and cut):
  requested  args, cwd, contracts, untold (the ids of those that name it; whether its end may be told to nobody)
  waiting    args                        (Codex' PermissionRequest, without an id: joined by turn and arguments)
  refused    why, route, ticks, alternatives
  ended      args, reported, exit_code, background, route, attempt, changed, kind, order, form, seconds,
             stop (whether it is a call that contracts at the stop ask for, by contract),
             verdicts: [{contract, state, outcome, kind, found, expected, subject, cause, mode, grants, alternatives}]
  judged     by, verdicts                (what was pending has ended, and not all of it is verified)
  settled    by, verdicts                (what was pending or stood open is verified now)
  batch      calls                       (Claude Code's PostToolBatch: one tick)
  stop       held, open, claims, message_cut
  switch     on, until
Its column `state` is, for ended, judged and settled, the worst verdict (verified, refuted, unverified, pending; "":
no contract applied).
"""

from __future__ import annotations

from truecall_py import budgets
from truecall_py.ledger import BATCH, ENDED, REFUSED, REQUESTED, Event
from truecall_py.records import record
from truecall_py.types import LANDED, LIE, REFUTED, UNVERIFIED, VERIFIED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.budgets import Budget
    from truecall_py.ledger import Ledger
    from truecall_py.types import ToolCall, Verdict

PENDING = "pending"
RESTS = "resting"  # a file in the state folder: while it is there, the launcher lets batches of calls be counted
# Arguments of a command that say nothing of what is done: two that differ in them alone are the same call.
NOISE = frozenset(("description", "timeout", "timeout_ms", "yield_time_ms", "max_output_tokens", "justification",
                   "explanation"))  # fmt: skip
TOLD = ("append", "replace")  # the forms in which an agent reads a correction
LONG = 10_000  # characters of a text above which blanks count
LAST = 250  # events of a session that decisions look back at
LONGEST = 400  # characters of one argument or phrase that are kept
RANK = {REFUTED: 3, UNVERIFIED: 2, PENDING: 1, VERIFIED: 0}


@record(frozen=True)
class Trial:
    """Where a call stands: its `budget` (None: nothing refuted), the arguments that `changed` since the attempt
    before (None: there was none), and what became of earlier attempts, a line each."""

    budget: Budget | None = None
    changed: tuple[str, ...] | None = None
    history: tuple[str, ...] = ()


@record(frozen=True)
class Rest:
    """A route that rests: a tool, or a shell contract, for `ticks` more ticks."""

    route: str
    ticks: int
    contract: str
    found: str
    alternatives: tuple[str, ...] = ()


def turn_of(call: ToolCall) -> str:
    """The turn of a call; calls of a sub-agent have turns of their own."""
    return f"{call.turn}/{call.agent}" if call.agent else call.turn


def without_noise(call: ToolCall) -> dict[str, Any]:
    """The arguments as they count: a long text by its digest; of a command, blanks made one and what says nothing
    left out. To any other tool a description may be all there is, and a blank may count."""
    from truecall_py.digest import sha256

    found = {}
    shell = "shell" in call.kinds
    for name, value in call.args.items():
        if isinstance(value, str) and len(value) > LONG:
            value = sha256(value.encode("utf-8", "replace"))
        elif isinstance(value, str) and shell:
            value = " ".join(value.split())
        if not shell or name not in NOISE:
            found[name] = value
    return found


def identity(call: ToolCall, key: bytes) -> str:
    """The keyed digest (HMAC, RFC 2104, with SHA-256) of tool and arguments, up to noise; of a command, with the
    folder in which it starts."""
    from truecall_py.digest import sha256
    from truecall_py.wire import dumps

    folder = call.start_cwd if "shell" in call.kinds else None
    text = dumps([call.tool, folder, sorted(without_noise(call).items())]).encode()
    block = key.ljust(64, b"\0")
    inner = bytes.fromhex(sha256(bytes(byte ^ 0x36 for byte in block) + text))
    return sha256(bytes(byte ^ 0x5C for byte in block) + inner)[:32]


def kept_args(args: dict[str, Any]) -> dict[str, str]:
    """The arguments as they may be stored: secrets masked by their names and shapes, long ones cut."""
    from truecall_py.masking import masked, shortened
    from truecall_py.wire import dumps

    found = {}
    for name, value in list(args.items())[:40]:
        text = value[: 8 * LONGEST] if isinstance(value, str) else dumps(value)[: 8 * LONGEST]
        line = masked(f"{name}: {text}")
        found[name[:80]] = shortened(line[len(name) + 2 :], LONGEST)
    return found


def phrase(text: str) -> str:
    from truecall_py.masking import masked, shortened

    return shortened(masked(text[: 8 * LONGEST]), LONGEST)


def as_data(verdict: Verdict, kind: str) -> dict[str, Any]:
    """A verdict as an event keeps it."""
    outcome = next((each for each in verdict.outcomes if each.state == verdict.state), None)
    plain = {
        "contract": verdict.contract, "state": PENDING if pending(verdict) else verdict.state,
        "outcome": verdict.outcome, "kind": kind, "subject": phrase(verdict.subject), "cause": verdict.cause,
        "mode": verdict.mode, "grants": verdict.grants, "alternatives": list(verdict.alternatives),
        "found": phrase(outcome.found) if outcome else "", "expected": phrase(outcome.expected) if outcome else "",
        "source": verdict.source,
    }  # fmt: skip
    return {name: value for name, value in plain.items() if value not in ("", [])}


def pending(verdict: Verdict) -> bool:
    """Whether the call itself goes on in the background."""
    return any(outcome.check == "background" for outcome in verdict.outcomes)


def worst(states: Sequence[str]) -> str:
    return max(states, key=lambda state: RANK.get(state, 0), default="")


def route_of(call: ToolCall, verdict: Verdict) -> str:
    """What rests if it lies: the MCP tool, or the shell contract; "" for what never rests (built-in tools)."""
    if "mcp" in call.kinds:
        return call.tool
    return f"contract {verdict.contract}" if "shell" in call.kinds else ""


class Memory:
    """One session's part of the ledger, as far as decisions need it. Raises LedgerError."""

    def __init__(self, ledger: Ledger, session: str, policy: dict[str, Any]) -> None:
        self.ledger = ledger
        self.session = session
        self.policy = policy
        self.key = ledger.key()
        self.loaded: list[Event] | None = None

    @property
    def events(self) -> list[Event]:
        """The session's last events, read when they are asked for: most calls need none of them."""
        if self.loaded is None:
            self.loaded = self.ledger.session(self.session, LAST)
        return self.loaded

    def before(self, call: ToolCall) -> list[Event]:
        """The events before this call's own end, so that a hook that is registered twice says the same twice."""
        own = next((each.id for each in self.events if each.call == call.call_id and each.event == ENDED), 0)
        return [each for each in self.events if not own or each.id < own]

    def trial(self, call: ToolCall, verdict: Verdict, said: str, text: str) -> Trial:
        """Where a refuted call stands."""
        past = [each for each in self.before(call) if each.event in (ENDED, REFUSED)]
        mine = identity(call, self.key)
        tries: list[Event] = []
        for each in past:
            if each.identity == mine:
                tries = [] if each.state == VERIFIED else [*tries, each] if failed(each) else tries
        spent = sum(1 for each in past if failed(each)) + 1
        if len(self.events) >= LAST:  # those before what was read
            spent += sum(1 for each in self.ledger.refuted(self.session, self.events[0].id) if failed(each))
        recent = [found["outcome"] for each in past for found in each.data.get("verdicts", ())
                  if found.get("outcome") in (LANDED, LIE)]  # fmt: skip
        kind = budgets.kind_of(verdict, said, text)
        allowed = budgets.retries(kind, recent, self.policy)
        most = int(self.policy.get("session", budgets.SESSION))
        same = [each for each in past if each.event == ENDED and failed(each) and concerns(each, verdict)]
        changed = None
        if same:
            older, now = same[-1].data.get("args", {}), kept_args(call.args)
            changed = tuple(sorted(name for name in {*older, *now} - NOISE if older.get(name) != now.get(name)))
        history = tuple(line(each, number) for number, each in enumerate(same[-2:], max(1, len(same) - 1)))
        return Trial(budgets.Budget(kind, len(tries) + 1, allowed, spent, most), changed, history)

    def resting(self) -> dict[str, Rest]:
        """The routes that rest now."""
        found: dict[str, Rest] = {}
        after = int(self.policy.get("quarantine", {}).get("after", 2))
        ticks = int(self.policy.get("quarantine", {}).get("ticks", 3))
        if not after or not ticks:
            return found
        lies: dict[str, int] = {}
        for index, each in enumerate(self.events):
            if each.event != ENDED:
                continue
            counted = set()  # a call lies once, however many contracts say so
            for told in each.data.get("verdicts", ()):
                route = told.get("route", "")
                if not route or told.get("mode") == "observe":
                    continue
                if told.get("outcome") == LANDED:
                    lies[route] = 0
                    found.pop(route, None)
                if told.get("outcome") != LIE or route in counted:
                    continue
                counted.add(route)
                lies[route] = lies.get(route, 0) + 1
                if lies[route] >= after:
                    lies[route] = 0
                    since = self.ticks_after(index)
                    if since <= ticks:
                        left = min(ticks, ticks - since + 1)
                        found[route] = Rest(route, left, told.get("contract", ""), told.get("found", ""),
                                            tuple(told.get("alternatives", ())))  # fmt: skip
                    else:
                        found.pop(route, None)
        return found

    def ticks_after(self, index: int) -> int:
        """Ticks since an event: 1 in the batch of calls that follows its own."""
        later = self.events[index + 1 :]
        if any(each.event == BATCH for each in self.events):
            return sum(1 for each in later if each.event == BATCH)
        began = overlaps(later)
        return began if later and later[-1].event == REQUESTED else began + 1


def overlaps(events: Sequence[Event]) -> int:
    """How many groups of calls that ran side by side: a new one begins when one is asked for after another ended."""
    count, ended = 0, True
    for each in events:
        if each.event in (REQUESTED, REFUSED) and ended:
            count, ended = count + 1, each.event == REFUSED
        elif each.event == ENDED:
            ended = True
    return count


def failed(event: Event) -> bool:
    """Whether an event counts as a refuted attempt: its effect was not there and the agent was told so, or it was
    refused while it rests. A failure that said so itself and got no word is work that goes on."""
    return event.event == REFUSED or any(
        each.get("state") == REFUTED and each.get("form") in TOLD for each in event.data.get("verdicts", ())
    )


def concerns(event: Event, verdict: Verdict) -> bool:
    """Whether an event is about the same effect: the same contract, or one that grants the same."""
    return any(
        each.get("contract") == verdict.contract or (verdict.grants and each.get("grants") == verdict.grants)
        for each in event.data.get("verdicts", ())
    )


def line(event: Event, number: int) -> str:
    """An earlier attempt in one line."""
    told = event.data.get("verdicts", ())
    found = next((each.get("found", "") for each in told if each.get("state") == REFUTED), "it was refused")
    return f"attempt {number}: {event.tool} reported {event.data.get('reported', 'nothing')}; found {found}"
