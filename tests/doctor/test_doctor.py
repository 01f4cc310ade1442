"""`truecall doctor`, as a real process: what is registered is run, and everything that would keep a client from
asking truecall is found, named, and given a way out. It changes nothing."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from typing import Any

import pytest
from setup.test_install import HARNESSES, PROJECT, USER, home, person, read, run, tree

from truecall_py.core import paths
from truecall_py.setup import codex_trust

__all__ = ["person"]
GOOD = "version: 1\nuse: [files]\n"


def doctor(person: Any, *argv: str, code: int = 0, **more: Any) -> list[dict[str, str]]:
    """The findings."""
    done = person.command("doctor", *argv, "--format", "json", **more)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert not done.stderr, done.stderr
    found: list[dict[str, str]] = json.loads(done.stdout)
    assert all(each["do"] for each in found if each["level"] in ("warning", "error")), found
    return found


def said(found: list[dict[str, str]], level: str, group: str = "") -> str:
    return "\n".join(f"{each['what']} [{each['where']}] -> {each['do']}" for each in found
                     if each["level"] == level and group in ("", each["group"]))  # fmt: skip


def edited(path: str, old: str, new: str) -> None:
    text = read(path).decode()
    assert old in text, (path, old)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))


@pytest.fixture
def healthy(person: Any) -> Any:
    """A project with a trusted contract file."""
    person.trust(GOOD)
    return person


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
    path = sys.executable if part == "interpreter" else paths.launcher()
    edited(home(healthy, USER[name]), path, f"/gone/{os.path.basename(path)}")
    wrong = said(doctor(healthy, name, code=1), "error", name)
    assert f"the {part} is not there: /gone/" in wrong and f"-> truecall install {name}" in wrong
    assert ("program failed" if part == "interpreter" else "exit code 127") in wrong


def test_a_launcher_of_somebody_elses_kind(healthy: Any) -> None:
    """A command that is there and silent, too talkative, or late is an error, since the client goes on."""
    run(healthy, "install", "codex")
    path = home(healthy, USER["codex"])
    fake = healthy.write("fake/hooks/run.sh", "#!/bin/sh\n", 0o755)
    edited(path, paths.launcher(), fake)
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
    command = f'"{paths.launcher()}" claude-code PostToolUse'
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
        digest = codex_trust.trusted_hash(event, group, group["hooks"][0])
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


def test_the_contracts(person: Any) -> None:
    """None; not trusted, with its errors; trusted; changed; deleted; a name that is nearly right."""
    run(person, "install", "qwen-code")
    assert "there is no truecall.yaml" in said(doctor(person), "warning")
    person.write(person.contract, "version: 1\ncontracts:\n  - id: x\n    tol: y\n")
    wrong = said(doctor(person, code=1), "error", "contracts")
    assert f"-> truecall trust {person.contract}" in wrong and "truecall.yaml:4:" in wrong
    person.trust(GOOD)
    assert "trusted and unchanged" in said(doctor(person), "ok", "contracts")
    person.write(person.contract, GOOD + "# more\n")
    assert "what was trusted is in force" in said(doctor(person), "warning")
    os.unlink(person.contract)
    assert "--revoke" in said(doctor(person), "warning")
    person.write("truecall.yml", GOOD)
    below = person.folder("project", "deep", "er")
    assert f"mv {person.root}/truecall.yml {person.contract}" in said(doctor(person, cwd=below), "warning")
    person.write(person.own, GOOD)
    found = doctor(person, code=1, env={"XDG_CONFIG_HOME": os.path.join(person.base, "config")})
    assert person.own in said(found, "error", "contracts")


def test_code_that_changed(person: Any) -> None:
    """Code that a contract runs and that is no longer what was trusted."""
    run(person, "install", "qwen-code")
    person.write("check.py", "print(1)\n")
    person.trust('version: 1\ncontracts:\n  - id: c\n    tool: t\n    post: {custom: {run: [python3, ./check.py]}}\n')
    doctor(person)
    person.write("check.py", "print(2)\n")
    assert "not what was trusted" in said(doctor(person, code=1), "error", "contracts")


@pytest.mark.parametrize("path, text", [
    (".mcp.json", '{"mcpServers": {"notes": {}}}'),
    ("~/.claude.json", '{"projects": {"@ROOT@": {"mcpServers": {"notes": {}}}}}'),
    ("~/.codex/config.toml", '[mcp_servers.notes]\ncommand = "x"\n'),
    ("~/.qwen/settings.json", '{"mcpServers": {"notes": {}}}'),
])  # fmt: skip
def test_a_tool_whose_server_nobody_has(person: Any, path: str, text: str) -> None:
    """A contract for an MCP server that no client's settings name is a warning, until one does."""
    run(person, "install", "claude-code")
    person.trust()
    assert "an MCP server 'notes'" in said(doctor(person), "warning", "contracts")
    full = home(person, path[2:]) if path.startswith("~/") else path
    person.write(full, text.replace("@ROOT@", person.root))
    assert not said(doctor(person), "warning", "contracts")


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
    launcher = paths.launcher()
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


# -- switches: which file counts, which one wins (each was seen with the real client) ------------------------

OFF, ON = {"disableAllHooks": True}, {"disableAllHooks": False}
SHUT, OPEN = {"hooksConfig": {"enabled": False}}, {"hooksConfig": {"enabled": True}}
LOCAL, SHARED = ".claude/settings.local.json", ".claude/settings.json"
GITHUB = (".github/copilot/settings.json", ".github/copilot/settings.local.json")


def merge(person: Any, path: str, more: dict[str, Any]) -> None:
    """Adds keys to a settings file; a path that begins with ~/ is below the home folder."""
    full = home(person, path[2:]) if path.startswith("~/") else os.path.join(person.root, path)
    plain = json.loads(read(full)) if os.path.exists(full) else {}
    person.write(full, json.dumps({**plain, **more}, indent=2))


def trusting(person: Any) -> None:
    """Gemini CLI and Codex trust the project."""
    person.write(home(person, ".gemini/trustedFolders.json"), json.dumps({person.root: "TRUST_FOLDER"}))
    os.makedirs(home(person, ".codex"), exist_ok=True)
    with open(home(person, ".codex/config.toml"), "a") as file:
        file.write(f"\n[projects.{json.dumps(person.root)}]\ntrust_level = \"trusted\"\n")


@pytest.mark.parametrize("name, files, off", [
    ("claude-code", {"~/.claude/settings.json": OFF, LOCAL: ON}, False),
    ("claude-code", {"~/.claude/settings.json": OFF, SHARED: ON}, False),
    ("claude-code", {SHARED: OFF, LOCAL: ON}, False),
    ("claude-code", {"~/.claude/settings.json": ON, LOCAL: OFF}, True),
    ("claude-code", {SHARED: OFF}, True),
    ("claude-code", {GITHUB[0]: OFF}, False),
    ("qwen-code", {"~/.qwen/settings.json": OFF, ".qwen/settings.json": ON}, False),
    ("qwen-code", {"~/.qwen/settings.json": ON, ".qwen/settings.json": OFF}, True),
    ("gemini-cli", {"~/.gemini/settings.json": SHUT, ".gemini/settings.json": OPEN}, False),
    ("gemini-cli", {"~/.gemini/settings.json": OPEN, ".gemini/settings.json": SHUT}, True),
    ("copilot-cli", {"~/.copilot/hooks/truecall.json": OFF}, True),
    ("copilot-cli", {"~/.copilot/hooks/other.json": OFF}, False),
    ("copilot-cli", {".github/hooks/other.json": OFF}, False),
    ("copilot-cli", {"~/.copilot/settings.json": OFF}, False),
    ("copilot-cli", {GITHUB[0]: OFF}, True),
    ("copilot-cli", {GITHUB[1]: OFF}, True),
    ("copilot-cli", {SHARED: OFF}, True),
    ("copilot-cli", {LOCAL: OFF}, True),
    ("copilot-cli", {GITHUB[0]: OFF, GITHUB[1]: ON}, False),
    ("copilot-cli", {SHARED: OFF, GITHUB[0]: ON}, False),
])  # fmt: skip
def test_of_several_switches_the_last_one_wins(healthy: Any, name: str, files: dict[str, Any], off: bool) -> None:
    """Off where the file that wins says so, and not where another one that it overrides does, or one that the
    client does not ask."""
    run(healthy, "install", name)
    trusting(healthy)
    for path, more in files.items():
        merge(healthy, path, more)
    wrong = said(doctor(healthy, name, code=1 if off else 0), "error", name)
    assert ("runs no hook" in wrong) == off
    if off:
        assert next(path.replace("~", healthy.home) for path, more in files.items() if more in (OFF, SHUT)) in wrong


def test_a_switch_in_a_file_that_is_not_read(healthy: Any) -> None:
    """A comment voids a settings file of Claude Code and Copilot CLI, its switch included; Gemini CLI reads nothing of a
    project that it does not trust."""
    for name in ("claude-code", "copilot-cli", "gemini-cli"):
        run(healthy, "install", name)
    healthy.write(LOCAL, "// no\n" + json.dumps(OFF))
    healthy.write(GITHUB[0], "// no\n" + json.dumps(OFF))
    merge(healthy, ".gemini/settings.json", SHUT)
    assert "runs no hook" not in said(doctor(healthy), "error")
    healthy.write(LOCAL, json.dumps({**OFF, "permissions": []}))  # nor with a value of another kind, in Claude Code
    assert "runs no hook" not in said(doctor(healthy, "claude-code"), "error")
    assert "Copilot CLI in a folder that it trusts runs no hook" in said(doctor(healthy, "copilot-cli", code=1), "error")
    os.unlink(os.path.join(healthy.root, LOCAL))
    trusting(healthy)
    assert "Gemini CLI runs no hook at all" in said(doctor(healthy, code=1), "error", "gemini-cli")


@pytest.mark.parametrize("path", ["~/.gemini/settings.json", ".gemini/settings.json"])
def test_a_list_of_disabled_hooks(healthy: Any, path: str) -> None:
    """Gemini CLI's list names a hook by its command, or by its name where it has one; no file takes back what another
    one lists."""
    run(healthy, "install", "gemini-cli")
    trusting(healthy)
    plain = json.loads(read(home(healthy, USER["gemini-cli"])))
    handler = plain["hooks"]["AfterTool"][0]["hooks"][0]
    merge(healthy, path, {"hooksConfig": {"disabled": ["another"]}})
    doctor(healthy)
    merge(healthy, path, {"hooksConfig": {"disabled": ["another", handler["command"]]}})
    merge(healthy, ".gemini/settings.json" if path[0] == "~" else "~/.gemini/settings.json",
          {"hooksConfig": {"disabled": []}})  # fmt: skip
    assert "names our hook" in said(doctor(healthy, code=1), "error", "gemini-cli")
    handler["name"] = "checks"
    merge(healthy, "~/.gemini/settings.json", {"hooks": plain["hooks"]})
    assert "names our hook" not in said(doctor(healthy, code=1), "error", "gemini-cli")
    merge(healthy, path, {"hooksConfig": {"disabled": ["checks"]}})
    assert "names our hook" in said(doctor(healthy, code=1), "error", "gemini-cli")


def test_a_switch_in_a_project_of_codex(healthy: Any) -> None:
    """Each config.toml from the repository's root down to the session's folder counts where Codex trusts the project,
    the last one most, by the feature's old name as well."""
    os.mkdir(os.path.join(healthy.root, ".git"))
    below = healthy.folder("project", "a", "b")
    run(healthy, "install", "codex")
    healthy.write(".codex/config.toml", "[features]\nhooks = false\n")
    assert "runs no hook" not in said(doctor(healthy, "codex"), "error")
    trusting(healthy)
    for folder in (healthy.root, below):
        wrong = said(doctor(healthy, "codex", code=1, cwd=folder), "error")
        assert "features.hooks is false" in wrong and f"{healthy.root}/.codex/config.toml" in wrong
    healthy.write("a/b/.codex/config.toml", "[features]\nhooks = true\n")
    doctor(healthy, "codex", cwd=below)
    healthy.write(".codex/config.toml", "[features]\ncodex_hooks = false\n")
    assert "features.codex_hooks is false" in said(doctor(healthy, "codex", code=1), "error")
    config = home(healthy, ".codex/config.toml")
    healthy.write(config, b"features.hooks = false\n" + read(config))
    healthy.write(".codex/config.toml", "[features]\nhooks = true\n")
    doctor(healthy, "codex")


# -- a session in a subfolder of a repository ---------------------------------------------------------------


def test_a_registration_at_the_root_seen_from_below(healthy: Any) -> None:
    """Codex runs it, Claude Code only in its newer version, which is told; the others do not look there."""
    os.mkdir(os.path.join(healthy.root, ".git"))
    below = healthy.folder("project", "a", "b")
    trusting(healthy)
    for name in ("claude-code", "codex", "qwen-code"):
        run(healthy, "install", name, "--project")
    found = doctor(healthy, code=0, cwd=below)
    assert f"{healthy.root}/.codex/hooks.json" in said(found, "ok", "codex")
    assert "PostToolUse answered the canary" in said(found, "ok", "claude-code")
    warned = said(found, "warning", "claude-code")
    assert "2.1.197 does not" in warned and f"start claude in {healthy.root}" in warned
    assert "does not look there from this folder" in said(found, "warning", "qwen-code")
    assert "2.1.197" not in said(doctor(healthy), "warning")
    run(healthy, "install", "claude-code")
    assert not said(doctor(healthy, cwd=below), "warning", "claude-code")


def test_a_switch_at_the_root_seen_from_below(healthy: Any) -> None:
    """Claude Code 2.1.332 takes the local settings of the repository's root before all others, 2.1.197 not at all."""
    os.mkdir(os.path.join(healthy.root, ".git"))
    below = healthy.folder("project", "a", "b")
    run(healthy, "install", "claude-code")
    merge(healthy, LOCAL, OFF)
    merge(healthy, f"a/b/{LOCAL}", ON)
    wrong = said(doctor(healthy, code=1, cwd=below), "error")
    assert "so Claude Code 2.1.332 runs no hook" in wrong and f"{healthy.root}/{LOCAL}" in wrong
    merge(healthy, LOCAL, ON)
    merge(healthy, f"a/b/{LOCAL}", OFF)
    assert "so Claude Code 2.1.197 runs no hook" in said(doctor(healthy, code=1, cwd=below), "error")
    merge(healthy, f"a/b/{LOCAL}", ON)
    merge(healthy, SHARED, OFF)
    doctor(healthy, cwd=below)


# -- the environment of the hooks ---------------------------------------------------------------------------


def test_the_simple_mode_of_claude_code(healthy: Any) -> None:
    """CLAUDE_CODE_SIMPLE in the settings or in the environment: no hook runs. Settings win, and a project's count in
    2.1.197 alone; 0 is no simple mode, and other clients do not know it."""
    run(healthy, "install", "claude-code")
    for value in ("1", "TRUE", "on"):
        wrong = said(doctor(healthy, code=1, env={"CLAUDE_CODE_SIMPLE": value}), "error", "claude-code")
        assert "in the environment, so Claude Code runs no hook" in wrong and "-> unset CLAUDE_CODE_SIMPLE" in wrong
    doctor(healthy, env={"CLAUDE_CODE_SIMPLE": "0"})
    merge(healthy, "~/.claude/settings.json", {"env": {"CLAUDE_CODE_SIMPLE": "0"}})
    doctor(healthy, env={"CLAUDE_CODE_SIMPLE": "1"})
    merge(healthy, LOCAL, {"env": {"CLAUDE_CODE_SIMPLE": "1"}})
    wrong = said(doctor(healthy, code=1), "error")
    assert "so Claude Code 2.1.197 runs no hook" in wrong and f"{healthy.root}/{LOCAL}" in wrong
    merge(healthy, "~/.claude/settings.json", {"env": {"CLAUDE_CODE_SIMPLE": 1}})
    merge(healthy, LOCAL, {"env": {"CLAUDE_CODE_SIMPLE": ""}})
    assert "so Claude Code 2.1.332 runs no hook" in said(doctor(healthy, code=1), "error")
    run(healthy, "uninstall", "claude-code")
    run(healthy, "install", "qwen-code")
    doctor(healthy, env={"CLAUDE_CODE_SIMPLE": "1"})


def test_the_canary_has_the_environment_of_the_settings(healthy: Any) -> None:
    """Claude Code gives the env of its settings to every hook, a project's after the person's: with a PATH in which
    the launcher finds nothing the canary says so, and another client's does not."""
    for name in ("claude-code", "qwen-code"):
        run(healthy, "install", name)
    merge(healthy, "~/.claude/settings.json", {"env": {"PATH": "/nowhere"}})
    found = doctor(healthy, code=1)
    assert "PostToolBatch: " in said(found, "error", "claude-code") and not said(found, "error", "qwen-code")
    merge(healthy, SHARED, {"env": {"PATH": os.environ["PATH"]}})
    doctor(healthy)
    merge(healthy, LOCAL, {"env": {"PATH": "/nowhere"}})
    assert "PostToolBatch: " in said(doctor(healthy, code=1), "error", "claude-code")


def test_a_shell_prefix(healthy: Any) -> None:
    """Claude Code starts the program with every command: the canary goes through it, whether it runs it or not."""
    run(healthy, "install", "claude-code")
    good = healthy.write(os.path.join(healthy.base, "a wrapper"), '#!/bin/sh\necho x >> "$0.ran"\nexec sh -c "$1"\n', 0o755)
    bad = healthy.write(os.path.join(healthy.base, "dead"), "#!/bin/sh\nexit 0\n", 0o755)
    doctor(healthy, env={"CLAUDE_CODE_SHELL_PREFIX": good})
    assert read(f"{good}.ran")
    doctor(healthy, env={"CLAUDE_CODE_SHELL_PREFIX": "sh -c"})
    for prefix in (bad, "/nowhere"):
        merge(healthy, "~/.claude/settings.json", {"env": {"CLAUDE_CODE_SHELL_PREFIX": prefix}})
        assert f"(through CLAUDE_CODE_SHELL_PREFIX={prefix})" in said(doctor(healthy, code=1), "error", "claude-code")


@pytest.mark.parametrize("name", ["CLAUDE_CODE_SHELL_PREFIX", "LD_PRELOAD", "PATH", "TRUECALL_PYTHON"])
def test_what_a_project_would_load_is_not_run(healthy: Any, name: str) -> None:
    """A project's env may be anybody's: what it puts in the place of a program is told, and no hook is run with it."""
    run(healthy, "install", "claude-code")
    evil = healthy.write("bin/head", '#!/bin/sh\ntouch "$0.ran"\n', 0o755)
    merge(healthy, LOCAL, {"env": {name: os.path.dirname(evil) if name == "PATH" else evil, "OTHER": evil}})
    warned = said(doctor(healthy), "warning", "claude-code")
    assert f"{name} in {healthy.root}/{LOCAL}" in warned and "OTHER" not in warned
    assert not os.path.exists(f"{evil}.ran")


@pytest.mark.parametrize("name, most", [("claude-code", 2147483), ("gemini-cli", 2147483647), ("qwen-code", 2147483647)])
def test_a_time_out_that_no_client_can_count(healthy: Any, name: str, most: int) -> None:
    """Beyond 2^31-1 milliseconds the hook is ended at once; up to there, and in clients that can count, it is not."""
    run(healthy, "install", name)
    unit, given = HARNESSES[name].REGISTRATION.timeout
    path = home(healthy, USER[name])
    edited(path, f'"{unit}": {given}', f'"{unit}": {most}')
    doctor(healthy, name)
    edited(path, f'"{unit}": {most}', f'"{unit}": {most + 1}')
    assert "ends the hook at once" in said(doctor(healthy, name, code=1), "error", name)
    run(healthy, "install", "copilot-cli")
    edited(home(healthy, USER["copilot-cli"]), '"timeoutSec": 30', '"timeoutSec": 1000000000')
    doctor(healthy, "copilot-cli")


# -- the engine behind the command --------------------------------------------------------------------------


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
    edited(home(healthy, USER[name]), paths.launcher(), os.path.join(copy, "hooks", "run.sh"))
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
                         f'exec {shlex.quote(paths.launcher())} "$@"\n', 0o755)  # fmt: skip
    edited(home(healthy, USER["qwen-code"]), paths.launcher(), os.path.normpath(fake))
    assert "where a contract is kept: the command said" in said(doctor(healthy, code=1), "error", "qwen-code")


def test_a_line_that_is_more_than_our_command(healthy: Any) -> None:
    """Where no word can be put behind our command, what was not proven is said; nothing else is run for it."""
    run(healthy, "install", "qwen-code")
    path = home(healthy, USER["qwen-code"])
    plain = json.loads(read(path))
    handler = plain["hooks"]["PostToolUse"][0]["hooks"][0]
    handler["command"] = f"'{paths.launcher()}' qwen-code PostToolUse ; exit 0"
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
