"""The last messages of past turns, and the calls behind them: by the `claims` of contracts, as at the stop, or, where
no contract has any, by a few plain patterns. Looks at no world; calls nothing a lie that lost lines explain."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from truecall_py.clients.transcripts import Made, Said
from truecall_py.contracts.model import Contract
from truecall_py.core.errors import Unverified
from truecall_py.core.record import record
from truecall_py.core.types import DEADLINE, REFUTED, UNVERIFIED, VERIFIED
from truecall_py.ledger.store import ENDED, Event
from truecall_py.replay.judge import THEN, Then
from truecall_py.stop import claims
from truecall_py.trust.store import Source

SAYS_SO = "says so"
READ_ONLY_KINDS = frozenset(("read", "fetch"))  # kinds of calls that change nothing
DONE = (r"(?:created|written|updated|changed|fixed|implemented|added|removed|deleted|committed|pushed|deployed|"
        r"installed|saved|sent|merged|renamed|moved)")  # fmt: skip
# What counts as saying that something was done. Only ever listed, with what was not there behind it.
CLAIM_PATTERNS = (
    rf"(?i)\bI(?:'ve|\u2019ve| have)? (?:just |now |also |successfully )*{DONE}\b",
    rf"(?i)\b(?:has|have) been (?:now |successfully )*{DONE}\b",
    r"(?i)\b(?:all )?(?:the )?tests (?:now |are |all )*(?:pass|passed|passing|green)\b",
    r"(?i)\b(?:completed|finished|done) successfully\b",
    r"(?i)\bsuccessfully (?:completed|finished)\b",
)
NO_CHANGE = "no call that changes anything in this turn"
ELSEWHERE = "a sub-agent made calls that are in another transcript"
LOST = "not every call of this turn is in the transcript"


@record(frozen=True)
class Claimed:
    """A message that claims something, and what is behind it: `state` is one of replaying.STATES, or SAYS_SO."""

    line: int
    contract: str
    source: str
    state: str
    found: str
    quote: str


class Turn:
    """What is known of the calls of one agent's turn: `behind` holds each different answer to which contracts at the
    stop asked for a call (claims.match_calls), so that it stays small however many calls there are."""

    def __init__(self, number: str) -> None:
        self.number = number
        self.changes = self.delegated = False
        self.lost = False
        self.behind: list[Event] = []


class Claims:
    """The claims of one transcript, told of its calls and last messages in their order."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self.contracts = [contract for source in sources for contract in source.load_stop_contracts()]
        self.plain = not any(contract.plain.get("claims") for contract in self.contracts)
        self.turns: dict[str, Turn] = {}
        self.earlier: list[Event] = []

    def made(self, made: Made) -> None:
        """A call counts for its agent, and for the main one, on whose behalf all others work."""
        call = made.call
        matched = claims.match_calls(self.sources, call, time.monotonic() + DEADLINE) if self.contracts else {}
        event = Event(call.session, call.call_id, ENDED, 0.0, data={"stop": matched})
        for agent in dict.fromkeys((call.agent, "")):
            turn = self.turns.get(agent)
            if turn is None or (call.agent == agent and call.turn and turn.number != call.turn):
                turn = self.turns[agent] = Turn(call.turn)
            turn.changes = turn.changes or not call.kinds <= READ_ONLY_KINDS
            turn.delegated = turn.delegated or "agent" in call.kinds
            keep_event(turn.behind, event)
        keep_event(self.earlier, event)

    def said(self, said: Said, damaged: bool) -> Iterator[Claimed]:
        """What a last message claims without what it needs behind it, or with what only the world of then tells;
        `damaged` says that lines before it could not be read."""
        stop = said.stop
        number = stop.turn.partition("/")[0]
        turn = self.turns.get(stop.agent)
        if turn is None or turn.number != number:
            turn = Turn(number)
        lost = LOST if damaged or not said.whole else ELSEWHERE if turn.delegated and not stop.agent else ""
        if self.plain:
            yield from self.by_pattern(said, turn, lost)
            return
        for contract in self.contracts:
            verdict_rows = self.by_contract(contract, said, turn, lost)
            if verdict_rows is not None and verdict_rows[0] != VERIFIED:
                words = find_quote(contract.plain["claims"], stop.message or "")
                yield Claimed(said.line, contract.id, contract.source, *verdict_rows, words)

    def by_contract(self, contract: Contract, said: Said, turn: Turn, lost: str) -> tuple[str, str] | None:
        """(state, what was found) of a claim; None where the message does not make it."""
        world = Then(contract.project, contract.project, time.monotonic() + DEADLINE)
        wanted = contract.plain.get("claims")
        if not wanted:
            return None  # what must hold at the end is asked of the world
        try:
            if not claims.has_claim(wanted, said.stop, world):
                return None
        except Unverified as why:
            return UNVERIFIED, why.why
        if claims.needs_calls(contract):
            state, known = claims.judge_calls(contract, self.earlier, turn.behind)
            if state == REFUTED:
                return (UNVERIFIED, lost) if lost else (REFUTED, f"{known}: {claims.describe_calls(contract)}")
            if state != VERIFIED:
                return state, known
        return (THEN, THEN) if contract.plain["post"] else (VERIFIED, "")

    def by_pattern(self, said: Said, turn: Turn, lost: str) -> Iterator[Claimed]:
        words = "" if turn.changes else find_quote(CLAIM_PATTERNS, said.stop.message or "")
        if words:
            found = f"{NO_CHANGE} that the transcript holds; {lost}" if lost else NO_CHANGE
            yield Claimed(said.line, "", "", SAYS_SO, found, words)


def keep_event(events: list[Event], event: Event) -> None:
    """Keeps an event that tells something new of what contracts ask for."""
    stop_id = event.data["stop"]
    if stop_id and not any(each.data["stop"] == stop_id for each in events):
        events.append(event)


def find_quote(patterns: Sequence[str], message: str) -> str:
    """The line of a message in which the first pattern is found that is; "" where none is, or where none can be told
    to be."""
    text = message[-claims.MESSAGE_LIMIT :]
    world = Then()
    try:
        for pattern in patterns:
            if world.search(pattern, text):
                lines = (line.strip() for line in text.split("\n") if world.search(pattern, line))
                return next(lines, text.strip().partition("\n")[0])
    except Unverified:
        return ""
    return ""
