"""What `agree` buys and costs when the look at the world itself is wrong now and then.

    python bench/noise.py [--seed 1] [--calls 20000] [--wrong 0.07]

Half of the calls did their work, half did not; a sensor that is wrong in 7 of 100 looks is asked about each,
through the code that judges (`looks.watched`). A false alarm is an honest call that was refuted, a miss a lie that
was verified. Looks that disagree end as "could not verify", which is told beside the answer and is never a pass.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from truecall_py.checks.support.outcomes import refuted, verified
from truecall_py.contracts.facts import Facts
from truecall_py.contracts.model import Contract
from truecall_py.core.types import REFUTED, UNVERIFIED, VERIFIED, ToolCall
from truecall_py.judging import polling
from truecall_py.world.world import World


class Sensor:
    """A check whose every look is wrong with a probability of `wrong`, whatever the world is."""

    FIELDS: tuple[Any, ...] = ()
    ASSERTS: tuple[str, ...] = ()

    def __init__(self, chance: random.Random, wrong: float) -> None:
        self.chance, self.wrong, self.truth, self.looks = chance, wrong, True, 0

    def expect(self, params: dict[str, Any]) -> str:
        return "the effect"

    def run(self, params: dict[str, Any], call: ToolCall, world: World) -> Any:
        self.looks += 1
        seen = self.truth if self.chance.random() >= self.wrong else not self.truth
        return verified("the effect", "it") if seen else refuted("the effect", "nothing")


def simulate(agree: int, calls: int, wrong: float, seed: int) -> dict[str, float]:
    """Shares of the honest calls and of the lies, in percent, and the looks that a call costs."""
    sensor = Sensor(random.Random(seed), wrong)
    polling.load_check = lambda name: SimpleNamespace(  # type: ignore[assignment]
        FIELDS=(), ASSERTS=(), expect=sensor.expect, run=sensor.run
    )
    plain = {"id": "noise", "post": [{"check": "sensor", "params": {"asked": True}}], "agree": agree, "every": 1e-9}
    contract = Contract("noise", "noise", "/", plain)
    call = ToolCall("bench", "PostToolUse", "tool", frozenset(("mcp",)), {}, reported="success")
    world = World("/")
    found: dict[tuple[bool, str], int] = {}
    for number in range(calls):
        sensor.truth = number % 2 == 0
        state = polling.worst_state(polling.poll(contract, call, Facts(call, world)))
        found[sensor.truth, state] = found.get((sensor.truth, state), 0) + 1
        world.ends = world.now() + 20
    half = calls / 200
    return {
        "false alarms": found.get((True, REFUTED), 0) / half,
        "misses": found.get((False, VERIFIED), 0) / half,
        "honest, undecided": found.get((True, UNVERIFIED), 0) / half,
        "lies, undecided": found.get((False, UNVERIFIED), 0) / half,
        "lies refuted": found.get((False, REFUTED), 0) / half,
        "looks a call": sensor.looks / calls,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--wrong", type=float, default=0.07)
    given = parser.parse_args()
    rows = {agree: simulate(agree, given.calls, given.wrong, given.seed) for agree in (1, 2, 3)}
    sys.stdout.write(f"{given.calls} calls, each look wrong in {given.wrong:.1%}, seed {given.seed}\n\n")
    sys.stdout.write(f"{'':20}{'one look':>12}{'agree: 2':>12}{'agree: 3':>12}\n")
    for name in rows[1]:
        unit = "" if name == "looks a call" else " %"
        sys.stdout.write(f"{name:20}" + "".join(f"{rows[agree][name]:>10.2f}{unit:2}" for agree in rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
