"""What the stop gate orders, and what it takes care not to overwrite."""

from __future__ import annotations

import os

import pytest
from support.turns import (
    SESSION,
    TWO,
    Turn,
    reason,
    silent,
)


def test_a_route_that_rests_is_not_ordered_again(project, turn):
    """It would be refused: another route, or the truth."""
    project.trust(TWO.replace("    post", "    repeat: safe\n    post"))
    turn.save("a")
    turn.save("b")
    text = reason(turn.stop())
    assert "the tool is paused" in text and "make the same call again" not in text and "tell the user" in text
    project.trust(TWO.replace("    post", "    repeat: safe\n    alternatives: [Write]\n    post"))
    turn.name = "turn-2"
    turn.session = "other"
    turn.save("c")
    turn.save("d")
    assert "another route: use Write" in reason(turn.stop())


def test_what_came_later_is_not_overwritten_by_order(project):
    """Another call may have brought about something better in the same place: look first, never again."""
    project.trust('version: 1\ncontracts:\n  - id: written\n    kind: write\n    post: {file_exists: '
                  '{path: "{{file.path}}", contains: "{{args.content}}"}}\n')  # fmt: skip
    turn = Turn(project)
    turn.told(project.wrote("f.txt", "first", tool_use_id="toolu_w1", **turn.marks))
    assert "make the same call again" in reason(turn.stop())
    turn.name = "turn-2"
    turn.told(project.wrote("g.txt", "first", tool_use_id="toolu_w2", **turn.marks))
    turn.told(turn.bash("printf better > g.txt"))
    project.write("g.txt", "better")
    text = reason(turn.stop())
    assert "first check what is there now" in text and "make the same call again" not in text


def test_a_call_that_only_looks_does_not_come_between(project):
    """After a look the order is as it was."""
    project.trust(TWO.replace("    post", "    repeat: safe\n    post"))
    turn = Turn(project)
    turn.save()
    turn.told(project.payload("claude-code", "Read", {"file_path": project.contract}, {}, tool_use_id="r", **turn.marks))
    assert "make the same call again" in reason(turn.stop())


@pytest.mark.parametrize("large", [False, True])
def test_a_call_that_was_not_kept_claims_no_more_than_is_known(project, turn, large):
    """It cannot be looked at again, since it is secret or too large: whether it was put right is not known."""
    project.trust(TWO + ("" if large else "    store: none\n"))
    body = "x" * 1_100_000 if large else "hello"
    payload = turn.note()
    payload["tool_input"]["body"] = body
    turn.told(payload)
    project.write("notes/a.md", body)
    text = reason(turn.stop())
    assert text.startswith("NOT CONFIRMED: the effect of 1 call in this turn was missing")
    assert "could not check again" in text and "NOT DONE" not in text


GRANTS = """\
version: 1
contracts:
  - {id: by-tool, tool: mcp__notes__save_note, grants: note, post: {file_exists: {path: "{{project}}/tool.md"}}}
  - {id: by-hand, tool: Bash, grants: note, post: {file_exists: {path: "{{project}}/hand.md"}}}
"""


def test_another_route_puts_one_call_right(project, turn):
    """A contract that grants the same makes up for one call, not for two."""
    project.trust(GRANTS)
    turn.save("a")
    payload = turn.bash("make note")
    turn.asked(payload)
    project.write("hand.md", "x")
    project.hook(payload, turn.harness)
    assert silent(turn.stop())
    turn.name = "turn-2"
    turn.save("b")
    turn.save("c")
    payload = turn.bash("make note again")
    turn.asked(payload)
    project.write("hand.md", "xy")
    project.hook(payload, turn.harness)
    assert reason(turn.stop()).count("refuted: ") == 1


def test_a_doubt_of_the_contracts_holds_nobody(project, turn):
    """A template without a value is not the agent's to mend."""
    project.trust(TWO)
    payload = turn.note()
    del payload["tool_input"]["body"]
    assert "NOT CONFIRMED" in turn.told(payload).text
    assert silent(turn.stop())


def test_an_edit_that_touched_nothing_holds(project, turn):
    """By the packs alone: the file that an edit names stands there as before, so the edit was not made. The agent
    is held once; the edit, made at last, puts it right."""
    project.trust("version: 1\nuse: [files]\n")
    path = project.write("a.py", "a = 1\n")
    payload = project.payload("claude-code", "Edit", {"file_path": path, "old_string": "1", "new_string": "2"},
                              {"filePath": path, "oldString": "1", "newString": "2", "originalFile": "a = 1\n",
                               "structuredPatch": []}, **turn.marks)  # fmt: skip
    if turn.harness == "codex":
        patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-a = 1\n+a = 2\n*** End Patch\n"
        payload = project.payload("codex", "apply_patch", {"command": patch}, "Success", **turn.marks)
    answer = turn.told(payload)
    assert answer.json["decision"] == "block" and "nothing has changed since" in answer.text
    assert "Check by other means" in answer.text
    assert f"unverified: {payload['tool_name']}" in reason(turn.stop())
    assert "unresolved" in turn.stop(active=True).notice
    turn.name = "turn-2"
    assert turn.told({**payload, "tool_use_id": "toolu_02", **turn.marks}).json["decision"] == "block"
    again = {**payload, "tool_use_id": "toolu_03", **turn.marks}
    assert silent(turn.asked(again))
    project.write("a.py", "a = 2\n")
    assert silent(project.hook(again, turn.harness)) and silent(turn.stop())


def test_what_only_looks_at_something_else_than_the_edited_file_is_no_lie_of_the_edit(project):
    """That an edit left alone what the contract asks for says nothing of the edit: nobody is held."""
    turn = Turn(project)
    project.trust('version: 1\ncontracts:\n  - id: readme\n    kind: edit\n    when: {file.path: {exists: true}}\n'
                  '    post: {file_exists: {path: "{{project}}/README.md"}}\n')  # fmt: skip
    project.write("README.md", "x")
    path = project.write("a.py", "a = 1\n")
    payload = project.payload("claude-code", "Edit", {"file_path": path, "old_string": "1", "new_string": "2"},
                              {"filePath": path}, **turn.marks)  # fmt: skip
    assert silent(turn.asked(payload))
    project.write("a.py", "a = 2\n")
    assert project.hook(payload).form == "append"
    assert silent(turn.stop())


def test_a_doubt_of_the_worlds_holds(project, turn):
    """What cannot be read is the agent's to look into."""
    project.trust(TWO)
    os.makedirs(os.path.join(project.root, "notes/a.md"))
    answer = turn.save()
    os.rmdir(os.path.join(project.root, "notes/a.md"))
    os.symlink("a.md", os.path.join(project.root, "notes/a.md"))
    if "NOT DONE" in answer.text:
        turn.save()
    text = reason(turn.stop())
    assert "NOT CONFIRMED" in text or "NOT DONE" in text


def test_secrets_do_not_stay(project, turn):
    """A call is kept whole only while it stands open, for its owner alone, and never where its contract says
    `store: none`."""
    project.trust(TWO)
    turn.save()
    folder = os.path.join(project.state, "open", SESSION)
    (name,) = os.listdir(folder)
    assert os.stat(os.path.join(folder, name)).st_mode & 0o777 == 0o600
    project.write("notes/a.md", "hello")
    assert silent(turn.stop())
    assert os.listdir(folder) == []
    project.trust(TWO + "    store: none\n")
    turn.save("b")
    assert os.listdir(folder) == []
    assert "could not check again" in reason(turn.stop())
