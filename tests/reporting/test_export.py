"""`truecall export`, as a real process over ledgers that were written as the hook writes them; OTLP is read back by
OpenTelemetry's own messages and protobuf's own JSON parser."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import subprocess
import sys
import threading
from typing import Any

import pytest
from support.ledgers import NOTE, call, scene, verdict
from support.project import ROOT

from truecall_py.ledger.store import ENDED, FILE, REQUESTED, Event, Ledger
from truecall_py.reporting import otlp, queries

NASTY = "=1+1\x00\x1b[31m\r\n\ud83d\u202e, \"q\""


def export(project: Any, *argv: str, code: int = 0) -> str:
    done = project.command("export", *argv)
    assert done.returncode == code, done
    text: str = done.stdout if code == 0 else done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return text


def raw(project: Any, *argv: str) -> bytes:
    """The output byte for byte: text mode would turn the line ends of CSV."""
    argv = (sys.executable, "-m", "truecall_py", "export", *argv)
    return subprocess.run(argv, env={**project.env, "PYTHONPATH": ROOT}, cwd=project.root, check=True,
                          capture_output=True, timeout=60).stdout  # fmt: skip


def parsed(text: str) -> Any:
    """The message of OpenTelemetry that a document is: an unknown field, or one of another kind, is an error. Protobuf
    reads bytes as base64, and OTLP writes ids in hexadecimal: they are turned, and must be as long as ids are."""
    json_format = pytest.importorskip("google.protobuf.json_format")
    trace_service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    plain = json.loads(text)
    for resource in plain["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name, length in (("traceId", 32), ("spanId", 16)):
                    assert len(span[name]) == length and not span[name].strip("0123456789abcdef")
                    span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
                for name in ("startTimeUnixNano", "endTimeUnixNano"):
                    assert isinstance(span[name], str)  # 64 bits do not fit a number of JSON's
    return json_format.ParseDict(plain, trace_service.ExportTraceServiceRequest())


def text_of(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def spans(message: Any) -> list[Any]:
    return [span for each in message.resource_spans for scope in each.scope_spans for span in scope.spans]


def values(attributes: Any) -> dict[str, Any]:
    found = {}
    for each in attributes:
        kind = each.value.WhichOneof("value")
        value = getattr(each.value, kind)
        found[each.key] = [one.string_value for one in value.values] if kind == "array_value" else value
    return found


@pytest.fixture
def told(project: Any) -> Any:
    scene(project.state)
    return project


def test_jsonl_is_what_log_shows(told: Any) -> None:
    """One call a line, the oldest first, under the keys of `truecall log --json`."""
    rows = [json.loads(line) for line in export(told).splitlines()]
    shown = json.loads(told.command("log", "--json", "--limit", "99").stdout)
    assert sorted(rows, key=lambda row: row["call"]) == sorted(shown, key=lambda row: row["call"])
    assert [row["call"] for row in rows][:3] == ["lie-1", "lie-1b", "lie-2"] and rows[-1]["call"] == "lie-3"


def test_spans_are_opentelemetrys(told: Any) -> None:
    """Every call is a span of its session's trace, with the names of the GenAI conventions; protobuf takes all of it."""
    message = parsed(export(told, "--format", "otel-json"))
    every = {values(span.attributes)["gen_ai.tool.call.id"]: span for span in spans(message)}
    assert len(every) == 12 and len({span.span_id for span in every.values()}) == 12
    about = values(every["lie-1"].attributes)
    assert about["gen_ai.operation.name"] == "execute_tool" and about["gen_ai.tool.name"] == NOTE
    assert about["gen_ai.conversation.id"] == "s1" and about["error.type"] == "lie"
    assert json.loads(about["gen_ai.tool.call.arguments"]) == {"title": "a", "body": "hello"}
    assert (about["truecall.state"], about["truecall.attempt"], about["truecall.correction.order"]) == ("refuted", 1, "again")
    assert every["lie-1"].name == f"execute_tool {NOTE}" and every["lie-1"].kind == 1
    assert every["lie-1"].end_time_unix_nano - every["lie-1"].start_time_unix_nano == 1_500_000_000
    judged = [values(each.attributes) for each in every["lie-1"].events if each.name == "truecall.verdict"]
    assert [each["truecall.verdict.found"] for each in judged] == ["nothing at /p/notes/a.md"]
    assert every["lie-1"].trace_id == every["lie-3"].trace_id != every["open"].trace_id
    states = {name: every[name].status.code for name in ("lie-1", "rests", "ok-1", "open", "plain", "runs")}
    assert states == {"lie-1": 2, "rests": 2, "ok-1": 1, "open": 0, "plain": 0, "runs": 0}
    assert [each.name for each in every["long"].events] == ["truecall.settled", "truecall.verdict"]
    assert values(message.resource_spans[0].resource.attributes)["service.name"] == "truecall"


def test_what_a_tool_says_failed_is_an_error_unless_it_landed(project: Any) -> None:
    """The tool's own failure is an error of a kind of its own; one whose effect is there is none."""
    ledger = Ledger(project.state)
    call(ledger, "failed", at=20, reported="failure")
    call(ledger, "landed", verdict("verified"), at=10, reported="failure")
    ledger.close()
    first, second = spans(parsed(export(project, "--format", "otel-json")))
    assert (first.status.code, values(first.attributes)["error.type"]) == (2, "tool_failure")
    assert second.status.code == 1 and "error.type" not in values(second.attributes)


def test_ids_are_the_same_in_every_run(told: Any) -> None:
    """A second export gives the same document, so that whoever takes both has nothing twice."""
    assert export(told, "--format", "otel-json") == export(told, "--format", "otel-json")
    assert otlp.make_span_id("a", "b c") != otlp.make_span_id("a b", "c") != otlp.make_span_id("a", "b  c")


def test_batches_are_whole_documents(told: Any) -> None:
    """With --batch each line is a document of its own; together they hold every span once."""
    lines = export(told, "--format", "otel-json", "--batch", "5").splitlines()
    assert [len(spans(parsed(line))) for line in lines] == [5, 5, 2]
    assert export(told, "--format", "otel-json").count("\n") == 1
    assert "--batch works only with --format otel-json" in export(told, "--batch", "5", code=2)


@pytest.mark.parametrize("form", ["jsonl", "csv", "otel-json"])
def test_what_is_no_text_breaks_no_form(project: Any, form: str) -> None:
    """Control characters, halves of surrogate pairs and what turns the direction of text arrive in a form that every
    reader takes."""
    ledger = Ledger(project.state)
    call(ledger, "odd\x01", verdict("refuted", found=NASTY), at=9, tool=NASTY, args={"a": NASTY, NASTY: "b"})
    ledger.close()
    data = raw(project, "--format", form)
    text = data.decode("utf-8")  # strictly: no half pair
    if form == "csv":
        assert data.endswith(b"\r\n") and b"\x00" not in data and b"\x1b" not in data
        (row,) = csv.DictReader(io.StringIO(text, newline=""))
        assert row["tool"].startswith("'=1+1\\x00\\x1b[31m\r\n") and row["tool"].endswith('\\u202e, "q"')
    elif form == "jsonl":
        (line,) = text.splitlines()
        json.dumps(json.loads(line), ensure_ascii=False).encode()
    else:
        (span,) = spans(parsed(text))
        assert values(span.attributes)["gen_ai.tool.name"].startswith("=1+1\x00")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"])
def test_no_cell_is_a_formula(project: Any, start: str) -> None:
    """A spreadsheet shows the cell as text, whatever an agent or a tool put there."""
    ledger = Ledger(project.state)
    text = f"{start}cmd|' /C calc'!A0"
    call(ledger, "c", verdict("refuted", found=text, contract=text), at=9, tool=text, args={}, session=text)
    ledger.close()
    (row,) = csv.DictReader(io.StringIO(raw(project, "--format", "csv").decode(), newline=""))
    assert row["tool"] == row["session"] == row["contracts"] == row["found"] == f"'{text}"


def test_csv_is_that_of_rfc_4180(told: Any) -> None:
    """A head, one row a call, all of the same length, lines that end in CR LF."""
    text = raw(told, "--format", "csv").decode()
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert len(rows) == 13 and len({len(row) for row in rows}) == 1 and text.count("\r\n") == 13
    by_name = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    assert [row["outcomes"] for row in by_name if row["call"] == "lie-1"] == ["lie"]
    assert all(row["began"].endswith("Z") for row in by_name if row["began"])


def test_since_and_session_choose(told: Any) -> None:
    """Only what was told of since then, or in that session."""
    assert [json.loads(line)["call"] for line in export(told, "--since", "10m").splitlines()] == ["lie-3"]
    assert {json.loads(line)["session"] for line in export(told, "--session", "s2").splitlines()} == {"s2"}
    assert "no session 'none'" in export(told, "--session", "none", code=2)
    assert "is not a time" in export(told, "--since", "soon", code=2)


def test_an_empty_ledger_is_empty_in_every_form(project: Any) -> None:
    """Nothing was written yet: no line, a head, a document without spans."""
    assert export(project) == "" and export(project, "--format", "csv").startswith("session,call,")
    assert json.loads(export(project, "--format", "otel-json")) == {"resourceSpans": []}
    assert not os.path.exists(os.path.join(project.state, FILE))


def test_every_call_comes_once_however_many_there_are(project: Any) -> None:
    """Calls that run side by side, over many pieces of the reading, in the order in which they began."""
    ledger = Ledger(project.state)
    names = [f"c{number:05d}" for number in range(2500)]
    for kind in (REQUESTED, ENDED):
        ledger.add(*(Event("s", name, kind, 1000.0 + at, "codex", tool="Bash", identity="i") for at, name in enumerate(names)))
    assert [name for _, name in queries.list_begun(ledger)] == names
    assert [name for _, name in queries.list_begun(ledger, 3400.0, "s")] == names[2400:]
    ledger.close()


def test_a_file_is_replaced_whole_or_not_at_all(told: Any) -> None:
    """The old file stays until all is written; what was there before stays where the ledger cannot be read."""
    path = os.path.join(told.root, "out.json")
    assert export(told, "--format", "otel-json", "-o", path) == ""
    assert os.stat(path).st_mode & 0o777 == 0o600 and len(spans(parsed(text_of(path)))) == 12
    link = os.path.join(told.root, "link.json")
    os.symlink(path, link)
    export(told, "-o", link)
    assert os.path.islink(link) and text_of(path).count("\n") == 12
    assert "cannot write" in export(told, "-o", os.path.join(told.root, "none", "x"), code=2)
    with open(os.path.join(told.state, FILE), "r+b") as file:
        file.seek(0)
        file.write(b"no database " * 400)
    assert "ledger" in export(told, "-o", path, code=3)
    assert text_of(path).count("\n") == 12
    assert not [name for name in os.listdir(told.root) if name.endswith(".draft")]


def test_a_pipe_is_written_into(told: Any) -> None:
    """What is no file is not replaced by one."""
    pipe = os.path.join(told.root, "pipe")
    os.mkfifo(pipe)
    read: list[bytes] = []

    def reader() -> None:
        with open(pipe, "rb") as file:
            read.append(file.read())

    thread = threading.Thread(target=reader)
    thread.start()
    export(told, "-o", pipe)
    thread.join(20)
    assert read[0].count(b"\n") == 12 and not os.path.isfile(pipe)


def test_reading_changes_nothing(told: Any) -> None:
    """The ledger holds the same events afterwards."""
    def events() -> list[Any]:
        ledger = Ledger(told.state)
        rows = ledger.query("SELECT * FROM events ORDER BY id")
        ledger.close()
        return rows

    before = events()
    for form in ("jsonl", "csv", "otel-json"):
        export(told, "--format", form)
    assert events() == before
