"""What is kept of a call that stands open: enough to judge it again, no secret, and not for long."""

from __future__ import annotations

import json
import os
import time

import pytest
from support.shell_contract import SHELL
from support.turns import SESSION, TWO, Turn, reason, silent

from truecall_py.ledger.store import ENDED, SETTLED, Ledger

PLACE = """\
version: 1
contracts:
  - id: note-saved
    tool: mcp__notes__save_note*
    post:
      - file_exists: {path: "{{project}}/notes/{{args.title}}.md"}
"""
BODY = PLACE.replace('.md"}', '.md", contains: "{{args.body}}"}')


@pytest.fixture
def turn(project, harness):
    return Turn(project, harness)


def kept(project, session=SESSION):
    """The names and the bytes of the calls that are kept."""
    folder = os.path.join(project.state, "open", session)
    there = os.listdir(folder) if os.path.isdir(folder) else []
    names = sorted(name for name in there if name.endswith(".json"))
    found = {}
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


def stored(project):
    """All that lies in the state folder but contracts."""
    data = b""
    for folder, _, names in os.walk(project.state):
        for name in names:
            if "/contracts" not in folder:
                with open(os.path.join(folder, name), "rb") as file:
                    data += file.read()
    return data


def events(project, kind):
    return [each for each in Ledger(project.state).session(SESSION) if each.event == kind]


def note(turn, answer="note saved", **args):
    turn.calls += 1
    more = {"tool_use_id": f"toolu_{turn.calls:02}", **turn.marks}
    payload = turn.project.mcp(turn.harness, args={"title": "a", "body": "hello", **args}, **more)
    blocks = [{"type": "text", "text": answer}]
    return {**payload, "tool_response": {"content": blocks} if turn.harness == "codex" else blocks}


def test_no_secret_is_kept(project, turn):
    """Neither of the arguments, wherever in them, nor of the answer; the call is judged again all the same, since its
    contract asks for none of them."""
    project.trust(PLACE)
    answer = "Authorization: Bearer sk-live-hunter1234567890"
    turn.told(note(turn, answer, password="hunter2 two", cfg={"auth": [{"token": "hunter3"}]}, argv=["mysql", "-phunter4"]))
    assert kept(project) and b"hunter" not in stored(project) and b"two" not in b"".join(kept(project).values())
    project.write("notes/a.md", "x")
    assert silent(turn.stop())
    (settled,) = events(project, SETTLED)
    (ended,) = events(project, ENDED)
    assert settled.identity == ended.identity


def test_what_asks_for_a_secret_is_not_told(project, turn):
    """A contract that needs the argument cannot be looked at again: what was refuted stays refuted, and is not
    compared with what stands in the secret's place."""
    project.trust(BODY)
    turn.told(note(turn, body="password: hunter2"))
    assert b"hunter" not in stored(project)
    project.write("notes/a.md", "password: [masked]")
    assert "not corrected" in reason(turn.stop())
    assert not events(project, SETTLED)


@pytest.mark.parametrize("check", ["custom: {run: [sh, -c, \"cat >/dev/null; exit 0\"]}",
                                   "result: {of: text, contains: saved}"])  # fmt: skip
def test_what_gets_the_whole_call_is_not_told_either(project, check):
    """A check of one's own reads all arguments, a check of the answer the answer: neither is given half of it."""
    project.trust(PLACE + f"      - {check}\n")
    turn = Turn(project)
    turn.told(note(turn, "saved, token: hunter2", password="hunter3"))
    assert b"hunter" not in stored(project)
    project.write("notes/a.md", "x")
    turn.stop()
    assert not events(project, SETTLED)


def test_a_command_with_a_secret_is_read_all_the_same(project, turn):
    """Its words count: what a contract takes out of it is the secret or is not."""
    project.trust(SHELL)
    turn.told(turn.project.bash("TOKEN=hunter2 make-db d1", turn.harness, tool_use_id="b1", **turn.marks))
    turn.told(turn.project.bash("make-db d2-token=hunter2", turn.harness, tool_use_id="b2", **turn.marks))
    assert b"hunter" not in stored(project)
    project.write("d1", "x")
    project.write("d2-token=[masked]", "x")
    text = reason(turn.stop())
    assert "call b2" in text and "call b1" not in text
    assert [each.call for each in events(project, SETTLED)] == ["b1"]


def test_what_is_too_large_is_not_looked_through(project):
    """A long answer costs no time: a call that is too large is left out before anybody looks for secrets in it."""
    from truecall_py.core import redaction
    from truecall_py.core.types import ToolCall
    from truecall_py.ledger import pending_calls

    def forbidden(*_):
        raise AssertionError("it was looked through")

    before, redaction.mask_secrets = redaction.mask_secrets, forbidden
    try:
        blocks = [{"type": "text", "text": "x" * (2 << 20)}]
        for more in ({"response": blocks}, {"text": "x" * (2 << 20)}):
            call = ToolCall("codex", "PostToolUse", "t", frozenset(("mcp",)), {}, session="s", call_id="c", **more)
            assert not pending_calls.keep_call(project.state, call, 1.0, "i")
    finally:
        redaction.mask_secrets = before


def test_a_secret_in_the_name_of_a_file_is_not_kept_at_all(project):
    """A masked path would be another file."""
    project.trust('version: 1\ncontracts:\n  - id: w\n    kind: write\n    post: {file_exists: {path: "{{file.path}}"}}\n')
    turn = Turn(project)
    turn.told(project.wrote("token=hunter2", "x", tool_use_id="w", **turn.marks))
    assert not kept(project) and b"hunter" not in stored(project)
    assert "could not check again" in reason(turn.stop())


def test_what_was_put_right_goes_at_once(project, turn):
    """Another call that brings the effect about ends the keeping, before any stop; one beside it stays."""
    project.trust(TWO)
    turn.save("a")
    turn.save("b")
    assert len(kept(project)) == 2
    turn.save("a", write=True)
    assert list(kept(project)) == ["toolu_02.json"]


def test_nothing_stays_after_the_turn(project, turn):
    """Once the agent may stop nobody looks again: what stood open is gone, and so is what an interrupted turn left;
    while it is held it stays."""
    project.trust(TWO)
    Turn(project, turn.harness, "turn-0").save("z")
    turn.calls = 1
    turn.save()
    assert "not corrected" in reason(turn.stop()) and len(kept(project)) == 2
    assert turn.stop(active=True).form == "notice" and not kept(project)


def test_a_registration_that_is_doubled_takes_nothing_away(project, turn):
    """The second of two stops that are one holds nobody; the agent that the first one held is looked at again."""
    project.trust(TWO)
    turn.save()
    assert "not corrected" in reason(turn.stop()) and turn.stop().form == "notice"
    project.write("notes/a.md", "hello")
    assert silent(turn.stop(active=True)) and not kept(project)


def test_background_work_outlives_the_turn(project):
    """A task that runs on is asked for later."""
    project.trust(SHELL)
    turn = Turn(project)
    turn.told(project.bash("make-db d1", response={"backgroundTaskId": "bg1"}, tool_use_id="b1", **turn.marks))
    turn.stop(background_tasks=[{"id": "bg1", "status": "running"}])
    turn.stop(active=True, background_tasks=[{"id": "bg1", "status": "running"}])
    assert list(kept(project)) == ["b1.json"]


def test_other_sessions_go_by_their_age(project, turn):
    """A session that ended without a word is cleared a day later, by whichever one stops next."""
    project.trust(TWO)
    other = "00000000-0000-4000-8000-00000000000f"
    Turn(project, turn.harness, session=other).save()
    assert kept(project, other)
    turn.save("b", write=True)
    assert silent(turn.stop()) and kept(project, other)
    folder = os.path.join(project.state, "open", other)
    past = time.time() - 25 * 3600
    for path in (os.path.join(folder, "toolu_01.json"), folder):
        os.utime(path, (past, past))
    assert silent(turn.stop()) and not os.path.exists(folder)


def test_clients_without_a_stop_keep_nothing(project):
    """Where no stop is told of nobody looks again."""
    from support.client_payloads import ran

    project.trust(SHELL)
    answer = project.hook(ran(project, "gemini-cli", command="make-db d1"), "gemini-cli", "AfterTool")
    assert "NOT DONE" in answer.out.decode() and not os.path.exists(os.path.join(project.state, "open"))


def test_pruning_takes_what_lies_beside(project, turn):
    """`log --prune` forgets of old sessions what lies beside the ledger, of others what is old; a link is nobody's."""
    project.trust(TWO)
    turn.save()
    assert kept(project) and os.listdir(os.path.join(project.state, "snapshots"))
    strange = project.write("mine/x.json", "{}")
    os.symlink(os.path.dirname(strange), os.path.join(project.state, "open", "link"))
    for _ in range(2):
        done = project.command("log", "--prune", "30d", "--yes", "--person")
        assert done.returncode == 0 and kept(project), done
    Ledger(project.state).query("UPDATE events SET at = 1000")
    done = project.command("log", "--prune", "30d", "--yes", "--person")
    assert "deleted: 1 session" in done.stdout and not kept(project), done
    assert not os.listdir(os.path.join(project.state, "snapshots")) and os.path.exists(strange)


def test_pruning_without_a_ledger(project, turn):
    """What a deleted ledger left beside it goes, too."""
    project.trust(TWO)
    turn.save()
    for name in os.listdir(project.state):
        if name.startswith("ledger.db"):
            os.unlink(os.path.join(project.state, name))
    path = os.path.join(project.state, "open", SESSION, "toolu_01.json")
    os.utime(path, (1000, 1000))
    done = project.command("log", "--prune", "30d", "--yes", "--person")
    assert done.returncode == 0 and not os.path.exists(path), done
    assert json.loads(project.command("log", "--json").stdout or "[]") == []
