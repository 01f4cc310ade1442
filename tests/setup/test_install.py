"""`truecall install` and `uninstall`, as real processes against settings that other tools have written."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from typing import Any

import pytest
from support.settings import (
    EVENTS,
    HARNESSES,
    JSON,
    PROJECT,
    USER,
    commands,
    home,
    inside,
    read,
    run,
    state_folder,
    tree,
)

from truecall_py.clients import registration
from truecall_py.core import paths

TIMEOUT = {"claude-code": ("timeout", 30), "codex": ("timeout", 30), "gemini-cli": ("timeout", 30000),
           "qwen-code": ("timeout", 30), "copilot-cli": ("timeoutSec", 30)}  # fmt: skip


# -- every harness, both scopes ----------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["--user", "--project"])
@pytest.mark.parametrize("name", sorted(HARNESSES))
def test_install_and_uninstall_in_an_empty_home(person: Any, name: str, scope: str) -> None:
    """The file is where the client looks for it; a second run changes nothing and says so; uninstall leaves no
    file and no folder behind."""
    before = tree(person.home, person.root)
    out = run(person, "install", name, scope)
    path = home(person, USER[name]) if scope == "--user" else os.path.join(person.root, PROJECT[name])
    assert os.path.isfile(path) and path in out and "registered" in out
    once = tree(person.home, person.root)
    assert "nothing to change" in run(person, "install", name, scope) and tree(person.home, person.root) == once
    run(person, "uninstall", name, scope)
    assert tree(person.home, person.root) == before
    assert "nothing of truecall" in run(person, "uninstall", name, scope) and tree(person.home, person.root) == before
    assert [name for name in os.listdir(os.path.join(person.state, "installs")) if name] == []


@pytest.mark.parametrize("name", JSON)
def test_what_is_registered(person: Any, name: str) -> None:
    """Every event after success and after failure, with its own arguments, no matcher that could miss, an explicit
    time-out in the client's unit, an absolute interpreter and launcher, no version; and the JSON is strict."""
    run(person, "install", name)
    text = read(home(person, USER[name])).decode()
    hooks = json.loads(text)["hooks"]
    found = commands(home(person, USER[name]))
    assert set(hooks) == set(found) == EVENTS[name]
    for event, command in found.items():
        words = shlex.split(command)
        assert words == [f"TRUECALL_PYTHON={sys.executable}", paths.find_launcher(), name, event, "--state", person.state]
        (group,) = hooks[event]
        assert "matcher" not in group
        handler = group["hooks"][0] if "hooks" in group else group
        key, value_ = TIMEOUT[name]
        value_ = 660 if event in ("Stop", "SubagentStop") else value_
        assert handler["type"] == "command" and handler[key] == value_
        assert (handler.get("statusMessage") == "truecall checks the result") is (name == "claude-code")
    assert json.loads(text).get("version") == (1 if name == "copilot-cli" else None)


@pytest.mark.parametrize("name", JSON)
def test_dry_run_shows_a_diff_and_changes_nothing(person: Any, name: str) -> None:
    """Exit code 0, a unified diff, not a byte changed, not even in the state folder."""
    person.write(home(person, USER[name]), '{\n  "description": "x"\n}\n')
    before = tree(person.base)
    out = run(person, "install", name, "--dry-run")
    assert f"--- {home(person, USER[name])}" in out and "\n+" in out and "nothing was changed" in out
    assert tree(person.base) == before
    run(person, "install", name)
    after = tree(person.base)
    out = run(person, "uninstall", name, "--dry-run")
    assert "\n-" in out and tree(person.base) == after


# -- the command line ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "folder", ["plain", "with space", "it's", 'q"uote', "\u00fcml\u00e4ut \u2603", "d$(touch x)`y`\\n;&"]
)
def test_the_registered_command_runs_under_sh(person: Any, folder: str) -> None:
    """Whatever letters are in the paths of interpreter, launcher and state folder: the command that is registered
    is the one that `sh -c` runs, with these paths as words."""
    base = os.path.join(person.base, folder)
    os.makedirs(os.path.join(base, "hooks"))
    run_sh, python = os.path.join(base, "hooks", "run.sh"), os.path.join(base, "python")
    for path, text in ((run_sh, '#!/bin/sh\nprintf "%s\\n" "$TRUECALL_PYTHON" "$0" "$@"\n'), (python, "")):
        person.write(path, text, 0o755)
    command = registration.build_line("claude-code", "PostToolUse", python, run_sh, base)
    decoded = json.loads(json.dumps({"command": command}, ensure_ascii=False))["command"]
    for shell in ("sh", "dash", "bash"):
        done = subprocess.run([shell, "-c", decoded], capture_output=True, text=True, cwd=person.root, check=True)
        assert done.stdout.split("\n") == [python, run_sh, "claude-code", "PostToolUse", "--state", base, ""]
    assert registration.split_words(command)[0] == run_sh and os.listdir(person.root) == []


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_the_registered_command_answers(person: Any, name: str) -> None:
    """The command out of the settings, run as the client runs it, catches the lie; in a folder with a space."""
    state = person.folder("st ate \u00fc", "truecall")
    os.chmod(state, 0o700)
    run(person, "install", name, "--state", state)
    command = commands(home(person, USER[name]))["PostToolUse"]
    person.state = state
    person.trust()
    payload = json.dumps(person.mcp(name)).encode()
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": person.home,
        **({"CLAUDE_PROJECT_DIR": person.root} if name == "claude-code" else {}),
    }
    done = subprocess.run(["sh", "-c", command], input=payload, capture_output=True, cwd=person.root, env=env)
    assert json.loads(done.stdout)["reason"].startswith("NOT DONE"), done


def test_an_interpreter_that_may_go_is_told(person: Any, monkeypatch: Any, capsys: Any) -> None:
    """A truecall that was started out of a cache folder is gone when that is cleaned."""
    truecall = inside(monkeypatch, person)
    monkeypatch.setattr(sys, "executable", "/home/x/.cache/uv/a/bin/python")
    assert truecall("install", "claude-code") == 0 and "cache folder" in capsys.readouterr().out


def test_a_launcher_that_cannot_run_is_not_registered(person: Any, monkeypatch: Any, capsys: Any) -> None:
    """Every client takes a command that is not there for silence, so install refuses before it writes."""
    truecall = inside(monkeypatch, person)
    monkeypatch.setattr(paths, "find_launcher", lambda: "/no/such/run.sh")
    assert truecall("install", "claude-code") == 2 and "launcher" in capsys.readouterr().err
    assert not os.path.exists(home(person, ".claude"))


# -- single clients --------------------------------------------------------------------------------------------


def test_usage(person: Any) -> None:
    """Both scopes at once, or a client that there is not, is told in a sentence."""
    assert "--project" in run(person, "install", "claude-code", "--user", "--project", code=2)
    assert "claude-code" in run(person, "install", "emacs", code=2)
    run(person, "install", code=2)
    assert "HOME" in run(
        person, "install", "claude-code", env={"HOME": "", "XDG_STATE_HOME": person.base + "/s"}, code=2
    )


def test_nobody_else_can_have_written_the_records(person: Any) -> None:
    """A state folder that others may write is no place to restore settings from."""
    run(person, "install", "claude-code")
    os.chmod(person.state, 0o777)
    out = run(person, "uninstall", "claude-code", code=3)
    assert "other users" in out and os.path.exists(home(person, USER["claude-code"]))
    os.chmod(person.state, 0o700)
    record = next(name for name in os.listdir(os.path.join(person.state, "installs")) if name.endswith(".json"))
    person.write(os.path.join(person.state, "installs", record), "{")
    run(person, "uninstall", "claude-code")
    assert "TRUECALL" not in read(home(person, USER["claude-code"])).decode()


def test_the_lock_is_waited_for(person: Any) -> None:
    """An install that is under way elsewhere is waited for."""
    state = state_folder(person)
    lock = os.open(os.path.join(state, "installs"), os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    process = subprocess.Popen([sys.executable, "-m", "truecall_py", "install", "claude-code"], cwd=person.root,
                               env={**person.env, "PYTHONPATH": os.path.dirname(paths.PACKAGE)},
                               stdout=subprocess.DEVNULL)  # fmt: skip
    time.sleep(1)
    assert process.poll() is None and not os.path.exists(home(person, USER["claude-code"]))
    os.close(lock)
    assert process.wait(20) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can replace another person's file")
def test_a_file_stays_its_owners(person: Any) -> None:
    """Registered by root, the settings of another person stay that person's to read."""
    path = person.write(home(person, USER["claude-code"]), '{"model": "x"}\n')
    os.chown(path, 1234, 1234)
    os.chmod(path, 0o600)
    run(person, "install", "claude-code")
    found = os.stat(path)
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (1234, 1234, 0o600)
    run(person, "uninstall", "claude-code")
    assert (os.stat(path).st_uid, read(path)) == (1234, b'{"model": "x"}\n')


def test_an_empty_folder_variable_is_not_taken_for_unset(person: Any) -> None:
    """Claude Code takes CLAUDE_CONFIG_DIR, exported and empty, for the current folder: that is refused and said."""
    words = run(person, "install", "claude-code", code=2, env={"CLAUDE_CONFIG_DIR": ""})
    assert "set and empty" in words and not os.path.exists(home(person, USER["claude-code"]))


@pytest.mark.parametrize("what", ["demo", "test"])
def test_the_bootstrap_leaves_the_launcher_where_it_is(tmp_path: Any, what: str) -> None:
    """Both of the README's commands install the checkout itself: were one a copy, the launcher that a hook registered
    after it names would be gone after the other, and no call judged any more."""
    from support.project import ROOT

    checkout = tmp_path / "checkout"
    for folder in ("install", ".venv/bin"):
        (checkout / folder).mkdir(parents=True)
    shutil.copy(os.path.join(ROOT, "install", "bootstrap.sh"), checkout / "install")
    for name in ("python", "truecall"):
        (checkout / ".venv/bin" / name).write_text('#!/bin/sh\necho "$@"\n')
        (checkout / ".venv/bin" / name).chmod(0o755)
    done = subprocess.run(["sh", "install/bootstrap.sh", what], cwd=checkout, capture_output=True, text=True, check=True)
    assert "pip install" in done.stdout and "--editable ." in done.stdout.replace("'", "")
