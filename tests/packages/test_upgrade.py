"""A wheel over the wheel of the version before: hooks that were registered, contracts that were trusted and the ledger
stay as they were."""

from __future__ import annotations

import json
import os

import pytest
from packages.conftest import User
from support.environment import Environment
from support.project import Project

CONTRACTS = """\
version: 1
use: [files, mcp]
contracts:
  - id: note-saved
    tool: mcp__notes__save_note
    post: {file_exists: {path: "{{project}}/notes/{{args.title}}.md", contains: "{{args.body}}"}}
"""


class Upgraded(User):
    """The user, the hooks that the version before registered, and what it answered by them."""

    def __init__(self, base: str, before: str, after: str) -> None:
        self.world = Project(base)
        super().__init__(Environment(os.path.join(base, "environment")), self.world.home, self.world.root)
        self.environment.install(before)
        self.truecall("install", "claude-code")
        with open(os.path.join(self.home, ".claude", "settings.json"), encoding="utf-8") as file:
            self.hooks = {event: entries[0]["hooks"][0]["command"] for event, entries in json.load(file)["hooks"].items()}
        self.write("truecall.yaml", CONTRACTS)
        self.truecall("trust", "--yes")
        self.pack = os.path.join(self.environment.package, "contracts", "files.yaml")
        self.truecall("trust", "--yes", self.pack)
        self.refuted, self.verified = self.save("a", saves=False), self.save("b", saves=True)
        self.environment.install(after, "--force-reinstall", "--no-deps")

    def answer(self, payload: dict, event: str = "PostToolUse") -> str:
        """What the registered command prints."""
        done = self.run("sh", "-c", self.hooks[event], stdin=json.dumps(payload))
        assert done.returncode == 0, done
        return done.stdout

    def save(self, title: str, saves: bool) -> str:
        """The answers before and after one call that says that it saved a note; `saves` says whether it did."""
        call = self.world.mcp(args={"title": title, "body": "hello"}, tool_use_id=f"toolu_{title}_{os.urandom(4).hex()}")
        asked = {name: value for name, value in call.items() if name not in ("tool_response", "duration_ms")}
        before = self.answer({**asked, "hook_event_name": "PreToolUse"}, "PreToolUse")
        if saves:
            self.write(f"notes/{title}.md", "hello")
        return before + self.answer(call)


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory, wheel_before, wheel):
    return Upgraded(str(tmp_path_factory.mktemp("upgraded")), wheel_before, wheel)


def test_a_registered_hook_still_refutes_a_false_success(upgraded):
    """The command that stands in the client's settings answers as it did, without a word about the upgrade; the
    attempts of before count."""
    assert "NOT DONE" in upgraded.refuted and upgraded.verified == ""
    answer = json.loads(upgraded.save("a", saves=False))
    assert answer["decision"] == "block" and answer["reason"].startswith("NOT DONE")
    assert "attempt 2 of 2" in answer["reason"]
    assert "systemMessage" not in answer


def test_a_true_success_is_let_through(upgraded):
    """The same hook says nothing of a call that did what it reported."""
    assert upgraded.save("c", saves=True) == ""


def test_the_packs_are_trusted_still(upgraded):
    """The contracts of the packs that the trusted file uses count without a new trust."""
    path = os.path.join(upgraded.project, "missing.txt")
    answer = json.loads(upgraded.answer(upgraded.world.wrote(path, "x")))
    assert answer["decision"] == "block" and "contract file-there (pack files)" in answer["reason"]
    assert "systemMessage" not in answer
    assert "changed" not in upgraded.truecall("trust", "--list")


def test_a_pack_that_was_trusted_by_its_old_path_is_found(upgraded):
    """The packs lie in another folder of the wheel now: a hook that names one by its old path is answered by the
    pack, without a notice that it was deleted."""
    assert not os.path.exists(upgraded.pack)
    payload = json.dumps(upgraded.world.wrote(os.path.join(upgraded.project, "missing.txt"), "x"))
    done = upgraded.run("truecall", "hook", "--harness", "claude-code", "--contracts", upgraded.pack, stdin=payload)
    answer = json.loads(done.stdout)
    assert answer["decision"] == "block" and "systemMessage" not in answer
    listed = [line for line in upgraded.truecall("trust", "--list").splitlines() if upgraded.pack in line]
    assert len(listed) == 1 and "deleted" not in listed[0]


def test_the_ledger_is_read(upgraded):
    """`truecall log` lists the calls of the version before, and what the hook has been told of since."""
    upgraded.save("d", saves=True)
    listed = json.loads(upgraded.truecall("log", "--json", "--tool", "mcp__notes__save_note", "--limit", "100"))
    calls = [(call["args"]["title"], call["state"]) for call in listed]
    assert calls[0] == ("d", "verified")
    assert calls[-2:] == [("b", "verified"), ("a", "refuted")]


def test_doctor_finds_the_registration_well(upgraded):
    """`doctor` finds no fault in the registration that the version before made."""
    done = upgraded.run("truecall", "doctor", "claude-code")
    assert done.returncode == 0, done.stdout


def test_uninstall_takes_the_registration_of_the_version_before_out(upgraded):
    """What it wrote is recognised: nothing of truecall is left in the settings."""
    upgraded.truecall("uninstall", "claude-code")
    path = os.path.join(upgraded.home, ".claude", "settings.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            assert "truecall" not in file.read()
