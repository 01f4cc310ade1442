"""Codex's own ways, in every pinned version, with direct tools and in code mode."""

from __future__ import annotations

import json

import pytest
from e2e.sessions import CODEX, LIE, NOTE, SAVED

DIRECT = [agent for agent in CODEX if not agent.code_mode]
SCRIPTED = [agent for agent in CODEX if agent.code_mode]
COPY = """\
version: 1
contracts:
  - id: copy-made
    kind: [write, edit]
    post: {file_exists: {path: "{{project}}/copy.txt"}}
"""
SMALL = """\
version: 1
contracts:
  - id: not-too-large
    kind: write
    post: {file_exists: {path: "{{file.path}}", max_size: 1000}}
  - id: as-sent
    kind: write
    post: {file_exists: {path: "{{file.path}}", equals: "{{file.content}}"}}
"""
EXIT = """\
version: 1
contracts:
  - id: built
    kind: shell
    when: {exit_code: {equals: 0}}
    post: {file_exists: {path: "{{project}}/build/app"}}
  - id: needs-make
    kind: shell
    when: {exit_code: {equals: 7}}
    post: {result: {of: exit_code, equals: 0}}
    remedy: run make before it
"""


@pytest.fixture(params=CODEX, ids=str)
def agent(request):
    return request.param


def patch(agent, text):
    """A turn that adds the file a.txt."""
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    whole = f"*** Begin Patch\n*** Add File: a.txt\n{lines}*** End Patch\n"
    return [("exec", f"text(await tools.apply_patch({json.dumps(whole)}))") if agent.code_mode else ("apply_patch", whole)]


def command(agent, line):
    if agent.code_mode:
        return [("exec", f"text(JSON.stringify(await tools.exec_command({json.dumps({'cmd': line})})))")]
    return [("exec_command", {"cmd": line})]


def test_where_the_correction_stands(agent, session):
    """The correction is the whole output of a direct tool, and what the script dies of in code mode; it stands in a
    developer's message beside it as well."""
    done = session([agent.turn(("save_note", NOTE))])
    head, _, rest = done.result().rpartition("Script error:\n")
    assert rest.startswith(LIE)
    assert bool(head) == agent.code_mode
    assert [(role, text.startswith(LIE)) for role, text in done.sent(1).beside] == [("developer", True)]


def test_a_patch_is_replaced(agent, session):
    """apply_patch's claim makes room for the correction."""
    done = session([patch(agent, "hello")], COPY)
    assert "NOT DONE: apply_patch reported success, but" in done.result()
    assert "copy.txt" in done.result()


def test_eight_megabytes_are_judged(agent, session):
    """A patch of 8 MB is judged like a small one."""
    done = session([patch(agent, ("x" * 79 + "\n") * 100_000)], SMALL)
    assert "has 8000000 bytes" in done.beside()
    assert "not-too-large" in done.beside()
    assert "as-sent" not in done.beside()
