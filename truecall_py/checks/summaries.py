"""The last lines of test runners (pytest, unittest, jest, vitest, go, cargo), read into numbers. What a tool prints
is its claim: this module says what is claimed and never what is true."""

from __future__ import annotations

from truecall_py.checks.junit import Results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

RUNNERS = ("pytest", "unittest", "jest", "vitest", "go", "cargo")
LONGEST = 1 << 20  # characters of the end of an output that are read
NOTHING = Results(0, 0, 0)
# `re` is imported only where a contract asks; every pattern is linear: no repetition inside another one.
COLOUR = r"\x1b\[[0-9;]*[A-Za-z]"
# What pytest prints where it ends otherwise than with the results of its tests.
BROKEN_OFF = r"INTERNALERROR>|Fatal Python error|Segmentation fault|!{4,} (?!stopping after)"
REFUSED = r"ERROR: "  # a run with wrong options has no summary; before one, it is another program's word
WORDS = {
    "failed": ("failed", "error", "errors", "failures"),
    "skipped": ("skipped", "todo", "ignored", "deselected", "xfailed"),
    "passed": ("passed", "xpassed"),
}


def results(runner: str, text: str) -> list[Results]:
    """What each run in an output claims, in order; empty where no summary is found."""
    import re

    lines = re.sub(COLOUR, "", text[-LONGEST:]).replace("\r", "\n").split("\n")
    return READERS[runner](lines)


def counted(line: str) -> dict[str, int]:
    """The numbers of `1 failed, 2 passed`, by what they are of."""
    import re

    found: dict[str, int] = dict.fromkeys(WORDS, 0)
    for number, word in re.findall(r"(\d{1,9}) ([a-z]+)", line):
        for name, words in WORDS.items():
            if word in words and word != "deselected":
                found[name] += int(number)
    return found


def summed(line: str) -> Results:
    found = counted(line)
    return Results(sum(found.values()), found["failed"], found["skipped"])


def pytest(lines: list[str]) -> list[Results]:
    """A run that broke off, before its summary or after it, leaves a doubt about the last one."""
    import re

    found: list[Results] = []
    broken = refused = ""
    for line in lines:
        plain = line.strip().strip("=").strip()
        if re.match(BROKEN_OFF, line):
            broken = f"pytest broke off: {line.strip()[:120]}"
        elif re.match(REFUSED, line):
            refused = f"pytest did not run again: {line.strip()[:120]}"
        if re.match(r"no tests (ran|collected)\b.*\bin [\d.]+s", plain):
            found.append(NOTHING)
        elif re.match(r"\d+ [a-z]+\b.* in [\d.]+s( \([\d:., a-z]+\))?$", plain):
            found.append(summed(plain))
            refused = ""
    if found and (broken or refused):
        last = found.pop()
        found.append(Results(last.collected, last.failed, last.skipped, last.names, broken or refused))
    return found


def unittest(lines: list[str]) -> list[Results]:
    import re

    found: list[Results] = []
    collected = None
    for line in lines:
        ran = re.match(r"Ran (\d{1,9}) tests? in ", line)
        if ran:
            collected = int(ran.group(1))
        ended = re.match(r"(OK|FAILED|NO TESTS RAN)( \((.*)\))?$", line.strip())
        if ended and collected is not None:
            found.append(of_unittest(collected, ended))
            collected = None
    return found


def of_unittest(collected: int, ended: Match[str]) -> Results:
    import re

    numbers = {name: int(number) for name, number in re.findall(r"([a-z ]+)=(\d{1,9})", ended.group(3) or "")}
    numbers = {name.strip(): number for name, number in numbers.items()}
    failed = sum(numbers.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
    failed = max(failed, 1) if ended.group(1) == "FAILED" else failed
    return Results(max(collected, failed), failed, numbers.get("skipped", 0))


def javascript(lines: list[str]) -> list[Results]:
    """jest (`Tests:  1 failed, 2 passed, 3 total`) and vitest (`Tests  1 failed | 2 passed (3)`)."""
    import re

    found: list[Results] = []
    broken = 0
    for line in lines:
        plain = line.strip()
        if re.match(r"No tests? (files )?found", plain):
            found.append(NOTHING)
        elif re.match(r"(Test Suites:|Test Files) ", plain):
            broken = counted(plain)["failed"]  # a file that cannot be loaded has no failing test
        elif re.match(r"Tests:? +(\d|no tests)", plain):
            run = summed(plain.partition("(")[0])
            failed = max(run.failed, broken)
            found.append(Results(max(run.collected, failed), failed, run.skipped))
            broken = 0
    return found


def cargo(lines: list[str]) -> list[Results]:
    """One for all: a run prints a line for every crate, and most of those hold no test."""
    import re

    runs = [summed(line) for line in lines if re.match(r"test result: (ok|FAILED)\. \d", line.strip())]
    broken = any(re.match(r"error(\[E\d+\])?: (could not compile|test failed)", line) for line in lines)
    if not runs and not broken:
        return []
    failed = max(sum(run.failed for run in runs), int(broken))
    return [Results(max(sum(run.collected for run in runs), failed), failed, sum(run.skipped for run in runs))]


def go(lines: list[str]) -> list[Results]:
    """One for all. Without -v only packages are counted, not tests."""
    import re

    failed = sum(1 for line in lines if re.match(r"\s*--- FAIL: |FAIL\t", line))
    passed = sum(1 for line in lines if re.match(r"\s*--- PASS: ", line))
    skipped = sum(1 for line in lines if re.match(r"\s*--- SKIP: ", line))
    packages = [line for line in lines if re.match(r"ok +\t", line)]
    empty = [line for line in lines if "[no test files]" in line or "[no tests to run]" in line]
    passed = passed or sum(1 for line in packages if line not in empty)
    if not (failed or passed or skipped or packages or empty):
        return []
    return [Results(failed + passed + skipped, failed, skipped)]


READERS = {
    "pytest": pytest, "unittest": unittest, "jest": javascript, "vitest": javascript, "go": go, "cargo": cargo,
}  # fmt: skip
