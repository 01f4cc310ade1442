"""http_status: a server answers as it should, now. Never asks a host that the contract does not name to be
asked, and never takes "somebody answered" for the right answer where more is asked."""

from __future__ import annotations

from truecall_py.checks.outcomes import refuted, unverified, verified
from truecall_py.errors import Unverified
from truecall_py.facts import path_in
from truecall_py.fields import field
from truecall_py.matchers import describe, holds, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.types import Fetched, Outcome, ToolCall
    from truecall_py.world import World

NAME = "http_status"
SUMMARY = "A URL answers with the status, and with the JSON or the text, that it should."
FIELDS = (
    field("url", "url", "What is asked; http or https. Scheme, host and port are the contract's own text.",
          required=True, templated=True),
    field("status", "statuses", "A status, a class such as 2xx, or a list of these.", default=["2xx"]),
    field("method", "choice", "GET or HEAD.", default="GET", choices=("GET", "HEAD")),
    field("headers", "map", "Headers that are sent, to the host of `url` only.", templated=True),
    field("json", "matchers", "Dotted paths into the JSON answer, each with a matcher.", templated=True),
    field("body", "matcher", "What the text of the answer must be.", templated=True),
    field("redirects", "boolean", "Follow redirects (at most 5).", default=False),
)  # fmt: skip
ASSERTS = ("url",)
HEALTH = {"/health": [200, {"content-type": "application/json"}, '{"status": "ok", "version": "42"}']}
EXAMPLES = (
    {
        "title": "the service is up, in the version that was deployed",
        "files": {},
        "serve": HEALTH,
        "check": {"url": "http://127.0.0.1:{port}/health", "json": {"version": {"equals": "42"}}},
        "verdict": "verified",
    },
    {
        "title": "the page is not there",
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


def wanted(params: dict[str, Any]) -> list[Any]:
    statuses = params.get("status") or ["2xx"]
    return statuses if isinstance(statuses, list) else [statuses]


def right(status: int, statuses: list[Any]) -> bool:
    """Whether a status is one of those wanted. 202 is of the class 2xx, and says no more than it says."""
    return any(str(item).lower() in (str(status), f"{status // 100}xx") for item in statuses)


def expect(params: dict[str, Any]) -> str:
    statuses = " or ".join(map(str, wanted(params)))
    words = [f"{params.get('method', 'GET')} {params['url']} answers with status {statuses}"]
    words += [f"the field {path} of its JSON {describe(matcher)}" for path, matcher in fields(params)]
    if params.get("body"):
        words.append(f"its body {describe(params['body'])}")
    return ", ".join(words)


def fields(params: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return list((params.get("json") or {}).items())


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    from truecall_py.network import Refused, host_of

    expected = expect(params)
    url = params["url"]
    redirects = FOLLOWED if params.get("redirects") else 0
    try:
        # A template cannot form the host of a URL, so this one is the contract's own word.
        named = (host_of(url),)
        answer = world.fetch(url, params.get("method", "GET"), params.get("headers") or {}, redirects, named)
    except Refused as why:
        return refuted(expected, why.why, blank=True)
    if not right(answer.status, wanted(params)):
        return refuted(expected, f"status {answer.status}{place(answer)}{body(answer)}")
    if fields(params) or params.get("body"):
        encoding = answer.headers.get("content-encoding", "identity")
        if encoding != "identity":
            return unverified(expected, f"the body came encoded ({encoding}) against our wish", "probe")
        if answer.truncated:
            return unverified(expected, "the body is too long to be judged", "probe")
    wrong = content(params, answer, world)
    return refuted(expected, wrong) if wrong else verified(expected, f"status {answer.status}")


def content(params: dict[str, Any], answer: Fetched, world: World) -> str:
    """What is wrong with the body, or ""."""
    if fields(params):
        from truecall_py.wire import Refused, loads

        try:
            value = loads(answer.body)
        except Refused as refused:
            if answer.body.lstrip()[:1] in ("{", "["):  # JSON of a kind, which may well say what is asked for
                raise Unverified(f"the JSON of the answer is not strict: {refused}", "tool") from None
            return f"status {answer.status}, and the answer is not JSON: {shown(answer.body[:80])}"
        for path, matcher in fields(params):
            found = path_in(value, path)
            if not holds(matcher, found, world):
                return f"status {answer.status}, and {path} is {shown(found)}{body(answer)}"
    if params.get("body") and not holds(params["body"], answer.body, world):
        return f"status {answer.status}{body(answer)}"
    return ""


def place(answer: Fetched) -> str:
    location = answer.headers.get("location")
    return f", a redirect to {shown(location, 120)}" if location else ""


def body(answer: Fetched) -> str:
    return f", body {shown(answer.body, 160)}" if answer.body.strip() else ", without a body"
