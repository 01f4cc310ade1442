"""GitHub Copilot CLI: how its hook payloads are read and how it is answered. Seen with the real client
(1.0.102)."""

from __future__ import annotations

from truecall_py.clients import apply_patch
from truecall_py.clients import payload as payloads
from truecall_py.core.errors import PayloadError
from truecall_py.core.fast_json import dumps
from truecall_py.core.types import ABSENT, UNKNOWN, Correction, File, Reply, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


NAME = "copilot-cli"
# The client's own names, and those of the form that it shares with others.
HANDLED = ("postToolUse", "postToolUseFailure", "PostToolUse", "PostToolUseFailure")
FAILED = ("postToolUseFailure", "PostToolUseFailure")
KNOWN = frozenset((
    "sessionStart", "sessionEnd", "userPromptSubmitted", "userPromptTransformed", "preToolUse", "preCompact",
    "agentStop", "subagentStart", "subagentStop", "errorOccurred", "permissionRequest", "notification",
    "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PreCompact", "Stop", "SubagentStart",
    "SubagentStop", "ErrorOccurred", "PermissionRequest", "Notification", "PostToolBatch",
))  # fmt: skip
# Captured: bash, create, view, and Write, Edit, Read as the other form calls them. The others are the names in the
# client's own program. Nothing in a payload tells an MCP tool (notes-save_note) from one that an extension brings:
# such a call has the kind `other`, and a contract names it by its tool.
KINDS = {
    "bash": "shell", "powershell": "shell", "create": "write", "edit": "edit", "view": "read", "grep": "read",
    "glob": "read", "web_fetch": "fetch", "web_search": "fetch", "task": "agent",
    "Bash": "shell", "Write": "write", "Edit": "edit", "Read": "read",
}  # fmt: skip
# What stands alone in the last line that the client writes below a command's output.
STARTS = ("<shellId: ", "<detached command with shellId: ")
ENDED = " completed with exit code "
RUNNING = ("<command started in detached background with shellId: ", "<command with shellId: ")
REMARKS = ("<sandbox is active ", "<this failure may be caused by", "<This command was retried outside")
PROJECT_ENV = "COPILOT_PROJECT_DIR"
# Exit code 2 is ignored after a success.
STATIC = dict.fromkeys(HANDLED, "top context")


def recognises(payload: dict[str, Any]) -> bool:
    """Whether a payload is one of Copilot CLI's: in its own form; or in that of Claude Code with a time, and without
    what all others in that form name."""
    if all(key in payload for key in ("toolName", "toolArgs", "sessionId")):
        return True
    others = ("turn_id", "transcript_path", "tool_use_id", "tool_call_id", "hookEventName", "cursor_version",
              "client_type", "agent_action_name", "toolCall", "matcher_context")  # fmt: skip
    event = payload.get("hook_event_name")
    same = isinstance(event, str) and event[:1].isupper() and not event.startswith(("After", "Before"))
    same = same and "timestamp" in payload
    return same and not any(key in payload for key in others)


def parse(payload: dict[str, Any]) -> ToolCall | None:
    """The call that a payload tells of; None for an event that is known and not judged.
    Raises PayloadError for a shape the client does not send."""
    event = payload.get("hook_event_name")
    if event in KNOWN:
        return None
    if event is None:  # the client's own form names no event: an error is a failure's
        event = "postToolUseFailure" if "error" in payload else "postToolUse"
    elif event not in HANDLED:
        raise PayloadError(f"the event {str(event)[:60]!r} is not one that Copilot CLI is known to send")
    given = payload.get("toolName", payload.get("tool_name"))
    args = arguments(given, payload.get("toolArgs", payload.get("tool_input", {})))
    tool, args = payloads.parse_request(event, given, args)
    failed = event in FAILED
    answer = payload.get("error") if failed else payload.get("toolResult", payload.get("tool_result"))
    if answer is None:
        raise PayloadError(f"the {event} payload of {tool[:60]} holds neither a result nor an error")
    about: dict[str, Any] = answer if isinstance(answer, dict) else {"resultType": "success"}
    text = about.get("textResultForLlm", about.get("text_result_for_llm")) if about is answer else answer
    text = text if isinstance(text, str) else None
    cwd = payloads.resolve_folder(payload.get("cwd"))
    changed = files(tool, args, cwd)
    kinds = apply_patch.classify_patch(changed) if tool == "apply_patch" else frozenset((kind(tool, args),))
    shell = "shell" in kinds
    code, background = ended(text or "") if shell else (None, False)
    failed = failed or about.get("resultType", about.get("result_type")) != "success"
    builtin = kinds != frozenset(("other",))
    return ToolCall(
        harness=NAME,
        event=event,
        tool=tool,
        kinds=kinds,
        args=payloads.add_neutral_names(args, content="file_text") if "write" in kinds else args,
        files=changed,
        result=ABSENT if failed else answer if builtin else result(text or ""),
        text=text,
        reported=UNKNOWN if background else payloads.find_claim(shell, failed, code),
        exit_code=code,
        cwd=cwd,
        # A shell that is used again stays where it was created, and no payload says where that is.
        start_cwd=None if shell and args.get("shellId") else cwd,
        session=str(payload.get("sessionId", payload.get("session_id", ""))),
        call_id=payloads.find_moment(payload.get("timestamp")),
        background=background,
        response=answer,
    )


def arguments(tool: object, given: object) -> object:
    """The arguments, which come as an object or as its JSON; a patch may come as it is."""
    if not isinstance(given, str):
        return given
    args = payloads.decode_json(given)
    return {"input": given} if args is ABSENT and tool == "apply_patch" else {} if given == "" else args


def kind(tool: str, args: dict[str, Any]) -> str:
    if tool == "str_replace_editor":
        return {"create": "write", "view": "read"}.get(str(args.get("command")), "edit")
    return KINDS.get(tool, "other")


def files(tool: str, args: dict[str, Any], cwd: str | None) -> tuple[File, ...]:
    if tool == "apply_patch":
        text = next((args[name] for name in ("input", "patch") if isinstance(args.get(name), str)), "")
        return apply_patch.list_files(text, cwd)
    what, path = kind(tool, args), args.get("path")
    if what not in ("write", "edit") or not isinstance(path, str) or not path:
        return ()
    content = args.get("file_text") if what == "write" else None
    action = "add" if what == "write" else "update"
    return (File(payloads.resolve_path(path, cwd), action, content if isinstance(content, str) else None),)


def result(text: str) -> Any:
    """The structured result. The client joins the blocks of an MCP answer with an empty line."""
    decoded_text = payloads.decode_json(text)
    if decoded_text is not ABSENT or "\n\n" not in text:
        return decoded_text
    return payloads.read_blocks([{"type": "text", "text": piece} for piece in text.split("\n\n")])[0]


def ended(text: str) -> tuple[int | None, bool]:
    """(exit code or None, whether the command still runs) by the line that the client writes below its output."""
    lines = text.rstrip().split("\n")
    while lines and lines[-1].startswith(REMARKS):
        lines.pop()
    last = lines[-1].rstrip() if lines else ""
    if last.startswith(STARTS) and last.endswith(">") and ENDED in last:
        return payloads.parse_number(last[:-1].rpartition(ENDED)[2]), False
    return None, last.startswith(RUNNING)


def render(event: str, call: ToolCall | None, correction: Correction | None, notices: tuple[str, ...]) -> Reply:
    """The answer in the client's dialect: nothing at all when all is well. It has no field for the person."""
    if correction is None:
        return Reply()
    if correction.replace and (call.event if call else event) not in FAILED:
        return Reply(dumps({"decision": "block", "reason": correction.text}))
    return Reply(dumps({"additionalContext": correction.text}))
