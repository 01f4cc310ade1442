"""Makes and keeps pins: the trusted bytes of a contract file and their compiled form. The only writer of the
trust store; everything is written whole or not at all, readable by its owner alone."""

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
    """One contract file, ready to be pinned. `pinned` are the files of code whose content is trusted too,
    `unpinned` the programs and files that are not."""

    path: str
    pin: bytes
    contracts: tuple[dict[str, Any], ...]
    warnings: tuple[Problem, ...]
    pinned: tuple[str, ...]
    unpinned: tuple[str, ...]
    policy: dict[str, Any]


def canonicalize_path(path: str) -> str:
    """The one name of a contract file: its folder resolved, the file's own name kept."""
    full = os.path.abspath(path)
    return os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))


def read_contract_file(path: str) -> bytes:
    """The bytes of a contract file. Raises ContractError with what to do."""
    try:
        return read_bytes(path)
    except OSError as error:
        gone = error.errno in (2, 20)
        what = "there is no such contract file" if gone else f"it cannot be read: {error.strerror}"
        do = "name the file that you mean, or begin with: truecall init" if gone else "look at its permissions"
        raise ContractError(path, [Problem(1, 1, "TC302", what, do)]) from None


def compile_file(path: str, data: bytes | None = None, trusted: dict[str, dict[str, str]] | None = None) -> Compiled:
    """The compiled form of the contract file at `path` (of `data`, where given). `trusted` are the digests
    of code that were pinned before, by contract; they are kept. Raises ContractError."""
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
    """The digest of a file of code; "" for one that is not there (yet): then nothing was trusted."""
    try:
        return sha256(read_bytes(file, MAX_CODE_BYTES))
    except OSError:
        return ""


def pin_programs(item: dict[str, Any], places: dict[str, str]) -> None:
    """Makes the pinned program and script of an argv absolute: what runs is what was trusted, whatever
    folder the call chose."""
    params = item["params"]
    if item["check"] in COMBINATORS:
        for each in params if isinstance(params, list) else [params]:
            pin_programs(each, places)
    elif isinstance(params.get("run"), list):
        program, *rest = params["run"]
        params["run"] = [resolve_word(program, places), *(resolve_word(word, places, "./") for word in rest)]


def resolve_word(word: Any, places: dict[str, str], bare: str = "") -> Any:
    name = strip_project(str(word))
    return places.get(name if "/" in name else bare + name, word)


def find_code_file(written: str, project: str) -> str | None:
    """The absolute path of a named file of code inside the project; None for programs on PATH (bare names)
    and files elsewhere, which are not pinned."""
    if "/" not in written:
        return None
    full = os.path.normpath(os.path.join(project, written))
    real = os.path.realpath(full)
    inside = real.startswith(os.path.realpath(project).rstrip("/") + "/")
    return full if inside else None


def build_pin(path: str, contracts: list[dict[str, Any]], data: bytes, policy: dict[str, Any]) -> bytes:
    lines = b""
    index: dict[str, Any] = {
        "tools": {}, "kinds": {}, "stop": [], "guards": [], "refuse": [], "policy": policy, "ends": [],
    }  # fmt: skip
    for number, plain in enumerate(contracts):
        lines += dumps(plain).encode() + b"\n"
        index["ends"].append(len(lines))
        if plain.get("event") == "stop":  # what it names are the calls that a claim needs
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
    """The contracts of a file as they stand, without trust: for a person's own commands. Raises ContractError."""
    compiled = compile_file(path)
    return make_source(Pin(compiled.pin, path), compiled.path, os.path.dirname(compiled.path), TRUSTED)


def recompile(job: dict[str, Any]) -> dict[str, Any]:
    """The slow lane's job: the pin of trusted bytes, compiled by this version of truecall. The code that was
    pinned with them stays the code that was trusted, not the one that is there now."""
    data = str(job["data"]).encode("latin-1")
    return {"pin": compile_file(str(job["path"]), data, job["pins"]).pin.decode("latin-1")}


def trust(compiled: Compiled, state: str) -> str:
    """Stores a pin; the path it was written to. Raises TrustError, and then nothing has changed."""
    folder = locate_pins(state, compiled.path)
    try:
        make_folders(state, state)
        check_state_folder(state)
        with lock_store(state):
            make_folders(state, folder)
            names = list_pins(folder)
            number = int(names[0][: -len(SUFFIX)]) + 1 if names else 1
            target = os.path.join(folder, f"{number}{SUFFIX}")
            if any(map(may_refuse, compiled.contracts)):  # before the pin: too early is the careful side
                write_whole(os.path.join(state, GUARDS), b"")
            write_whole(target, compiled.pin)
            fresh = Pin(compiled.pin, target)
            for name in names:  # the same content, trusted before: the new pin takes its place
                where = os.path.join(folder, name)
                if has_same_content(where, fresh):
                    os.unlink(where)
            remove_guards_mark(state)
    except OSError as error:
        raise TrustError(
            f"the pin cannot be written: {error.strerror}", error.filename or folder,
            "make room or mend the permissions, then run the command again; nothing was changed",
        ) from None  # fmt: skip
    return target


def remove_guards_mark(state: str) -> None:
    """Takes away the mark that there are guards that refuse, once no pin holds one; a pin that cannot be read may.
    Raises OSError."""
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
    try:
        return read_pin(where).trusted == fresh.trusted
    except TrustError:
        return True  # a damaged pin is of no use to anybody


@contextmanager
def lock_store(state: str) -> Iterator[None]:
    """One writer of the store at a time. Raises OSError."""
    descriptor = os.open(state, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def make_folders(state: str, folder: str) -> None:
    """Every folder down to `folder`, for the owner alone from the state folder on."""
    os.makedirs(os.path.dirname(state), exist_ok=True)
    here = state
    for name in ["", *os.path.relpath(folder, state).split(os.sep)]:
        here = os.path.join(here, name) if name else here
        try:
            os.mkdir(here, 0o700)
        except FileExistsError:
            continue  # what it is, `check` and the next one tell


def revoke(path: str, state: str) -> int:
    """Takes back every pin of a contract file; how many there were. Raises TrustError."""
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
        do = "see that this folder is yours to write in, and run it again"
        raise TrustError(f"a pin cannot be removed: {error.strerror}", error.filename or folder, do) from None
    return len(names)


def list_trusted_paths(state: str) -> list[str]:
    """Every contract file that has a pin."""
    root = os.path.join(state, FOLDER)
    found = []
    for folder, _, names in os.walk(root):
        if any(name.endswith(SUFFIX) for name in names):
            found.append(folder[len(root) :])
    return sorted(found)
