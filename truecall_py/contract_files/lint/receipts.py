"""Lint rules about operations: receipts that can never settle one, and keys and steps without one."""

from __future__ import annotations

from truecall_py.contract_files.lint import walk
from truecall_py.contracts import template
from truecall_py.contracts.model import ANSWERED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from truecall_py.contract_files.lint.subject import Subject
    from truecall_py.contract_files.yaml_reader import Path
    from truecall_py.core.types import Problem


def find_useless_receipt(subject: Subject) -> Iterator[Problem]:
    """TC220: a receipt without a call or without a state that means done; a key without a receipt."""
    for path, entry in subject.entries:
        receipt = entry.get("receipt")
        if "key" in entry and receipt is None:
            yield subject.report("TC220", (*path, "key"),
                               "`key` identifies an operation, but this contract has no `receipt`",
                               "add receipt, or remove key", key=True)  # fmt: skip
        if not isinstance(receipt, dict):
            continue
        here = (*path, "receipt")
        if entry.get("event") == "stop" or not {"tool", "kind"} & set(entry):
            yield subject.report("TC220", here, "a receipt belongs to a call, but this contract names none",
                               "add tool or kind, and remove event", key=True)  # fmt: skip
        named = [(place, name) for field in ("match", "key") for place,
                 name in list_answer_names(entry, receipt, field, path)]
        for place, name in named:
            words = f"{name} is part of the answer, which cannot identify the operation"
            yield subject.report("TC220", place, words, "use the arguments of the call")
        when = entry.get("when")
        for name in sorted(when if isinstance(when, dict) else ()):
            if str(name).partition(".")[0] in ANSWERED:
                words = f"{name} is part of the answer, but an operation whose answer is lost was begun too"
                yield subject.report("TC220", (*path, "when", name), words, "use the arguments of the call", key=True)
        if "doubts" in entry:
            words = "`doubts: silent` would hide an operation whose result is unknown"
            yield subject.report("TC220", (*path, "doubts"), words, "remove doubts", key=True)
        states = receipt.get("states")
        if isinstance(states, dict) and "verified" not in states.values():
            yield subject.report("TC220", (*here, "states"), "no state of the receipt means verified",
                               "add the state that means done, such as completed: verified", key=True)  # fmt: skip


def list_answer_names(
    entry: dict[str, Any], receipt: dict[str, Any], field: str, path: Path
) -> Iterator[tuple[Path, str]]:
    """Return (place, name) of each template in `match` or `key` that needs the answer."""
    here: Path = (*path, "receipt", field) if field == "match" else (*path, field)
    for place, text in walk.list_texts((receipt if field == "match" else entry).get(field), here):
        yield from ((place, name) for name in sorted(template.list_names(text)) if name.partition(".")[0] in ANSWERED)


def find_unknown_step(subject: Subject) -> Iterator[Problem]:
    """TC221: a step that is not a contract of this file, judged after calls."""
    known = {str(entry.get("id")): entry for _, entry in walk.list_contracts(subject.document.data)}
    for path, entry in subject.entries:
        if "by" in entry and "steps" not in entry:
            yield subject.report("TC221", (*path, "by"),
                               "`by` distinguishes instances of `steps`, but this contract has no steps",
                               "add steps, or remove by", key=True)  # fmt: skip
        if "steps" not in entry:
            continue
        if entry.get("event") != "stop" or {"tool", "kind", "post", "claims"} & set(entry):
            words = "`steps` needs a contract with `event: stop` that checks nothing else"
            yield subject.report("TC221", (*path, "steps"), words, "write event: stop, and no tool, post or claims",
                               key=True)  # fmt: skip
        for place, name in walk.list_items(entry["steps"], (*path, "steps")):
            other = known.get(str(name))
            if other is None or other is entry or other.get("event") == "stop":
                why = "is not a contract of this file" if other is None else "is not judged after a call"
                hint = "name a contract that has a tool or kind"
                yield subject.report("TC221", place, f"the step {name} {why}", hint)


SETTLING = (
    ("TC220", find_useless_receipt),
    ("TC221", find_unknown_step),
)
