"""The parts of a check: what its module must define, and what it may. A test holds every check to this list; nothing
else in truecall knows a check by its name."""

from __future__ import annotations

from truecall_py.checks import STAGES
from truecall_py.contracts.field import Field
from truecall_py.policy.retry_budgets import CLASSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

REQUIRED = {
    "NAME": "the name of the check, and of its file",
    "SUMMARY": "one sentence that says what the check asserts; printed in the docs and by `truecall schema`",
    "STAGE": "STRUCTURE, LOGIC or EXECUTION of truecall_py.checks: when it runs as a guard, cheapest first",
    "FAILURE_CLASS": 'the retry budget of a refutation (retry_budgets.CLASSES); "": the evidence decides',
    "COST": "the cost of one hook call, as a ratio to a bare interpreter; None until bench/checks.py --write ran",
    "FIELDS": "its fields, as a tuple of contracts.field.field(...)",
    "ASSERTS": "the fields; a contract must give at least one of them; (): the required fields are enough",
    "EXAMPLES": "examples that the docs print and the tests run: at least one verified and one refuted",
    "expect": "expect(params) -> str: what must hold, as a phrase",
    "run": "run(params, call, world) -> Outcome: one probe. Raises Unverified",
}
OPTIONAL = {
    # A snapshot before the call.
    "take_snapshot": "take_snapshot(params, call, world): the facts before the call, as plain JSON data",
    "needs_snapshot": "needs_snapshot(params) -> bool: whether there is no verdict without a snapshot",
    "MARKS_FILE": "True: the effect is the mark of the file itself (inode, times), which every write changes",
    # A contract about each file of the call.
    "asks_removal": "asks_removal(params) -> bool: whether it asks that the file of the call is gone",
    # Guards.
    "GUARD_DEFAULTS": "the values that its fields have in `pre` where the contract gives none",
    "ONLY_AFTER": 'what makes sense only after the call: field -> values (() for any); "" -> words: the whole check',
    "lacking": "lacking(params, facts) -> Outcome | None: the outcome if the call lacks an argument",
    "is_transient": "is_transient(outcome) -> bool: whether a refutation before the call may pass by itself",
    "payload_only": "payload_only(params) -> bool: whether it looks at the call alone, so that `replay` can judge it",
    # The look-up of a receipt.
    "LOOK_UP": "the fields that say where a receipt is looked up",
    "NEEDED": "the fields of LOOK_UP that a receipt must give; (): one of ASSERTS",
    "evidence": "evidence(params, call, world): what the source says, as JSON data; ABSENT for nothing",
    "is_shared_source": "is_shared_source(params) -> bool: whether all projects look up receipts in the same place",
    # Lint.
    "EXCLUSIVE": "fields; a contract may give only one of them",
    "TRIVIAL": "field -> (value that always holds, why, hint)",
    "EXIT_CODE_FIELD": "(field, value) with which it asks for the exit code of the call",
    "SYNONYMS": "what people write for its name by mistake",
    # The child process.
    "WORKER": "the module that does the part that needs a child process: site-packages, or other people's code",
}
TOGETHER = (("take_snapshot", "needs_snapshot"), ("LOOK_UP", "NEEDED", "evidence"))


def list_faults(check: ModuleType) -> list[str]:
    """What is wrong with the module of a check: each fault names the file and the part."""
    file = f"truecall_py/checks/{check.__name__.rpartition('.')[2]}.py"
    missing = [name for name in REQUIRED if not hasattr(check, name)]
    for parts in TOGETHER:
        if any(hasattr(check, name) for name in parts):
            missing += [name for name in parts if not hasattr(check, name)]
    faults = [f"{file} lacks {name}: {REQUIRED.get(name) or OPTIONAL[name]}" for name in missing]
    if missing:
        return faults
    known = {field.name for field in check.FIELDS if isinstance(field, Field)}
    verdicts = {example.get("verdict") for example in check.EXAMPLES}
    tests = (
        (file.endswith(f"/{check.NAME}.py"), "NAME", f"it is {check.NAME!r}, and not the name of the file"),
        (bool(check.SUMMARY), "SUMMARY", "it is empty"),
        (check.STAGE in STAGES, "STAGE", f"{check.STAGE!r} is none of {', '.join(STAGES)}"),
        (check.FAILURE_CLASS in ("", *CLASSES), "FAILURE_CLASS", f"{check.FAILURE_CLASS!r} is none of {CLASSES}"),
        (len(known) == len(check.FIELDS) > 0, "FIELDS", "it is empty, or holds something else than a Field"),
        (set(check.ASSERTS) <= known, "ASSERTS", "it names a field that FIELDS lacks"),
        ({"verified", "refuted"} <= verdicts, "EXAMPLES", "one example must be verified, and one refuted"),
        (callable(check.expect), "expect", "it is no function"),
        (callable(check.run), "run", "it is no function"),
    )
    return [f"{file}: {name} is wrong: {why}" for holds, name, why in tests if not holds]
