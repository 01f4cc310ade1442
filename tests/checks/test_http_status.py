"""http_status: what a server's answer says, and what it does not say."""

from __future__ import annotations

import socket
import time

import pytest
from support.http_server import answer

from truecall_py.checks import http_status
from truecall_py.core.errors import Unverified
from truecall_py.core.types import NEW, REFUTED, UNVERIFIED, VERIFIED, ToolCall
from truecall_py.world.snapshots import Snapshot, make_key
from truecall_py.world.world import World

CALL = ToolCall("claude-code", "PostToolUse", "mcp__deploy__publish", frozenset({"mcp"}), {})


def look(url, world=None, **params):
    return http_status.run({"url": url, **params}, CALL, world or World())


@pytest.mark.parametrize("example", http_status.EXAMPLES, ids=lambda example: example["title"])
def test_the_examples_hold(example, server):  # noqa: F811
    """What the documentation shows is what happens."""
    pages = {}
    for path, (status, headers, body) in example["serve"].items():
        pages[path] = answer(status, body, **{name.replace("-", "_"): value for name, value in headers.items()})
    here = server(pages)
    check = {**example["check"], "url": example["check"]["url"].replace("{port}", str(here.port))}
    assert http_status.run(check, CALL, World()).state == example["verdict"]


@pytest.mark.parametrize(
    ("status", "wanted", "state"),
    [
        (200, None, VERIFIED), (202, None, UNVERIFIED), (202, ["2xx", 202], VERIFIED), (202, [404], REFUTED), (202, ["2xx"], UNVERIFIED), (204, ["2xx"], VERIFIED), (202, [200], REFUTED),
        (404, None, REFUTED), (404, [404], VERIFIED), (500, ["2xx", 404], REFUTED), (404, ["2xx", 404], VERIFIED),
        (302, None, REFUTED), (302, ["3xx"], VERIFIED),
    ],
)  # fmt: skip
def test_the_status_decides(server, status, wanted, state):  # noqa: F811
    """A number, a class, a list; 2xx where nothing is said. 202 is a promise, and counts only where it is named."""
    params = {} if wanted is None else {"status": wanted}
    assert look(server(answer(status, "", Location="/x")).url, **params).state == state


def test_a_wrong_status_is_quoted_with_its_body(server):  # noqa: F811
    """What was found is there for the agent to read, redirects with where they lead."""
    found = look(server(answer(503, "no database")).url)
    assert found.found == 'status 503, body "no database"'
    found = look(server(answer(302, "", Location="/login")).url)
    assert found.found == 'status 302, a redirect to "/login", without a body'


def test_fields_of_the_json_are_matched(server):  # noqa: F811
    """Dotted paths, each with its matcher; one that is not there does not hold."""
    here = server(answer(200, '{"status": "ok", "jobs": [{"id": 7}]}')).url
    good = {"status": {"equals": "ok"}, "jobs.0.id": {"at_least": 7}}
    assert look(here, json=good).state == VERIFIED
    found = look(here, json={"status": {"equals": "ok"}, "jobs.0.id": {"equals": "7"}})
    assert found.state == REFUTED
    assert found.found.startswith("status 200, and jobs.0.id is 7, body")
    assert 'the field jobs.0.id of its JSON equals "7"' in found.expected
    assert look(here, json={"jobs.1": {"exists": True}}).state == REFUTED


def test_an_answer_that_is_not_json_is_refuted(server):  # noqa: F811
    """The index page of a single-page app, with 200, is not the JSON that was asked for."""
    page = answer(200, "<!doctype html><title>App</title>", Content_Type="text/html")
    found = look(server(page).url, json={"status": {"exists": True}})
    assert found.state == REFUTED
    assert found.found == 'status 200, and the answer is not JSON: "<!doctype html><title>App</title>"'


def test_the_body_is_matched(server):  # noqa: F811
    """The text of the answer, as a matcher sees it."""
    here = server(answer(200, "version 42")).url
    assert look(here, body={"contains": "42"}).state == VERIFIED
    assert look(here, body={"contains": "43"}).state == REFUTED


def test_a_body_that_cannot_be_read_whole_is_no_verdict(server):  # noqa: F811
    """Too long, or compressed unasked: unverified if the body counts, and the status alone still does."""
    long = server(answer(200, "x" * 1_200_000)).url
    assert look(long, body={"not_contains": "error"}).state == UNVERIFIED
    assert look(long).state == VERIFIED
    packed = server(answer(200, "....", Content_Encoding="gzip")).url
    assert look(packed, body={"not_contains": "error"}).state == UNVERIFIED


def test_nothing_that_listens_is_refuted():
    """A refused connection at a host that the contract names is an answer: it is not up."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    found = look(f"http://127.0.0.1:{port}/health")
    assert found.state == REFUTED
    assert found.found == f"nothing listens at 127.0.0.1:{port} (connection refused)"


def test_redirects_are_followed_only_if_allowed(server):  # noqa: F811
    """Up to five, and none without being told to."""
    here = server({"/": answer(302, "", Location="/a"), "/a": answer(200, "there")}).url
    assert look(here, body={"equals": "there"}).state == REFUTED
    assert look(here, body={"equals": "there"}, redirects=True).state == VERIFIED
    assert look(server(answer(302, "", Location="/")).url, redirects=True).state == REFUTED


def test_a_redirect_to_a_metadata_address_is_no_verdict(server):  # noqa: F811
    """Nothing is asked there, and the verdict says which rule refused."""
    here = server(answer(302, "", Location="http://169.254.169.254/latest/meta-data/")).url
    with pytest.raises(Unverified, match=r"169\.254\.169\.254"):
        look(here, redirects=True)


@pytest.mark.parametrize("url", ["file:///etc/hostname", "http://127.0.0.1@198.51.100.1/", "http:///x"])
def test_a_url_that_is_not_fit_is_no_verdict(url):
    """Another scheme, a user name, no host: refused without any request."""
    with pytest.raises(Unverified) as caught:
        look(url)
    assert caught.value.cause == "contract"


def test_a_server_in_drops_is_no_verdict(server):  # noqa: F811
    """The time of one look is the time of the whole answer."""

    def drops(line, asked, self):
        while not self.over.is_set():
            line.sendall(b"H")
            time.sleep(0.02)

    with pytest.raises(Unverified, match="did not answer in full"):
        look(server(drops).url, World(look=0.3))


def test_head_and_headers_are_sent(server):  # noqa: F811
    """Method and headers are the contract's; a header's value is not told."""
    here = server(answer())
    found = look(here.url, method="HEAD", headers={"Authorization": "Bearer s3cret"})
    assert found.state == VERIFIED
    assert here.asked[0].startswith("HEAD ")
    assert "Bearer s3cret" in here.asked[0]
    assert "s3cret" not in found.expected + found.found


def test_accepted_is_not_done(server):  # noqa: F811
    """A promise is no verdict, whatever its body says, and is looked at again within the contract's time."""
    found = look(server(answer(202, '{"status": "done"}')).url, json={"status": {"equals": "done"}})
    assert (found.state, found.cause) == (UNVERIFIED, "probe")
    assert "accepted, and not finished" in found.found


def test_the_content_type_is_matched_without_its_parameters(server):  # noqa: F811
    """application/json is not text/html, whatever charset stands beside it; none at all is neither."""
    here = server(answer(200, "{}", Content_Type="Application/JSON; charset=utf-8")).url
    assert look(here, content_type={"equals": "application/json"}).state == VERIFIED
    found = look(here, content_type={"equals": "text/html"})
    assert (found.state, found.found) == (REFUTED, 'status 200, and the content type is "application/json", body "{}"')
    assert look(server(answer(200, "{}")).url, content_type={"contains": "json"}).state == REFUTED


def test_the_elements_are_counted(server):  # noqa: F811
    """Of a list or an object at a path, or of the whole answer; a text has none."""
    here = server(answer(200, '{"items": [1, 2], "names": {"a": 1}, "text": "abc", "empty": []}')).url
    assert look(here, count={"items": {"equals": 2}, "names": {"equals": 1}, "empty": {"equals": 0}}).state == VERIFIED
    assert look(here, count={"$": {"equals": 4}}).state == VERIFIED
    assert look(here, json={"$": {"type": "object"}}).state == VERIFIED
    assert "items has 2 elements" in look(here, count={"items": {"at_least": 3}}).found
    assert "text is no list" in look(here, count={"text": {"equals": 3}}).found
    assert look(here, count={"missing": {"equals": 0}}).state == REFUTED
    assert look(server(answer(200, "[]")).url, count={"$": {"at_least": 1}}).state == REFUTED


class Growing:
    """An answer that can be changed between two looks."""

    def __init__(self, body):
        self.body = body

    def __call__(self, line, asked, self_):
        line.sendall(answer(200, self.body))


def with_snapshot(url, alone=True, **params):
    params = {"url": url, **params}
    fact = http_status.take_snapshot(params, CALL, World())
    snapshot = Snapshot(0.0, None, {make_key("http_status", None, params): fact})
    world = World(snapshot=snapshot)
    if not alone:
        world.alone = lambda *_: False
    return world


def test_values_are_compared_with_those_before_the_call(server):  # noqa: F811
    """Numbers, elements, the body: what must have grown or changed has; else it is refuted, with both values."""
    page = Growing('{"total": 4, "items": [1]}')
    here = server(page).url
    params = {"json": {"total": {"increased_by": 1}}, "count": {"items": {"increased_by": 1}}, "body": {"changed": True}}
    world = with_snapshot(here, **params)
    found = look(here, world, **params)
    assert found.state == REFUTED and "total is 4 (before the call 4)" in found.found
    page.body = '{"total": 5, "items": [1]}'
    found = look(here, world, **params)
    assert found.state == REFUTED and "items has 1 elements (before the call 1)" in found.found
    page.body = '{"total": 5, "items": [1, 2]}'
    found = look(here, world, **params)
    assert (found.state, found.effect) == (VERIFIED, NEW)


def test_without_a_snapshot_or_beside_another_call_a_change_cannot_be_told(server):  # noqa: F811
    """Nobody saw it before; or somebody else may have changed it meanwhile."""
    here = server(Growing('{"total": 4}')).url
    params = {"json": {"total": {"increased_by": 1}}}
    with pytest.raises(Unverified) as caught:
        look(here, **params)
    assert caught.value.cause == "harness"
    found = look(here, with_snapshot(here, alone=False, **params), **params)
    assert (found.state, found.cause) == (UNVERIFIED, "probe")
    assert look(server(answer(500)).url, **params).state == REFUTED  # that is wrong, whatever was before


def test_nothing_is_asked_before_the_call_where_nothing_is_compared(server):  # noqa: F811
    """A look before costs a request, and may be one too many."""
    here = server(answer(200, "{}"))
    with pytest.raises(Unverified):
        http_status.take_snapshot({"url": here.url, "json": {"a": {"equals": 1}}}, CALL, World())
    assert here.asked == []
    assert not http_status.needs_snapshot({"url": here.url})
    assert http_status.needs_snapshot({"count": {"$": {"increased_by": 1}}})


@pytest.mark.parametrize("page", [answer(500), answer(200, "no json"), answer(200, '{"total": "' + "x" * 70_000 + '"}')])
def test_an_answer_before_the_call_that_cannot_be_kept_is_none(server, page):  # noqa: F811
    """A wrong status, no JSON, a value that is too long: left out of the snapshot."""
    with pytest.raises(Unverified):
        http_status.take_snapshot({"url": server(page).url, "json": {"total": {"changed": True}}}, CALL, World())


@pytest.mark.parametrize("name", ["punycode", "klingon", "utf-7", "idna"])
def test_a_charset_that_may_take_minutes_is_not_read(server, name):  # noqa: F811
    """The server names the charset: what is asked of such a body has no verdict, and the status alone has one."""
    here = server(answer(200, "a-b" * 100_000, Content_Type=f"text/plain; charset={name}")).url
    began = time.monotonic()
    found = look(here, body={"contains": "a-b"})
    assert (found.state, found.cause) == (UNVERIFIED, "probe") and name in found.found
    assert time.monotonic() - began < 15
    assert look(here).state == VERIFIED


@pytest.mark.parametrize(("name", "data"), [('"UTF-8"', b"\xc3\xa9"), ("windows-1252", b"\xe9"), ("utf-16le", b"\xe9\0")])
def test_the_usual_charsets_are_read(server, name, data):  # noqa: F811
    """In quotes or not, in any case of letters."""
    here = server(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=" + name.encode() + b"\r\n\r\n" + data).url
    assert look(here, body={"equals": "é"}).state == VERIFIED


@pytest.mark.parametrize("field", [{"json": {"a": {"equals": 1}}}, {"count": {"$": {"equals": 1}}}, {"body": {"contains": "a"}}])
def test_head_has_no_body_that_could_be_asked(server, field):  # noqa: F811
    """That is a mistake of the contract's, and no refutation."""
    with pytest.raises(Unverified) as caught:
        look(server(answer(200, "a")).url, method="HEAD", **field)
    assert caught.value.cause == "contract"
