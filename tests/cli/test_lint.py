"""`truecall lint`: which files it reads, what it prints, and how it ends."""

from __future__ import annotations

import json
import os
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result
from support.project import ROOT

from truecall_py.cli.commands import lint as command
from truecall_py.cli.commands.lint import escape_github, lint
from truecall_py.contract_files.lint import codes
from truecall_py.core.errors import UsageError
from truecall_py.core.types import Problem

GOOD = "version: 1\ncontracts:\n  - id: a\n    tool: save\n    post: {file_exists: {path: a.txt}}\n"
BAD = GOOD.replace("path: a", "pth: a")
WARNED = GOOD.replace("tool: save", "tool: Write, Edit")


@pytest.fixture
def folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(lint, list(arguments))


def test_good_file(folder: Any) -> None:
    """Without a path it reads the folder's truecall.yaml, prints nothing but a summary, and ends with 0."""
    (folder / "truecall.yaml").write_text(GOOD)
    result = run()
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "1 file checked: 0 errors, 0 warnings\n"


def test_bad_file(folder: Any) -> None:
    """A finding is a line with place, code and sentence, and an indented way out; an error ends with 1."""
    (folder / "truecall.yaml").write_text(BAD)
    result = run("truecall.yaml")
    assert result.exit_code == 1
    assert "truecall.yaml:5:26: TC101 `file_exists` has no key `pth`\n  -> did you mean `path`?\n" in result.stdout
    assert result.stderr == "1 file checked: 1 error, 0 warnings\n`truecall rule CODE` explains a code.\n"
    assert "\x1b" not in result.output


def test_warning(folder: Any) -> None:
    """A warning says that it is one, and ends with 0."""
    (folder / "truecall.yaml").write_text(WARNED)
    result = run()
    assert result.exit_code == 0
    assert result.stdout.startswith("truecall.yaml:4:11: TC317 warning: the comma ")
    assert result.stderr == "1 file checked: 0 errors, 1 warning\n`truecall rule CODE` explains a code.\n"


def test_folder(folder: Any) -> None:
    """A folder means every truecall.yaml below it, but not other people's; near misses are errors."""
    for name in (
        "a/truecall.yaml",
        "b/c/truecall.yaml",
        "node_modules/x/truecall.yaml",
        "b/truecall.yml",
        "other.yaml",
    ):
        os.makedirs(os.path.dirname(folder / name) or ".", exist_ok=True)
        (folder / name).write_text(GOOD)
    result = run(".")
    assert result.exit_code == 1
    assert result.stdout == "b/truecall.yml:1:1: TC301 truecall does not read truecall.yml\n  -> rename it to truecall.yaml\n"
    assert result.stderr == "2 files checked: 1 error, 0 warnings\n`truecall rule CODE` explains a code.\n"


@pytest.mark.parametrize("path", ["truecall.yaml", "nowhere", ".", "/dev/null"])
def test_nothing_to_check(folder: Any, path: str) -> None:
    """A path that is not there, a folder without a contract file and a device are errors of usage, exit 2."""
    result = run(path)
    assert isinstance(result.exception, UsageError)
    assert result.exception.exit_code == 2 and result.exception.do


def test_near_miss_is_named(folder: Any) -> None:
    """Where truecall.yaml is missing and truecall.yml is there, the answer says so."""
    (folder / "truecall.yml").write_text(GOOD)
    result = run()
    assert isinstance(result.exception, UsageError) and result.exception.do == "rename truecall.yml to truecall.yaml"


def test_same_file_twice(folder: Any) -> None:
    """A file named twice is checked once."""
    (folder / "truecall.yaml").write_text(BAD)
    assert run("truecall.yaml", "truecall.yaml").stderr.startswith("1 file checked")


def test_json(folder: Any) -> None:
    """--format json prints a list of findings, an empty one where there are none."""
    (folder / "good.yaml").write_text(GOOD)
    (folder / "truecall.yaml").write_text(BAD)
    assert json.loads(run("--format", "json", "good.yaml").stdout) == []
    found = json.loads(run("--format", "json", "good.yaml", "truecall.yaml").stdout)
    assert found[-1] == {
        "path": "truecall.yaml", "line": 5, "column": 26, "code": "TC101", "severity": "error",
        "message": "`file_exists` has no key `pth`", "hint": "did you mean `path`?",
    }  # fmt: skip


# The part of the SARIF 2.1.0 schema that a minimal log has to meet.
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": {
            "type": "object", "required": ["tool", "results"],
            "properties": {
                "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                "tool": {"required": ["driver"], "properties": {"driver": {
                    "required": ["name", "rules"],
                    "properties": {"rules": {"uniqueItems": True, "items": {
                        "required": ["id", "shortDescription", "help"],
                        "properties": {
                            "help": {"required": ["text"]},
                            "defaultConfiguration": {"properties": {"level": {
                                "enum": ["none", "note", "warning", "error"]}}},
                        }}}}}}},
                "results": {"items": {
                    "required": ["message", "ruleId"],
                    "properties": {
                        "message": {"required": ["text"]},
                        "level": {"enum": ["none", "note", "warning", "error"]},
                        "locations": {"items": {"properties": {"physicalLocation": {"properties": {
                            "artifactLocation": {"properties": {"uri": {"pattern": "^[!-~]+$"}}},
                            "region": {"properties": {"startLine": {"minimum": 1}, "startColumn": {"minimum": 1}}},
                        }}}}},
                    }}},
            }}},
    },
}  # fmt: skip


def test_sarif(folder: Any) -> None:
    """--format sarif prints a log with a rule for every code, each with its help."""
    (folder / "a b%é.yaml").write_text(BAD)
    log = json.loads(run("--format", "sarif", "a b%é.yaml").stdout)
    jsonschema.validate(log, SARIF)
    (one,) = log["runs"]
    assert [rule["id"] for rule in one["tool"]["driver"]["rules"]] == [entry.code for entry in codes.CODES]
    for result in one["results"]:
        assert one["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b%25%C3%A9.yaml"


def test_github(folder: Any) -> None:
    """--format github prints workflow commands that nothing in a file can break."""
    (folder / "a,b:c%.yaml").write_text(GOOD.replace("tool: save", 'tool: save\n    "x\\n::error::": 1'))
    result = run("--format", "github", "a,b:c%.yaml")
    (line,) = result.stdout.splitlines()
    assert line.startswith("::error file=a%2Cb%3Ac%25.yaml,line=5,col=5,title=truecall TC101::a contract has no key ")
    assert "%0A-> " in line and "\\n::error::" in line
    assert escape_github("100%\r\na:b,c") == "100%25%0D%0Aa:b,c"


@pytest.mark.parametrize("no_color", [False, True])
def test_colour(
    folder: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], no_color: bool
) -> None:
    """Colours are for a terminal without NO_COLOR only, and the words stay the same."""
    called: list[bool] = []
    monkeypatch.setattr(command, "print_coloured", lambda found: called.append(True))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1" if no_color else "")
    command.print_text([("a.yaml", Problem(1, 2, "TC101", "wrong", "right"))])
    assert called == ([] if no_color else [True])


def test_coloured_words(capsys: pytest.CaptureFixture[str]) -> None:
    """What rich prints has the words of the plain form; markup in a message stays text."""
    command.print_coloured([("a[b].yaml", Problem(1, 2, "TC101", "no key `[red]`", "did you mean [x]?"))])
    assert capsys.readouterr().out == "a[b].yaml:1:2: TC101 no key `[red]`\n  -> did you mean [x]?\n"


def test_docs_are_generated() -> None:
    """docs/reference/lint-codes.md is exactly what the table of codes says."""
    with open(os.path.join(ROOT, "docs", "reference", "lint-codes.md"), encoding="utf-8") as stream:
        assert stream.read() == codes.build_page()


def test_codes_are_unique_and_in_order() -> None:
    """A code stands for one thing, belongs to one part, and every one says what to do."""
    every = [entry.code for entry in codes.CODES]
    assert every == sorted(set(every))
    assert all(sum(code.startswith(part) for part, _, _ in codes.PARTS) == 1 for code in every)
    assert all(entry.summary.endswith(".") and entry.fix for entry in codes.CODES)
