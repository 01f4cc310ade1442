"""The person's commands, each as a real process: what they print, what they end with, and their help."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from support.project import DATA

from truecall_py.cli.main import COMMANDS

GOLDEN = os.path.join(DATA, "golden")
CONTRACTS = """\
version: 1
contracts:
  - id: note-saved
    tool: mcp__notes__save_note
    post: {file_exists: {path: "{{project}}/notes/{{args.title}}.md", contains: "{{args.body}}"}}
  - id: never-here
    kind: shell
    when: {args.command: {runs: "make *"}}
    post: {result: {of: exit_code, equals: 0}}
"""


def golden(name: str, text: str) -> None:
    """`text` is what the golden file holds; TRUECALL_GOLDEN=write makes it so."""
    path = os.path.join(GOLDEN, name)
    if os.environ.get("TRUECALL_GOLDEN") == "write":
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    with open(path, encoding="utf-8") as file:
        assert text == file.read(), f"{name}: look at the difference, then run with TRUECALL_GOLDEN=write"


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_is_what_it_was_looked_at(project: Any, name: str) -> None:
    """Every command explains itself on one screen of 80 columns, and the text changes only on purpose."""
    done = project.command(*([name] if name else []), "--help", env={"COLUMNS": "80"})
    assert done.returncode == 0 and not done.stderr, done
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    golden(f"help-{name or 'truecall'}.txt", done.stdout)


@pytest.fixture
def captured(project: Any) -> Any:
    project.write("truecall.yaml", CONTRACTS)
    project.write("lie.json", json.dumps(project.mcp()))
    project.write("other.json", json.dumps(project.mcp(tool="mcp__notes__other")))
    project.write("start.json", json.dumps({"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/"}))
    project.write("broken.json", "{")
    return project


def test_verify_ends_with_what_it_found(captured: Any) -> None:
    """0 verified or none applied, 1 refuted, 2 usage, 3 could not verify; --require-match makes silence 3."""
    run = captured.command
    assert run("verify", "lie.json").returncode == 1
    assert run("verify", "other.json").returncode == 0
    assert "no contract applies" in run("verify", "other.json").stdout
    assert run("verify", "--require-match", "other.json").returncode == 3
    assert run("verify", "start.json").returncode == 0
    assert run("verify", "broken.json").returncode == 3
    assert run("verify", "lie.json", "broken.json", "other.json").returncode == 1
    assert run("verify", "nothing.json").returncode == 2
    assert run("verify").returncode == 2
    assert run("verify", "--contracts", "none.yaml", "lie.json").returncode == 2
    captured.write("notes/a.md", "hello")
    assert run("verify", "--require-match", "lie.json").returncode == 0
    assert run("verify", "-", stdin=None, input=json.dumps(captured.mcp())).returncode == 0


def test_verify_shows_the_check_and_the_exact_correction(captured: Any) -> None:
    """The text form has contract, verdict, expected, found, and the words that the agent would read."""
    done = captured.command("verify", "lie.json", env={"COLUMNS": "80"})
    text = done.stdout.replace(captured.root, "PROJECT")
    for words in ("REFUTED", "note-saved", "lie", "expected", "found", "NOT DONE", "instead of the tool's output"):
        assert words in text, text
    assert "\x1b[" not in done.stdout
    assert [line for line in done.stdout.splitlines() if line != line.rstrip()] == []  # no blanks that fill up a column


def test_verify_as_json_and_as_junit(captured: Any) -> None:
    """Both forms hold every contract with its verdict, and the exit code is the same."""
    done = captured.command("verify", "--format", "json", "lie.json", "other.json", "broken.json")
    lie, other, broken = json.loads(done.stdout)
    assert (done.returncode, lie["verdict"], other["verdict"], broken["verdict"]) == (1, "refuted", None, "unverified")
    assert lie["contracts"][0]["checks"][0]["check"] == "file_exists" and lie["correction"].startswith("NOT DONE")
    done = captured.command("verify", "--format", "junit", "lie.json", "other.json", "broken.json")
    suite = ElementTree.fromstring(done.stdout)
    assert done.returncode == 1
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["3", "1", "1", "1"]


def test_verify_judges_a_folder_and_needs_a_contract_file(captured: Any, tmp_path: Any) -> None:
    """A folder is every *.json below it; without any contract file the command says so and ends with 2."""
    done = captured.command("verify", ".")
    assert "4 payloads" in done.stdout and done.returncode == 1
    empty = tmp_path / "elsewhere"
    empty.mkdir()
    done = captured.command("verify", os.path.join(captured.root, "lie.json"), cwd=empty)
    assert done.returncode == 2 and "no truecall.yaml" in done.stderr and "->" in done.stderr


def test_explain_says_how_a_call_was_understood_and_why_contracts_do_not_apply(captured: Any) -> None:
    """Facts of the call, then for every contract whether and why."""
    done = captured.command("explain", "lie.json")
    assert done.returncode == 0
    assert "reported   success" in done.stdout and "mcp__notes__save_note" in done.stdout
    assert "note-saved: applies" in done.stdout and "never-here: does not apply: it is about kind shell" in done.stdout
    captured.write("cat.json", json.dumps(captured.bash("cat Makefile")))
    done = captured.command("explain", "cat.json")
    assert "never-here: does not apply: when: args.command" in done.stdout and "exit_code  0" in done.stdout
    captured.write("truecall.yaml", "version: 1\ncontracts:\n  - id: green\n    event: stop\n"
                   "    post: {command: {run: [make, test]}}\n")  # fmt: skip
    assert "green: is judged when the agent wants to stop" in captured.command("explain", "cat.json").stdout


def test_explain_takes_the_client_under_both_names(captured: Any) -> None:
    """`--client` is an alias of `--harness`."""
    outputs = [captured.command("explain", option, "claude-code", "lie.json") for option in ("--harness", "--client")]
    assert [done.returncode for done in outputs] == [0, 0]
    assert outputs[0].stdout == outputs[1].stdout


@pytest.mark.parametrize("argv", [("lint",), ("test",), ("trust",), ("verify", "lie.json"), ("explain", "lie.json")])
def test_a_folder_without_a_contract_file_is_told_how_to_begin(captured: Any, argv: tuple[str, ...]) -> None:
    """The first thing that a newcomer meets: every command that needs a contract file names `truecall init`."""
    os.unlink(os.path.join(captured.root, "truecall.yaml"))
    done = captured.command(*argv)
    assert done.returncode == 2 and "  -> " in done.stderr and "truecall init" in done.stderr


ERRORS = ("UsageError", "TrustError", "LedgerError")


def test_every_error_comes_with_a_way_out() -> None:
    """None is raised without `do`. Those of a small world are shown as what became of an example."""
    import ast
    import pathlib

    import truecall_py

    bare = []
    for path in pathlib.Path(truecall_py.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS):
                continue
            if len(node.args) < 3 and "do" not in [each.arg for each in node.keywords]:
                bare.append(f"{path.name}:{node.lineno}")
    assert [each for each in bare if not each.startswith("sandbox.py")] == []


def test_errors_say_what_where_and_what_to_do(captured: Any) -> None:
    """A wrong command, a misspelt one and a broken contract file end in a sentence, never in a traceback."""
    done = captured.command("verifi", "lie.json")
    assert done.returncode == 2 and "verify" in done.stderr
    captured.write("truecall.yaml", "version: 1\ncontracts:\n  - id: a\n    tol: x\n    post: {}\n")
    done = captured.command("verify", "lie.json")
    assert done.returncode == 2 and ":4:5: TC101" in done.stderr and "tool" in done.stderr
    for argv in (("verify", "lie.json"), ("trust", "--yes"), ("explain", "lie.json")):
        assert "Traceback" not in captured.command(*argv).stderr


def test_a_bug_ends_in_a_report_without_values(captured: Any) -> None:
    """An exception nobody expected: exit code 3, a report of 0600 that holds places in the code and no data."""
    code = (
        "import sys; from truecall_py.cli import main as cli; from truecall_py.cli.commands import verify\n"
        "def burst(*a, **k): raise ZeroDivisionError('hello secret')\n"
        "verify.judge = burst\nsys.exit(cli.run(['verify', 'lie.json']))"
    )
    import subprocess
    import sys

    from support.project import ROOT

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=captured.root,
                          env={**captured.env, "PYTHONPATH": ROOT})  # fmt: skip
    assert done.returncode == 3 and "bug" in done.stderr and "secret" not in done.stderr
    path = done.stderr.strip().rsplit(" ", 1)[-1]
    assert os.stat(path).st_mode & 0o777 == 0o600
    with open(path) as file:
        report = file.read()
    assert "ZeroDivisionError" in report and "verify.py" in report and "secret" not in report


def test_demo_shows_the_lie_the_correction_and_the_second_try(project: Any) -> None:
    """The demo runs anywhere, leaves nothing behind, and what it shows really happened."""
    done = project.command("demo", env={"TMPDIR": project.folder("tmp"), "COLUMNS": "80"})
    assert done.returncode == 0, done
    for words in ("without truecall", "does not exist", "NOT DONE", "says nothing", "Ship version 2"):
        assert words in done.stdout
    assert os.listdir(project.folder("tmp")) == []


def test_output_that_nobody_reads_is_no_traceback(captured: Any) -> None:
    """`truecall verify ... | head -0` ends quietly."""
    import subprocess
    import sys

    from support.project import ROOT

    line = f"{sys.executable} -m truecall_py verify --format json lie.json lie.json | head -c 0; echo done"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=captured.root,
                          env={**captured.env, "PYTHONPATH": ROOT})  # fmt: skip
    assert done.stdout == "done\n" and "Traceback" not in done.stderr


@pytest.mark.parametrize("argv", ["verify lie.json", "export", "report -o -", "log", "stats", "reconcile"])
def test_output_that_cannot_be_written_is_no_bug(captured: Any, argv: str) -> None:
    """A full disk is said to be that; an output that was closed is wanted by nobody. Neither is a bug of truecall's."""
    import subprocess
    import sys

    from support.project import ROOT

    captured.trust()
    captured.hook(captured.mcp())
    env = {**captured.env, "PYTHONPATH": ROOT}
    for where, codes in ((">&-", (0, 1)), *([(">/dev/full", (2,))] if os.path.exists("/dev/full") else ())):
        line = f"exec {sys.executable} -m truecall_py {argv} {where}"
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=captured.root, env=env)
        assert done.returncode in codes and "bug" not in done.stderr, (where, done)
        assert ("No space left" in done.stderr) == (where != ">&-"), done
    assert not os.path.exists(os.path.join(captured.state, "reports"))


def test_judge_is_public_and_needs_no_trust(captured: Any) -> None:
    """`truecall_py.judge` takes an object, text or bytes, and a path or the parsed content of a contract file."""
    import truecall_py
    import truecall_py.api

    payload = captured.mcp()
    for form in (payload, json.dumps(payload), json.dumps(payload).encode()):
        found = truecall_py.judge(form, captured.contract)
        assert [verdict.state for verdict in found.verdicts] == ["refuted"] and found.applied == ("note-saved",)
        assert found.correction is not None and found.correction.replace
    parsed = {"version": 1, "contracts": [{"id": "a", "kind": "mcp", "post": {"result": {"of": "text", "contains": "saved"}}}]}
    assert truecall_py.judge(payload, parsed).verdicts[0].state == "verified"
    assert truecall_py.judge({"hook_event_name": "Stop"}, parsed).call is None
    for unseen in ("\u200b", "\x7f", "\u2028", "\ufeff", "\uffff", "\\u200b", "\U0001f600"):  # each is that very text
        parsed["contracts"][0]["post"] = {"result": {"of": "text", "contains": f"a{unseen}b"}}
        said = {**payload, "tool_response": [{"type": "text", "text": f"a{unseen}b"}]}
        assert truecall_py.judge(said, parsed).verdicts[0].state == "verified", ascii(unseen)
        said["tool_response"][0]["text"] = "ab"
        assert truecall_py.judge(said, parsed).verdicts[0].state == "refuted", ascii(unseen)
    parsed["contracts"][0]["post"] = {"result": {"of": "text", "contains": "\ud800"}}
    with pytest.raises(truecall_py.core.errors.ContractError):
        truecall_py.judge(payload, parsed)
    parsed["contracts"][0]["post"] = {"result": {"of": "text", "contains": "saved"}}
    for wrong in ({}, b"", "[]", {"a": 1}):
        with pytest.raises(truecall_py.api.PayloadError):
            truecall_py.judge(wrong, parsed)
