"""Reads the results of a JUnit report (XML). It never resolves an entity or reads a document type. It counts the test
cases itself, and believes the sums of the report only if they are worse."""

from __future__ import annotations

from truecall_py.core.errors import Unverified
from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

DEEPEST = 100  # elements inside each other
PIECE = 1 << 20  # bytes that are parsed between two looks at the clock
FAILED = ("failure", "error")
FAILED_WORDS = ("failed", "failure", "fail", "error", "errored", "broken", "timeout", "timedout")
NOT_RUN = ("notrun", "suppressed", "skipped", "disabled", "ignored", "pending")


@record(frozen=True)
class Results:
    """The number of tests that were collected, failed (errors included) and skipped. `names` are the first failed
    ones. `doubt` says why the numbers may be incomplete, or is ""."""

    collected: int
    failed: int
    skipped: int
    names: tuple[str, ...] = ()
    doubt: str = ""

    @property
    def passed(self) -> int:
        return max(0, self.collected - self.failed - self.skipped)


def merge_results(results: list[Results]) -> Results:
    names = [name for result in results for name in result.names]
    return Results(
        sum(result.collected for result in results), sum(result.failed for result in results),
        sum(result.skipped for result in results), tuple(names[:3]),
        next((result.doubt for result in results if result.doubt), ""),
    )  # fmt: skip


def parse_results(data: bytes, tick: Callable[[], Any]) -> Results:
    """Return the results of a report. `tick` is called from time to time and may raise. Raises Unverified for
    anything else than a report."""
    from xml.parsers.expat import ExpatError, ParserCreate

    reader = Reader()
    parser = ParserCreate()
    parser.StartElementHandler = reader.begin
    parser.EndElementHandler = reader.end
    # Only a document type declares entities: without one, nothing can expand.
    parser.StartDoctypeDeclHandler = reader.refuse
    parser.EntityDeclHandler = reader.refuse
    try:
        for start in range(0, len(data), PIECE):
            tick()
            parser.Parse(data[start : start + PIECE], False)
        parser.Parse(b"", True)
    except ExpatError as error:
        raise Unverified(f"it is not XML: {error}", "world") from None
    except (LookupError, ValueError) as error:  # an encoding that nobody knows
        raise Unverified(f"it cannot be read as text: {str(error)[:80]}", "world") from None
    return reader.found()


class Suite:
    """The numbers of a suite with everything in it: its own sums, and the counted ones."""

    def __init__(self, attributes: dict[str, str]) -> None:
        self.claimed = parse_number(attributes, "failures") + parse_number(attributes, "errors")
        self.announced = parse_number(attributes, "tests")
        self.collected = self.failed = self.lacking = 0

    def close(self) -> None:
        """Believes the suite's own sums where they are worse."""
        self.failed = max(self.failed, self.claimed)
        self.collected = max(self.collected, self.failed)
        self.lacking = max(self.lacking, self.announced - self.collected)

    def add(self, other: Suite) -> None:
        self.collected += other.collected
        self.failed += other.failed
        self.lacking += other.lacking


class Reader:
    """Counts while the parser reads."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self.skipped = 0
        self.suites = [Suite({})]
        self.state = self.name = ""
        self.names: list[str] = []

    def refuse(self, *_: Any) -> None:
        raise Unverified("it holds a document type or an entity, which is not read", "world")

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2].lower()
        if not self.path and tag not in ("testsuites", "testsuite"):
            raise Unverified(f"it is no JUnit report: it begins with <{tag[:40]}>", "world")
        self.path.append(tag)
        if len(self.path) > DEEPEST:
            raise Unverified("it is nested too deeply", "world")
        if tag in ("testsuite", "testsuites"):
            self.suites.append(Suite(attributes))
        elif tag == "testcase":
            said = {attributes.get("status", "").lower(), attributes.get("result", "").lower()}
            self.state = "skipped" if said.intersection(NOT_RUN) else ""
            self.state = "failed" if said.intersection(FAILED_WORDS) else self.state
            self.name = "::".join(filter(None, (attributes.get("classname"), attributes.get("name"))))
        elif tag in FAILED and "testcase" not in self.path:
            self.suites[-1].claimed = max(self.suites[-1].claimed, 1)  # of a whole suite, as where its set-up failed
        elif tag in FAILED and self.path[-2] == "testcase":
            self.state = "failed"
        elif tag == "skipped" and self.path[-2] == "testcase" and self.state != "failed":
            self.state = "skipped"

    def end(self, tag: str) -> None:
        ended = self.path.pop()
        if ended in ("testsuite", "testsuites"):
            suite = self.suites.pop()
            suite.close()
            self.suites[-1].add(suite)
        if ended != "testcase":
            return
        self.suites[-1].collected += 1
        self.suites[-1].failed += self.state == "failed"
        self.skipped += self.state == "skipped"
        if self.state == "failed" and len(self.names) < 3:
            self.names.append(self.name[:120])

    def found(self) -> Results:
        whole = self.suites[0]
        doubt = f"it speaks of {whole.lacking} more tests than it holds" if whole.lacking else ""
        if doubt and not whole.collected:
            raise Unverified(f"it speaks of {whole.lacking} tests and holds none of them", "world")
        return Results(whole.collected, whole.failed, self.skipped, tuple(self.names), doubt)


def parse_number(attributes: dict[str, str], name: str) -> int:
    value = attributes.get(name, "").strip()
    return int(value[:9]) if value.isascii() and value.isdigit() else 0
