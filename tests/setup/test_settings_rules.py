"""What would keep a client from reading a settings file: each case was seen with the real client, the ones that void
the file (or its hooks) and the ones that do not. `install` refuses the first and leaves them to the byte; `doctor`
finds them where they came after it; both are silent about the second."""

from __future__ import annotations

import copy
import json
import os
from typing import Any

import pytest
from support.settings import EVENTS, HARNESSES, JSON, USER, commands, home, read, run

from truecall_py.clients import settings_rules
from truecall_py.clients.jsonc import Document
from truecall_py.doctor import registration_faults, registrations

RUNS = {"type": "command", "command": "theirs"}
PROMPT = {"type": "prompt", "prompt": "look"}
TOOL = {"type": "mcp_tool", "server": "s", "tool": "t"}
HTTP = {"type": "http", "url": "http://127.0.0.1:9/"}
ENDLESS, HALF = 7777777, "\ud800"  # the first is written as 1e400, which no JSON of Python's is

# Keys of the file itself: (path, value).
VOID = {
    "claude-code": [
        ("model", 5), ("permissions", "all"), ("permissions.defaultMode", "bogus"), ("permissions.allow", "Bash"),
        ("permissions.deny", "Bash"), ("permissions.ask", {}), ("permissions.additionalDirectories", [5]), ("env", []),
        ("env", None), ("cleanupPeriodDays", "30"), ("cleanupPeriodDays", -1), ("cleanupPeriodDays", 0),
        ("cleanupPeriodDays", 1.5), ("cleanupPeriodDays", ENDLESS), ("statusLine", "x"), ("statusLine", {}),
        ("statusLine", {"type": "bogus"}), ("statusLine", {"type": "command"}), ("enabledPlugins", ["a@b"]),
        ("includeCoAuthoredBy", "no"), ("disableAllHooks", "true"), ("disableAllHooks", 1),
        ("allowedHttpHookUrls", "x"), ("sandbox", "on"), ("sandbox.enabled", "yes"), ("apiKeyHelper", False),
        ("alwaysThinkingEnabled", "on"), ("skipWebFetchPreflight", "on"), ("attribution.commit", 5), ("verbose", None),
    ],
    "codex": [("description", 5), ("description", HALF)],
    "copilot-cli": [("version", "1"), ("version", 2), ("disableAllHooks", "true")],
}  # fmt: skip
READ = {
    "claude-code": [
        ("permissions.allow", ["Bash(", 5]), ("permissions.zzz", 5), ("env", {"A": 1, "B": None, "C": {}}),
        ("effortLevel", 5), ("effortLevel", "zzz"), ("zzz", [5]), ("zzz", HALF), ("theme", 5), ("teammateMode", None),
        ("cleanupPeriodDays", 30.0), ("statusLine", {"type": "command", "command": "", "padding": -1.5, "more": []}),
        ("disableAllHooks", False), ("model", ""), ("permissions.defaultMode", "auto"), ("allowedMcpServers", 5),
        ("attribution", {"commit": ""}), ("feedbackSurveyRate", 0.5), ("hooks.Zzz", 5), ("hooks.SubagentStart", {}),
    ],
    "codex": [("description", None), ("description", "x"), ("hooks.Zzz", 5), ("hooks.Zzz", [5, {"matcher": 5}])],
    "gemini-cli": [("zzz", 5), ("hooks.Zzz", 5), ("hooks.BeforeTool", [{"matcher": 5, "hooks": [RUNS]}])],
    "qwen-code": [("zzz", 5), ("hooks.Zzz", 5), ("hooks.PreToolUse", [{"matcher": 5, "hooks": [RUNS]}])],
    "copilot-cli": [("version", 1), ("disableAllHooks", False)],
}  # fmt: skip
# What one version alone does not read, and `install` lets be.
OLD = [("enabledMcpjsonServers", "x"), ("permissions.defaultMode", "manual"), ("attribution", False),
       ("skipWebFetchPreflight", None), ("extraKnownMarketplaces", [])]  # fmt: skip


def nested(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels - 1):
        found = [found]
    return found


# Entries of other tools below an event: (event, entry).
BAD = {
    "claude-code": [
        *[("Stop", {"hooks": [{**RUNS, **more}]}) for more in (
            {"timeout": 0}, {"timeout": "30"}, {"timeout": -1}, {"timeout": None}, {"timeout": ENDLESS}, {"async": "yes"},
            {"once": "yes"}, {"asyncRewake": "x"}, {"statusMessage": 5}, {"if": 5}, {"shell": "zsh"}, {"args": "x"},
            {"args": [5]}, {"command": 5}, {"type": "zzz"})],
        *[("PostToolUse", {"matcher": value, "hooks": [RUNS]}) for value in (5, None, ["x"])],
        *[("Stop", {"hooks": [each]}) for each in (
            {"type": "prompt"}, {"type": "agent"}, {**PROMPT, "model": 5}, {**PROMPT, "timeout": 0}, {"type": "mcp_tool"},
            {"type": "mcp_tool", "server": "s"}, {**TOOL, "input": "x"}, {**HTTP, "url": "http://"}, {**HTTP, "url": "x"},
            {**HTTP, "headers": 5}, {**HTTP, "headers": {"A": 5}}, {**HTTP, "allowedEnvVars": "A"}, {"type": "command"})],
        ("PostToolUse", "x"), ("Stop", {}), ("Stop", {"hooks": {}}),
    ],
    "codex": [
        *[("Stop", {"hooks": [{**RUNS, **more}]}) for more in (
            {"async": "yes"}, {"async": None}, {"statusMessage": 5}, {"commandWindows": 5}, {"command_windows": 5},
            {"timeout": 2**64}, {"timeout": 2**63}, {"timeout": -1}, {"timeout": 1.0}, {"timeout": "30"}, {"command": 5},
            {"type": "http"}, {"zzz": HALF}, {HALF: 1}, {"zzz": nested(122)}, {"zzz": nested(190)})],
        ("SessionStart", {"matcher": 5, "hooks": []}), ("Stop", {"matcher": HALF}), ("PostToolUse", {HALF: 5}),
        ("Stop", {"hooks": None}), ("Stop", 5), ("Stop", {"hooks": [{"type": "mcp_tool"}]}),
        ("Stop", {"hooks": [{**TOOL, "statusMessage": 5}]}), ("Z" + HALF, {}),
        ("Stop", {"hooks": [{**RUNS, "additionalContextLimit": "x"}]}),
    ],
    "gemini-cli": [("AfterTool", {"matcher": value, "hooks": [RUNS]}) for value in (5, True, ["x"], {})],
    "qwen-code": [("PostToolUse", {"matcher": value, "hooks": [RUNS]}) for value in (5, True, ["x"], {})],
}  # fmt: skip
GOOD = {
    "claude-code": [
        *[("Stop", {"hooks": [{**RUNS, **more}]}) for more in (
            {"timeout": 1.5}, {"shell": "bash"}, {"args": ["a"]}, {"zzz": [5]}, {"command": ""}, {"model": 5}, {"async": True})],
        *[("Stop", {"hooks": [each]}) for each in (
            PROMPT, {**PROMPT, "prompt": "", "async": "x"}, TOOL, HTTP, {**HTTP, "url": "ftp://a/b"},
            {**HTTP, "url": "http://$HOST/x"}, {**HTTP, "url": "HTTP:///x"})],
        ("Stop", {"matcher": "(", "hooks": []}), ("Zzz", {"matcher": 5, "hooks": [{"type": "zzz"}]}),
    ],
    "codex": [
        *[("Stop", {"hooks": [{**RUNS, **more}]}) for more in (
            {"timeout": None}, {"timeout": 0}, {"timeout": 2**63 - 1}, {"statusMessage": None}, {"commandWindows": None},
            {"zzz": [5], "if": 5, "timeoutSec": "x"}, {"zzz": nested(121)}, {"zzz": "\U0001f600"})],
        ("Stop", {"matcher": None}), ("Stop", []), ("Zzz", {"matcher": HALF, "hooks": [{"timeout": 2**64}]}),
        ("Stop", {"zzz": nested(200)}), ("Stop", {"hooks": [{"type": "prompt", "prompt": 5}, {"type": "agent"}]}),
    ],
    "gemini-cli": [
        ("AfterTool", each) for each in ({"matcher": 5, "hooks": []}, {"matcher": None, "hooks": [RUNS]}, "x", 5, {"hooks": 5},
                                         {"matcher": False, "hooks": [RUNS]}, {"matcher": "(", "hooks": [5, {"type": "z"}]})],
    "qwen-code": [
        ("PostToolUse", each) for each in ({"matcher": 5, "hooks": []}, {"matcher": 0, "hooks": [RUNS]}, "x", None, {"hooks": 5},
                                           {"matcher": "(", "hooks": [{**RUNS, "timeout": "30"}, {"command": 5}]})],
    "copilot-cli": [("postToolUse", each) for each in (5, None, "x", {}, {"type": "z"}, {"type": "command", "bash": 5})],
}  # fmt: skip


def cases(keys: dict[str, list[Any]], entries: dict[str, list[Any]]) -> list[Any]:
    """(harness, what to put in), the entries as a path with their number left out."""
    found = [(name, path, value) for name, rows in keys.items() for path, value in rows]
    found += [(name, f"hooks.{event}.", entry) for name, rows in entries.items() for event, entry in rows]
    return [pytest.param(*row, id=f"{row[0]} {row[1]} {ascii(row[2])[:60]}") for row in found]


def text(plain: dict[str, Any], path: str, value: Any) -> str:
    """A settings text with one more value in it; a path that ends with a dot is that of a list."""
    whole = copy.deepcopy(plain)
    at, names = whole, path.rstrip(".").split(".")
    for name in names[:-1]:
        at = at.setdefault(name, {})
    if path.endswith("."):
        at[names[-1]] = [*at.get(names[-1], []), value]
    else:
        at[names[-1]] = value
    return json.dumps(whole, indent=1).replace(str(ENDLESS), "1e400")


def found_by_doctor(person: Any, name: str) -> list[registrations.Finding]:
    """What doctor says of the files of one harness that hold an entry of ours."""
    about = HARNESSES[name].REGISTRATION
    path = home(person, USER[name])
    said = read(path).decode()
    mine = registrations.list_handlers(about, "user", path, said)
    assert {each.event for each in mine} == set(about.events)
    return list(registration_faults.find_unread(mine, registrations.Inventory(tuple(mine), (), {path: said})))


@pytest.mark.parametrize("name, path, value", cases(VOID, BAD))
def test_a_file_that_the_client_does_not_read_is_refused(person: Any, name: str, path: str, value: Any) -> None:
    """Exit code 2, the place in the file, what is wrong and what to do; not a byte changed."""
    file = person.write(home(person, USER[name]), text({}, path, value))
    before = read(file)
    out = run(person, "install", name, code=2)
    assert f"{file}:" in out and "fix it there" in out and "The file is as it was" in out
    inside = path.startswith("hooks") or value == HALF
    assert ("for which" if inside else "reads nothing of this file, hooks included") in out
    assert read(file) == before and not os.path.exists(home(person, ".codex/config.toml"))


@pytest.mark.parametrize("name, path, value", cases(VOID, BAD))
def test_what_came_after_install_is_found(person: Any, name: str, path: str, value: Any, pasted: Any) -> None:
    """Each is an error, or a warning where one version alone drops the hooks, with the place and a way out."""
    person.write(home(person, USER[name]), text(pasted(name), path, value))
    found = found_by_doctor(person, name)
    alone = (name == "claude-code" and path.startswith("hooks")) or "additionalContextLimit" in str(value)
    assert found
    for finding in found:
        assert (" and near it" in finding.what) == alone and finding.level == ("warning" if alone else "error")
        assert finding.do.startswith("fix it") and int(finding.where.split(":")[-2]) > 1


@pytest.mark.parametrize("name, path, value", cases(READ, GOOD))
def test_what_the_client_reads_is_never_called_wrong(person: Any, name: str, path: str, value: Any, pasted: Any) -> None:
    """Harmless as each was seen to be, `install` registers beside it, takes itself out to the byte, and doctor is
    silent."""
    before = text({}, path, value)
    file = person.write(home(person, USER[name]), before)
    run(person, "install", name)
    assert not found_by_doctor(person, name)
    run(person, "uninstall", name)
    assert read(file).decode() == before
    person.write(file, text(pasted(name), path, value))
    assert not found_by_doctor(person, name)


@pytest.fixture
def pasted() -> Any:
    """What `install` writes into an empty file, as plain data."""

    def fragment(name: str) -> dict[str, Any]:
        from truecall_py.clients import registration

        about = HARNESSES[name].REGISTRATION
        line = registration.build_line
        return registration.build_fragment(about, lambda event: line(name, event, "/usr/bin/python3", "/x/hooks/run.sh", "/s"))

    return fragment


@pytest.mark.parametrize("path, value", OLD)
def test_what_one_version_alone_does_not_read_is_told(person: Any, path: str, value: Any) -> None:
    """A newer Claude Code reads these, so that `install` goes on, and says which versions do not; a warning of
    doctor's."""
    file = person.write(home(person, USER["claude-code"]), text({}, path, value))
    out = run(person, "install", "claude-code")
    assert "Claude Code 2.1.197 and near it reads nothing of this file" in out
    assert set(commands(file)) == EVENTS["claude-code"]
    (finding,) = found_by_doctor(person, "claude-code")
    assert finding.level == "warning" and path in finding.what


def test_doctor_says_it_as_a_command(person: Any) -> None:
    """In the command's own output: ERROR with the place of the value, for a file that every version drops."""
    run(person, "install", "claude-code")
    path = home(person, USER["claude-code"])
    person.write(path, text(json.loads(read(path)), "permissions.allow", "Bash"))
    done = person.command("doctor", "claude-code", "--format", "json")
    assert done.returncode == 1 and not done.stderr
    (row,) = [each for each in json.loads(done.stdout) if "permissions.allow" in each["what"]]
    said = read(path).decode()
    line = said[: said.index('"Bash"')].count("\n") + 1
    assert row["level"] == "error" and row["where"].startswith(f"{path}:{line}:") and "a text, not a list" in row["what"]


@pytest.mark.parametrize("name, key, value", [("claude-code", "timeout", "30"), ("codex", "async", "yes"),
                                              ("codex", "statusMessage", HALF)])  # fmt: skip
def test_our_own_entry_is_mended_by_install(person: Any, name: str, key: str, value: Any) -> None:
    """What somebody wrote into an entry of ours is an error or a warning of doctor's, and no reason to refuse: the
    entry is written anew."""
    run(person, "install", name)
    path = home(person, USER[name])
    plain = json.loads(read(path))
    plain["hooks"]["PostToolUse"][0]["hooks"][0][key] = value
    person.write(path, json.dumps(plain))
    (finding,) = found_by_doctor(person, name)
    assert finding.do == f"truecall install {name}" and key in finding.what or "half a letter" in finding.what
    run(person, "install", name)
    assert not found_by_doctor(person, name)


def test_a_value_is_not_repeated(person: Any) -> None:
    """A text may be a secret, so that only its kind is told; a number is told."""
    file = person.write(home(person, USER["claude-code"]), '{"env": "sk-secret", "cleanupPeriodDays": -3}')
    out = run(person, "install", "claude-code", code=2)
    assert "sk-secret" not in out.split("What belongs")[0] and read(file).startswith(b'{"env"')
    about = HARNESSES["claude-code"].REGISTRATION
    assert {each.what.partition(",")[0] for each in settings_rules.find_faults(Document(read(file).decode()), about)} == {
        "env is a text", "cleanupPeriodDays is -3"
    }  # fmt: skip


def test_of_a_key_that_is_there_twice_the_last_counts(person: Any) -> None:
    """As the client has it."""
    file = home(person, USER["claude-code"])
    person.write(file, '{"model": 5, "model": "x"}')
    run(person, "install", "claude-code")
    person.write(file, '{"model": "x", "model": 5}')
    run(person, "install", "claude-code", code=2)


def test_every_client_with_settings_has_its_rules() -> None:
    """Rules for each client whose file is one of settings, and for no other."""
    assert {name for name, module in HARNESSES.items() if module.REGISTRATION.rules is not None} == set(JSON)
