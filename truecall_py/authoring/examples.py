"""The examples that contracts carry: calls in a small world, each with the verdict that must come of it. Judges one
contract at a time by the library's own judgement, and never anything of the person's: no trust, no state, no home."""

from __future__ import annotations

import contextlib
import copy
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

from truecall_py import api, clients
from truecall_py.authoring.sandbox import SmallWorld
from truecall_py.checks import load_check
from truecall_py.contract_files import loader, yaml_writer
from truecall_py.contract_files.fields import parse_duration
from truecall_py.contract_files.lint import walk
from truecall_py.contract_files.yaml_reader import parse
from truecall_py.contracts.model import FILE_NAME
from truecall_py.core.errors import TruecallError, UsageError
from truecall_py.core.record import record
from truecall_py.core.types import REFUTED, UNVERIFIED, VERIFIED, Verdict
from truecall_py.trust import pin
from truecall_py.trust.store import TRUSTED, Pin, Source, make_source

NONE = "none"
AFTERWARDS = ("tool_response", "tool_output", "duration_ms", "error", "is_interrupt")  # known only after the call
LONGEST = {"within": 1.0, "stable_for": 0.3, "every": 0.1}  # seconds: nothing in a small world takes longer
TICK = 0.02  # seconds: the clock of files may stand still for a few milliseconds
AUTHORITY = re.compile(r"https?://[^/?#]*")


@record(frozen=True)
class Example:
    """One example as it is written, and where."""

    title: str
    line: int
    plain: dict[str, Any]


@record(frozen=True)
class Subject:
    """One contract with its examples. `project` is the folder of its file, `code` the files of that folder which
    the contract names."""

    id: str
    path: str
    line: int
    entry: dict[str, Any]
    mode: str
    project: str
    code: tuple[str, ...]
    examples: tuple[Example, ...]


@record(frozen=True)
class Ran:
    """What came of one example. `trouble` says why it could not be judged at all."""

    example: Example
    state: str
    verdicts: tuple[Verdict, ...] = ()
    trouble: str = ""

    @property
    def wanted(self) -> str:
        return str(self.example.plain["verdict"])

    @property
    def holds(self) -> bool:
        return not self.trouble and self.state == self.wanted


def list_subjects(path: str) -> list[Subject]:
    """Every contract of a file's own. Raises ContractError for a file that cannot be used."""
    data = pin.read_contract_file(path)
    loaded = loader.load(data, path)
    document = parse(data)
    found = []
    for at, entry in walk.list_contracts(document.data):
        examples = tuple(
            Example(plain["title"], document.place((*at, "examples", number))[0], plain)
            for number, plain in enumerate(entry.get("examples") or ())
        )
        code = tuple(written for identity, written in loaded.code_files if identity == entry["id"] and "/" in written)
        project = os.path.dirname(os.path.abspath(path))
        found.append(Subject(entry["id"], path, document.place(at)[0], entry, loaded.mode, project, code, examples))
    return found


def run(subject: Subject) -> Iterator[Ran]:
    """Judges every example of a contract, each in a world of its own."""
    for example in subject.examples:
        with tempfile.TemporaryDirectory(prefix="truecall-test-", ignore_cleanup_errors=True) as root:
            yield run_example(subject, example, root)


def run_example(subject: Subject, example: Example, root: str) -> Ran:
    """What comes of one example in an empty folder. An example may ruin its own world, and then fails alone."""
    try:
        with contextlib.closing(SmallWorld(root)) as world:
            try:
                return judge_example(subject, example, world)
            except TruecallError as error:
                return Ran(example, "", (), world.unfilled(str(error)))
            except (OSError, ValueError) as error:
                return Ran(example, "", (), world.unfilled(f"could not be run: {error}"))
    except OSError as error:
        return Ran(example, "", (), f"could not be run: {error}")


def judge_example(subject: Subject, example: Example, world: SmallWorld) -> Ran:
    """What comes of one example. Raises TruecallError where it cannot be judged; OSError and ValueError where `setup`
    cannot be run, or left no world to be judged in."""
    plain = example.plain
    copy_code(subject, world)
    before, after = plain.get("before"), plain.get("world") or {}
    if after.get("serve") or (before or {}).get("serve"):
        world.listen()
    name, payload = complete_payload(plain.get("harness", ""), plain["payload"])
    payload = world.filled_in(payload)
    contracts = [compile_alone(subject, world)]
    snapshot = None
    if before is not None:
        world.build(before)
        with world.entered():
            asking = announce_payload(name, payload)
            snapshot = None if asking is None else api.look_before(asking, contracts, harness=name)
        time.sleep(TICK)
    world.build(after)
    if is_guard_example(payload, name, subject):
        payload = announce_payload(name, payload) or payload
    with world.entered():
        # an example is all of its session: what it does not name was not verified
        given = plain.get("verified") or ()
        effects = [given] if isinstance(given, str) else given
        judgement = api.judge(payload, contracts, harness=name, snapshot=snapshot, verified=effects)
    if judgement.call is None and is_announced(payload, name):
        return Ran(example, NONE)  # no guard is about it
    if judgement.call is None:
        return Ran(example, "", (), "the payload is of an event that is no finished tool call")
    verdicts = judgement.verdicts
    return Ran(example, find_worst(verdicts), verdicts)


def is_announced(payload: dict[str, Any], harness: str) -> bool:
    """Whether a payload is of a call that is not made yet."""
    return payload.get("hook_event_name") == getattr(clients.load_hook(harness), "BEFORE", "")


def is_guard_example(payload: dict[str, Any], harness: str, subject: Subject) -> bool:
    """Whether an example is one of a guard: its payload says so, or its contract is nothing else."""
    only = not {"post", "receipt"} & set(subject.entry)
    return is_announced(payload, harness) or (only and any(name in payload for name in ("tool_name", "tool_input")))


def find_worst(verdicts: Sequence[Verdict]) -> str:
    """The verdict that counts; `none` where the contract did not apply."""
    states = {verdict.state for verdict in verdicts}
    return next((state for state in (REFUTED, UNVERIFIED, VERIFIED) if state in states), NONE)


def copy_code(subject: Subject, world: SmallWorld) -> None:
    """The code that a contract names stands in the example's world as in its own folder. Raises UsageError."""
    for written in subject.code:
        file = os.path.normpath(os.path.join(subject.project, written))
        if file.startswith(subject.project.rstrip("/") + "/") and os.path.isfile(file):
            try:
                shutil.copy(file, world.place(os.path.relpath(file, subject.project)))
            except OSError as error:
                what = f"the code that the contract names cannot be read: {error.strerror}"
                raise UsageError(what, file, "look at its permissions") from None


def complete_payload(harness: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """(harness, payload) with the keys that every payload of that harness has. Raises PayloadError."""
    payload = dict(given)
    harness = harness or payload.pop("harness", "")
    if not harness:
        known = clients.find_sender(payload)
        harness = known if known in clients.NAMES else clients.DEFAULT
    samples = clients.load_part(harness, "samples")
    payload = {**getattr(samples, "EXAMPLE", {}), **payload}
    unanswered = not any(name in payload for name in ("tool_response", "tool_output", "error"))
    if unanswered and payload.get("tool_name") == "Bash" and hasattr(samples, "SHELL_ANSWER"):
        payload["tool_response"] = samples.SHELL_ANSWER
    return harness, payload


def announce_payload(harness: str, payload: dict[str, Any]) -> dict[str, Any] | None:
    """The same call as its harness announces it; None where it announces none."""
    module = clients.load_hook(harness)
    if not hasattr(module, "BEFORE"):
        return None
    kept = {name: value for name, value in payload.items() if name not in AFTERWARDS}
    return {**kept, "hook_event_name": module.BEFORE}


def compile_alone(subject: Subject, world: SmallWorld) -> Source:
    """The contract alone, as if its file lay in the example's world."""
    entry = copy.deepcopy(subject.entry)
    entry.pop("examples", None)
    for name, longest in LONGEST.items():
        if name in entry and parse_duration(entry[name]) > longest:
            entry[name] = f"{longest * 1000:.0f}ms"
    for check in walk.list_checks(entry):
        for field in load_check(check.name).FIELDS:
            if field.kind == "url" and field.name in check.params:  # whatever server is meant: here the example's own
                own = f"http://127.0.0.1:{world.port}"
                check.params[field.name] = AUTHORITY.sub(own, check.params[field.name], count=1)
    text = yaml_writer.write_flow({"version": 1, "mode": subject.mode, "contracts": [entry]})
    path = os.path.join(world.folder, FILE_NAME)
    compiled = pin.compile_file(path, text.encode())
    return make_source(Pin(compiled.pin, path), path, world.folder, TRUSTED)
