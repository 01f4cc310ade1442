"""Codex CLI: how its hook payloads are read and how it is answered. Seen with the real client (0.171.0).

One unknown key, an empty reason or a lone surrogate, and Codex drops the whole answer in silence: `render`
writes the exact keys and nothing else.
"""

from __future__ import annotations

from truecall_py.clients import apply_patch
from truecall_py.clients import payload as payloads
from truecall_py.clients.payload import read, resolve_folder
from truecall_py.core.errors import PayloadError
from truecall_py.core.fast_json import dumps
from truecall_py.core.types import ABSENT, SUCCESS, UNKNOWN, Correction, File, Reply, Stop, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


NAME = "codex"
PROJECT_ENV = ""  # its hooks run in the session's own folder
HANDLED = ("PostToolUse",)
BEFORE = "PreToolUse"
REBUILT = True  # what the ledger keeps of a call is all of its payload but the answer
KNOWN = frozenset((
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "Stop", "SubagentStart", "SubagentStop",
    "PreCompact", "PostCompact", "SessionEnd", "Interrupt",
))  # fmt: skip
KINDS = {"Bash": "shell", "view_image": "read", "list_mcp_resources": "read", "read_mcp_resource": "read"}
STATIC = {"PostToolUse": "context", "PreToolUse": "guard", "Stop": "stop", "SubagentStop": "stop"}


def find_kinds(tool: str, changed: tuple[File, ...]) -> frozenset[str]:
    if tool == "apply_patch":
        return apply_patch.classify_patch(changed)
    if tool.startswith("mcp__"):
        return frozenset(("mcp",))
    if tool.startswith("collaboration") or tool in ("spawn_agent", "wait_agent", "send_input"):
        return frozenset(("agent",))
    return frozenset((KINDS.get(tool, "other"),))


def recognises(payload: dict[str, Any]) -> bool:
    """Whether a payload is one of Codex': nobody else names the turn so."""
    return "turn_id" in payload and isinstance(payload.get("hook_event_name"), str)


def parse(payload: dict[str, Any]) -> ToolCall | None:
    """The call that a payload tells of; None for an event that is known and not judged.
    Raises PayloadError for a shape the client does not send."""
    event = payload.get("hook_event_name")
    if event in KNOWN:
        return None
    if event not in HANDLED:
        raise PayloadError(f"the event {str(event)[:60]!r} is not one that Codex is known to send")
    tool, args = payload.get("tool_name"), payload.get("tool_input", {})
    if not isinstance(tool, str) or not tool:
        raise PayloadError(f"the {event} payload names no tool_name")
    if not isinstance(args, dict):
        raise PayloadError(f"tool_input of {tool[:60]} is not an object")
    cwd = resolve_folder(payload.get("cwd"))
    answer = payload.get("tool_response", payload.get("tool_output", ABSENT))
    result, text, is_error = read(answer)
    changed: tuple[File, ...] = ()
    if tool == "apply_patch" and isinstance(args.get("command"), str):
        changed = apply_patch.list_files(args["command"], cwd)
    what = find_kinds(tool, changed)
    transcript = payload.get("transcript_path")
    shell = "shell" in what
    return ToolCall(
        harness=NAME,
        event=event,
        tool=tool,
        kinds=what,
        args=(plain_args := add_path(args, changed)),
        added=tuple(name for name in plain_args if name not in args),
        files=changed,
        result=result,
        is_error=is_error,
        text=text,
        # PostToolUse comes after failing commands too; for all else only after success.
        reported=UNKNOWN if shell else SUCCESS,
        transcript=transcript if shell and isinstance(transcript, str) else None,
        cwd=cwd,
        start_cwd=cwd,
        session=str(payload.get("session_id", "")),
        call_id=str(payload.get("tool_use_id", "")),
        agent=str(payload.get("agent_id", "")),
        turn=str(payload.get("turn_id", "")),
        response=answer,
    )


def parse_before(payload: dict[str, Any]) -> ToolCall | None:
    """The call that is about to be made; None for any other event."""
    return payloads.announce(parse, payload, BEFORE)


hold, refuse = payloads.hold, payloads.refuse
# Not every call that was announced is told of again: how it ended is in the transcript.
ENDS_UNTOLD = True


def parse_stop(payload: dict[str, Any]) -> Stop | None:
    """The stop that a payload announces; None for any other event."""
    return payloads.parse_stop(NAME, payload, "turn_id")


def unwrap_call(call: ToolCall) -> ToolCall:
    """The call that the client makes of a command: `apply_patch` with a here-document is a patch to it, applied
    where the command starts; any other command is itself."""
    command = call.args.get("command")
    if "shell" not in call.kinds or not isinstance(command, str) or "apply_patch" not in command:
        return call
    begin, end = command.find("*** Begin Patch"), command.rfind("*** End Patch")
    if begin < 0 or end < begin:
        return call
    head = command[:begin].rstrip()
    folder = call.cwd
    if head.lstrip().startswith("cd "):
        where = head.lstrip()[3:].partition("&&")[0].strip().strip("'\"")
        folder = where if where.startswith("/") else f"{folder}/{where}" if folder else None
        head = head.partition("&&")[2]
    if not head.lstrip().startswith(("apply_patch <<", "applypatch <<")):
        return call
    text = f"{command[begin:end]}*** End Patch"
    changed = apply_patch.list_files(text, folder)
    kinds = find_kinds("apply_patch", changed)
    fields = {"tool": "apply_patch", "kinds": kinds, "files": changed, "start_cwd": folder}
    return ToolCall(**{**call.__dict__, **fields, "args": add_path({"command": text}, changed)})


def parse_waiting(payload: dict[str, Any]) -> ToolCall | None:
    """The call that a person is asked about; None for any other event. It has no id of its own."""
    has_tool = isinstance(payload.get("tool_name"), str)
    return payloads.announce(parse, payload, "PermissionRequest") if has_tool else None


def add_path(args: dict[str, Any], changed: tuple[File, ...]) -> dict[str, Any]:
    """The arguments as sent; a patch of one file gets `path`, and `content` where it adds that file."""
    if len(changed) != 1:
        return args
    with_path = {**args, "path": changed[0].path}
    return with_path if changed[0].content is None else {**with_path, "content": changed[0].content}


def render(event: str, call: ToolCall | None, correction: Correction | None, notices: tuple[str, ...]) -> Reply:
    """The answer in the client's dialect: nothing at all when all is well."""
    answer: dict[str, Any] = {"systemMessage": "\n".join(notices)} if notices else {}
    if correction is not None:
        if correction.replace:
            answer["decision"] = "block"
            answer["reason"] = correction.text
        # In code mode a script may swallow the reason; the context always arrives.
        answer["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": correction.text}
    return Reply(dumps(answer) if answer else "")
