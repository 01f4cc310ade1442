"""Guards that cannot be evaluated, and what is done then."""

from __future__ import annotations

from support.guards import BROKEN, TEMPLATE, announced, events, reason


def test_a_guard_that_cannot_be_evaluated_refuses(asker):
    """The agent is told that it is no fault of its own, and what the person can do."""
    asker.project.trust(BROKEN)
    text = reason(asker.note(title="a", body="x"))
    assert "its guard could not be evaluated" in text and "truecall doctor" in text
    assert events(asker.project)[-1][:2] == ("refused", "unverified")


def test_what_cannot_be_told_gets_no_remedy(asker):
    """The remedy is for what a guard finds; that it applies is not known where the guard could not be asked."""
    asker.project.trust(BROKEN + "    remedy: Choose another title\n")
    assert "another title" not in reason(asker.note(title="a", body="x"))
    slow = BROKEN.replace("[/nonexistent/program]", "[sleep, '60']") + "    timeout: 1s\n    remedy: Choose another title\n"
    asker.project.trust(slow)
    assert "another title" not in reason(asker.note(title="a", body="x"))


def test_a_person_may_be_asked_instead(asker):
    """`on_unverified: ask` leaves it to the person in Claude Code; Codex runs what it asks about, so it is refused
    there. What does not hold is refused all the same."""
    asker.project.trust(BROKEN + "    on_unverified: ask\n")
    decision = "ask" if asker.harness == "claude-code" else "deny"
    assert "could not evaluate" in reason(asker.note(title="a", body="x"), decision)
    asker.project.trust(TEMPLATE + "    on_unverified: ask\n")
    assert "nothing at" in reason(asker.note(title="a", body="x"))


PAST = """\
version: 1
contracts:
  - id: doubtful
    tool: mcp__notes__save_note
    pre: {file_exists: {path: "{{project}}/{{args.amount}}"}}
    on_unverified: ask
  - id: sure
    tool: mcp__notes__save_note
    pre: {command: {run: ["false"]}}
"""


def test_a_person_is_not_asked_past_a_guard_that_refuses(asker):
    """A doubt about which a person is asked does not end the chain: a dearer guard may refuse for certain."""
    asker.project.trust(PAST)
    text = reason(asker.note(title="a", body="x"))
    assert "contract sure" in text and "contract doubtful" in text
    asker.project.trust(PAST.replace('["false"]', '["true"]'))
    reason(asker.note(title="a", body="x"), "ask" if asker.harness == "claude-code" else "deny")


def test_an_argument_that_is_not_there_is_no_pass(asker):
    """A template that leads nowhere cannot be evaluated."""
    asker.project.trust(TEMPLATE)
    assert "could not evaluate" in reason(asker.note(body="x"))


LIMITED = """\
version: 1
contracts:
  - id: limit
    tool: mcp__notes__save_note
    pre: {given: {value: "{{args.amount}}", is: {at_most: 100}}}
"""


def test_a_missing_argument_is_told_as_one(asker):
    """That an argument is not there is seen in the call: it is named with what is expected, and may be mended."""
    asker.project.trust(LIMITED)
    text = reason(asker.note(amuont=9))
    assert "could not evaluate" not in text and "fix the fields" in text
    assert "an argument `amount` that is at most 100" in text
    assert "`amount` is missing from the arguments; `amuont` was sent" in text
    assert asker.note(amount=9).out == b""
    assert "fix the fields" not in reason(asker.note(amount=900))


def test_an_argument_that_must_not_be_there_may_be_missing(asker):
    """A guard against an argument lets the call through that does not carry it, and no other."""
    asker.project.trust(LIMITED.replace("at_most: 100", "exists: false"))
    assert asker.note(title="a").out == b""
    reason(asker.note(amount=None))
    reason(asker.note(amount=1))


def test_nothing_is_proved_by_what_is_missing(asker):
    """The opposite of a check of an argument that is not there is no pass."""
    asker.project.trust(LIMITED.replace("{given: {", "{not: {given: {").replace("100}}}", "100}}}}"))
    assert "could not evaluate" in reason(asker.note(title="a"))


def test_a_guard_that_takes_too_long_refuses(asker, monkeypatch):
    """The time for all guards together is over."""
    asker.project.trust(BROKEN.replace("[/nonexistent/program]", "[sleep, '60']") + "    timeout: 1s\n")
    assert "could not be evaluated" in reason(asker.note(title="a", body="x"))


def test_the_hooks_own_deadline_is_no_pass(project, harness):
    """Where the whole hook's time is over, the call is refused."""
    project.trust(BROKEN.replace("[/nonexistent/program]", "[sleep, '60']"))
    answer = project.hook(announced(project.mcp(harness)), harness, "PreToolUse", ("--deadline", "1"))
    assert "NOT MADE" in reason(answer)


def test_observe_never_refuses(asker):
    """The person is told what would have been refused, and it is kept beside the request."""
    asker.project.trust(TEMPLATE + "    mode: observe\n")
    answer = asker.note(title="a", body="x")
    assert answer.form == "notice" and "would have refused" in answer.notice and "nothing at" in answer.notice
    event, _, data = events(asker.project)[-1]
    assert event == "requested" and data["observed"][0]["contract"] == "template-there"
