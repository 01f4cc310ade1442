"""When a guard applies."""

from __future__ import annotations

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.guards import DOWN, SCHEMA, TEMPLATE, Asker, reason


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
