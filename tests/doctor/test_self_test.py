"""`truecall doctor` on the engine behind the registered command, and on what an install that was killed leaves."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from typing import Any

import pytest
from support.doctor import doctor, edited, said
from support.settings import HARNESSES, USER, home, read, run

from truecall_py.core import paths


@pytest.mark.parametrize("name", list(HARNESSES))
@pytest.mark.parametrize("gone", ["judging/engine.py", "world/world.py", "checks"])
def test_half_a_package(healthy: Any, name: str, gone: str) -> None:
    """A package whose engine, world or checks are gone answers each call with a notice of its own crash: the canary
    reaches them, and says so. With all of it there, both contracts are answered as they must be."""
    run(healthy, "install", name)
    copy = os.path.join(healthy.base, "copy")
    root = os.path.dirname(paths.PACKAGE)
    for part in ("truecall_py", "hooks", "contracts", "install"):
        shutil.copytree(os.path.join(root, part), os.path.join(copy, part), ignore=shutil.ignore_patterns("__pycache__"))
    edited(home(healthy, USER[name]), paths.find_launcher(), os.path.join(copy, "hooks", "run.sh"))
    proof = "told of a contract that was broken, and kept silent on one that was kept"
    if name != "codex":  # its trust is another's then
        assert proof in said(doctor(healthy, name), "ok", name)
    path = os.path.join(copy, "truecall_py", gone)
    shutil.rmtree(path) if gone == "checks" else os.unlink(path)
    found = doctor(healthy, name, code=1)
    assert "where a contract is broken: " in said(found, "error", name) and proof not in said(found, "ok", name)


def test_a_command_that_takes_every_contract_for_broken(healthy: Any) -> None:
    """The contract that is kept is asked about as well."""
    run(healthy, "install", "qwen-code")
    fake = healthy.write("../fake/hooks/run.sh", f'#!/bin/sh\ncase "$*" in *--contracts*) rm -f "${{4%/*}}/sang.txt" ;; esac\n'
                         f'for word; do case $word in */truecall.yaml) rm -f "${{word%/*}}/sang.txt" ;; esac; done\n'
                         f'exec {shlex.quote(paths.find_launcher())} "$@"\n', 0o755)  # fmt: skip
    edited(home(healthy, USER["qwen-code"]), paths.find_launcher(), os.path.normpath(fake))
    assert "where a contract is kept: the command said" in said(doctor(healthy, code=1), "error", "qwen-code")


def test_a_line_that_is_more_than_our_command(healthy: Any) -> None:
    """Where no word can be put behind our command, what was not proven is said; nothing else is run for it."""
    run(healthy, "install", "qwen-code")
    path = home(healthy, USER["qwen-code"])
    plain = json.loads(read(path))
    handler = plain["hooks"]["PostToolUse"][0]["hooks"][0]
    handler["command"] = f"'{paths.find_launcher()}' qwen-code PostToolUse ; exit 0"
    healthy.write(path, json.dumps(plain))
    assert "was not proven, since the line is more" in said(doctor(healthy), "note", "qwen-code")


def test_a_command_with_contracts_of_its_own(healthy: Any) -> None:
    """What it names itself gives way to the canary's, so that it is proven, too."""
    run(healthy, "install", "qwen-code")
    edited(home(healthy, USER["qwen-code"]), "PostToolUse --state", f"PostToolUse --contracts {healthy.contract} --state")
    assert "told of a contract that was broken" in said(doctor(healthy), "ok", "qwen-code")


def test_a_draft_of_a_killed_install_is_told(healthy: Any) -> None:
    """It is named and left to the next install, which takes it away; a file of another name is not ours."""
    run(healthy, "install", "claude-code")
    path = home(healthy, USER["claude-code"])
    mine, other = healthy.write(f"{path}.0123abcd.draft", "{}"), healthy.write(f"{path}.mine.draft", "{}")
    assert mine in said(doctor(healthy), "note", "claude-code") and other not in said(doctor(healthy), "note")
    assert os.path.exists(mine)
    run(healthy, "uninstall", "claude-code")
    assert not os.path.exists(mine) and os.path.exists(other)


def test_a_switch_is_not_a_broken_registration(healthy: Any) -> None:
    """While a person has switched truecall off, that is what is said, with how to end it, and nothing of installing."""
    run(healthy, "install", "claude-code")
    run(healthy, "off", "--for", "1h")
    wrong = said(doctor(healthy, code=1), "error")
    assert "switched off until" in wrong and "truecall on" in wrong and "install" not in wrong
    run(healthy, "on")
    assert not said(doctor(healthy), "error")


@pytest.mark.parametrize("terminal", [True, False])
def test_a_long_finding_is_folded_at_a_terminal_alone(capsys: Any, monkeypatch: Any, terminal: bool) -> None:
    """At a terminal it goes on under its own beginning, no word cut; elsewhere a finding is one line."""
    from truecall_py.cli.commands.doctor import say

    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    say("  ok       " + "registered for PostToolUse, " * 5 + " [/a/" + "long" * 25 + "]", 11)
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(" ".join(lines).split()).endswith("[/a/" + "long" * 25 + "]")
    assert len(lines) == (4 if terminal else 1) and all(line[:12].strip() == line[11] for line in lines[1:])
