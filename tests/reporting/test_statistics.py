"""`truecall stats` and the view of calls behind it: each figure from a ledger in which it is known; what doctor says of
the ledger."""

from __future__ import annotations

from typing import Any

import pytest
from support.doctor import doctor, said
from support.ledgers import NOTE, call, scene, verdict
from support.settings import run
from support.statistics import stats

from truecall_py.ledger.store import ENDED, REQUESTED, SETTLED, Event, Ledger
from truecall_py.reporting import calls, queries


def by(rows: list[dict[str, Any]], name: str) -> dict[str, dict[str, Any]]:
    return {row[name]: row for row in rows}


def test_every_figure_is_the_one_that_the_ledger_holds(project: Any) -> None:
    """False claims over claims, the unknown, would-have-blocked, tools, contracts, and what corrections led to."""
    scene(project.state)
    found = stats(project)
    assert set(found) == {"since", "sessions", "calls", "judged", "refused", "claims", "observe", "tools", "outcomes",
                          "contracts", "retries", "after", "operations", "switched_off"}  # fmt: skip
    assert (found["sessions"], found["calls"], found["judged"], found["refused"]) == (2, 12, 9, 1)
    assert found["claims"] == {"judged": 9, "false": 4, "not_told": 1, "rate": 0.4444}
    assert found["observe"] == {"would_have_blocked": 1}
    assert found["after"] == {"same_call": 1, "other_route": 1, "nothing": 2}
    assert by(found["tools"], "tool")[NOTE] == {"tool": NOTE, "calls": 4, "refuted": 3, "unverified": 0, "lies": 3}
    assert by(found["outcomes"], "tool")["Bash"] == {
        "tool": "Bash", "lie": 1, "refuted": 0, "unverified": 1, "pending": 0, "verified": 2,
    }  # fmt: skip
    assert by(found["contracts"], "contract")["trial"]["would_block"] == 1
    assert by(found["contracts"], "contract")["up"] == {
        "contract": "up", "verdicts": 2, "refuted": 0, "unverified": 1, "lies": 0, "would_block": 0,
    }  # fmt: skip
    assert found["retries"] == [{"class": "other", "corrections": 4, "same_call": 1, "other_route": 1, "landed": 2,
                                 "refuted_again": 0, "open": 0}]  # fmt: skip


def test_since_leaves_out_what_is_older(project: Any) -> None:
    """Calls before it are not counted, even those of a session that goes on."""
    scene(project.state)
    found = stats(project, "--since", "15m")
    assert (found["sessions"], found["calls"]) == (2, 2) and found["claims"]["judged"] == 1
    assert stats(project, "--since", "1s")["calls"] == 0


def test_what_the_tool_said_itself_is_no_false_claim(project: Any) -> None:
    """An honest failure and a call that claimed nothing are no claims; a pending one is none yet."""
    ledger = Ledger(project.state)
    call(ledger, "a", verdict("refuted", outcome="honest failure"), at=9, reported="failure", form="silent")
    call(ledger, "b", verdict("refuted", outcome="not landed"), at=8, reported="unknown")
    call(ledger, "c", verdict("pending"), at=7, form="append")
    ledger.close()
    found = stats(project)
    assert found["claims"] == {"judged": 0, "false": 0, "not_told": 0, "rate": None}
    assert sum(found["after"].values()) == 1
    assert "no call that reported success was judged yet" in project.command("stats").stdout


def test_the_text_fits_a_terminal(project: Any) -> None:
    """80 letters, no colour where nobody looks, long names cut."""
    scene(project.state)
    ledger = Ledger(project.state)
    call(ledger, "x", verdict("refuted", contract="c" * 200), at=1, tool="t" * 200)
    for number in range(30):
        call(ledger, f"y{number}", verdict("verified"), at=1, tool=f"tool-{number}")
    ledger.close()
    out = project.command("stats").stdout
    assert all(len(line) <= 80 for line in out.splitlines()) and "\x1b" not in out
    assert "claims of success" in out and "more: --json shows them all" in out


def view(state: str, session: str = "s") -> list[calls.Call]:
    return calls.group_calls(Ledger(state).session(session))


def test_what_settles_a_call_takes_the_place_of_what_it_settles(tmp_path: Any) -> None:
    """The pending verdict goes, the others of the call stay, and the call stands as it was settled."""
    ledger = Ledger(str(tmp_path))
    call(ledger, "a", verdict("pending", "up"), verdict("verified", "built"), at=9, session="s")
    ledger.add(Event("s", "a", SETTLED, 9e9, state="refuted", data={"verdicts": [verdict("refuted", "up")]}))
    (one,) = view(str(tmp_path))
    assert one.state == "refuted"
    assert [(each["contract"], each["state"]) for each in one.verdicts] == [("up", "refuted"), ("built", "verified")]


@pytest.mark.parametrize(
    ("later", "what"),
    [({"same": "first", "args": {"title": "a", "body": "hello"}}, calls.SAME),
     ({"told": verdict("refuted", grants="note"), "tool": "Write"}, calls.OTHER),
     ({"told": verdict("verified", "note-saved"), "tool": "Write"}, calls.OTHER),
     ({"tool": "mcp__notes__put"}, calls.OTHER),
     ({"told": verdict("verified", "note-saved", expected="a file at /p/notes/other.md")}, calls.NOTHING),
     ({"told": verdict("verified", "else"), "tool": "Bash"}, calls.NOTHING),
     ({"same": "first", "session": "other"}, calls.NOTHING)],
)  # fmt: skip
def test_what_the_agent_did_next(tmp_path: Any, later: dict[str, Any], what: str) -> None:
    """The same arguments are the same call; another way to what was expected or granted is another route; another
    file, another contract or another session is nothing."""
    ledger = Ledger(str(tmp_path))
    call(ledger, "first", verdict("refuted", grants="note", alternatives=["mcp__notes__put"]), at=20, session="s")
    told = [later.pop("told")] if "told" in later else []
    call(ledger, "next", *told, at=10, **{"session": "s", **later})
    every = view(str(tmp_path))
    found, other = calls.find_next_step(every[0], every)
    assert found == what and (other.call if other else "") == ("" if what == calls.NOTHING else "next")


def test_a_correction_stays_one_when_its_effect_was_found_later(project: Any) -> None:
    """The agent was told that it is not done: that counts, though a look at the stop found it done by another way."""
    ledger = Ledger(project.state)
    call(ledger, "a", verdict("refuted", "note-saved"), at=9, session="s", form="replace")
    ledger.add(Event("s", "a", SETTLED, 9e9, state="verified", data={"verdicts": [verdict("verified", "note-saved")]}))
    ledger.close()
    found = stats(project)
    assert found["after"] == {"same_call": 0, "other_route": 0, "nothing": 1}
    assert sum(each["corrections"] for each in found["retries"]) == 1
    assert all(each["refuted"] == 0 for each in found["tools"])


def test_a_call_beside_it_is_no_answer_to_it(tmp_path: Any) -> None:
    """A twin that was asked for before the first one had ended is not what the agent did next."""
    ledger = Ledger(str(tmp_path))
    same = {"tool": NOTE, "identity": "i"}
    ledger.add(Event("s", "a", REQUESTED, 1.0, **same), Event("s", "b", REQUESTED, 1.1, **same),
               Event("s", "a", ENDED, 2.0, state="refuted", data={"verdicts": [verdict("refuted")]}, **same),
               Event("s", "b", ENDED, 2.1, state="refuted", data={"verdicts": [verdict("refuted")]}, **same))  # fmt: skip
    every = view(str(tmp_path))
    assert calls.find_next_step(every[0], every) == (calls.NOTHING, None)


def test_damaged_events_do_not_stop_the_view(tmp_path: Any) -> None:
    """Data of another shape than the hook writes is passed over."""
    ledger = Ledger(str(tmp_path))
    for number, data in enumerate(({"verdicts": 5}, {"verdicts": [5, None]}, {"args": []}, {"verdicts": "x"})):
        ledger.add(Event("s", f"c{number}", ENDED, 1.0, state="refuted", data=data))
    assert [each.verdicts for each in view(str(tmp_path))] == [()] * 4


def test_keys_come_once_and_newest_first(tmp_path: Any) -> None:
    """Over more calls than are read at a time."""
    ledger = Ledger(str(tmp_path))
    ledger.add(*(Event("s", f"c{number}", kind, 1.0) for number in range(700) for kind in (REQUESTED, ENDED)))
    found = [name for _, name in queries.list_calls(ledger)]
    assert found == [f"c{number}" for number in reversed(range(700))]


def test_doctor_says_when_the_hook_was_last_asked(person: Any) -> None:
    """For each registered client; a contract that no call ever came to is named beside the tools that were seen."""
    person.trust("version: 1\ncontracts:\n  - id: note-saved\n    tool: mcp__notes__save_note\n"
                 "    post: {file_exists: {path: '{{project}}/a'}}\n"
                 "  - id: note-kept\n    tool: mcp__notes__keep\n    post: {file_exists: {path: '{{project}}/a'}}\n")  # fmt: skip
    run(person, "install", "claude-code")
    run(person, "install", "qwen-code")
    assert "last asked" not in said(doctor(person), "ok")
    ledger = Ledger(person.state)
    for number in range(25):
        call(ledger, f"c{number}", verdict("verified"), at=50, tool="Bash" if number else NOTE)
    ledger.close()
    found = doctor(person)
    assert "last asked by this client at" in said(found, "ok", "claude-code")
    assert "no call of this client" in said(found, "note", "qwen-code")
    idle = said(found, "note", "contracts")
    assert "of 25 calls none came to note-kept" in idle and f"Bash, {NOTE}" in idle and "note-saved" not in idle.split(";")[0]


def test_doctor_says_of_a_damaged_ledger(person: Any) -> None:
    """A warning with the way out, no error and no traceback."""
    person.trust()
    run(person, "install", "claude-code")
    person.write(f"{person.state}/ledger.db", "no database" * 1000)
    assert "damaged" in said(doctor(person), "warning", "ledger")
