"""Recovers kept calls that the ledger does not know because it was deleted or replaced. Records late what they began,
so that nothing is begun twice unnoticed. A call whose operation is not known never counts as one that began nothing.
Runs once per ledger."""

from __future__ import annotations

import os
import time

from truecall_py.core import paths
from truecall_py.core.errors import TruecallError
from truecall_py.core.hashing import sha256
from truecall_py.core.record import record
from truecall_py.core.types import UNTOLD_INTENT
from truecall_py.judging.engine import Moment
from truecall_py.ledger.pending_calls import OPERATIONS, SUFFIX, KeptCall, read_file
from truecall_py.ledger.store import Event, Ledger, LedgerError
from truecall_py.operations.intents import Intent, find_intents, make_intent_event, select_with_receipt
from truecall_py.operations.view import INTENT, Operation, fold_events, make_digest
from truecall_py.trust import store
from truecall_py.world.snapshots import list_entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from truecall_py.contracts.model import Contract
    from truecall_py.trust.store import Source

MARK = ".ledger"  # beside the sessions (none has such a name): the id of the ledger that knows all these calls
ID_LENGTH = 16  # of that id


@record(frozen=True)
class Left:
    """What remains of such calls: the events (`untold`) of those whose operation is not known, and the number
    (`strange`) of those that no trusted contract names."""

    unidentified: tuple[Event, ...] = ()
    foreign: int = 0

    def match_contract(self, contract: Contract) -> Operation | None:
        """Returns what may be an operation of this contract, or None."""
        event = next((event for event in self.unidentified if event.data["contract"] == contract.id), None)
        return None if event is None else fold_events(event.identity, [event])


def is_complete(state: str, key: bytes) -> bool:
    """Tells whether the ledger with this key knows every kept call."""
    path = os.path.join(state, OPERATIONS)
    try:
        descriptor = os.open(os.path.join(path, MARK), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return not os.path.isdir(path)
    try:
        return os.read(descriptor, ID_LENGTH + 1) == sha256(key)[:ID_LENGTH].encode()
    except OSError:
        return False
    finally:
        os.close(descriptor)


def iterate_kept(state: str) -> Iterator[KeptCall]:
    """Yields every call that is kept until its source settles it."""
    root = os.path.join(state, OPERATIONS)
    for session in list_entries(root):
        for name in list_entries(os.path.join(root, session)):
            kept_call = read_file(os.path.join(root, session, name)) if name.endswith(SUFFIX) else None
            if kept_call is not None:
                yield kept_call


def recover_calls(ledger: Ledger, key: bytes, state: str, fallback: Sequence[Contract], ends: float) -> Left:
    """Records what kept calls began and returns what remains. `hand` are contracts to try if no contract of the
    call's own folder applies; `ends` is the monotonic time of the deadline. Raises LedgerError, also if time runs
    out."""
    if is_complete(state, key):
        return Left()
    unidentified: list[Event] = []
    foreign = 0
    sources: dict[str, list[Source]] = {}
    for call_ in iterate_kept(state):
        if time.monotonic() > ends:
            why = "it does not know all calls that are kept beside it, and they could not be looked at in time"
            raise LedgerError(why, ledger.path, "try again: what was learnt is kept")
        events = find_intents_of(ledger, call_)
        if not events:
            contracts = load_folder_contracts(call_, state, sources) or [
                contract for contract in fallback if contract.names(call_.call)
            ]
            events = record_once(ledger, call_, make_intents(call_, contracts, key, ends))
            foreign += not events
        unidentified += [event for event in events if event.data.get(UNTOLD_INTENT)]
    if not unidentified and not foreign:
        mark_complete(state, key)
    return Left(tuple(unidentified), foreign)


def find_intents_of(ledger: Ledger, kept: KeptCall) -> list[Event]:
    """Returns what the ledger says that a kept call began. Raises LedgerError."""
    return [event for event in ledger.of(kept.call.session, kept.call.call_id) if event.event.startswith(INTENT)]


def record_once(ledger: Ledger, kept: KeptCall, late: list[Event]) -> list[Event]:
    """Records what a kept call began, unless its own hook has done so meanwhile (it keeps the call first). Returns
    what was recorded. Raises LedgerError."""

    def write() -> list[Event]:
        events = find_intents_of(ledger, kept)
        if not events:
            ledger.insert(late)
        return events or late

    events_: list[Event] = ledger.change(write)
    return events_


def load_folder_contracts(kept: KeptCall, state: str, sources: dict[str, list[Source]]) -> list[Contract]:
    """Returns the trusted contracts of a call's folder that settle it by receipt; `sources` caches folders."""
    folder = kept.folder or kept.call.cwd or "/"
    if folder not in sources:
        try:
            sources[folder] = store.load_sources(folder, state, paths.find_user_file(), None)
        except TruecallError:
            sources[folder] = []
    return select_with_receipt(store.find_contracts(sources[folder], kept.call))


def make_intents(kept: KeptCall, contracts: Sequence[Contract], key: bytes, ends: float) -> list[Event]:
    """Returns the events of what a call began; one without the operation's fields if the operation is not known."""
    call, folder = kept.guarded(), kept.folder or kept.call.cwd or "/"
    events: list[Event] = []
    for contract in contracts:
        unsure: list[str] = []
        intents_ = find_intents(contract, call, Moment(ends, kept.at, folder), key, unsure=unsure)
        events += [make_intent_event(intent, kept.call, folder, kept.at, key, late=True) for intent in intents_]
        if unsure:
            name = make_digest(key, UNTOLD_INTENT, f"{call.session} {call.call_id} {contract.id}")
            intent = Intent(contract, {}, name, "", f"{INTENT}{contract.id} {UNTOLD_INTENT}")
            event = make_intent_event(intent, kept.call, folder, kept.at, key, late=True)
            events.append(Event(**{**event.__dict__, "data": {**event.data, UNTOLD_INTENT: unsure[0]}}))
    return events


def mark_complete(state: str, key: bytes) -> None:
    """Marks that the ledger with this key knows every kept call. If the mark cannot be written, the next hook checks
    again."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(os.path.join(state, OPERATIONS, MARK), flags, 0o600)
        try:
            os.write(descriptor, sha256(key)[:ID_LENGTH].encode())
        finally:
            os.close(descriptor)
    except OSError:
        return
