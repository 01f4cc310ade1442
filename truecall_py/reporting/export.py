"""The formats of `export`: JSON lines, CSV, OpenTelemetry. Each takes calls one by one and yields text in pieces;
none holds more than one call or changes the ledger."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from typing import Any

from truecall_py.core.redaction import HIDDEN
from truecall_py.reporting import otlp
from truecall_py.reporting.calls import Call
from truecall_py.reporting.text import make_plain

# The characters that start a formula in a spreadsheet (OWASP, "CSV Injection"), full-width forms included.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
COLUMNS = (
    "session", "call", "harness", "turn", "agent", "tool", "state", "reported", "began", "ended", "seconds",
    "exit_code", "contracts", "verdicts", "outcomes", "expected", "found", "attempt", "changed", "class", "order",
    "form", "arguments",
)  # fmt: skip


def write_jsonl(calls: Iterable[Call], batch: int = 0) -> Iterator[str]:
    """One call per line, as in `truecall log --json`."""
    for call in calls:
        yield otlp.write_json(make_plain(call)) + "\n"


def write_csv(calls: Iterable[Call], batch: int = 0) -> Iterator[str]:
    """One call per row (RFC 4180), below a row of names."""
    yield join_cells(COLUMNS)
    for call in calls:
        row = make_row(call)
        yield join_cells([row[name] for name in COLUMNS])


def join_cells(cells: Iterable[Any]) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\r\n").writerow([make_cell(value) for value in cells])
    return buffer.getvalue()


def make_cell(value: Any) -> str:
    """A value that is safe in a spreadsheet: text that it would calculate gets an apostrophe, and control or
    invisible characters are escaped."""
    text = "" if value is None else otlp.clean_value(str(value))
    text = "".join(
        f"\\x{ord(letter):02x}" if (letter < " " and letter not in "\t\n\r") or "\x7f" <= letter < "\xa0" else
        f"\\u{ord(letter):04x}" if ord(letter) in HIDDEN else letter
        for letter in text
    )  # fmt: skip
    return f"'{text}" if text.startswith(FORMULA) else text


def make_row(call: Call) -> dict[str, Any]:
    """A call by the names of COLUMNS; values per contract go on separate lines of a cell."""
    told, data, args = call.verdicts, call.data, otlp.clean_value(call.args)
    took = call.ended - call.began if call.began is not None and call.ended is not None else None
    return {
        "session": call.session, "call": call.call, "harness": call.harness, "turn": call.first.turn,
        "agent": call.first.agent, "tool": call.tool, "state": call.state, "reported": call.reported,
        "began": format_utc(call.began), "ended": format_utc(call.ended),
        "seconds": None if took is None else f"{took:.3f}", "exit_code": data.get("exit_code"),
        "contracts": join_lines(told, "contract"), "verdicts": join_lines(told, "state"),
        "outcomes": join_lines(told, "outcome"), "expected": join_lines(told, "expected"),
        "found": join_lines(told, "found"),
        "attempt": data.get("attempt"), "changed": ", ".join(map(str, data.get("changed") or ())),
        "class": data.get("kind"), "order": data.get("order"), "form": data.get("form"),
        "arguments": json.dumps(args, ensure_ascii=False, allow_nan=False) if args else None,
    }  # fmt: skip


def join_lines(verdicts: Iterable[dict[str, Any]], name: str) -> str:
    return "\n".join(str(verdict.get(name, "")) for verdict in verdicts)


def format_utc(at: float | None) -> str | None:
    """A time in ISO 8601, which every spreadsheet reads."""
    if at is None:
        return None
    try:
        return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, OSError, ValueError):
        return str(at)


Form = Callable[[Iterable[Call], int], Iterator[str]]
FORMS: dict[str, Form] = {"otel-json": otlp.render_documents, "jsonl": write_jsonl, "csv": write_csv}
