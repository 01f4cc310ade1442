"""http_status: a server answers as it should, now. It asks only hosts that the contract names. Any answer is not the
right answer, and an accepted request is not a finished one."""

from __future__ import annotations

from truecall_py.checks import EXECUTION
from truecall_py.checks.support.outcomes import refuted, unverified, verified
from truecall_py.contracts.facts import value_at
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import (
    describe,
    has_delta,
    matches,
    measure,
    quote_value,
    refuse_unreachable,
)
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, NEW, Fetched, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.world.world import World

NAME = "http_status"
SUMMARY = "A URL answers with the expected status, JSON or text."
STAGE = EXECUTION
FAILURE_CLASS = ""
COST = 5.7
FIELDS = (
    field("url", "url", "The http or https URL. Scheme, host and port are the contract's own text.",
          required=True, templated=True),
    field("status", "statuses", "A status, a class such as 2xx, or a list of these. 202 (accepted, not finished) "
          "counts only if it is named.", default=["2xx"]),
    field("method", "choice", "GET or HEAD.", default="GET", choices=("GET", "HEAD")),
    field("headers", "map", "Request headers, sent to the host of `url` only.", templated=True),
    field("json", "matchers", "Dotted paths into the JSON answer ($: all of it), each with a matcher.",
          templated=True),
    field("count", "matchers", "Dotted paths of lists or objects in the JSON answer ($: the answer itself), each "
          "with a matcher on its length.", templated=True),
    field("content_type", "matcher", "The media type of the answer, in lower case and without its parameters.",
          templated=True),
    field("body", "matcher", "The expected text of the answer.", templated=True),
    field("redirects", "boolean", "Follow redirects (at most 5).", default=False),
)  # fmt: skip
ASSERTS = ("url",)
LOOK_UP, NEEDED = ("url", "headers", "redirects"), ("url",)
SYNONYMS = ("http", "url")
HEALTH = {"/health": [200, {"content-type": "application/json"}, '{"status": "ok", "version": "42"}']}
EXAMPLES = (
    {
        "title": "the service is up, in the deployed version",
        "files": {},
        "serve": HEALTH,
        "check": {"url": "http://127.0.0.1:{port}/health", "json": {"version": {"equals": "42"}}},
        "verdict": "verified",
    },
    {
        "title": "the page is missing",
        "files": {},
        "serve": HEALTH,
        "check": {"url": "http://127.0.0.1:{port}/metrics"},
        "verdict": "refuted",
    },
    {
        "title": "a single-page app answers every path with its index",
        "files": {},
        "serve": {"/health": [200, {"content-type": "text/html"}, "<!doctype html><title>App</title>"]},
        "check": {"url": "http://127.0.0.1:{port}/health", "json": {"status": {"equals": "ok"}}},
        "verdict": "refuted",
    },
)

FOLLOWED = 5
ACCEPTED = 202
NOTHING = (404, 410)  # statuses of a receipt that does not exist
TRANSIENT = ("status 5", "status 408", "status 425", "status 429")  # answers of a service that may change soon
WHOLE = "$"  # the path of the whole answer
LONGEST = 1 << 16  # characters of JSON of one value that is kept from before the call


def list_statuses(params: dict[str, Any]) -> list[Any]:
    statuses = params.get("status") or ["2xx"]
    return statuses if isinstance(statuses, list) else [statuses]


def is_wanted(status: int, statuses: list[Any]) -> bool:
    """Whether a status is one of the wanted ones."""
    return any(str(item).lower() in (str(status), f"{status // 100}xx") for item in statuses)


def is_pending(status: int, statuses: list[Any]) -> bool:
    """Whether the server accepted the work for later, although the contract wants it done."""
    return status == ACCEPTED and is_wanted(status, statuses) and str(ACCEPTED) not in map(str, statuses)


def expect(params: dict[str, Any]) -> str:
    statuses = " or ".join(map(str, list_statuses(params)))
    words = [f"{params.get('method', 'GET')} {params['url']} answers with status {statuses}"]
    if params.get("content_type"):
        words.append(f"its content type {describe(params['content_type'])}")
    words += [f"the field {path} of its JSON {describe(matcher)}" for path, matcher in list_fields(params)]
    words += [f"the number of elements in {path} {describe(matcher)}" for path, matcher in list_counts(params)]
    if params.get("body"):
        words.append(f"its body {describe(params['body'])}")
    return ", ".join(words)


def list_fields(params: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return list((params.get("json") or {}).items())


def list_counts(params: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return list((params.get("count") or {}).items())


def require_consistent(params: dict[str, Any]) -> None:
    """Raise Unverified if the contract asks about the body of a HEAD request."""
    asked_for = [name for name in ("json", "count", "body") if params.get(name)]
    if params.get("method") == "HEAD" and asked_for:
        raise Unverified(f"HEAD has no body, and {asked_for[0]} is asked of one; let method be GET", "contract")


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    from truecall_py.world.http import Refused

    expected = expect(params)
    earlier: Any = world.earlier(NAME, params) if needs_snapshot(params) else ABSENT
    try:
        answer = fetch(params, world)
    except Refused as nobody:
        return refuted(expected, nobody.why, blank=True)
    if is_pending(answer.status, list_statuses(params)):
        return unverified(expected, f"status {ACCEPTED}: the work is accepted, and not finished yet", "probe")
    if not is_wanted(answer.status, list_statuses(params)):
        return refuted(expected, f"status {answer.status}{describe_redirect(answer)}{describe_body(answer)}")
    if list_fields(params) or list_counts(params) or params.get("body"):
        unreadable = explain_unreadable(answer)
        if unreadable:
            return unverified(expected, unreadable, "probe")
    moved: dict[str, Any] | None = None if earlier is ABSENT else earlier
    wrong = judge_content(params, answer, moved, world)
    if wrong and moved is not None and not world.alone(NAME, params):
        why = "another call about the same answer ran at the same time, so what this one changed cannot be told"
        return unverified(expected, f"{wrong}; {why}", "probe")
    if wrong:
        return refuted(expected, wrong)
    return verified(expected, f"status {answer.status}", find_effect(params, answer, moved))


def fetch(params: dict[str, Any], world: World) -> Fetched:
    """Return the answer of the server. Raises http.Refused, Unverified."""
    from truecall_py.world.http import parse_host

    require_consistent(params)
    url = params["url"]
    redirects = FOLLOWED if params.get("redirects") else 0
    # A template cannot form the host of a URL, so the contract itself names this one.
    named = (parse_host(url),)
    return world.fetch(url, params.get("method", "GET"), params.get("headers") or {}, redirects, named)


def is_shared_source(params: dict[str, Any]) -> bool:
    """Whether all projects look up their receipts at the same server: a URL is the same everywhere."""
    return True


def is_transient(outcome: Outcome) -> bool:
    """Whether a refutation may pass by itself: nobody answered, or the service says that it is busy or broken. A
    used-up quota or an unknown page does not pass."""
    return outcome.blank or outcome.found.startswith(TRANSIENT)


def evidence(params: dict[str, Any], call: ToolCall, world: World) -> Any:
    """Return the JSON of a final 2xx answer; ABSENT if the server says that there is nothing. Raises Unverified."""
    from truecall_py.world.http import Refused

    try:
        answer = fetch(params, world)
    except Refused as nobody:
        raise Unverified(nobody.why, "world") from None
    if answer.status in NOTHING:
        return ABSENT
    if not is_wanted(answer.status, ["2xx"]) or answer.status == ACCEPTED:
        why = f"it answered with status {answer.status}{describe_redirect(answer)}{describe_body(answer)}"
        raise Unverified(why, "world")
    unreadable = explain_unreadable(answer)
    if unreadable:
        raise Unverified(unreadable, "probe")
    plain = parse_body(answer)
    if plain is ABSENT:
        raise Unverified(f"status {answer.status}, and the answer is not JSON: {quote_value(answer.body[:80])}",
                         "world")
    return plain


def take_snapshot(params: dict[str, Any], call: ToolCall, world: World) -> dict[str, Any]:
    """Return the values before the call that the contract compares, by field and path, without the missing ones.
    Raises Unverified if it compares nothing."""
    if not needs_snapshot(params):
        raise Unverified("nothing is compared with the answer before the call", "contract")
    answer = fetch(params, world)
    unreadable = explain_unreadable(answer)
    if unreadable or not is_wanted(answer.status, list_statuses(params)):
        raise Unverified(unreadable or f"before the call it answered with status {answer.status}", "probe")
    return read_values(params, answer)


def needs_snapshot(params: dict[str, Any]) -> bool:
    return any(has_delta(params.get(name)) for name in ("json", "count", "body", "content_type"))


def read_values(params: dict[str, Any], answer: Fetched) -> dict[str, Any]:
    """Return every value of an answer that a matcher compares with the value before. Raises Unverified."""
    from truecall_py.core.fast_json import dumps

    found: dict[str, Any] = {}
    if any(has_delta(matcher) for _, matcher in list_fields(params) + list_counts(params)):
        plain = parse_body(answer)
        if plain is ABSENT:
            raise Unverified("before the call the answer was not JSON", "probe")
        for name, pairs in (("json", list_fields(params)), ("count", list_counts(params))):
            for path, matcher in pairs:
                value = value_at_path(plain, path, name)
                if has_delta(matcher) and value is not ABSENT:
                    found[f"{name} {path}"] = value
    if has_delta(params.get("body")):
        found["body"] = answer.body
    if has_delta(params.get("content_type")):
        found["content_type"] = parse_media_type(answer)
    if any(len(dumps(value)) > LONGEST for value in found.values()):
        raise Unverified("a value is too long to be kept from before the call", "contract")
    return found


def find_effect(params: dict[str, Any], answer: Fetched, earlier: dict[str, Any] | None) -> str:
    """Return NEW if such a value changed, else ""."""
    return NEW if earlier is not None and read_values(params, answer) != earlier else ""


def explain_unreadable(answer: Fetched) -> str:
    """Return why a body cannot be judged, "" if it can."""
    from truecall_py.world.http import CHARSETS, find_charset

    encoding = answer.headers.get("content-encoding", "identity")
    if encoding != "identity":
        return f"the body came encoded ({encoding}) against our wish"
    written = find_charset(answer.headers)
    if written not in CHARSETS:
        return f"the body is written in {written[:40]}, which is not read"
    return "the body is too long to be judged" if answer.truncated else ""


def parse_body(answer: Fetched) -> Any:
    """Return the JSON of an answer, ABSENT if it is not JSON. Raises Unverified for JSON that is not strict."""
    from truecall_py.core.fast_json import JsonError, loads

    try:
        return loads(answer.body)
    except JsonError as refused:
        if answer.body.lstrip()[:1] in ("{", "["):  # JSON of a kind, which may contain the right value
            raise Unverified(f"the JSON of the answer is not strict: {refused}", "tool") from None
        return ABSENT


def value_at_path(plain: Any, path: str, name: str = "json") -> Any:
    """Return the value at a path of the answer, or for `count` the number of its elements; ABSENT without one."""
    value = plain if path == WHOLE else value_at(plain, path)
    return value if name == "json" else ABSENT if isinstance(value, str) else measure(value)


def parse_media_type(answer: Fetched) -> str:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()


def judge_content(params: dict[str, Any], answer: Fetched, earlier: dict[str, Any] | None, world: World) -> str:
    """Return what is wrong with the answer, "" if it is right; `earlier` are the values from before the call."""

    def old(name: str) -> tuple[Any] | None:
        return None if earlier is None else (earlier.get(name, ABSENT),)

    kind = parse_media_type(answer)
    if params.get("content_type") and not matches(params["content_type"], kind or ABSENT, world,
                                                before=old("content_type")):  # fmt: skip
        shown = quote_value(kind or ABSENT, 80)
        return f"status {answer.status}, and the content type is {shown}{describe_body(answer)}"
    if list_fields(params) or list_counts(params):
        plain = parse_body(answer)
        if plain is ABSENT:
            return f"status {answer.status}, and the answer is not JSON: {quote_value(answer.body[:80])}"
        for path, matcher in list_fields(params):
            found, was = value_at_path(plain, path), old(f"json {path}")
            refuse_unreachable(matcher, found, plain, path.split("."))
            if not matches(matcher, found, world, before=was):
                what = f"is {quote_value(found)}{describe_before(matcher, was)}"
                return f"status {answer.status}, and {path} {what}{describe_body(answer)}"
        for path, matcher in list_counts(params):
            found, was = value_at_path(plain, path, "count"), old(f"count {path}")
            if not matches(matcher, found, world, before=was):
                what = "is no list or object" if found is ABSENT else f"has {found} elements"
                what += describe_before(matcher, was)
                return f"status {answer.status}, and {path} {what}{describe_body(answer)}"
    if params.get("body") and not matches(params["body"], answer.body, world, before=old("body")):
        return f"status {answer.status}{describe_body(answer)}"
    return ""


def describe_before(matcher: dict[str, Any], was: tuple[Any] | None) -> str:
    """Return the value before the call, if the matcher compares with it."""
    return f" (before the call {quote_value(was[0], 60)})" if was is not None and has_delta(matcher) else ""


def describe_redirect(answer: Fetched) -> str:
    location = answer.headers.get("location")
    return f", a redirect to {quote_value(location, 120)}" if location else ""


def describe_body(answer: Fetched) -> str:
    return f", body {quote_value(answer.body, 160)}" if answer.body.strip() else ", without a body"
