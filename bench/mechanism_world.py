"""The tools of `mechanism.py`: what each really does to the world, and what it says of it. The world is one SQLite
file; every effect is a row, so what was done twice can be counted."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
from typing import Any, NamedTuple

HONEST, LIES, FAILS, TIMES_OUT, LATE = "honest", "lies", "fails honestly", "times out after the work", "finishes late"
BEHAVIOURS = (HONEST, LIES, FAILS, TIMES_OUT, LATE)
SAVE, BACKUP, CHARGE, TRANSFER = "mcp__store__save", "mcp__backup__save", "mcp__pay__charge", "mcp__bank__transfer"
OTHER = {SAVE: BACKUP, CHARGE: TRANSFER}
DELAY = 0.3  # seconds by which a late effect comes after its report
FAULTY = 0.7  # share of the calls of the first route that behave as their tool is said to


class Answer(NamedTuple):
    """What a tool says: success or not, its words, and what it did (LIES and so on)."""

    success: bool
    text: str
    did: str


class World:
    """The effects that are there, and those that are still to come."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, "world.db")
        self.late: list[threading.Timer] = []
        with sqlite3.connect(self.path) as base:
            base.execute("CREATE TABLE effects (task TEXT, key TEXT, route TEXT, state TEXT)")

    def write(self, task: str, key: str, route: str, state: str = "completed") -> None:
        """One effect; the same key has it once."""
        with sqlite3.connect(self.path) as base:
            known = base.execute("SELECT 1 FROM effects WHERE key = ? AND key <> ''", (key,)).fetchone()
            if not known:
                base.execute("INSERT INTO effects VALUES (?, ?, ?, ?)", (task, key, route, state))

    def settle(self) -> None:
        """What was to come is there now."""
        for each in self.late:
            each.join()
        self.late.clear()
        with sqlite3.connect(self.path) as base:
            base.execute("UPDATE effects SET state = 'completed'")

    def later(self, *effect: str) -> None:
        """An effect that comes a moment after it was reported."""
        self.late.append(threading.Timer(DELAY, self.write, effect))
        self.late[-1].start()

    def count(self, task: str) -> int:
        with sqlite3.connect(self.path) as base:
            return int(base.execute("SELECT count(*) FROM effects WHERE task = ?", (task,)).fetchone()[0])


class Tool:
    """A route to an effect that behaves in one way, as often as chance has it; the second routes are honest."""

    def __init__(self, world: World, behaviour: str, chance: random.Random) -> None:
        self.world, self.behaviour, self.chance = world, behaviour, chance

    def call(self, name: str, args: dict[str, Any]) -> Answer:
        faulty = name in OTHER and self.chance.random() < FAULTY
        did = self.behaviour if faulty else HONEST
        effect = (args["task"], str(args.get("key", "")), name)
        if did == LIES:
            return Answer(True, '{"status": "success"}', did)
        if did == FAILS:
            return Answer(False, "the service refused the request", did)
        if did == LATE and name in (CHARGE, TRANSFER):
            self.world.write(*effect, "pending")
            return Answer(True, '{"status": "accepted"}', did)
        if did == LATE:
            self.world.later(*effect)
            return Answer(True, '{"status": "accepted"}', did)
        self.world.write(*effect)
        if did == TIMES_OUT:
            return Answer(False, "the request timed out", did)
        return Answer(True, '{"status": "success"}', did)
