"""What switches a client's hooks off: the settings files that may say so for a session in a folder, and which one
wins. Reads only, and takes no file for said that the client does not read. A client for which more than its
registration's `off` counts has a module `switches` of its own."""

from __future__ import annotations

from truecall_py.clients.handlers import ERROR, Finding
from truecall_py.clients.settings_files import find_last_switch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from truecall_py.clients.registration import Registration


def find_switched_off(about: Registration, ways: list[tuple[str, list[str]]]) -> Iterator[Finding]:
    """The switches of a registration that are set in settings files. `ways` are (the client in some of its versions,
    the files that it reads, of which the last one wins), once for each way of reading them."""
    for dotted, value in about.off:
        hits = []
        for who, files in ways:
            said, where = find_last_switch(files, about, dotted)
            if said is value:
                hits.append((who, where))
        for where in dict.fromkeys(where for _, where in hits):
            who = join_versions([who for who, there in hits if there == where], ways)
            yield make_finding(about.name, f"{dotted} is {str(value).lower()} in this file", who, where)


def make_finding(name: str, what: str, who: str, where: str) -> Finding:
    said = f"{what}, so {who} runs no hook at all until that is changed"
    return Finding(ERROR, name, said, where, f"change it in {where}")


def join_versions(who: list[str], ways: list[tuple[str, list[str]]]) -> str:
    """The client as it is called where all of its ways of reading agree, else those that do."""
    return " and ".join(who) if len(who) < len(ways) else who[0].rpartition(" 2.")[0] or who[0]
