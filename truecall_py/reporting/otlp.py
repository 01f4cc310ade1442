"""Calls as OpenTelemetry spans in OTLP's JSON encoding: a session is a trace, a call a span `execute_tool NAME`.
Turns values into values: tells nothing that the ledger does not keep, and names nothing anew that has a name in the
GenAI conventions.

The encoding (opentelemetry.io/docs/specs/otlp, "JSON Protobuf Encoding"): ids in hexadecimal, 64-bit numbers as
strings, enumerations as numbers. The names `gen_ai.*` and `error.type` are those of the semantic conventions for
generative AI (execute tool span); everything else stands under `truecall.*`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from truecall_py.core.fast_json import dumps
from truecall_py.core.hashing import sha256
from truecall_py.core.types import FAILURE, REFUTED, VERIFIED
from truecall_py.core.version import __version__
from truecall_py.ledger.store import ENDED, JUDGED, REFUSED, SETTLED, WAITING
from truecall_py.reporting.calls import BESIDE, Call

INTERNAL = 1  # of SpanKind
OK, ERROR = 1, 2  # of StatusCode
LARGEST = (1 << 63) - 1
RANK = (REFUTED, "unverified", "pending", VERIFIED)
VERDICT = ("contract", "file", "source", "state", "outcome", "mode", "kind", "subject", "cause", "expected", "found",
           "order", "form", "grants", "operation", "owner")  # fmt: skip


def render_documents(calls: Iterable[Call], batch: int = 0) -> Iterator[str]:
    """One JSON document of all calls, a line, in pieces; with `batch` one document for so many spans each."""
    resource = {"attributes": make_attributes({"service.name": "truecall", "service.version": __version__})}
    head = f'{{"resourceSpans":[{{"resource":{dumps(resource)},"scopeSpans":[{{"scope":'
    head += f'{dumps({"name": "truecall", "version": __version__})},"spans":['
    number = 0
    for call in calls:
        if number and (not batch or number % batch):
            yield ","
        else:
            yield f"{TAIL}{head}" if number else head
        yield write_json(make_span(call))
        number += 1
    yield TAIL if number else '{"resourceSpans":[]}\n'


TAIL = "]}]}]}\n"


def trace_id(session: str) -> str:
    """32 hexadecimal digits, the same in every run; never all zeros."""
    return sha256(b"truecall session " + session.encode("utf-8", "replace"))[:32].replace("0" * 32, "1" * 32)


def make_span_id(session: str, call: str) -> str:
    """16 hexadecimal digits, the same in every run; never all zeros."""
    name = f"truecall call {len(session)} {session} {call}"
    return sha256(name.encode("utf-8", "replace"))[:16].replace("0" * 16, "1" * 16)


def convert_time(at: float) -> str:
    """A time in seconds since the epoch, of which a float holds no more than the microseconds."""
    try:
        return str(min(max(0, round(at * 1_000_000)) * 1000, LARGEST))
    except (ValueError, OverflowError):
        return "0"


def make_span(call: Call) -> dict[str, Any]:
    """One call. A call of which no end was told ends with the last that is known of it."""
    began = call.at
    ended = call.ended if call.ended is not None else call.events[-1].at
    made: dict[str, Any] = {
        "traceId": trace_id(call.session), "spanId": make_span_id(call.session, call.call),
        "name": f"execute_tool {call.tool}" if call.tool else "execute_tool", "kind": INTERNAL,
        "startTimeUnixNano": convert_time(began), "endTimeUnixNano": convert_time(max(began, ended)),
        "attributes": make_attributes(make_call_attributes(call)),
        "events": [*list_span_events(call), *list_verdict_events(call)],
    }  # fmt: skip
    return {**made, "status": make_status(call)}


def find_error_type(call: Call) -> str:
    """What went wrong, in a word of a small set; "" where nothing is known to be wrong."""
    if call.state == REFUTED:
        return str(find_worst(call).get("outcome") or "not landed").replace(" ", "_")
    if call.state == REFUSED:
        return "refused"
    return "tool_failure" if call.reported == FAILURE and call.state != VERIFIED else ""


def make_status(call: Call) -> dict[str, Any]:
    """Error where it was refuted, refused or failed by its own word; ok where it was verified; else unset."""
    if call.state == VERIFIED:
        return {"code": OK}
    if not find_error_type(call):
        return {}
    words = find_worst(call).get("found") if call.state == REFUTED else call.data.get("why")
    return {"code": ERROR, "message": str(words or find_error_type(call).replace("_", " "))}


def find_worst(call: Call) -> dict[str, Any]:
    """The verdict that counts; {} where no contract applied."""
    ranked = sorted(call.verdicts, key=lambda each: RANK.index(each["state"]) if each.get("state") in RANK else 9)
    return ranked[0] if ranked else {}


def make_call_attributes(call: Call) -> dict[str, Any]:
    """The attributes of a call. What is not known is left out."""
    data, first = call.data, call.first
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.tool,
        "gen_ai.tool.call.id": call.call,
        "gen_ai.tool.call.arguments": write_json(call.args) if call.args else None,
        "gen_ai.conversation.id": call.session,
        "gen_ai.agent.id": first.agent,
        "gen_ai.agent.name": call.harness,
        "error.type": find_error_type(call),
        "truecall.state": call.state,
        "truecall.outcome": find_worst(call).get("outcome"),
        "truecall.reported": call.reported,
        "truecall.contracts": [str(verdict.get("contract", "")) for verdict in call.verdicts],
        "truecall.turn": first.turn,
        "truecall.cwd": call.cwd,
        "truecall.exit_code": data.get("exit_code"),
        "truecall.attempt": data.get("attempt"),
        "truecall.attempt.changed": data.get("changed"),
        "truecall.class": data.get("kind"),
        "truecall.correction.order": data.get("order"),
        "truecall.correction.form": data.get("form"),
        "truecall.judged.seconds": data.get("seconds"),
        "truecall.background": bool(data.get("background")) or None,
    }


def list_span_events(call: Call) -> Iterator[dict[str, Any]]:
    """What befell a call beside its beginning and end, as span events."""
    for each in call.events:
        if each.event in (WAITING, REFUSED, JUDGED, SETTLED):
            more = {"why": each.data.get("why"), "by": each.data.get("by"), "state": each.state}
            attributes = {f"truecall.{name}": value for name, value in more.items()}
            yield make_event(each.at, f"truecall.{each.event}", attributes)
        elif each.event.startswith(BESIDE):
            kind = each.event.partition(" ")[0]
            more = {name: each.data.get(name) for name in ("contract", "owner", "by", "as_of", "found")}
            if kind == "intent" and each.data.get("match"):
                more["match"] = write_json(each.data["match"])
            attributes = {f"truecall.{kind}.{name}": value for name, value in {**more, "state": each.state}.items()}
            yield make_event(each.at, f"truecall.{kind}", attributes)


def list_verdict_events(call: Call) -> Iterator[dict[str, Any]]:
    """The verdicts that count now, as span events at the time of the last judgement."""
    at = max((event.at for event in call.events if event.event in (ENDED, JUDGED, SETTLED)), default=call.at)
    for verdict in call.verdicts:
        attributes = {f"truecall.verdict.{name}": verdict.get(name) for name in VERDICT}
        yield make_event(at, "truecall.verdict", attributes)


def make_event(at: float, name: str, about: dict[str, Any]) -> dict[str, Any]:
    return {"timeUnixNano": convert_time(at), "name": name, "attributes": make_attributes(about)}


def make_attributes(given: dict[str, Any]) -> list[dict[str, Any]]:
    """Keys with their values, without those that are not known."""
    known = {key: value for key, value in given.items() if value not in (None, "", [], ())}
    return [{"key": key, "value": make_value(value)} for key, value in known.items()]


def make_value(value: Any) -> dict[str, Any]:
    """A value with the name of its kind. What has none of the kinds, or does not fit, is told as text."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -LARGEST <= value <= LARGEST:
        return {"intValue": str(value)}
    if isinstance(value, float) and value - value == 0:  # neither infinite nor no number
        return {"doubleValue": value}
    if isinstance(value, (list, tuple)):
        return {"arrayValue": {"values": [make_value(item) for item in value]}}
    return {"stringValue": str(value)}


def write_json(value: Any) -> str:
    """A value as JSON that every reader takes. Looked through text by text only where something may be wrong."""
    try:
        text = dumps(value)
    except ValueError:
        return dumps(clean_value(value))
    return dumps(clean_value(value)) if "\\ud" in text else text


def clean_value(value: Any) -> Any:
    """A value of which every text has a UTF-8 form: half a surrogate pair, which no other reader takes, becomes the
    replacement character; a number that is none becomes null."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {clean_value(str(key)): clean_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_value(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return None
    return value
