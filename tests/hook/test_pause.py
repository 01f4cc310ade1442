"""`truecall off` and `on`: for a while, by a person alone; anything doubtful about the file means that it is on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest
from support.project import ROOT

from truecall_py.hook import pause
from truecall_py.ledger.store import SWITCH, Ledger
from truecall_py.reporting import queries


def laid(state: str, text: str | bytes, mode: int = 0o600) -> None:
    os.makedirs(state, 0o700, exist_ok=True)
    with open(pause.switch_path(state), "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(pause.switch_path(state), mode)


def plain(since: object, until: object) -> str:
    return json.dumps({"since": since, "until": until})


def test_off_and_on_again(project: Any) -> None:
    """Off until the time that is said, in a file of its owner's alone, with an event for each switch; then on."""
    done = project.command("off", "--for", "1h")
    assert done.returncode == 0 and "off for 1 h" in done.stdout and "truecall on" in done.stdout
    now = time.time()
    until = pause.read_end(project.state, now)
    assert until is not None and 3590 < until - now <= 3600
    assert os.stat(pause.switch_path(project.state)).st_mode & 0o777 == 0o600
    done = project.command("on")
    assert done.returncode == 0 and "on again" in done.stdout
    assert pause.read_end(project.state, time.time()) is None and not os.path.exists(pause.switch_path(project.state))
    assert "was on already" in project.command("on").stdout
    events = [each for each in Ledger(project.state).session("") if each.event == SWITCH]
    assert [each.data["on"] for each in events] == [False, True] and abs(events[0].data["until"] - until) < 1
    ledger = queries.open_ledger(project.state)
    assert ledger is not None and queries.list_sessions(ledger) == []


def test_a_person_sees_when_it_was_off(project: Any) -> None:
    """`log` lists the switches between the calls, the newest first, and `stats` counts them."""
    project.trust()
    assert project.command("off", "--for", "1h").returncode == 0
    first = project.command("log").stdout
    assert "turned off by a person until" in first and "no call matches" in first
    assert project.command("on").returncode == 0
    project.hook(project.mcp())
    assert project.command("off", "--for", "1h").returncode == 0
    lines = project.command("log").stdout.splitlines()
    assert "turned off by a person" in lines[0] and "mcp__notes__save_note" in lines[2]
    assert "turned on" in lines[-2] and "turned off" in lines[-1]
    assert sum("turned off" in line for line in project.command("log", "--limit", "1").stdout.splitlines()) == 1
    assert json.loads(project.command("stats", "--json").stdout)["switched_off"] == 2
    assert "turned off by a person: 2 times" in project.command("stats").stdout
    assert "turned o" not in project.command("log", "--tool", "mcp*").stdout


def test_off_has_an_end_and_needs_a_person(project: Any) -> None:
    """Without --for, for more than a day, or in an agent's shell: refused, and nothing is switched."""
    for argv, words in ((("off",), "--for"), (("off", "--for", "25h"), "24 hours"), (("off", "--for", "x"), "duration"),
                        (("off", "--for", "0s"), "duration")):  # fmt: skip
        done = project.command(*argv)
        assert done.returncode == 2 and words in done.stderr, done
    for argv in (("off", "--for", "1h"), ("on",)):
        done = project.command(*argv, env={"CODEX_THREAD_ID": "1"})
        assert done.returncode == 2 and "only a person" in done.stderr
    assert not os.path.exists(project.state)
    assert project.command("off", "--for", "24h", "--person", env={"CODEX_THREAD_ID": "1"}).returncode == 0
    assert pause.read_end(project.state, time.time())


def test_a_ledger_out_of_order_keeps_nobody_from_switching(project: Any) -> None:
    """The switch works, and that it is not in the ledger is said."""
    project.write(os.path.join(project.state, "ledger.db"), "no database at all" * 100)
    os.chmod(project.state, 0o700)
    done = project.command("off", "--for", "1h")
    assert done.returncode == 0 and "did not record" in done.stderr and pause.read_end(project.state, time.time())
    assert project.command("on").returncode == 0 and not pause.read_end(project.state, time.time())


def test_a_state_folder_of_others_is_refused(project: Any) -> None:
    """Where others may write, no switch is laid."""
    os.makedirs(project.state)
    os.chmod(project.state, 0o777)
    done = project.command("off", "--for", "1h")
    assert done.returncode == 3 and os.listdir(project.state) == []


def test_it_ends_by_itself(tmp_path: Any) -> None:
    """The last second is off, the one after it is on."""
    state = str(tmp_path / "state")
    laid(state, plain(1000, 1100))
    assert pause.read_end(state, 1000) == pause.read_end(state, 1099.9) == 1100.0
    assert pause.read_end(state, 1100) is None and pause.read_end(state, 5000) is None


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "1", '{"until": 1100}', '{"since": 1000}', plain(1000, "1100"), plain(True, 1100),
     plain(1000, None), '{"since": 1000, "until": 1100, "until": 1100}', '{"since": 1000, "until": NaN}',
     '{"since": 1000, "until": 1e999}', b"\xff\xfe", plain(1000, 1100) + "x", plain(1000, 1100) + " " * 500,
     plain(1000, 1000 + 25 * 3600), plain(2000, 2100), plain(-9e15, 1100), plain(1000, 10**180), '{"since": -1' + "0" * 150 + ', "until": 1100}'],
)  # fmt: skip
def test_a_damaged_or_strange_file_switches_nothing_off(tmp_path: Any, text: str | bytes) -> None:
    """Damaged, of another shape, too long, longer than a day, or from the future: on."""
    state = str(tmp_path / "state")
    laid(state, text)
    assert pause.read_end(state, 1050.0) is None


def test_a_file_that_others_could_have_laid_switches_nothing_off(tmp_path: Any) -> None:
    """A link, a folder, a pipe, one that others may write, one of another user: on, and nothing waits."""
    state, good = str(tmp_path / "state"), plain(1000, 1100)
    assert pause.read_end(state, 1050.0) is None
    for mode in (0o620, 0o602, 0o666):
        laid(state, good, mode)
        assert pause.read_end(state, 1050.0) is None
    os.chmod(pause.switch_path(state), 0o600)
    assert pause.read_end(state, 1050.0) == 1100.0
    if os.geteuid() == 0:
        os.chown(pause.switch_path(state), 65534, -1)
        assert pause.read_end(state, 1050.0) is None
    os.rename(pause.switch_path(state), tmp_path / "elsewhere")
    os.chown(tmp_path / "elsewhere", os.geteuid(), -1)
    os.symlink(tmp_path / "elsewhere", pause.switch_path(state))
    assert pause.read_end(state, 1050.0) is None
    os.unlink(pause.switch_path(state))
    os.mkfifo(pause.switch_path(state), 0o600)
    assert pause.read_end(state, 1050.0) is None
    os.unlink(pause.switch_path(state))
    os.mkdir(pause.switch_path(state), 0o700)
    assert pause.read_end(state, 1050.0) is None


def test_asking_it_is_cheap() -> None:
    """The hook asks before every call: nothing is imported for it but os and the JSON reader."""
    code = (
        "import sys; sys.path.append(sys.argv[1]); import os, truecall_py.core.fast_json; before = set(sys.modules)\n"
        "from truecall_py.hook import pause as switch; switch.read_end('/nowhere', 1.0); print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, ROOT], capture_output=True, text=True, check=True)
    assert done.stdout == "['truecall_py.hook', 'truecall_py.hook.pause']\n"
