"""Reads the hook's input: the options of the registered command and the payload on standard input. Judges nothing;
raises PayloadError for invalid input."""

from __future__ import annotations

import os
import time

from truecall_py.core.errors import PayloadError
from truecall_py.core.fast_json import JsonError, loads
from truecall_py.core.types import DEADLINE, STOP_DEADLINE, STOP_EVENTS, Stop, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


STDIN_LIMIT = 128 * 1024 * 1024  # bytes; a 32 MB write arrives twice, as 68 MB
OPTIONS = ("--harness", "--client", "--contracts", "--state", "--deadline")


class Options:
    """The options of the registered command, parsed by hand to keep the start short. A
    mistake is kept in `wrong`, so that the client still gets an answer in its own format."""

    def __init__(self, argv: list[str]) -> None:
        self.harness = ""
        self.event = ""
        self.contracts: str | None = None
        self.state = ""
        self.deadline = 0.0
        self.stop: Stop | None = None  # set when the payload says that the agent wants to stop
        self.transcript: str | None = None  # the client's transcript of the session, if the payload names it
        self.announced: ToolCall | None = None  # set when the payload announces a call
        self.wrong = ""
        self.active: bool | None = None  # `stop_hook_active` in the raw bytes (None: absent)
        plain: list[str] = []
        rest = list(argv)
        while rest:
            word = rest.pop(0)
            name, equals, value = word.partition("=")
            if name in OPTIONS:
                if not equals and not rest:
                    self.wrong = f"{name} needs a value"
                    break
                self.set_option(name, value if equals else rest.pop(0))
            elif word.startswith("-"):
                self.wrong = f"unknown option {word[:60]}"
            else:
                plain.append(word)
        if len(plain) > 2:
            self.wrong = f"unexpected argument {plain[2][:60]!r}"
        self.harness = self.harness or (plain[0] if plain else "")
        self.event = plain[1] if len(plain) > 1 else ""
        self.deadline = self.deadline or (STOP_DEADLINE if self.event in STOP_EVENTS else DEADLINE)

    def is_paused(self) -> bool:
        """Tells whether the user has switched truecall off for a while."""
        from truecall_py.core import paths
        from truecall_py.hook import pause

        return pause.read_end(self.state or paths.find_state_folder(), time.time()) is not None

    def set_option(self, name: str, value: str) -> None:
        """Sets one option; a deadline is limited to 0.2 to 900 seconds."""
        if name in ("--harness", "--client"):
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
    """Reads standard input to its end. Raises PayloadError at the monotonic time `ends`, or beyond STDIN_LIMIT."""
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


def find_stop_hook_active(data: bytes) -> bool | None:
    """Reads `stop_hook_active` from the raw bytes of a payload that may not be valid JSON. None if it is absent; any
    value but false is true, so that no agent is held twice. Quotes inside a JSON string are escaped, so text cannot
    match."""
    _, name, rest = data.partition(b'"stop_hook_active":')
    return None if not name else not rest.lstrip().startswith(b"false")


def parse_payload(data: bytes) -> dict[str, Any]:
    """Parses `data` as one JSON object. Raises PayloadError with what is wrong."""
    if not data.strip():
        raise PayloadError("the payload is empty")
    try:
        payload = loads(data.removeprefix(b"\xef\xbb\xbf").decode())
    except UnicodeDecodeError as error:
        raise PayloadError(f"the payload is not UTF-8: byte {error.start}") from None
    except JsonError as error:
        raise PayloadError(f"the payload is not one JSON object: {error}") from None
    if not isinstance(payload, dict):
        raise PayloadError(f"the payload is {type(payload).__name__}, not a JSON object")
    return payload


def check_registration(registered: str, recognised: str) -> tuple[str, ...]:
    """Returns a notice if the command names another client (`registered`) than the payload's (`recognised`). Raises
    PayloadError if there is no client of that name."""
    if not registered or registered == recognised:
        return ()
    from truecall_py.clients import load_hook
    from truecall_py.messages.failures import render_client_mismatch

    load_hook(registered)
    return (render_client_mismatch(registered, recognised),)
