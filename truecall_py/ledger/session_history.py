"""One session's part of the ledger, as far as decisions need it: its last events, how often a call was tried, which
tools are paused. Reads; words nothing, and never judges the world."""

from __future__ import annotations

from truecall_py.core.types import ToolCall
from truecall_py.ledger.events import identity
from truecall_py.ledger.store import ENDED, REFUSED, REQUESTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.core.types import Verdict
    from truecall_py.ledger.events import Rest, Trial
    from truecall_py.ledger.store import Event, Ledger

LAST = 250  # events of a session that decisions look back at
FAR = 2000  # the same where something was refuted before those


class SessionHistory:
    """One session's part of the ledger, as far as decisions need it. Raises LedgerError."""

    def __init__(self, ledger: Ledger, session: str, policy: dict[str, Any]) -> None:
        self.ledger = ledger
        self.session = session
        self.policy = policy
        self.key = ledger.key()
        self.loaded: list[Event] | None = None
        self.known = ""  # the identity of a call of which only a masked form is at hand

    @property
    def events(self) -> list[Event]:
        """The session's last events, read when they are asked for: most calls need none of them."""
        if self.loaded is None:
            self.loaded = self.ledger.session(self.session, LAST)
        return self.loaded

    def identity(self, call: ToolCall) -> str:
        return self.known or identity(call, self.key)

    def under_its_name(self, call: ToolCall, at: float) -> ToolCall:
        """The call under the name that it has in the ledger, since its id may have been another's before; `at` is the
        time now."""
        there = self.ledger.of(call.session, call.call_id) if call.call_id else []
        if not there:
            return call
        mine = self.identity(call)
        if all(each.event == REQUESTED and each.identity == mine for each in there):
            return call  # as it was asked for, or by a second copy of the hook
        from truecall_py.ledger.call_ids import apart

        name = apart(self.ledger, call, mine, at)
        return call if name == call.call_id else ToolCall(**{**call.__dict__, "call_id": name})

    def before(self, call: ToolCall) -> list[Event]:
        """The events before this call's own end, so that a hook that is registered twice says the same twice; further
        back where something was refuted before the last ones."""
        events = self.events
        ends = (ENDED, REFUSED)
        own = next((each.id for each in events if each.call == call.call_id and each.event in ends), 0)
        if len(events) >= LAST and self.ledger.refuted(self.session, events[0].id, 1):
            events = self.ledger.session(self.session, FAR)
        return [each for each in events if not own or each.id < own]

    def trial(self, call: ToolCall, verdict: Verdict, said: str, text: str) -> Trial:
        """Where a refuted call stands."""
        from truecall_py.ledger.attempts import trial

        return trial(self, call, verdict, said, text)

    def used_up(self, call: ToolCall, more: int = 0) -> bool:
        """Whether the session has no attempts left, after so many `more`."""
        from truecall_py.ledger.attempts import used_up

        return used_up(self, call, more)

    def resting(self) -> dict[str, Rest]:
        """The routes that rest now."""
        from truecall_py.ledger.cooldowns import resting

        return resting(self.events, self.policy)
