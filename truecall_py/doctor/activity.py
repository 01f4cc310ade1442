"""What the ledger shows of a registration: whether a client really asked the hook, and contracts that no call ever
came to. Reads; a ledger that cannot be read is a finding, never an error."""

from __future__ import annotations

import time

from truecall_py.clients.handlers import NOTE, OK, WARNING, Finding
from truecall_py.core import paths
from truecall_py.core.errors import TruecallError
from truecall_py.reporting import queries
from truecall_py.trust import store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from truecall_py.ledger.store import Ledger

ENOUGH = 20  # calls, before a contract that none came to is worth a word
MANY = 5000  # calls that are looked at, the newest ones
SHOWN = 12  # names in one line
GROUP = "ledger"


def find_activity(names: Iterable[str], folder: str, state: str) -> Iterator[Finding]:
    """Everything that the ledger says of these harnesses, and of the contracts that count in a folder."""
    try:
        ledger = queries.open_ledger(state)
        if ledger is None:
            return
        last = queries.find_last_events(ledger)
        for name in names:
            yield describe_last_event(name, last.get(name))
        yield from list_unmatched(ledger, folder, state)
        ledger.close()
    except TruecallError as error:
        yield Finding(WARNING, GROUP, error.what, error.where, error.do or "look at it")


def describe_last_event(name: str, at: float | None) -> Finding:
    if at is None:
        return Finding(NOTE, name, "no call of this client is in the ledger yet")
    when = time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(at))
    return Finding(OK, name, f"the hook was last asked by this client at {when}")


def list_unmatched(ledger: Ledger, folder: str, state: str) -> Iterator[Finding]:
    """The contracts that are in force here and that no call ever came to, beside the tools that were seen."""
    try:
        sources = store.load_sources(folder, state, paths.find_user_file(), None)
        ids = [contract.id for source in sources if source.index for contract in source.load_contracts()]
    except (TruecallError, ValueError, LookupError, TypeError):
        return  # said elsewhere
    calls, matched, tools = count_seen(ledger)
    idle = [contract_id for contract_id in dict.fromkeys(ids) if contract_id not in matched]
    if calls < ENOUGH or not idle:
        return
    what = f"of {calls} calls none came to {join_names(idle)}; tools that were seen: {join_names(tools)}"
    yield Finding(NOTE, "contracts", what)


def count_seen(ledger: Ledger) -> tuple[int, set[str], list[str]]:
    """(Number of calls, contracts that were judged, tools by how often they were used) of the newest calls."""
    calls, matched, tools = 0, set(), dict[str, int]()
    for session in reversed(queries.list_sessions(ledger)):
        if calls > MANY:
            break
        for event in ledger.session(session, MANY):
            if event.event == "ended":
                calls += 1
                tools[event.tool] = tools.get(event.tool, 0) + 1
                matched |= {str(told.get("contract")) for told in event.data.get("verdicts", ())}
    return calls, matched, sorted(tools, key=lambda name: -tools[name])


def join_names(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
