"""Many real processes write to one ledger while others are killed at random; nothing that was acknowledged may be
lost, and nothing may be there twice.

    python tests/support/torture_ledger.py [--procs 20] [--kills 200] [--seed N] [--hook]

Each process adds events through `Ledger.add` and says so over a pipe only after that returned; some of the events
belong to several processes at once, of which exactly one may find them new. With `--hook` the events come from the
registered command instead, `hooks/run.sh`, and an answer is the acknowledgement. Ends with 1 where something is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)

from truecall_py.ledger.store import ENDED, FILE, REQUESTED, Event, Ledger, LedgerError  # noqa: E402

SHARED = 5  # every so many events, one that all processes write


def write(state: str, name: str, pipe: int) -> None:
    """One process: opens the ledger as a hook does, adds two events, tells the pipe, and begins again."""
    number = 0
    while True:
        number += 1
        mine = number % SHARED != 0
        call = f"{name}-{number}" if mine else f"shared-{number}"
        try:
            ledger = Ledger(state)
            new = ledger.add(
                Event("torture", call, REQUESTED, time.time(), "claude-code", tool="Write"),
                Event("torture", call, ENDED, time.time(), "claude-code", tool="Write", state="verified",
                      data={"args": {"text": "x" * (number % 900)}, "by": name}),
            )  # fmt: skip
        except LedgerError as error:
            os.write(pipe, f"trouble {error.what}\n".encode())
            time.sleep(0.01)
            continue
        os.write(pipe, f"{'new' if all(new) else 'old' if not any(new) else 'torn'} {call}\n".encode())
        if number % 3 == 0:
            ledger.close()  # the others are still open when the next one is


def payload(folder: str, call: str) -> bytes:
    """What a client tells of a call that the contract below is about."""
    return json.dumps({
        "session_id": "torture", "cwd": folder, "hook_event_name": "PostToolUse", "tool_name": "mcp__notes__save_note",
        "tool_input": {"title": call}, "tool_response": [{"type": "text", "text": "saved"}], "tool_use_id": call,
        "duration_ms": 1,
    }).encode()  # fmt: skip


def ask(state: str, name: str, pipe: int, folder: str) -> None:
    """One process: tells the real hook of one call after the other; the process group is killed with it."""
    os.setpgid(0, 0)
    number = 0
    run = os.path.join(ROOT, "hooks", "run.sh")
    env = {"PATH": os.environ["PATH"], "HOME": folder, "CLAUDE_PROJECT_DIR": folder, "TRUECALL_PYTHON": sys.executable}
    while True:
        number += 1
        call = f"{name}-{number}" if number % SHARED else f"shared-{number}"
        argv = ["sh", run, "claude-code", "PostToolUse", "--state", state]
        done = subprocess.run(argv, input=payload(folder, call), capture_output=True, env=env, check=False)
        answered = done.returncode == 0 and b"program failed" not in done.stdout
        if answered and b"ledger" not in done.stdout:
            os.write(pipe, f"done {call}\n".encode())
        else:
            os.write(pipe, f"trouble {done.stdout[:200]!r}\n".encode())


def trusted(folder: str, state: str) -> None:
    from truecall_py.trust.pin import compile_file, trust

    path = os.path.join(folder, "truecall.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("version: 1\ncontracts:\n  - id: said\n    tool: mcp__notes__save_note\n"
                   "    post: {result: {of: text, contains: saved}}\n")  # fmt: skip
    trust(compile_file(path), state)


def started(state: str, name: str, folder: str, hook: bool) -> tuple[int, int]:
    """(process, the end of its pipe that we read)."""
    ours, theirs = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(ours)
        try:
            (ask(state, name, theirs, folder) if hook else write(state, name, theirs))
        finally:
            os._exit(1)
    os.close(theirs)
    return process, ours


def kill(process: int, hook: bool) -> None:
    if hook:
        try:
            os.killpg(process, signal.SIGKILL)
        except ProcessLookupError:
            os.kill(process, signal.SIGKILL)
    else:
        os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


class Run:
    """The processes, and what they acknowledged."""

    def __init__(self, state: str, folder: str, procs: int, hook: bool) -> None:
        self.state, self.folder, self.hook = state, folder, hook
        self.born = 0
        self.alive: dict[int, tuple[int, bytes]] = {}  # process -> (pipe, the line that is not whole yet)
        self.said: list[tuple[str, str]] = []
        for _ in range(procs):
            self.begin()

    def begin(self) -> None:
        process, pipe = started(self.state, f"p{self.born}", self.folder, self.hook)
        self.born += 1
        self.alive[process] = (pipe, b"")

    def read(self, seconds: float) -> None:
        """Takes in what the processes say, for so long."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            ready, _, _ = select.select([pipe for pipe, _ in self.alive.values()], [], [], left)
            for process, (pipe, rest) in list(self.alive.items()):
                if pipe in ready:
                    self.alive[process] = (pipe, self.lines(rest + os.read(pipe, 1 << 16)))

    def lines(self, data: bytes) -> bytes:
        *whole, rest = data.split(b"\n")
        for each in whole:
            word, _, call = each.decode().partition(" ")
            self.said.append((word, call))
        return rest

    def end(self, process: int) -> None:
        """Kills one, and reads what it had still said."""
        kill(process, self.hook)
        pipe, rest = self.alive.pop(process)
        while piece := os.read(pipe, 1 << 16):
            rest = self.lines(rest + piece)
        os.close(pipe)


def faults(state: str, said: list[tuple[str, str]], hook: bool) -> list[str]:
    """Everything that is wrong with the ledger at the end."""
    ledger = Ledger(state)
    rows = ledger.query("SELECT call, event, count(*) FROM events GROUP BY call, event")
    there = {(call, event) for call, event, _ in rows}
    acknowledged = {call for word, call in said if word in ("new", "old", "done")}
    wanted = {(call, ENDED) for call in acknowledged} if hook else {
        (call, event) for call in acknowledged for event in (REQUESTED, ENDED)
    }  # fmt: skip
    found = [f"lost although acknowledged: {call} {event}" for call, event in sorted(wanted - there)]
    found += [f"{count} times there: {call} {event}" for call, event, count in rows if count != 1]
    found += [f"half of a pair: {call}" for word, call in said if word == "torn"]
    if not hook:
        pairs = {call: {(call, REQUESTED), (call, ENDED)} for call, _ in there}
        found += [f"half of a pair: {call}" for call, pair in pairs.items() if not pair <= there]
        news: dict[str, int] = {}
        for word, call in said:
            news[call] = news.get(call, 0) + (word == "new")
        found += [f"new to {count} processes: {call}" for call, count in news.items() if count > 1]
    checked = ledger.query("PRAGMA integrity_check")
    if checked != [("ok",)]:
        found.append(f"integrity_check: {checked[:3]}")
    (counted,) = ledger.query("SELECT count(*), count(DISTINCT id), max(id) FROM events")
    if counted[0] != counted[1] or counted[0] != counted[2]:
        found.append(f"a counter is off: {counted[0]} events, {counted[1]} numbers, the highest {counted[2]}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--procs", type=int, default=20)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--hook", action="store_true", help="through the registered command")
    options = parser.parse_args()
    chance = random.Random(options.seed)  # noqa: S311 - which one dies
    with tempfile.TemporaryDirectory(prefix="truecall-torture-") as made:
        folder = os.path.realpath(made)
        state = os.path.join(folder, "state")
        if options.hook:
            trusted(folder, state)
        run = Run(state, folder, options.procs, options.hook)
        for _ in range(options.kills):
            run.read(chance.uniform(0.05, 0.5) if options.hook else chance.uniform(0.005, 0.05))
            run.end(chance.choice(list(run.alive)))
            run.begin()
        run.read(2.0 if options.hook else 0.3)
        for process in list(run.alive):
            run.end(process)
        trouble = sorted({call for word, call in run.said if word == "trouble"})
        acknowledged = sum(word != "trouble" for word, _ in run.said)
        bad = faults(state, run.said, options.hook) if acknowledged else ["nothing was acknowledged"]
        log = os.path.join(state, f"{FILE}-wal")
        size = os.path.getsize(log) if os.path.exists(log) else 0
        print(f"seed {options.seed}: {run.born} processes, {options.kills} killed, {acknowledged} acknowledged, "
              f"{sum(word == 'trouble' for word, _ in run.said)} told of trouble, log {size >> 10} KiB")  # fmt: skip
        for each in trouble[:5]:
            print(f"trouble: {each}")
        for each in bad[:20]:
            print(f"WRONG {each}")
        if size > 16 << 20:
            print("WRONG the log beside the ledger only grows")
            bad.append("log")
    print("nothing lost, nothing twice" if not bad else f"{len(bad)} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
