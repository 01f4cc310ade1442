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
from truecall_py.ledger.pending_calls import OPERATIONS, SUFFIX, Kept, at
from truecall_py.ledger.store import Event, LedgerError
from truecall_py.operations.intents import Intent, event_of, intents, settled_by_receipt
from truecall_py.operations.view import INTENT, digest, fold
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
LETTERS = 16  # of that id


@record(frozen=True)
class Left:
    """What is left of the calls that the ledger did not know: the events (`untold`) of those of which nobody can tell
    which operation they began, and how many (`strange`) no trusted contract is about."""

    untold: tuple[Event, ...] = ()
    strange: int = 0

    def of(self, contract: Contract) -> Operation | None:
        """What may be the operation of a contract; None where there is nothing like it."""
        found = next((each for each in self.untold if each.data["contract"] == contract.id), None)
        return None if found is None else fold(found.identity, [found])


def known(state: str, key: bytes) -> bool:
    """Whether the ledger with this key knows every call that is kept."""
    path = os.path.join(state, OPERATIONS)
    try:
        descriptor = os.open(os.path.join(path, MARK), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return not os.path.isdir(path)
    try:
        return os.read(descriptor, LETTERS + 1) == sha256(key)[:LETTERS].encode()
    except OSError:
        return False
    finally:
        os.close(descriptor)


def kept(state: str) -> Iterator[Kept]:
    """Every call that is kept until its source has settled it."""
    root = os.path.join(state, OPERATIONS)
    for session in entries(root):
        for name in entries(os.path.join(root, session)):
            found = at(os.path.join(root, session, name)) if name.endswith(SUFFIX) else None
            if found is not None:
                yield found


def taken_in(ledger: Ledger, key: bytes, state: str, hand: Sequence[Contract], ends: float) -> Left:
    """Writes down what kept calls began, and says what is left. `hand` are contracts to be asked where none
    of a call's own folder is about it; `ends` is the monotonic time of the deadline. Raises LedgerError, also where
    not all could be looked at in time."""
    if known(state, key):
        return Left()
    untold: list[Event] = []
    strange = 0
    sources: dict[str, list[Source]] = {}
    for each in kept(state):
        if time.monotonic() > ends:
            why = "it does not know all calls that are kept beside it, and they could not be looked at in time"
            raise LedgerError(why, ledger.path, "try again: what was learnt is kept")
        told = begun_by(ledger, each)
        if not told:
            contracts = of_folder(each, state, sources) or [one for one in hand if one.names(each.call)]
            told = first(ledger, each, begun(each, contracts, key, ends))
            strange += not told
        untold += [event for event in told if event.data.get(UNTOLD_INTENT)]
    if not untold and not strange:
        mark(state, key)
    return Left(tuple(untold), strange)


def begun_by(ledger: Ledger, one: Kept) -> list[Event]:
    """What the ledger says that a kept call began. Raises LedgerError."""
    return [each for each in ledger.of(one.call.session, one.call.call_id) if each.event.startswith(INTENT)]


def first(ledger: Ledger, one: Kept, late: list[Event]) -> list[Event]:
    """Writes down what a kept call began, unless its own hook has done so meanwhile, which keeps a call before it
    notes its intent; what is written. Raises LedgerError."""

    def write() -> list[Event]:
        told = begun_by(ledger, one)
        if not told:
            ledger.insert(late)
        return told or late

    found: list[Event] = ledger.changed(write)
    return found


def of_folder(one: Kept, state: str, sources: dict[str, list[Source]]) -> list[Contract]:
    """The trusted contracts of a call's folder that settle it by receipt; `sources` are those of folders that were
    read already."""
    folder = one.folder or one.call.cwd or "/"
    if folder not in sources:
        try:
            sources[folder] = store.sources(folder, state, paths.user_file(), None)
        except TruecallError:
            sources[folder] = []
    return settled_by_receipt(store.contracts_naming(sources[folder], one.call))


def begun(one: Kept, contracts: Sequence[Contract], key: bytes, ends: float) -> list[Event]:
    """The events of what a call began; one without an operation's fields where nobody can tell which it is."""
    call, folder = one.guarded(), one.folder or one.call.cwd or "/"
    found: list[Event] = []
    for contract in contracts:
        unsure: list[str] = []
        told = intents(contract, call, Moment(ends, one.at, folder), key, unsure=unsure)
        found += [event_of(each, one.call, folder, one.at, key, late=True) for each in told]
        if unsure:
            name = digest(key, UNTOLD_INTENT, f"{call.session} {call.call_id} {contract.id}")
            intent = Intent(contract, {}, name, "", f"{INTENT}{contract.id} {UNTOLD_INTENT}")
            event = event_of(intent, one.call, folder, one.at, key, late=True)
            found.append(Event(**{**event.__dict__, "data": {**event.data, UNTOLD_INTENT: unsure[0]}}))
    return found


def mark(state: str, key: bytes) -> None:
    """Notes that the ledger with this key knows every call that is kept. Where that cannot be written, they are
    looked at again."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(os.path.join(state, OPERATIONS, MARK), flags, 0o600)
        try:
            os.write(descriptor, sha256(key)[:LETTERS].encode())
        finally:
            os.close(descriptor)
    except OSError:
        return
