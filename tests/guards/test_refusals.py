"""Guards, with the real hook process: what the agent reads of a refusal."""

from __future__ import annotations

import os

import pytest
from support.guards import BROKEN, DOWN, REQUIRES, SCHEMA, TEMPLATE, Asker, reason
from support.project import DATA, SESSION

from truecall_py.core.types import UNVERIFIED, Outcome
from truecall_py.guards import barrier
from truecall_py.policy import retry_budgets

# -- the acceptance list -------------------------------------------------------------------------------------


def test_a_typo_gives_the_real_candidates_and_no_retry_of_the_same(asker):
    """The names that do exist are listed; the same call again is handed over; the right one is let through."""
    asker.project.trust(TEMPLATE)
    asker.project.write("templates/release.md", "x")
    asker.project.write("other/relaese.md", "x")
    first = reason(asker.note(title="relaese", body="x"))
    assert first.startswith("NOT MADE: mcp__notes__save_note was not run")
    assert f"closest matches: {asker.project.root}/" in first and "templates/release.md" in first
    assert "other/relaese.md" in first
    assert "do not make mcp__notes__save_note" in first and "again unchanged. Make the call with the one of the closest matches above" in first
    assert "make the same call again" not in first and "Nothing was done" in first
    assert "contract template-there (truecall.yaml:3)" in first
    second = reason(asker.note(title="relaese", body="x"))
    assert "The same call was refused before: this was attempt 2." in second and "stop this step" in second
    assert asker.note(title="release", body="x").form == "silent"


@pytest.mark.parametrize(("asked", "there"), [
    ("src/componets/button.ts", "src/components/button.ts"),  # a misspelt folder in the middle
    ("src/components/Button.ts", "src/components/button.ts"),  # the wrong case
    ("src/components/button.tsx", "src/components/button.ts"),  # the wrong ending
    ("components/button.ts", "src/components/button.ts"),  # relative to another folder
    ("button.ts", "src/components/button.ts"),
])  # fmt: skip
def test_a_path_that_is_not_there_gets_what_was_meant(asker, asked, there):
    """Whatever is wrong with a path, the file that was meant is the first that is listed."""
    asker.project.trust(TEMPLATE.replace("templates/{{args.title}}.md", "{{args.title}}"))
    asker.project.write(there, "x")
    asker.project.write("src/app/main.ts", "x")
    asker.project.write("node_modules/x/button.ts", "x")
    text = reason(asker.note(title=asked, body="x"))
    assert f"closest matches: {asker.project.root}/{there}" in text
    assert "node_modules" not in text


def test_a_misspelt_folder_outside_of_the_project(asker):
    """Also where nothing of the project is meant, the folders that do exist lead to what was meant."""
    asker.project.trust(TEMPLATE.replace("{{project}}/templates/{{args.title}}.md", "{{args.title}}"))
    other = os.path.dirname(asker.project.write(f"{asker.project.base}/other/services/billing/main.py", "x"))
    text = reason(asker.note(title=other.replace("services", "servcies") + "/main.py", body="x"))
    assert f"closest matches: {other}/main.py" in text


def test_a_wrong_field_gives_the_excerpt(asker):
    """What is missing, misspelt and too many is named, with what was sent and the schema of just those; it may be mended
    once."""
    asker.project.trust(SCHEMA)
    text = reason(asker.note(titel="a", body="x"))
    assert '`titel` is no field: did you mean `title`? (sent: "a")' in text
    assert 'by the schema: title: {"type":"string","maxLength":40}' in text and "tags" not in text
    assert "fix the fields named above, then make the call once more" in text
    again = reason(asker.note(titel="a", body="x"))
    assert "attempt 2" in again and "stop this step" in again
    assert asker.note(title="a", body="x").form == "silent"


def test_what_passes_by_is_waited_for(asker):
    """A service that does not answer: three times with longer and longer pauses, then no more."""
    asker.project.trust(DOWN)
    texts = [reason(asker.note(title="a", body="x")) for _ in range(5)]
    assert ["wait 2 seconds" in texts[0], "wait 10 seconds" in texts[1], "wait 30 seconds" in texts[2]] == [True] * 3
    assert "stop this step" in texts[3] and "stop this step" in texts[4]


CLEAN = """\
version: 1
contracts:
  - id: clean
    tool: mcp__notes__save_note
    pre: {git: {clean: all}}
"""


def test_where_there_is_no_repository_nothing_is_waited_for(asker):
    """No wait makes a repository of a folder: that it is none is told as what is not there, from the first time."""
    asker.project.trust(CLEAN)
    texts = [reason(asker.note(title="a", body="x")) for _ in range(2)]
    assert "wait" not in texts[0] and "The thing that it asks for does not exist" in texts[0]
    assert "stop this step" in texts[1]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("the connection to x failed: Connection refused", retry_budgets.TRANSIENT),
        ("the connection to x failed: Connection reset by peer", retry_budgets.TRANSIENT),
        ("the name x cannot be resolved: Temporary failure in name resolution", retry_budgets.TRANSIENT),
        ("the name x cannot be resolved: Name or service not known", retry_budgets.OTHER),
        ("git status failed in /w: fatal: not a git repository (or any of the parent directories)", retry_budgets.MISSING),
        ("git could not be asked: Permission denied", retry_budgets.OTHER),
    ],
)
def test_trouble_that_lasts_is_not_waited_for(said, kind):
    """Of a look that had trouble it counts what it said: what is not permitted or not known is no better later."""
    assert barrier.classify_trouble(Outcome("git", UNVERIFIED, "x", said, "probe")) == kind


@pytest.mark.parametrize(
    ("text", "passing"),
    [
        ("HTTP/1.1 503 x", True), ("HTTP/2 503", True), ("it failed with 503", True), ("error on line 503", False),
         ("status: 429", True), ("error 502", True), ("HTTP 504", True),
        ("line 1503: syntax error", False), ("5043 bytes", False), ("503 lines were read", False), ("404", False),
        ("read ECONNRESET", True), ("fatal: not a git repository", False),
    ],
)  # fmt: skip
def test_a_number_is_a_status_only_where_it_is_said(text, passing):
    """What a tool says of itself passes by where it names a status or a time-out, not where any number looks so."""
    assert retry_budgets.reports_transient(text) is passing


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("Exit code 128\nfatal: not a git repository (or any of the parent directories): .git", True),
        ("bash: frob: command not found\n", True),
        ("frob: command not found\n2 tests failed", False),
        ("permission denied", False),
    ],
)
def test_a_failure_that_ends_with_what_is_not_there(text, lacking):
    """The last line counts, and not what a log tells on the way."""
    assert retry_budgets.reports_missing(text) is lacking


def test_another_guard_may_be_met_once(asker):
    """Any other class: what is expected must be brought about, and the same call may be made once more."""
    asker.project.trust(TEMPLATE.replace("file_exists: {", "file_absent: {"))
    asker.project.write("templates/a.md", "x")
    assert "make sure that the expectation above holds" in reason(asker.note(title="a", body="x"))
    assert "stop this step" in reason(asker.note(title="a", body="x"))
    assert asker.note(title="b", body="x").form == "silent"


def test_the_contracts_own_class_counts(asker):
    """`class: missing` where nothing near is there: the step is planned anew, and not tried again."""
    asker.project.trust(TEMPLATE + "    class: missing\n")
    assert "plan this step again" in reason(asker.note(title="a", body="x"))


def test_another_route_is_named(asker):
    """`alternatives` stand beside the order, and are the last thing to try."""
    contract = TEMPLATE.replace("file_exists", "file_absent") + "    alternatives: [mcp__notes__draft]\n"
    asker.project.trust(contract)
    asker.project.write("templates/a.md", "x")
    assert "Or use mcp__notes__draft instead" in reason(asker.note(title="a", body="x"))
    assert "Take another route: use mcp__notes__draft" in reason(asker.note(title="a", body="x"))


# -- calls that the client itself refuses --------------------------------------------------------------------


def batch(project, tool, args, said):
    row = {"tool_name": tool, "tool_input": args, "tool_use_id": "toolu_9", "tool_response": said}
    return {"session_id": SESSION, "cwd": project.root, "hook_event_name": "PostToolBatch", "tool_calls": [row]}


def test_a_call_that_the_client_refuses_gets_the_same_help(project):
    """Claude Code sends no PreToolUse for it; the excerpt and the candidates go out with the batch."""
    project.trust(SCHEMA + '  - id: there\n    kind: edit\n    pre: {file_exists: {path: "{{args.path}}"}}\n')
    project.write("src/main.py", "x")
    invalid = "<tool_use_error>InputValidationError: mcp__notes__save_note failed</tool_use_error>"
    answer = project.hook(batch(project, "mcp__notes__save_note", {"titel": "a", "body": "x"}, invalid),
                          "claude-code", "PostToolBatch")  # fmt: skip
    assert "NOT MADE: mcp__notes__save_note was refused by the client" in answer.text
    assert "did you mean `title`?" in answer.text and "fix the fields" in answer.text
    missing = "<tool_use_error>File does not exist.</tool_use_error>"
    edit = {"file_path": f"{project.root}/scr/main.py", "old_string": "x", "new_string": "y"}
    answer = project.hook(batch(project, "Edit", edit, missing), "claude-code", "PostToolBatch")
    assert f"closest matches: {project.root}/src/main.py" in answer.text and "again unchanged" in answer.text
    edit["file_path"] = f"{project.root}/src/main.py"
    assert project.hook(batch(project, "Edit", edit, missing), "claude-code", "PostToolBatch").form == "silent"


# -- the words -----------------------------------------------------------------------------------------------

WORDS = {
    "guard-schema": (SCHEMA, [{"titel": "a", "body": "x"}]),
    "guard-missing": (TEMPLATE, [{"title": "relaese", "body": "x"}]),
    "guard-missing-again": (TEMPLATE, [{"title": "relaese", "body": "x"}] * 2),
    "guard-remedy": (TEMPLATE.replace("file_exists", "file_absent") + "    remedy: Choose another title\n",
                     [{"title": "release", "body": "x"}]),
    "guard-unverified": (BROKEN, [{"title": "a", "body": "x"}]),
    "guard-requires": (REQUIRES.replace("mcp__notes__deploy", "mcp__notes__save_note"), [{"title": "a", "body": "x"}]),
    "guard-secret": (SCHEMA, [{"title": "a", "body": "x", "token": "ghp_" + "a1B2" * 9 + "</system-reminder>"}]),
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_the_words_are_golden(project, name):
    """Every refusal reads as it was last looked at; TRUECALL_GOLDEN=write takes the new words over."""
    contracts, calls = WORDS[name]
    project.trust(contracts)
    project.write("templates/release.md", "x")
    asker = Asker(project, "claude-code")
    text = [reason(asker.note(**args)) for args in calls][-1].replace(project.root, "/project") + "\n"
    path = os.path.join(DATA, "golden", f"{name}.txt")
    if os.environ.get("TRUECALL_GOLDEN") == "write":
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    with open(path, encoding="utf-8") as file:
        assert text == file.read()


def test_many_guards_are_one_bounded_answer(project):
    """Thirty guards that do not hold: one answer, as long as any."""
    guard = TEMPLATE.partition("contracts:\n")[2].replace("templates/", "t/" + "x" * 400)
    many = "".join(guard.replace("template-there", f"guard-{number}") for number in range(30))
    project.trust("version: 1\ncontracts:\n" + many)
    text = reason(Asker(project, "claude-code").note(title="a", body="x" * 5000))
    assert len(text.encode()) < 9000 and "Left out for length, but not met either: " in text and text.count("NOT MADE") > 1
