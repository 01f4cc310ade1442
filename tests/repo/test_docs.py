"""What the documents say is run: contracts in them are linted, commands exist, links lead somewhere."""

import json
import os
import re
from typing import Any

import pytest

from truecall_py.cli import main
from truecall_py.codegen.generate import ROOT
from truecall_py.contract_files import loader

DOCS = sorted(
    os.path.relpath(os.path.join(folder, name), ROOT)
    for folder, _, names in os.walk(os.path.join(ROOT, "docs"))
    for name in names
    if name.endswith(".md")
)
PAGES = ["README.md", *DOCS]


def text(page: str) -> str:
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return file.read()


def blocks(language: str) -> list[tuple[str, str]]:
    return [(page, body) for page in PAGES for body in re.findall(rf"```{language}\n(.*?)```", text(page), re.S)]


@pytest.mark.parametrize(("page", "body"), blocks("yaml"))
def test_contracts_in_the_documents_load_without_a_warning(page: str, body: str) -> None:
    """A reader can copy any contract from a page, and it loads."""
    assert loader.problems(body.encode(), page) == []


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    """Every relative link names a file that is there."""
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text(page)):
        assert os.path.exists(os.path.join(ROOT, os.path.dirname(page), target)), f"{page}: {target}"


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_are_named_exist(page: str) -> None:
    """Every `truecall NAME` in a code block or in backticks is a command."""
    code = "\n".join(re.findall(r"```(?:sh)?\n(.*?)```", text(page), re.S) + re.findall(r"`([^`]+)`", text(page)))
    for name in re.findall(r"^\s*truecall ([a-z]+)", code, re.M):
        assert name in main.COMMANDS, f"{page}: truecall {name}"


def test_the_readme_shows_the_correction_as_it_is() -> None:
    """The correction on the first screen is the one that the program writes today."""
    from truecall_py.cli.commands.demo import ARGS, CONTRACTS, payload

    shown = next(body for page, body in blocks("text") if "NOT DONE" in body)
    import tempfile

    import truecall_py

    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        with open(os.path.join(folder, "truecall.yaml"), "w") as file:
            file.write(CONTRACTS)
        call = payload(folder, f"Saved note '{ARGS['name']}' (25 characters).", 1)
        judgement = truecall_py.judge(call, os.path.join(folder, "truecall.yaml"))
    assert judgement.correction is not None
    assert judgement.correction.text.replace(folder, "/home/you/app") == shown.rstrip("\n")


@pytest.mark.parametrize("harness", ["claude-code", "codex"])
def test_what_is_shown_to_paste_is_what_install_writes(harness: str) -> None:
    """The registrations in the README are for every event, and wait as long."""
    with open(os.path.join(ROOT, "install", f"{harness}.json"), encoding="utf-8") as file:
        written = json.load(file)["hooks"]
    shown = next(made["hooks"] for made in (json.loads(body) for _, body in blocks("json")) if harness in str(made))
    assert {name: entry(each) for name, each in shown.items()} == {name: entry(each) for name, each in written.items()}


def entry(groups: list[dict[str, Any]]) -> tuple[Any, ...]:
    (hook,) = groups[0]["hooks"]
    return hook["type"], hook["command"].partition(" --state")[0], hook["timeout"]
