"""`truecall install` against settings that other tools have written: they keep every byte, or they are not touched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from support.settings import (
    EVENTS,
    USER,
    commands,
    home,
    read,
    run,
    state_folder,
    tree,
)

from truecall_py.clients.jsonc import Document
from truecall_py.core import paths
from truecall_py.setup import backups, file_changes

FOREIGN = {
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard"}]}],
    "PostToolUse": [{"matcher": "Write|Edit", "hooks": [{"type": "command", "command": 'lint "$X"'}]}],
}
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
