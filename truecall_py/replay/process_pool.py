"""A pool of processes that each turn one item after the other into bytes; what they make is handed on in the order of
the items. Holds little of it in memory, leaves no process behind, and says which item a process died of."""

from __future__ import annotations

import contextlib
import gc
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from truecall_py.core import paths
from truecall_py.core.record import record
from truecall_py.hook import crash_report

Work = Callable[[str], Iterable[Any]]

CHUNK_BYTES = 64 << 10  # bytes that are sent at a time
MEMORY_LIMIT = 256 << 10  # bytes of one item that wait in memory for their turn; more of it waits in a file
LOOKAHEAD = 4  # items that each process may be ahead of what was handed on
TICK = 0.1  # seconds after which whoever waits is asked to show that


@record(frozen=True)
class Piece:
    """Some of what was made of an item."""

    item: str
    data: bytes


@record(frozen=True)
class Done:
    """The end of an item: what its work told beside bytes, or why it has no end."""

    item: str
    told: Any = None
    died: str = ""


def run_worker(conn: Connection, work: Work, foreign: Sequence[Connection]) -> None:
    """The life of a worker: one item after the other, until nobody sends any more. `foreign` are the ends of others
    that it inherited: with them open, the others would never learn that their parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says when it is over
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
    for connection in foreign:
        connection.close()
    gc.freeze()  # what was there before the fork stays, and need not be looked through again
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while (item := conn.recv()) is not None:
            try:
                send_output(conn, item, work)
                gc.collect()  # so that one item's garbage never adds to the next one's peak
            except (EOFError, BrokenPipeError, ConnectionResetError):
                raise
            except Exception as error:
                conn.send(Done(item, died=describe_crash(error)))
                raise SystemExit(3) from None


def describe_crash(error: Exception) -> str:
    """A bug, in the words for the person; its report is written."""
    path = crash_report.write_report(error, paths.find_state_folder())
    return f"a bug of truecall's own ({type(error).__name__})" + (f"; a report is in {path}" if path else "")


def send_output(conn: Connection, item: str, work: Work) -> None:
    """Sends what the work makes of an item: bytes as pieces, the one other thing at its end."""
    held, size, message = [], 0, None
    for each in work(item):
        if not isinstance(each, bytes):
            message = each
            continue
        held.append(each)
        size += len(each)
        if size >= CHUNK_BYTES:
            conn.send(Piece(item, b"".join(held)))
            held, size = [], 0
    if held:
        conn.send(Piece(item, b"".join(held)))
    conn.send(Done(item, message))


class Worker:
    """One process, and the item that it works on."""

    def __init__(self, work: Work, others: Sequence[Worker]) -> None:
        from multiprocessing import get_context

        forks = sys.platform == "linux"  # elsewhere a fork may break the system's own libraries
        context: Any = get_context("fork" if forks else "spawn")
        self.conn, theirs = context.Pipe()
        foreign = [other.conn for other in others] + [self.conn] if forks else []
        self.process = context.Process(target=run_worker, args=(theirs, work, foreign), daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self.number: int | None = None  # of the item; None while it has none

    def death(self) -> str:
        self.process.join(5)
        code = self.process.exitcode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return f"the process that read it ended with {how}"

    def end(self) -> None:
        self.conn.close()
        self.process.terminate()
        self.process.join(2)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class Shelf:
    """What was made of an item whose turn has not come."""

    def __init__(self) -> None:
        self.file: IO[bytes] | None = None
        self.done: Done | None = None

    def put(self, data: bytes) -> None:
        if self.file is None:
            self.file = SpooledTemporaryFile(MEMORY_LIMIT)  # noqa: SIM115 - closed when it is emptied, or with the pool
        self.file.write(data)

    def taken(self, item: str) -> Iterator[Piece]:
        if self.file is not None:
            self.file.seek(0)
            while data := self.file.read(CHUNK_BYTES):
                yield Piece(item, data)
            self.file.close()
            self.file = None


class Pool:
    """The processes at work on `items`. Iterating gives what they make; leaving the block ends them, whatever else
    happened. `tick` is called with the number of items that are done, often enough to show it."""

    def __init__(self, work: Work, items: Sequence[str], jobs: int, tick: Callable[[int], None]) -> None:
        self.work, self.items, self.tick = work, items, tick
        self.workers: list[Worker] = []
        self.jobs = max(1, min(jobs, len(items)))
        self.shelves: dict[int, Shelf] = {}
        self.given = self.head = self.done = 0

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *why: object) -> None:
        for worker in self.workers:
            worker.end()

    def __iter__(self) -> Iterator[Piece | Done]:
        from multiprocessing.connection import wait

        while self.head < len(self.items):
            self.hand_out()
            busy = {worker.conn: worker for worker in self.workers if worker.number is not None}
            for conn in wait(list(busy), TICK):
                yield from self.heard(busy[conn])
            self.tick(self.done)

    def hand_out(self) -> None:
        """Gives every idle worker an item, if none is too far ahead."""
        while self.given < min(len(self.items), self.head + LOOKAHEAD * self.jobs):
            idle = next((worker for worker in self.workers if worker.number is None), None)
            if idle is None:
                if len(self.workers) == self.jobs:
                    return
                idle = Worker(self.work, self.workers)
                self.workers.append(idle)
            number, self.given = self.given, self.given + 1
            self.shelves[number] = Shelf()
            idle.number = number
            # One that died meanwhile is noticed when it is listened to.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                idle.conn.send(self.items[number])

    def heard(self, worker: Worker) -> Iterator[Piece | Done]:
        """Takes one message of a worker, and hands on what can be."""
        number = worker.number
        assert number is not None
        try:
            message = worker.conn.recv()
        except (EOFError, OSError):
            message = Done(self.items[number], died=worker.death())
        if isinstance(message, Piece):
            if number == self.head:
                yield message
            else:
                self.shelves[number].put(message.data)
            return
        worker.number = None
        if message.died:
            self.workers.remove(worker)
            worker.end()
        self.done += 1
        self.shelves[number].done = message
        yield from self.handed_on()

    def handed_on(self) -> Iterator[Piece | Done]:
        """What stands on the shelves of the items whose turn it is."""
        while (shelf := self.shelves.get(self.head)) is not None:
            yield from shelf.taken(self.items[self.head])
            if shelf.done is None:
                return
            del self.shelves[self.head]
            self.head += 1
            yield shelf.done
