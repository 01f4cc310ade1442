"""The chain of guards: cheap ones first, and no further than one that does not hold."""

from __future__ import annotations

import os

from support.guards import TEMPLATE, announced, reason

from truecall_py.checks import NAMES, STAGES, load_check
from truecall_py.guards import barrier


def test_every_check_has_a_stage():
    """None is without one, and none has one that is no check."""
    assert {load_check(name).STAGE for name in NAMES} == set(STAGES)


CHAIN = """\
version: 1
contracts:
  - id: dear
    tool: mcp__notes__save_note
    pre:
      - command: {run: [touch, "PROJECT/ran"]}
      - file_exists: {path: "{{project}}/b"}
      - file_exists: {path: "{{project}}/c"}
  - id: cheap
    tool: mcp__notes__save_note
    pre: {sql: {text: "{{args.body}}", sweeping: refused}}
"""


def test_the_chain_ends_where_a_stage_does_not_hold(asker):
    """What is dear is asked only where all that is cheaper holds, in every guard of the call; of one stage everything is
    told."""
    asker.project.trust(CHAIN.replace("PROJECT", asker.project.root))
    text = reason(asker.note(title="a", body="DELETE FROM a"))
    assert "contract cheap" in text and "contract dear" not in text
    text = reason(asker.note(title="a", body="SELECT 1"))
    assert text.count("found: nothing at") == 2 and not os.path.exists(f"{asker.project.root}/ran")
    asker.project.write("b", "")
    asker.project.write("c", "")
    assert asker.note(title="a", body="SELECT 1").form == "silent"
    assert os.path.exists(f"{asker.project.root}/ran")


def test_a_combinator_is_as_dear_as_what_is_in_it():
    """One command inside makes it wait for the last stage."""
    cheap = {"check": "sql", "params": {}}
    dear = {"check": "any_of", "params": [cheap, {"check": "not", "params": {"check": "command", "params": {}}}]}
    assert barrier.stage_of({"check": "all_of", "params": [cheap]}) == "structure"
    assert barrier.stage_of(dear) == "execution"


def test_a_cheap_guard_loads_nothing_dear(project):
    """A guard of files alone starts no process and loads no network."""
    from support.imports import NEVER, loaded

    project.trust(TEMPLATE)
    modules, out = loaded(project, announced(project.mcp()))
    assert b"NOT MADE" in out
    assert not modules & (NEVER - {"collections", "functools"}), modules & NEVER
