"""The pack `gates` on files that stand on the disk: a step in a series of edits is no mistake, and what programs take
every day is never called broken. And the recipe in its head, with the real ruff where there is one."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.real_commands import HERE, pack

from truecall_py import judge
from truecall_py.api import look_before
from truecall_py.core import paths
from truecall_py.core.types import REFUTED, VERIFIED
from truecall_py.trust.pin import load_untrusted

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def contracts(tmp_path_factory: Any) -> Any:
    return pack("gates", tmp_path_factory.mktemp("pack"))


@pytest.fixture
def steps(contracts: Any, tmp_path: Any) -> Any:
    """Makes an edit as Claude Code tells of it, and judges it: the state, and what is told."""

    def edit(path: str, now: str, told: bool = True) -> tuple[str, str]:
        file = tmp_path / path
        was = file.read_text() if file.exists() else None
        plain = {"session_id": "s", "cwd": str(tmp_path), "tool_name": "Edit", "tool_use_id": "t",
                 "tool_input": {"file_path": str(file), "old_string": "a", "new_string": "b"}}  # fmt: skip
        snapshot = look_before({**plain, "hook_event_name": "PreToolUse"}, contracts) if told else None
        file.parent.mkdir(exist_ok=True)
        file.write_text(now)
        answer = {"filePath": str(file), "originalFile": was}
        found = judge({**plain, "hook_event_name": "PostToolUse", "tool_response": answer}, contracts, snapshot=snapshot)
        state = next((verdict.state for verdict in found.verdicts), "none")
        return state, found.correction.text if found.correction else ""

    return edit


@pytest.mark.parametrize(("name", "whole", "broken", "words"), [
    ("app.py", "def f():\n    return 1\n", "def f():\n    return (1\n", "line 2"),
    ("conf.json", '{"a": 1}\n', '{"a": 1,\n "b": [\n}\n', "line 3"),
    ("conf.yml", "a: 1\n", "a: [1\nb: 2\n", "line 2"),
    ("conf.toml", "a = 1\n", "a = 1\nb = \n", "line 2"),
])  # fmt: skip
def test_a_series_of_edits(name: str, whole: str, broken: str, words: str, steps: Any) -> None:
    """Only the edit that breaks a whole file is told, with the parser's place; the ones from a broken state to another
    are not, and the one that mends it is right. With the look before the call and, as Claude Code tells it, without."""
    for told in (True, False):
        steps(name, whole)
        state, text = steps(name, broken, told)
        assert state == REFUTED and words in text and "make the others now" in text
        assert steps(name, broken + broken, told) == ("none", "")
        assert steps(name, broken, told) == ("none", "")
        assert steps(name, whole, told) == (VERIFIED, "")
        assert steps(name, whole + "\n", told) == (VERIFIED, "")


def test_a_file_that_an_edit_makes(steps: Any) -> None:
    """One that is new and broken is told, as one that is written whole is: it was no edit between two broken states."""
    assert steps("new.json", "{")[0] == "refuted"


def test_the_repository_is_never_called_broken(contracts: Any, tmp_path: Any) -> None:
    """Every JSON, YAML and TOML file of this repository and many of its modules, written as they stand, get no word:
    among them cases with templates, contracts that are broken on purpose, and payloads."""
    files = [path for path in ROOT.rglob("*") if path.suffix in (".json", ".toml") or path.name.endswith("rc")]
    files += sorted(ROOT.glob("contracts/*.yaml")) + sorted(ROOT.glob("tests/data/*contracts*/*.yaml"))[::6]
    files += sorted(ROOT.glob("truecall_py/checks/*.py"))[::6]
    judged = 0
    for path in files:
        if not path.is_file() or ".git/" in str(path) or "_cache/" in str(path):
            continue
        data = path.read_bytes()
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        here = tmp_path / path.relative_to(ROOT)
        here.parent.mkdir(parents=True, exist_ok=True)
        here.write_bytes(data)
        payload = {"session_id": "s", "cwd": str(tmp_path), "tool_name": "Write", "tool_use_id": "t",
                   "hook_event_name": "PostToolUse", "tool_input": {"file_path": str(here), "content": text},
                   "tool_response": {"type": "create", "filePath": str(here)}}  # fmt: skip
        found = judge(payload, contracts)
        assert found.correction is None, found.correction.text
        judged += bool(found.verdicts)
    assert judged > 50


@pytest.fixture
def recipe(tmp_path: Any) -> Any:
    """The contract that the head of the pack recommends, in a file of its own."""
    text = Path(paths.find_packs_folder(), "gates.yaml").read_text()
    lines = re.findall(r"(?m)^# {5}(.*)$", text)
    path = tmp_path / "truecall.yaml"
    path.write_text("version: 1\n" + "\n".join(lines) + "\n")
    assert yaml.safe_load(path.read_text())["contracts"][0]["id"] == "ruff-breaks"
    return [load_untrusted(str(path))]


def written(folder: Any, content: str, contracts: Any) -> Any:
    file = folder / "a.py"
    file.write_text(content)
    return judge(json.dumps({
        "session_id": "s", "cwd": str(folder), "tool_name": "Write", "tool_use_id": "t", "hook_event_name": "PostToolUse",
        "tool_input": {"file_path": str(file), "content": content}, "tool_response": {"type": "create"},
    }).encode(), contracts)  # fmt: skip


def test_the_recipe_with_ruff(recipe: Any, tmp_path: Any, monkeypatch: Any) -> None:
    """ruff that finds what breaks is quoted; style is nobody's business; a configuration that it does not take is no
    verdict; and where there is no ruff, there is no word."""
    if not shutil.which("ruff", path=HERE):
        pytest.skip("needs ruff")
    monkeypatch.setenv("PATH", f"{HERE}:{os.environ['PATH']}")
    found = written(tmp_path, "def f():\n    return missing\n", recipe)
    assert found.correction.replace and "F821" in found.correction.text and "a.py:2" in found.correction.text
    found = written(tmp_path, "import os, sys\nx=lambda:  1\n", recipe)
    assert found.correction is None and found.verdicts[0].state == VERIFIED
    (tmp_path / "ruff.toml").write_text("no-such-key = 1\n")
    assert written(tmp_path, "a = missing\n", recipe).verdicts == ()


def test_the_recipe_without_ruff(recipe: Any, tmp_path: Any, monkeypatch: Any) -> None:
    """A program that is not there is no verdict, and gets no word."""
    monkeypatch.setenv("PATH", "/nowhere")
    found = written(tmp_path, "a = missing\n", recipe)
    assert found.verdicts == () and found.correction is None
