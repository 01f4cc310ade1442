"""Guards: what is asked before a call, with the real hook process, and what the agent reads of it."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml
from support.project import DATA, ROOT, SESSION

from truecall_py.checks import NAMES, STAGES, load_check
from truecall_py.core.types import UNVERIFIED, Outcome
from truecall_py.guards import barrier
from truecall_py.policy import retry_budgets
from truecall_py.trust import pin as pinning
from truecall_py.world import bounded_regex

SCHEMA = """\
version: 1
contracts:
  - id: note-form
    tool: mcp__notes__save_note
    pre:
      schema:
        schema:
          type: object
          required: [title, body]
          additionalProperties: false
          properties: {title: {type: string, maxLength: 40}, body: {type: string}, tags: {type: array}}
"""
TEMPLATE = """\
version: 1
contracts:
  - id: template-there
    tool: mcp__notes__save_note
    pre: {file_exists: {path: "{{project}}/templates/{{args.title}}.md"}}
"""


def announced(payload, **more):
    """The payload of the hook before a call."""
    kept = {key: value for key, value in payload.items() if key not in ("tool_response", "duration_ms", "error")}
    return {**kept, "hook_event_name": "PreToolUse", **more}


class Asker:
    """One session: each call is announced, and the answer read."""

    def __init__(self, project, harness):
        self.project, self.harness, self.number = project, harness, 0

    def answer(self, payload, **more):
        self.number += 1
        asked = announced(payload, **{"tool_use_id": f"toolu_{self.number}", **more})
        return self.project.hook(asked, self.harness, "PreToolUse")

    def note(self, **args):
        return self.answer(self.project.mcp(self.harness, args=args))

    def refusal(self, payload):
        return reason(self.answer(payload))


def reason(answer, decision="deny"):
    """Why a call is refused; it must be."""
    inside = answer.json["hookSpecificOutput"]
    assert (inside["hookEventName"], inside["permissionDecision"]) == ("PreToolUse", decision), answer
    return inside["permissionDecisionReason"]


def events(project):
    with sqlite3.connect(os.path.join(project.state, "ledger.db")) as db:
        rows = db.execute("SELECT event, state, data FROM events ORDER BY id")
        return [(event, state, json.loads(data)) for event, state, data in rows]


@pytest.fixture
def asker(project, harness):
    return Asker(project, harness)


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


DOWN = """\
version: 1
contracts:
  - id: up
    tool: mcp__notes__save_note
    pre: {http_status: {url: "http://127.0.0.1:1/health"}}
"""


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
    assert barrier.trouble(Outcome("git", UNVERIFIED, "x", said, "probe")) == kind


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


# -- what is kept --------------------------------------------------------------------------------------------


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


# -- when it applies -----------------------------------------------------------------------------------------


def test_a_contract_may_have_both(project, harness):
    """Before the call its guard, after it its check."""
    project.trust(TEMPLATE + '    post: {file_exists: {path: "{{project}}/notes/{{args.title}}.md"}}\n')
    asker = Asker(project, harness)
    assert "NOT MADE" in reason(asker.note(title="a", body="x"))
    project.write("templates/a.md", "x")
    assert asker.note(title="a", body="x").form == "silent"
    assert "NOT DONE" in project.hook(project.mcp(harness), harness).text


def test_a_guard_alone_is_not_asked_after_the_call(project, harness):
    """Without `post` there is nothing to say of what the call did."""
    project.trust(TEMPLATE)
    assert project.hook(project.mcp(harness), harness).form == "silent"


def test_when_decides_before_the_call(project, harness):
    """A condition that does not hold keeps the guard out of it."""
    project.trust(TEMPLATE.replace("    pre:", "    when: {args.body: {contains: template}}\n    pre:"))
    asker = Asker(project, harness)
    assert asker.note(title="a", body="plain").form == "silent"
    assert "NOT MADE" in reason(asker.note(title="a", body="by template"))


def test_a_patch_is_guarded_file_by_file(project):
    """Codex' apply_patch, and the one in a command: every file that it names, also one that it deletes."""
    project.trust('version: 1\ncontracts:\n  - id: kept\n    kind: [write, edit, delete]\n'
                  '    pre: {file_absent: {path: "{{file.path}}.lock"}}\n')  # fmt: skip
    asker = Asker(project, "codex")
    patch = "*** Begin Patch\n*** Delete File: a\n*** Update File: b\n@@\n-x\n+y\n*** End Patch\n"
    payload = project.payload("codex", "apply_patch", {"command": patch})
    assert asker.answer(payload).form == "silent"
    project.write("a.lock", "")
    assert "a.lock" in asker.refusal(payload)
    command = project.bash(f"apply_patch <<'EOF'\n{patch}EOF\n", "codex")
    assert "a.lock" in asker.refusal(command)


def test_a_sub_agents_call_is_guarded(project):
    """A call of a sub-agent is refused as that of the main one."""
    project.trust(SCHEMA)
    payload = project.mcp(args={"titel": "a"}, agent_id="agent-1", agent_type="general-purpose")
    assert "NOT MADE" in Asker(project, "claude-code").refusal(payload)


LINE = """\
version: 1
contracts:
  - id: no-drop
    kind: shell
    when: {args.command: {runs: "rm [-rf] {path}"}}
    pre: {given: {value: "{{match.path}}", is: {not_equals: data}}}
"""


@pytest.mark.parametrize("after", ["", " && make", "; touch data", " || rm -r data", " | sh x.sh", "; rm -rf x; mkdir data"])
def test_what_comes_after_it_takes_nothing_back(project, harness, after):
    """A guard asks what will be run. Whether a later command makes up for it is for the check after the call."""
    project.trust(LINE)
    asker = Asker(project, harness)
    assert '"data" is given' in asker.refusal(project.bash(f"rm -rf data{after}", harness))
    assert asker.answer(project.bash(f"rm -rf x{after if 'data' not in after else ''}", harness)).form == "silent"


RUN = [
    "(rm -rf data)", "{ rm -rf data; }", "! rm -rf data", "rm -rf data &", "exec rm -rf data", "exec -c env A=1 rm data",
    "command rm -rf data", "env A=1 rm -rf data", "env -u A rm data", "A=1 rm -rf data", "time rm -rf data",
    "nohup rm -rf data > log 2>&1 &", "(cd x; rm -rf data)", "{ (rm -rf data) & }; wait", "true && (true; rm data)",
    'cd "$D" && rm -rf data', "cd x; rm -rf data", "(false || true; rm data) | cat", "(rm -rf data) || true",
    "{\n  rm -rf data\n}", "((1)); (rm data)", "(true || false) && rm data",
]
NOT_RUN = [
    "true || (rm -rf data)", "true || { rm -rf data; }", "if test -d x; then (rm -rf data); fi", "f() { rm -rf data; }",
    "(true || rm -rf data)", "(true || { true; rm -rf data; })", "for a in $B; do rm -rf data; done", "true || ! rm data",
    "while read a; do { rm -rf data; }; done", "case $A in a) rm -rf data;; esac", "exit 0; (rm -rf data)",
    "echo '(rm -rf data)'", "rm() { :; }; (rm data)", "(exec; rm -rf data)", "echo $(rm -rf data)", "exec > log",
    "f() (rm data)", "true || (true; (rm data))", "(if true; then rm data; fi)",
]  # fmt: skip


@pytest.mark.parametrize("line", RUN)
def test_what_a_command_stands_in_hides_it_from_no_guard(project, line):
    """A subshell, a group, the background, `!`, exec and the like change nothing about what is run; where the rule asks
    for no folder, neither does one that is not known."""
    project.trust(LINE)
    assert '"data" is given' in Asker(project, "claude-code").refusal(project.bash(line))


@pytest.mark.parametrize("line", NOT_RUN)
def test_what_may_not_be_run_is_let_through(project, line):
    """Behind `||`, in a branch, a loop, a function or a substitution nothing is certain to be run."""
    project.trust(LINE)
    assert Asker(project, "claude-code").answer(project.bash(line)).form == "silent"


@pytest.mark.parametrize(("line", "refused"), [
    ('cd "$D" && rm data', False), ("(cd x && rm data)", False), ('cd "$D"; rm /data', False), ("(rm data)", True),
    ("{ rm data; } &", True), ("cd x && rm data", False), ("(true; rm data)", True), ("cd .. && (rm data)", False),
])  # fmt: skip
def test_a_rule_about_a_place_needs_to_know_it(project, line, refused):
    """Where the folder of a command is not certain, a guard that looks into it keeps nobody from right work."""
    project.trust(LINE.replace('given: {value: "{{match.path}}", is: {not_equals: data}}',
                               'file_absent: {path: "{{match.path}}"}'))  # fmt: skip
    project.write("data", "x")
    answer = Asker(project, "claude-code").answer(project.bash(line))
    assert ("NOT MADE" in reason(answer)) if refused else answer.form == "silent"


def test_a_file_that_is_to_be_made_lies_inside_already(project):
    """A Write of a new file is judged by where it will be, also by way of links, and of folders that are not there yet."""
    project.trust('version: 1\ncontracts:\n  - id: inside\n    kind: write\n'
                  '    pre: {inside: {path: "{{file.path}}", folder: "{{project}}"}}\n')  # fmt: skip
    asker = Asker(project, "claude-code")
    os.symlink(project.folder("elsewhere"), f"{project.root}/out")
    os.symlink(f"{project.base}/elsewhere/none", f"{project.root}/dangling")
    for name in ("new.txt", "a/b/c.txt", "a/../b.txt"):
        assert asker.answer(project.wrote(name, "x")).form == "silent"
    for name in ("../new.txt", "out/new.txt", "dangling", "a/../../new.txt", "out/a/b.txt"):
        text = asker.refusal(project.wrote(name, "x"))
        assert "lies outside of" in text and "closest matches" not in text


class Service(BaseHTTPRequestHandler):
    """A loopback service with one answer for each name."""

    answers: dict

    def do_GET(self):
        status, body = self.answers[self.path.strip("/")]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


def test_a_service_that_answers_no_is_not_waited_for(project, harness):
    """What it does not know, and a quota that is used up, is no better in a moment; a service that is busy is."""
    answers = {"gone": (404, "no"), "busy": (503, "later"), "many": (429, "later"), "quota": (200, '{"left": 0}')}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Service", (Service,), {"answers": answers}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f'"http://127.0.0.1:{server.server_port}/{{{{args.title}}}}", json: {{left: {{at_least: 1}}}}'
    project.trust(DOWN.replace('"http://127.0.0.1:1/health"', url))
    asker = Asker(project, harness)
    told = {title: reason(asker.note(title=title, body="x")) for title in answers}
    server.shutdown()
    server.server_close()
    assert ["wait 2 seconds" in told[name] for name in ("gone", "busy", "many", "quota")] == [False, True, True, False]
    assert "make sure that the expectation above holds" in told["gone"] and "left is 0" in told["quota"]


# -- the chain -----------------------------------------------------------------------------------------------


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
    from repo.test_hot_path import NEVER, loaded

    project.trust(TEMPLATE)
    modules, out = loaded(project, announced(project.mcp()))
    assert b"NOT MADE" in out
    assert not modules & (NEVER - {"collections", "functools"}), modules & NEVER


# -- doubt ---------------------------------------------------------------------------------------------------

BROKEN = """\
version: 1
contracts:
  - id: asked
    tool: mcp__notes__save_note
    pre: {custom: {run: [/nonexistent/program]}}
"""


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
    assert "could not evaluate" in reason(asker.note(title="a", body="x"))


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


# -- requires ------------------------------------------------------------------------------------------------

REQUIRES = """\
version: 1
contracts:
  - id: built
    tool: mcp__notes__build
    post: {file_exists: {path: "{{project}}/out"}}
    vacuous: ok
    grants: build-there
  - id: deploy
    tool: mcp__notes__deploy
    requires: build-there
"""


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


# -- trouble of truecall's own -------------------------------------------------------------------------------

DEAD = {"TRUECALL_PYTHON": "/nonexistent"}


def test_a_dead_python_refuses_only_where_there_are_guards(project, harness):
    """Without a guard the call goes on with a word beside it; with one it is refused, with what the person can do."""
    payload = announced(project.mcp(harness))
    project.trust()
    assert project.hook(payload, harness, "PreToolUse", env=DEAD).form == "append"
    project.trust(SCHEMA)
    text = reason(project.hook(payload, harness, "PreToolUse", env=DEAD))
    assert "truecall doctor" in text and "truecall off" in text
    project.trust()  # the guard's content is still trusted, and may stand in another branch
    assert os.path.exists(os.path.join(project.state, "guards"))
    pinning.revoke(project.contract, project.state)
    assert project.hook(payload, harness, "PreToolUse", env=DEAD).form == "append"


def test_a_dead_python_refuses_with_a_state_folder_of_its_own(project, harness):
    """The mark is looked for where the registered command says."""
    path = project.write("truecall.yaml", SCHEMA)
    other = project.folder("elsewhere")
    os.chmod(other, 0o700)
    pinning.trust(pinning.compile_file(path), other)
    payload = announced(project.mcp(harness))
    assert reason(project.hook(payload, harness, "PreToolUse", ("--state", other), env=DEAD))
    assert reason(project.hook(payload, harness, "PreToolUse", (f"--state={other}",), env=DEAD))
    assert project.hook(payload, harness, "PreToolUse", env=DEAD).form == "append"


def test_trouble_refuses_nothing_for_guards_that_only_observe(project, harness):
    """No Python, a payload that cannot be read, a bug: who is only tried out keeps no call from being made."""
    from hook.test_fail_closed import installation

    observing = SCHEMA.replace("contracts:", "mode: observe\ncontracts:")
    project.trust(observing)
    payload = announced(project.mcp(harness))
    assert project.hook(payload, harness, "PreToolUse", env=DEAD).form == "append"
    assert project.hook(b"{", harness, "PreToolUse").form == "notice"
    run = installation(project, "guarding.py", "\ndef barrier(*args):\n    raise ValueError('bug')\n")
    answer = project.hook(payload, harness, "PreToolUse", run=run)
    assert answer.form == "notice" and "a bug of its own" in answer.notice
    project.trust(observing + TEMPLATE.partition("contracts:\n")[2] + "    mode: enforce\n")
    assert reason(project.hook(payload, harness, "PreToolUse", run=run))
    assert reason(project.hook(payload, harness, "PreToolUse", env=DEAD))


@pytest.mark.parametrize(("text", "refuses"), [
    ('{"until": 99999999999.5, "since": 1.0}', False), ('{"until": 12.5, "since": 1.0}', True), ("nonsense", True),
    ("", True),
])  # fmt: skip
def test_a_dead_python_lets_pass_while_truecall_is_off(project, harness, text, refuses):
    """A person who switched it off is not locked out by a broken installation; a switch that is over counts no more."""
    project.trust(SCHEMA)
    project.write(os.path.join(project.state, "off"), text)
    answer = project.hook(announced(project.mcp(harness)), harness, "PreToolUse", env=DEAD)
    assert (answer.json["hookSpecificOutput"].get("permissionDecision") == "deny") is refuses


def test_a_bug_refuses_what_a_guard_names(project, harness):
    """An error of truecall's own is no pass for a call that a guard names, and no trouble for any other."""
    from hook.test_fail_closed import installation

    project.trust(SCHEMA)
    run = installation(project, "guarding.py", "\ndef barrier(*args):\n    raise ValueError('bug')\n")
    text = reason(project.hook(announced(project.mcp(harness)), harness, "PreToolUse", run=run))
    assert "a bug of its own" in text
    assert project.hook(announced(project.bash("ls", harness)), harness, "PreToolUse", run=run).form == "silent"


def test_a_payload_that_cannot_be_read_refuses_where_there_are_guards(project, harness):
    """Nobody can tell which call it is."""
    project.trust()
    assert project.hook(b"{", harness, "PreToolUse").form == "notice"
    project.trust(SCHEMA)
    assert "could not check its guards" in reason(project.hook(b"{", harness, "PreToolUse"))


def test_a_damaged_pin_refuses_where_there_are_guards(project, harness):
    """What was trusted and cannot be read may hold a guard; what only looks is let through."""
    pin = project.trust(SCHEMA)
    with open(pin, "r+b") as file:
        file.truncate(30)
    payload = announced(project.mcp(harness))
    assert "the pin is damaged" in reason(project.hook(payload, harness, "PreToolUse"))
    looks = project.payload(harness, "Read" if harness == "claude-code" else "view_image", {"path": "a"})
    assert project.hook(announced(looks), harness, "PreToolUse").form == "silent"


def test_code_that_was_changed_is_not_asked(project, harness):
    """A guard whose code is not what was trusted cannot be evaluated."""
    project.write("ok.sh", "#!/bin/sh\nexit 0\n", 0o755)
    project.trust(BROKEN.replace("/nonexistent/program", '"{{project}}/ok.sh"'))
    asker = Asker(project, harness)
    assert asker.note(title="a", body="x").form == "silent"
    project.write("ok.sh", "#!/bin/sh\ntouch ran\n", 0o755)
    assert "was changed since the contract was trusted" in reason(asker.note(title="a", body="x"))
    assert not os.path.exists(f"{project.root}/ran")


# -- by hand -------------------------------------------------------------------------------------------------


def test_verify_judges_the_guards_of_an_announced_call(project, harness):
    """A captured PreToolUse payload: 1 where it would be refused, with the words; 0 where not; 3 for a doubt."""
    project.write("truecall.yaml", TEMPLATE)
    path = project.write("payload.json", json.dumps(announced(project.mcp(harness))))
    done = project.command("verify", path)
    assert done.returncode == 1 and "NOT MADE" in done.stdout and "the call is not made" in done.stdout
    assert "not made" in done.stdout and "template-there" in done.stdout
    found = json.loads(project.command("verify", path, "--format", "json").stdout)
    assert found[0]["verdict"] == "refuted" and found[0]["contracts"][0]["outcome"] == "not made"
    project.write("templates/a.md", "x")
    assert project.command("verify", path).returncode == 0
    project.write("truecall.yaml", REQUIRES.replace("mcp__notes__deploy", "mcp__notes__save_note"))
    assert project.command("verify", path).returncode == 3


def test_explain_tells_what_guards_a_call(project):
    """Of an announced call, which contracts are asked; of a finished one, which are not any more."""
    project.write("truecall.yaml", REQUIRES + TEMPLATE.partition("contracts:\n")[2])
    path = project.write("payload.json", json.dumps(announced(project.mcp())))
    assert "template-there: guards it" in project.command("explain", path).stdout
    path = project.write("payload.json", json.dumps(project.mcp()))
    assert "template-there: is asked before a call only" in project.command("explain", path).stdout


def test_doctor_tells_of_guards_that_are_never_asked(project):
    """Gemini CLI asks truecall only afterwards: a contract that guards is no protection there."""
    project.trust(TEMPLATE)
    project.command("install", "gemini-cli", "--user")
    told = project.command("doctor").stdout
    assert "template-there guard calls before they are made, and gemini-cli asks truecall only afterwards" in told


EXAMPLES = """\
    examples:
      - title: there
        payload: {tool_name: mcp__notes__save_note, tool_input: {title: a}}
        world: {files: {templates/a.md: x}}
        verdict: verified
      - title: not there
        payload: {tool_name: mcp__notes__save_note, tool_input: {title: a}}
        verdict: refuted
      - title: cannot be told
        payload: {tool_name: mcp__notes__save_note, tool_input: {}}
        verdict: unverified
      - title: another tool
        payload: {tool_name: mcp__notes__other, tool_input: {}}
        verdict: none
"""
EFFECTS = """\
    examples:
      - title: verified before
        payload: {tool_name: mcp__notes__deploy, tool_input: {}}
        verified: build-there
        verdict: verified
      - title: something else was
        payload: {tool_name: mcp__notes__deploy, tool_input: {}}
        verified: [tests-green]
        verdict: refuted
"""


@pytest.mark.parametrize("text", [TEMPLATE + EXAMPLES, REQUIRES + EFFECTS])
def test_examples_of_guards(project, text):
    """A contract that is only a guard is judged before the call: verified is let through, refuted is refused."""
    project.write("truecall.yaml", text)
    done = project.command("test")
    assert done.returncode == 0, done.stdout + done.stderr


def test_trust_shows_what_is_asked_before(project):
    """What a person trusts is all that will be asked."""
    project.write("truecall.yaml", REQUIRES + TEMPLATE.partition("contracts:\n")[2])
    shown = project.command("trust", "--yes", "--person").stdout
    assert "before the call: file_exists" in shown and "before the call: the effect build-there" in shown


def test_no_guard_costs_nothing(project, harness):
    """Where no contract that names the call is a guard, nothing of the guards is loaded."""
    from repo.test_hot_path import loaded

    project.trust()
    modules, _ = loaded(project, announced(project.mcp(harness)), harness)
    assert not {name for name in modules if "guard" in name or "requirements" in name}


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


# -- the pack ------------------------------------------------------------------------------------------------


def patterns(value):
    """Every regular expression in a piece of a contract."""
    if isinstance(value, list):
        return [found for each in value for found in patterns(each)]
    if not isinstance(value, dict):
        return []
    return [each for each in [value.get("matches")] if each] + patterns(list(value.values()))


@pytest.mark.parametrize("piece", ["git switch ", "switch ", "git branch-", "git ", "branch --list ", ":", "heads/", " "])
def test_no_length_of_a_command_keeps_a_pattern_from_ending(piece):
    """A megabyte of the words that it looks for: a pattern that reads them once for each of them needs hours, is
    broken off, and what it guards would be refused for it."""
    with open(os.path.join(ROOT, "contracts", "guards.yaml"), encoding="utf-8") as file:
        found = patterns(yaml.safe_load(file))
    assert len(found) > 5
    for pattern in found:
        bounded_regex.search(pattern, "git " + piece * ((1 << 20) // len(piece)), 60)
