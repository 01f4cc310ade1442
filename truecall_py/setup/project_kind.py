"""What a project begins with: its kind, the clients that are here, and the contract file that fits. Looks at names
of files alone, and writes nothing."""

from __future__ import annotations

import os
import shutil

from truecall_py.clients import NAMES, load_registration
from truecall_py.clients.settings_files import USER, find_repository, place

SCHEMA = "truecall.schema.json"
PACKS = ("files", "shell", "gates", "mcp", "self")
# Packs for a kind of project.
FITTING = {"git": "git", "Python": "python", "Node": "node"}
KINDS = {
    "Docker": ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml", "Dockerfile"),
    "Python": ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "tox.ini"),
    "Node": ("package.json",),
    "Rust": ("Cargo.toml",),
    "Go": ("go.mod",),
    "make": ("Makefile", "GNUmakefile"),
}
GIT = "git"
# One example for each kind, the first that fits is taken.
EXAMPLES = {
    "Docker": ("a service that was started answers", """\
  - id: service-is-up
    kind: shell
    when: {args.command: {runs: "docker compose up -d *"}}
    post: {http_status: {url: "http://localhost:8080/health", status: 200}}
    within: 10s
"""),
    "Python": ("a report that tests wrote counts, if it is of this run", """\
  - id: tests-counted
    kind: shell
    when: {args.command: {runs: "pytest * &&"}}
    post: {tests: {report: "{{project}}/report.xml", collected: 1}}
    remedy: run the tests with --junitxml=report.xml
"""),
    "Node": ("a build leaves something behind", """\
  - id: bundle-built
    kind: shell
    when: {args.command: {runs: "npm run build &&"}}
    post: {files: {glob: "{{project}}/dist/*.js", newer_than: call}}
"""),
    "Rust": ("a build leaves something behind", """\
  - id: build-made
    kind: shell
    when: {args.command: {runs: "cargo build *"}}
    vacuous: ok
    post: {file_exists: {path: "{{project}}/target", type: dir}}
"""),
    "Go": ("what was downloaded is written down", """\
  - id: sums-written
    kind: shell
    when: {args.command: {runs: "go get *"}}
    vacuous: ok
    post: {file_exists: {path: "{{project}}/go.sum", min_size: 1}}
"""),
    GIT: ("a release leaves a clean tree, and the remote has the commit", """\
  - id: released
    kind: shell
    when: {args.command: {runs: "make release &&"}}
    post: {git: {clean: tracked, pushed: true}}
    timeout: 10s
"""),
    "": ("a note that was saved is there", """\
  - id: note-saved
    tool: "*notes*save_note"
    post: {file_exists: {path: "{{project}}/notes/{{args.name}}.md", contains: "{{args.text}}"}}
    repeat: safe
"""),
}  # fmt: skip


def detect_kinds(folder: str) -> list[str]:
    """What kind of project a folder is, git last."""
    found = []
    for kind, names in KINDS.items():
        if any(os.path.lexists(os.path.join(folder, name)) for name in names):
            found.append(kind)
    return found + [GIT] * bool(find_repository(folder))


def detect_clients(folder: str) -> dict[str, str]:
    """The clients that are here, and by what they are known."""
    found = {}
    for name in sorted(NAMES):
        about = load_registration(name)
        own = place(about, USER, folder).removesuffix(about.user).rstrip("/")
        path = shutil.which(about.executable)
        mark = next((mark for mark in about.marks if os.path.lexists(os.path.join(folder, mark))), "")
        why = path or (own if os.path.isdir(own) else "") or mark
        if why:
            found[name] = why
    return found


def build_contract_file(found: list[str], observe: bool) -> str:
    """The text of the contract file for a project of these kinds."""
    kind = next((name for name in EXAMPLES if name in found), "")
    about, example = EXAMPLES[kind]
    lines = [
        f"# yaml-language-server: $schema={SCHEMA}",
        "# What must be true after an agent's tool calls here. After a change: truecall lint, then truecall trust",
        "version: 1",
    ]
    if observe:
        lines.append("mode: observe  # the person is told, the agent is not; without this line it is corrected")
    packs = [*PACKS, *(FITTING[name] for name in found if name in FITTING)]
    lines += [f"use: [{', '.join(packs)}]", "", f"# An example{f' for {kind}' if kind else ''}: {about}. Take the",
              "# marks away to have it checked; truecall schema prints all that a contract may say.",
              "# contracts:"]  # fmt: skip
    return "\n".join([*lines, *(f"# {line}" for line in example.rstrip("\n").split("\n"))]) + "\n"
