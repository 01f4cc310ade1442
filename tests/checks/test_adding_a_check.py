"""A check is one file and one name. In a copy of the checkout, a toy check is added that way, and the commands of
truecall know it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.project import ROOT

TOY = '''\
"""toy: the first line of a file is the word that it should be. Never takes a missing file for an empty one."""

from __future__ import annotations

from truecall_py.checks import LOGIC
from truecall_py.checks.support.outcomes import compare_effect, refuted, verified
from truecall_py.contracts.field import field

NAME = "toy"
SUMMARY = "The first line of a file is one word."
STAGE = LOGIC
FAILURE_CLASS = "lint"
COST = None
FIELDS = (
    field("path", "path", "Which file.", required=True, templated=True),
    field("word", "text", "The word.", required=True, templated=True),
)
ASSERTS = ("word",)
SYNONYMS = ("plaything",)
EXAMPLES = (
    {"title": "it is", "files": {"a.txt": "hello\\\\n"}, "check": {"path": "a.txt", "word": "hello"}, "verdict": "verified"},
    {"title": "it is not", "files": {"a.txt": "bye\\\\n"}, "check": {"path": "a.txt", "word": "hello"}, "verdict": "refuted"},
)


def expect(params):
    return f"{params['path']} begins with {params['word']}"


def first_line(params, world):
    path = world.resolve(params["path"])
    return world.read(path).decode().partition("\\\\n")[0] if world.stat(path) else None


def run(params, call, world):
    line = first_line(params, world)
    if line != params["word"]:
        return refuted(expect(params), f"its first line is {line}", blank=line is None)
    return verified(expect(params), "its first line is that word", compare_effect(world.earlier(NAME, params), line))


def take_snapshot(params, call, world):
    return first_line(params, world)


def needs_snapshot(params):
    return False
'''.replace("\\\\n", "\\n")
CONTRACT = """\
version: 1
contracts:
  - id: greeted
    tool: mcp__toys__greet
    post: {toy: {path: "{{project}}/a.txt", word: "{{args.word}}"}}
    examples:
      - title: greeted
        payload: {tool_name: mcp__toys__greet, tool_input: {word: hello}, tool_response: done}
        world: {files: {a.txt: "hello\\n"}}
        verdict: verified
"""


class Copy:
    """A copy of the checkout, and a project in which the truecall of that copy runs."""

    def __init__(self, base: Path) -> None:
        self.tree, self.project = base / "tree", base / "project"
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                cwd=ROOT, capture_output=True, check=True).stdout.decode()  # fmt: skip
        for name in filter(None, listed.split("\0")):
            if (Path(ROOT) / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(Path(ROOT) / name, self.tree / name)
        self.project.mkdir()
        (self.project / "truecall.yaml").write_text(CONTRACT)
        self.env = {
            "PATH": os.environ["PATH"], "HOME": str(base / "home"), "XDG_STATE_HOME": str(base / "state"),
            "XDG_CONFIG_HOME": str(base / "config"), "TRUECALL_PYTHON": sys.executable, "PYTHONPATH": str(self.tree),
            "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip

    def add_check(self, source: str) -> None:
        """One file, and one name in the list of checks."""
        (self.tree / "truecall_py" / "checks" / "toy.py").write_text(source)
        index = self.tree / "truecall_py" / "checks" / "__init__.py"
        index.write_text(index.read_text().replace('    "file_exists",', '    "toy", "file_exists",', 1))

    def run(self, *argv: str, given: Any = None, code: int = 0, folder: Path | None = None) -> str:
        """The output of a command, which must end with this exit code."""
        text = None if given is None else json.dumps(given)
        done = subprocess.run(argv, input=text, cwd=folder or self.project, env=self.env, capture_output=True, text=True)
        assert done.returncode == code, (argv, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def truecall(self, *argv: str, given: Any = None, code: int = 0) -> str:
        return self.run(sys.executable, "-m", "truecall_py", *argv, given=given, code=code)

    def hook(self, payload: dict[str, Any]) -> str:
        launcher = str(self.tree / "hooks" / "run.sh")
        return self.run("sh", launcher, "claude-code", payload["hook_event_name"], given=payload)

    def payload(self, event: str = "PostToolUse") -> dict[str, Any]:
        plain = {"session_id": "s", "hook_event_name": event, "tool_name": "mcp__toys__greet", "tool_use_id": "t",
                 "tool_input": {"word": "hello"}, "cwd": str(self.project)}  # fmt: skip
        return plain if event == "PreToolUse" else {**plain, "tool_response": "done"}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    made = Copy(tmp_path_factory.mktemp("copy"))
    made.add_check(TOY)
    return made


def test_the_commands_know_a_check_that_was_added(copy: Copy) -> None:
    """`schema`, `lint`, `test`, `trust`, `explain`, `verify`, the hook and the docs know a check that is one file and one
    name."""
    found = json.loads(copy.truecall("schema"))
    assert found["$defs"]["toy"]["required"] == ["path", "word"] and "toy" in found["$defs"]["check"]["properties"]
    copy.truecall("lint")
    (copy.project / "bad.yaml").write_text(CONTRACT.replace("{toy: {path:", "{plaything: {path:"))
    assert "did you mean `toy`?" in copy.truecall("lint", "bad.yaml", code=1)
    assert "greeted" in copy.truecall("test")
    assert "greeted" in copy.truecall("trust", "--yes")
    (copy.project / "call.json").write_text(json.dumps(copy.payload()))
    assert "greeted: applies" in copy.truecall("explain", "call.json")
    assert "begins with hello" in copy.truecall("verify", "call.json", code=1)
    copy.run(sys.executable, "install/generate", folder=copy.tree)
    page = (copy.tree / "docs" / "reference" / "checks.md").read_text()
    assert "| [`toy`](#toy) | The first line of a file is one word. |" in page and "\n## toy\n" in page


def test_the_hook_judges_with_a_check_that_was_added(copy: Copy) -> None:
    """The hook takes the snapshot of an added check, refutes by it, and is silent where it holds."""
    copy.truecall("trust", "--yes")
    target = copy.project / "a.txt"
    target.unlink(missing_ok=True)
    assert copy.hook(copy.payload("PreToolUse")) == ""
    assert "begins with hello" in json.loads(copy.hook(copy.payload()))["reason"]
    target.write_text("hello\n")
    assert copy.hook(copy.payload()) == ""


def test_a_part_that_is_left_out_fails_a_test(copy: Copy) -> None:
    """In the copy, the test of the interface fails for a check without its stage, and names the part and the file."""
    path = copy.tree / "truecall_py" / "checks" / "toy.py"
    path.write_text(TOY.replace("STAGE = LOGIC\n", ""))
    argv = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/checks/test_interface.py", "-k", "every_part and toy")
    try:
        out = copy.run(*argv, code=1, folder=copy.tree)
    finally:
        path.write_text(TOY)
    assert "truecall_py/checks/toy.py lacks STAGE: " in out
