"""The canary: a call that no agent made, told to a registered command as its client would tell it, and whether
the answer is one that this client puts in front of its model. Without a trusted contract it proves that the command
answers, with one that its engine and a check work. Never starts a process itself."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from truecall_py.clients import DEFAULT, NAMES, load_hook, load_part, load_registration
from truecall_py.clients.payload import quote_word
from truecall_py.clients.registration import lex_command
from truecall_py.clients.samples import CALL, TOOL
from truecall_py.contracts.model import FILE_NAME
from truecall_py.core.record import record
from truecall_py.core.types import Correction
from truecall_py.doctor.registrations import find_function
from truecall_py.hook import main
from truecall_py.messages import failures
from truecall_py.trust import pin
from truecall_py.world import snapshots

UNTRUSTED = ("NOT CONFIRMED", "trusted")  # what is said where nobody trusts the contract file
EFFECT, CONTRACT = "sang.txt", "truecall-doctor-canary"
REFUTED = ("NOT DONE", CONTRACT)
TEXT = f"""version: 1
contracts:
  - id: {CONTRACT}
    tool: {TOOL}
    post: {{file_exists: {{path: "{{{{project}}}}/{EFFECT}"}}}}
"""


def write_contract(folder: str) -> str:
    """Writes a contract file that nobody trusts, so that the hook must answer in every folder; its path."""
    path = os.path.join(folder, FILE_NAME)
    with open(path, "x", encoding="utf-8") as file:
        file.write("version: 1\n")
    return path


def prove(folder: str) -> tuple[str, str]:
    """Writes a contract that the canary breaks until there is a file EFFECT, and trusts it in a store of its own;
    (the contract file, the store). Raises TruecallError or OSError."""
    path, state = os.path.join(folder, FILE_NAME), os.path.join(folder, "state")
    with open(path, "x", encoding="utf-8") as file:
        file.write(TEXT)
    pin.trust(pin.compile_file(path), state)
    return path, state


def extend_line(command: str, path: str, state: str) -> str:
    """A registered line with words behind it, of which the last ones count: these contracts and this store; "" for
    a line behind whose command no word can be put."""
    starts = any(word.endswith("/run.sh") for word in lex_command(command))
    if not starts or any(letter in command for letter in "`\n\r#") or "$(" in command:
        return ""
    return f"{command} --contracts {quote_word(path)} --state {quote_word(state)}"


@record(frozen=True)
class Surroundings:
    """`env` is what a hook of the client `name` is started with, `withheld` what a project's files would add to it
    and we do not run."""

    name: str
    env: dict[str, str]
    withheld: tuple[str, ...] = ()

    def wrap(self, command: str) -> tuple[str, str]:
        """(the line that the client gives to the shell for a command, the setting that changed it, or "")."""
        wrap_command = find_function(self.name, "wrap_command")
        line, setting = wrap_command(command, self.env) if wrap_command is not None else (command, "")
        return line, setting


def find_environment(name: str, project: str, given: Mapping[str, str]) -> Surroundings:
    """What this client gives to a hook in a session in `project`, started with `given`."""
    read_environment = find_function(name, "read_environment")
    return Surroundings(name, *(read_environment(project, given) if read_environment else (dict(given),)))


def build_environment(harness: str, folder: str, given: Mapping[str, str]) -> dict[str, str]:
    """What the client hands to a hook: its own environment, and the project's folder as it names it."""
    every = {name: load_hook(name).PROJECT_ENV for name in NAMES}
    found = {key: value for key, value in given.items() if key not in every.values()}
    # A client sets its own variable, and some set that of the client whose hooks they copied as well.
    return {**found, every[DEFAULT]: folder, every[harness]: folder} if every[harness] else found


def build_payload(harness: str, event: str, folder: str) -> dict[str, Any]:
    """What the client tells of a call that ended. The session has no name, so that no session is marked as told."""
    made: dict[str, Any] = load_part(harness, "samples").build_self_test(event, folder)
    return made


def find_fault(
    harness: str, event: str, told: dict[str, Any], code: int, out: bytes, err: bytes,
    words: tuple[str, ...] = UNTRUSTED,
) -> str:  # fmt: skip
    """What is wrong with an answer to the canary; "" for one in the client's dialect that speaks of it, in these
    words."""
    said = err.decode("utf-8", "replace").strip().splitlines()
    last = f": {said[-1][:200]}" if said else ""
    if code != 0:
        return f"the command ended with exit code {code}{last}"
    if not out.strip() and event not in (*load_hook(harness).HANDLED, *getattr(load_hook(harness), "ONLY", ())):
        return ""  # it looks or notes, and says nothing
    if not out.strip():
        return f"the command said nothing, which {load_registration(harness).client} takes for: all is well{last}"
    try:
        answer = json.loads(out)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        return f"the answer is no JSON object: {out[:120].decode('utf-8', 'replace')!r}"
    answer.pop("systemMessage", None)  # for the person alone
    text = max(list_strings(answer), key=len, default="")
    if text == failures.DIED:
        return "truecall's own program failed: the interpreter cannot run it"
    if not any(answer == render_canary(harness, event, told, text, replace) for replace in (False, True)):
        client = load_registration(harness).client
        return f"the answer is not in the dialect of {client}: {json.dumps(answer)[:200]}"
    if not all(word in text for word in words):
        return f"the answer does not speak of the canary: {text[:200]!r}"
    return ""


def find_event_before(harness: str) -> str:
    """The event at which this client lets the hook look before a call, "" where it has none."""
    return str(getattr(load_hook(harness), "BEFORE", ""))


def has_snapshot(state: str) -> bool:
    """Whether the look before the canary was kept."""
    return snapshots.find_snapshot(state, CALL, CALL) is not None


def find_silent_fault(code: int, out: bytes) -> str:
    """What is wrong with an answer to a canary that kept its contract; "" for none at all."""
    if code != 0:
        return f"the command ended with exit code {code}"
    return f"the command said {out[:200].decode('utf-8', 'replace')!r}" if out.strip() else ""


def render_canary(harness: str, event: str, told: dict[str, Any], text: str, replace: bool) -> Any:
    """A correction with these words as this version answers it to the canary."""
    calls = main.parse_calls(load_hook(harness), told)
    reply = load_hook(harness).render(event, calls[0] if calls else None, Correction(text, replace), ())
    return json.loads(reply.stdout)


def list_strings(value: Any) -> list[str]:
    """Every text in an answer."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inside for text in list_strings(each)]
