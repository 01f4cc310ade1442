"""One HTTP request, to an address that was looked at first. Never reaches a private or local address that the
contract does not name itself, never follows a redirect there, never uses a proxy (the environment's are
ignored), and never waits beyond its time: name resolution, hand-shake and a body in drops included.

A name is resolved once; every address it gives is checked, and the connection goes to one of these very
addresses, so that a second answer of the name server cannot lead elsewhere.
"""

from __future__ import annotations

import time

from truecall_py.core.errors import Unverified
from truecall_py.core.types import Fetched

TYPE_CHECKING = False
if TYPE_CHECKING:
    import io
    from collections.abc import Mapping
    from socket import socket
    from typing import Any

LIMIT = 1 << 20  # bytes of a body
PORTS = {"http": 80, "https": 443}
REDIRECTS = (301, 302, 303, 307, 308)
HEXADECIMAL = frozenset("0123456789abcdef")
# The server names the charset, and Python knows some that take minutes: only those that read a byte once are taken.
CHARSETS = {
    "utf-8": "utf-8-sig", "utf8": "utf-8-sig", "us-ascii": "ascii", "ascii": "ascii",
    "utf-16": "utf-16", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be",
    "iso-8859-1": "latin-1", "latin1": "latin-1", "latin-1": "latin-1", "iso-8859-15": "iso8859-15",
    **{f"windows-125{number}": f"cp125{number}" for number in range(9)},
}  # fmt: skip


class Refused(Unverified):
    """Nothing listens at a host that the contract names. Whoever does not care has no verdict."""


class Target:
    """The parts of a URL that is fit to be asked for."""

    __slots__ = ("host", "path", "port", "scheme", "url")

    def __init__(self, url: str) -> None:
        from urllib.parse import quote, urlsplit

        if any(character <= " " or character in "\x7f\\" for character in url):
            why = f"the URL {url[:200]!r} holds a blank, a backslash or a control character"
            raise Unverified(why, "contract")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise Unverified(f"{url[:200]!r} is not a URL: {error}", "contract") from None
        if parts.scheme not in PORTS:
            raise Unverified(f"only http and https are asked, and this is {url[:200]!r}", "contract")
        if "@" in parts.netloc:
            raise Unverified("the URL holds a user name or password before its host", "contract")
        if not parts.hostname or not parts.netloc.isascii():
            raise Unverified(f"the URL {url[:200]!r} has no host in ASCII (xn-- for others)", "contract")
        self.url = url
        self.scheme = parts.scheme
        self.host = normalise_host(parts.hostname)
        self.port = PORTS[parts.scheme] if port is None else port
        # What is not ASCII is sent as UTF-8 in percent; what is escaped already stays.
        self.path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~[]")
        if parts.query:
            self.path += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~?[]")

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def normalise_host(host: str) -> str:
    return host.lower().rstrip(".")


def parse_host(url: str) -> str:
    """The host that a URL names. Raises Unverified for one that is not asked for at all."""
    return Target(url).host


def fetch(
    url: str,
    method: str,
    headers: Mapping[str, str],
    redirects: int,
    trusted_hosts: tuple[str, ...],
    seconds: float,
) -> Fetched:
    """The answer to one request within `seconds`, at most `redirects` redirects away; where no more are
    allowed, the redirect is the answer. `trusted_hosts` are those that the contract's own text names: only
    they may be local or private. Raises Refused, Unverified."""
    clock = Clock(seconds)
    trusted = frozenset(map(normalise_host, trusted_hosts))
    target = Target(url)
    first = target.origin
    while True:
        own = headers if target.origin == first else {}  # a token is for the host it was meant for
        answer, location = ask(target, method, own, target.host in trusted, clock)
        if answer.status not in REDIRECTS or not location or redirects <= 0:
            return answer
        redirects -= 1
        from urllib.parse import urljoin

        came_from = target.authority
        try:
            target = Target(urljoin(target.url, location))
        except (Unverified, ValueError) as why:
            raise Unverified(f"{came_from} redirects, and {why}", "probe") from None


class Clock:
    """What is left of the time of one request."""

    __slots__ = ("ends", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.ends = time.monotonic() + seconds

    def left(self) -> float:
        left = self.ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def ask(
    target: Target, method: str, headers: Mapping[str, str], trusted: bool, clock: Clock
) -> tuple[Fetched, str]:
    """One request without redirects: the answer, and the place it points to."""
    from http.client import HTTPException, IncompleteRead
    from ssl import SSLError

    where = target.authority
    try:
        addresses = resolve_addresses(target.host, target.port, clock)
        if not trusted:
            check_addresses(target, addresses)
        line = connect(target, addresses, trusted, clock)
        try:
            if target.scheme == "https":
                line = start_tls(line, target.host, clock)
            return send_request(line, target, method, headers, clock)
        finally:
            line.close()
    except TimeoutError:
        raise Unverified(f"{where} did not answer in full within {clock.seconds:.1f} s", "probe") from None
    except SSLError as error:
        what = getattr(error, "verify_message", "") or error.reason or str(error)
        raise Unverified(f"the TLS connection to {where} failed: {what}", "probe") from None
    except OSError as error:
        raise Unverified(f"the connection to {where} failed: {error.strerror or error}", "probe") from None
    except IncompleteRead:
        raise Unverified(f"the answer of {where} ended before the whole body had come", "probe") from None
    except HTTPException as error:
        what = f"{type(error).__name__} {str(error)[:120]}".strip()
        raise Unverified(f"{where} did not answer in HTTP: {what}", "probe") from None
    except ValueError as error:  # http.client on a header with a line break or beyond Latin-1
        raise Unverified(f"the request cannot be written: {str(error)[:120]}", "contract") from None


def resolve_addresses(host: str, port: int, clock: Clock) -> list[tuple[Any, ...]]:
    """The addresses of a name, as getaddrinfo gives them. It cannot be interrupted, so it gets a thread of
    its own, which is left behind when the time is over."""
    from _thread import allocate_lock, start_new_thread
    from socket import SOCK_STREAM, gaierror, getaddrinfo

    addresses: list[tuple[Any, ...]] = []
    failed: list[BaseException] = []
    done = allocate_lock()
    done.acquire()

    def work() -> None:
        try:
            addresses.extend(getaddrinfo(host, port, type=SOCK_STREAM))
        except BaseException as error:  # carried to the thread that asks
            failed.append(error)
        finally:
            done.release()

    start_new_thread(work, ())
    if not done.acquire(timeout=clock.left()):
        raise Unverified(f"the name {host} was not resolved within {clock.seconds:.1f} s", "probe")
    if failed:
        if isinstance(failed[0], gaierror):
            raise Unverified(f"the name {host} cannot be resolved: {failed[0].strerror}", "probe")
        if isinstance(failed[0], UnicodeError):
            raise Unverified(f"{host!r} is not a host name", "contract")
        raise failed[0]
    return addresses


def check_addresses(target: Target, addresses: list[tuple[Any, ...]]) -> None:
    """Refuses a host that the contract does not name, if it is written as a number in disguise or if one of
    its addresses is not public."""
    if is_disguised(target.host):
        why = f"{target.host} is an address in disguise that the contract does not name"
        raise Unverified(why, "probe")
    for address in addresses:
        literal = str(address[4][0])
        if not is_public(literal):
            why = f"{target.host} ({literal}) is a local, private or reserved address"
            raise Unverified(f"{why} that the contract does not name", "probe")


def is_disguised(host: str) -> bool:
    """A decimal, octal, hexadecimal or shortened IPv4 address: what ends in a number is one."""
    if ":" in host:
        return False
    labels = host.split(".")
    last = labels[-1]
    if not last.isdigit() and not (last.startswith("0x") and HEXADECIMAL.issuperset(last[2:])):
        return False
    return len(labels) != 4 or any(
        not label.isdigit() or len(label) > 3 or (len(label) > 1 and label[0] == "0") for label in labels
    )


def is_public(literal: str) -> bool:
    """Whether anybody on the internet could be meant by this address."""
    from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

    address: IPv4Address | IPv6Address = ip_address(literal.partition("%")[0])
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if inner is None and address in ip_network("64:ff9b::/96"):  # NAT64
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is None:
            return address in ip_network("2000::/3") and address.is_global
        address = inner
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def connect(target: Target, addresses: list[tuple[Any, ...]], trusted: bool, clock: Clock) -> socket:
    """A connection to the first address that takes one. Each gets its share of the time."""
    from socket import socket

    last: OSError | None = None
    refused = 0
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        line = None
        try:
            line = socket(family, kind, protocol)
            line.settimeout(clock.left() / (len(addresses) - number))
            line.connect(address)
            return line
        except OSError as error:
            if line:
                line.close()
            refused += isinstance(error, ConnectionRefusedError)
            # A time-out outweighs the rest: something might have answered there.
            last = error if last is None or isinstance(error, TimeoutError) else last
        except BaseException:
            if line:
                line.close()
            raise
    if refused and not isinstance(last, TimeoutError):
        why = f"nothing listens at {target.authority} (connection refused)"
        raise Refused(why, "world") if trusted else Unverified(why, "probe")
    raise last or OSError("the name has no address")


def start_tls(line: socket, host: str, clock: Clock) -> socket:
    from ssl import create_default_context

    line.settimeout(clock.left())
    return create_default_context().wrap_socket(line, server_hostname=host)


def send_request(
    line: socket, target: Target, method: str, headers: Mapping[str, str], clock: Clock
) -> tuple[Fetched, str]:
    from http.client import HTTPConnection, IncompleteRead

    from truecall_py.core.version import __version__

    sent = {
        "host": target.authority,
        "user-agent": f"truecall/{__version__}",
        "accept": "*/*",
        "accept-encoding": "identity",
        "connection": "close",
    }
    sent.update({name.lower(): value for name, value in headers.items()})
    line.settimeout(clock.left())
    connection = HTTPConnection(target.host, target.port)
    connection.sock = Bounded(line, clock)
    connection.request(method, target.path, headers=sent)
    answer = connection.getresponse()
    body = answer.read(LIMIT + 1)
    if len(body) <= LIMIT and answer.length:
        raise IncompleteRead(b"")
    names = {name.lower(): value for name, value in answer.getheaders()}
    text = body[:LIMIT].decode(CHARSETS.get(find_charset(names), "utf-8"), "replace")
    return Fetched(answer.status, names, text, len(body) > LIMIT), answer.getheader("location") or ""


def find_charset(headers: Mapping[str, str]) -> str:
    """What the headers of an answer (names in lower case) say that its text is written in, in lower case. One that
    is not in CHARSETS is not read: the body is then what UTF-8 makes of it, and proves nothing."""
    for part in headers.get("content-type", "").split(";")[1:]:
        name, _, value = part.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'").lower()
    return "utf-8"


class Bounded:
    """The socket as http.client wants it, with the time of the whole request on every single read: a server
    that sends one byte a second would otherwise never run into a time-out."""

    def __init__(self, line: socket, clock: Clock) -> None:
        self.line = line
        self.clock = clock

    def sendall(self, data: bytes) -> None:
        self.line.settimeout(self.clock.left())
        self.line.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        from io import BufferedReader, RawIOBase

        line, clock = self.line, self.clock

        class Reader(RawIOBase):
            def readable(self) -> bool:
                return True

            def readinto(self, buffer: Any) -> int:
                line.settimeout(clock.left())
                return line.recv_into(buffer)

        return BufferedReader(Reader())

    def close(self) -> None:
        """The one who opened it closes it."""
