"""How calls ended whose end no hook saw, by the client's own transcript. Read from the end, bounded; a call whose
record is not found has no fate, and no fate is ever guessed from what a tool says. The shape of the records is the
client's: its own module `call_outcomes` reads a line.
"""

from __future__ import annotations

import os

from truecall_py.clients import find_part
from truecall_py.clients.transcript_tail import PIECE, TAIL, open_transcript, read_backwards
from truecall_py.core.errors import Unverified
from truecall_py.core.fast_json import JsonError, loads
from truecall_py.core.record import record
from truecall_py.core.types import FAILURE, SUCCESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType
    from typing import Any

    from truecall_py.world.world import World

RUNNING = "running"
RECENT = 1 << 20  # bytes from the end of a transcript that are looked through where nobody has looked yet
LONGEST = 4000  # characters of a tool's own words that are kept


@record(frozen=True)
class Fate:
    """How a call ended: `said` is success, failure or unknown, or RUNNING; `code` its exit code (None: not said);
    `text` the tool's own words. `never` is whether the client itself says that the call was never made; of a call of
    whose end a hook was told that is never asked: there a tool may have said so."""

    said: str
    code: int | None = None
    text: str = ""
    never: bool = False


def read_fates(harness: str, path: str | None, calls: Iterable[str], world: World) -> dict[str, Fate]:
    """The fate of each call that the transcript at `path`, of this client, tells of."""
    wanted = {name: name.encode("utf-8", "replace") for name in calls if name}
    fates: dict[str, Fate] = {}
    reader = find_part(harness, "call_outcomes")
    if reader is None or not path or not wanted:
        return fates
    sure: set[str] = set()
    try:
        for line in read_backwards(path, world):
            if len(sure) == len(wanted):
                break
            if not any(word in line for name, word in wanted.items() if name not in sure):
                continue
            for name, fate, final in read_lines(reader, line):
                if name in wanted and name not in sure and (final or name not in fates):
                    fates[name] = fate
                    if final:
                        sure.add(name)
    except (OSError, Unverified):
        pass
    return fates


def is_readable(path: str | None) -> bool:
    """Whether there is a transcript that can be read, so that what it does not tell says something."""
    descriptor = open_transcript(path)
    if descriptor >= 0:
        os.close(descriptor)
    return descriptor >= 0


def has_ended_before(harness: str, path: str | None, call: str, at: float, world: World) -> bool:
    """Whether the transcript at `path`, of this client, says that a call had ended before `at`, in seconds since the
    epoch."""
    reader = find_part(harness, "call_outcomes")
    if reader is None:
        return False
    word = call.encode("utf-8", "replace")
    try:
        for line in read_backwards(path, world) if word else ():
            if word in line and any(
                name == call and (fate.said == FAILURE or (fate.said == SUCCESS and reader.SUCCESS_IS_END))
                for name, fate, _ in read_lines(reader, line)
            ):
                return is_written_before(line, at)
    except (OSError, Unverified):
        pass
    return False


def is_written_before(line: bytes, at: float) -> bool:
    """Whether a line of a transcript bears a time, of UTC, that is not after `at`."""
    import calendar
    import time

    stamp = loads(line.decode("utf-8", "replace")).get("timestamp")
    if not isinstance(stamp, str) or not stamp.endswith("Z"):
        return False
    whole_seconds, _, part = stamp[:-1].partition(".")
    try:
        when = calendar.timegm(time.strptime(whole_seconds, "%Y-%m-%dT%H:%M:%S"))
        return when + float(f"0.{part or 0}") <= at
    except ValueError:
        return False


def read_lines(reader: ModuleType, line: bytes) -> Iterator[tuple[str, Fate, bool]]:
    """(call, fate, whether it is the last word on it) of each call that a line is about."""
    try:
        plain = loads(line.decode("utf-8", "replace"))
    except JsonError:
        return
    if isinstance(plain, dict):
        yield from reader.read_record(plain)


def read_notices(harness: str, path: str | None, since: int, world: World) -> tuple[dict[str, Fate], int]:
    """The fate of each call whose work went on in the background and has ended, by the notifications in the
    transcript at `path`, of this client, after its first `since` bytes (0: in the last RECENT); and how far it was
    read. The answer to the call itself, which comes when that work begins, is no such word."""
    fates: dict[str, Fate] = {}
    read_notice = getattr(find_part(harness, "call_outcomes"), "read_notice", None)
    if read_notice is None:
        return fates, since
    descriptor = open_transcript(path)
    if descriptor < 0:
        return fates, since
    try:
        size = os.fstat(descriptor).st_size
        begin = since if 0 < since <= size else max(0, size - RECENT)
        begin = max(begin, size - TAIL)
        os.lseek(descriptor, begin, os.SEEK_SET)
        rest, upto = b"", begin
        while upto + len(rest) < size and (piece := os.read(descriptor, PIECE)):
            *lines, left = (rest + piece).split(b"\n")
            upto += len(rest) + len(piece) - len(left)
            rest = left
            for line in lines:
                fates |= read_notice(line)
            world.remaining()
        return fates, upto
    except (OSError, Unverified):
        return fates, since
    finally:
        os.close(descriptor)


def number(value: Any) -> int | None:
    """The whole number that a value is, None for any other value."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def cut_words(value: Any) -> str:
    """The text of an answer, or of its blocks, as far as it is kept."""
    if isinstance(value, list):
        value = "\n".join(str(block.get("text", "")) for block in value if isinstance(block, dict))
    return value[:LONGEST] if isinstance(value, str) else ""
