"""Calls that a person was asked about, at the stop."""

from __future__ import annotations

import json
import os

from support.turns import (
    TWO,
    Turn,
    reason,
    silent,
)


def claude(project, name, **block):
    """A line of Claude Code's transcript with the answer to a call."""
    content = [{"type": "tool_result", "tool_use_id": name, **block}]
    return project.write(os.path.join(project.base, "claude.jsonl"),
                         json.dumps({"type": "user", "message": {"role": "user", "content": content}}) + "\n")  # fmt: skip


def test_a_call_that_was_denied_holds_nobody(project):
    """Claude Code tells no hook of the end of a call that the person refused; its transcript does."""
    project.trust(TWO)
    turn = Turn(project)
    turn.asked(turn.note())
    denied = claude(project, "toolu_01", content="The user doesn't want to proceed", is_error=True)
    assert silent(turn.stop(transcript_path=denied))


def test_a_call_whose_end_nobody_can_tell_holds_once(project):
    """The hook after it was killed, and there is no transcript: whether the call ended nobody knows, which is no pass.
    A contract that only observes holds nobody."""
    project.trust(TWO)
    turn = Turn(project)
    turn.asked(turn.note())
    assert "no transcript could be read" in reason(turn.stop())
    assert turn.stop(active=True).form == "notice"
    project.trust(TWO + "    mode: observe\n")
    turn.name = "turn-2"
    turn.asked(turn.note())
    assert silent(turn.stop())


def test_a_success_of_which_no_hook_was_told_is_not_one(project):
    """The transcript knows an answer, and no hook judged it: nobody knows."""
    project.trust(TWO)
    turn = Turn(project)
    turn.asked(turn.note())
    text = reason(turn.stop(transcript_path=claude(project, "toolu_01", content="note saved")))
    assert text.startswith("NOT CONFIRMED") and "no hook was told how the call ended" in text
