"""What truecall adds to a tool call in the real clients, as a ratio, from one run on one machine.

    python bench/clients.py [--rounds 7] [--calls 10] [--only codex]

In each round every client makes the same calls of an MCP tool three times: without a hook, with one that does nothing
(`true`), and with truecall, which verifies a file after each. A step is the time from one request to the model to the
next; the ratios are those of the medians of all steps. Most of a step is the client's own time.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "tests")]

from e2e import clients, sessions  # noqa: E402

HOOKS = {"none": "", "noop": "true", "truecall": sessions.TRUECALL}


def steps(agent: sessions.Agent, hook: str, base: str, calls: int) -> list[float]:
    """Seconds from each request to the next, the first left out: the client is still starting there."""
    turn = agent.turn(("save_note_real", sessions.NOTE))
    times = sessions.run(agent, base, [turn] * (calls + 1), hook=hook).times
    return [later - earlier for earlier, later in itertools.pairwise(times[1:])]


def measure(agent: sessions.Agent, rounds: int, calls: int) -> dict[str, float]:
    found: dict[str, list[float]] = {name: [] for name in HOOKS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, hook in HOOKS.items():
                found[name] += steps(agent, hook, os.path.join(os.path.realpath(folder), "session"), calls)
    return {name: statistics.median(values) for name, values in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=10, help="tool calls in each session")
    parser.add_argument("--only", default="", help="only clients whose name holds this")
    asked = parser.parse_args()
    print(f"{'client':32}{'to no hook':>12}{'to a no-op':>12}{'added':>10}")
    for agent in (*sessions.CLAUDE_CODE, *sessions.CODEX):
        if asked.only not in str(agent):
            continue
        package, binary = sessions.PACKAGES[agent.harness]
        try:
            clients.installed(package, agent.version, binary)
        except clients.Unavailable as problem:
            print(f"{agent!s:32}not measured: {problem}")
            continue
        median = measure(agent, asked.rounds, asked.calls)
        ratios = [median["truecall"] / median[name] for name in ("none", "noop")]
        added = (median["truecall"] - median["none"]) * 1000
        print(f"{agent!s:32}{ratios[0]:12.2f}{ratios[1]:12.2f}{added:7.0f} ms", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
