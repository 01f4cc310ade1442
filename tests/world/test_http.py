"""One HTTP request: real servers on the loopback, and every way in which one can lead elsewhere or nowhere."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import subprocess
import sys
import threading
import time

import pytest
from support.http_server import answer
from support.project import ROOT

from truecall_py.core.errors import Unverified
from truecall_py.world import http
from truecall_py.world.http import Refused, fetch, is_disguised, is_public, parse_host

HERE = ("127.0.0.1",)


def ask(url, seconds=5.0, redirects=0, trusted=HERE, method="GET", headers=None):
    return fetch(url, method, headers or {}, redirects, trusted, seconds)


def why(url, **named):
    with pytest.raises(Unverified) as caught:
        ask(url, **named)
    return caught.value


def test_status_headers_and_body_come_back(server):
    """The answer is what the server said, header names in lower case."""
    here = server(answer(201, "grüße", Content_Type="text/plain; charset=utf-8", X_One="1"))
    found = ask(f"{here.url}/a?b=c")
    assert (found.status, found.body, found.headers["x-one"]) == (201, "grüße", "1")
    assert here.asked[0].startswith("GET /a?b=c HTTP/1.1\r\n")
    assert f"host: 127.0.0.1:{here.port}\r\n" in here.asked[0]


def test_a_chunked_body_is_put_together(server):
    """Chunks are joined; a body without length ends with the connection."""
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
    assert ask(server(chunked).url).body == "abc"
    assert ask(server(b"HTTP/1.1 200 OK\r\n\r\nabc").url).body == "abc"


def test_head_has_no_body(server):
    """HEAD is asked as HEAD, and the length it announces is not waited for."""
    here = server(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
    assert ask(here.url, method="HEAD").body == ""
    assert here.asked[0].startswith("HEAD / ")


def test_what_is_not_ascii_is_sent_in_percent(server):
    """A literal path of a contract may be written as it is read; escapes are left alone."""
    here = server(answer())
    ask(f"{here.url}/grün/a%2Fb?q=ü#part")
    assert here.asked[0].startswith("GET /gr%C3%BCn/a%2Fb?q=%C3%BC HTTP")


def test_a_charset_that_nobody_knows_is_read_as_utf8(server):
    """A body is text whatever its header says; wrong bytes are replaced."""
    assert ask(server(answer(200, "é", Content_Type="text/plain; charset=klingon")).url).body == "é"
    assert ask(server(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=latin-1\r\n\r\n\xe9").url).body == "é"


def test_the_environments_proxy_is_not_used(server, monkeypatch):
    """No proxy, for loopback or anything else."""
    proxy = server(answer(200, "from the proxy"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy.url)
    assert ask(server(answer()).url).body == "ok"
    assert proxy.asked == []


def test_an_endless_body_is_cut(server):
    """What is kept of a body is bounded, and that it was longer is said."""

    def endless(line, asked, self):
        line.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not self.over.is_set():
            line.sendall(b"x" * 65536)

    found = ask(server(endless).url)
    assert found.truncated
    assert len(found.body) == http.LIMIT


@pytest.mark.parametrize(
    "head", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"]
)
def test_an_answer_in_drops_ends_with_the_time(server, head):
    """One byte at a time, in the head, the headers or the chunk sizes, is a time-out of the whole request."""

    def drops(line, asked, self):
        line.sendall(head)
        while not self.over.is_set():
            line.sendall(b"0")
            time.sleep(0.02)

    began = time.monotonic()
    error = why(server(drops).url, seconds=0.4)
    assert "did not answer in full within 0.4 s" in error.why
    assert error.cause == "probe"
    assert time.monotonic() - began < 15


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 200_000,
        b"HTTP/1.1 200 OK\r\n" + b"X-Many: 1\r\n" * 5000 + b"\r\n",
        b"HTTP/1.1 " + b"2" * 200_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 200_000,
    ],
)
def test_headers_without_end_are_no_verdict(server, head):
    """A status line, a header, a number of headers or a chunk's size that is too long is not read to its end."""
    error = why(server(head).url)
    assert error.cause == "probe"


def test_promises_of_an_answer_end_with_the_time(server):
    """A server that says "100 Continue" for ever, or adds trailers for ever, is a time-out."""

    def for_ever(head, line_):
        def reply(line, asked, self):
            line.sendall(head)
            while not self.over.is_set():
                line.sendall(line_)
                time.sleep(0.01)

        return reply

    for head, again in (
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: 1\r\n"),
    ):
        began = time.monotonic()
        assert why(server(for_ever(head, again)).url, seconds=0.4).cause == "probe"
        assert time.monotonic() - began < 15


def test_a_silent_server_is_a_time_out(server):
    """Accepted and never answered is no verdict."""
    error = why(server(lambda line, asked, self: self.over.wait(5)).url, seconds=0.3)
    assert (error.cause, type(error)) == ("probe", Unverified)


def test_a_broken_answer_is_no_verdict(server):
    """Half a body, no answer at all, and something that is not HTTP."""
    assert "before the whole body" in why(server(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort").url).why
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nshort"
    assert "before the whole body" in why(server(chunked).url).why
    assert "closed connection" in why(server(b"").url).why
    assert "did not answer in HTTP" in why(server(b"SSH-2.0-OpenSSH_9\r\n\r\n").url).why


def test_a_refused_connection_has_its_own_error():
    """Nothing listens at a host that the contract names: not a mere doubt."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Refused, match="nothing listens at localhost:"):
        ask(f"http://localhost:{port}/", trusted=("localhost",))


def test_redirects_are_the_answer_unless_allowed(server):
    """A 3xx is an answer like any other; followed, at most so often as allowed."""
    here = server({"/": answer(302, "", Location="/a"), "/a": answer(301, "", Location="b"), "/b": answer()})
    assert ask(here.url).status == 302
    assert ask(here.url, redirects=1).status == 301
    assert ask(here.url, redirects=5).body == "ok"
    assert len(ask(server(answer(302, "", Location="/")).url, redirects=5).headers) > 0


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("file:///etc/passwd", "only http and https"),
        ("ftp://127.0.0.1/", "only http and https"),
        ("http://169.254.169.254/latest/meta-data/", "(169.254.169.254) is a local, private or reserved"),
        ("http://[::ffff:127.0.0.1]/", "is a local, private or reserved"),
        ("http://2130706433/", "in disguise"),
        ("http://0x7f.1/", "in disguise"),
        ("http://0177.0.0.1/", "in disguise"),
        ("http://127.1/", "in disguise"),
        ("http://localhost/", "is a local, private or reserved"),
        ("http://user@127.0.0.1/", "user name"),
        ("http://[/", "redirects, and"),
        ("http://127.0.0.1\\@example.com/", "backslash"),
    ],
)
def test_a_redirect_to_a_place_that_is_not_named_is_not_followed(server, location, words):
    """The rules hold for every step, not only for the first."""
    error = why(server(answer(302, "", Location=location)).url, redirects=5)
    assert words in error.why
    assert error.cause == "probe"


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/", "http://[::ffff:127.0.0.1]/", "http://127.0.0.1/", "http://0.0.0.0/", "http://[::1]/",
        "http://10.0.0.1/", "http://169.254.169.254/", "http://100.64.0.1/", "http://localhost./x",
    ],
)  # fmt: skip
def test_a_local_host_that_is_not_named_is_not_asked(url):
    """Another spelling of a host is another host: the contract must name it is asked."""
    error = why(url, trusted=("example.com",), seconds=1)
    assert "the contract does not name" in error.why


def test_a_host_is_named_whatever_its_case_and_final_dot(server):
    """LOCALHOST. is localhost."""
    here = server(answer())
    assert ask(f"http://LOCALHOST.:{here.port}/", trusted=("localhost",)).status == 200
    assert ask(f"http://2130706433:{here.port}/", trusted=("2130706433",)).status == 200


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///etc/hostname", "only http and https"),
        ("gopher://127.0.0.1/", "only http and https"),
        ("//127.0.0.1/", "only http and https"),
        ("http://127.0.0.1@198.51.100.1/", "user name"),
        ("http://:pw@127.0.0.1/", "user name"),
        ("http:///path", "no host"),
        ("http://127.0.0.1:99999/", "not a URL"),
        ("http://127.0.0.1/a b", "blank"),
        ("http://127.0.0.1/a\r\nHost: x", "control character"),
        ("http://exämple.com/", "in ASCII"),
    ],
)
def test_a_url_that_is_not_fit_is_not_asked(url, words):
    """Each is refused by the name of its rule, before anything is resolved."""
    error = why(url)
    assert words in error.why
    assert error.cause == "contract"
    with pytest.raises(Unverified):
        parse_host(url)


def test_the_address_that_was_checked_is_the_one_connected_to(server, monkeypatch):
    """The name is resolved once: an answer that changes (DNS rebinding) changes nothing."""
    here = server(answer())
    answers = [[(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", here.port))]]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **named: answers.pop())
    assert ask(f"http://rebound.example:{here.port}/", trusted=("rebound.example",)).status == 200
    assert f"host: rebound.example:{here.port}" in here.asked[0]


def test_one_private_address_among_public_ones_is_enough(monkeypatch):
    """A name that is half private is not asked at all."""
    mixed = [(2, 1, 6, "", ("93.184.216.34", 80)), (2, 1, 6, "", ("10.0.0.1", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **named: mixed)
    assert "10.0.0.1" in why("http://mixed.example/", trusted=()).why


def test_a_name_server_that_hangs_ends_with_the_time(monkeypatch):
    """getaddrinfo cannot be interrupted, and yet it costs no more than the time given."""
    done = threading.Event()

    def hang(*given, **named):
        done.wait(60)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    began = time.monotonic()
    error = why("http://slow.example/", seconds=0.3)
    done.set()
    assert "slow.example was not resolved" in error.why
    assert time.monotonic() - began < 15


def test_a_hanging_name_server_does_not_keep_the_process(tmp_path):
    """The thread that waits is left behind at the end of the process."""
    code = (
        f"import sys; sys.path.append({ROOT!r})\n"
        "import socket, time\n"
        "socket.getaddrinfo = lambda *given, **named: time.sleep(60)\n"
        "from truecall_py.world.http import fetch\n"
        "try: fetch('http://slow.example/', 'GET', {}, 0, (), 0.2)\n"
        "except Exception as why: print(type(why).__name__)\n"
    )
    began = time.monotonic()
    assert subprocess.check_output([sys.executable, "-I", "-S", "-c", code], text=True) == "Unverified\n"
    assert time.monotonic() - began < 10


def test_a_name_that_does_not_exist_is_no_verdict(monkeypatch):
    """What the name server says is passed on."""

    def fail(*given, **named):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    error = why("http://nowhere.invalid/")
    assert "cannot be resolved: Name or service not known" in error.why
    assert error.cause == "probe"


def test_a_second_address_is_tried(server, monkeypatch):
    """Where the first address takes no connection, the next one may."""
    here = server(answer())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        closed = taken.getsockname()[1]
    both = [(2, 1, 6, "", ("127.0.0.1", closed)), (2, 1, 6, "", ("127.0.0.1", here.port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **named: both)
    assert ask(f"http://two.example:{here.port}/", trusted=("two.example",)).status == 200


def test_a_certificate_that_nobody_vouches_for_is_no_verdict(server, tmp_path):
    """TLS trouble is the look's, not the tool's: plain text and a self-made certificate."""
    here = server(b"not TLS at all\r\n\r\n")
    error = why(f"https://127.0.0.1:{here.port}/")
    assert "TLS" in error.why
    assert error.cause == "probe"
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
         "-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        capture_output=True,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("no openssl that makes a certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def serve():
            for _ in range(2):
                line, _ = listening.accept()
                with contextlib.suppress(OSError), context.wrap_socket(line, server_side=True) as secured:
                    secured.recv(65536)
                    secured.sendall(answer(200, "secret"))

        thread = threading.Thread(target=serve)
        thread.start()
        error = why(f"https://127.0.0.1:{port}/")
        assert "self" in error.why
        os.environ["SSL_CERT_FILE"] = str(certificate)
        try:
            assert ask(f"https://localhost:{port}/", trusted=("localhost",)).body == "secret"
        finally:
            del os.environ["SSL_CERT_FILE"]
            thread.join()


def test_the_contracts_headers_stay_with_their_host(server):
    """A token is sent to the host it was meant for, and to nobody to whom that one redirects."""
    there = server(answer())
    here = server(answer(307, "", Location=f"{there.url}/x"))
    assert ask(here.url, redirects=1, headers={"Authorization": "token"}).status == 200
    assert "authorization: token" in here.asked[0].lower()
    assert "token" not in there.asked[0]


def test_a_header_cannot_break_the_request(server):
    """A line break in a value is refused before anything is sent."""
    here = server(answer())
    assert "cannot be written" in why(here.url, headers={"X": "a\r\nY: b"}).why
    assert not any("Y: b" in each for each in here.asked)


def test_which_addresses_are_public():
    """Everything local, private, reserved or wrapped around such a one is not."""
    for literal in ("8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"):
        assert is_public(literal), literal
    for literal in (
        "127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254",
        "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00::1",
        "ff02::1", "::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "::127.0.0.1",
        "198.18.0.1", "192.0.2.1", "2001:db8::1",
    ):  # fmt: skip
        assert not is_public(literal), literal


def test_which_hosts_are_addresses_in_disguise():
    """What ends in a number and is no dotted address is one."""
    for host in (
        "2130706433", "127.1", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.0.0.0x1", "1.2.3.4.5", "017700000001",
    ):  # fmt: skip
        assert is_disguised(host), host
    for host in ("127.0.0.1", "::1", "example.com", "1.example.com", "localhost", "0xcafe.example", "a.b.c.d"):
        assert not is_disguised(host), host
