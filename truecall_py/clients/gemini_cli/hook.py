"""Gemini CLI: how its hook payloads are read and how it is answered. Seen with the real client (0.61.0)."""

from __future__ import annotations

from truecall_py.clients import llm_parts
from truecall_py.clients import payload as payloads
from truecall_py.core.errors import PayloadError
from truecall_py.core.fast_json import dumps
from truecall_py.core.types import ABSENT, UNKNOWN, Correction, Reply, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


NAME = "gemini-cli"
HANDLED = ("AfterTool",)
KNOWN = frozenset((
    "BeforeTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "SessionStart",
    "SessionEnd", "PreCompress", "Notification",
))  # fmt: skip
# Names of events that nobody else has, whether or not truecall is registered for them.
OWN_EVENTS = frozenset((
    "AfterTool", "BeforeTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection",
    "PreCompress",
))  # fmt: skip
# Captured: write_file, run_shell_command and read_file. The others are the names in the client's own program.
KINDS = {
    "write_file": "write", "replace": "edit", "run_shell_command": "shell", "read_file": "read",
    "read_many_files": "read", "glob": "read", "grep_search": "read", "list_directory": "read",
    "list_mcp_resources": "read", "read_mcp_resource": "read", "web_fetch": "fetch", "google_web_search": "fetch",
    "invoke_agent": "agent",
}  # fmt: skip
# What the client writes below a command's output, in this order; the number of the process is always there.
CLOSING = ("Process Group PGID: ", "Background PIDs: ", "Signal: ", "Exit Code: ")
MOVED = "Command moved to background"
PROJECT_ENV = "GEMINI_PROJECT_DIR"
ENDS_LOOP = True  # it can be told to end the loop of the agent (on_exhausted: stop)
# A block or exit code 2 would hide the tool's output.
STATIC = {"AfterTool": "context"}


def recognises(payload: dict[str, Any]) -> bool:
    """Whether a payload is one of Gemini CLI's."""
    event = payload.get("hook_event_name")
    return isinstance(event, str) and event in OWN_EVENTS


def parse(payload: dict[str, Any]) -> ToolCall | None:
    """The call that a payload tells of; None for an event that is known and not judged.
    Raises PayloadError for a shape the client does not send."""
    event = payload.get("hook_event_name")
    if event in KNOWN:
        return None
    if event not in HANDLED:
        raise PayloadError(f"the event {str(event)[:60]!r} is not one that Gemini CLI is known to send")
    tool, args = payloads.parse_request(event, payload.get("tool_name"), payload.get("tool_input", {}))
    # The client says itself which server an MCP tool is of; its prefix alone is as sure.
    mcp = isinstance(payload.get("mcp_context"), dict) or tool.startswith("mcp_")
    what = "mcp" if mcp else KINDS.get(tool, "other")
    shell = what == "shell"
    answer = payload.get("tool_response", ABSENT)
    about: dict[str, Any] = answer if isinstance(answer, dict) else {}
    result, text = llm_parts.read(answer)
    failed = about.get("error") is not None
    background = shell and (text or "").startswith(MOVED)
    code, broken = ended(text or "", about.get("returnDisplay")) if shell and not background else (None, False)
    cwd = payloads.resolve_folder(payload.get("cwd"))
    start = args.get("dir_path")
    return ToolCall(
        harness=NAME,
        event=event,
        tool=tool,
        kinds=frozenset((what,)),
        args=payloads.add_neutral_names(args, path="file_path"),
        files=llm_parts.list_files(what, args, answer, cwd),
        result=answer if tool in KINDS and about and not mcp else result,
        text=text,
        reported=UNKNOWN if background else payloads.find_claim(shell, failed or broken, code),
        exit_code=code,
        cwd=cwd,
        start_cwd=payloads.resolve_path(start, cwd) if shell and isinstance(start, str) and start else cwd,
        session=str(payload.get("session_id", "")),
        call_id=payloads.find_moment(payload.get("timestamp")),
        background=background,
        response=answer,
    )


def ended(text: str, display: Any) -> tuple[int | None, bool]:
    """(exit code or None, whether the command failed without one) by the lines below a command's output. What
    the client displays is the output alone, and tells where it ends; a command may print such lines itself."""
    outputs = (display, "(empty)") if isinstance(display, str) and display else ("(empty)",)
    head = next((f"Output: {output}\n" for output in outputs if text.startswith(f"Output: {output}\n")), "")
    lines = text[len(head) :].split("\n")
    found = {}
    for name in CLOSING:
        if lines and lines[-1].startswith(name):
            found[name] = lines.pop()[len(name) :]
    if CLOSING[0] not in found or not text.startswith("Output: "):
        return None, False
    if "Signal: " in found:
        return None, True
    return (payloads.parse_number(found["Exit Code: "]) if "Exit Code: " in found else 0), False


def render(event: str, call: ToolCall | None, correction: Correction | None, notices: tuple[str, ...]) -> Reply:
    """The answer in the client's dialect: nothing at all when all is well."""
    answer: dict[str, Any] = {"systemMessage": "\n".join(notices)} if notices else {}
    if correction is not None and correction.ends:
        answer["continue"] = False
        answer["stopReason"] = correction.text
    elif correction is not None and correction.replace:
        answer["decision"] = "block"
        answer["reason"] = correction.text  # a context beside it would be lost
    elif correction is not None:
        answer["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": correction.text}
    return Reply(dumps(answer) if answer else "")
