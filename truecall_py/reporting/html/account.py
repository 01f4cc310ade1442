"""One pass over the sessions of a ledger, newest first: the figures of all sessions, and as many calls and false
successes as the page holds. Keeps nothing of a session after adding it, so a ledger of any length fits."""

from __future__ import annotations

from collections.abc import Sequence

from truecall_py.ledger.store import STOP, Event
from truecall_py.operations import view
from truecall_py.operations.view import Operations
from truecall_py.reporting import calls
from truecall_py.reporting.calls import Call
from truecall_py.reporting.follow_ups import Sequels, Waits
from truecall_py.reporting.html import findings
from truecall_py.reporting.html.markup import Markup
from truecall_py.reporting.html.timeline import Timeline
from truecall_py.reporting.statistics import Figures

CALLS = 400  # on the page
OF_SESSION = 150  # of them in one session at most
SESSIONS = 30
LIES = 100


class Account:
    """The content of the page, built session by session. `since` (0.0: everything) and `now` are in seconds since the
    epoch."""

    def __init__(self, since: float, now: float) -> None:
        self.since, self.now = since, now
        self.figures, self.waits, self.operations = Figures(), Waits(), Operations()
        self.right = self.stops = self.held = 0
        self.first, self.last = now, 0.0
        self.lies: list[Markup] = []
        self.lies_left = 0
        self.sessions: list[Markup] = []
        self.sessions_left = self.calls_left = self.calls_shown = 0

    def session(self, name: str, events: Sequence[Event]) -> None:
        """Adds one session: its calls that began at `since` or later."""
        calls_since = [call for call in calls.group_calls(events) if call.at >= self.since]
        events = [event for event in events if event.at >= self.since]
        followed = Sequels(calls_since)
        self.figures.session(calls_since, followed)
        self.waits.session(calls_since, followed)
        self.operations += view.count_operations(events, self.now)
        self.right += sum(followed.of(call).right is not None for call in calls_since if call.was_corrected)
        stops = [event for event in events if event.event == STOP and "held" in event.data]
        self.stops += len(stops)
        self.held += sum(bool(stop.data.get("held")) for stop in stops)
        if calls_since:
            self.first = min(self.first, *(call.at for call in calls_since))
            self.last = max(self.last, *(call.at for call in calls_since))
            self.tell(name, events, calls_since, followed)

    def tell(self, name: str, events: Sequence[Event], every: Sequence[Call], followed: Sequels) -> None:
        """Adds the session's calls to the page, as far as there is room."""
        room = min(OF_SESSION, CALLS - self.calls_shown) if len(self.sessions) < SESSIONS else 0
        places: dict[str, str] = {}
        if room > 0:
            line = Timeline(name, events, every, len(self.sessions) + 1, self.calls_shown + 1, room)
            self.sessions.append(line.markup(followed))
            self.calls_shown += len(line.shown)
            places = line.places
        else:
            self.sessions_left += 1
            self.calls_left += len(every)
        for call in reversed(every):
            if calls.is_false_success(call) and len(self.lies) < LIES:
                self.lies.append(findings.render_false_success(call, followed.of(call), places.get(call.call, "")))
            elif calls.is_false_success(call):
                self.lies_left += 1
