"""`truecall init`, as a real process: a contract file that fits the project, trusted and registered, in one go."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from typing import Any

import pytest
from support.project import ROOT
from support.settings import EVENTS, USER, home, read, run, tree

from truecall_py.contract_files import loader
from truecall_py.setup import project_kind


def fresh(person: Any, *harnesses: str) -> Any:
    """The person's machine with these clients' folders and no client's program."""
    person.env["PATH"] = "/usr/bin:/bin"
    for name in harnesses:
        person.folder("home", USER[name].split("/")[0])
    return person


def test_from_nothing_to_a_hook_that_is_asked(person: Any) -> None:
    """The file is written, trusted and registered with what is here; lint and doctor find nothing wrong, and a
    second run changes nothing."""
    fresh(person, "claude-code", "codex").write("pyproject.toml", "")
    out = run(person, "init", "--yes")
    assert "project: Python" in out and "clients: claude-code, codex" in out
    assert out.splitlines()[-1] == "Now try it: truecall doctor"
    text = read(person.contract).decode()
    assert text.startswith("# yaml-language-server: $schema=truecall.schema.json\n")
    assert json.loads(read(os.path.join(person.root, "truecall.schema.json")))["$schema"]
    assert "use: [files, shell, gates, mcp, self, python]" in text and "mode" not in text
    assert run(person, "lint").startswith("1 file checked: 0 errors, 0 warnings")
    assert set(json.loads(read(home(person, USER["claude-code"])))["hooks"]) == EVENTS["claude-code"]
    assert "0 errors, 0 warnings" in run(person, "doctor")
    before = tree(person.base)
    again = run(person, "init", "--yes")
    assert "stays as it is" in again and "trusted already" in again and "registered already" in again
    assert tree(person.base) == before


@pytest.mark.parametrize("kind", list(project_kind.EXAMPLES))
def test_the_example_is_right_when_its_marks_are_taken_away(kind: str) -> None:
    """As it is written, and with the example in force, no file has an error or a warning."""
    text = project_kind.build_contract_file([kind] if kind else [], observe=True)
    assert loader.find_problems(text.encode(), "truecall.yaml") == []
    head, mark, example = text.partition("# contracts:\n")
    assert mark
    whole = head + "contracts:\n" + "".join(f"{line.removeprefix('# ')}\n" for line in example.splitlines())
    assert loader.find_problems(whole.encode(), "truecall.yaml") == []
    assert len(loader.load(whole.encode(), "truecall.yaml").contracts) == 1 + len(
        loader.load(text.encode(), "truecall.yaml").contracts
    )


@pytest.mark.parametrize("name, kind, words", [
    ("compose.yaml", "Docker", "docker compose up"), ("package.json", "Node", "npm run build"),
    ("Cargo.toml", "Rust", "cargo build"), ("go.mod", "Go", "go get"), (".git/HEAD", "git", "make release"),
    ("README", "of no kind that is known", "save_note"),
])  # fmt: skip
def test_the_example_fits_the_project(person: Any, name: str, kind: str, words: str) -> None:
    """By the names of files that are there."""
    fresh(person, "qwen-code").write(name, "")
    assert f"project: {kind}\n" in run(person, "init", "--yes")
    assert words in read(person.contract).decode()


def test_observe(person: Any) -> None:
    """Every contract of the new file tells the person alone."""
    out = run(fresh(person, "qwen-code"), "init", "--observe", "--yes")
    assert "\nmode: observe" in read(person.contract).decode() and "(observe only)" in out


def test_a_contract_file_that_is_there_stays(person: Any) -> None:
    """It is not overwritten, no schema is put beside it, and it is trusted as it is; one with errors is not."""
    own = "version: 1\nuse: [files]\n"
    fresh(person, "qwen-code").write(person.contract, own)
    out = run(person, "init", "--yes", "--observe")
    assert "stays as it is" in out and "note: --observe" in out and read(person.contract).decode() == own
    assert sorted(os.listdir(person.root)) == ["truecall.yaml"]
    person.write(person.contract, "version: 1\nuse: nothing\n")
    assert "truecall.yaml:2:" in run(person, "init", "--yes", code=2)


def test_named_clients_alone(person: Any) -> None:
    """--harness counts, not what is found; a name that is not known is wrong usage."""
    fresh(person, "claude-code")
    run(person, "init", "--yes", "--harness", "gemini-cli", "--harness", "qwen-code")
    assert os.path.exists(home(person, USER["gemini-cli"])) and os.path.exists(home(person, USER["qwen-code"]))
    assert not os.path.exists(home(person, USER["claude-code"]))
    run(person, "init", "--yes", "--harness", "cursor", code=2)


def test_a_program_on_the_path_is_a_client(person: Any) -> None:
    """A client that was never started has no folder yet."""
    fresh(person)
    person.write("../bin/codex", "#!/bin/sh\n", 0o755)
    person.env["PATH"] += f":{person.base}/bin"
    assert "clients: codex\n" in run(person, "init", "--yes")


def test_no_client(person: Any) -> None:
    """Exit code 1, and how to go on."""
    assert "truecall install NAME" in run(fresh(person), "init", "--yes", code=1)


def test_settings_that_cannot_be_changed_stop_only_their_client(person: Any) -> None:
    """The others are registered; the exit code is that of the error."""
    fresh(person).write(home(person, USER["claude-code"]), "{ // mine\n}\n")
    person.folder("home", ".qwen")
    out = run(person, "init", "--yes", code=2)
    assert "claude-code: not registered" in out and "qwen-code: registered" in out


@pytest.mark.parametrize("more", [{}, {"env": {"CLAUDECODE": "1"}}])
def test_nothing_happens_without_a_person(person: Any, more: dict[str, Any]) -> None:
    """No terminal without --yes, or an agent's shell: wrong usage, and not a byte is written."""
    before = tree(fresh(person, "claude-code").base)
    out = run(person, "init", *(["--yes"] if more else []), code=2, **more)
    assert ("agent's shell" if more else "not a terminal") in out
    assert tree(person.base) == before
    if more:
        run(person, "init", "--yes", "--person", **more)


@pytest.mark.parametrize("answers, code, trusted, installed", [
    ("y\ny\n", 0, True, True), ("n\n", 1, False, False), ("y\nn\n", 1, True, False),
])  # fmt: skip
def test_it_asks_in_a_terminal(person: Any, answers: str, code: int, trusted: bool, installed: bool) -> None:
    """Trust first, then every client; a no to the first ends it, with the file written and nothing registered."""
    fresh(person, "qwen-code")
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-m", "truecall_py", "init"], cwd=person.root, stdin=theirs,
                               stdout=theirs, stderr=theirs, env={**person.env, "PYTHONPATH": ROOT})  # fmt: skip
    os.close(theirs)
    os.write(ours, answers.encode())
    out = b""
    try:
        while piece := os.read(ours, 4096):
            out += piece
    except OSError:
        pass  # Linux: the other end was closed
    os.close(ours)
    assert process.wait(timeout=30) == code, out
    assert (b"Enforce these contracts?" in out) and (b"Register with Qwen Code" in out) == trusted
    assert os.path.exists(person.contract) and os.path.exists(person.state) == trusted
    assert os.path.exists(home(person, USER["qwen-code"])) == installed
