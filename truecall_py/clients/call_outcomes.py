"""How calls ended of which no hook was told, by the client's own transcript. Read from the end, bounded; a call whose
record is not found has no fate, and no fate is ever guessed from what a tool says.

Seen with Codex 0.144.6 and 0.171.0 (a record of the end for patches, MCP calls and commands; else the line that Codex
itself writes above a command's output) and with Claude Code 2.1.197 and 2.1.332 (tool_result blocks).
"""

from __future__ import annotations

import os

from truecall_py.clients.codex.exit_codes import PIECE, STATUSES, TAIL, backwards
from truecall_py.clients.payload import whole
from truecall_py.core.errors import Unverified
from truecall_py.core.fast_json import Refused, loads
from truecall_py.core.record import record
from truecall_py.core.types import FAILURE, SUCCESS, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from truecall_py.world.world import World

RUNNING = "running"
NOTICE = "<task-notification>\n"
RECENT = 1 << 20  # bytes from the end of a transcript that are looked through where nobody has looked yet
LONGEST = 4000  # characters of a tool's own words that are kept
# How Codex' own answer begins where a call was never made; a command's output stands below a header. Seen with
# 0.144.6 and 0.171.0 are the first five (the fourth of a patch outside of the sandbox; the fifth of a command that
# asks to leave it, where nobody is asked). The others, of what the person rejects, are words of the program that were
# not seen in use yet.
NEVER_MADE = ("apply_patch verification failed", "Command blocked by PreToolUse hook",
              "Tool call blocked by PreToolUse hook", "patch rejected: ", "approval policy is Never; reject command",
              "patch rejected by user", "exec command rejected by user", "user rejected MCP tool call",
              "user cancelled MCP tool call")  # fmt: skip
# How it begins where a command could not be started, or its sandbox stopped it: then it may have begun.
NOT_RUN = ("exec_command failed: ", "exec_command failed for ")
# How Claude Code's own answer begins where a call was never made, since a rule said no; as it stands in both of its
# programs.
DENIED = ("Permission to use ", "Claude requested permissions to ")
# What stands between the tool's name and the words of another hook that ended with 2 (2.1.197; a hook that answers in
# JSON leaves its reason alone there, which a tool may say as well).
BARRED = "PreToolUse:", " hook error: ["
# How it begins where a person said no, or interrupted the call while it ran: the same words, in both programs. Only
# other fields of the record say that it was before the call (in 2.1.332; 2.1.197 has none).
STOPPED = ("The user doesn't want to proceed with this tool use.",
           "The user doesn't want to take this action right now.")  # fmt: skip


@record(frozen=True)
class Fate:
    """How a call ended: `said` is success, failure or unknown, or RUNNING; `code` its exit code (None: not said);
    `text` the tool's own words; `before` whether the client says that it was stopped before it was made, `barred`
    whether that was by a rule or another hook."""

    said: str
    code: int | None = None
    text: str = ""
    before: bool = False
    barred: bool = False

    @property
    def never(self) -> bool:
        """Whether the client itself says that the call was never made. Of a call of whose end a hook was told that is
        never asked: there a tool may have said so."""
        stopped = self.before and self.text.startswith(STOPPED)
        hook = self.text.startswith(BARRED[0]) and BARRED[1] in self.text.partition("\n")[0]
        told = stopped or self.barred or hook or self.text.startswith((*NEVER_MADE, *DENIED))
        return self.said == FAILURE and told


def fates(path: str | None, calls: Iterable[str], world: World) -> dict[str, Fate]:
    """The fate of each call that the transcript at `path` tells of."""
    wanted = {name: name.encode("utf-8", "replace") for name in calls if name}
    found: dict[str, Fate] = {}
    if not path or not wanted:
        return found
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return found
    sure: set[str] = set()
    try:
        for line in backwards(descriptor, world):
            if len(sure) == len(wanted):
                break
            if not any(word in line for name, word in wanted.items() if name not in sure):
                continue
            for name, fate, final in told(line):
                if name in wanted and name not in sure and (final or name not in found):
                    found[name] = fate
                    if final:
                        sure.add(name)
    except (OSError, Unverified):
        return found
    finally:
        os.close(descriptor)
    return found


def readable(path: str | None) -> bool:
    """Whether there is a transcript that can be read, so that what it does not tell says something."""
    try:
        os.close(os.open(path or "", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except (OSError, ValueError):
        return False
    return True


def ended_before(path: str | None, call: str, at: float, world: World) -> bool:
    """Whether the transcript at `path` says that a call had ended before `at`, in seconds since the epoch. A success
    that Claude Code tells is no such word: the work may go on in the background."""
    word = call.encode("utf-8", "replace")
    try:
        descriptor = os.open(path or "", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return False
    try:
        for line in backwards(descriptor, world) if word else ():
            if word in line and any(
                name == call and (fate.said == FAILURE or (fate.said == SUCCESS and b'"payload"' in line))
                for name, fate, _ in told(line)
            ):
                return written_before(line, at)
        return False
    except (OSError, Unverified):
        return False
    finally:
        os.close(descriptor)


def written_before(line: bytes, at: float) -> bool:
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


def told(line: bytes) -> Iterator[tuple[str, Fate, bool]]:
    """(call, fate, whether it is the last word on it) of each call that a line is about."""
    try:
        plain = loads(line.decode("utf-8", "replace"))
    except Refused:
        return
    inside = plain.get("payload") if isinstance(plain, dict) else None
    if isinstance(inside, dict):
        yield from of_codex(inside)
    elif isinstance(plain, dict):
        yield from of_claude(plain)


def of_codex(inside: dict[str, Any]) -> Iterator[tuple[str, Fate, bool]]:
    kind, item = inside.get("type"), inside.get("item")
    if kind == "item_completed" and isinstance(item, dict):
        code = number(item.get("exit_code"))
        said = STATUSES.get(str(item.get("status", "")).lower(), UNKNOWN)
        said = said if code is None else SUCCESS if code == 0 else FAILURE
        yield str(item.get("id")), Fate(said, code, words(item.get("aggregated_output"))), True
    elif kind == "mcp_tool_call_end":
        result = inside.get("result")
        answer = result.get("Ok") if isinstance(result, dict) else None
        well = isinstance(answer, dict) and answer.get("isError") is not True
        yield str(inside.get("call_id")), Fate(SUCCESS if well else FAILURE), True
    elif kind == "patch_apply_end":
        done = inside.get("success")
        said = SUCCESS if done is True else FAILURE if done is False else UNKNOWN
        yield str(inside.get("call_id")), Fate(said, None, words(inside.get("stderr"))), True
    elif kind in ("function_call_output", "custom_tool_call_output"):
        yield str(inside.get("call_id")), of_output(inside.get("output")), False


def of_output(output: Any) -> Fate:
    """What Codex' own lines say of a call."""
    text = words(output)
    if text.startswith((*NEVER_MADE, *NOT_RUN)):
        return Fate(FAILURE, None, text)
    head, mark, rest = text.partition("\nOutput:\n")
    for line in head.split("\n") if mark else ():
        if line.startswith("Process running with session ID "):
            return Fate(RUNNING)
        if line.startswith("Process exited with code "):
            code = whole(line.removeprefix("Process exited with code "))
            return Fate(UNKNOWN if code is None else SUCCESS if code == 0 else FAILURE, code, rest)
    return Fate(UNKNOWN, None, rest or text)


def of_claude(plain: dict[str, Any]) -> Iterator[tuple[str, Fate, bool]]:
    message = plain.get("message")
    blocks = message.get("content") if plain.get("type") == "user" and isinstance(message, dict) else None
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_result":
            said = FAILURE if block.get("is_error") is True else SUCCESS
            text = words(block.get("content"))
            yield str(block.get("tool_use_id")), Fate(said, None, text, stopped_before(plain), barred(plain)), True


def stopped_before(plain: dict[str, Any]) -> bool:
    """Whether a record of Claude Code's says that a call was stopped before it was made, as its program reads it."""
    if plain.get("toolDenialAfterRun") is True:
        return False
    decision = plain.get("permissionDecision")
    refused = isinstance(decision, dict) and decision.get("source") == "user_reject"
    return refused or plain.get("toolDenialBeforeRun") is True


def barred(plain: dict[str, Any]) -> bool:
    """Whether a record of Claude Code's says that a rule or a hook refused a call (seen in 2.1.332)."""
    decision = plain.get("permissionDecision")
    if plain.get("toolDenialAfterRun") is True or not isinstance(decision, dict):
        return False
    return decision.get("decision") == "reject" and decision.get("source") in ("hook", "config")


def notified(path: str | None, since: int, world: World) -> tuple[dict[str, Fate], int]:
    """The fate of each call of Claude Code's whose work went on in the background and has ended, by the notifications
    in the transcript at `path` after its first `since` bytes (0: in the last RECENT); and how far it was read. The
    answer to the call itself, which comes when that work begins, is no such word."""
    found: dict[str, Fate] = {}
    try:
        descriptor = os.open(path or "", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return found, since
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
                if b'"queue-operation"' in line and b"<task-notification>" in line:
                    found |= notice(line)
            world.remaining()
        return found, upto
    except (OSError, Unverified):
        return found, since
    finally:
        os.close(descriptor)


def notice(line: bytes) -> dict[str, Fate]:
    """The call and its fate of which one notification tells. The client's own words stand before the summary, which
    quotes the agent's description of the call, and after that description; below it may stand what a tool said."""
    try:
        plain = loads(line.decode("utf-8", "replace"))
    except Refused:
        return {}
    if not isinstance(plain, dict) or (plain.get("type"), plain.get("operation")) != ("queue-operation", "enqueue"):
        return {}
    text = plain.get("content")
    if not isinstance(text, str) or not text.startswith(NOTICE):
        return {}
    head = text.partition("<summary>")[0]
    call, status = (
        head.partition(f"<{name}>")[2].partition(f"</{name}>")[0] for name in ("tool-use-id", "status")
    )  # fmt: skip
    said = {"completed": SUCCESS, "failed": FAILURE}.get(status, UNKNOWN)
    # Of a command the summary is the last; below that of an agent its own words stand.
    rest = text.rstrip().removesuffix("</task-notification>").rstrip()
    summary = rest.removesuffix("</summary>").rstrip() if rest.endswith("</summary>") else ""
    code = whole(summary.rstrip(")").rpartition("exit code ")[2])
    return {call: Fate(FAILURE if code else said, code)} if call else {}


def number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def words(value: Any) -> str:
    if isinstance(value, list):
        value = "\n".join(str(each.get("text", "")) for each in value if isinstance(each, dict))
    return value[:LONGEST] if isinstance(value, str) else ""
