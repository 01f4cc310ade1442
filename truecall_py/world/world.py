"""The only door to files, processes, the network and the clock. Looks, never changes anything.

Every look is bounded: in bytes, and by the one deadline of the hook call. What cannot be seen raises
Unverified; it is never reported as absent.
"""

from __future__ import annotations

import os
import stat as modes
import time

from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, DEADLINE, Fetched, Finished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from truecall_py.world.snapshots import Snapshot

READ_LIMIT = 64 * 1024 * 1024  # bytes of one file
# ENOENT and ENOTDIR say that nothing is there; every other error says that nobody can tell.
GONE = (2, 20)


class World:
    """The machine as one contract may see it.

    `base` is the folder of relative paths (None: not known), `project` the folder of the contract file,
    `ends` the monotonic time at which everything must be over, `home` what ~ stands for, `look` the most
    seconds that one look may take (None: the check's own default), `session` the folder of the session (None:
    not known), `received` the time, in seconds since the epoch, at which the hook was told of the call,
    `snapshot` what was seen before it (None: nobody looked).
    """

    def __init__(
        self,
        base: str | None = None,
        project: str = "",
        ends: float | None = None,
        home: str | None = None,
        look: float | None = None,
        interpreter: str | None = None,
        session: str | None = None,
        received: float | None = None,
        snapshot: Snapshot | None = None,
    ) -> None:
        self.base = base
        self.project = project
        self.ends = time.monotonic() + DEADLINE if ends is None else ends
        self.home = os.environ.get("HOME") if home is None else home
        self.look = look
        self.interpreter = interpreter
        self.session = session
        self.received = time.time() if received is None else received
        self.snapshot = snapshot

    def at(self, base: str | None) -> World:
        """The same world, with relative paths from another folder."""
        return World(base, self.project, self.ends, self.home, self.look, self.interpreter, self.session,
                     self.received, self.snapshot)  # fmt: skip

    # -- the world before the call ---------------------------------------------------------------------

    def earlier(self, check: str, params: dict[str, Any]) -> Any:
        """What `before()` of a check told of the same parameters before the call; ABSENT where nothing did."""
        return ABSENT if self.snapshot is None else self.snapshot.fact(check, self.base, params)

    def before(self, check: str, params: dict[str, Any]) -> Any:
        """The same, for a check that cannot do without. Raises Unverified where nothing was told."""
        value = self.earlier(check, params)
        if value is ABSENT:
            why = "no snapshot was taken before the call" if self.snapshot is None else "it is not in the snapshot"
            raise Unverified(f"{why}, so what changed cannot be told", "harness")
        return value

    def alone(self, check: str, params: dict[str, Any]) -> bool:
        """Whether no other call about the same fact ran while this one did, as far as snapshots tell."""
        return self.snapshot is None or self.snapshot.alone(check, self.base, params)

    def began(self, duration: float | None) -> float | None:
        """When the call began, in seconds since the epoch: as the snapshot says, else by its duration in
        seconds. None where nobody knows."""
        if self.snapshot is not None:
            return self.snapshot.at
        return None if duration is None else self.received - duration

    # -- clock ---------------------------------------------------------------------------------------

    def now(self) -> float:
        """Seconds on a clock that only goes forward."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since the epoch, for comparing with file times."""
        return time.time()

    def remaining(self) -> float:
        """Seconds until the deadline; raises Unverified when it is over."""
        left = self.ends - time.monotonic()
        if left <= 0:
            raise Unverified("the time for all checks together was over", "probe")
        return left

    def budget(self, default: float) -> float:
        """Seconds that one look may take now, within the deadline."""
        return min(self.look if self.look is not None else default, self.remaining())

    def sleep(self, seconds: float) -> None:
        """Sleep, but not beyond the deadline."""
        time.sleep(max(0.0, min(seconds, self.ends - time.monotonic())))

    # -- files ---------------------------------------------------------------------------------------

    def resolve(self, path: str) -> str:
        """The absolute path that a contract's path means; symlinks are left as they are."""
        if path == "~" or path.startswith("~/"):
            if not self.home:
                raise Unverified("the home folder is not known (HOME is not set)", "harness")
            path = self.home + path[1:]
        if path.startswith("/"):
            return path
        if self.base is None:
            raise Unverified(
                f"{path} is relative, and the folder in which the command started is not known", "harness"
            )
        return os.path.join(self.base, path)

    def stat(self, path: str, follow: bool = True) -> os.stat_result | None:
        """What stands at an absolute path, None where nothing does. Raises Unverified where it cannot be
        told (permissions, a loop of links, a name no file system takes)."""
        try:
            return os.stat(path, follow_symlinks=follow)
        except OSError as error:
            if error.errno in GONE:
                return None
            raise Unverified(f"{path} cannot be looked at: {error.strerror}", "world") from None
        except ValueError as error:
            raise Unverified(f"the path cannot be looked at: {error}", "tool") from None

    def spelt_exactly(self, path: str) -> bool:
        """False where the file system ignores case and the entry is spelt otherwise."""
        folder, name = os.path.split(path.rstrip("/"))
        swapped = os.path.join(folder, name.swapcase())
        try:
            if swapped == path or not os.path.samestat(os.lstat(swapped), os.lstat(path)):
                return True
        except OSError:
            return True
        return name in self.names(folder)

    def names(self, folder: str) -> list[str]:
        """The entries of a folder, sorted; empty where it cannot be read."""
        try:
            return sorted(os.listdir(folder or "/"))
        except OSError:
            return []

    def read(self, path: str) -> bytes:
        """The bytes of a regular file. Raises Unverified for anything else, or above READ_LIMIT."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise Unverified(f"{path} cannot be read: {getattr(error, 'strerror', error)}", "world") from None
        try:
            found = os.fstat(descriptor)
            if not modes.S_ISREG(found.st_mode):
                raise Unverified(f"{path} is not a regular file", "world")
            if found.st_size > READ_LIMIT:
                raise Unverified(f"{path} is larger than {READ_LIMIT // 2**20} MB and is not read", "probe")
            pieces: list[bytes] = []
            size = 0
            while size <= READ_LIMIT:
                piece = os.read(descriptor, 1 << 20)
                if not piece:
                    return b"".join(pieces)
                pieces.append(piece)
                size += len(piece)
                self.remaining()
            raise Unverified(f"{path} grows while it is read", "world")
        except OSError as error:
            raise Unverified(f"{path} cannot be read: {error.strerror}", "world") from None
        finally:
            os.close(descriptor)

    # -- what costs more: loaded only when a contract asks ---------------------------------------------

    def search(self, pattern: str, text: str) -> bool:
        """Whether a regular expression is found in `text`, within the time of one look."""
        from truecall_py.world.bounded_regex import search

        return search(pattern, text, self.budget(2.0))

    def run(
        self,
        argv: list[str],
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
        timeout: float = 5.0,
    ) -> Finished:
        """Runs a probe in a process group of its own, which is gone when this returns."""
        from truecall_py.world.run_program import run

        return run(argv, env or {}, cwd, stdin, self.budget(timeout), self.ends)

    def fetch(
        self, url: str, method: str, headers: Mapping[str, str], redirects: int, trusted_hosts: tuple[str, ...]
    ) -> Fetched:
        """One HTTP request, no proxy for loopback, every address checked before it is connected to."""
        from truecall_py.world.http import fetch

        return fetch(url, method, headers, redirects, trusted_hosts, self.budget(5.0))

    def slow(self, job: dict[str, object], timeout: float = 5.0) -> dict[str, object]:
        """Run `job` in the worker, with the contract's interpreter; return its JSON answer. Raises Unverified."""
        from truecall_py.world.worker import ask

        return ask(job, self.interpreter, self.budget(timeout), self.ends)
