"""`truecall install` and `uninstall`, as real processes against settings that other tools have written."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from setup.test_jsonc import value, written

from truecall_py.cli import main
from truecall_py.clients import registration
from truecall_py.core import paths
from truecall_py.setup import backups, file_changes, plan
from truecall_py.setup.jsonc import Document

HARNESSES = plan.registered()
JSON = [
    name for name, module in HARNESSES.items() if module.REGISTRATION.form in (registration.GROUPS, registration.FLAT)
]
USER = {
    "claude-code": ".claude/settings.json", "cline": ".cline/hooks/PostToolUse", "codex": ".codex/hooks.json",
    "copilot-cli": ".copilot/hooks/truecall.json", "gemini-cli": ".gemini/settings.json",
    "opencode": ".config/opencode/plugins/truecall.ts", "qwen-code": ".qwen/settings.json",
}  # fmt: skip
PROJECT = {
    "claude-code": ".claude/settings.local.json", "cline": ".clinerules/hooks/PostToolUse",
    "codex": ".codex/hooks.json",
    "copilot-cli": ".github/hooks/truecall.json", "gemini-cli": ".gemini/settings.json",
    "opencode": ".opencode/plugins/truecall.ts", "qwen-code": ".qwen/settings.json",
}  # fmt: skip
EVENTS = {
    "claude-code": {"PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "SubagentStop"},
    "codex": {"PreToolUse", "PostToolUse", "PermissionRequest", "Stop", "SubagentStop"},
    "gemini-cli": {"AfterTool"}, "qwen-code": {"PostToolUse", "PostToolUseFailure"},
    "copilot-cli": {"postToolUse", "postToolUseFailure"},
}  # fmt: skip
TIMEOUT = {"claude-code": ("timeout", 30), "codex": ("timeout", 30), "gemini-cli": ("timeout", 30000),
           "qwen-code": ("timeout", 30), "copilot-cli": ("timeoutSec", 30)}  # fmt: skip
FOREIGN = {
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard"}]}],
    "PostToolUse": [{"matcher": "Write|Edit", "hooks": [{"type": "command", "command": 'lint "$X"'}]}],
}


@pytest.fixture
def person(project: Any) -> Any:
    """A project whose home and state are the person's; XDG_CONFIG_HOME is not set."""
    project.env.pop("XDG_CONFIG_HOME")
    return project


def run(person: Any, *argv: str, code: int = 0, **more: Any) -> str:
    done = person.command(*argv, **more)
    assert done.returncode == code, (argv, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return str(done.stdout + done.stderr)


def state_folder(person: Any) -> str:
    with backups.locked(person.state):
        return str(person.state)


def home(person: Any, name: str) -> str:
    return os.path.join(person.home, name)


def tree(*folders: str) -> dict[str, Any]:
    """Every file, folder and link below, with its content and its mode."""
    found: dict[str, Any] = {}
    for top in folders:
        for folder, below, names in os.walk(top):
            for name in (*below, *names):
                path = os.path.join(folder, name)
                mode = os.lstat(path).st_mode
                if os.path.islink(path):
                    found[path] = (mode, os.readlink(path))
                elif os.path.isdir(path):
                    found[path] = mode
                else:
                    found[path] = (mode, read(path))
    return found


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def commands(path: str) -> dict[str, str]:
    """event -> the one command of ours in a settings file."""
    found: dict[str, str] = {}
    hooks = Document(read(path).decode()).root.plain()["hooks"]
    for event, groups in hooks.items():
        for group in groups:
            for handler in group.get("hooks", [group]):
                command = handler.get("command", handler.get("bash"))
                if registration.words(command):
                    assert event not in found
                    found[event] = command
    return found


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
        assert words == [f"TRUECALL_PYTHON={sys.executable}", paths.launcher(), name, event, "--state", person.state]
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


# -- settings of others --------------------------------------------------------------------------------------

SETTINGS = {
    "two blanks": json.dumps({"model": "x", "hooks": FOREIGN, "env": {"A": "\u00fc"}}, indent=2) + "\n",
    "four blanks, no end": json.dumps({"model": "x", "hooks": FOREIGN}, indent=4),
    "tabs": json.dumps({"hooks": FOREIGN, "permissions": {"allow": ["Bash(ls:*)"]}}, indent="\t") + "\n",
    "one line": json.dumps({"model": "x", "hooks": FOREIGN}),
    "compact": json.dumps({"hooks": FOREIGN}, separators=(",", ":")) + "\n",
    "windows": json.dumps({"model": "x", "hooks": FOREIGN}, indent=2).replace("\n", "\r\n") + "\r\n",
    "empty object": "{}", "empty object, lines": "{\n}\n", "blanks": "  { }  \n\n",
    "empty hooks": '{\n  "hooks": {},\n  "z": 1\n}\n', "empty event": '{ "hooks": { "PostToolUse": [ ] } }',
    "odd": '{"model":"x",\n\n      "hooks":\n  {"PostToolUse":[\n{"hooks":[]}]}  }',
    "ascii": '{"a": "\\u00fc\\ud83d\\ude00"}', "deep": '{"a": ' + "[" * 90 + "]" * 90 + "}",
    "like ours": json.dumps({"hooks": {"PostToolUse": [{"hooks": [{"type": "command", "command": "echo run.sh TRUECALL_PYTHON="}]}]}}),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(SETTINGS))
@pytest.mark.parametrize("name", ["claude-code", "qwen-code"])
def test_settings_of_other_tools_keep_everything(person: Any, name: str, case: str) -> None:
    """Foreign keys and hooks stay, in place; ours comes behind; uninstall gives the file back to the byte."""
    before = SETTINGS[case].encode()
    path = person.write(home(person, USER[name]), before, 0o640)
    out = run(person, "install", name)
    after = read(path)
    old, new = json.loads(before), json.loads(after)
    hooks = new.pop("hooks")
    assert set(commands(path)) == EVENTS[name]
    for event, groups in old.pop("hooks", {}).items():
        assert hooks[event][: len(groups)] == groups and len(hooks[event]) == len(groups) + (event in EVENTS[name])
    assert new == old and list(new) == list(old)
    assert os.stat(path).st_mode & 0o777 == 0o640
    assert (b"\r\n" in after) == (b"\r\n" in before) and after.count(b"\n") - after.count(b"\r\n") in (
        0,
        after.count(b"\n"),
    )
    assert after.endswith(b"\n") == before.endswith(b"\n")
    (backup,) = [line[8:] for line in out.splitlines() if line.startswith("backup: ")]
    assert read(backup) == before and os.stat(backup).st_mode & 0o777 == 0o600
    assert "nothing to change" in run(person, "install", name) and read(path) == after
    run(person, "uninstall", name)
    assert read(path) == before and os.stat(path).st_mode & 0o777 == 0o640
    assert os.listdir(os.path.join(person.state, "installs")) == []


def test_comments_survive_where_the_client_reads_them(person: Any) -> None:
    """Gemini CLI and Qwen Code read comments: they stay where they are, through install and uninstall."""
    before = '// mine\n{\n  /* a */ "ui": {"theme": "x"}, // b\n  // c\n  "hooks": { // d\n  } // e\n}\n// f\n'
    for name in ("gemini-cli", "qwen-code"):
        path = person.write(home(person, USER[name]), before)
        run(person, "install", name)
        after = read(path).decode()
        kept = [line.strip() for line in before.split("\n") if "//" in line]
        assert all(remark[-4:] in after for remark in kept) and len(Document(after).comments) == 7
        assert set(commands(path)) == EVENTS[name]
        run(person, "uninstall", name)
        assert read(path).decode() == before


REFUSED = {
    "empty": ("claude-code", "", ":1:1", "empty"),
    "no JSON": ("claude-code", '{\n  "a": 1\n  "b": 2\n}', ":3:3", "comma"),
    "array": ("claude-code", "[1]", ":1:1", "an array"),
    "null": ("claude-code", '{"hooks": null}', ":1:11", "null"),
    "shape": ("claude-code", '{"hooks": {\n"PostToolUse": {}}}', ":2:16", "not a list"),
    "group": ("claude-code", '{"hooks": {"PostToolUse": ["x"]}}', ":1:28", "not an object"),
    "comment": ("claude-code", '{\n  // mine\n  "a": 1\n}', ":2:3", "does not read a settings file with comments"),
    "comma": ("gemini-cli", '{"a": 1,}', ":1:8", "trailing comma"),
    "bom": ("gemini-cli", "\ufeff{}", ":1:1", "byte order mark"),
    "bad hook": (
        "claude-code",
        '{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}',
        ":1:32",
        "every hook of the file",
    ),
    "version": ("codex", '{\n"version": 1, "hooks": {}}', ":2:1", "version"),
    "latin 1": ("claude-code", b'{"a": "\xfc"}', ":1:1", "UTF-8"),
    "utf 16": ("claude-code", '{"a": 1}'.encode("utf-16"), ":1:1", "UTF-8"),
    "twice": ("claude-code", '{"hooks": {}, "hooks": {}}', ":1:15", "twice"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_cannot_be_merged_is_refused_untouched(person: Any, case: str) -> None:
    """Exit code 2, file and place, what to do, and the fragment to paste; not a byte changed."""
    name, text, where, why = REFUSED[case]
    path = person.write(home(person, USER[name]), text)
    before = tree(person.home)
    out = run(person, "install", name, code=2)
    assert path + where in out and why in out and "  -> " in out and "What belongs into it" in out
    fragment = json.loads(out[out.index("\n{\n") :])
    assert set(fragment["hooks"]) == EVENTS[name]
    assert tree(person.home) == before
    run(person, "install", name, "--dry-run", code=2)


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini-cli"])
def test_a_link_stays_a_link(person: Any, name: str) -> None:
    """Settings that are a link into a folder of dotfiles are changed there, and nowhere else."""
    real = person.write(os.path.join(person.base, "dotfiles", "s.json"), '{"description": "x"}', 0o600)
    link = home(person, USER[name])
    os.makedirs(os.path.dirname(link))
    os.symlink("../../dotfiles/s.json", link)
    before = tree(person.home, os.path.dirname(real))
    run(person, "install", name)
    assert os.readlink(link) == "../../dotfiles/s.json" and set(commands(real)) == EVENTS[name]
    assert os.listdir(os.path.dirname(real)) == ["s.json"] and os.stat(real).st_mode & 0o777 == 0o600
    run(person, "uninstall", name)
    assert tree(person.home, os.path.dirname(real)) == before


def test_links_that_lead_nowhere(person: Any) -> None:
    """A link to a file that is not there yet is followed; one that leads in a circle is refused."""
    path = home(person, USER["claude-code"])
    os.makedirs(os.path.dirname(path))
    os.symlink(os.path.join(person.base, "later.json"), path)
    run(person, "install", "claude-code")
    assert os.path.islink(path) and set(commands(os.path.join(person.base, "later.json"))) == EVENTS["claude-code"]
    run(person, "uninstall", "claude-code")
    assert os.path.islink(path) and not os.path.exists(path)
    os.unlink(path)
    os.symlink(path, path)
    assert "symbolic links" in run(person, "install", "claude-code", code=2)


def test_files_that_must_not_be_replaced(person: Any) -> None:
    """A read-only file, a hard link, a folder, a FIFO: refused, with what to do."""
    path = person.write(home(person, USER["claude-code"]), "{}", 0o444)
    assert "read-only" in run(person, "install", "claude-code", code=2) and read(path) == b"{}"
    os.chmod(path, 0o644)
    os.link(path, path + ".second")
    assert "second name" in run(person, "install", "claude-code", code=2) and read(path) == b"{}"
    os.unlink(path + ".second")
    os.unlink(path)
    os.mkfifo(path)
    assert "cannot be read" in run(person, "install", "claude-code", code=2)
    os.unlink(path)
    os.mkdir(path)
    assert "cannot be read" in run(person, "install", "claude-code", code=2)


@pytest.mark.skipif(os.geteuid() == 0 and not os.path.exists("/usr/bin/setpriv"), reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(person: Any) -> None:
    """Nothing is changed and no draft is left; the person is told where."""
    path = person.write(home(person, USER["claude-code"]), "{}", 0o666)
    folder = os.path.dirname(path)
    for name in (person.base, person.home, os.path.join(person.base, "state")):
        os.makedirs(name, exist_ok=True)
        os.chmod(name, 0o777)
    os.chmod(folder, 0o555)
    argv = [sys.executable, "-m", "truecall_py", "install", "claude-code"]
    if os.geteuid() == 0:
        above = person.base
        while above != "/":  # pytest keeps its folders to itself
            above = os.path.dirname(above)
            os.chmod(above, os.stat(above).st_mode | 0o055) if above.startswith("/tmp/") else None
        argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *argv]
    root = os.path.dirname(paths.PACKAGE)
    done = subprocess.run(argv, env={**person.env, "PYTHONPATH": root}, cwd="/", capture_output=True, text=True)
    os.chmod(folder, 0o755)
    assert done.returncode == 2 and "cannot be written" in done.stderr and folder in done.stderr, done
    assert os.listdir(folder) == ["settings.json"] and read(path) == b"{}"


def test_a_file_that_changes_meanwhile_is_left_alone(person: Any) -> None:
    """What another program writes between the look and the replacing is kept, and the person runs it again."""
    path = person.write(home(person, USER["claude-code"]), "{}")
    seen = file_changes.look(path)
    person.write(path, '{"new": 1}')
    with pytest.raises(file_changes.ChangeError, match="changed it"):
        file_changes.make(
            [file_changes.Change(seen, b'{"old": 1}', backups.Record(path, b"{}", ()), path)], state_folder(person)
        )
    assert read(path) == b'{"new": 1}' and os.listdir(os.path.dirname(path)) == ["settings.json"]
    fresh = file_changes.look(path + "2")
    person.write(path + "2", "mine")
    with pytest.raises(file_changes.ChangeError, match="changed it"):
        file_changes.make([file_changes.Change(fresh, b"x", None, path + "2")], person.state)
    assert read(path + "2") == b"mine"


def test_all_changes_or_none(person: Any) -> None:
    """Where the second of two files cannot be written, the first is as it was."""
    one = person.write(os.path.join(person.base, "one"), "1")
    new = os.path.join(person.base, "deep", "er", "new")
    two = file_changes.Seen(os.path.join(person.base, "two"), os.path.join(person.base, "two"), b"gone")
    person.write(two.path, "other")
    state = state_folder(person)
    wanted = [file_changes.Change(file_changes.look(one), b"2", backups.Record(one, b"1", ()), one),
              file_changes.Change(file_changes.look(new), b"2", backups.Record(new, None, ()), new),
              file_changes.Change(two, b"2", backups.Record(two.path, b"gone", ()), two.path)]  # fmt: skip
    with pytest.raises(file_changes.ChangeError):
        file_changes.make(wanted, state)
    assert read(one) == b"1" and not os.path.exists(os.path.join(person.base, "deep"))
    assert os.listdir(os.path.join(state, "installs")) == []


def test_a_kill_leaves_the_old_file_or_the_new_one(person: Any) -> None:
    """Killed at any moment, the settings are whole, and the next run finishes the work."""
    before = json.dumps({"x": ["y" * 50] * 8000}, indent=2).encode()
    path = home(person, USER["claude-code"])
    for step in range(8):
        person.write(path, before)
        process = subprocess.Popen([sys.executable, "-m", "truecall_py", "install", "claude-code"], cwd=person.root,
                                   env={**person.env, "PYTHONPATH": os.path.dirname(paths.PACKAGE)},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        time.sleep(0.2 + step * 0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = read(path)
        assert now == before or set(commands(path)) == EVENTS["claude-code"]
        run(person, "install", "claude-code")
        run(person, "uninstall", "claude-code")
        assert read(path) == before


def test_two_at_a_time_wait_for_each_other(person: Any) -> None:
    """Two installs at once: one entry, and both end well."""
    path = person.write(home(person, USER["claude-code"]), "{}")
    argv = [sys.executable, "-m", "truecall_py", "install", "claude-code"]
    env = {**person.env, "PYTHONPATH": os.path.dirname(paths.PACKAGE)}
    both = [subprocess.Popen(argv, cwd=person.root, env=env, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outs = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0] * 4, outs
    assert sum("nothing to change" in out for out in outs) == 3 and set(commands(path)) == EVENTS["claude-code"]


# -- what was edited in between --------------------------------------------------------------------------------


def random_settings(dice: random.Random, name: str) -> str:
    """Settings as some tool may have written them, with or without hooks of others."""
    plain = value(dice, 3, top=True)
    assert isinstance(plain, dict)
    if name == "codex":
        plain = {"description": "x"} if dice.random() < 0.5 else {}
    if name == "copilot-cli":
        plain = {"version": 1}
    if dice.random() < 0.7:
        handler = {"type": "command", HARNESSES[name].REGISTRATION.command: "lint", "timeout": 5}
        flat = name == "copilot-cli"
        events = [*EVENTS[name], "SessionStart"]
        plain["hooks"] = {
            event: [handler if flat else {"matcher": "x", "hooks": [handler]} for _ in range(dice.randrange(3))]
            for event in dice.sample(sorted(events), dice.randrange(len(events) + 1))
        }
    items = list(plain.items())
    dice.shuffle(items)
    plain = dict(items)
    form = dice.randrange(4)
    if form == 0:
        text = json.dumps(plain, indent=dice.choice([2, 4, "\t", 1]), ensure_ascii=dice.random() < 0.5)
    elif form == 1:
        text = json.dumps(plain, separators=dice.choice([(",", ":"), (", ", ": ")]))
    else:
        text = written(dice, plain, "", dice.choice(["  ", "    ", "\t", ""]), comments=False)
        if name in ("gemini-cli", "qwen-code"):
            text = written(dice, plain, "", "  ", comments=True)
            if Document(text).trailing:
                text = json.dumps(plain)
    if dice.random() < 0.3:
        text = text.replace("\n", "\r\n")
    text += dice.choice(["", "\n", "\n\n"])
    return ("\ufeff" if dice.random() < 0.1 and name in ("claude-code", "qwen-code") else "") + text


def inside(monkeypatch: Any, person: Any) -> Any:
    """The commands in this process: hundreds of them take a moment."""
    for key, text in person.env.items():
        monkeypatch.setenv(key, text)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(person.root)
    return lambda *argv: main.run(list(argv))


@pytest.mark.parametrize("name", JSON)
def test_uninstall_gives_back_the_bytes(person: Any, name: str, monkeypatch: Any, capsys: Any) -> None:
    """Whatever the settings look like: install, then uninstall, is nothing at all."""
    truecall = inside(monkeypatch, person)
    path = home(person, USER[name])
    for seed in range(120):
        text = random_settings(random.Random(f"{name}{seed}"), name).encode()
        person.write(path, text)
        before = tree(person.home)
        assert truecall("install", name) == 0, (seed, text, capsys.readouterr())
        assert set(commands(path)) == EVENTS[name], (seed, text)
        if name == "codex":
            assert json.loads(read(path))
        assert truecall("uninstall", name) == 0
        assert tree(person.home) == before, (seed, text, read(path))


@pytest.mark.parametrize("records", [True, False])
@pytest.mark.parametrize("name", JSON)
def test_an_edit_in_between_is_kept(person: Any, name: str, records: bool, monkeypatch: Any, capsys: Any) -> None:
    """Whatever a person changes after the install stays; what is truecall's goes, also where the records of the
    state folder are gone."""
    truecall = inside(monkeypatch, person)
    path = home(person, USER[name])
    for seed in range(80):
        dice = random.Random(f"{name}{seed}e")
        text = random_settings(dice, name)
        person.write(path, text)
        assert truecall("install", name) == 0, (seed, text, capsys.readouterr())
        doc = Document(read(path).decode())
        edit = dice.randrange(3)
        expected = Document(text).root.plain()
        key = "description" if name == "codex" else "added"
        if edit == 0 and doc.root.get(key) is None:
            from truecall_py.setup.jsonc import added

            changed, _ = added(doc, doc.root, key, "by hand")
            expected[key] = "by hand"
        elif edit == 1:
            changed = doc.text.replace("lint", "lint --fix")
            expected = json.loads(json.dumps(expected).replace("lint", "lint --fix"))
        else:
            changed = doc.text + "\n \n"
        person.write(path, changed)
        if not records:
            for each in os.listdir(os.path.join(person.state, "installs")):
                os.unlink(os.path.join(person.state, "installs", each))
        assert truecall("uninstall", name) == 0
        if not records and name == "copilot-cli" and not os.path.exists(path):
            person.write(path, '{"version": 1}')  # the file bears our name, and nobody knows that it was there
        left = read(path).decode()
        found = Document(left).root.plain()
        if not records:  # nobody knows whether an empty list was there before
            for plain in (found, expected):
                plain["hooks"] = {event: groups for event, groups in plain.get("hooks", {}).items() if groups}
        assert found == expected, (seed, text, changed, left)
        assert "TRUECALL" not in left
        if records and edit == 1:
            assert left == text.replace("lint", "lint --fix"), (seed, text, left)
        if records and edit == 2:
            assert left == text + "\n \n", (seed, text, left)
        assert truecall("uninstall", name) == 0 and read(path).decode() == left


def moved(person: Any, path: str) -> None:
    """As if the install had been made with another interpreter, from another place."""
    text = read(path).decode()
    person.write(
        path, text.replace(sys.executable, "/old/bin/python").replace(paths.launcher(), "/old/hooks/run.sh")
    )


@pytest.mark.parametrize("name", sorted(HARNESSES))
def test_an_upgrade_replaces_the_entry_in_place(person: Any, name: str) -> None:
    """A moved interpreter or launcher: install puts the new one where the old one was, uninstall takes either."""
    path = home(person, USER[name])
    if name in JSON:
        person.write(path, '{"hooks": {}}' if name != "copilot-cli" else '{"version": 1, "hooks": {}}')
    before = tree(person.home)
    run(person, "install", name)
    new = read(path)
    moved(person, path)
    if name in JSON:
        foreign = {"type": "command", HARNESSES[name].REGISTRATION.command: "theirs"}
        plain = json.loads(read(path))
        for groups in plain["hooks"].values():
            groups.append(foreign if name == "copilot-cli" else {"hooks": [foreign]})
        person.write(path, json.dumps(plain))
        run(person, "install", name)
        again = json.loads(read(path))
        assert all(
            [len(groups) == 2, "theirs" in str(groups[1])] == [True, True] for groups in again["hooks"].values()
        )
        assert commands(path) == {event: c for event, c in commands(path).items() if sys.executable in c}
        for groups in again["hooks"].values():
            groups.pop()
        assert again == json.loads(new)
        moved(person, path)
        run(person, "uninstall", name)
        assert "run.sh" not in read(path).decode() and read(path).count(b"theirs") == len(EVENTS[name])
        return
    run(person, "install", name)
    assert read(path) == new
    moved(person, path)
    run(person, "uninstall", name)
    assert tree(person.home) == before


def test_an_upgrade_still_gives_back_the_bytes(person: Any, monkeypatch: Any) -> None:
    """install, install by another interpreter, uninstall: the first bytes."""
    for name in JSON:
        path = person.write(home(person, USER[name]), '{ "description" : "x" ,"hooks":{ } }')
        before = read(path)
        run(person, "install", name)
        link = os.path.join(person.base, "python-" + name)
        os.symlink(sys.executable, link)
        env = {**person.env, "PYTHONPATH": ":".join(entry for entry in sys.path if entry)}
        argv = [link, "-m", "truecall_py", "install", name]
        done = subprocess.run(argv, cwd=person.root, capture_output=True, text=True, env=env)
        assert done.returncode == 0 and link in read(path).decode(), done
        run(person, "uninstall", name)
        assert read(path) == before


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
    command = registration.line("claude-code", "PostToolUse", python, run_sh, base)
    decoded = json.loads(json.dumps({"command": command}, ensure_ascii=False))["command"]
    for shell in ("sh", "dash", "bash"):
        done = subprocess.run([shell, "-c", decoded], capture_output=True, text=True, cwd=person.root, check=True)
        assert done.stdout.split("\n") == [python, run_sh, "claude-code", "PostToolUse", "--state", base, ""]
    assert registration.words(command)[0] == run_sh and os.listdir(person.root) == []


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
    monkeypatch.setattr(paths, "launcher", lambda: "/no/such/run.sh")
    assert truecall("install", "claude-code") == 2 and "launcher" in capsys.readouterr().err
    assert not os.path.exists(home(person, ".claude"))


# -- single clients --------------------------------------------------------------------------------------------


def codex_hash(handler: dict[str, Any], matcher: str | None = None) -> str:
    """As observed with the real client, written down a second time."""
    hashed = {"async": False, "command": handler["command"], "timeout": handler["timeout"], "type": "command"}
    group: dict[str, Any] = {"event_name": "post_tool_use", "hooks": [hashed]}
    if matcher is not None:
        group["matcher"] = matcher
    compact = json.dumps(group, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(compact.encode()).hexdigest()


def states(path: str) -> dict[str, Any]:
    import tomlkit

    found: dict[str, Any] = tomlkit.parse(read(path).decode()).unwrap().get("hooks", {}).get("state", {})
    return found


CONFIG = """\
# mine
model = "x"   # keep

[mcp_servers.notes]
command = 'a'
env = { A = "1" }

[hooks.state."/elsewhere/hooks.json:post_tool_use:0:0"]
trusted_hash = "sha256:00"
"""


@pytest.mark.parametrize(
    "config", [None, "", CONFIG, CONFIG.rstrip("\n"), CONFIG.replace("\n", "\r\n"), "[hooks]\n[features]\n"]
)
def test_codex_trusts_what_was_installed(person: Any, config: str | None) -> None:
    """The entry in config.toml has our group's and handler's number and the right hash; every other byte stays."""
    path, toml = home(person, ".codex/hooks.json"), home(person, ".codex/config.toml")
    person.write(
        path,
        json.dumps({"hooks": {"PostToolUse": [{"matcher": "x", "hooks": [{"type": "command", "command": "y"}]}]}}),
    )
    if config is not None:
        person.write(toml, config)
    before = tree(person.home)
    run(person, "install", "codex")
    handler = json.loads(read(path))["hooks"]["PostToolUse"][1]["hooks"][0]
    assert states(toml)[f"{path}:post_tool_use:1:0"] == {"trusted_hash": codex_hash(handler)}
    assert read(toml).decode().startswith(config or "") and (b"\r\n" in read(toml)) == ("\r\n" in (config or ""))
    after = tree(person.home)
    assert "nothing to change" in run(person, "install", "codex") and tree(person.home) == after
    run(person, "uninstall", "codex")
    assert tree(person.home) == before


def test_codex_trust_follows_every_change(person: Any) -> None:
    """A moved interpreter gets a new hash, a lost or wrong entry is mended, and a foreign hook behind ours keeps
    the trust that it has when ours goes and the numbers move up."""
    path, toml = home(person, ".codex/hooks.json"), home(person, ".codex/config.toml")
    person.write(toml, CONFIG)
    run(person, "install", "codex")
    good = states(toml)
    moved(person, path)
    run(person, "install", "codex")
    assert states(toml) == good
    person.write(
        toml,
        CONFIG + f"\n[hooks.state.'{path}:post_tool_use:0:0']\ntrusted_hash = \"sha256:11\"  # x\nenabled = true\n",
    )
    run(person, "install", "codex")
    assert states(toml) == {
        **good,
        f"{path}:post_tool_use:0:0": {**good[f"{path}:post_tool_use:0:0"], "enabled": True},
    }
    plain = json.loads(read(path))
    theirs = {"type": "command", "command": "theirs", "timeout": 5}
    plain["hooks"]["PostToolUse"] += [{"matcher": "x", "hooks": [theirs]}]
    person.write(path, json.dumps(plain))
    trust = f'\n[hooks.state."{path}:post_tool_use:1:0"] # k]eep\ntrusted_hash = "{codex_hash(theirs, "x")}"\n'
    with open(toml, "a") as file:
        file.write(trust)
    run(person, "uninstall", "codex")
    assert json.loads(read(path))["hooks"]["PostToolUse"] == [{"matcher": "x", "hooks": [theirs]}]
    assert read(toml).decode() == CONFIG + trust.replace(":1:0", ":0:0")


def test_codex_with_hooks_in_config_toml_is_refused(person: Any) -> None:
    """Two representations side by side run both: nothing is written, and the form to paste is shown."""
    toml = person.write(
        home(person, ".codex/config.toml"), '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "x"\n'
    )
    before = tree(person.home)
    out = run(person, "install", "codex", code=2)
    assert toml in out and "Stop" in out and "[[hooks.PostToolUse.hooks]]" in out and tree(person.home) == before
    import tomlkit

    pasted = tomlkit.parse(out[out.index("[[hooks.PostToolUse]]") :]).unwrap()["hooks"]["PostToolUse"]
    assert registration.words(pasted[0]["hooks"][0]["command"]) and pasted[0]["hooks"][0]["timeout"] == 30
    person.write(toml, "[[broken")
    out = run(person, "install", "codex", code=2)
    assert toml in out and "TOML" in out and not os.path.exists(home(person, ".codex/hooks.json"))
    person.write(toml, 'hooks = {state = {"a:b" = {trusted_hash = "sha256:0"}}}\n')
    out = run(person, "install", "codex", code=2)
    assert "trusted_hash" in out and not os.path.exists(home(person, ".codex/hooks.json"))


def test_codex_in_a_project(person: Any) -> None:
    """The trust goes into the person's own config.toml; what they must confirm is said, unless they have; and a
    second registration is refused, since Codex would run both."""
    out = run(person, "install", "codex", "--project")
    path, toml = os.path.join(person.root, ".codex/hooks.json"), home(person, ".codex/config.toml")
    assert f"{path}:post_tool_use:0:0" in states(toml) and not os.path.exists(home(person, ".codex/hooks.json"))
    assert f'[projects."{person.root}"]' in out and 'trust_level = "trusted"' in out
    with open(toml, "a") as file:
        file.write(f'\n[projects."{person.root}"]\ntrust_level = "trusted"\n')
    assert "trust_level" not in run(person, "install", "codex", "--project")
    assert "run both" in run(person, "install", "codex", "--user", code=2)
    run(person, "uninstall", "codex", "--project")
    assert not os.path.exists(path) and states(toml) == {} and "trust_level" in read(toml).decode()


def test_codex_home_with_a_link(person: Any) -> None:
    """Codex resolves CODEX_HOME, and only that, in the name that it trusts."""
    real = person.folder("real")
    link = os.path.join(person.base, "link")
    os.symlink(real, link)
    run(person, "install", "codex", env={"CODEX_HOME": link})
    events = ("post_tool_use", "pre_tool_use", "permission_request", "stop", "subagent_stop")
    assert list(states(os.path.join(real, "config.toml"))) == [f"{real}/hooks.json:{event}:0:0" for event in events]
    run(person, "uninstall", "codex", env={"CODEX_HOME": link})
    assert os.listdir(real) == []
    os.symlink(real, home(person, ".codex"))
    run(person, "install", "codex")
    assert list(states(os.path.join(real, "config.toml"))) == [
        f"{home(person, '.codex')}/hooks.json:{event}:0:0" for event in events
    ]


def test_folders_that_a_variable_moves(person: Any) -> None:
    """Each client's own variable for its folder counts."""
    for name, variable, below in (
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("gemini-cli", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("qwen-code", "QWEN_HOME", "settings.json"), ("opencode", "XDG_CONFIG_HOME", "opencode/plugins/truecall.ts"),
        ("cline", "CLINE_DIR", "hooks/PostToolUse"), ("copilot-cli", "COPILOT_HOME", "hooks/truecall.json"),
    ):  # fmt: skip
        folder = os.path.join(person.base, name)
        run(person, "install", name, env={variable: folder})
        assert os.path.isfile(os.path.join(folder, below)), name


def test_switched_off_hooks_are_told(person: Any) -> None:
    """Where the settings switch all hooks off, the entry is written and the person is told that it does not run."""
    for name, text in (("claude-code", '{"disableAllHooks": true}'),
                       ("gemini-cli", '{"hooksConfig": {"enabled": false}}'),
                       ("qwen-code", '{"disableAllHooks": true}')):  # fmt: skip
        person.write(home(person, USER[name]), text)
        assert "runs no hook at all" in run(person, "install", name)
    person.write(home(person, ".codex/config.toml"), "[features]\nhooks = false\n")
    assert "runs no hook" in run(person, "install", "codex")


def test_an_entry_made_by_hand_is_told(person: Any) -> None:
    """The registration that the README once showed would judge each call twice."""
    by_hand = {
        "hooks": {
            "PostToolUse": [{"hooks": [{"type": "command", "command": '"/x/hooks/run.sh" claude-code PostToolUse'}]}]
        }
    }
    path = person.write(home(person, USER["claude-code"]), json.dumps(by_hand))
    assert (
        "by hand" in run(person, "install", "claude-code")
        and len(json.loads(read(path))["hooks"]["PostToolUse"]) == 2
    )


def test_a_project_in_a_repository(person: Any) -> None:
    """Files with absolute paths are no matter for a team; Claude Code's own are in settings.local.json."""
    subprocess.run(["git", "init", "-q", person.root], check=True)
    person.write(".claude/settings.json", "{}")
    for name in sorted(HARNESSES):
        out = run(person, "install", name, "--project")
        assert "absolute paths" in out and PROJECT[name] in out
    assert read(os.path.join(person.root, ".claude/settings.json")) == b"{}"


def test_cline_script(person: Any) -> None:
    """An executable script of ours; somebody else's is left alone, with the line to add; uninstall takes that out."""
    path = os.path.join(person.root, PROJECT["cline"])
    run(person, "install", "cline", "--project")
    assert os.access(path, os.X_OK) and subprocess.run(["sh", "-n", path]).returncode == 0
    os.chmod(path, 0o644)
    run(person, "install", "cline", "--project")
    assert os.access(path, os.X_OK)
    run(person, "uninstall", "cline", "--project")
    theirs = "#!/bin/bash\nlog something\n"
    person.write(path, theirs, 0o755)
    out = run(person, "install", "cline", "--project", code=2)
    line = out.rstrip().rsplit("\n", 1)[-1]
    assert registration.words(line) and read(path).decode() == theirs
    person.write(path, theirs + line + "\n", 0o755)
    assert "nothing to change" in run(person, "install", "cline", "--project")
    run(person, "uninstall", "cline", "--project")
    assert read(path).decode() == theirs


def test_a_plugin_of_somebody_else_is_left_alone(person: Any) -> None:
    """A truecall.ts that is not ours is refused; one of ours that was edited goes as a whole, and that is said."""
    path = person.write(home(person, USER["opencode"]), "export const Mine = 1\n")
    assert "somebody else" in run(person, "install", "opencode", code=2) and read(path) == b"export const Mine = 1\n"
    os.unlink(path)
    run(person, "install", "opencode")
    with open(path, "a") as file:
        file.write("// edited\n")
    assert "edited" in run(person, "uninstall", "opencode") and not os.path.exists(path)


NODE = """\
import { Truecall } from %s
const hooks = await Truecall({ directory: %s })
const after = hooks["tool.execute.after"]
const call = async (output) => { await after({ tool: "write", callID: "c" }, output); return output }
console.log(JSON.stringify([
  await call({ title: "", output: "Wrote it.", metadata: {} }),
  await call({ content: [{ type: "text", text: "Saved." }] }),
]))
"""


@pytest.mark.parametrize("says, built_in, mcp", [
    ("", "Wrote it.", ["Saved."]),
    ("printf '%s' '{\"output\": \"NOT DONE\"}'", "NOT DONE", ["NOT DONE"]),
    ("printf '%s' '{\"append\": \"look\"}'", "Wrote it.\n\nlook", ["Saved.", "look"]),
    ("echo why >&2; exit 2", "Wrote it.\n\nwhy", ["Saved.", "why"]),
    ("exit 1", None, None), ("echo nonsense", None, None), ("kill -9 $$", None, None),
    ("exec 0<&-; exit 3", None, None),
])  # fmt: skip
def test_the_opencode_shim(person: Any, says: str, built_in: str | None, mcp: list[str] | None) -> None:
    """It replaces, appends or leaves the output, and any end but a good one is told to the model."""
    import re
    import shutil

    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here")
    with open(os.path.join(paths.hooks(), "opencode.ts")) as file:
        text = file.read().replace('"@COMMAND@"', json.dumps(f"cat >seen; {says}"))
    for typed in ("type Answer = { output?: string; append?: string }", ": Promise<Answer>", ": string", ": Answer",
                  ": any", "<Answer>"):  # fmt: skip
        text = text.replace(typed, "")  # node runs what is left as it is
    text = re.sub(r"\\(piece\\)", "(piece)", text)
    plugin = person.write("plugin.mjs", text)
    person.write("main.mjs", NODE % (json.dumps(plugin), json.dumps(person.root)))
    done = subprocess.run([node, "main.mjs"], cwd=person.root, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done
    first, second = json.loads(done.stdout)
    texts = [block["text"] for block in second["content"]]
    if built_in is None:
        assert first["output"].startswith("Wrote it.\n\nNOT CONFIRMED") and texts[1].startswith("NOT CONFIRMED")
    else:
        assert first["output"] == built_in and texts == mcp
    sent = json.loads(read(os.path.join(person.root, "seen")))
    assert sent["cwd"] == person.root and sent["input"]["callID"] == "c"
    assert sent["output"]["content"][0]["text"] == "Saved."


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


@pytest.mark.parametrize("tail", ["; echo x >> ~/log", " | tee -a /tmp/audit.log", " && true", " > /dev/null"])
def test_what_a_person_joined_to_our_command_is_theirs(tail: str) -> None:
    """A line with a command of the person's own behind ours is not taken for ours, and so not replaced."""
    line = registration.line("claude-code", "PostToolUse", "/a b/python", "/x;y/hooks/run.sh", "/s&t'u")
    assert registration.words(line)[1:3] == ["claude-code", "PostToolUse"]
    assert registration.words(line + tail) == []


@pytest.mark.parametrize("name", ["gemini-cli", "qwen-code"])
def test_a_path_that_the_client_would_expand_is_refused(person: Any, name: str) -> None:
    """Gemini CLI and Qwen Code replace $NAME anywhere in their settings: such a path would name another file."""
    assert "for a variable" in run(person, "install", name, code=2, env={"XDG_STATE_HOME": person.folder("a$USER")})
    assert not os.path.exists(home(person, USER[name]))


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
