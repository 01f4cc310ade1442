"""Lint rules about time: values from before the call that no snapshot has, and claims without a stop."""

from __future__ import annotations

from truecall_py.checks import NAMES, load_check
from truecall_py.contracts.matchers import DELTAS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from truecall_py.contract_files.lint.subject import Subject
    from truecall_py.core.types import Problem


def find_missing_snapshot(subject: Subject) -> Iterator[Problem]:
    """TC218: only a check that takes a snapshot can compare with the value before the call."""
    for site in subject.sites:
        if site.owner != "matcher" or site.field.name not in DELTAS:
            continue
        check = None if site.path[2:3] == ("when",) else next((name for name in site.path if name in NAMES), None)
        if check is None or not hasattr(load_check(str(check)), "take_snapshot"):
            where = f"`{check}`" if check else "`when`"
            words = f"`{site.field.name}` compares with the value before the call, but {where} takes no snapshot"
            yield subject.report("TC218", site.path, words, key=True)


def find_claim_without_evidence(subject: Subject) -> Iterator[Problem]:
    """TC219: a claim needs a stop, and something that backs it."""
    for path, entry in subject.entries:
        stop = entry.get("event") == "stop"
        if not stop and "event" in entry and not {"tool", "kind"} & set(entry):
            yield subject.report("TC110", path, "this contract names neither a tool nor a kind of call")
        if not stop and "claims" in entry:
            yield subject.report("TC219", (*path, "claims"), "`claims` is for contracts with `event: stop`", key=True)
        if stop and "claims" in entry and "post" not in entry and not {"tool", "kind"} & set(entry):
            words = "a claim needs `post`, or the calls that must back it"
            yield subject.report("TC219", (*path, "claims"), words, "add post, tool or kind", key=True)


TIMING = (
    ("TC218", find_missing_snapshot),
    ("TC219", find_claim_without_evidence),
)
