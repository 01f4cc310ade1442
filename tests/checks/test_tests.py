"""tests: reports of this call and of another day, runs without tests, and what a tool only says."""

from __future__ import annotations

import os
import time

import pytest

from truecall_py.checks import tests
from truecall_py.checks.support import junit, runner_summaries
from truecall_py.core.errors import Unverified
from truecall_py.core.types import NEW, REFUTED, UNVERIFIED, VERIFIED, ToolCall
from truecall_py.world.snapshots import Snapshot, make_key
from truecall_py.world.world import World

GOOD = '<?xml version="1.0"?><testsuites><testsuite tests="2"><testcase name="a"/><testcase name="b"/></testsuite></testsuites>'
BAD = "<testsuite><testcase name='x'><failure/></testcase></testsuite>"


def call(text="", code=0, duration=60.0):
    return ToolCall("claude-code", "PostToolUse", "Bash", frozenset({"shell"}), {}, text=text, exit_code=code, duration=duration)


def asked(**params):
    given = {"report": "report.xml", "collected": 1, "failed": {"equals": 0}, **params}
    return {name: value for name, value in given.items() if value is not None}


def look(root, world=None, duration=60.0, **params):
    return tests.run(asked(**params), call(duration=duration), world or World(str(root), str(root)))


def why(root, **params):
    with pytest.raises(Unverified) as caught:
        look(root, **params)
    return caught.value


def write(root, xml, age=0.0, path="report.xml"):
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(xml)
    os.utime(target, (time.time() - age, time.time() - age))


@pytest.mark.parametrize(
    ("xml", "state"),
    [
        (GOOD, VERIFIED),
        ("<testsuite><testcase name='a'><failure/></testcase><testcase name='b'/></testsuite>", REFUTED),
        ("<testsuite><testcase name='a'><error>boom</error></testcase></testsuite>", REFUTED),
        ("<testsuite tests='0'/>", REFUTED),
        ("<testsuites/>", REFUTED),
        ("<testsuite><testcase name='a'><skipped/></testcase></testsuite>", UNVERIFIED),
        ("<testsuite><testcase name='a' status='notrun'/></testsuite>", UNVERIFIED),
        ("<testsuite><testcase name='a'><skipped/></testcase><testcase name='b'/></testsuite>", VERIFIED),
        ("<testsuite errors='1'><testcase name='a'/></testsuite>", REFUTED),
        ("<testsuite><error>set-up failed</error><testcase name='a'/></testsuite>", REFUTED),
        ("<testsuite><testcase name='a'><system-out>&lt;failure/&gt;</system-out><flakyFailure/></testcase></testsuite>", VERIFIED),
        ("<testsuite><testsuite failures='2' tests='3'/><testcase name='a'/></testsuite>", REFUTED),
        ("<testsuite><testcase name='a' status='failed'/><testcase name='b'/></testsuite>", REFUTED),
        ("<testsuite><testcase name='a' result='Error'/><testcase name='b'/></testsuite>", REFUTED),
        ("<testsuite><testcase name='a' status='run' result='completed'/></testsuite>", VERIFIED),
        ("<testsuite tests='10'><testcase name='a'/></testsuite>", UNVERIFIED),
        ("<testsuites tests='3'><testsuite tests='1'><testcase/></testsuite><testsuite><testcase/></testsuite></testsuites>",
         UNVERIFIED),
        ("<testsuites tests='2'><testsuite tests='1'><testcase/></testsuite><testsuite tests='1'><testcase/></testsuite>"
         "</testsuites>", VERIFIED),
        ("<testsuite tests='10'><testcase name='a'><failure/></testcase></testsuite>", REFUTED),
    ],
)  # fmt: skip
def test_the_numbers_of_a_report(tmp_path, xml, state):
    """The cases are counted, and a sum counts where it is worse; skipped tests are no tests that ran."""
    write(tmp_path, xml)
    assert look(tmp_path).state == state


def test_the_numbers_are_matchers(tmp_path):
    """Fewer tests than asked for is refuted; skipped and passed can be bounded; failed ones are named."""
    write(tmp_path, GOOD)
    assert look(tmp_path, collected=3).state == REFUTED
    assert look(tmp_path, passed={"at_least": 2}, skipped={"equals": 0}).state == VERIFIED
    assert look(tmp_path, passed={"at_least": 3}).state == REFUTED
    write(tmp_path, "<testsuite><testcase classname='t.C' name='a'><failure/></testcase><testcase name='b'/></testsuite>")
    assert look(tmp_path).found == "2 tests, 1 passed, 1 failed, 0 skipped (t.C::a)"
    assert look(tmp_path, failed={"at_most": 1}).state == VERIFIED
    write(tmp_path, "<testsuite><testcase name='a'><skipped/></testcase></testsuite>")
    assert look(tmp_path, skipped={"at_most": 1}).state == VERIFIED


@pytest.mark.parametrize("collected", [0, 1])
def test_no_tests_are_never_a_pass(tmp_path, collected):
    """Whatever the contract says of the smallest number."""
    write(tmp_path, "<testsuite/>")
    assert look(tmp_path, collected=collected, passed={"at_least": 0}).state == REFUTED


@pytest.mark.parametrize(
    ("xml", "words"),
    [
        ("", "not XML"), ("<testsuite><testcase", "not XML"), ("<html/>", "no JUnit report"), ("<testsuite tests='4'/>", "holds none"),
        ("<!DOCTYPE testsuite><testsuite><testcase/></testsuite>", "document type"),
        ('<!DOCTYPE t [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><testsuite>&c;</testsuite>', "document type"),
        ('<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&x;"/></testsuite>', "document type"),
        ("<?xml version='1.0' encoding='klingon'?><testsuite/>", ""), ("<testsuite>" + "<a>" * 200, "nested"),
        ("<testsuite>&undefined;</testsuite>", "not XML"),
    ],
)  # fmt: skip
def test_what_is_no_plain_report_is_no_verdict(tmp_path, xml, words):
    """Half a file, another kind of file, and every way of having an entity."""
    write(tmp_path, xml)
    error = why(tmp_path)
    assert error.cause == "world" and words in error.why and "report.xml" in error.why


def test_no_report_is_refuted_and_a_pipe_is_no_verdict(tmp_path):
    """Nothing at the path, or a folder, is an answer; something that cannot be read is none."""
    assert look(tmp_path).state == REFUTED
    (tmp_path / "report.xml").mkdir()
    assert look(tmp_path).state == REFUTED
    (tmp_path / "report.xml").rmdir()
    os.mkfifo(tmp_path / "report.xml")
    assert why(tmp_path).cause == "world"


def test_a_report_from_before_the_call_is_no_evidence(tmp_path):
    """By its time: older is refuted, at the edge no verdict; without any start of the call neither."""
    write(tmp_path, GOOD, age=86400)
    found = look(tmp_path)
    assert found.state == REFUTED and "before the call" in found.found
    assert why(tmp_path, duration=None).cause == "harness"
    write(tmp_path, GOOD, age=61)
    assert why(tmp_path).cause == "probe"


def snapshot(root, at, **params):
    fact = tests.take_snapshot(asked(**params), call(), World(str(root), str(root)))
    return World(str(root), str(root), snapshot=Snapshot(at, None, {make_key("tests", str(root), asked(**params)): fact}))


def test_a_snapshot_tells_exactly(tmp_path):
    """The very same file is stale, however new; one that was written since is fresh."""
    write(tmp_path, GOOD)
    world = snapshot(tmp_path, time.time())
    found = look(tmp_path, world)
    assert found.state == REFUTED and "wrote none" in found.found
    write(tmp_path, GOOD.replace("b", "c"), age=-1)
    assert look(tmp_path, world).effect == NEW
    write(tmp_path, GOOD, age=86400)  # put there by the call, and from another day
    with pytest.raises(Unverified, match="cannot be told by its time"):
        look(tmp_path, world)


def test_of_several_reports_the_fresh_ones_count(tmp_path):
    """A glob: stale ones are passed over and counted, a failure in a fresh one is refuted."""
    params = {"report": "**/reports/TEST-*.xml"}
    assert look(tmp_path, **params).state == REFUTED
    write(tmp_path, GOOD, path="a/target/reports/TEST-a.xml")
    write(tmp_path, BAD, 9999, "b/reports/TEST-b.xml")
    write(tmp_path, BAD, 0, "b/reports/other.xml")
    found = look(tmp_path, **params)
    assert found.state == VERIFIED and "1 older reports passed over" in found.found
    write(tmp_path, BAD, 0, "b/reports/TEST-b.xml")
    assert look(tmp_path, **params).state == REFUTED
    assert look(tmp_path, **{**params, "collected": 4}).state == REFUTED


def test_one_way_and_no_other(tmp_path):
    """A report and an output at once would leave one of them out."""
    assert why(tmp_path, output="pytest").cause == "contract"


def test_a_large_report_ends_with_the_time(tmp_path):
    """The clock is looked at while it is read."""
    data = b"<testsuite>" + b"<testcase name='a'/>" * 200_000 + b"</testsuite>"
    with pytest.raises(Unverified):
        junit.parse_results(data, World(ends=0.0).remaining)
    assert junit.parse_results(data, lambda: None).collected == 200_000


# -- what the tool says ----------------------------------------------------------------------------------------

OUTPUTS = [
    ("pytest", "collected 0 items\n\n==== no tests ran in 0.01s ====\n", [(0, 0, 0)]),
    ("pytest", "5 deselected in 0.02s\n", [(0, 0, 0)]),
    ("pytest", "\x1b[32m===== \x1b[1m3 passed\x1b[0m, 1 skipped, 2 warnings in 0.12s =====\x1b[0m\n", [(4, 0, 1)]),
    ("pytest", "1 failed, 2 passed in 61.20s (0:01:01)\n", [(3, 1, 0)]),
    ("pytest", "= 1 error in 0.3s =\nthen\n2 passed in 0.1s\n", [(1, 1, 0), (2, 0, 0)]),
    ("pytest", "I fixed it: 3 passed in my view\n", []),
    ("unittest", "\n----\nRan 0 tests in 0.000s\n\nOK\n", [(0, 0, 0)]),
    ("unittest", "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", [(0, 0, 0)]),
    ("unittest", "Ran 12 tests in 0.004s\n\nOK (skipped=2)\n", [(12, 0, 2)]),
    ("unittest", "Ran 3 tests in 0.1s\n\nFAILED (failures=1, errors=1, unexpected successes=1)\n", [(3, 3, 0)]),
    ("unittest", "OK\n", []),
    ("jest", "Test Suites: 1 passed, 1 total\nTests:       1 failed, 1 skipped, 2 passed, 4 total\nTime: 1 s\n", [(4, 1, 1)]),
    ("jest", "Test Suites: 1 failed, 1 passed, 2 total\nTests:       2 passed, 2 total\n", [(2, 1, 0)]),
    ("jest", "No tests found, exiting with code 0\n", [(0, 0, 0)]),
    ("vitest", " Test Files  1 passed (1)\n      Tests  1 failed | 2 passed (3)\n", [(3, 1, 0)]),
    ("vitest", "No test files found, exiting with code 0\n", [(0, 0, 0)]),
    ("go", "ok  \texample.com/a\t0.01s\n?   \texample.com/b\t[no test files]\n", [(1, 0, 0)]),
    ("go", "ok  \texample.com/a\t0.01s [no tests to run]\n", [(0, 0, 0)]),
    ("go", "--- FAIL: TestX (0.00s)\nFAIL\nFAIL\texample.com/a\t0.01s\nFAIL\n", [(2, 2, 0)]),
    ("go", "--- PASS: TestX (0.00s)\n    --- SKIP: TestY (0.00s)\nPASS\nok  \texample.com/a\t0.01s\n", [(2, 0, 1)]),
    ("cargo", "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n", [(4, 0, 1)]),
    ("cargo", "error: could not compile `x` (lib test) due to 1 previous error\n", [(1, 1, 0)]),
    ("cargo", "test result: FAILED. 1 passed; 2 failed; 0 ignored\n", [(3, 2, 0)]),
]


@pytest.mark.parametrize(("runner", "text", "numbers"), OUTPUTS)
def test_summaries_are_read(runner, text, numbers):
    """Every runner's own last lines, with colours and without; nothing is read into other text."""
    found = runner_summaries.parse_summaries(runner, text)
    assert [(each.collected, each.failed, each.skipped) for each in found] == numbers


def say(text, code=0, **params):
    return tests.run({"output": "pytest", "collected": 1, "failed": {"equals": 0}, **params}, call(text, code), World())


def test_a_claim_can_refute_and_verifies_nothing():
    """No tests, or a failure: refuted. All well: unverified, unless the contract takes the words for it."""
    assert say("no tests ran in 0.01s").state == REFUTED
    assert say("1 failed, 3 passed in 0.1s").state == REFUTED
    assert say("3 passed in 0.1s", collected=4).state == REFUTED
    found = say("3 passed in 0.1s")
    assert (found.state, found.cause) == (UNVERIFIED, "contract")
    assert say("3 passed in 0.1s", accept="output").state == VERIFIED
    assert say("all good").state == UNVERIFIED
    assert say("").state == UNVERIFIED


def test_a_claim_that_is_taken_needs_an_exit_code_and_no_failure_before_it():
    """0 and nothing else; a failing run before the last one is a doubt; all skipped as well."""
    assert say("3 passed in 0.1s", None, accept="output").cause == "harness"
    assert say("3 passed in 0.1s", 1, accept="output").cause == "tool"
    assert say("1 failed in 0.1s\n3 passed in 0.1s", accept="output").state == UNVERIFIED
    assert say("3 passed in 0.1s\n1 failed in 0.1s", accept="output").state == REFUTED
    assert say("3 skipped in 0.1s", accept="output").state == UNVERIFIED


CARGO = "running 3 tests\n\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
SESSION = "======= test session starts =======\ncollected 4 items\n\n"
JEST = "PASS a.test.js\nTest Suites: 1 passed, 1 total\nTests:       4 passed, 4 total\n"
VITEST = " RUN  v1.6.0 /app\n\n Test Files  1 passed (1)\n      Tests  3 passed (3)\n"
GO = "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \tx/a\t0.01s\n"


@pytest.mark.parametrize(("runner", "whole", "rest"), [
    ("pytest", SESSION + "=== 4 passed in 0.10s ===\n", SESSION + "b.py ..."),
    ("pytest", "4 passed in 0.10s\n", "bash: line 1:  4711 Killed                  pytest -q b\n"),
    ("pytest", "....  [100%]\n4 passed in 0.10s\n", "........   [ 40%]\n"),
    ("unittest", "....\n----\nRan 4 tests in 0.10s\n\nOK\n", "....\n----\nRan 9 tests in 0.10s\n"),
    ("jest", JEST, "PASS b.test.js\n"),
    ("vitest", VITEST, " RUN  v1.6.0 /other\n"),
    ("vitest", VITEST, "     Errors  1 error\n   Start at  10:00:00\n"),
    ("go", GO, "=== RUN   TestB\n"),
    ("go", GO, "panic: boom\n\ngoroutine 1 [running]:\n"),
    ("go", GO, "signal: killed\n"),
    ("cargo", CARGO, "     Running tests/b.rs\n\nrunning 5 tests\ntest x ... ok\n"),
])  # fmt: skip
def test_a_run_that_was_killed_after_another_ended_well_is_no_success(runner, whole, rest):
    """A run that begins below the last summary, and errors outside of the tests, are a doubt: a pipe ends with 0 all
    the same. What comes to its end, twice as well, is believed as before, and so is what watches afterwards."""
    ended = {"output": runner, "accept": "output"}
    for text in (whole, whole + whole, whole + "\n PASS  Waiting for file changes...\n"):
        assert say(text, **ended).state == VERIFIED, text
    found = say(whole + rest, **ended)
    assert (found.state, found.cause) == (UNVERIFIED, "tool")
    if "Errors" not in rest:
        assert say(whole + rest + whole, **ended).state == (UNVERIFIED if runner == "cargo" else VERIFIED)


@pytest.mark.parametrize(("runner", "text", "state"), [
    ("go", "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n", UNVERIFIED),
    ("go", "=== RUN   TestA\n--- SKIP: TestA (0.00s)\nPASS\nok  \tx/a\t0.01s\n", UNVERIFIED),
    ("go", "ok  \tx/a\t0.01s\nok  \tx/b\t(cached)\n", VERIFIED),
    ("pytest", "4 passed in 0.10s\nbash: line 2: 41 Terminated              npm start\n", VERIFIED),
    ("vitest", VITEST + "Type Errors  no errors\n", VERIFIED),
    ("jest", "Test Suites: 1 passed, 1 of 5 total\nTests:       4 passed, 4 total\n", UNVERIFIED),
    ("jest", "Test Suites: 1 skipped, 4 passed, 4 of 5 total\nTests:       1 skipped, 4 passed, 5 total\n", VERIFIED),
    ("pytest", "3 passed, 2 subtests failed in 0.10s\n", REFUTED),
    ("pytest", "3 passed, 2 subtests passed in 0.10s\n", VERIFIED),
])  # fmt: skip
def test_what_came_to_no_end_and_what_was_skipped_are_no_success(runner, text, state):
    """Of a package in which a test began that did not end nothing is known; that a package is well where every test that
    is shown was skipped is no test that passed; of files that did not run, none is well. A server that is stopped afterwards is no run that was killed."""
    assert say(text, output=runner, accept="output").state == state


def test_a_killed_run_does_not_hide_that_another_ran_nothing():
    """No test in the last run that came to its end is still refuted."""
    assert say(SESSION + "=== no tests ran in 0.01s ===\n").state == REFUTED
    assert runner_summaries.parse_summaries("cargo", "error: 2 targets failed:\n" + CARGO)[0].failed == 1


def test_a_long_output_is_read_in_time():
    """Every pattern is linear."""
    began = time.monotonic()
    for runner in runner_summaries.RUNNERS:
        for text in ("1 " * 400_000, "1 passed, " * 100_000, "= " * 500_000, "Ran 1\n" * 100_000, "(" * 1_000_000):
            runner_summaries.parse_summaries(runner, text)
    assert time.monotonic() - began < 20


def test_the_sums_of_several_suites_are_added(tmp_path):
    """Two suites whose set-up broke are two failures, one inside the other counts once."""
    write(tmp_path, "<testsuites><testsuite errors='1'/><testsuite errors='1'/><testsuite><testcase/></testsuite></testsuites>")
    assert look(tmp_path, failed={"at_most": 1}).state == REFUTED
    write(tmp_path, "<testsuites errors='1'><testsuite errors='1'/><testsuite><testcase/></testsuite></testsuites>")
    assert look(tmp_path, failed={"at_most": 1}).state == VERIFIED


def test_a_report_that_may_be_of_this_call_is_not_passed_over(tmp_path):
    """With a time from before the call it may have been copied out of a container: where the others pass, there is no
    verdict, and a failure among them stays one."""
    world = snapshot(tmp_path, time.time() - 5, report="*.xml")
    write(tmp_path, GOOD, path="a.xml")
    write(tmp_path, "<testsuite><testcase><failure/></testcase></testsuite>", age=60, path="b.xml")
    found = look(tmp_path, world, report="*.xml")
    assert (found.state, found.cause) == (UNVERIFIED, "probe") and "b.xml" in found.found
    write(tmp_path, "<testsuite><testcase><failure/></testcase></testsuite>", path="a.xml")
    assert look(tmp_path, world, report="*.xml").state == REFUTED


def test_a_clock_that_is_behind_is_no_refutation(tmp_path):
    """Without a look before the call, a report a few seconds too old may be one of a container's; one of another day is
    not, and one from the future tells nothing."""
    write(tmp_path, GOOD, age=8)
    assert why(tmp_path, duration=1.0).cause == "probe"
    write(tmp_path, GOOD, age=86400)
    assert look(tmp_path, duration=1.0).state == REFUTED
    write(tmp_path, GOOD, age=-86400)
    assert why(tmp_path, duration=1.0).cause == "probe"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("== 3 passed in 0.1s ==\nINTERNALERROR> boom", UNVERIFIED), ("INTERNALERROR> x\n== 3 passed in 0.1s ==", UNVERIFIED),
        ("== 3 passed in 0.1s ==\nERROR: usage: pytest [options]", UNVERIFIED),
        ("ERROR: pip's resolver\n== 3 passed in 0.1s ==", VERIFIED), ("== 3 passed in 0.1s ==\nSegmentation fault", UNVERIFIED),
        ("!!!!!!!! KeyboardInterrupt !!!!!!!!\n== 3 passed in 0.1s ==", UNVERIFIED),
        ("== 1 failed, 3 passed in 0.1s ==\nINTERNALERROR> boom", REFUTED),
    ],
)  # fmt: skip
def test_a_run_that_broke_off_is_not_believed(text, state):
    """A crash or a refused run beside the summary: a claim that is taken is not this one."""
    assert say(text, accept="output").state == state
