"""The lint codes: each has a name, a reason, and an example whose wrong form gives the code and whose right form does
not; `truecall rule` prints them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest
from click.testing import CliRunner

from truecall_py.cli.commands.lint import lint
from truecall_py.cli.commands.rule import describe_code, rule
from truecall_py.contract_files.lint import codes
from truecall_py.contract_files.lint.codes import CODES, Code, explain
from truecall_py.core import paths
from truecall_py.core.errors import UsageError
from truecall_py.trust.pin import compile_file

BY_TRUST = ("TC302", "TC303")  # `truecall trust` reports them, and not `lint`
IDS = [entry.code for entry in CODES]


def find_codes(entry: Code, example: tuple[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Build an example in a folder, and return the codes that truecall reports of it."""
    language, text = example
    folder.mkdir()
    packs = folder.parent / f"packs-{folder.name}"
    packs.mkdir()
    (packs / "files.yaml").write_bytes(Path(paths.find_packs_folder(), "files.yaml").read_bytes())
    (packs / "git.yaml").write_bytes(Path(paths.find_packs_folder(), "git.yaml").read_bytes())
    state = folder.parent / "state"
    script = f'truecall() {{ {sys.executable} -m truecall_py "$@" --state {state}; }}\n'
    if language == "yaml":
        whole = f"version: 1\ncontracts:\n{indent(text, '  ')}" if text.startswith("- ") else text
        (folder / "truecall.yaml").write_text(whole)
    else:
        assert language == "sh"
        script += text
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "PACKS": str(packs), "PYTHONPATH": os.path.dirname(paths.PACKAGE)}
    done = subprocess.run(["sh"], input=script, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if entry.code in BY_TRUST:
        reported = set(re.findall(r"TC\d{3}", done.stdout + done.stderr))
        path = folder / "truecall.yaml"
        return reported | ({warning.code for warning in compile_file(str(path)).warnings} if path.exists() else set())
    monkeypatch.setattr(paths, "find_packs_folder", lambda: str(packs))
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(lint, ["--format", "json", "."])
    return {found["code"] for found in json.loads(result.stdout)}


@pytest.mark.parametrize("entry", CODES, ids=IDS)
def test_the_example_gives_the_code_and_its_fix_does_not(entry: Code, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrong example gives exactly its code, and the right one gives no code at all."""
    explained = explain(entry.code)
    assert find_codes(entry, explained.wrong, tmp_path / "wrong", monkeypatch) == {entry.code}
    monkeypatch.undo()
    assert find_codes(entry, explained.right, tmp_path / "right", monkeypatch) == set()


@pytest.mark.parametrize("entry", CODES, ids=IDS)
def test_a_code_says_everything(entry: Code) -> None:
    """A code has a unique short name, whole sentences, and an explanation that `truecall rule` prints in four parts."""
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.name) and [each.name for each in CODES].count(entry.name) == 1
    for sentence in (entry.summary, entry.fix, explain(entry.code).why):
        assert sentence[-1] in ".}]" and sentence[0].isupper() or sentence.startswith(("truecall", "`", "jsonschema")), sentence
    text = describe_code(entry)
    heads = [line for line in text.split("\n") if line in ("What it finds", "Why", "Example", "Instead")]
    assert heads == ["What it finds", "Why", "Example", "Instead"]
    assert text.startswith(f"{entry.code} {entry.name} ({entry.severity})\n")


def test_the_explanations_belong_to_codes() -> None:
    """codes.md explains the codes of the table, in its order, and nothing else."""
    with open(os.path.join(os.path.dirname(codes.__file__), "codes.md"), encoding="utf-8") as file:
        heads = re.findall(r"^# (TC\d{3}) (\S+)$", file.read(), re.MULTILINE)
    assert heads == [(entry.code, entry.name) for entry in CODES]


def test_rule_takes_a_code_or_a_name() -> None:
    """`truecall rule` takes a code in any case, or its name; --all prints every code."""
    by_code, by_name = (CliRunner().invoke(rule, [text]).stdout for text in ("tc101", "unknown-key"))
    assert by_code == by_name and by_code.startswith("TC101 unknown-key (error)\n")
    everything = CliRunner().invoke(rule, ["--all"]).stdout
    assert all(f"{entry.code} {entry.name} (" in everything for entry in CODES)


@pytest.mark.parametrize(("argv", "words"), [
    (["TC999"], "TC319"), (["unknown-kye"], "TC101 unknown-key"), (["zzzz"], "--all"), ([], "truecall rule TC101"),
    (["TC101", "--all"], "truecall rule TC101"),
])  # fmt: skip
def test_an_unknown_code_has_near_matches(argv: list[str], words: str) -> None:
    """An unknown code, no code, and a code beside --all are errors of usage; near matches are named."""
    error = CliRunner().invoke(rule, argv).exception
    assert isinstance(error, UsageError) and error.exit_code == 2 and words in error.do
