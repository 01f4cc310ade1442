"""Reads the last lines of test runners (pytest, unittest, jest, vitest, go, cargo) into numbers. The output of a tool
is its claim: these numbers say what is claimed, not what is true."""

from __future__ import annotations

from truecall_py.checks.support.junit import Results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

RUNNERS = ("pytest", "unittest", "jest", "vitest", "go", "cargo")
LONGEST = 1 << 20  # characters of the end of an output that are read
NOTHING = Results(0, 0, 0)
# `re` is imported only where a contract asks; every pattern is linear: no repetition inside another one.
COLOUR = r"\x1b\[[0-9;]*[A-Za-z]"
# What pytest prints if it ends without the results of its tests.
BROKEN_OFF = r"INTERNALERROR>|Fatal Python error|Segmentation fault|!{4,} (?!stopping after)"
REFUSED = r"ERROR: "  # a run with wrong options has no summary; text before a summary comes from another program
# The start of a run, or the report of a killed one. After the last summary, it belongs to an unfinished run.
BEGUN = {
    "pytest": r"=+ test session starts =+|(?:Killed|Terminated)\b"
    r"|.{0,200}: line \d+: +\d+ (?:Killed|Terminated)\b.*test|(?:\S+ )?[.FEsxX]+ +\[ *\d{1,3}%\]$",
    "unittest": r"Ran \d{1,9} tests? in ",
    "javascript": r"\s*(?:PASS|FAIL|RUNS?) +(?!Waiting|Tests failed)\S",  # but for vitest, which watches afterwards
    "go": r"=== RUN |panic: |signal: ",
    "cargo": r"running \d+ tests?$",
}
WORDS = {
    "failed": ("failed", "error", "errors", "failures"),
    "skipped": ("skipped", "todo", "ignored", "deselected", "xfailed"),
    "passed": ("passed", "xpassed"),
}


def parse_summaries(runner: str, text: str) -> list[Results]:
    """Return the claim of each run in an output, in order; none without a summary."""
    import re

    lines = re.sub(COLOUR, "", text[-LONGEST:]).replace("\r", "\n").split("\n")
    return READERS[runner](lines)


def count_words(line: str) -> dict[str, int]:
    """Return the numbers of `1 failed, 2 passed` by their words."""
    import re

    found: dict[str, int] = dict.fromkeys(WORDS, 0)
    for number, word in re.findall(r"(\d{1,9}) ([a-z]+)", line):
        for name, words in WORDS.items():
            if word in words and word != "deselected":
                found[name] += int(number)
    found["failed"] += sum(int(number) for number in re.findall(r"(\d{1,9}) subtests failed", line))
    return found


def sum_results(line: str) -> Results:
    found = count_words(line)
    return Results(sum(found.values()), found["failed"], found["skipped"])


def doubt_result(found: list[Results], why: str) -> list[Results]:
    """Return the same runs, with a doubt on the last one if there is any."""
    if not found or not why:
        return found
    last = found[-1]
    return [*found[:-1], Results(last.collected, last.failed, last.skipped, last.names, why)]


def find_unended_run(runner: str, line: str) -> str:
    """Return the doubt about an output in which a run begins with this line, "" without one."""
    import re

    return f"a run after it has no summary: {line.strip()[:120]}" if re.match(BEGUN[runner], line) else ""


def parse_pytest(lines: list[str]) -> list[Results]:
    """Read pytest. A run that broke off, before or after its summary, makes the last one doubtful."""
    import re

    summaries: list[Results] = []
    broken = refused = begun = ""
    for line in lines:
        plain = line.strip().strip("=").strip()
        if re.match(BROKEN_OFF, line):
            broken = f"pytest broke off: {line.strip()[:120]}"
        elif re.match(REFUSED, line):
            refused = f"pytest did not run again: {line.strip()[:120]}"
        begun = find_unended_run("pytest", line) or begun
        if re.match(r"no tests (ran|collected)\b.*\bin [\d.]+s", plain):
            summaries.append(NOTHING)
            begun = ""
        elif re.match(r"\d+ [a-z]+\b.* in [\d.]+s( \([\d:., a-z]+\))?$", plain):
            summaries.append(sum_results(plain))
            refused = begun = ""
    return doubt_result(summaries, broken or refused or begun)


def parse_unittest(lines: list[str]) -> list[Results]:
    import re

    summaries: list[Results] = []
    collected = None
    begun = ""
    for line in lines:
        begun = find_unended_run("unittest", line) or begun
        ran = re.match(r"Ran (\d{1,9}) tests? in ", line)
        if ran:
            collected = int(ran.group(1))
        ended = re.match(r"(OK|FAILED|NO TESTS RAN)( \((.*)\))?$", line.strip())
        if ended and collected is not None:
            summaries.append(parse_unittest_line(collected, ended))
            collected = None
            begun = ""
    return doubt_result(summaries, begun)


def parse_unittest_line(collected: int, ended: Match[str]) -> Results:
    import re

    numbers = {name: int(number) for name, number in re.findall(r"([a-z ]+)=(\d{1,9})", ended.group(3) or "")}
    numbers = {name.strip(): number for name, number in numbers.items()}
    failed = sum(numbers.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
    failed = max(failed, 1) if ended.group(1) == "FAILED" else failed
    return Results(max(collected, failed), failed, numbers.get("skipped", 0))


def parse_javascript(lines: list[str]) -> list[Results]:
    """Read jest (`Tests: 1 failed, 2 passed, 3 total`) and vitest (`Tests 1 failed | 2 passed (3)`), which also
    reports what failed outside of a test (`Errors 1 error`)."""
    import re

    summaries: list[Results] = []
    broken = 0
    doubt = partly = ""
    for line in lines:
        plain = line.strip()
        doubt = find_unended_run("javascript", line) or doubt
        if re.match(r"No tests? (files )?found", plain):
            summaries.append(NOTHING)
            doubt = ""
        elif re.match(r"(Test Suites:|Test Files) ", plain):
            files = count_words(plain)
            broken = files["failed"]  # a file that cannot be loaded has no failing test
            meant = re.search(r" of (\d{1,9}) total$", plain)  # of all files, the skipped ones included
            partly = f"it broke off: {plain[:80]}" if meant and sum(files.values()) < int(meant.group(1)) else ""
        elif re.match(r"Tests:? +(\d|no tests)", plain):
            run = sum_results(plain.partition("(")[0])
            failed = max(run.failed, broken)
            summaries.append(Results(max(run.collected, failed), failed, run.skipped))
            broken = 0
            doubt, partly = partly, ""
        elif re.match(r"(Type )?Errors +[1-9]\d* errors?$", plain):
            doubt = f"and it says {' '.join(plain.split())} outside of the tests"
    return doubt_result(summaries, doubt)


def parse_cargo(lines: list[str]) -> list[Results]:
    """Read cargo as one run: it prints a line per crate, and most of these have no test."""
    import re

    runs = [sum_results(line) for line in lines if re.match(r"test result: (ok|FAILED)\. \d", line.strip())]
    error = r"error(\[E\d+\])?: (could not compile|test failed|\d+ targets? failed)"
    broken = any(re.match(error, line) for line in lines)
    if not runs and not broken:
        return []
    failed = max(sum(run.failed for run in runs), int(broken))
    begun = [why for why in (find_unended_run("cargo", line.strip()) for line in lines) if why]
    summaries = [Results(max(sum(run.collected for run in runs), failed), failed, sum(run.skipped for run in runs))]
    return doubt_result(summaries, begun[-1] if len(begun) > len(runs) else "")


def parse_go(lines: list[str]) -> list[Results]:
    """Read go as one run. Without -v, it reports only packages, not tests."""
    import re

    failed = sum(1 for line in lines if re.match(r"\s*--- FAIL: |FAIL\t", line))
    passed = sum(1 for line in lines if re.match(r"\s*--- PASS: ", line))
    skipped = sum(1 for line in lines if re.match(r"\s*--- SKIP: ", line))
    packages = [line for line in lines if re.match(r"ok +\t", line)]
    empty = [line for line in lines if "[no test files]" in line or "[no tests to run]" in line]
    some = skipped and not passed  # with -v, of which the lines of the tests that passed may be cut off
    passed = passed or (0 if some else sum(1 for line in packages if line not in empty))
    if not (failed or passed or skipped or packages or empty):
        return []
    begun = "no line tells of a test that passed" if some else ""
    for line in lines:
        ended = not some and re.match(r"\s*--- FAIL|(?:ok|FAIL|PASS|\?)\s|(?:FAIL|PASS)$", line)
        begun = "" if ended else find_unended_run("go", line) or begun
    return doubt_result([Results(failed + passed + skipped, failed, skipped)], begun)


READERS = {
    "pytest": parse_pytest, "unittest": parse_unittest, "jest": parse_javascript, "vitest": parse_javascript,
    "go": parse_go, "cargo": parse_cargo,
}  # fmt: skip
