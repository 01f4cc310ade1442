"""How a call ended, by a record of a Claude Code transcript. Seen with 2.1.197 and 2.1.332: tool_result blocks, and
the notifications of work that went on in the background."""

from __future__ import annotations

from truecall_py.clients.call_outcomes import Fate, cut_words
from truecall_py.clients.payload import parse_number
from truecall_py.core.fast_json import JsonError, loads
from truecall_py.core.types import FAILURE, SUCCESS, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

SUCCESS_IS_END = False  # the work may go on in the background
NOTICE = "<task-notification>\n"
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


def read_record(plain: dict[str, Any]) -> Iterator[tuple[str, Fate, bool]]:
    """(call, fate, True: it is the last word on it) of each call that a line of a transcript is about."""
    message = plain.get("message")
    blocks = message.get("content") if plain.get("type") == "user" and isinstance(message, dict) else None
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_result":
            said = FAILURE if block.get("is_error") is True else SUCCESS
            text = cut_words(block.get("content"))
            never = said == FAILURE and was_never_made(plain, text)
            yield str(block.get("tool_use_id")), Fate(said, None, text, never), True


def was_never_made(plain: dict[str, Any], text: str) -> bool:
    """Whether a record of a failure, with these words, says that the call was never made."""
    stopped = was_stopped_before(plain) and text.startswith(STOPPED)
    hook = text.startswith(BARRED[0]) and BARRED[1] in text.partition("\n")[0]
    return stopped or was_barred(plain) or hook or text.startswith(DENIED)


def was_stopped_before(plain: dict[str, Any]) -> bool:
    """Whether a record of Claude Code's says that a call was stopped before it was made, as its program reads it."""
    if plain.get("toolDenialAfterRun") is True:
        return False
    decision = plain.get("permissionDecision")
    refused = isinstance(decision, dict) and decision.get("source") == "user_reject"
    return refused or plain.get("toolDenialBeforeRun") is True


def was_barred(plain: dict[str, Any]) -> bool:
    """Whether a record of Claude Code's says that a rule or a hook refused a call (seen in 2.1.332)."""
    decision = plain.get("permissionDecision")
    if plain.get("toolDenialAfterRun") is True or not isinstance(decision, dict):
        return False
    return decision.get("decision") == "reject" and decision.get("source") in ("hook", "config")


def read_notice(line: bytes) -> dict[str, Fate]:
    """The call that one notification names, and its fate. The client's own words stand before the summary, which
    quotes the agent's description of the call, and after that description; below it may stand what a tool said."""
    if b'"queue-operation"' not in line or b"<task-notification>" not in line:
        return {}
    try:
        plain = loads(line.decode("utf-8", "replace"))
    except JsonError:
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
    code = parse_number(summary.rstrip(")").rpartition("exit code ")[2])
    return {call: Fate(FAILURE if code else said, code)} if call else {}
