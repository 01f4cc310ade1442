"""Makes and stores pins: the trusted bytes of a contract file and their compiled form. The only writer of the trust
store. Files are written atomically, readable only by their owner."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager

from truecall_py.contract_files import loader
from truecall_py.contract_files.compiler import strip_project
from truecall_py.contract_files.lint.codes import make_problem
from truecall_py.contracts.model import COMBINATORS, is_guard, may_refuse
from truecall_py.core.atomic_write import write_whole
from truecall_py.core.errors import ContractError, TrustError
from truecall_py.core.fast_json import dumps
from truecall_py.core.hashing import sha256
from truecall_py.core.paths import read_bytes
from truecall_py.core.record import record
from truecall_py.core.types import Problem
from truecall_py.core.version import __version__
from truecall_py.trust.store import (
    FOLDER,
    FORMAT,
    GUARDS,
    MAX_CODE_BYTES,
    SUFFIX,
    TRUSTED,
    Pin,
    Source,
    check_state_folder,
    list_pins,
    locate_pins,
    make_source,
    read_pin,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@record(frozen=True)
class Compiled:
    """One contract file, ready to be pinned. `pinned` are its files of code whose content is trusted too, `unpinned`
    the programs and files whose content is not."""

    path: str
    pin: bytes
    contracts: tuple[dict[str, Any], ...]
    warnings: tuple[Problem, ...]
    pinned: tuple[str, ...]
    unpinned: tuple[str, ...]
    policy: dict[str, Any]


def canonicalize_path(path: str) -> str:
    """Returns the one name of a contract file: its folder resolved, its own name kept."""
    full = os.path.abspath(path)
    return os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))


def read_contract_file(path: str) -> bytes:
    """Returns the bytes of a contract file. Raises ContractError with the fix."""
    try:
        return read_bytes(path)
    except OSError as error:
        is_missing = error.errno in (2, 20)
        what = "there is no such contract file" if is_missing else f"it cannot be read: {error.strerror}"
        do = "name the file that you mean, or begin with: truecall init" if is_missing else "look at its permissions"
        raise ContractError(path, [Problem(1, 1, "TC302", what, do)]) from None


def compile_file(path: str, data: bytes | None = None, trusted: dict[str, dict[str, str]] | None = None) -> Compiled:
    """Compiles the contract file at `path`, or `data` in its place. `trusted` are the digests of code that were
    pinned before, by contract; they are kept. Raises ContractError."""
    path = canonicalize_path(path)
    data = read_contract_file(path) if data is None else data
    loaded = loader.load(data, path)
    digests: dict[str, dict[str, str]] = {}
    places: dict[str, dict[str, str]] = {}
    pinned: list[str] = []
    unpinned: list[str] = []
    warnings = list(loaded.warnings)
    for identity, written in loaded.code_files:
        file = find_code_file(written, os.path.dirname(path))
        if file is None:
            unpinned.append(written)
            continue
        digest = compute_digest(file) if trusted is None else trusted.get(identity, {}).get(file, "")
        if not digest:
            line = next((plain["line"] for plain in loaded.contracts if plain["id"] == identity), 1)
            what = f"`{written}`, which the contract {identity} runs, cannot be read"
            warnings.append(make_problem("TC303", (line, 1), what))
        digests.setdefault(identity, {})[file] = digest
        places.setdefault(identity, {})[written] = file
        pinned.append(file)
    contracts = []
    for plain in loaded.contracts:
        for item in (*plain["post"], *plain.get("pre", ())):
            pin_programs(item, places.get(plain["id"], {}))
        contracts.append({**plain, "pins": digests[plain["id"]]} if plain["id"] in digests else plain)
    pin = build_pin(path, contracts, data, loaded.policy)
    once = tuple(dict.fromkeys(pinned)), tuple(dict.fromkeys(unpinned))
    return Compiled(path, pin, tuple(contracts), tuple(warnings), *once, loaded.policy)


def compute_digest(file: str) -> str:
    """Returns the digest of a file of code; "" if it cannot be read, which trusts nothing."""
    try:
        return sha256(read_bytes(file, MAX_CODE_BYTES))
    except OSError:
        return ""


def pin_programs(item: dict[str, Any], places: dict[str, str]) -> None:
    """Makes the pinned program and scripts of an argv absolute, in a check and in the checks of a combinator. The
    trusted file runs, whatever folder the call chose."""
    params = item["params"]
    if item["check"] in COMBINATORS:
        for check in params if isinstance(params, list) else [params]:
            pin_programs(check, places)
    elif isinstance(params.get("run"), list):
        program, *rest = params["run"]
        params["run"] = [resolve_word(program, places), *(resolve_word(word, places, "./") for word in rest)]


def resolve_word(word: Any, places: dict[str, str], bare: str = "") -> Any:
    """Returns the pinned path of one word of an argv, or the word itself."""
    name = strip_project(str(word))
    return places.get(name if "/" in name else bare + name, word)


def find_code_file(written: str, project: str) -> str | None:
    """Returns the absolute path of a file of code inside the project. None for programs on PATH (bare names) and for
    files elsewhere; these are not pinned."""
    if "/" not in written:
        return None
    full = os.path.normpath(os.path.join(project, written))
    real = os.path.realpath(full)
    inside = real.startswith(os.path.realpath(project).rstrip("/") + "/")
    return full if inside else None


def build_pin(path: str, contracts: list[dict[str, Any]], data: bytes, policy: dict[str, Any]) -> bytes:
    """Returns the bytes of a pin: header, index, compiled contracts and the trusted bytes (see trust/store.py)."""
    lines = b""
    index: dict[str, Any] = {
        "tools": {}, "kinds": {}, "stop": [], "guards": [], "refuse": [], "policy": policy, "ends": [],
    }  # fmt: skip
    for number, plain in enumerate(contracts):
        lines += dumps(plain).encode() + b"\n"
        index["ends"].append(len(lines))
        if plain.get("event") == "stop":  # it names the calls that a claim needs
            index["stop"].append(number)
            continue
        if is_guard(plain):
            index["guards"].append(number)
        if may_refuse(plain):
            index["refuse"].append(number)
        for table, name in (("tools", "tool"), ("kinds", "kind")):
            for key in plain.get(name) or ():
                index[table].setdefault(key, []).append(number)
    header = {
        "version": __version__, "format": FORMAT, "path": path, "trusted_at": int(time.time()), "length": len(data),
        "compiled": len(lines),
    }  # fmt: skip
    return dumps(header).encode() + b"\n" + dumps(index).encode() + b"\n" + lines + data


def load_untrusted(path: str) -> Source:
    """Returns the contracts of a file without a check of trust, for a user's own commands. Raises ContractError."""
    compiled = compile_file(path)
    return make_source(Pin(compiled.pin, path), compiled.path, os.path.dirname(compiled.path), TRUSTED)


def recompile(job: dict[str, Any]) -> dict[str, Any]:
    """Compiles the trusted bytes of an older pin with this version, in the worker. The digests of its code stay those
    that were trusted."""
    data = str(job["data"]).encode("latin-1")
    return {"pin": compile_file(str(job["path"]), data, job["pins"]).pin.decode("latin-1")}


def trust(compiled: Compiled, state: str) -> str:
    """Stores a pin and returns its path. Raises TrustError; then nothing has changed."""
    folder = locate_pins(state, compiled.path)
    try:
        make_folders(state, state)
        check_state_folder(state)
        with lock_store(state):
            make_folders(state, folder)
            names = list_pins(folder)
            number = int(names[0][: -len(SUFFIX)]) + 1 if names else 1
            target = os.path.join(folder, f"{number}{SUFFIX}")
            # Written before the pin: if this stops in between, calls are refused rather than passed.
            if any(map(may_refuse, compiled.contracts)):
                write_whole(os.path.join(state, GUARDS), b"")
            write_whole(target, compiled.pin)
            fresh = Pin(compiled.pin, target)
            for name in names:  # the new pin replaces one of the same content
                where = os.path.join(folder, name)
                if has_same_content(where, fresh):
                    os.unlink(where)
            remove_guards_mark(state)
    except OSError as error:
        raise TrustError(
            f"the pin cannot be written: {error.strerror}", error.filename or folder,
            "free disk space or fix the permissions, then run the command again; nothing was changed",
        ) from None  # fmt: skip
    return target


def remove_guards_mark(state: str) -> None:
    """Removes the mark of refusing guards once no pin holds one. A pin that cannot be read counts as one. Raises
    OSError."""
    mark = os.path.join(state, GUARDS)
    if not os.path.lexists(mark):
        return
    for path in list_trusted_paths(state):
        folder = locate_pins(state, path)
        for name in list_pins(folder):
            try:
                if read_pin(os.path.join(folder, name)).index.get("refuse"):
                    return
            except TrustError:
                return
    os.unlink(mark)


def has_same_content(where: str, fresh: Pin) -> bool:
    """Tells whether a stored pin trusts the same bytes. A damaged pin counts as the same, so that it is replaced."""
    try:
        return read_pin(where).trusted == fresh.trusted
    except TrustError:
        return True


@contextmanager
def lock_store(state: str) -> Iterator[None]:
    """Locks the store for one writer. Raises OSError."""
    descriptor = os.open(state, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def make_folders(state: str, folder: str) -> None:
    """Creates every folder down to `folder`, private to the owner from the state folder on."""
    os.makedirs(os.path.dirname(state), exist_ok=True)
    current = state
    for name in ["", *os.path.relpath(folder, state).split(os.sep)]:
        current = os.path.join(current, name) if name else current
        try:
            os.mkdir(current, 0o700)
        except FileExistsError:
            continue  # check_state_folder or the next call reports a wrong one


def revoke(path: str, state: str) -> int:
    """Removes every pin of a contract file and returns how many there were. Raises TrustError."""
    folder = locate_pins(state, canonicalize_path(path))
    if not check_state_folder(state):
        return 0
    try:
        with lock_store(state):
            names = list_pins(folder)
            for name in names:
                os.unlink(os.path.join(folder, name))
            while names and folder != os.path.join(state, FOLDER) and not os.listdir(folder):
                os.rmdir(folder)
                folder = os.path.dirname(folder)
            remove_guards_mark(state)
    except OSError as error:
        do = "make this folder writable for you, then run the command again"
        raise TrustError(f"a pin cannot be removed: {error.strerror}", error.filename or folder, do) from None
    return len(names)


def list_trusted_paths(state: str) -> list[str]:
    """Returns the path of every contract file that has a pin."""
    root = os.path.join(state, FOLDER)
    paths = []
    for folder, _, names in os.walk(root):
        if any(name.endswith(SUFFIX) for name in names):
            paths.append(folder[len(root) :])
    return sorted(paths)
