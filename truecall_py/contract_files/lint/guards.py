"""Lint rules about guards: conditions, templates and checks that need the answer to the call, and required effects
that no contract grants."""

from __future__ import annotations

import os

from truecall_py.checks import load_check
from truecall_py.contract_files.lint import walk
from truecall_py.contract_files.yaml_reader import parse
from truecall_py.contracts.matchers import DELTAS
from truecall_py.contracts.model import ANSWERED
from truecall_py.core import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from truecall_py.contract_files.lint.subject import Subject
    from truecall_py.contract_files.yaml_reader import Path
    from truecall_py.core.types import Problem

GUARDS = ("pre", "requires")


def is_in_pre(path: Path) -> bool:
    """Whether a path lies in `pre` of a contract."""
    return path[2:3] == ("pre",)


def find_guard_without_call(subject: Subject) -> Iterator[Problem]:
    """TC230: a guard at the stop, where no call is made; `on_unverified` without a guard."""
    for path, entry in subject.entries:
        given = [name for name in GUARDS if name in entry]
        for name in given if entry.get("event") == "stop" else ():
            yield subject.report("TC230", (*path, name),
                                 f"`{name}` runs before a call, but `event: stop` has no call",
                               "move it to a contract with tool or kind", key=True)  # fmt: skip
        if "on_unverified" in entry and not given:
            yield subject.report("TC230", (*path, "on_unverified"),
                               "`on_unverified` is for guards, but this contract has none",
                               "add `pre` or `requires`", key=True)  # fmt: skip


def find_condition_on_answer(subject: Subject) -> Iterator[Problem]:
    """TC231: in a contract that is only a guard, a condition on the answer would hold for every call."""
    for path, entry in subject.entries:
        if "post" in entry or not any(name in entry for name in GUARDS):
            continue
        for name in entry.get("when", {}):
            root = name.partition(".")[0]
            if root in ANSWERED:
                words = f"`{root}` is unknown before the call, but this contract runs only then"
                yield subject.report("TC231", (*path, "when", name), words, key=True)


def find_template_of_answer(subject: Subject) -> Iterator[Problem]:
    """TC232: a template in `pre` that needs the answer."""
    for path, part in subject.list_parts():
        root = part.path.partition(".")[0]
        if is_in_pre(path) and root in ANSWERED:
            yield subject.report("TC232", path, f"`{root}` is unknown before the call")


def find_check_of_answer(subject: Subject) -> Iterator[Problem]:
    """TC233: a check in `pre` that looks at what the call did."""
    for _, check in subject.checks:
        if not is_in_pre(check.path):
            continue
        for field, values in getattr(load_check(check.name), "ONLY_AFTER", {}).items():
            if not field:
                words = f"`{check.name}` looks at {values}, but a guard runs before the call"
                yield subject.report("TC233", check.path, words, key=True)
            elif field in check.params and (not values or check.params[field] in values):
                words = f"`{field}` of `{check.name}` is about what the call did, but a guard runs before it"
                yield subject.report("TC233", (*check.path, field), words, key=True)
    for site in subject.sites:
        if site.owner == "matcher" and site.field.name in DELTAS and is_in_pre(site.path):
            words = f"`{site.field.name}` compares with the value before the call, but a guard runs before it"
            yield subject.report("TC233", site.path, words, key=True)


def list_granted(subject: Subject) -> set[str]:
    """Return the effects that the contracts of the file and of its packs grant."""
    found = [entry.get("grants") for _, entry in walk.list_contracts(subject.document.data)]
    use = subject.document.data.get("use", []) if isinstance(subject.document.data, dict) else []
    for _, name in walk.list_items(use, ()):
        try:
            with open(os.path.join(paths.find_packs_folder(), f"{name}.yaml"), "rb") as file:
                found += [entry.get("grants") for _, entry in walk.list_contracts(parse(file.read()).data)]
        except OSError:
            continue  # TC213 reports it
    return {name for name in found if isinstance(name, str)}


def find_effect_not_granted(subject: Subject) -> Iterator[Problem]:
    """TC320: a required effect that no known contract grants."""
    for path, entry in subject.entries:
        if "requires" not in entry:
            continue
        known = list_granted(subject)
        for place, effect in walk.list_items(entry["requires"], (*path, "requires")):
            if effect not in known:
                yield subject.report("TC320", place, f"no contract of this file or of its packs grants {effect}")


BEFORE = (
    ("TC230", find_guard_without_call),
    ("TC231", find_condition_on_answer),
    ("TC232", find_template_of_answer),
    ("TC233", find_check_of_answer),
)
EFFECTS = (("TC320", find_effect_not_granted),)
