"""Records what the hook was told and what came of it, and reads earlier attempts. Decides nothing. An unusable ledger
is reported to the user once a session, and never turns a verdict into a pass."""

from __future__ import annotations

import os
import time

from truecall_py.core.types import ABSENT, FALSE_SUCCESS, REFUTED, VERIFIED, ToolCall, Verdict
from truecall_py.ledger.events import (
    COOLDOWNS,
    SHOWN_FORMS,
    Cooldown,
    Trial,
    encode_verdict,
    find_route,
    mask_args,
    name_contract_route,
    name_turn,
    read_cooldown,
    shorten_path,
    shorten_phrase,
    worst_state,
)
from truecall_py.ledger.session_history import SessionHistory
from truecall_py.ledger.session_marks import LedgerLost, mark_unrecorded, record_loss
from truecall_py.ledger.store import ENDED, LOST, REFUSED, REQUESTED, Event, Ledger, LedgerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.contracts.model import Contract
    from truecall_py.trust.store import Source


EDITING = frozenset(("write", "edit", "delete"))


class Recorder:
    """The ledger during one hook event. `policy` is that of the nearest contract file that has one. `private` keeps
    the call's content out of the ledger. `named` says that the call already has its name in the ledger. Raises
    LedgerError."""

    def __init__(
        self, state: str, call: ToolCall, policy: dict[str, Any], private: bool = False, named: bool = False
    ) -> None:
        self.state, self.call, self.private = state, call, private
        self.at = time.time()
        self.policy = policy
        # By stop contract: whether this call is one that it asks for (claims.match_calls).
        self.stops: dict[str, bool | str | None] = {}
        self.observed: list[dict[str, Any]] = []  # refusals of guards that only observe
        self.met: list[list[str]] = []  # the guards that let the call through, by file and id
        self.ledger = Ledger(state)
        self.history = SessionHistory(self.ledger, call.session, policy)
        self.named = ""
        self.call = call if named else self.history.name_call(call, self.at)
        event = Event(
            call.session, f"{LOST} {name_turn(call)}", LOST, self.at, call.harness, name_turn(call), call.agent
        )
        self.trouble = record_loss(self.ledger, self.history.key, event)

    @property
    def ends(self) -> bool:
        """Whether a used-up budget ends the agent's loop: the policy says so, and the client can."""
        if self.policy.get("on_exhausted") != "stop":
            return False
        from truecall_py.clients import load_hook

        return getattr(load_hook(self.call.harness), "ENDS_LOOP", False)

    def take_complaint(self) -> tuple[str, ...]:
        """Returns the notice that the ledger could not be written, once a session."""
        return () if self.trouble is None else describe_trouble(self.state, self.call, self.trouble)

    @property
    def identity(self) -> str:
        """The call's identity, computed once."""
        self.named = self.named or self.history.identity(self.call)
        return self.named

    def make_event(self, kind: str, state: str = "", data: dict[str, Any] | None = None, call_id: str = "") -> Event:
        """Returns an event about this call. Without a call id from the client, each event gets a name of its own."""
        call = self.call
        # A harness that names no call: then each event stands for itself.
        name = call_id or call.call_id or f"{self.at:.6f}-{os.getpid()}"
        return Event(call.session, name, kind, self.at, call.harness, name_turn(call), call.agent, call.tool,
                     self.identity, state, data or {})  # fmt: skip

    def keep_args(self) -> dict[str, str]:
        """Returns the arguments as they are stored: masked, or {} for a private call."""
        return {} if self.private else mask_args(self.call.args)

    def record_request(self, contracts: Sequence[Contract], untold: bool = False) -> Cooldown | None:
        """Records that a call is about to be made. If its route is paused, records the refusal instead and returns
        the Cooldown. With `untold` the hook may never learn how the call ended, so it is kept for the stop gate."""
        marked, cooldown = os.path.exists(os.path.join(self.state, COOLDOWNS)), None
        try:
            cooldown = self.find_cooldown(contracts) if marked else None
            if cooldown is not None and self.history.is_used_up(self.call):
                cooldown = Cooldown(**{**cooldown.__dict__, "over": True})
            event = self.make_request(contracts, untold) if cooldown is None else self.make_refusal(cooldown)
            if marked:  # a copy of this hook may have answered before, and a call is answered once
                event = self.ledger.add_first(event, REQUESTED, REFUSED)
                cooldown = read_cooldown(event.data) if event.event == REFUSED else None
            else:
                self.ledger.add(event)
            if untold and cooldown is None and not self.private:
                from truecall_py.ledger.pending_calls import keep_call

                keep_call(self.state, self.call, self.at, self.identity)
        except LedgerError as error:
            self.trouble = error
            if cooldown is None and (contracts or untold):
                mark_unrecorded(self.state, self.call)
        return cooldown

    def make_request(self, contracts: Sequence[Contract], untold: bool) -> Event:
        """Returns the event of a call that is about to be made."""
        data: dict[str, Any] = {"args": self.keep_args(), "cwd": self.call.cwd}
        if contracts:
            data["contracts"] = [contract.id for contract in contracts]
            if observing := [contract.id for contract in contracts if contract.plain.get("mode") == "observe"]:
                data["observing"] = observing
        if untold:
            data["untold"] = True
        data |= {name: kept for name, kept in (("observed", self.observed), ("met", self.met)) if kept}
        return self.make_event(REQUESTED, "", data)

    def make_refusal(self, rest: Cooldown) -> Event:
        """Returns the event of a call that is refused because its route is paused."""
        data = {"args": self.keep_args(), "why": "quarantine", "route": rest.route, "ticks": rest.ticks,
                "alternatives": list(rest.alternatives), "contract": rest.contract, "found": rest.found}  # fmt: skip
        data |= {"over": True} if rest.over else {}
        data |= self.mark_end(self.ends and self.history.is_used_up(self.call, 1))
        return self.make_event(REFUSED, REFUTED, data)

    def mark_end(self, over: bool) -> dict[str, Any]:
        """Returns the data of a refusal that ends the agent's loop, or {}. The loop ends with the batch
        (client_events.record_batch): Claude Code makes a call whose own hook ends the loop."""
        if over:
            mark_cooldowns(self.state)  # so that the batch is told of
        return {"ends": True} if over else {}

    def make_row(self, verdict: Verdict, kind: str) -> dict[str, Any]:
        """Returns a verdict as it is stored; for a private call without its evidence."""
        row = encode_verdict(verdict, kind, self.history.key, self.identity)
        private = ("found", "expected", "subject")
        return {name: value for name, value in row.items() if not self.private or name not in private}

    def note_guards(self, verdicts: Sequence[Verdict], met: Sequence[Verdict]) -> None:
        """Keeps the refusals of observing guards and the guards that passed, for the event of the request."""
        self.observed = [self.make_row(verdict, verdict.kind) for verdict in verdicts]
        self.met = sorted(
            [list(guard) for guard in {(shorten_path(verdict.file), verdict.contract) for verdict in met}]
        )

    def record_refusal(self, verdicts: Sequence[Verdict], trials: dict[int, Trial], orders: dict[int, str]) -> None:
        """Records that guards refused a call. `trials` and `orders` are by the id() of the verdict. A ledger error is
        kept in `trouble`; the call is refused regardless."""
        from truecall_py.policy.orders import HAND_OVER

        rows = [{**self.make_row(verdict, verdict.kind), "order": orders[id(verdict)]} for verdict in verdicts]
        first = verdicts[0]
        trial = trials.get(id(first))
        data: dict[str, Any] = {
            "args": self.keep_args(), "cwd": self.call.cwd, "why": "guard", "contract": first.contract,
            "verdicts": rows, "kind": first.kind, "order": orders[id(first)], "form": "refused",
        }  # fmt: skip
        if trial is not None and trial.budget is not None:
            data["attempt"] = trial.budget.attempt
        data |= self.mark_end(self.ends and HAND_OVER in orders.values())
        try:
            self.ledger.add(self.make_event(REFUSED, worst_state([verdict.state for verdict in verdicts]), data))
        except LedgerError as error:
            self.trouble = error

    def find_cooldown(self, contracts: Sequence[Contract]) -> Cooldown | None:
        """Returns the Cooldown of the call's tool, or of a shell contract that applies to this command; None if there
        is none."""
        cooldowns = self.history.find_cooldowns()
        if not cooldowns:
            return None
        if self.call.tool in cooldowns:
            return without_paused(cooldowns[self.call.tool], cooldowns)
        from truecall_py.judging.engine import Moment, find_applications, make_world

        moment = Moment(time.monotonic() + 2.0, self.at)
        for contract in contracts if "shell" in self.call.kinds else ():
            rest = cooldowns.get(name_contract_route(shorten_path(contract.file), contract.id))
            # Before the call only a condition on the command can tell whether the contract applies.
            if rest is not None and "args.command" in contract.plain.get("when", {}):
                world = make_world(contract, self.call, moment)
                if not isinstance(find_applications(contract, self.call, world, before=True), str):
                    return without_paused(rest, cooldowns)
        return None

    def read_trials(self, verdicts: Sequence[Verdict], said: str, text: str) -> dict[int, Trial]:
        """Returns the attempts so far of each refuted verdict, by its index in `verdicts`; {} if the ledger cannot be
        read."""
        trials: dict[int, Trial] = {}
        try:
            for number, verdict in enumerate(verdicts):
                if verdict.state == REFUTED:
                    trial = self.history.find_trial(self.call, verdict, said, text)
                    if verdict.alternatives and os.path.exists(os.path.join(self.state, COOLDOWNS)):
                        trial = Trial(
                            trial.budget, trial.changed, trial.history, frozenset(self.history.find_cooldowns())
                        )
                    trials[number] = trial
        except LedgerError as error:
            self.trouble = error
            return {}
        return trials

    def record_end(
        self, verdicts: Sequence[Verdict], trials: dict[int, Trial], said: str, told: dict[int, tuple[str, str]]
    ) -> None:
        """Records how a call ended and its verdicts. `told` is the (order, form) of each verdict by its index. A
        ledger error is kept in `trouble`; the verdicts stand."""
        rows, route = [], find_route(self.call)
        for number, verdict in enumerate(verdicts):
            trial = trials.get(number)
            row = self.make_row(verdict, trial.budget.kind if trial and trial.budget else "")
            row |= {"route": route} if route else {}
            if number in told:
                row["order"], row["form"] = told[number]
            rows.append(row)
        first = next(iter(trials.values()), None)
        data: dict[str, Any] = {"args": self.keep_args(), "reported": said, "exit_code": self.call.exit_code}
        if rows:
            data["verdicts"] = rows
        if first is not None and first.budget is not None:
            data["attempt"] = first.budget.attempt
            data["changed"] = list(first.changed) if first.changed is not None else None
        first_told = next((row for row in rows if row.get("form") in SHOWN_FORMS), next(iter(rows), {}))
        data |= {name: first_told[name] for name in ("order", "form", "kind") if first_told.get(name)}
        if self.call.kinds & EDITING:
            data["edits"] = True
        if self.stops:
            data["stop"] = self.stops
        if self.call.background:
            data["background"] = get_background_id(self.call)
        state = worst_state([row["state"] for row in rows])
        try:
            new = self.ledger.add(self.make_event(ENDED, state, data))
            self.update_open(rows)
        except LedgerError as error:
            self.trouble = error
            mark_unrecorded(
                self.state, self.call, bool({*self.stops.values()} - {False}) or state not in ("", VERIFIED)
            )
            return
        if new[0] and any(row.get("outcome") == FALSE_SUCCESS and row.get("route") for row in rows):
            mark_cooldowns(self.state)

    def update_open(self, rows: Sequence[dict[str, Any]]) -> None:
        """Keeps an unresolved call that the stop gate will judge again. Forgets a call that was kept until it ended,
        and those that this one fixed. Raises LedgerError."""
        name = self.call.call_id
        doubtful = [row for row in rows if row["state"] != VERIFIED]
        if doubtful and not self.private and self.needs_rejudging(doubtful):
            from truecall_py.clients import load_hook
            from truecall_py.ledger.pending_calls import keep_call, read_mark, set_mark

            if hasattr(load_hook(self.call.harness), "parse_stop"):
                kept = keep_call(self.state, self.call, self.at, self.identity)
                if kept and self.call.background and read_mark(self.state, self.call.session) is None:
                    set_mark(self.state, self.call.session, 0)
            return
        if rows and not doubtful and os.path.exists(os.path.join(self.state, "open")):
            from truecall_py.ledger.pending_calls import forget_settled, list_names

            if list_names(self.state, self.call.session):
                forget_settled(self.state, self.call.session, self.ledger.session(self.call.session))
        if any(event.call == name and event.data.get("untold") for event in reversed(self.history.events)):
            from truecall_py.ledger.pending_calls import forget_call

            forget_call(self.state, self.call.session, name)

    def needs_rejudging(self, rows: Sequence[dict[str, Any]]) -> bool:
        """Tells whether any of the verdicts leaves its call unresolved."""
        from truecall_py.ledger.open_calls import find_open_state

        return any(find_open_state(row) for row in rows)


def without_paused(rest: Cooldown, resting: dict[str, Cooldown]) -> Cooldown:
    """Returns a Cooldown without the alternatives that are paused themselves."""
    routes = tuple(route for route in rest.alternatives if route not in resting)
    return Cooldown(rest.route, rest.ticks, rest.contract, rest.found, routes)


def get_background_id(call: ToolCall) -> str:
    """Returns the client's id of a background task or agent, or ""."""
    answer = call.response
    name = (answer.get("backgroundTaskId") or answer.get("agentId") or "") if isinstance(answer, dict) else ""
    return shorten_phrase(str(name)) if name is not ABSENT else ""


def mark_cooldowns(state: str) -> None:
    """Tells the launcher to count batches from now on."""
    try:
        os.close(os.open(os.path.join(state, COOLDOWNS), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.utime(os.path.join(state, COOLDOWNS))
    except OSError:
        pass  # then the cooldown lasts until the session ends


def open_recorder(
    sources: Sequence[Source], contracts: Sequence[Contract], call: ToolCall, state: str
) -> tuple[Recorder | None, tuple[str, ...]]:
    """Returns (the recorder for this call, notices for the user). The recorder is None if the ledger cannot be
    used."""
    private = any(contract.plain.get("store") == "none" for contract in contracts)
    policy = next((source.policy for source in sources if source.policy), {})
    try:
        return Recorder(state, call, policy, private), ()
    except LedgerError as error:
        if contracts:
            mark_unrecorded(state, call)
        return None, describe_trouble(state, call, error)


def describe_trouble(state: str, call: ToolCall, error: LedgerError) -> tuple[str, ...]:
    """Returns the notice of an unusable ledger, once a session."""
    from truecall_py.ledger.notices_shown import mark_shown
    from truecall_py.messages.failures import render_ledger_notice, render_lost_ledger_notice

    if isinstance(error, LedgerLost):
        return () if mark_shown(state, call.session, call.turn, "lost") else (render_lost_ledger_notice(error.what),)
    return () if mark_shown(state, call.session, "ledger", "forgetful") else (render_ledger_notice(error.what),)
