"""`truecall log` and `last`, as real processes over ledgers that were written as the hook writes them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from typing import Any

import pytest
from support.ledgers import NOTE, call, scene, verdict
from support.project import PATIENCE, ROOT

from truecall_py.clients.claude_code import hook
from truecall_py.core import timestamps
from truecall_py.core.errors import UsageError
from truecall_py.ledger import events
from truecall_py.ledger.store import ENDED, FILE, REFUSED, REQUESTED, WAITING, Event, Ledger
from truecall_py.reporting.calls import RUNNING

REFUSAL = ("only a person", "--person")


@pytest.fixture
def told(project: Any) -> Any:
    scene(project.state)
    return project


def ran(project: Any, *argv: str, code: int = 0, **more: Any) -> str:
    done = project.command(*argv, **more)
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr
    text: str = done.stdout if code in (0, 1) else done.stdout + done.stderr
    return text


def names(project: Any, *argv: str) -> list[str]:
    return [each["call"] for each in json.loads(ran(project, "log", "--json", *argv))]


def test_calls_are_listed_newest_first(told: Any) -> None:
    """One line a call with what is wrong below it, under its session; 80 letters, no colour where no terminal is."""
    out = ran(told, "log")
    lines = out.splitlines()
    assert lines[0] == "session s1  claude-code" and "refuted" in lines[1] and "lie-3" in lines[1]
    assert all(len(line) <= 80 for line in lines) and "\x1b" not in out
    assert "    trial (observe): false success: nothing at /p/notes/a.md" in lines
    assert names(told)[:4] == ["lie-3", "runs", "rests", "long"]
    assert len(names(told, "--limit", "2")) == 2


def test_no_colour_where_none_is_wanted(told: Any) -> None:
    """A terminal has colours, and has none with NO_COLOR."""
    assert b"\x1b[31m" in at_a_terminal(told, {})
    assert b"\x1b" not in at_a_terminal(told, {"NO_COLOR": "1"})


def at_a_terminal(project: Any, env: dict[str, str]) -> bytes:
    """What `truecall log` writes there."""
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "truecall_py", "log", "--limit", "2"]
    env = {**project.env, "PYTHONPATH": ROOT, "TERM": "xterm", **env}
    done = subprocess.run(argv, cwd=project.root, stdin=theirs, stdout=theirs, env=env, timeout=PATIENCE, check=False)  # noqa: S603
    os.close(theirs)
    assert done.returncode == 0
    text = os.read(ours, 65536)
    os.close(ours)
    return text


def test_calls_are_chosen_by_what_they_are(told: Any) -> None:
    """Session, tool, state, outcome and time, each by itself and together."""
    assert names(told, "--session", "s2") == ["runs", "rests", "long", "open"]
    assert names(told, "--tool", "mcp__*", "--state", "refuted") == ["lie-3", "lie-2", "lie-1"]
    assert names(told, "--state", "unverified") == ["open"] and names(told, "--state", "pending") == []
    assert names(told, "--state", "running") == ["runs"] and names(told, "--state", "refused") == ["rests"]
    for outcome in ("false success", "lie"):  # the name, and the stored value
        assert names(told, "--outcome", outcome) == ["lie-3", "seen", "lie-2", "lie-1"]
    assert "is not one of: false success" in ran(told, "log", "--outcome", "true", code=2)
    assert names(told, "--since", "20m") == ["lie-3", "runs", "rests"]
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() - 900))
    assert names(told, "--since", at) == ["lie-3", "runs"]
    assert ran(told, "log", "--session", "s1", "--state", "running") == "no call matches\n"


def test_a_session_is_named_by_its_beginning(project: Any) -> None:
    """One that nobody knows is said to be unknown, never to be without fault; one of several is asked about."""
    ledger = Ledger(project.state)
    for session in ("9f1c02ce-1", "9f1c02ce-2", "77aa-1"):
        ledger.add(Event(session, "c", ENDED, time.time(), "claude-code", state="refuted",
                         data={"verdicts": [verdict("refuted")], "form": "replace", "reported": "success"}))  # fmt: skip
    ledger.close()
    for argv in (("log",), ("log", "c"), ("last",), ("export",), ("report", "-o", "-")):
        assert "77aa-1" in ran(project, *argv, "--session", "77")
        assert "no session 'none'" in ran(project, *argv, "--session", "none", code=2)
        assert "2 sessions start with '9f1c'" in ran(project, *argv, "--session", "9f1c", code=2)


def test_one_call_in_full(told: Any) -> None:
    """From its request to what the agent did next, in order, with the evidence."""
    out = ran(told, "log", "lie-1")
    words = ("mcp__notes__save_note", "s1 (claude-code)", "/p", "title: a", "body: hello", "requested", "ended after 1.5 s",
             "reported success", "refuted    note-saved  false success  truecall.yaml:3", "expected   a file at /p/notes/a.md",
             "found      nothing at /p/notes/a.md", "to make the same call again, instead of the tool's output", "same call: mcp__notes__save_note lie-1b, verified")  # fmt: skip
    at = [out.index(word) for word in words]
    assert at == sorted(at)
    assert "attempt    2; since the previous attempt, nothing changed" in ran(told, "log", "lie-1b")
    assert "changed: title" in ran(told, "log", "lie-3") and "no further attempt" in ran(told, "log", "lie-3")
    assert "other route: Write way-2" in ran(told, "log", "lie-2")
    assert "refused by truecall before it ran: it lied twice" in ran(told, "log", "rests")
    assert "resolved by stop: verified" in ran(told, "log", "long")
    running = ran(told, "log", "runs")
    assert running.index("requested") < running.index("waited for the user's permission") < running.index("no end was recorded")


def test_one_call_as_data(told: Any) -> None:
    """Its keys stay, and its events are all there."""
    found = json.loads(ran(told, "log", "lie-2", "--json"))
    assert set(found) == {
        "session", "call", "harness", "turn", "agent", "tool", "state", "reported", "began", "ended", "args", "verdicts",
        "attempt", "changed", "class", "order", "form", "events", "then",
    }  # fmt: skip
    assert [each["event"] for each in found["events"]] == [REQUESTED, ENDED]
    assert found["then"] == {"what": "other route", "call": "way-2", "state": "verified"}
    assert [each["event"] for each in json.loads(ran(told, "log", "runs", "--json"))["events"]] == [REQUESTED, WAITING]
    assert json.loads(ran(told, "log", "runs", "--json"))["state"] == RUNNING


def test_a_call_is_found_by_the_beginning_of_its_id(told: Any) -> None:
    """As long as only one begins so; the whole id is never taken for a beginning; unknown ones are said to be."""
    assert ran(told, "log", "way").startswith("way-2")
    assert ran(told, "log", "lie-1").startswith("lie-1 ")
    assert "2 calls start with" not in ran(told, "log", "lie-1")
    assert "calls start with" in ran(told, "log", "lie", code=2)
    assert "there is no call" in ran(told, "log", "nothing", code=2)
    assert "there is no call" in ran(told, "log", "way-2", "--session", "s2", code=2)


def test_nothing_is_a_sentence(project: Any) -> None:
    """Without a ledger, and with one of no bytes: a sentence, exit code 0, and no file is made."""
    for argv in (("log",), ("last",), ("stats",), ("log", "--prune", "1d")):
        assert "the ledger is empty" in ran(project, *argv)
    assert json.loads(ran(project, "log", "--json")) == []
    assert not os.path.exists(project.state)
    os.makedirs(project.state)
    project.write(os.path.join(project.state, FILE), "")
    assert "the ledger is empty" in ran(project, "log")


def test_a_damaged_ledger_is_said_to_be(told: Any) -> None:
    """Exit code 3, what and where, and the way out."""
    for name in os.listdir(told.state):
        told.write(os.path.join(told.state, name), b"no database" * 1000)
    for argv in (("log",), ("last",), ("stats",)):
        out = ran(told, *argv, code=3)
        assert FILE in out and "away" in out


def test_what_the_ledger_holds_moves_no_cursor(project: Any) -> None:
    """Control and bidirectional letters of tools, ids, arguments and evidence are written out."""
    ledger = Ledger(project.state)
    evil = "\x1b[2J\u202eevil"
    call(ledger, f"c{evil}", verdict("refuted", found=evil, contract=evil), at=5, tool=evil, args={evil: evil})
    ledger.close()
    for argv in (("log",), ("log", "c"), ("last",), ("stats",)):
        out = ran(project, *argv)
        assert "\x1b" not in out and "\u202e" not in out and "evil" in out


def test_wrong_times_and_states_are_said_to_be(told: Any) -> None:
    """Usage errors end with 2 and name what is accepted."""
    assert "2h, 7d" in ran(told, "log", "--since", "yesterday-ish", code=2)
    assert "duration" in ran(told, "log", "--prune", "soon", code=2)
    assert "refuted" in ran(told, "log", "--state", "wrong", code=2)


def test_pruning_is_for_a_person_that_agrees(told: Any) -> None:
    """Asks on a terminal unless --yes; an agent's shell is refused; whole old sessions go."""
    assert "add --yes" in ran(told, "log", "--prune", "10s", code=2)
    refused = ran(told, "log", "--prune", "10s", "--yes", code=2, env={"CLAUDECODE": "1"})
    assert all(word in refused for word in REFUSAL)
    assert len(names(told)) == 12
    assert ran(told, "log", "--prune", "5m", "--yes") == "deleted: 1 session, 8 events\n"
    assert "no session 's2'" in ran(told, "log", "--session", "s2", code=2) and len(names(told)) == 8
    ran(told, "log", "--prune", "1s", "--yes", "--person", env={"CLAUDECODE": "1"})
    assert names(told) == []


def test_last_is_the_newest_that_stopped_the_agent(told: Any) -> None:
    """Refuted, refused or unverified; what was only observed is not one, and neither is a tool's honest failure."""
    out = ran(told, "last")
    assert "lie-3  refuted" in out and "s ago:" in out and "note-saved  false success  truecall.yaml:3" in out and "order" in out
    assert "rests  refused" in ran(told, "last", "--session", "s2")
    ledger = Ledger(told.state)
    call(ledger, "honest", verdict("refuted", outcome="honest failure"), at=1, reported="failure", form="silent", order="")
    call(ledger, "watched", verdict("refuted", mode="observe"), at=1, form="observe")
    ledger.close()
    assert "lie-3  refuted" in ran(told, "last")
    assert "no session 'none'" in ran(told, "last", "--session", "none", code=2)


def kept_call(project: Any, args: dict[str, Any], asked: bool = True, **more: Any) -> None:
    """A refuted call as the hook keeps it, digest and all; without its request where it was not `asked` for."""
    payload = project.mcp(args=args)
    parsed = hook.parse(payload)
    assert parsed is not None
    ledger = Ledger(project.state)
    plain = {"harness": "claude-code", "tool": parsed.tool, "identity": events.make_identity(parsed, ledger.read_key())}
    kept = events.mask_args(parsed.args)
    ledger.add(
        *([Event("s9", "again-1", REQUESTED, time.time() - 9, data={"args": kept, "cwd": project.root}, **plain)] * asked),
        Event("s9", "again-1", ENDED, time.time() - 8, state="refuted",
              data={"args": kept, "reported": "success", "verdicts": [verdict("refuted", **more)], "form": "replace"},
              **plain),
    )  # fmt: skip
    ledger.close()


def test_last_again_judges_the_very_call(project: Any) -> None:
    """The trusted contract over the arguments that were kept: refuted as long as it is not done, verified once it is."""
    project.trust()
    kept_call(project, {"title": "a", "body": "hello", "count": 3, "deep": {"x": [1, True]}})
    assert "again: refuted note-saved" in ran(project, "last", "--again", code=1)
    project.write("notes/a.md", "hello")
    assert "again: verified note-saved" in ran(project, "last", "--again")


@pytest.mark.parametrize(
    ("args", "why"),
    [({"title": "a", "password": "hunter2 hunter2"}, "password was masked"),
     ({"title": "a", "body": "x" * 5000}, "body was cut"),
     ({"title": "a", **{f"n{number}": "1" for number in range(45)}}, "differ from those of the call")],
)  # fmt: skip
def test_last_again_says_what_is_missing(project: Any, args: dict[str, Any], why: str) -> None:
    """Arguments that were masked, cut or left out are not guessed: could not verify, exit code 3."""
    project.trust()
    kept_call(project, args)
    out = ran(project, "last", "--again", code=3)
    assert "cannot judge it again" in out and why in out


def test_last_again_needs_the_contract_and_the_effect(project: Any) -> None:
    """A contract that is not trusted here any more, one about the answer, and a call that never ran: not verified."""
    kept_call(project, {"title": "a", "body": "hello"})
    assert "is not among the contracts" in ran(project, "last", "--again", code=3)
    project.trust("version: 1\ncontracts:\n  - id: note-saved\n    tool: mcp__notes__save_note\n"
                  "    post: {result: {of: text, contains: saved}}\n")  # fmt: skip
    assert "again: unverified note-saved" in ran(project, "last", "--again", code=3)
    ledger = Ledger(project.state)
    ledger.add(Event("s9", "no", REFUSED, time.time(), "claude-code", tool=NOTE, data={"why": "it rests"}))
    ledger.close()
    assert "refused before it ran" in ran(project, "last", "--again", code=3)


def test_last_again_needs_the_folder_of_the_call(project: Any) -> None:
    """Of a call whose request was never heard of no folder is kept, and it is not looked for in another: said so."""
    project.trust()
    kept_call(project, {"title": "a", "body": "hello"}, asked=False)
    assert "and so no folder" in ran(project, "last", "--again", code=3)


def test_times_as_people_write_and_read_them() -> None:
    """Durations with a unit, dates of ISO 8601; spoken in two units at most."""
    assert timestamps.parse_duration("90s") == 90 and timestamps.parse_duration("1.5h") == 5400 and timestamps.parse_duration("2w") == 1209600
    assert timestamps.parse_time("2h", 10_000.0) == 2800.0
    assert timestamps.parse_time("2026-11-29T00:00:00+00:00", 0.0) == 1795910400.0
    for wrong in ("", "5", "h", "-1h", "0s", "1y", "2026-13-01", "nan", "infs"):
        with pytest.raises(UsageError):
            timestamps.parse_time(wrong, 0.0)
    spoken = {0.34: "340 ms", 1.24: "1.2 s", 59.7: "1 min", 200: "3 min 20 s", 7500: "2 h 5 min", 266400: "3 days 2 h",
              86400: "1 day", 0.9999: "1.0 s", 9.96: "10 s"}  # fmt: skip
    assert {seconds: timestamps.format_duration(seconds) for seconds in spoken} == spoken
