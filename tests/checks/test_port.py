"""port: real sockets that listen, refuse, stay silent, and change hands."""

from __future__ import annotations

import os
import re
import socket
import threading
import time

import pytest

from truecall_py.checks import port
from truecall_py.core.errors import Unverified
from truecall_py.core.types import NEW, OLD, REFUTED, UNVERIFIED, VERIFIED, ToolCall
from truecall_py.world import sockets
from truecall_py.world.snapshots import Snapshot, make_key
from truecall_py.world.world import World

CALL = ToolCall("claude-code", "PostToolUse", "Bash", frozenset({"shell"}), {})


def free():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def look(world=None, **params):
    return port.run(params, CALL, world or World())


def why(world=None, **params):
    with pytest.raises(Unverified) as caught:
        look(world, **params)
    return caught.value


def snapshot(**params):
    return World(snapshot=Snapshot(0.0, None, {make_key("port", None, params): port.take_snapshot(params, CALL, World())}))


def test_open_and_closed():
    """A server that listens takes a connection; where nothing does, it is refused. By number or as text."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
        assert look(port=number).found == f"127.0.0.1:{number} takes a connection"
        assert look(port=str(number)).state == VERIFIED
        assert look(port=number, state="closed").state == REFUTED
        assert look(port=number, host="localhost").state == VERIFIED
    found = look(port=number)
    assert (found.state, found.found) == (REFUTED, f"nothing listens at port {number} of this machine (connection refused)")
    assert look(port=number, host="127.0.0.1").found == f"nothing listens at 127.0.0.1:{number} (connection refused)"
    assert look(port=number, host="localhost").state == REFUTED


@pytest.mark.parametrize("value", [0, 65536, -1, True, 80.5, "http", "", None, [80]])
def test_what_is_no_port_is_no_verdict(value):
    """A value of the call that is no number of a port."""
    assert why(port=value).cause == "tool"


def test_a_server_that_went_to_the_next_port_is_named():
    """The port was taken by nobody, and the server listens beside it."""
    if sockets.list_listening() is None:
        pytest.skip("this system does not tell")
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
        found = look(port=number - 1)
        if found.state == REFUTED:
            assert f"port {number} of this machine" in found.candidates


def test_silence_is_no_verdict():
    """A full queue answers nothing: neither open nor closed."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        where = server.getsockname()
        held = []
        for _ in range(8):
            line = socket.socket()
            line.setblocking(False)
            line.connect_ex(where)
            held.append(line)
        time.sleep(0.05)
        try:
            for state in ("open", "closed"):
                assert why(World(look=0.3), port=where[1], state=state).cause == "probe"
        finally:
            for line in held:
                line.close()


def test_a_name_that_nobody_knows_is_no_verdict():
    """Neither open nor closed."""
    assert why(port=80, host="does-not-exist.invalid", state="closed").cause == "probe"


def test_a_connection_to_itself_is_none(monkeypatch):
    """The system may give a free port's own number to the end that asks: nobody listens there."""

    class Same(socket.socket):
        def connect(self, where):
            self.bind(where)
            super().connect(where)

    number = free()
    monkeypatch.setattr(socket, "socket", Same)
    assert sockets.find_listener("127.0.0.1", number, 2.0) == ""


def test_it_must_stay_as_long_as_it_should():
    """A server that ends within the time is refuted; one that goes on is not."""
    server = socket.create_server(("127.0.0.1", 0))
    number = server.getsockname()[1]
    ends = threading.Timer(1.5, server.close)
    ends.start()
    found = look(World(ends=time.monotonic() + 60), port=number, held_for=25.0)
    ends.join()
    (after,) = re.findall(r", after (\d+\.\d) s", found.found)
    assert found.state == REFUTED and float(after) < 20
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert look(port=server.getsockname()[1], held_for=0.4).state == VERIFIED
    assert look(port=number, state="closed", held_for=0.3, vacuous="ok").state == VERIFIED
    assert why(World(ends=time.monotonic() + 1), port=number, held_for=5.0).cause == "probe"


def test_the_same_server_as_before_is_old_and_another_is_new():
    """By the sockets that listen, where the system tells them apart."""
    number = free()
    params = {"port": number}
    world = snapshot(**params)
    with socket.create_server(("127.0.0.1", number)):
        assert look(world, **params).effect == NEW
        world = snapshot(**params)
        assert look(world, **params).effect == OLD
    with socket.create_server(("127.0.0.1", number)):
        assert look(world, **params).effect == (NEW if os.path.exists("/proc/net/tcp") else OLD)


def test_closed_needs_proof_of_before():
    """That nothing listens proves nothing, unless something did."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        params = {"port": server.getsockname()[1], "state": "closed"}
        open_before = snapshot(**params)
    assert look(open_before, **params).effect == NEW
    assert look(snapshot(**params), **params).effect == OLD
    found = look(**params)
    assert (found.state, found.cause) == (UNVERIFIED, "harness")
    assert look(vacuous="ok", **params).state == VERIFIED


def test_sockets_of_other_machines_have_no_identity_here():
    """The kernel's table is about this machine alone."""
    assert sockets.find_inodes("example.com", 80) is None
    assert list(sockets.parse_rows(["  0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 1000 0 77 1", "x", ""])) == [(8080, 77, "0100007F")]
    assert list(sockets.parse_rows(["  0: 0100007F:1F90 0100007F:1234 01 0:0 0:0 0 1000 0 78 1"])) == []


def test_a_server_at_the_other_loopback_address_is_one_of_this_machine():
    """A program that listens at `localhost` may have taken ::1 alone; named, 127.0.0.1 is 127.0.0.1."""
    try:
        server = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 here")
    with server:
        number = server.getsockname()[1]
        assert look(port=number).found == f"[::1]:{number} takes a connection"
        assert look(port=number, state="closed").state == REFUTED
        assert look(port=number, host="127.0.0.1").state == REFUTED
    assert look(port=number).state == REFUTED


def test_a_server_at_another_address_does_not_make_the_old_one_new():
    """The sockets that count are those that a connection to the host can reach."""
    if sockets.list_listening() is None:
        pytest.skip("this system does not tell")
    with socket.create_server(("127.0.0.1", 0)) as server:
        params = {"port": server.getsockname()[1]}
        world = snapshot(**params)
        with socket.create_server(("127.0.0.2", params["port"])):
            assert look(world, **params).effect == OLD
            assert sockets.find_inodes("127.0.0.2", params["port"]) != sockets.find_inodes("127.0.0.1", params["port"])
    with socket.create_server(("", 0)) as server:
        assert len(sockets.find_inodes("127.0.0.1", server.getsockname()[1])) == 1
        assert sockets.find_inodes("::1", server.getsockname()[1]) == []


def test_that_nothing_listens_proves_nothing_by_itself():
    """`not: {port: …}` holds only where the look before the call saw a server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        params = {"port": server.getsockname()[1]}
        world = snapshot(**params)
    assert look(**params).blank and look(snapshot(**params), **params).blank
    assert not look(world, **params).blank
