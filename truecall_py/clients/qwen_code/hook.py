"""Qwen Code: how its hook payloads are read and how it is answered. Seen with the real client (0.24.4)."""

from __future__ import annotations

from truecall_py.clients import llm_parts
from truecall_py.clients import payload as payloads
from truecall_py.core.errors import PayloadError
from truecall_py.core.fast_json import dumps
from truecall_py.core.types import ABSENT, UNKNOWN, Correction, Reply, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


NAME = "qwen-code"
HANDLED = ("PostToolUse", "PostToolUseFailure")
FAILED = HANDLED[1:]  # those that tell of a failure
# PostToolBatch tells of calls that had an event of their own.
KNOWN = frozenset((
    "PostToolBatch", "PreToolUse", "Notification", "UserPromptSubmit", "UserPromptExpansion", "SessionStart", "Stop",
    "MessageDisplay", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "SessionEnd", "SessionDelete",
    "PermissionRequest", "PermissionDenied", "StopFailure", "TodoCreated", "TodoCompleted", "InstructionsLoaded",
))  # fmt: skip
# Captured: write_file, run_shell_command and read_file. The others are the names in the client's own program.
KINDS = {
    "write_file": "write", "edit": "edit", "notebook_edit": "edit", "run_shell_command": "shell",
    "read_file": "read", "glob": "read", "grep_search": "read", "list_directory": "read",
    "read_mcp_resource": "read", "web_fetch": "fetch", "web_search": "fetch", "agent": "agent",
}  # fmt: skip
BACKGROUND = ("Background shell started", "Foreground command ")
PROJECT_ENV = "QWEN_PROJECT_DIR"
# Exit code 2 and a block are ignored; where exit code 2 is not, it would replace a result.
STATIC = {"PostToolUse": "context", "PostToolUseFailure": "context", "PostToolBatch": "exit 2"}


def recognises(payload: dict[str, Any]) -> bool:
    """Whether a payload is one of Qwen Code's: in the shape of Claude Code's, with a time and one of its own keys.
    The events of its ancestor, Gemini CLI, are none of its own."""
    event, response = payload.get("hook_event_name"), payload.get("tool_response")
    if not isinstance(event, str) or event.startswith(("After", "Before")) or "turn_id" in payload:
        return False
    own = "tool_call_id" in payload or event == "PostToolBatch"
    return "timestamp" in payload and (own or (isinstance(response, dict) and "llmContent" in response))


def parse(payload: dict[str, Any]) -> ToolCall | None:
    """The call that a payload tells of; None for an event that is known and not judged.
    Raises PayloadError for a shape the client does not send."""
    event = payload.get("hook_event_name")
    if event in KNOWN:
        return None
    if event not in HANDLED:
        raise PayloadError(f"the event {str(event)[:60]!r} is not one that Qwen Code is known to send")
    tool, args = payloads.parse_request(event, payload.get("tool_name"), payload.get("tool_input", {}))
    mcp = tool.startswith("mcp__")
    what = "mcp" if mcp else KINDS.get(tool, "other")
    shell = what == "shell"
    failed = event == "PostToolUseFailure"
    answer = payload.get("error" if failed else "tool_response", ABSENT)
    result, text = llm_parts.read(answer)
    interrupted = payload.get("is_interrupt") is True
    background = shell and not failed and (text or "").startswith(BACKGROUND)
    code = exit_code(text or "") if shell and not background else None
    cwd = payloads.resolve_folder(payload.get("cwd"))
    start = args.get("directory")
    duration = payload.get("duration_ms")
    plain = isinstance(answer, dict) and tool in KINDS
    return ToolCall(
        harness=NAME,
        event=event,
        tool=tool,
        kinds=frozenset((what,)),
        args=payloads.add_neutral_names(args, path="notebook_path" if "notebook_path" in args else "file_path"),
        files=llm_parts.list_files(what, args, answer, cwd),
        result=ABSENT if failed else answer if plain else result,
        text=text,
        reported=UNKNOWN if background or interrupted else payloads.find_claim(shell, failed, code),
        exit_code=code,
        cwd=cwd,
        start_cwd=payloads.resolve_path(start, cwd) if shell and isinstance(start, str) and start else cwd,
        session=str(payload.get("session_id", "")),
        call_id=str(payload.get("tool_call_id") or payload.get("tool_use_id") or ""),
        agent=str(payload.get("agent_id", "")),
        duration=duration / 1000 if isinstance(duration, (int, float)) and duration >= 0 else None,
        background=background,
        response=answer,
    )


def exit_code(text: str) -> int | None:
    """The exit code by the last three lines that the client writes below a command's output; what it adds below
    them holds none of the kind."""
    lines = text.rpartition("\nProcess Group PGID: ")[0].rsplit("\n", 2)
    if len(lines) < 3 or not lines[2].startswith("Signal: ") or not lines[1].startswith("Exit Code: "):
        return None
    return payloads.parse_number(lines[1].removeprefix("Exit Code: "))


def render(event: str, call: ToolCall | None, correction: Correction | None, notices: tuple[str, ...]) -> Reply:
    """The answer in the client's dialect: nothing at all when all is well. The person is shown nothing of a hook."""
    if correction is None:
        return Reply()
    if correction.replace and event == "PostToolUse":
        # Takes the place of the result; the agent goes on.
        return Reply(dumps({"continue": False, "stopReason": correction.text}))
    return Reply(dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": correction.text}}))
