"""Reads the trust store for the hook: which contracts are enforced for a folder. Never writes, never parses YAML, and
never returns an untrusted contract as trusted.

A pin is one trusted content of one contract file: a header line, an index line, one line of compiled JSON per
contract, then the trusted bytes. Pins lie under `contracts/` in the state folder, in a tree that mirrors the file's
path. So no hash is needed to find one, and the pins of a deleted file are still found.
"""

from __future__ import annotations

import os
import stat as modes

from truecall_py.contracts.model import FILE_NAME, Contract, make_contract
from truecall_py.core import paths
from truecall_py.core.errors import TrustError
from truecall_py.core.fast_json import loads
from truecall_py.core.glob import matches_glob
from truecall_py.core.paths import read_bytes
from truecall_py.core.record import record
from truecall_py.core.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from truecall_py.core.types import ToolCall

TRUSTED, CHANGED, DELETED, UNTRUSTED = "trusted", "changed", "deleted", "untrusted"
FOLDER = "contracts"
FORMAT = 2  # of a pin's compiled contracts; increased whenever the compiler's output changes
GUARDS = "guards"  # this file exists in the state folder while some trusted contract may refuse calls
SUFFIX = ".pin"
MAX_CODE_BYTES = 256 << 20  # bytes of a file of code
GONE = (2, 20)  # ENOENT and ENOTDIR: nothing is there
LOST = "was trusted, but"
DAMAGED, AGAIN = f"{LOST} the pin is damaged", "run: truecall trust"
MALFORMED = (ValueError, LookupError, TypeError, AttributeError)  # raised while reading damaged data


@record(frozen=True)
class Source:
    """The enforced contracts of one file. `index` is {"tools": {pattern: [numbers]}, "kinds": {kind: [numbers]},
    "stop": [numbers], "guards": [numbers], "refuse": [numbers of enforcing guards], "policy": {}, "ends": [end of
    each contract's line in `lines`]}. `status` is TRUSTED, CHANGED, DELETED or UNTRUSTED."""

    path: str
    project: str
    status: str
    index: dict[str, Any] | None = None
    lines: bytes = b""
    why: str = ""

    def find_contracts(self, call: ToolCall) -> list[Contract]:
        """Returns the contracts whose `tool` or `kind` matches the call; only these are decoded. Raises
        TrustError."""
        if self.index is None:
            return []
        try:
            return [self.load_contract(number) for number in sorted(self.find_numbers(call))]
        except MALFORMED as error:
            raise TrustError(f"{DAMAGED}: {error}", self.path, AGAIN) from None

    def find_numbers(self, call: ToolCall) -> set[int]:
        """Returns the numbers of those contracts, from the index alone."""
        index, numbers = self.index or {}, set()
        for pattern, pattern_numbers in index.get("tools", {}).items():
            if pattern == call.tool or (("*" in pattern or "?" in pattern) and matches_glob(pattern, call.tool)):
                numbers.update(pattern_numbers)
        for kind in call.kinds:
            numbers.update(index.get("kinds", {}).get(kind, ()))
        return numbers

    def may_guard(self, call: ToolCall) -> bool:
        """Tells whether a guard names this call. A damaged pin may hold one."""
        return self.is_listed(call, "guards")

    def may_refuse(self, call: ToolCall) -> bool:
        """Tells whether an enforcing guard names this call. A damaged pin may hold one."""
        return self.is_listed(call, "refuse")

    def is_listed(self, call: ToolCall, which: str) -> bool:
        """Tells whether a contract that names this call is in the list `which` of the index, or may be."""
        try:
            wanted = (self.index or {}).get(which)
            return self.damaged if not wanted else not self.find_numbers(call).isdisjoint(wanted)
        except MALFORMED:
            return True

    @property
    def damaged(self) -> bool:
        """Whether the file was trusted, but its pin cannot be used any more."""
        return self.index is None and self.why.startswith(LOST)

    def load_stop_contracts(self) -> list[Contract]:
        """Returns the contracts that are judged when the agent wants to stop. Raises TrustError."""
        try:
            return [self.load_contract(number) for number in (self.index or {}).get("stop", ())]
        except MALFORMED as error:
            raise TrustError(f"{DAMAGED}: {error}", self.path, AGAIN) from None

    @property
    def policy(self) -> dict[str, Any]:
        """The file's own retry budgets; {} if it sets none."""
        policy = (self.index or {}).get("policy", {})
        return policy if isinstance(policy, dict) else {}

    def make_untrusted(self, why: str) -> Source:
        """Returns the same file as untrusted, for the reason `why`."""
        return Source(self.path, self.project, UNTRUSTED, why=why)

    def load_contracts(self) -> list[Contract]:
        """Returns every contract of the file."""
        return [self.load_contract(number) for number in range(len(self.index["ends"]) if self.index else 0)]

    def load_contract(self, number: int) -> Contract:
        """Decodes one contract by its number."""
        assert self.index is not None
        ends = self.index["ends"]
        line = self.lines[ends[number - 1] if number else 0 : ends[number]]
        plain = loads(line.decode(), own=True)
        name = f"pack {plain['pack']}" if plain.get("pack") else os.path.basename(self.path)
        return make_contract(plain, name, self.project, self.path)


def locate_pins(state: str, path: str) -> str:
    """Returns the folder of the pins of the contract file at an absolute path."""
    return os.path.join(state, FOLDER) + path


def check_state_folder(state: str) -> bool:
    """Tells whether there is a store. Raises TrustError if another user could have written it."""
    if not state.startswith("/"):  # an agent chooses the working folder
        raise TrustError("the state folder is not an absolute path", state, "set HOME or XDG_STATE_HOME")
    try:
        status = os.lstat(state)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise TrustError(f"the state folder cannot be read: {error.strerror}", state,
                         "make each folder of this path accessible to you") from None
    wrong = ""
    if not modes.S_ISDIR(status.st_mode):
        wrong = "is not a folder (links are not followed)"
    elif status.st_uid != os.geteuid():
        wrong = "belongs to another user"
    elif status.st_mode & (modes.S_IWGRP | modes.S_IWOTH):
        wrong = "can be written by other users"
    if wrong:
        raise TrustError(f"the state folder {wrong}", state, f"chmod 700 {state}, or move it away and trust again")
    return True


def list_pins(folder: str) -> list[str]:
    """Returns the names of a file's pins, newest first. Raises TrustError if the folder cannot be read."""
    try:
        numbers = [name[: -len(SUFFIX)] for name in os.listdir(folder) if name.endswith(SUFFIX)]
    except OSError as error:
        if error.errno in GONE:
            return []
        raise TrustError(f"may have pins, which cannot be read: {error.strerror}", folder, AGAIN) from None
    numbers = [number for number in numbers if number.isascii() and number.isdigit()]
    return [number + SUFFIX for number in sorted(numbers, key=int, reverse=True)]


class Pin:
    """One parsed pin. Raises TrustError for damaged bytes."""

    def __init__(self, data: bytes, where: str) -> None:
        try:
            first, second, rest = data.split(b"\n", 2)
            self.header = loads(first.decode(), own=True)
            self.index = loads(second.decode(), own=True)
            length = self.header["length"]
            self.trusted = rest[len(rest) - length :] if length else b""
            self.lines = rest[: len(rest) - length]
            if len(self.trusted) != length or len(self.lines) != self.header["compiled"]:
                raise ValueError("it is cut short")
        except MALFORMED as error:
            raise TrustError(f"{DAMAGED}: {error}", where, AGAIN) from None

    def read_code_digests(self) -> dict[str, dict[str, str]]:
        """Returns the digests of the code that was trusted with each contract."""
        try:
            plains = [loads(line, own=True) for line in self.lines.decode().split("\n") if line]
            return {plain["id"]: plain["pins"] for plain in plains if plain.get("pins")}
        except MALFORMED as error:
            raise TrustError(f"{DAMAGED}: {error}", self.header["path"], AGAIN) from None

    @property
    def current(self) -> bool:
        """Whether this version of truecall compiled it, in the present FORMAT."""
        return bool(self.header.get("version") == __version__ and self.header.get("format") == FORMAT)


def load_source(path: str, project: str, state: str) -> Source | None:
    """Returns the Source of one contract file; None if there is neither a file nor a pin. Unusable pins make it
    untrusted and leave other files alone."""
    try:
        return read_source(path, project, state)
    except TrustError as error:
        return Source(path, project, UNTRUSTED, why=error.what)


def read_source(path: str, project: str, state: str) -> Source | None:
    """Does the same, but raises TrustError for unusable pins."""
    folder = locate_pins(state, path)
    names = list_pins(folder)
    try:
        content: bytes | None = read_bytes(follow_moved_pack(path) if names else path)
        why = ""
    except OSError as error:
        content = None
        is_missing = error.errno in GONE
        why = "" if is_missing else f"cannot be read: {error.strerror}"
        if is_missing and not names:
            return None
    if not names:
        return Source(path, project, UNTRUSTED, why=why)
    newest = pin_error = None
    for name in names:
        try:
            pin = read_pin(os.path.join(folder, name))
        except TrustError as error:
            pin_error = error
            continue
        newest = newest or pin
        if pin.trusted == content:
            return make_source(pin, path, project, TRUSTED)
    if pin_error:  # the damaged pin may be the one that counts
        raise pin_error
    assert newest is not None
    return make_source(newest, path, project, DELETED if content is None and not why else CHANGED, why)


def follow_moved_pack(path: str) -> str:
    """Returns where a contract file is now. Wheels up to 0.1.0 had the starter packs in another folder of the
    package, and a pin or a registered hook may still name that path."""
    folder, name = os.path.split(path)
    return os.path.join(paths.find_packs_folder(), name) if folder == paths.OLD_CONTRACTS else path


def read_pin(where: str) -> Pin:
    """Returns the pin at a path. Raises TrustError."""
    try:
        return Pin(read_bytes(where), where)
    except OSError as error:
        raise TrustError(f"{LOST} its pin cannot be read: {error.strerror}", where, AGAIN) from None


def make_source(pin: Pin, path: str, project: str, status: str, why: str = "") -> Source:
    """Returns the Source of a pin. A pin of another version is compiled again by the worker; raises TrustError if
    that fails."""
    if not pin.current:
        from truecall_py.core.errors import Unverified
        from truecall_py.world.worker import ask

        job: dict[str, object] = {
            "do": "compile", "path": path, "data": pin.trusted.decode("latin-1"), "pins": pin.read_code_digests(),
        }  # fmt: skip
        try:
            pin = Pin(str(ask(job, None, 10.0)["pin"]).encode("latin-1"), path)
        except Unverified as error:
            what = f"{LOST} this version of truecall cannot compile it: {error.why}"
            raise TrustError(what, path, AGAIN) from None
    return Source(path, project, status, pin.index, pin.lines, why)


def load_sources(anchor: str, state: str, user_file: str, given: str | None) -> list[Source]:
    """Returns every contract file that applies to a folder: from `anchor` upward, then the user's own; or only the
    `given` one. Raises TrustError."""
    check_state_folder(state)
    anchor = os.path.realpath(anchor)
    if given is not None:
        path = os.path.join(anchor, given)
        path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        source = load_source(path, os.path.dirname(path), state)
        return [source or Source(path, os.path.dirname(path), UNTRUSTED, why="is not there")]
    sources = []
    folder = anchor
    while True:
        path = os.path.join(folder, FILE_NAME)
        source = load_source(path, folder, state)
        if source:
            sources.append(source)
        if folder == "/":
            break
        folder = os.path.dirname(folder)
    own = os.path.join(os.path.realpath(os.path.dirname(user_file)), os.path.basename(user_file))
    if own not in [known.path for known in sources]:
        source = load_source(own, anchor, state)
        if source:
            sources.append(source)
    return sources


def find_changed_code(plain: dict[str, Any]) -> str:
    """Returns the first file of code whose content differs from the trusted one, or ""."""
    from truecall_py.core.hashing import sha256

    for path, digest in plain.get("pins", {}).items():
        try:
            if not digest or sha256(read_bytes(path, MAX_CODE_BYTES)) != digest:
                return str(path)
        except OSError:
            return str(path)
    return ""


def find_contracts(sources: Sequence[Source], call: ToolCall) -> list[Contract]:
    """Returns the contracts of all files that name a call. Unreadable files are reported elsewhere."""
    contracts: list[Contract] = []
    for source in sources:
        try:
            contracts += source.find_contracts(call)
        except TrustError:
            continue
    return contracts
