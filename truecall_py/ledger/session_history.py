"""One session's part of the ledger that decisions need: its last events, attempts and paused tools. Read only."""

from __future__ import annotations

from truecall_py.core.types import ToolCall, Verdict
from truecall_py.ledger.events import Cooldown, Trial, make_identity
from truecall_py.ledger.store import ENDED, REFUSED, REQUESTED, Event, Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


NEAR_EVENTS = 250  # a session's last events that decisions read
FAR_EVENTS = 2000  # the same where something was refuted before those


class SessionHistory:
    """One session's part of the ledger that decisions need. Raises LedgerError."""

    def __init__(self, ledger: Ledger, session: str, policy: dict[str, Any]) -> None:
        self.ledger = ledger
        self.session = session
        self.policy = policy
        self.key = ledger.read_key()
        self.loaded: list[Event] | None = None
        self.known = ""  # the identity of a call that is only available masked

    @property
    def events(self) -> list[Event]:
        """The session's last events, read on demand: most calls need none."""
        if self.loaded is None:
            self.loaded = self.ledger.session(self.session, NEAR_EVENTS)
        return self.loaded

    def identity(self, call: ToolCall) -> str:
        return self.known or make_identity(call, self.key)

    def name_call(self, call: ToolCall, at: float) -> ToolCall:
        """Returns the call under its name in the ledger, since an earlier call may have had its id; `at` is the time
        now."""
        there = self.ledger.of(call.session, call.call_id) if call.call_id else []
        if not there:
            return call
        mine = self.identity(call)
        if all(event.event == REQUESTED and event.identity == mine for event in there):
            return call  # as it was asked for, or by a second copy of the hook
        from truecall_py.ledger.call_ids import find_name

        name = find_name(self.ledger, call, mine, at)
        return call if name == call.call_id else ToolCall(**{**call.__dict__, "call_id": name})

    def list_before(self, call: ToolCall) -> list[Event]:
        """Returns the events before this call's own end, so that a hook that is registered twice says the same twice.
        Goes further back if something was refuted before the last ones."""
        events = self.events
        ends = (ENDED, REFUSED)
        own = next((event.id for event in events if event.call == call.call_id and event.event in ends), 0)
        if len(events) >= NEAR_EVENTS and self.ledger.refuted(self.session, events[0].id, 1):
            events = self.ledger.session(self.session, FAR_EVENTS)
        return [event for event in events if not own or event.id < own]

    def find_trial(self, call: ToolCall, verdict: Verdict, said: str, text: str) -> Trial:
        """Returns the attempts so far of a refuted call."""
        from truecall_py.ledger.attempts import find_trial

        return find_trial(self, call, verdict, said, text)

    def is_used_up(self, call: ToolCall, more: int = 0) -> bool:
        """Tells whether the session has no attempts left after `more`."""
        from truecall_py.ledger.attempts import is_used_up

        return is_used_up(self, call, more)

    def find_cooldowns(self) -> dict[str, Cooldown]:
        """Returns the routes that are paused now."""
        from truecall_py.ledger.cooldowns import find_cooldowns

        return find_cooldowns(self.events, self.policy)
