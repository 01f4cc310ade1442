"""Whether something listens at a port, and which sockets of this machine do. Never sends a byte, and never takes a
connection to itself, or one that nobody answered, for an answer."""

from __future__ import annotations

from truecall_py.core.errors import Unverified
from truecall_py.world.http import Clock, resolve_addresses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from socket import socket
    from typing import Any

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTENING = "0A"  # the kernel's number of the state
LARGEST = 4 << 20  # bytes of one of these tables
LOOPBACK = ("localhost", "127.0.0.1", "::1")
HERE = "this machine"  # the host where none is named: a server may listen at one of these alone
FAMILIES = ("127.0.0.1", "::1")


def format_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def find_local_listener(port: int, seconds: float) -> str:
    """As `taken`, for whatever address of this machine a program may have chosen for `localhost`."""
    first, second = FAMILIES
    try:
        found = find_listener(first, port, seconds / 2)
    except Unverified:
        found = find_listener(second, port, seconds / 2)
        if found:
            return found
        raise
    return found or find_listener(second, port, seconds / 2)


def find_listener(host: str, port: int, seconds: float) -> str:
    """The address at which a connection was made within `seconds`; "" where every address of the host refused.
    Raises Unverified where neither can be told."""
    clock = Clock(seconds)
    where = format_address(host, port)
    addresses = resolve_addresses(host, port, clock)
    silent = ""
    for number, (family, kind, protocol, _, each) in enumerate(addresses):
        try:
            if can_connect(family, kind, protocol, each, clock.left() / (len(addresses) - number)):
                return format_address(str(each[0]), port)
        except ConnectionRefusedError:
            continue
        except TimeoutError:
            silent = f"{where} did not answer within {seconds:.1f} s"
        except OSError as error:
            # A machine without IPv6 has no address for ::1, and nothing can listen there.
            if error.errno not in absent_family() or (len(addresses) == 1 and host not in FAMILIES):
                silent = silent or f"{where} cannot be reached: {error.strerror or error}"
    if silent:
        raise Unverified(silent, "probe")
    return ""


def absent_family() -> tuple[int, ...]:
    from errno import EADDRNOTAVAIL, EAFNOSUPPORT

    return EADDRNOTAVAIL, EAFNOSUPPORT


def can_connect(family: int, kind: int, protocol: int, where: Any, seconds: float) -> bool:
    from socket import socket

    line: socket = socket(family, kind, protocol)
    try:
        line.settimeout(seconds)
        line.connect(where)
        # The system may give the very port that is asked for as our own end: a socket that talks to itself.
        return bool(line.getsockname() != line.getpeername())
    finally:
        line.close()


def list_listening() -> Iterator[tuple[int, int, str]] | None:
    """(port, inode, address as the kernel writes it) of every TCP socket of this machine that listens; None where
    the system does not tell."""
    rows: list[str] = []
    for path in TABLES:
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                rows += file.read(LARGEST).split("\n")[1:]
        except OSError:
            if path == TABLES[0]:
                return None  # without IPv6 there is no second table
    return parse_rows(rows)


def parse_rows(rows: list[str]) -> Iterator[tuple[int, int, str]]:
    for row in rows:
        words = row.split()
        if len(words) > 9 and words[3] == LISTENING:
            where, _, port = words[1].rpartition(":")
            yield int(port, 16), int(words[9]), where


def find_inodes(host: str, port: int) -> list[int] | None:
    """The inodes of the sockets that take connections to a host and port of this machine, sorted: another server has
    others. None where nobody tells."""
    if host not in (HERE, "::1") and host.lower() != "localhost" and not host.startswith("127."):
        return None
    found = list_listening()
    hosts = FAMILIES if host == HERE or host.lower() == "localhost" else (host,)
    wanted = {written for host in hosts for written in list_kernel_addresses(host)}
    if found is None:
        return None
    return sorted({inode for number, inode, where in found if number == port and where in wanted})


def list_kernel_addresses(host: str) -> list[str]:
    """The addresses at which a socket listens that is reached by a literal one, as the kernel writes them: its words
    of 32 bits in the order of the machine. Those that mean every address are among them."""
    import sys
    from socket import AF_INET, AF_INET6, inet_pton

    def written(data: bytes) -> str:
        words = (data[at : at + 4] for at in range(0, len(data), 4))
        return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)

    if ":" in host:
        return [written(inet_pton(AF_INET6, host)), written(bytes(16))]
    data = inet_pton(AF_INET, host)
    mapped = bytes(10) + b"\xff\xff" + data
    return [written(packed) for packed in (data, bytes(4), mapped, bytes(10) + b"\xff\xff" + bytes(4), bytes(16))]


def find_ports_above(port: int, above: int) -> list[int]:
    """The ports next above one at which something listens: where a server goes that finds its own taken."""
    return sorted({number for number, _, _ in list_listening() or () if port < number <= port + above})
