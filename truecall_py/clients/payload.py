"""What a call carries, whatever its shape: arguments under neutral names; structured result, text and failure
flag of the answer. Decodes JSON once, never twice, and takes nothing for structure that is not strict JSON."""

from __future__ import annotations

import os
import time

from truecall_py.core.errors import PayloadError
from truecall_py.core.fast_json import JsonError, dumps, loads
from truecall_py.core.types import ABSENT, FAILURE, STOP_EVENTS, SUCCESS, UNKNOWN, Reply, Stop, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

CONTENT_KINDS = frozenset(("write", "edit"))
DECODED = 8 * 1024 * 1024  # characters of text that are decoded as JSON


def parse_request(event: object, tool: object, args: object) -> tuple[str, dict[str, Any]]:
    """The tool's name and its arguments. Raises PayloadError where they are not what a call has."""
    if not isinstance(tool, str) or not tool:
        raise PayloadError(f"the {str(event)[:60]} payload names no tool")
    if not isinstance(args, dict):
        raise PayloadError(f"the arguments of {tool[:60]} are not an object")
    return tool, args


def make_unanswered(call: ToolCall, event: str) -> ToolCall:
    """A call as it is before it is made, when nobody has said anything of it."""
    unsaid = {"event": event, "reported": UNKNOWN, "exit_code": None, "transcript": None, "duration": None,
              "result": ABSENT, "text": None, "is_error": None, "response": ABSENT}  # fmt: skip
    return ToolCall(**{**call.__dict__, **unsaid})


def announce(parse: Callable[[Any], ToolCall | None], payload: dict[str, Any], event: str) -> ToolCall | None:
    """The call that a payload of this event announces, read by the client's `parse`; None for another event."""
    if payload.get("hook_event_name") != event:
        return None
    call = parse({**payload, "hook_event_name": "PostToolUse"})
    return None if call is None else make_unanswered(call, event)


def parse_stop(harness: str, payload: dict[str, Any], turn: str) -> Stop | None:
    """What a client tells of an agent that wants to stop; None for any other event. `turn` is the key
    that names the turn."""
    event = payload.get("hook_event_name")
    if event not in STOP_EVENTS:
        return None
    agent = str(payload.get("agent_id") or "") if event == "SubagentStop" else ""
    number = str(payload.get(turn) or "")
    message, tasks = payload.get("last_assistant_message"), payload.get("background_tasks")
    transcript = payload.get("agent_transcript_path" if agent else "transcript_path")
    running = None
    if isinstance(tasks, list):
        running = tuple(str(task.get("id", "")) for task in tasks if isinstance(task, dict))
    return Stop(
        harness, str(event), str(payload.get("session_id") or ""), f"{number}/{agent}" if agent else number, agent,
        message if isinstance(message, str) else None,
        payload.get("stop_hook_active", False) is not False,  # whoever sends something else is not held for ever
        transcript if isinstance(transcript, str) else None, resolve_folder(payload.get("cwd")), running,
    )  # fmt: skip


def hold(event: str, text: str, notices: tuple[str, ...]) -> Reply:
    """The answer at a stop: `text` keeps the agent going ("": it stops), notices are the person's. No other key: a
    client may drop the whole answer for one."""
    answer: dict[str, Any] = {"decision": "block", "reason": text} if text else {}
    if notices:
        answer["systemMessage"] = "\n".join(notices)
    return Reply(dumps(answer) if answer else "")


def refuse(event: str, reason: str, notices: tuple[str, ...], decision: str = "deny") -> Reply:
    """The answer that keeps a call from being made, in the shape of Claude Code's."""
    inside = {"hookEventName": event, "permissionDecision": decision, "permissionDecisionReason": reason}
    answer: dict[str, Any] = {"systemMessage": "\n".join(notices)} if notices else {}
    return Reply(dumps({**answer, "hookSpecificOutput": inside}))


def quote_word(text: str) -> str:
    """`text` as one word of a POSIX shell, whatever its letters."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def resolve_path(path: str, folder: str | None) -> str:
    """The path as a client's own tools take it: ~ is the home folder, relative is against the session's."""
    if path == "~" or path.startswith("~/"):
        return os.path.expanduser(path)
    return os.path.join(folder, path) if folder else path


def resolve_folder(given: object) -> str | None:
    """A folder that a client names; one that is not absolute is none."""
    return given if isinstance(given, str) and given.startswith("/") else None


def add_neutral_names(args: dict[str, Any], **names: str) -> dict[str, Any]:
    """The arguments as sent, with each neutral name beside the client's own for it."""
    added = {name: args[own] for name, own in names.items() if name not in args and isinstance(args.get(own), str)}
    return {**args, **added} if added else args


def find_moment(given: object) -> str:
    """When an event happened, as a client that names no call says it, in the place of the call's id: milliseconds
    since the epoch, or the same as a time of ISO 8601 in UTC; "" for anything else. All hooks of one event are told
    the same, and the next call's event comes later."""
    if isinstance(given, int) and not isinstance(given, bool) and 0 < given < 1 << 47:
        whole_seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(given // 1000))
        return f"{whole_seconds}.{given % 1000:03}Z"
    return given if isinstance(given, str) and 20 <= len(given) <= 40 and given.endswith("Z") else ""


def parse_number(digits: str) -> int | None:
    """The number that a client wrote, None where it is none."""
    plain = digits.strip()
    bare = plain.removeprefix("-")
    return int(plain) if bare.isascii() and bare.isdigit() and len(bare) < 12 else None


def find_claim(shell: bool, failed: bool, code: int | None) -> str:
    """What the harness says of a call that has ended. The event of a success comes after failing commands too,
    so a command has succeeded only where its exit code is known."""
    if failed or code:
        return FAILURE
    return UNKNOWN if shell and code is None else SUCCESS


def decode_json(text: str) -> Any:
    """The object or list that the text is, ABSENT where it is none."""
    head = text[:64].lstrip()
    if not head.startswith(("{", "[")) or len(text) > DECODED:
        return ABSENT
    try:
        return loads(text)
    except JsonError:
        return ABSENT


def is_block(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("type"), str)


def read_blocks(items: list[Any]) -> tuple[Any, str]:
    """(result, text) of content blocks: the result is the one text block that is JSON. Where several are,
    none is *the* result."""
    texts = [item["text"] for item in items if is_block(item) and isinstance(item.get("text"), str)]
    values = [value for value in map(decode_json, texts) if value is not ABSENT]
    return (values[0] if len(values) == 1 else ABSENT), "\n".join(texts)


def flag(answer: dict[str, Any]) -> bool | None:
    """MCP's failure flag in either spelling, None where there is none."""
    for name in ("isError", "is_error"):
        if isinstance(answer.get(name), bool):
            return bool(answer[name])
    return None


def read(answer: Any) -> tuple[Any, str | None, bool | None]:
    """(structured result or ABSENT, text or None, failure flag or None) of a tool's answer. The text of an
    object that is no MCP result is left to `text_of`, which makes it only when it is asked for."""
    if answer is ABSENT or answer is None:
        return ABSENT, None, None
    if isinstance(answer, str):
        return decode_json(answer), answer, None
    if isinstance(answer, list):
        if answer and not all(map(is_block, answer)):
            return answer, None, None
        result, text = read_blocks(answer)
        return result, text, None
    if isinstance(answer, dict):
        content = answer.get("content")
        if isinstance(content, list) and all(map(is_block, content)):
            result, text = read_blocks(content)
            if isinstance(answer.get("structuredContent"), (dict, list)) and answer["structuredContent"]:
                result = answer["structuredContent"]
            elif "isError" not in answer and len(answer) > 2:
                result = answer  # a built-in's own object that happens to hold content blocks
            return result, text, flag(answer)
        return answer, None, flag(answer)
    return ABSENT, str(answer).lower() if isinstance(answer, bool) else str(answer), None


def find_text(call: ToolCall) -> str | None:
    """All the text of a call's answer, whatever its shape; None where the call has no answer."""
    answer = call.response
    if call.text is not None or answer is None or answer is ABSENT:
        return call.text
    if call.kinds & CONTENT_KINDS:  # such an answer repeats the file's own content, which no tool said
        return None
    if isinstance(answer, dict) and isinstance(answer.get("stdout"), str):
        return "\n".join(part for part in (answer["stdout"], str(answer.get("stderr") or "")) if part)
    return iterate_texts(answer)


def iterate_texts(value: Any) -> str:
    """All the text in a value, in order, a line each."""
    found: list[str] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            pending.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            pending.extend(reversed(item))
    return "\n".join(found)
