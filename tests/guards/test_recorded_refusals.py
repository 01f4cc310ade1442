"""What the ledger keeps of a refusal, and when it is given back."""

from __future__ import annotations

import os

from support.guards import SCHEMA, TEMPLATE, events, reason


def test_a_refusal_is_an_event_and_no_lie(asker):
    """It is kept with its contract, class, evidence and attempt; nothing rests for it, and log and last tell of it."""
    asker.project.trust(SCHEMA)
    for _ in range(3):
        reason(asker.note(titel="a", body="x"))
    told = events(asker.project)
    assert [event for event, _, _ in told] == ["refused"] * 3
    event, state, data = told[1]
    assert (state, data["why"], data["contract"], data["kind"], data["attempt"]) == (
        "refuted", "guard", "note-form", "schema", 2,
    )  # fmt: skip
    assert data["order"] == "hand over" and "titel" in data["verdicts"][0]["found"]
    assert not os.path.exists(os.path.join(asker.project.state, "resting"))
    last = asker.project.command("last")
    assert last.returncode == 0 and "refused by truecall before it ran: a guard does not hold" in last.stdout
    assert "note-form" in last.stdout and "did you mean" in last.stdout.replace("\n", " ")
    assert "refused" in asker.project.command("log").stdout
    again = asker.project.command("last", "--again")
    assert again.returncode == 1 and "again: refuted note-form" in again.stdout


def test_a_doubled_hook_says_the_same_twice(asker):
    """Registered twice, each of the two says the same words, and the attempt counts once."""
    asker.project.trust(SCHEMA)
    asker.note(titel="a", body="x")
    payload = asker.project.mcp(asker.harness, args={"titel": "a", "body": "x"})
    first, second = (reason(asker.answer(payload, tool_use_id="toolu_same")) for _ in range(2))
    assert first == second and "attempt 2" in first
    assert len(events(asker.project)) == 2


def test_refused_calls_use_up_the_session(asker):
    """Ten refused attempts end the session, whatever they were."""
    asker.project.trust(SCHEMA)
    texts = [reason(asker.note(titel=f"a{number}", body="x")) for number in range(10)]
    assert "make the call once more" in texts[8] and "stop this step" in texts[9]


def test_a_refusal_is_given_back_once_its_guard_is_met(asker):
    """Mended calls are honest work: however often an agent misspells and then puts it right, its session is not used
    up; one call that is let through makes up for one refusal."""
    asker.project.trust(SCHEMA)
    for number in range(12):
        assert "make the call once more" in reason(asker.note(titel=f"a{number}", body="x"))
        assert asker.note(title=f"a{number}", body="x").form == "silent"
    texts = [reason(asker.note(titel=f"b{number}", body="x")) for number in range(10)]
    assert "make the call once more" in texts[8] and "stop this step" in texts[9]
    assert asker.note(title="b", body="x").form == "silent"
    assert "stop this step" in reason(asker.note(titel="c", body="x"))


def test_another_guard_gives_nothing_back(asker):
    """A call that some guard lets through says nothing of what another one refused."""
    asker.project.trust(SCHEMA + TEMPLATE.partition("contracts:\n")[2].replace("save_note", "draft"))
    asker.project.write("templates/t.md", "x")
    for number in range(9):
        asker.note(titel=f"a{number}", body="x")
        draft = asker.project.mcp(asker.harness, "mcp__notes__draft", args={"title": "t", "body": "x"})
        assert asker.answer(draft).form == "silent"
    assert "stop this step" in reason(asker.note(titel="last", body="x"))


def test_the_same_call_begins_anew_once_it_was_made(asker):
    """A call that was refused, then let through and made, may be refused and put right again: its earlier refusals
    are no attempts of now."""
    asker.project.trust(TEMPLATE)
    template = f"{asker.project.root}/templates/a.md"
    for _ in range(4):
        assert "stop this step" not in reason(asker.note(title="a", body="x"))
        asker.project.write("templates/a.md", "x")
        assert asker.note(title="a", body="x").form == "silent"
        done = asker.project.mcp(asker.harness, args={"title": "a", "body": "x"}, tool_use_id=f"toolu_{asker.number}")
        assert asker.project.hook(done, asker.harness).form == "silent"
        os.unlink(template)
