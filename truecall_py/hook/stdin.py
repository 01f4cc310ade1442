"""What came in: the words of the registered command, and the payload on standard input. Judges nothing; whatever is
not what it should be raises PayloadError with what is wrong."""

from __future__ import annotations

import os
import time

from truecall_py.core.errors import PayloadError
from truecall_py.core.fast_json import Refused, loads
from truecall_py.core.types import AT_STOP, DEADLINE, STOPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.core.types import Stop, ToolCall

STDIN_LIMIT = 128 * 1024 * 1024  # bytes; a 32 MB write arrives twice, as 68 MB
OPTIONS = ("--harness", "--contracts", "--state", "--deadline")


class Options:
    """What the registered command says. Raises PayloadError for what it cannot mean."""

    def __init__(self, argv: list[str]) -> None:
        self.harness = ""
        self.event = ""
        self.contracts: str | None = None
        self.state = ""
        self.deadline = 0.0
        self.stop: Stop | None = None  # filled in where the payload tells of an agent that wants to stop
        self.transcript: str | None = None  # the client's own record of the session, where the payload names one
        self.announced: ToolCall | None = None  # filled in where it tells of a call that is about to be made
        self.wrong = ""
        self.active: bool | None = None  # what the bytes of an unread payload say of stop_hook_active (None: nothing)
        plain: list[str] = []
        rest = list(argv)
        while rest:
            word = rest.pop(0)
            name, equals, value = word.partition("=")
            if name in OPTIONS:
                if not equals and not rest:
                    self.wrong = f"{name} needs a value"
                    break
                self.take(name, value if equals else rest.pop(0))
            elif word.startswith("-"):
                self.wrong = f"the option {word[:60]} is not known"
            else:
                plain.append(word)
        if len(plain) > 2:
            self.wrong = f"{plain[2][:60]!r} is one word too many"
        self.harness = self.harness or (plain[0] if plain else "")
        self.event = plain[1] if len(plain) > 1 else ""
        self.deadline = self.deadline or (AT_STOP if self.event in STOPS else DEADLINE)

    def off(self) -> bool:
        """Whether a person switched truecall off for a time."""
        from truecall_py.core import paths
        from truecall_py.hook import pause

        return pause.until(self.state or paths.state(), time.time()) is not None

    def take(self, name: str, value: str) -> None:
        if name == "--harness":
            self.harness = value
        elif name == "--contracts":
            self.contracts = value
        elif name == "--state":
            self.state = value
        else:
            try:
                self.deadline = min(max(float(value), 0.2), 900.0)
            except ValueError:
                self.deadline = float("nan")
            if self.deadline != self.deadline:
                self.deadline = DEADLINE
                self.wrong = f"--deadline takes seconds, not {value[:20]!r}"


def read_stdin(ends: float, descriptor: int = 0) -> bytes:
    """All of standard input, until it ends, the deadline, or STDIN_LIMIT. Raises PayloadError."""
    from select import select

    pieces: list[bytes] = []
    size = 0
    try:
        while True:
            ready, _, _ = select([descriptor], [], [], max(0.0, ends - time.monotonic()))
            if not ready:
                raise PayloadError(f"standard input did not end in time ({size} bytes came)")
            piece = os.read(descriptor, 1 << 20)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)
            size += len(piece)
            if size > STDIN_LIMIT:
                raise PayloadError(f"the payload is larger than {STDIN_LIMIT >> 20} MB")
    except (OSError, ValueError) as error:
        raise PayloadError(f"standard input cannot be read: {error}") from None


def held_already(data: bytes) -> bool | None:
    """What a payload that may be no JSON says of whether a hook held the agent already; None where it does not say
    it: then nobody may be held. Text inside a string has its quotes escaped, and is not found here."""
    _, name, rest = data.partition(b'"stop_hook_active":')
    return None if not name else not rest.lstrip().startswith(b"false")


def decode(data: bytes) -> dict[str, Any]:
    """The one JSON object that `data` is. Raises PayloadError with what is wrong."""
    if not data.strip():
        raise PayloadError("the payload is empty")
    try:
        payload = loads(data.removeprefix(b"\xef\xbb\xbf").decode())
    except UnicodeDecodeError as error:
        raise PayloadError(f"the payload is not UTF-8: byte {error.start}") from None
    except Refused as error:
        raise PayloadError(f"the payload is not one JSON object: {error}") from None
    if not isinstance(payload, dict):
        raise PayloadError(f"the payload is {type(payload).__name__}, not a JSON object")
    return payload


def registration(given: str, seen: str) -> tuple[str, ...]:
    """What the person should know about the harness that the registered command names. Raises PayloadError
    for one that there is not."""
    if not given or given == seen:
        return ()
    from truecall_py.clients import load_hook
    from truecall_py.messages.failures import render_client_mismatch

    load_hook(given)
    return (render_client_mismatch(given, seen),)
