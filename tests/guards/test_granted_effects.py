"""`requires`: an effect must have been verified before."""

from __future__ import annotations

import os

from support.guards import REQUIRES, SCHEMA, Asker, reason


def test_an_effect_must_have_been_verified_before(project, harness):
    """Nothing was judged, it was refuted, it was verified, it was refuted again."""
    project.trust(REQUIRES)
    asker = Asker(project, harness)
    deploy, build = (project.mcp(harness, f"mcp__notes__{name}", args={"a": "b"}) for name in ("deploy", "build"))
    text = asker.refusal(deploy)
    assert "nothing that brings it about was judged in this session" in text
    assert "granted by built (truecall.yaml:3)" in text and "first do what grants the missing effect" in text
    project.hook({**build, "tool_use_id": "b1"}, harness)
    assert "the last time it was refuted (built: nothing at" in asker.refusal(deploy)
    project.write("out", "x")
    project.hook({**build, "tool_use_id": "b2"}, harness)
    assert asker.answer(deploy).form == "silent"
    os.unlink(f"{project.root}/out")
    project.hook({**build, "tool_use_id": "b3"}, harness)
    assert "the last time it was refuted" in asker.refusal(deploy)


def test_another_session_grants_nothing(project, harness):
    """What was verified elsewhere does not count here; without a session nothing can be told."""
    project.trust(REQUIRES)
    project.write("out", "x")
    asker = Asker(project, harness)
    build, deploy = (project.mcp(harness, f"mcp__notes__{name}", args={"a": "b"}) for name in ("build", "deploy"))
    project.hook({**build, "session_id": "other"}, harness)
    assert "nothing that brings it about" in asker.refusal(deploy)
    assert "is not remembered" in reason(asker.answer({**deploy, "session_id": ""}))


def test_without_the_ledger_nothing_was_verified(project, harness):
    """A ledger that cannot be used is no pass for what `requires` asks, and no trouble for any other guard."""
    project.trust(REQUIRES + SCHEMA.partition("contracts:\n")[2])
    project.write(os.path.join(project.state, "ledger.db"), "no database, for sure" * 100)
    asker = Asker(project, harness)
    answer = asker.answer(project.mcp(harness, "mcp__notes__deploy", args={"a": "b"}))
    assert "is not remembered" in reason(answer) and "the ledger is damaged" in answer.notice
    assert "did you mean `title`" in reason(asker.note(titel="a", body="x"))
    assert asker.note(title="a", body="x").form == "silent"
