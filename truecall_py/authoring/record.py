"""A captured call becomes a first contract: what it left behind, said with the call's own values as templates. Keeps
only what holds now and what `lint` has no word about, says what each line is for, and leaves the rest to a person."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from truecall_py import api
from truecall_py.authoring import append_contract, changed_files, shell_commands
from truecall_py.authoring.changed_files import Window
from truecall_py.contract_files import loader
from truecall_py.contract_files.yaml_writer import write_comment, write_flow, write_text
from truecall_py.contracts.facts import find_exit_code
from truecall_py.contracts.model import FILE_NAME
from truecall_py.core.errors import UsageError
from truecall_py.core.record import record
from truecall_py.core.redaction import quote
from truecall_py.core.types import FAILURE, READ_ONLY, VERIFIED
from truecall_py.trust import pin
from truecall_py.trust.store import TRUSTED, Pin, make_source
from truecall_py.world.world import World

MAX_CHECKS = 6  # checks of one contract
SETTLED = ("ok", "success", "succeeded", "created", "saved", "updated", "deleted", "written", "sent", "done")
IDENTITIES = re.compile(r"(?:.*_)?(?:id|key|number|uuid|sha|url)\Z")
LOOPBACK = re.compile(r"http://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]+)?(?:/[^\s@?#]*)?\Z")
ADDRESS = re.compile(r"https?://[^\s]+\Z")


@record(frozen=True)
class Candidate:
    """One check that may go into the contract: why it is asked, and what would make it tighter."""

    check: dict[str, Any]
    why: str
    when: dict[str, Any] | None = None


@record(frozen=True)
class Recording:
    """The lines of the new contract (without the file's head), its id, and what was left out and why."""

    id: str
    lines: tuple[str, ...]
    left_out: tuple[str, ...]


class Recorder:
    """One call, and the project that its contract is for."""

    def __init__(self, payload: bytes, harness: str | None, project: str, window: Window, taken: set[str]) -> None:
        call = api.call_of(payload, harness)
        if call is None:
            raise UsageError("this payload is of no finished tool call", do="record one of PostToolUse or its like")
        self.payload, self.harness, self.call = payload, harness, call
        self.project, self.window, self.taken = os.path.realpath(project), window, taken
        self.world = World(call.start_cwd, self.project)
        # The arguments of a shell command are one text, and a description in words; its operands are captured.
        self.values = [] if "shell" in call.kinds else changed_files.list_values(call)
        self.left_out: list[str] = []
        self.about: dict[str, Any] = {}
        self.stem = call.tool.removeprefix("mcp__")

    def recording(self, id: str = "") -> Recording:
        """The contract. Raises UsageError where nothing could be derived."""
        call = self.call
        if call.reported == FAILURE or call.background:
            why = "goes on in the background" if call.background else "failed by its own report"
            raise UsageError(f"this call {why}, so there is nothing to ask for", do="record one that went well")
        kept: list[Candidate] = []
        for candidate in self.candidates():
            known = [other.check for other in kept]
            if len(kept) < MAX_CHECKS and candidate.check not in known and self.holds(candidate):
                kept.append(candidate)
        if not kept:
            raise UsageError(
                "there is nothing to check in this call: no file that it names or changed, no field of its answer",
                do="; ".join(self.left_out) or "look further with --since 10m or --before DIR",
            )
        name = append_contract.make_id(id or self.stem, self.taken, "recorded")
        return Recording(name, tuple(self.written(name, kept)), tuple(self.left_out))

    # -- what may be asked -----------------------------------------------------------------------------

    def candidates(self) -> Iterator[Candidate]:
        call = self.call
        if "shell" in call.kinds:
            yield from self.of_command()
            return
        if call.files:
            kinds = sorted({"write", "edit", "delete"} & call.kinds)
            self.about = {"kind": kinds[0] if len(kinds) == 1 else kinds}
            yield from self.of_files()
            return
        self.about = {"tool": call.tool}
        if not call.kinds & READ_ONLY:
            yield from self.of_arguments()
            yield from self.of_changes()
        yield from self.of_result()

    def of_files(self) -> Iterator[Candidate]:
        actions = {file.action for file in self.call.files}
        if actions & {"add", "update"}:
            check: dict[str, Any] = {"path": "{{file.path}}"}
            why = "the file that the call names is there"
            if any(file.content is not None for file in self.call.files):
                check["not_lost"] = "{{file.content}}"
                why += ", and what was sent was not lost (a formatter may change it)"
            yield Candidate({"file_exists": check}, f"{why}; newer_than: call asks that this call changed it")
        if "delete" in actions:
            why = "the file that the call deletes is gone"
            yield Candidate({"file_absent": {"path": "{{file.path}}"}}, why)

    def of_arguments(self) -> Iterator[Candidate]:
        for template, value in self.values:
            if ADDRESS.match(value):
                yield from self.of_address(template, value)
            elif "\n" not in value and len(value) < 1024 and ("/" in value or names_path(template)):
                yield from self.of_path(template, value)

    def of_path(self, template: str, value: str) -> Iterator[Candidate]:
        path = os.path.join(self.call.start_cwd or "/", os.path.expanduser(value))
        name = template.strip("{}")
        if os.path.isdir(path):
            check: dict[str, Any] = {"path": template, "type": "dir"}
            yield Candidate({"file_exists": check}, f"the folder that {name} names is there")
        elif os.path.isfile(path):
            check = {"path": template, **self.holding(path)}
            yield Candidate({"file_exists": check}, f"the file that {name} names is there")
        elif names_path(name):
            self.left_out.append(f"{name} names nothing that is there now: {quote(value, 120)}")

    def holding(self, path: str) -> dict[str, Any]:
        """The content of a file, as far as a value of the call says it."""
        held = changed_files.find_held_value(changed_files.read_text(path), self.values)
        return {"contains": held} if held else {"min_size": 1} if changed_files.find_file_size(path) else {}

    def of_address(self, template: str, value: str) -> Iterator[Candidate]:
        name = template.strip("{}")
        if not LOOPBACK.match(value):
            self.left_out.append(f"{name} is an address elsewhere, and not asked now: write http_status yourself")
            return
        why = f"what {name} names answers; a value never forms a host, so this is for that address alone"
        yield Candidate({"http_status": {"url": value}}, why, {name: {"equals": value}})

    def of_changes(self) -> Iterator[Candidate]:
        """Checks of the files that changed: those that a value of the call names, else a few of the others."""
        folder = self.call.start_cwd or self.call.cwd or ""
        if not os.path.isdir(folder) or os.path.realpath(folder) in ("/", os.path.realpath(os.path.expanduser("~"))):
            return
        candidates: list[Candidate] = []
        others: list[Candidate] = []
        for change in changed_files.find_changes(folder, self.window):
            full = os.path.realpath(os.path.join(folder, change.path))
            if not full.startswith(self.project.rstrip("/") + "/"):
                continue
            relative = os.path.relpath(full, self.project)
            if os.path.basename(relative) == FILE_NAME or equals_payload(full, self.payload):
                continue
            path = changed_files.replace_values(relative, self.values)
            spelt = changed_files.find_hidden_value(path, self.values) if path == relative else ""
            if spelt:
                words = f"{relative} changed, and its name is {spelt} in a spelling that no template can say"
                self.left_out.append(words)
                continue
            moved = path != relative
            (candidates if moved else others).append(self.of_change(change.action, full, path, moved))
        yield from candidates or others[:3]

    def of_change(self, action: str, full: str, path: str, told: bool) -> Candidate:
        place = "{{project}}/" + path
        if action == "removed":
            why = "a file that was there before the call is gone; drop `vacuous: ok` where the hook looks before, too"
            return Candidate({"file_absent": {"path": place, "vacuous": "ok"}}, why)
        why = "a file that this call changed" + ("" if told else "; is it always this one?")
        why += " (tighter: equals, mode, newer_than: call)"
        return Candidate({"file_exists": {"path": place, **self.holding(full)}}, why)

    def of_result(self) -> Iterator[Candidate]:
        answer = self.call.result
        if self.call.is_error is False:
            yield Candidate({"result": {"of": "is_error", "equals": False}}, "the answer is not flagged as an error")
        for key, value in answer.items() if isinstance(answer, dict) else ():
            if not changed_files.PART.match(str(key)):
                continue
            if key in SETTLED and value is True:
                yield Candidate({"result": {"path": key, "equals": True}}, f"the answer says {key}")
            elif key in ("status", "state") and isinstance(value, (str, int)) and not isinstance(value, bool):
                template = next((name for name, known in self.values if known == str(value)), value)
                why = f"the answer's {key} is the one of this call; are there others that are right? then one_of"
                yield Candidate({"result": {"path": key, "equals": template}}, why)
            elif IDENTITIES.match(str(key)) and isinstance(value, (str, int)) and not isinstance(value, bool):
                kind = "string" if isinstance(value, str) else "integer"
                yield Candidate({"result": {"path": key, "type": kind}}, f"the answer names its {key}")

    def of_command(self) -> Iterator[Candidate]:
        line = self.call.args.get("command")
        code = find_exit_code(self.call, self.world)
        ways = shell_commands.find_patterns(line, code) if isinstance(line, str) else []
        if not ways:
            raise UsageError(
                "this command line has no part that was certainly run", do="record a call of the command alone"
            )
        way = ways[0]
        self.about = {"kind": "shell", "when": {"args.command": {"runs": way.pattern}}}
        self.stem = way.name
        if "git" in (way.check or {}):  # a captured call is judged late, when all that git knows is older than that
            self.about["vacuous"] = "ok"
        if way.check is not None:  # where that does not hold, nothing weaker takes its place
            yield Candidate(way.check, way.why)
            return
        if os.path.basename(way.words[0]) != "git":
            yield from self.produced(way)
        if code == 0:
            why = "the command ended well; say what it must leave behind as well"
            yield Candidate({"result": {"of": "exit_code", "equals": 0}}, why)

    def produced(self, way: shell_commands.Command) -> list[Candidate]:
        """The files that a command changed; the one that it names is captured."""
        candidates, line, code = [], self.call.args["command"], find_exit_code(self.call, self.world)
        folder = os.path.realpath(self.call.start_cwd or self.call.cwd or "/")
        for candidate in self.of_changes():
            (check,) = candidate.check.values()
            full = os.path.join(self.project, check["path"].removeprefix("{{project}}/"))
            operand = next((word for word in way.words[1:] if word and os.path.join(folder, word) == full), "")
            pattern = shell_commands.capture_operand(way, operand) if operand else ""
            if pattern and "file_exists" in candidate.check and shell_commands.pattern_fits(pattern, line, code):
                self.about = {"kind": "shell", "when": {"args.command": {"runs": pattern}}}
                why = "the file that the command names is there"
                return [Candidate({"file_exists": {**check, "path": "{{match.file}}"}}, why)]
            if os.path.basename(full) in line:
                words = f"{check['path']} changed, and the command names it where no pattern can capture it"
                self.left_out.append(words)
            else:
                candidates.append(candidate)
        return candidates

    # -- what is kept ----------------------------------------------------------------------------------

    def plain(self, name: str, kept: list[Candidate]) -> dict[str, Any]:
        when = dict(self.about.get("when", {}))
        for candidate in kept:
            when.update(candidate.when or {})
        about = {key: value for key, value in self.about.items() if key != "when"}
        checks = [candidate.check for candidate in kept]
        return {"id": name, **about, **({"when": when} if when else {}), "post": checks}

    def holds(self, candidate: Candidate) -> bool:
        """Whether a check can be written, has no word from `lint`, and holds of this very call now."""
        wrong = self.wrong([candidate])
        if wrong:
            self.left_out.append(f"{write_flow(candidate.check)}: {wrong}")
        return not wrong

    def wrong(self, kept: list[Candidate]) -> str:
        """Why a contract of these checks cannot be written down; "" where it can."""
        try:
            data = write_flow({"version": 1, "contracts": [self.plain("recorded", kept)]}).encode()
        except ValueError as error:
            return str(error)
        problems = loader.find_problems(data, FILE_NAME)
        if problems:
            return problems[0].message
        path = os.path.join(self.project, FILE_NAME)
        source = make_source(Pin(pin.compile_file(path, data).pin, path), path, self.project, TRUSTED)
        judgement = api.judge(self.payload, [source], harness=self.harness)
        if not judgement.verdicts:
            return "the contract does not apply to this call"
        if all(verdict.state == VERIFIED for verdict in judgement.verdicts):
            return ""
        outcomes = (outcome for verdict in judgement.verdicts for outcome in verdict.outcomes)
        bad = next(outcome for outcome in outcomes if outcome.state != VERIFIED)
        return f"it does not hold now: {quote(bad.found, 200)}"

    # -- how it is written -----------------------------------------------------------------------------

    def written(self, name: str, kept: list[Candidate]) -> Iterator[str]:
        plain = self.plain(name, kept)
        words = f"from one call of {self.call.tool}: each line is a guess to look at, tighten or remove"
        yield from write_comment(words, 2)
        yield f"  - id: {write_text(name)}"
        for key in ("tool", "kind", "vacuous"):
            if key in plain:
                yield f"    {key}: {write_flow(plain[key])}"
        if "when" in plain:
            yield f"    when: {write_flow(plain['when'])}"
        elif "{{args." in write_flow(plain["post"]):
            words = "if an argument that is used below may be missing: when: {args.NAME: {exists: true}}"
            yield from write_comment(words, 4)
        yield "    post:"
        for candidate in kept:
            yield from write_comment(candidate.why, 6)
            ((check, params),) = candidate.check.items()
            yield f"      - {check}: {write_flow(params)}"
        yield from write_comment("may the same call be made again? then say repeat: safe, else keyed or never", 4)


def names_path(name: str) -> bool:
    """Whether the name of an argument says that it is a path."""
    return "path" in name or "file" in name


def equals_payload(path: str, data: bytes) -> bool:
    """Whether a file is the payload itself."""
    try:
        return os.path.getsize(path) == len(data) and changed_files.read_bytes(path) == data
    except OSError:
        return False
