"""`truecall uninstall`, and installing anew, after settings were edited in between."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from typing import Any

import pytest
from support.json_texts import value, written
from support.settings import (
    EVENTS,
    HARNESSES,
    JSON,
    USER,
    commands,
    home,
    inside,
    moved,
    read,
    run,
    tree,
)

from truecall_py.clients.jsonc import Document


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
            from truecall_py.clients.jsonc import add_entry

            changed, _ = add_entry(doc, doc.root, key, "by hand")
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
