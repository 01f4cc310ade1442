"""The installed wheel: its demo, its commands, its hook, and its types."""

from __future__ import annotations

import json
import sys

import pytest
from support.environment import run

CONTRACTS = """\
version: 1
use: [files]
contracts:
  - id: note-saved
    tool: mcp__notes__save_note
    post: {file_exists: {path: "{{project}}/notes/{{args.title}}.md"}}
"""
PROGRAM = """\
from truecall_py import __version__, judge

payload = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "make"}}
judgement = judge(payload, "truecall.yaml", deadline=5.0)
for verdict in judgement.verdicts:
    words: str = f"{verdict.contract}: {verdict.state}"
    print(words, [outcome.found for outcome in verdict.outcomes])
if judgement.correction is not None:
    text: str = judgement.correction.text
    print(__version__, text)
"""


def test_the_demo_runs(user):
    """`truecall demo` shows the false success, the correction and the second try."""
    assert "NOT DONE" in user.truecall("demo")


@pytest.mark.parametrize("way", ["launcher", "command"])
def test_it_refutes_a_false_success_and_lets_a_true_one_through(user, project, way):
    """`verify` and the hook refute a note that was not saved, and the hook is silent once it is."""
    payload = json.dumps(project.mcp())
    user.write("truecall.yaml", CONTRACTS)
    user.write("payload.json", payload)
    verified = user.run("truecall", "verify", "payload.json")
    assert verified.returncode == 1 and "REFUTED note-saved" in verified.stdout, verified
    user.truecall("trust", "--yes")
    hook = ["sh", f"{user.environment.package}/hooks/run.sh", "claude-code", "PostToolUse"]
    if way == "command":
        hook = ["truecall", "hook", "--harness", "claude-code"]
    answer = user.run(*hook, stdin=payload)
    assert answer.returncode == 0 and json.loads(answer.stdout)["decision"] == "block", answer
    user.write("notes/a.md", "hello")
    silent = user.run(*hook, stdin=payload)
    assert (silent.returncode, silent.stdout) == (0, ""), silent


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [("", "", 0), ("deadline=5.0", 'deadline="5"', 1), ("judgement.correction.text", "judgement.correction.words", 1)],
)
def test_a_program_that_uses_it_is_type_checked(environment, tmp_path, old, new, code):
    """Strict mypy accepts a program that uses the library, and finds a wrong argument and a wrong attribute."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace(old, new) if old else PROGRAM)
    argv = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}/cache"]
    argv += [f"--python-executable={environment.python}", str(program)]
    if not code:
        run(*argv, cwd=tmp_path)
        return
    with pytest.raises(AssertionError, match="arg-type|attr-defined"):
        run(*argv, cwd=tmp_path)
