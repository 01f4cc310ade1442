"""What the ledger costs one hook call, and that it costs no more when there is a lot in it.

    python bench/ledger.py [--starts 31] [--events 1000000] [--check]

Each row is a real process that does what the hook does beside its other work: opens the ledger, reads its session
(`SessionHistory`, what rests, where a call stands) and adds one event; the processes alternate, the figure is the
median, as a ratio to a bare interpreter. The large ledger holds `--events` events in many sessions; the long session
has 5,000. A stop reads more of its session, in both ledgers of the long one. `--check` ends with 1 where the large
ledger, or the long session, costs more than 1.2 times the small one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from truecall_py.ledger import store  # noqa: E402
from truecall_py.ledger.store import BATCH, ENDED, REQUESTED, Event, Ledger  # noqa: E402

LONG, SHORT = "00000000-0000-4000-8000-00000000long", "00000000-0000-4000-8000-0000000short"
BOUND = 1.2
HOOK = """
import sys
sys.path.append(sys.argv[1])
from truecall_py.hook import main as hook
from truecall_py.ledger.store import Event, Ledger
from truecall_py.ledger.session_history import SessionHistory
from truecall_py.ledger.session_marks import has_other_ledger
import os, time
memory = SessionHistory(Ledger(sys.argv[2]), sys.argv[3], {})
has_other_ledger(sys.argv[2], sys.argv[3], memory.key)
memory.find_cooldowns()
memory.ledger.add(Event(sys.argv[3], sys.argv[4], "ended", time.time(), "claude-code", "t", "", "Bash", "i" * 32,
                        "verified", {"args": {"command": "make"}, "reported": "success"}))
os._exit(0)
"""
LEDGERS = ("from truecall_py.ledger.session_history import SessionHistory\n",
           "from truecall_py.ledger.store import Event, Ledger\n",
           "from truecall_py.ledger.session_marks import has_other_ledger\n")  # fmt: skip
WITHOUT = HOOK.split("memory = ")[0] + "os._exit(0)"
for each in LEDGERS:
    WITHOUT = WITHOUT.replace(each, "")
STOP = """
import sys
sys.path.append(sys.argv[1])
from truecall_py.ledger.store import Event, Ledger
from truecall_py.operations.settle import MAX_EVENTS
from truecall_py.ledger.open_calls import list_open, list_shown, select_answered, select_turn
from truecall_py.core.types import Stop
import os, time
ledger, stop = Ledger(sys.argv[2]), Stop("claude-code", "Stop", sys.argv[3], "t1")
events, stops = ledger.session(sys.argv[3], MAX_EVENTS), ledger.stops(sys.argv[3])
mine = select_answered(events, stops, stop)
select_turn(mine, stops, stop)
list_open(events, mine, {})
list_shown(stops, stop)
ledger.add(Event(sys.argv[3], sys.argv[4], "stop", time.time(), "claude-code", "t1"))
os._exit(0)
"""


def call(session: str, number: int, at: float) -> tuple[Event, ...]:
    """The events of one call, as large as real ones are."""
    column = {"harness": "claude-code", "turn": "t1", "tool": "Bash", "identity": f"{number:032x}"}
    args = {"command": f"pytest -q tests/test_{number}.py -k name_{number} && echo done", "description": "Runs it"}
    told = {"contract": "tests-were-run", "state": "verified", "outcome": "landed", "source": "truecall.yaml:14",
            "expected": "at least one test that ran, and none that failed", "found": "12 tests ran, 0 failed",
            "route": "contract tests-were-run"}  # fmt: skip
    name = f"toolu_{number:024d}"
    return (
        Event(session, name, REQUESTED, at, data={"args": args, "cwd": "/home/you/app"}, **column),
        Event(session, name, ENDED, at + 1, state="verified", **column,
              data={"args": args, "reported": "success", "exit_code": 0, "verdicts": [told], "seconds": 0.02}),
        Event(session, f"batch-{number}", BATCH, at + 1, "claude-code", data={"calls": 1}),
    )


def filled(state: str, events: int) -> None:
    """A ledger with a session of 5,000 events and one of as many as a hook reads, and the rest in sessions of 210."""
    book = Ledger(state)
    begin = time.time() - 30 * 86400
    for session, count in ((LONG, 5000), (SHORT, store.RECENT_EVENTS)):
        book.add(*(each for number in range(count // 3) for each in call(session, number, begin + number)))
    sql, size = store.INSERT, 20_000
    for start in range(0, events // 3, size):  # the public class writes far more than this asks for
        book.db.execute("BEGIN IMMEDIATE")
        book.db.executemany(sql, (
            (f"00000000-0000-4000-8000-{number // 70:012d}", each.call, each.event, each.at, each.harness, each.turn,
             each.agent, each.tool, each.identity, each.state, store.encode_data(each.data))
            for number in range(start, min(start + size, events // 3)) for each in call("", number, begin + number)
        ))  # fmt: skip
        book.db.execute("COMMIT")
        book.copy_log()
    book.close()


class Row:
    """One kind of process, and its times."""

    def __init__(self, code: str, *argv: str) -> None:
        self.code, self.argv, self.times = code, argv, list[float]()
        self.number = 0

    def start(self) -> None:
        self.number += 1
        argv = [sys.executable, "-I", "-S", "-c", self.code, ROOT, *self.argv, f"call-{os.getpid()}-{self.number}"]
        began = time.perf_counter()
        subprocess.run(argv, check=True)
        self.times.append(time.perf_counter() - began)

    @property
    def median(self) -> float:
        return statistics.median(self.times[1:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=31)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--check", action="store_true", help="end with 1 where a figure is above its bound")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="truecall-bench-") as made:
        small, large = os.path.join(made, "small"), os.path.join(made, "large")
        filled(small, 0)
        filled(large, options.events)
        size = os.path.getsize(os.path.join(large, store.FILE)) >> 20
        rows = {
            "bare": Row("pass"),
            "the hook's imports, no ledger": Row(WITHOUT),
            "small ledger, new session": Row(HOOK, small, "new"),
            "large ledger, new session": Row(HOOK, large, "new"),
            "small ledger, 250 events": Row(HOOK, small, SHORT),
            "large ledger, 250 events": Row(HOOK, large, SHORT),
            "large ledger, 5,000 events": Row(HOOK, large, LONG),
            "small ledger, stop": Row(STOP, small, LONG),
            "large ledger, stop": Row(STOP, large, LONG),
        }
        for _ in range(options.starts + 1):
            for row in rows.values():
                row.start()
    python = sys.version.split()[0]
    print(f"Python {python}, {options.events} events ({size} MB), {options.starts} alternating starts each")
    bare = rows["bare"].median
    for name, row in rows.items():
        print(f"{name:<32} {row.median * 1000:8.2f} ms {row.median / bare:7.2f} x bare")
    failed = False
    print()
    for one, other in (("large ledger, new session", "small ledger, new session"),
                       ("large ledger, 250 events", "small ledger, 250 events"),
                       ("large ledger, 5,000 events", "small ledger, 250 events"),
                       ("large ledger, stop", "small ledger, stop")):  # fmt: skip
        ratio = rows[one].median / rows[other].median
        failed |= ratio > BOUND
        print(f"{'ok ' if ratio <= BOUND else 'NOT'} {one}: {ratio:.2f} x {other} (bound {BOUND})")
    return 1 if failed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
