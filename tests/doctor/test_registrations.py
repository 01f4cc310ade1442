"""`truecall doctor`, as a real process: what is registered is run, and everything that would keep a client from
asking truecall is found, named, and given a way out. It changes nothing."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import Any

import pytest
from support.doctor import GOOD, doctor, edited, said
from support.settings import HARNESSES, PROJECT, USER, home, read, run, tree

from truecall_py.clients.codex import trust
from truecall_py.core import paths


@pytest.mark.parametrize("scope", ["--user", "--project"])
@pytest.mark.parametrize("name", list(HARNESSES))
def test_what_was_installed_is_proven(healthy: Any, name: str, scope: str) -> None:
    """Every registered event of every client answers the canary in the client's dialect; not a byte changes,
    not even in the state folder."""
    run(healthy, "install", name, scope)
    before = tree(healthy.base)
    broken = name == "codex" and scope == "--project"  # the project itself is not trusted there
    found = doctor(healthy, name, code=1 if broken else 0)
    proven = said(found, "ok", name)
    for event in HARNESSES[name].REGISTRATION.events:
        assert f"{event} answered the canary" in proven
    assert broken == ("project" in said(found, "error")), found
    assert {each["group"] for each in found} <= {name, "contracts"}
    assert tree(healthy.base) == before


def test_nothing_registered_is_an_error(healthy: Any) -> None:
    """Exit code 1, with `truecall install` as the way out; for one client alike."""
    assert "-> truecall install HARNESS" in said(doctor(healthy, code=1), "error", "truecall")
    run(healthy, "install", "qwen-code")
    assert "-> truecall install codex" in said(doctor(healthy, "codex", code=1), "error", "codex")
    doctor(healthy)


def test_the_text_is_one_line_a_check(healthy: Any) -> None:
    """Grouped by client: the level, what, where; below it the way out; at the end the count."""
    run(healthy, "install", "claude-code")
    edited(home(healthy, USER["claude-code"]), '"timeout": 30', '"timeout": 3')
    out = run(healthy, "doctor", code=1).splitlines()
    assert out[0] == "claude-code" and "contracts" in out and out[-1].startswith("4 errors, 0 warning")
    assert out[1].startswith("  ok       registered for PostToolUse, PostToolUseFailure, PostToolBatch, PreToolUse, Stop, ")
    assert "           -> truecall install claude-code" in out


def test_usage(person: Any) -> None:
    """A client that is not known ends with 2."""
    assert person.command("doctor", "cursor").returncode == 2


@pytest.mark.parametrize("name, short", [("claude-code", 3), ("gemini-cli", 30), ("qwen-code", 20), ("copilot-cli", 15)])
def test_a_time_out_below_the_deadline(healthy: Any, name: str, short: int) -> None:
    """In the client's own unit: 30 of Gemini CLI's are milliseconds."""
    run(healthy, "install", name)
    unit, given = HARNESSES[name].REGISTRATION.timeout
    edited(home(healthy, USER[name]), f'"{unit}": {given}', f'"{unit}": {short}')
    assert f"{unit}: {short}" in said(doctor(healthy, name, code=1), "error", name)


@pytest.mark.parametrize("name", list(HARNESSES))
@pytest.mark.parametrize("part", ["interpreter", "launcher"])
def test_a_program_that_is_gone(healthy: Any, name: str, part: str) -> None:
    """The part that is missing is named, and the command is seen to fail or to be answered by the launcher alone."""
    run(healthy, "install", name)
    path = sys.executable if part == "interpreter" else paths.find_launcher()
    edited(home(healthy, USER[name]), path, f"/gone/{os.path.basename(path)}")
    wrong = said(doctor(healthy, name, code=1), "error", name)
    assert f"the {part} is not there: /gone/" in wrong and f"-> truecall install {name}" in wrong
    assert ("program failed" if part == "interpreter" else "exit code 127") in wrong


def test_a_launcher_of_somebody_elses_kind(healthy: Any) -> None:
    """A command that is there and silent, too talkative, or late is an error, since the client goes on."""
    run(healthy, "install", "codex")
    path = home(healthy, USER["codex"])
    fake = healthy.write("fake/hooks/run.sh", "#!/bin/sh\n", 0o755)
    edited(path, paths.find_launcher(), fake)
    assert "said nothing" in said(doctor(healthy, "codex", code=1), "error")
    healthy.write(fake, "#!/bin/sh\necho '{\"continue\": true}'\n", 0o755)
    assert "not in the dialect of Codex" in said(doctor(healthy, "codex", code=1), "error")
    healthy.write(fake, "#!/bin/sh\necho hello\n", 0o755)
    assert "no JSON object" in said(doctor(healthy, "codex", code=1), "error")
    healthy.write(fake, "#!/bin/sh\nsleep 60\n", 0o755)
    edited(path, '"timeout": 30', '"timeout": 1')
    edited(path, '"timeout": 660', '"timeout": 1')
    assert "within 1 s" in said(doctor(healthy, "codex", code=1), "error")
    healthy.write(fake, "#!/bin/sh\n", 0o644)
    assert f"chmod +x '{fake}'" in said(doctor(healthy, "codex", code=1), "error")


def test_a_command_for_another_client(healthy: Any) -> None:
    """A line that was copied from one client to another is told by its words."""
    run(healthy, "install", "qwen-code")
    edited(home(healthy, USER["qwen-code"]), "qwen-code PostToolUse ", "claude-code PostToolUse ")
    assert "says 'claude-code PostToolUse', and this is qwen-code" in said(doctor(healthy, code=1), "error")


def test_settings_that_the_client_does_not_read(healthy: Any) -> None:
    """A comment in Claude Code's settings, a key in Codex' hooks.json: nothing of the file is in effect."""
    for name in ("claude-code", "codex"):
        run(healthy, "install", name)
    path = home(healthy, USER["claude-code"])
    with open(path, "a") as file:
        file.write("// a comment\n")
    codex = json.loads(read(home(healthy, USER["codex"])))
    healthy.write(home(healthy, USER["codex"]), json.dumps({"version": 1, **codex}))
    found = doctor(healthy, code=1)
    assert "comments" in said(found, "error", "claude-code") and f"[{path}:" in said(found, "error", "claude-code")
    assert "'version'" in said(found, "error", "codex")


@pytest.mark.parametrize(
    "name, key, value",
    [("claude-code", "disableAllHooks", True), ("qwen-code", "disableAllHooks", True),
     ("gemini-cli", "hooksConfig", {"enabled": False})],
)  # fmt: skip
def test_hooks_that_are_switched_off(healthy: Any, name: str, key: str, value: Any) -> None:
    """A switch in a project's file counts for a hook in the person's."""
    run(healthy, "install", name)
    healthy.write(PROJECT[name], json.dumps({key: value}))
    healthy.write(home(healthy, ".gemini/trustedFolders.json"), json.dumps({healthy.root: "TRUST_FOLDER"}))
    assert "runs no hook at all" in said(doctor(healthy, code=1), "error", name)


def test_an_event_that_is_missing(healthy: Any) -> None:
    """Calls that fail would not be judged: a warning, with the command that adds the event."""
    run(healthy, "install", "claude-code")
    path = home(healthy, USER["claude-code"])
    settings = json.loads(read(path))
    del settings["hooks"]["PostToolUseFailure"]
    settings["hooks"]["PostToolUse"][0]["matcher"] = "Bash"
    healthy.write(path, json.dumps(settings))
    warned = said(doctor(healthy), "warning")
    assert "not registered for PostToolUseFailure" in warned and "the matcher 'Bash'" in warned
    assert "-> truecall install claude-code" in warned


def test_registered_twice(healthy: Any) -> None:
    """In both scopes, by hand beside, in Claude Code's shared file beside Copilot CLI: each call is judged twice."""
    for scope in ("--user", "--project"):
        run(healthy, "install", "qwen-code", scope)
        run(healthy, "install", "claude-code", scope)
    warned = said(doctor(healthy), "warning")
    assert "PostToolUse is registered 2 times" in warned and "-> truecall uninstall qwen-code --project" in warned
    assert "claude" not in warned  # one and the same command in two files is run once
    run(healthy, "install", "copilot-cli")
    command = f'"{paths.find_launcher()}" claude-code PostToolUse'
    group = {"hooks": [{"type": "command", "command": command, "timeout": 30}]}
    healthy.write(".claude/settings.json", json.dumps({"hooks": {"PostToolUse": [group]}}))
    found = doctor(healthy)
    assert "Copilot CLI also runs" in said(found, "warning", "copilot-cli")
    assert "PostToolUse is registered 2 times" in said(found, "warning", "claude-code")


def test_a_plugin_and_settings(healthy: Any) -> None:
    """A plugin that is switched on counts, too: it is run from its own folder, and beside settings it is twice."""
    root = os.path.dirname(paths.PACKAGE)
    listed = {"version": 2, "plugins": {"truecall@here": [{"scope": "user", "installPath": root}]}}
    healthy.write(home(healthy, ".claude/plugins/installed_plugins.json"), json.dumps(listed))
    healthy.write(home(healthy, ".claude/settings.json"), json.dumps({"enabledPlugins": {"truecall@here": True}}))
    found = doctor(healthy)
    assert "PostToolBatch answered the canary" in said(found, "ok", "claude-code")
    run(healthy, "install", "claude-code")
    assert "registered 2 times" in said(doctor(healthy), "warning", "claude-code")


def test_a_plugin_of_codex(healthy: Any) -> None:
    """It is run from Codex' copy, and told that a person must trust it in Codex."""
    root = home(healthy, ".codex/plugins/cache/here/truecall/0.1.0")
    os.makedirs(os.path.dirname(root))
    os.symlink(os.path.dirname(paths.PACKAGE), root)
    config = '[plugins."truecall@here"]\nenabled = true\n'
    healthy.write(home(healthy, ".codex/config.toml"), config)
    found = doctor(healthy, code=1)
    assert "PostToolUse answered the canary" in said(found, "ok", "codex")
    assert "nobody trusted it yet" in said(found, "error", "codex")
    for event, name in (
        ("PostToolUse", "post_tool_use"), ("PreToolUse", "pre_tool_use"), ("PermissionRequest", "permission_request"),
        ("Stop", "stop"), ("SubagentStop", "subagent_stop"),
    ):  # fmt: skip
        group = json.loads(read(os.path.join(root, "hooks", "codex.json")))["hooks"][event][0]
        digest = trust.compute_hash(event, group, group["hooks"][0])
        key = f"truecall@here:hooks/codex.json:{name}:0:0"  # seen with 0.144.6 and 0.171.0
        config += f'[hooks.state."{key}"]\ntrusted_hash = "{digest}"\n'
    healthy.write(home(healthy, ".codex/config.toml"), config)
    doctor(healthy)


def test_codex_trust(healthy: Any) -> None:
    """Codex skips a hook without trust, with another's, with hooks off, and warns of two representations."""
    run(healthy, "install", "codex")
    path, config = home(healthy, USER["codex"]), home(healthy, ".codex/config.toml")
    trusted = read(config)
    healthy.write(config, "")
    assert "nobody trusted it yet" in said(doctor(healthy, code=1), "error", "codex")
    healthy.write(config, trusted)
    edited(path, '"timeout": 30', '"timeout": 31')
    assert "changed after it was trusted" in said(doctor(healthy, code=1), "error", "codex")
    edited(path, '"timeout": 31', '"timeout": 30')
    doctor(healthy)
    healthy.write(config, b"[features]\nhooks = false\n" + trusted)
    assert "features.hooks is false" in said(doctor(healthy, code=1), "error", "codex")
    healthy.write(config, b'[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "x"\n' + trusted)
    assert "registers hooks, too (Stop)" in said(doctor(healthy, code=1), "error", "codex")
    assert "a patch that failed" in said(doctor(healthy, code=1), "note", "codex")


def test_a_cline_script_that_is_not_executable(healthy: Any) -> None:
    """Cline does not run it."""
    run(healthy, "install", "cline")
    os.chmod(home(healthy, USER["cline"]), 0o644)
    assert "cannot be executed" in said(doctor(healthy, code=1), "error", "cline")


def test_gemini_and_a_project_that_is_not_trusted(healthy: Any) -> None:
    """A project's hook is run only in a folder that Gemini CLI trusts."""
    run(healthy, "install", "gemini-cli", "--project")
    assert "in a folder that it trusts" in said(doctor(healthy), "warning", "gemini-cli")
    healthy.write(home(healthy, ".gemini/trustedFolders.json"), json.dumps({healthy.root: "TRUST_FOLDER"}))
    assert not said(doctor(healthy), "warning", "gemini-cli")


@pytest.mark.parametrize("what", ["launcher", "interpreter", "substitution", "list", "by hand", "script"])
def test_what_a_project_brings_is_not_run(healthy: Any, what: str) -> None:
    """A project's file may be anybody's: a command in it is run only where it is as install writes it, and starts
    nothing that lies in the project. The person is told that it was not proven."""
    evil = healthy.write("hooks/run.sh", "#!/bin/sh\ntouch \"$0.ran\"\n", 0o755)
    mark = os.path.join(healthy.base, "marked")
    name = "cline" if what == "script" else "qwen-code"
    run(healthy, "install", name, "--project")
    path = os.path.join(healthy.root, PROJECT[name])
    assert "was not proven" not in said(doctor(healthy), "warning")
    launcher = paths.find_launcher()
    if what == "launcher":
        edited(path, launcher, evil)
    elif what == "interpreter":
        edited(path, sys.executable, evil)
    elif what == "substitution":
        edited(path, f"TRUECALL_PYTHON='{sys.executable}'", f"TRUECALL_PYTHON=$(touch${{IFS}}{mark})")
    elif what == "list":
        edited(path, "--state", f"; touch {mark}; : --state")
    elif what == "by hand":
        group = {"hooks": [{"type": "command", "command": f"touch {mark}; {launcher} qwen-code PostToolUse x"}]}
        healthy.write(path, json.dumps({"hooks": {"PostToolUse": [group]}}))
    else:
        with open(path, "a") as file:
            file.write(f"touch {mark}\n")
    found = doctor(healthy, code=1 if what == "substitution" else 0)
    assert not os.path.exists(mark) and not os.path.exists(f"{evil}.ran")
    assert what == "script" or "was not proven: a project's file holds the command" in said(found, "warning")


def test_trust_in_another_place(person: Any) -> None:
    """The folder in the registered command is the one that counts, and a difference is told."""
    state = os.path.join(person.base, "else where")
    run(person, "install", "qwen-code", "--state", state)
    person.trust(GOOD)
    found = doctor(person, code=1)
    assert f"truecall trust --state {shlex.quote(state)}" in said(found, "warning")
    assert "every call is answered with not confirmed" in said(found, "error")


@pytest.mark.parametrize(("key", "value"), [("async", True), ("if", "Bash(git *)"), ("args", ["x"]), ("cwd", "/nonexistent")])
@pytest.mark.parametrize("name", ["claude-code", "codex", "qwen-code"])
def test_an_entry_of_ours_that_says_more(person: Any, name: str, key: str, value: Any) -> None:
    """What somebody added to our entry may silence it, so that it is an error; installing again mends it."""
    run(person, "install", name)
    path = home(person, USER[name])
    with open(path) as file:
        plain = json.load(file)
    plain["hooks"]["PostToolUse"][0]["hooks"][0][key] = value
    with open(path, "w") as file:
        json.dump(plain, file)
    assert f"also says {key}" in said(doctor(person, name, code=1), "error")
    run(person, "install", name)
    assert "also says" not in said(doctor(person, name, code=0 if name != "codex" else 0), "error")
