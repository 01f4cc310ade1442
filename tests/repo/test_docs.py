"""What the documents say is run: contracts in them are linted, commands exist, links lead somewhere. The commands of the
tutorial and the how-to pages are run in test_page_commands.py; style is for test_words.py."""

from __future__ import annotations

import json
import os
import re
import tempfile
from typing import Any

import pytest
import yaml
from support.docs import PAGES, blocks, text
from support.project import ROOT

import truecall_py
from truecall_py.cli import main
from truecall_py.contract_files import loader

ON_THE_INDEX = ["README.md"]  # shown where no relative link leads anywhere


def urls() -> dict[str, str]:
    """[project.urls] of pyproject.toml: the one place that says where the project lives."""
    table = text("pyproject.toml").partition("[project.urls]\n")[2].partition("\n\n")[0]
    return dict(re.findall(r'^(\w+) = "(.*)"$', table, re.M))


def prose(page: str) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^( *)```.*?^\1```$", "", text(page), flags=re.M | re.S)


def targets(page: str) -> list[str]:
    """Where the links of a page lead."""
    return [inline or bare for inline, bare in re.findall(r"\]\(([^)\s]+)\)|<(https?://[^>\s]+)>", prose(page))]


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#{1,6} +(.+?) *$", prose(page), re.M):
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found[name] = found.get(name, -1) + 1
        if found[name]:
            found[f"{name}-{found[name]}"] = 0
    return set(found) | set(re.findall(r'<a (?:id|name)="([^"]+)"', text(page)))


@pytest.mark.parametrize(("page", "body"), [block for block in blocks("yaml") if "version: 1\n" in block[1]])
def test_contracts_in_the_documents_load_without_a_warning(page: str, body: str) -> None:
    """A reader can copy any contract from a page, and it loads."""
    assert loader.find_problems(body.encode(), page) == []


@pytest.mark.parametrize(("page", "body"), blocks("yaml"))
def test_other_yaml_can_be_copied(page: str, body: str) -> None:
    """Settings of other programs are YAML at least."""
    assert isinstance(yaml.safe_load(body), dict)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    """A relative link names a file of the repository and an anchor in it; so does an absolute one into the project."""
    source = urls()["Source"]
    for target in targets(page):
        path, _, anchor = target.partition("#")
        if "://" in path:
            raw = source.replace("://github.com/", "://raw.githubusercontent.com/")
            inside = re.fullmatch(rf"{re.escape(source)}(?:/(?:blob|tree)/main/(.+))?|{re.escape(raw)}/main/(.+)", path)
            if not inside:
                assert source not in path or path in urls().values() or path == f"{source}/security/advisories/new", target
                continue
            file = inside[1] or inside[2] or ""
        else:
            assert page not in ON_THE_INDEX, f"{page}: {target} leads nowhere on the package index"
            file = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        assert os.path.exists(os.path.join(ROOT, file)), f"{page}: {target}"
        assert not anchor or anchor in anchors(file), f"{page}: {target}"


def test_no_link_names_another_place_for_the_project() -> None:
    """A project that moves is one change in pyproject.toml and one replacement in the pages."""
    owner = urls()["Source"].removeprefix("https://github.com/")
    for page in PAGES:
        for found in re.findall(r"https://(?:github\.com|raw\.githubusercontent\.com)/([\w.-]+/truecall[\w.-]*)", text(page)):
            assert found == owner, f"{page}: {found}"


def test_the_package_names_its_pages() -> None:
    """The package index shows where documentation, source, changes and issues are, and where to report a weakness."""
    assert {"Homepage", "Documentation", "Source", "Changelog", "Issues", "Security"} <= set(urls())
    assert urls()["Changelog"].startswith(urls()["Source"] + "/blob/main/")


def test_the_readme_is_short() -> None:
    """A README is read to its end."""
    assert len(text("README.md").splitlines()) < 200


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_are_named_exist(page: str) -> None:
    """Every `truecall NAME` in a code block or in backticks is a command."""
    code = re.findall(r'```(?:sh|console|yaml)?(?: title="[^"]*")?\n(.*?)```', text(page), re.S)
    code += re.findall(r"`([^`]+)`", prose(page))
    for name in re.findall(r"^\s*(?:\$ |- run: )?truecall ([a-z]+)", "\n".join(code), re.M):
        assert name in main.COMMANDS, f"{page}: truecall {name}"


def test_the_readme_shows_the_correction_as_it_is() -> None:
    """The correction on the first screen is the one that the program writes today."""
    from truecall_py.cli.commands.demo import ARGS, CONTRACTS, build_payload

    shown = next(body for page, body in blocks("text") if page == "README.md" and "NOT DONE" in body)
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        with open(os.path.join(folder, "truecall.yaml"), "w") as file:
            file.write(CONTRACTS)
        call = build_payload(folder, f"Saved note '{ARGS['name']}' (25 characters).", 1)
        judgement = truecall_py.judge(call, os.path.join(folder, "truecall.yaml"))
    assert judgement.correction is not None
    assert judgement.correction.text.replace(folder, "/home/you/app") == shown.rstrip("\n")


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_what_is_shown_to_paste_is_what_install_writes(client: str) -> None:
    """The registrations in the how-to are for every event, and wait as long."""
    with open(os.path.join(ROOT, "install", f"{client}.json"), encoding="utf-8") as file:
        written = json.load(file)["hooks"]
    page = "docs/how-to/register-a-client.md"
    hooks = [json.loads(body)["hooks"] for found, body in blocks("json") if found == page]
    shown = next(each for each in hooks if client in str(each))
    assert {name: entry(each) for name, each in shown.items()} == {name: entry(each) for name, each in written.items()}


def entry(groups: list[dict[str, Any]]) -> tuple[Any, ...]:
    (hook,) = groups[0]["hooks"]
    return hook["type"], hook["command"].partition(" --state")[0], hook["timeout"]


def test_files_that_a_contributor_is_sent_to_exist() -> None:
    """Every path in backticks in CONTRIBUTING.md is there; in `<...>` stands what a contributor names."""
    for path in re.findall(r"`([\w.-]+(?:/[\w.*<>-]+)+/?)`", text("CONTRIBUTING.md")):
        head = path.partition("<")[0].rstrip("*")
        head = head if head == path else os.path.dirname(head)
        assert os.path.exists(os.path.join(ROOT, head)), path
