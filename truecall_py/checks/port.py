"""port: something listens at a port, or nothing does. Silence does not mean a closed port, and a server that was
there before is not the one that the call started."""

from __future__ import annotations

from truecall_py.checks import EXECUTION
from truecall_py.checks.support.outcomes import compare_effect, refuted, unverified, verified
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import quote_value
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.world.world import World

NAME = "port"
SUMMARY = "A TCP port accepts connections, now and for a given time; or it does not."
STAGE = EXECUTION
FAILURE_CLASS = ""
COST = 4.3
FIELDS = (
    field("port", "number", "The number of the port.", required=True, templated=True),
    field("host", "text", "The host; default: this machine, at 127.0.0.1 or ::1 (a server may use either for "
          "localhost)."),
    field("state", "choice", "open: a connection is accepted; closed: every address refuses it.",
          default="open", choices=("open", "closed")),
    field("held_for", "duration", "The state must last for this time."),
    field("vacuous", "choice", "ok: `closed` holds without proof that it was open before.",
          choices=("ok",)),
)  # fmt: skip
ASSERTS = ()
EXAMPLES = (
    {
        "title": "the server listens",
        "serve": {},
        "args": {"port": "{port}"},
        "check": {"port": "{{args.port}}"},
        "verdict": "verified",
    },
    {
        "title": "reported as started, but nothing listens",
        "check": {"port": 1},
        "verdict": "refuted",
    },
    {
        "title": "reported as stopped, but it still listens",
        "serve": {},
        "args": {"port": "{port}"},
        "check": {"port": "{{args.port}}", "state": "closed"},
        "verdict": "refuted",
    },
    {
        "title": "the same server listened before the call",
        "before": {},
        "serve": {},
        "args": {"port": "{port}"},
        "check": {"port": "{{args.port}}"},
        "verdict": "unverified",
    },
)

STEP = 0.2  # seconds between two probes while the state must last
ABOVE = 10  # ports above the wanted one, which a server may have taken instead


def expect(params: dict[str, Any]) -> str:
    what = "listens" if params.get("state", "open") == "open" else "no longer listens"
    held = f" and goes on for {params['held_for']:g} s" if params.get("held_for") else ""
    subject = "something" if what == "listens" else "what did"
    return f"{subject} {what} at {name_port(params.get('host'), params['port'])}{held}"


def name_port(host: str | None, port: Any) -> str:
    from truecall_py.world.sockets import HERE, format_address

    return f"port {port} of this machine" if host in (None, "", HERE) else format_address(str(host), port)


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    from truecall_py.world.sockets import find_inodes, find_ports_above

    expected = expect(params)
    host, port = parse_place(params)
    open_ = params.get("state", "open") == "open"
    earlier = world.earlier(NAME, params)
    until = world.now() + (params.get("held_for") or 0.0)
    if until > world.ends:
        raise Unverified(f"there is no time left to see whether it holds for {params['held_for']:g} s", "probe")
    began = world.now()
    while True:
        here = probe_port(host, port, world)
        if bool(here) is not open_:
            nothing = f"nothing listens at {name_port(host, port)} (connection refused)"
            found = f"something listens at {here}" if here else nothing
            held = world.now() - began
            others = find_ports_above(port, ABOVE)[:3] if open_ and is_local(host) else ()
            candidates = tuple(name_port(host, other) for other in others)
            # If nothing ever listened, a closed port proves nothing about a server that should have stopped.
            blank = open_ and held < STEP and (earlier is ABSENT or not earlier[0])
            return refuted(expected, found + (f", after {held:.1f} s" if held >= STEP else ""), candidates, blank)
        if world.now() >= until:
            break
        world.sleep(min(STEP, until - world.now()))
    if open_:
        effect = compare_effect(earlier, [True, find_inodes(host, port)])
        return verified(expected, f"{here} takes a connection", effect)
    found = f"nothing listens at {name_port(host, port)}"
    if params.get("vacuous") == "ok":
        return verified(expected, found)
    if earlier is ABSENT:
        return unverified(expected, f"{found}, but nothing proves that something did before", "harness")
    return verified(expected, found, compare_effect(earlier[0], False))


def is_transient(outcome: Outcome) -> bool:
    """Whether a refutation may pass by itself. Always: a server may still be starting or stopping."""
    return True


def take_snapshot(params: dict[str, Any], call: ToolCall, world: World) -> list[Any]:
    """Return whether something listened before the call, and the identity of its sockets (None: unknown)."""
    from truecall_py.world.sockets import find_inodes

    host, port = parse_place(params)
    return [bool(probe_port(host, port, world)), find_inodes(host, port)]


def needs_snapshot(params: dict[str, Any]) -> bool:
    """If the port must be closed: it may never have been open."""
    return bool(params.get("state") == "closed")


def probe_port(host: str, port: int, world: World) -> str:
    from truecall_py.world.sockets import HERE, find_listener, find_local_listener

    seconds = world.budget(2.0)
    return find_local_listener(port, seconds) if host == HERE else find_listener(host, port, seconds)


def is_local(host: str) -> bool:
    from truecall_py.world.sockets import HERE, LOOPBACK

    return host == HERE or host.lower() in LOOPBACK or host.startswith("127.")


def parse_place(params: dict[str, Any]) -> tuple[str, int]:
    """Return host and port. Raises Unverified for a value that is not a port."""
    from truecall_py.world.sockets import HERE

    value = params["port"]
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value.strip()[:10])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 65536:
        raise Unverified(f"{quote_value(value, 60)} is not the number of a port", "tool")
    return str(params.get("host") or HERE), value
