"""What `truecall export` costs in a large ledger: memory and time of every form, beside those of a small one.

    python bench/export.py [--events 1000000] [--check]

Memory is the highest resident size of the process. `--check` ends with 1 where the large ledger takes more than 1.1
times the memory of the small one: a ledger is gone through call by call, and never held.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

from ledger import filled

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FORMS, FEW, BOUND = ("jsonl", "csv", "otel-json"), 3000, 1.1


def run(state: str, form: str) -> tuple[float, float]:
    """(MB, seconds) of one export."""
    argv = [sys.executable, "-m", "truecall_py", "export", "--state", state, "--format", form]
    began = time.monotonic()
    with open(os.devnull, "wb") as nobody:
        process = subprocess.Popen(argv, stdout=nobody, env={**os.environ, "PYTHONPATH": ROOT})
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"export ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_maxrss / (1024 if sys.platform == "linux" else 1 << 20), time.monotonic() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    worst = 0.0
    with tempfile.TemporaryDirectory(prefix="truecall-bench-") as made:
        small, large = os.path.join(made, "small"), os.path.join(made, "large")
        filled(small, FEW)
        filled(large, given.events)
        for form in FORMS:
            (few, _), (many, seconds) = run(small, form), run(large, form)
            worst = max(worst, many / few)
            print(f"{form:<10} {few:6.1f} MB at {FEW} events, {many:6.1f} MB at {given.events} ({many / few:.3f}), "
                  f"{seconds:.0f} s")  # fmt: skip
    return int(given.check and worst > BOUND)


if __name__ == "__main__":
    sys.exit(main())
