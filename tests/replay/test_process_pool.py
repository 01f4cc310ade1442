"""Many transcripts: the pool of processes that reads them."""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from support.project import ROOT, interruptible
from support.transcripts import claude, serving, shell, written

from truecall_py.cli import payload_files
from truecall_py.cli.commands.replay import render_transcript
from truecall_py.cli.output.replay import Look
from truecall_py.messages import corrections
from truecall_py.replay import process_pool


def test_of_many_only_what_is_wrong_is_shown(contracts: Any) -> None:
    """In the order of their names, however many processes read them; --all shows the rest; the sums are of all."""
    for number in range(30):
        bad = number in (7, 21)
        written(contracts, f"logs/{number:02d}.jsonl", claude("go", shell("make") if not bad else shell("x")[:2] + (
            {"stdout": "", "stderr": "", "interrupted": True},)))  # fmt: skip
    text = contracts.command("replay", "logs", "--jobs", "3").stdout
    assert [line for line in text.splitlines() if line.endswith(".jsonl")] == ["logs/07.jsonl", "logs/21.jsonl"]
    assert "30 transcripts, 30 calls, 30 with a contract" in text
    whole = contracts.command("replay", "logs", "--all", "--jobs", "3").stdout
    names = [line for line in whole.splitlines() if line.endswith(".jsonl")]
    assert names == [f"logs/{number:02d}.jsonl" for number in range(30)]
    assert contracts.command("replay", "logs", "--all", "--jobs", "1").stdout == whole


def children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(each) for each in found.stdout.split()]


def gone(pid: int) -> bool:
    """Whether a process has ended (one that nobody waits for counts)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def until(holds: Any) -> None:
    ends = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < ends, "it did not come to that within 20 seconds"
        time.sleep(0.02)


def pooled(items: list[str], jobs: int) -> list[tuple[str, int, Any, str]]:
    """(item, bytes, what it told, what it died of) of each item, in the order in which they were handed on."""
    found, size = [], 0
    with process_pool.Pool(serving, items, jobs, lambda done: None) as pool:
        for each in pool:
            if isinstance(each, process_pool.Piece):
                size += len(each.data)
            else:
                found.append((each.item, size, each.told, each.died))
                size = 0
        pids = [worker.process.pid for worker in pool.workers]
    assert all(gone(pid) for pid in pids)
    return found


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_a_pool_hands_on_in_order(jobs: int) -> None:
    """Whoever is done first waits on the shelf, on the disk where it is much; the first one is handed on as it comes."""
    items = ["slow", "large-a", "a", "slow", "large-b", "b"] * 3
    found = pooled(items, jobs)
    assert [item for item, *_ in found] == items
    assert all(size > 900_000 for item, size, *_ in found if item.startswith("large"))
    assert [told for _, _, told, _ in found] == [len(item) for item in items]


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_worker_that_dies_takes_only_its_item_along(jobs: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said of which item and how; another takes its place; a bug of ours is told the same way, with a report."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    found = pooled(["a", "die", "b", "bug", "c", "die"], jobs)
    died = {item: died for item, _, _, died in found}
    assert [item for item, *_ in found] == ["a", "die", "b", "bug", "c", "die"]
    assert died["a"] == died["b"] == died["c"] == "" and "signal 9" in died["die"]
    assert "bug of truecall's own (KeyError); a report is in" in died["bug"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes by /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_replay_that_is_stopped_leaves_nobody_behind(contracts: Any, tmp_path: Any, how: int) -> None:
    """Ctrl-C ends it with one sentence, and its processes with it; so does its death, as soon as they notice."""
    script = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "from support import transcripts\nfrom truecall_py.cli import main as cli\n"
        "from truecall_py.cli.commands import replay\n"
        "replay.render_transcript = lambda sources, look, path: transcripts.serving('wait')\n"
        "sys.exit(cli.run(['replay', 'a.jsonl', 'b.jsonl', '--jobs', '2']))"
    )
    for name in ("a.jsonl", "b.jsonl"):
        written(contracts, name, claude("go", shell("make")))
    process = subprocess.Popen(
        [sys.executable, "-c", script, os.path.join(ROOT, "tests"), ROOT], env=contracts.env, cwd=contracts.root,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=interruptible,
    )  # fmt: skip
    try:
        until(lambda: len(children(process.pid)) == 2)
        kids = children(process.pid)
        if how == signal.SIGINT:
            os.killpg(process.pid, how)  # a terminal sends it to all of them
            out, err = process.communicate(timeout=20)
            assert process.returncode == 130 and not out
            assert err.strip() == "truecall: stopped. Nothing was changed."
        else:
            process.kill()
            process.wait()
            for pid in kids:  # they sleep; what they would say next, nobody hears
                os.kill(pid, signal.SIGCONT)
        if how == signal.SIGINT:
            until(lambda: all(gone(pid) for pid in kids))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            stream.close()


def test_the_heads_of_corrections_are_all_known() -> None:
    """Whatever a correction begins with is known again in a transcript."""
    with open(os.path.join(ROOT, "truecall_py", "messages", "corrections.py"), encoding="utf-8") as file:
        begins = set(re.findall(r'"((?:NOT|ALREADY) [A-Z]+: )', file.read()))
    assert begins == set(corrections.HEADLINES)


def test_what_a_process_of_the_pool_needs_can_be_sent_to_it(contracts: Any) -> None:
    """Where processes are not forked (macOS), contracts and options reach them whole."""
    sources = payload_files.find_sources(os.path.join(contracts.root, "truecall.yaml"))
    work = functools.partial(render_transcript, sources, Look(True, False, False, False, 80))
    path = written(contracts, "t.jsonl", claude("go", shell("make")))
    assert list(pickle.loads(pickle.dumps(work))(path))[:-1] == list(work(path))[:-1]
