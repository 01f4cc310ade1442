"""The gate at the stop, through the real hook process: who is held, for what, and that nobody is held twice."""

from __future__ import annotations

import json
import os

import pytest

from truecall_py.ledger import ENDED, JUDGED, SETTLED, STOP, Ledger

TWO = """\
version: 1
contracts:
  - id: note-saved
    tool: mcp__notes__save_note*
    post:
      - file_exists: {path: "{{project}}/notes/{{args.title}}.md", contains: "{{args.body}}"}
"""
SESSION = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def turn(project, harness):
    return Turn(project, harness)


class Turn:
    """One turn of an agent: its calls with their hooks, and its stops."""

    def __init__(self, project, harness="claude-code", name="turn-1", session=SESSION):
        self.project, self.harness, self.name, self.session = project, harness, name, session
        self.calls = 0

    @property
    def marks(self):
        return {"session_id": self.session, ("turn_id" if self.harness == "codex" else "prompt_id"): self.name}

    def told(self, payload):
        """Both hooks of a call."""
        before = {name: payload[name] for name in payload if name not in ("tool_response", "duration_ms", "error")}
        self.project.hook({**before, "hook_event_name": "PreToolUse"}, self.harness, "PreToolUse")
        return self.project.hook(payload, self.harness, payload["hook_event_name"])

    def asked(self, payload):
        """Only the hook before a call."""
        before = {name: payload[name] for name in payload if name not in ("tool_response", "duration_ms")}
        return self.project.hook({**before, "hook_event_name": "PreToolUse"}, self.harness, "PreToolUse")

    def save(self, title="a", write=False, **more):
        """A note that is said to be saved."""
        if write:
            self.project.write(f"notes/{title}.md", "hello")
        return self.told(self.note(title, **more))

    def note(self, title="a", **more):
        self.calls += 1
        more = {"tool_use_id": f"toolu_{self.calls:02}", **self.marks, **more}
        return self.project.mcp(self.harness, args={"title": title, "body": "hello"}, **more)

    def bash(self, command, **more):
        self.calls += 1
        more = {"tool_use_id": f"toolu_{self.calls:02}", **self.marks, **more}
        return self.project.bash(command, self.harness, **more)

    def stop(self, message="Done.", active=False, event="Stop", **more):
        payload = {
            "transcript_path": None, "cwd": self.project.root, "hook_event_name": event, "stop_hook_active": active,
            "last_assistant_message": message, "permission_mode": "default", **self.marks,
        }  # fmt: skip
        if self.harness == "claude-code":
            payload |= {"background_tasks": [], "session_crons": []}
        else:
            payload |= {"model": "some-model"}
        return self.project.hook({**payload, **more}, self.harness, event)

    def agent(self, name):
        """The marks of a sub-agent's payloads."""
        return {"agent_id": name, "agent_type": "general-purpose"}


def reason(answer):
    """Why the agent is held; there are no keys but those that both clients take."""
    assert set(answer.json) <= {"decision", "reason", "systemMessage"}, answer
    assert answer.json.get("decision") == "block", answer
    return answer.json["reason"]


def silent(answer):
    return (answer.code, answer.out, answer.err) == (0, b"", b"")


def events(project, kind):
    return [each for each in Ledger(project.state).session(SESSION) if each.event == kind]


# -- calls that stand open ---------------------------------------------------------------------------------------


def test_a_lie_holds_the_agent_once(project, turn):
    """A call that lied is named with its contract and what to do; when the agent stops again, the person alone is
    told."""
    project.trust(TWO)
    assert "NOT DONE" in turn.save().text
    text = reason(turn.stop())
    assert text.startswith("NOT DONE: the effect of 1 call of this turn is not there")
    assert "mcp__notes__save_note" in text and "call toolu_01" in text and "note-saved (truecall.yaml:3)" in text
    assert "notes/a.md" in text and "Do this now" in text
    again = turn.stop(active=True)
    assert again.form == "notice" and "stands open" in again.notice and "notes/a.md" in again.notice
    told = events(project, STOP)
    assert [each.data["held"] for each in told] == [True, False]
    assert told[0].data["open"] == [["toolu_01", "note-saved", "refuted"]]


def test_nothing_holds_twice(project, turn):
    """Also where the client does not say that the agent was held before."""
    project.trust(TWO)
    turn.save()
    assert "decision" in turn.stop().json
    assert turn.stop().form == "notice"


def test_a_lie_that_was_put_right_holds_nobody(project, turn):
    """By the same call, or by any other way that brought the effect about: it is looked at again."""
    project.trust(TWO)
    turn.save()
    turn.save(write=True)
    assert silent(turn.stop())
    turn.save("b")
    project.write("notes/b.md", "hello")
    assert silent(turn.stop())
    (settled,) = events(project, SETTLED)
    assert (settled.call, settled.state, settled.data["by"]) == ("toolu_03", "verified", "stop")


def test_an_honest_turn_ends_in_silence(project, turn):
    """What kept its contract, and a turn without calls, hold nobody."""
    assert silent(turn.stop())
    project.trust(TWO)
    assert silent(turn.stop())
    turn.save(write=True)
    assert silent(turn.stop())
    folder = os.path.join(project.state, "open", SESSION)
    assert not os.path.isdir(folder) or not os.listdir(folder)  # Codex' are kept until they have ended


def test_a_failure_that_was_told_holds_nobody(project):
    """The tool itself said that it failed."""
    project.trust(TWO)
    turn = Turn(project)
    failed = project.failed("mcp__notes__save_note", {"title": "a", "body": "hello"}, "no notebook is open")
    turn.told({**failed, **turn.marks})
    assert silent(turn.stop())


def test_observing_holds_nobody(project, turn):
    """What a contract in observe mode found is for the person, who was told."""
    project.trust(TWO + "mode: observe\n")
    turn.save()
    assert silent(turn.stop())


def test_a_doubt_takes_no_refutation_back(project, turn):
    """An agent that changes the code of the check afterwards only makes a doubt: what was refuted stays so."""
    project.write("check.sh", "#!/bin/sh\nexit 1\n", 0o755)
    project.trust('version: 1\ncontracts:\n  - id: checked\n    tool: mcp__notes__save_note\n'
                  '    post: {command: {run: ["{{project}}/check.sh"]}}\n')  # fmt: skip
    assert turn.save().text.startswith("NOT DONE")
    project.write("check.sh", "#!/bin/sh\nexit 1 # as before\n", 0o755)
    assert "NOT DONE" in reason(turn.stop())


def test_another_note_does_not_put_it_right(project, turn):
    """A success of the same contract over something else is no remedy."""
    project.trust(TWO)
    turn.save("a")
    turn.save("b", write=True)
    assert "notes/a.md" in reason(turn.stop())


def test_parallel_calls_are_told_apart(project, turn):
    """Of three calls at once, one lied: it alone is named."""
    project.trust(TWO)
    payloads = [turn.note(title) for title in "abc"]
    for each in payloads:
        turn.asked(each)
    for title in "ac":
        project.write(f"notes/{title}.md", "hello")
    for each in payloads:
        project.hook(each, turn.harness)
    text = reason(turn.stop())
    assert "call toolu_02" in text and "toolu_01" not in text and "toolu_03" not in text


def test_another_turn_and_another_session_are_their_own(project, turn):
    """A lie holds the turn in which it was told, and no other session."""
    project.trust(TWO)
    turn.save()
    assert silent(Turn(project, turn.harness, "turn-2").stop())
    assert silent(Turn(project, turn.harness, session="other").stop())
    assert "notes/a.md" in reason(turn.stop())


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
    assert "not put right" in reason(turn.stop())


# -- what the person is asked ------------------------------------------------------------------------------------


def claude(project, name, **block):
    """A line of Claude Code's transcript with the answer to a call."""
    content = [{"type": "tool_result", "tool_use_id": name, **block}]
    return project.write(os.path.join(project.base, "claude.jsonl"),
                         json.dumps({"type": "user", "message": {"role": "user", "content": content}}) + "\n")  # fmt: skip


def test_a_call_that_was_denied_holds_nobody(project):
    """Claude Code tells no hook of the end of a call that the person refused."""
    project.trust(TWO)
    turn = Turn(project)
    turn.asked(turn.note())
    assert silent(turn.stop())
    denied = claude(project, "toolu_01", content="The user doesn't want to proceed", is_error=True)
    assert silent(turn.stop(transcript_path=denied))


def test_a_success_of_which_no_hook_was_told_is_not_one(project):
    """The transcript knows an answer, and no hook judged it: nobody knows."""
    project.trust(TWO)
    turn = Turn(project)
    turn.asked(turn.note())
    text = reason(turn.stop(transcript_path=claude(project, "toolu_01", content="note saved")))
    assert text.startswith("NOT CONFIRMED") and "no hook was told how the call ended" in text


# -- sub-agents --------------------------------------------------------------------------------------------------


def test_a_sub_agent_answers_for_its_own_calls(project, turn):
    """It is held for its own lie and not for the main one's; when it has stopped, the main one answers for it, too."""
    project.trust(TWO)
    turn.save("main")
    turn.save("sub", **turn.agent("a1"))
    text = reason(turn.stop(event="SubagentStop", **turn.agent("a1")))
    assert "notes/sub.md" in text and "notes/main.md" not in text
    text = reason(turn.stop())
    assert "notes/main.md" in text and "notes/sub.md" in text


def test_a_sub_agent_that_goes_on_is_not_the_main_ones(project, turn):
    """A sub-agent in the background has its own stop."""
    project.trust(TWO)
    turn.save("main", write=True)
    turn.save("sub", **turn.agent("a1"))
    assert silent(turn.stop())


# -- claims ------------------------------------------------------------------------------------------------------

CLAIMS = """\
version: 1
contracts:
  - id: tests-run
    event: stop
    kind: shell
    when: {args.command: {runs: "npm test *"}}
    claims: ['(?i)tests? (all )?pass', '(?i)alle tests laufen durch', 'テストはすべて成功']
"""


@pytest.mark.parametrize("message", ["All tests pass.", "Fertig. Alle Tests laufen durch!", "テストはすべて成功しました"])
def test_a_claim_without_a_call_is_held(project, turn, message):
    """Whoever says that tests pass must have run them in this turn; the language is the contract's."""
    project.trust(CLAIMS)
    text = reason(turn.stop(message))
    assert text.startswith("NOT DONE") and "no call was made" in text and "kind shell" in text
    assert turn.stop(message, active=True).form == "notice"
    assert events(project, STOP)[0].data["claims"] == [["tests-run", "refuted"]]


def test_a_claim_with_its_call_is_not_held(project, turn):
    """Any message without the claim neither."""
    project.trust(CLAIMS)
    assert silent(turn.stop("I changed nothing."))
    turn.told(turn.bash("echo npm test"))
    assert "no call was made" in reason(turn.stop("Tests pass."))
    turn.name = "turn-2"
    turn.told(turn.bash("npm test -- --all"))
    assert silent(turn.stop("Tests pass."))


def test_a_call_of_an_earlier_turn_is_a_doubt(project, turn):
    """The message may speak of it: nobody is held, and the person is told."""
    project.trust(CLAIMS)
    turn.told(turn.bash("npm test"))
    turn.name = "turn-2"
    answer = turn.stop("As I said, tests pass.")
    assert answer.form == "notice" and "tests-run is unverified" in answer.notice


def test_a_call_before_the_contract_is_a_doubt(project, turn):
    """A call that nobody looked at for this contract may be the one."""
    project.trust(TWO)
    turn.told(turn.bash("npm test"))
    project.trust(CLAIMS)
    assert turn.stop("Tests pass.").form == "notice"


def test_a_sub_agents_claim_needs_its_own_call(project, turn):
    """What the main agent ran does not stand behind a sub-agent's words; the other way round it does."""
    project.trust(CLAIMS)
    turn.told(turn.bash("npm test", **turn.agent("a2")))
    assert "no call was made" not in str(turn.stop("Tests pass.", event="SubagentStop", **turn.agent("a2")).out)
    turn.name = "turn-2"
    turn.told(turn.bash("ls"))
    turn.told(turn.bash("npm test", **turn.agent("a1")))
    assert silent(turn.stop("Tests pass."))


def test_no_message_is_no_claim_and_no_pass(project, turn):
    """The person is told that it was not judged."""
    project.trust(CLAIMS)
    answer = turn.stop(None)
    assert answer.form == "notice" and "the last message was not told" in answer.notice


AT_STOP = """\
version: 1
contracts:
  - id: built
    event: stop
    post: {command: {run: [test, -e, done.txt]}}
    remedy: run make
"""


def test_what_must_hold_at_the_end(project, turn):
    """A contract without a call is judged at the main stop, in the project's folder, and not at a sub-agent's."""
    project.trust(AT_STOP)
    assert silent(turn.stop(event="SubagentStop", **turn.agent("a1")))
    elsewhere = project.folder("elsewhere")
    text = reason(turn.stop(cwd=elsewhere))
    assert "contract built (truecall.yaml:3)" in text and "run make" in text
    project.write("done.txt", "")
    assert silent(turn.stop())


def test_a_claim_that_is_looked_into(project, turn):
    """With `post`, the claim is judged by what is there."""
    project.trust(AT_STOP + "    claims: [built]\n")
    assert silent(turn.stop("Nothing to do."))
    assert "done.txt" in reason(turn.stop("It is built."))
    project.write("done.txt", "")
    assert silent(turn.stop("It is built."))


def test_after_such_a_call_only(project, turn):
    """With `kind` and without `claims`, it is judged where such a call was made in the turn."""
    project.trust(AT_STOP + "    kind: shell\n    when: {args.command: {runs: \"make *\"}}\n")
    turn.told(turn.bash("ls"))
    assert silent(turn.stop())
    turn.told(turn.bash("make all"))
    assert "contract built" in reason(turn.stop())


def test_doubts_at_the_stop(project, turn):
    """A contract in observe mode, and one that cannot be told, hold nobody, and the person is told."""
    project.trust(AT_STOP + "    mode: observe\n")
    answer = turn.stop()
    assert answer.form == "notice" and "truecall (observe): built is refuted at the stop" in answer.notice
    project.trust(AT_STOP.replace("done.txt", '"{{args.x}}"'))
    answer = turn.stop()
    assert answer.form == "notice" and "built is unverified" in answer.notice


def test_a_pattern_that_does_not_end(project):
    """It costs seconds, and is a doubt."""
    project.trust(CLAIMS.replace("'(?i)tests? (all )?pass'", "'(a|a)*c'"))
    answer = Turn(project).stop("a" * 60 + "b")
    assert answer.form == "notice" and "did not end" in answer.notice


# -- work in the background --------------------------------------------------------------------------------------

MADE = """\
version: 1
contracts:
  - id: built
    tool: Bash
    when: {args.command: {runs: "make *"}}
    post: {file_exists: {path: "{{project}}/app"}}
"""
LATER = {"response": {"backgroundTaskId": "b1"}}
RUNNING = [{"id": "b1", "type": "shell", "status": "running", "description": "make app", "command": "make app"}]


def test_background_work_is_never_verified_while_it_runs(project):
    """The file is there already, and the task still runs: held once, to wait or to tell."""
    project.trust(MADE)
    turn = Turn(project)
    project.write("app", "half")
    assert "NOT FINISHED" in turn.told(turn.bash("make app", **LATER)).text
    assert events(project, ENDED)[0].state == "pending"
    text = reason(turn.stop(background_tasks=RUNNING))
    assert text.startswith("NOT FINISHED") and "wait for it to end" in text
    assert turn.stop(active=True, background_tasks=RUNNING).form == "notice"
    assert not events(project, SETTLED)


def test_background_work_that_has_ended_is_judged_at_the_stop(project):
    """It is no longer among the tasks that run."""
    project.trust(MADE)
    turn = Turn(project)
    turn.told(turn.bash("make app", **LATER))
    assert "refuted" in reason(turn.stop())
    (judged,) = events(project, JUDGED)
    assert judged.state == "refuted"
    project.write("app", "whole")
    assert silent(turn.stop())
    turn.told(turn.bash("make app2", response={"backgroundTaskId": "b2"}))
    project.write("app", "new")
    assert silent(turn.stop())


def test_where_nobody_says_what_runs_it_stays_open(project):
    """Without the list of tasks nothing is taken for ended."""
    project.trust(MADE)
    turn = Turn(project)
    turn.told(turn.bash("make app", **LATER))
    project.write("app", "whole")
    assert "NOT FINISHED" in reason(turn.stop(background_tasks=None))


@pytest.mark.parametrize("status, code, form", [("completed", 0, "append"), ("failed", 2, "silent"),
                                                ("running", None, "silent")])  # fmt: skip
def test_background_work_whose_end_a_call_tells(project, status, code, form):
    """TaskOutput names the task and how it ended: it is judged at once, and its lie told beside the answer."""
    project.trust(MADE)
    turn = Turn(project)
    turn.told(turn.bash("make app", **LATER))
    task = {"task_id": "b1", "task_type": "local_bash", "status": status, "output": "", "exitCode": code}
    answer = project.payload("claude-code", "TaskOutput", {"task_id": "b1"},
                             {"retrieval_status": "success", "task": task}, tool_use_id="toolu_09", **turn.marks)  # fmt: skip
    found = turn.told(answer)
    assert found.form == form
    assert len(events(project, JUDGED)) == (status != "running")
    assert (b"NOT DONE" in found.out) == (code == 0)
    if code == 2:
        assert silent(turn.stop())


# -- Codex: calls of whose end no hook is told -------------------------------------------------------------------

FILES = "version: 1\nuse: [files]\n" + TWO.partition("version: 1\n")[2]


def rollout(project, *records):
    lines = [json.dumps({"type": kind, "payload": payload}) for kind, payload in records]
    return project.write(os.path.join(project.base, "rollout.jsonl"), "\n".join(lines) + "\n")


def output(call, text):
    return "response_item", {"type": "function_call_output", "call_id": call, "output": text}


def completed(call, kind="FileChange", status="completed", **more):
    return "event_msg", {"type": "item_completed", "item": {"type": kind, "id": call, "status": status, **more}}


HEREDOC = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: via.txt\n+via shell\n*** End Patch\nEOF"
SUCCESS = "Wall time: 0.0 seconds\nOutput:\nExit code: 0\nOutput:\nSuccess. Updated the following files:\nA via.txt\n"


@pytest.mark.parametrize("command", [HEREDOC, f"cd . && {HEREDOC}"])
@pytest.mark.parametrize("there", [True, False])
def test_a_patch_inside_a_command(project, command, there):
    """Codex applies it itself, and tells no hook: a file that is not there holds the agent."""
    project.trust(FILES)
    turn = Turn(project, "codex")
    turn.asked(turn.bash(command))
    if there:
        project.write("via.txt", "via shell\n")
    told = rollout(project, completed("toolu_01"), output("toolu_01", SUCCESS))
    answer = turn.stop(transcript_path=told)
    if there:
        assert silent(answer)
    else:
        assert "via.txt" in reason(answer)
    (ended,) = events(project, ENDED)
    assert (ended.call, ended.tool, ended.data["reported"]) == ("toolu_01", "apply_patch", "success")


def test_a_patch_that_failed_and_said_so(project):
    """Its failure was told to the agent."""
    project.trust(FILES)
    turn = Turn(project, "codex")
    turn.asked(turn.bash(HEREDOC))
    said = "apply_patch verification failed: Failed to read file"
    assert silent(turn.stop(transcript_path=rollout(project, output("toolu_01", said))))
    assert events(project, ENDED)[0].data["reported"] == "failure"


def test_an_error_of_an_mcp_tool(project):
    """No hook comes after it; it said so itself, in both forms of the transcript."""
    project.trust(FILES)
    turn = Turn(project, "codex")
    turn.asked(turn.note("a"))
    turn.asked(turn.note("b"))
    result = {"Ok": {"content": [], "isError": True}}
    told = rollout(project, completed("toolu_01", "McpToolCall", "failed"),
                   ("event_msg", {"type": "mcp_tool_call_end", "call_id": "toolu_02", "result": result}))  # fmt: skip
    assert silent(turn.stop(transcript_path=told))
    assert [each.data["reported"] for each in events(project, ENDED)] == ["failure", "failure"]


@pytest.mark.parametrize("path", [None, "/nonexistent"])
def test_without_a_transcript_the_effect_decides(project, path):
    """Nobody says how a call ended: what it was to bring about is there, or it is not."""
    project.trust(FILES)
    turn = Turn(project, "codex")
    turn.asked(turn.note("a"))
    assert "notes/a.md" in reason(turn.stop(transcript_path=path))
    turn.name = "turn-2"
    turn.asked(turn.note("b"))
    project.write("notes/b.md", "hello")
    assert silent(turn.stop(transcript_path=path))


def test_a_command_that_still_runs(project):
    """It is not finished, whatever lies there; when it has ended it is judged."""
    project.trust(MADE)
    turn = Turn(project, "codex")
    turn.asked(turn.bash("make app"))
    project.write("app", "half")
    runs = output("toolu_01", "Chunk ID: fec9cd\nWall time: 0.3 seconds\nProcess running with session ID 7\nOutput:\na\n")
    assert reason(turn.stop(transcript_path=rollout(project, runs))).startswith("NOT FINISHED")
    ended = completed("toolu_01", "CommandExecution", exit_code=0)
    assert silent(turn.stop(transcript_path=rollout(project, runs, ended)))
    assert events(project, ENDED)[0].data["exit_code"] == 0


@pytest.mark.parametrize("path", [None, "/nonexistent"])
def test_a_command_without_a_record_may_still_run(project, path):
    """In code mode Codex writes none until it ends: what lies there proves nothing."""
    project.trust(MADE)
    turn = Turn(project, "codex")
    turn.asked(turn.bash("make app"))
    project.write("app", "half")
    text = reason(turn.stop(transcript_path=path))
    assert text.startswith("NOT CONFIRMED") and "the transcript does not say it" in text
    assert not events(project, ENDED)


def test_what_a_command_prints_is_no_record(project):
    """Words below Codex' own header are the command's."""
    project.trust(MADE)
    turn = Turn(project, "codex")
    turn.asked(turn.bash("make app"))
    said = "Wall time: 0 seconds\nProcess exited with code 0\nOutput:\nProcess exited with code 1\napply_patch verification failed"
    assert "refuted" in reason(turn.stop(transcript_path=rollout(project, output("toolu_01", said))))


# -- what cannot be known ----------------------------------------------------------------------------------------


def test_a_ledger_that_is_damaged(project, turn):
    """The agent is held once, to tell the user; never twice."""
    project.trust(TWO)
    turn.save()
    for name in os.listdir(project.state):
        if name.startswith("ledger.db"):
            project.write(os.path.join(project.state, name), "no database " * 500)
    text = reason(turn.stop())
    assert text.startswith("NOT CONFIRMED") and "tell the user" in text
    assert turn.stop().form == "notice"
    assert turn.stop(active=True).form == "notice"


def test_a_damaged_pin(project, turn):
    """The person is told, and nobody is held for ever."""
    pin = project.trust(AT_STOP)
    with open(pin, "r+b") as file:
        data = file.read().replace(b'"id":"built"', b'"id":"bui!!!')
        file.seek(0)
        file.write(data)
    assert turn.stop().form == "notice"


@pytest.mark.parametrize("active", [False, True])
def test_a_bug_of_our_own(project, turn, active, tmp_path):
    """An exception at the stop holds the agent once."""
    import shutil

    from conftest import ROOT

    copy = str(tmp_path / "copy")
    shutil.copytree(os.path.join(ROOT, "truecall_py"), os.path.join(copy, "truecall_py"))
    shutil.copytree(os.path.join(ROOT, "hooks"), os.path.join(copy, "hooks"))
    with open(os.path.join(copy, "truecall_py", "stopping.py"), "a") as file:
        file.write("\ndef reply(*_):\n    raise RuntimeError('x')\n")
    project.trust(TWO)
    payload = {"session_id": SESSION, "hook_event_name": "Stop", "stop_hook_active": active, "cwd": project.root,
               "transcript_path": None, **turn.marks}  # fmt: skip
    answer = project.hook(payload, turn.harness, "Stop", run=os.path.join(copy, "hooks", "run.sh"))
    assert ("decision" in answer.json) == (not active)
    assert "a bug of its own" in str(answer.json)
