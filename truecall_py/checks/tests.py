"""tests: tests ran in this call, and none failed. An old report, a run without tests, or the words of the tool alone
do not count as passing tests."""

from __future__ import annotations

from truecall_py.checks import LOGIC
from truecall_py.checks.support.nearest_names import find_nearest
from truecall_py.checks.support.outcomes import refuted, unverified, verified
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import describe, matches
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, NEW, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from truecall_py.checks.support.junit import Results
    from truecall_py.world.world import World

NAME = "tests"
SUMMARY = "The call wrote a JUnit report with tests that ran and no failure."
STAGE = LOGIC
FAILURE_CLASS = "test"
COST = 2.7
FIELDS = (
    field("report", "glob", "The JUnit report (XML), or a glob for several (`**/surefire-reports/*.xml`), relative "
          "to the folder in which the call started. Reports older than the call are ignored.",
          templated=True),
    field("output", "choice", "Without a report: the test runner whose summary is in the call's text. It can refute; "
          "alone it verifies nothing.", choices=("pytest", "unittest", "jest", "vitest", "go", "cargo")),
    field("accept", "choice", "output: trust a summary without failures if the exit code is 0.",
          choices=("output",)),
    field("collected", "count", "At least this many tests.", default=1),
    field("failed", "matcher", "The number of failed tests, including errors.", default=0),
    field("skipped", "matcher", "The number of skipped tests."),
    field("passed", "matcher", "The number of passed tests; default: at least one."),
)  # fmt: skip
ASSERTS = ("report", "output")
ONLY_AFTER = {"": "what the call ran"}
PASSING = '<testsuites><testsuite tests="2"><testcase name="a"/><testcase name="b"/></testsuite></testsuites>'
FAILING = '<testsuite><testcase name="a"/><testcase name="b"><failure message="1 != 2"/></testcase></testsuite>'
EXAMPLES = (
    {
        "title": "the call wrote a report, and all tests pass",
        "before": {"files": {"old.xml": PASSING}},
        "files": {"report.xml": PASSING},
        "check": {"report": "report.xml", "collected": 2},
        "verdict": "verified",
    },
    {
        "title": "one test failed",
        "before": {},
        "files": {"report.xml": FAILING},
        "check": {"report": "report.xml"},
        "verdict": "refuted",
    },
    {
        "title": "the report has no failure, but is from another day",
        "before": {"files": {"report.xml": PASSING}, "setup": "touch -t 202001010000 report.xml"},
        "check": {"report": "report.xml"},
        "verdict": "refuted",
    },
    {
        "title": "no test ran at all",
        "result": {"stdout": "collected 0 items\n\n===== no tests ran in 0.01s =====\n"},
        "check": {"output": "pytest"},
        "verdict": "refuted",
    },
    {
        "title": "the tool's own summary, without a report",
        "result": {"stdout": "===== 12 passed in 0.41s =====\n"},
        "check": {"output": "pytest"},
        "verdict": "unverified",
    },
)

SLACK = 2.0  # seconds: clocks of file systems are late, and a hook starts a little after its call ended
SKEW = 600.0  # seconds by which the clock of another machine may be late, without a snapshot
MANY = 2000  # reports


def expect(params: dict[str, Any]) -> str:
    report, output = params.get("report"), params.get("output")
    where = f"in a report {report} of this call" if report else f"in the summary of {output}"
    least = params.get("collected", 1)
    words = [f"at least {least} test{'' if least == 1 else 's'} {where}"]
    for name, matcher in list_matchers(params):
        clean = name == "failed" and matcher == {"equals": 0}
        words.append("none of them failed" if clean else f"the number of {name} ones {describe(matcher)}")
    return ", ".join(words)


def list_matchers(params: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the matchers on the numbers. Without `skipped` and `passed`, at least one test must have passed."""
    found = [("failed", params.get("failed") or {"equals": 0})]
    found += [(name, params[name]) for name in ("skipped", "passed") if params.get(name)]
    return found


def payload_only(params: dict[str, Any]) -> bool:
    """With `output`, it uses only the text of the call."""
    return bool(params.get("output")) and not params.get("report")


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    if params.get("output") and params.get("report"):
        raise Unverified("tests holds both report and output", "contract")
    return judge_text(params, call, world) if params.get("output") else judge_report(params, call, world)


def judge_report(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    from truecall_py.checks.support.junit import merge_results, parse_results

    expected = expect(params)
    paths = find_reports(params, world)
    if not paths:
        where = world.resolve(params["report"])
        return refuted(expected, f"there is no report at {where}", find_nearest(where, world), blank=True)
    earlier = world.earlier(NAME, params)
    fresh, stale, doubtful = sort_by_age(paths, earlier, world.began(call.duration), world)
    if not fresh:
        oldest = f"{stale[0]}" + (f" and {len(stale) - 1} more" if len(stale) > 1 else "")
        return refuted(expected, f"{oldest} was written before the call, which wrote none")
    summaries = []
    for path in fresh:
        try:
            summaries.append(parse_results(world.read(path), world.remaining))
        except Unverified as why:
            raise Unverified(f"{path}: {why.why}", why.cause) from None
    what = merge_results(summaries)
    told = describe_numbers(what) + (f"; {len(stale)} older reports passed over" if stale else "")
    if what.doubt and not is_failing(params, what, world):
        return unverified(expected, f"{told}; {what.doubt}", "tool")
    if is_unmet(params, what, world):
        return refuted(expected, told)
    if is_idle(params, what):
        return unverified(expected, f"{told}: nothing was tested", "tool")
    if doubtful:
        unsure = f"whether {doubtful[0]} was written by this call cannot be told by its time"
        return unverified(expected, f"{told}; {unsure}", "probe")
    return verified(expected, told, "" if earlier is ABSENT else NEW)


def find_reports(params: dict[str, Any], world: World) -> list[str]:
    """Return the existing reports, in order. Raises Unverified."""
    import stat as modes

    from truecall_py.checks.support.glob_walk import find_entries

    found = sorted(path for path, there in find_entries(params["report"], world) if not modes.S_ISDIR(there.st_mode))
    if len(found) > MANY:
        raise Unverified(f"{params['report']} names more than {MANY} files", "contract")
    return found


def take_snapshot(params: dict[str, Any], call: ToolCall, world: World) -> dict[str, list[int]]:
    """Return the reports before the call, with a mark that changes when they are written again."""
    if params.get("output"):
        raise Unverified("what a call says is not there before it", "contract")
    found = {}
    for path in find_reports(params, world):
        at = world.stat(path)
        if at is not None:
            found[path] = build_mark(at)
    return found


def needs_snapshot(params: dict[str, Any]) -> bool:
    """Always: the snapshot says when the call began, which its duration says only roughly, if at all."""
    return not params.get("output")


def build_mark(found: os.stat_result) -> list[int]:
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def sort_by_age(
    paths: list[str], earlier: Any, began: float | None, world: World
) -> tuple[list[str], list[str], list[str]]:
    """Return (reports that the call wrote, older reports, reports that may be either). Raises Unverified if nothing
    shows when the call began."""
    fresh, stale, doubtful = [], [], []
    for path in paths:
        found = world.stat(path)
        if found is None:
            continue
        known = None if earlier is ABSENT else earlier.get(path, [])
        if known == build_mark(found):
            stale.append(path)
        elif began is None:
            raise Unverified("neither the harness nor a snapshot says when the call began", "harness")
        elif known is None and found.st_mtime > world.wall() + SLACK:
            doubtful.append(path)  # from the future: the clock that wrote it is wrong
        elif found.st_mtime >= began or (known is not None and found.st_mtime >= began - SLACK):
            fresh.append(path)
        elif found.st_mtime < began - SLACK and known is None:
            stale.append(path)
        else:
            doubtful.append(path)  # within the slack; or moved there by the call, with an older time
    if not fresh and earlier is ABSENT:  # the clock of a container or virtual machine may be late
        doubtful += [path for path in stale if read_modification_time(path, world) > (began or 0.0) - SKEW]
    if doubtful and not fresh:
        raise Unverified(f"whether {doubtful[0]} was written by this call cannot be told by its time", "probe")
    return fresh, stale, doubtful


def read_modification_time(path: str, world: World) -> float:
    found = world.stat(path)
    return found.st_mtime if found else 0.0


def judge_text(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    """Judge the words of the tool. They can refute its claim, but they verify it only if the contract accepts
    that."""
    from truecall_py.checks.support.runner_summaries import parse_summaries
    from truecall_py.clients.payload import find_text
    from truecall_py.contracts.facts import find_exit_code

    expected = expect(params)
    said = find_text(call)
    if not said:
        return unverified(expected, "the call has no text", "harness")
    runs = parse_summaries(params["output"], said)
    if not runs:
        return unverified(expected, f"the text holds no summary of {params['output']}", "tool")
    last = runs[-1]
    told = f"the output says: {describe_numbers(last)}"
    if last.doubt and not is_failing(params, last, world):
        return unverified(expected, f"{told}; {last.doubt}", "tool")
    if is_unmet(params, last, world):
        return refuted(expected, told)
    if any(is_unmet(params, results, world) for results in runs[:-1]):
        return unverified(expected, f"{told}, and of a run before it: {describe_numbers(runs[-2])}", "tool")
    if is_idle(params, last):
        return unverified(expected, f"{told}: nothing was tested", "tool")
    if params.get("accept") != "output":
        return unverified(expected, f"{told}, and no report shows it", "contract")
    code = find_exit_code(call, world)
    if code != 0:
        what = "is not known" if code is None else f"is {code}"
        return unverified(expected, f"{told}, and the exit code {what}", "harness" if code is None else "tool")
    return verified(expected, told)


def is_unmet(params: dict[str, Any], found: Results, world: World) -> bool:
    """Whether the numbers are wrong."""
    if found.collected < max(1, params.get("collected", 1)):
        return True
    return not all(matches(matcher, getattr(found, name), world) for name, matcher in list_matchers(params))


def is_failing(params: dict[str, Any], found: Results, world: World) -> bool:
    """Whether more tests failed than allowed, which further tests cannot change."""
    return found.failed > 0 and not matches(params.get("failed") or {"equals": 0}, found.failed, world)


def is_idle(params: dict[str, Any], found: Results) -> bool:
    """Whether every test was skipped, and the contract does not want that."""
    return found.passed == 0 and not params.get("passed") and not params.get("skipped")


def describe_numbers(found: Results) -> str:
    total = f"{found.collected} test{'' if found.collected == 1 else 's'}"
    words = f"{total}, {found.passed} passed, {found.failed} failed, {found.skipped} skipped"
    return words + (f" ({', '.join(found.names)})" if found.names else "")
