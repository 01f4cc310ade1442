"""Calls that are kept until their source settles them, beside a ledger that does not know them: it was deleted or
exchanged since. What they began is written down late, so that none of it is begun a second time in silence. Never
takes a call of which that cannot be told for one that began nothing; looks at them once for each ledger.
"""

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
from truecall_py.ledger.store import Event, LedgerError
from truecall_py.operations.intents import Intent, find_intents, make_intent_event, select_with_receipt
from truecall_py.operations.view import INTENT, fold_events, make_digest
from truecall_py.trust import store
from truecall_py.world.snapshots import entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from truecall_py.contracts.model import Contract
    from truecall_py.ledger.store import Ledger
    from truecall_py.operations.view import Operation
    from truecall_py.trust.store import Source

MARK = ".ledger"  # beside the sessions (none has such a name): the id of the ledger that knows all these calls
ID_LENGTH = 16  # of that id


@record(frozen=True)
class Left:
    """What is left of the calls that the ledger did not know: the events (`untold`) of those of which nobody can tell
    which operation they began, and how many (`strange`) no trusted contract is about."""

    unidentified: tuple[Event, ...] = ()
    foreign: int = 0

    def match_contract(self, contract: Contract) -> Operation | None:
        """What may be the operation of a contract; None where there is nothing like it."""
        event = next((event for event in self.unidentified if event.data["contract"] == contract.id), None)
        return None if event is None else fold_events(event.identity, [event])


def is_complete(state: str, key: bytes) -> bool:
    """Whether the ledger with this key knows every call that is kept."""
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
    """Every call that is kept until its source has settled it."""
    root = os.path.join(state, OPERATIONS)
    for session in entries(root):
        for name in entries(os.path.join(root, session)):
            kept_call = read_file(os.path.join(root, session, name)) if name.endswith(SUFFIX) else None
            if kept_call is not None:
                yield kept_call


def recover_calls(ledger: Ledger, key: bytes, state: str, fallback: Sequence[Contract], ends: float) -> Left:
    """Writes down what kept calls began, and says what is left. `hand` are contracts to be asked where none
    of a call's own folder is about it; `ends` is the monotonic time of the deadline. Raises LedgerError, also where
    not all could be looked at in time."""
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
    """What the ledger says that a kept call began. Raises LedgerError."""
    return [event for event in ledger.of(kept.call.session, kept.call.call_id) if event.event.startswith(INTENT)]


def record_once(ledger: Ledger, kept: KeptCall, late: list[Event]) -> list[Event]:
    """Writes down what a kept call began, unless its own hook has done so meanwhile, which keeps a call before it
    notes its intent; what is written. Raises LedgerError."""

    def write() -> list[Event]:
        events = find_intents_of(ledger, kept)
        if not events:
            ledger.insert(late)
        return events or late

    events_: list[Event] = ledger.change(write)
    return events_


def load_folder_contracts(kept: KeptCall, state: str, sources: dict[str, list[Source]]) -> list[Contract]:
    """The trusted contracts of a call's folder that settle it by receipt; `sources` are those of folders that were
    read already."""
    folder = kept.folder or kept.call.cwd or "/"
    if folder not in sources:
        try:
            sources[folder] = store.load_sources(folder, state, paths.find_user_file(), None)
        except TruecallError:
            sources[folder] = []
    return select_with_receipt(store.find_contracts(sources[folder], kept.call))


def make_intents(kept: KeptCall, contracts: Sequence[Contract], key: bytes, ends: float) -> list[Event]:
    """The events of what a call began; one without an operation's fields where nobody can tell which it is."""
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
    """Notes that the ledger with this key knows every call that is kept. Where that cannot be written, they are
    looked at again."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(os.path.join(state, OPERATIONS, MARK), flags, 0o600)
        try:
            os.write(descriptor, sha256(key)[:ID_LENGTH].encode())
        finally:
            os.close(descriptor)
    except OSError:
        return
