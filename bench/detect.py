"""How often truecall's own packs block work that was right, and how often they see that work came to nothing.

    python bench/detect.py [--seed 1] [--only PACK] [--check] [--most N]

Generates calls by a seed, makes each one for real in a world of its own, and judges it with all packs together,
as the hook does: a look before, a judgement after. Then its effect is silently undone, and the same answer is
judged again. `--check` ends with 1 where honest work was blocked, or a twin was missed that a pack claims to see.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.dirname(os.path.abspath(__file__))]

import detect_answers  # noqa: E402
import detect_daily  # noqa: E402
import detect_files  # noqa: E402
import detect_git  # noqa: E402
import detect_guards  # noqa: E402
import detect_packages  # noqa: E402
import detect_shell  # noqa: E402
from detect_homes import BASES  # noqa: E402
from detect_world import Bench, Case, Found, begin, run  # noqa: E402

GENERATORS = {
    "files": detect_files.files,
    "gates": detect_files.gates,
    "git": detect_git.cases,
    "guards": detect_guards.cases,
    "mcp": detect_answers.mcp,
    "node": detect_packages.node,
    "python": detect_packages.python,
    "self": detect_answers.own,
    "shell": detect_shell.cases,
    "daily": detect_daily.cases,  # what agents run all day, of no pack in particular
}


def generated(seed: int, only: str = "") -> list[Case]:
    """The calls of a seed, in a fixed order. A fifth of the commands come from Codex."""
    found = []
    for name, generator in GENERATORS.items():
        if (only and name != only) or (name == "node" and not shutil.which("npm")):
            continue
        chance = random.Random(f"{seed} {name}")
        for case in generator(chance):
            # git-added needs to know since when, which Codex does not say
            if case.command and chance.random() < 0.2 and case.refutes != "git-added":
                case = case._replace(harness="codex")
            elif case.command and case.shell == "bash" and chance.random() < 0.1 and posix(case.command):
                case = case._replace(shell="sh")
            found.append(case)
    return found


def posix(command: str) -> bool:
    words = ("<(", ">(", "<<<", "&>", "[[", "{1", "pipefail", "source ", "time ", "$'")
    return not any(word in command for word in words)


def ran(cases: list[Case], workers: int = 2) -> list[Found]:
    """What came of each case, in their order."""
    with tempfile.TemporaryDirectory(prefix="detect-") as made:
        bench = Bench(os.path.realpath(made))
        assert {case.base for case in cases} <= set(BASES)
        bench.build({case.base for case in cases})
        with ProcessPoolExecutor(workers, initializer=begin, initargs=(bench.contracts,)) as pool:
            numbers = range(len(cases))
            return list(pool.map(run, [bench] * len(cases), numbers, cases, chunksize=4))


class Row:
    """The figures of one pack."""

    NAMES = ("honest", "judged", "silent", "doubted", "BLOCKED", "twins", "caught", "missed")

    def __init__(self) -> None:
        self.figures = dict.fromkeys(self.NAMES, 0)
        self.words: list[str] = []
        self.failed = False

    def add(self, case: Case, found: Found) -> None:
        figures = self.figures
        figures["honest"] += 1
        verified = any(state == "verified" for _, state in found.states)
        if found.blocked:
            figures["BLOCKED"] += 1
            self.tell("FALSE BLOCK", case, found, found.blocked)
        elif found.doubted:
            figures["doubted"] += 1
            self.words.append(f"doubt: {case.title}\n    {found.doubted.splitlines()[0]}")
        else:
            figures["judged" if verified else "silent"] += 1
        if found.twin is not None:
            caught = set(found.twin) & set(case.refutes.split())
            figures["twins"] += 1
            figures["caught" if caught else "missed"] += 1
            if not caught:
                how = case.undo or "all of it"
                told = f"wanted {case.refutes}; undone: {how}; taken for: {found.after}"
                self.tell("MISSED TWIN", case, found, told)

    def tell(self, what: str, case: Case, found: Found, text: str) -> None:
        self.failed = True
        states = ", ".join(f"{contract} {state}" for contract, state in found.states) or "no contract"
        self.words.append(f"{what}: {case.title} ({case.harness}, {case.shell})\n    {states}; {found.ended!r}\n"
                          + "".join(f"    {line}\n" for line in text.splitlines()))  # fmt: skip


def report(cases: list[Case], founds: list[Found]) -> tuple[str, bool]:
    """The table with everything that should be looked at below it, and whether something is wrong."""
    rows: dict[str, Row] = {}
    for case, found in zip(cases, founds, strict=True):
        rows.setdefault(case.pack, Row()).add(case, found)
    lines = [f"{'':8}" + "".join(f"{name:>9}" for name in Row.NAMES)]
    lines += [f"{name:8}" + "".join(f"{figure:9}" for figure in row.figures.values()) for name, row in rows.items()]
    total = [sum(row.figures[name] for row in rows.values()) for name in Row.NAMES]
    lines.append(f"{'total':8}" + "".join(f"{figure:9}" for figure in total))
    for row in rows.values():
        lines += row.words
    return "\n".join(lines) + "\n", any(row.failed for row in rows.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=GENERATORS, default="")
    parser.add_argument("--most", type=int, default=0, help="a sample of so many calls")
    parser.add_argument("--check", action="store_true", help="end with 1 where a block was false or a twin missed")
    given = parser.parse_args()
    began = time.monotonic()
    cases = generated(given.seed, given.only)
    if given.most:
        cases = random.Random(given.seed).sample(cases, min(given.most, len(cases)))
    text, failed = report(cases, ran(cases))
    print(text + f"seed {given.seed}, {time.monotonic() - began:.0f} s")
    return 1 if failed and given.check else 0


if __name__ == "__main__":
    sys.exit(main())
