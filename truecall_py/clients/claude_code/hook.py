"""Claude Code: how its hook payloads are read and how it is answered. Every rule here was seen with the
real client (2.1.197 and 2.1.332); none comes from documentation."""

from __future__ import annotations

from truecall_py.clients import payload as payloads
from truecall_py.clients.payload import read, resolve_folder, resolve_path
from truecall_py.core.errors import PayloadError
from truecall_py.core.fast_json import dumps
from truecall_py.core.types import ABSENT, FAILURE, SUCCESS, UNKNOWN, Correction, File, Reply, Stop, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


NAME = "claude-code"
HANDLED = ("PostToolUse", "PostToolUseFailure")
FAILED = HANDLED[1:]  # those that tell of a failure
BEFORE = "PreToolUse"
REBUILT = True  # what the ledger keeps of a call is all of its payload but the answer
# Events the client has and this step does not judge: silent. Any other name is loud.
KNOWN = frozenset((
    "PreToolUse", "PostToolBatch", "Notification", "UserPromptSubmit", "UserPromptExpansion", "SessionStart",
    "SessionEnd", "Stop", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact",
    "PermissionRequest", "PermissionDenied", "Setup", "TeammateIdle", "TaskCreated", "TaskCompleted",
    "Elicitation", "ElicitationResult", "ConfigChange", "InstructionsLoaded", "CwdChanged", "FileChanged",
    "MessageDisplay",
))  # fmt: skip
KINDS = {
    "Write": "write", "Edit": "edit", "MultiEdit": "edit", "NotebookEdit": "edit", "Read": "read", "Glob": "read",
    "Grep": "read", "LS": "read", "NotebookRead": "read", "Bash": "shell", "PowerShell": "shell",
    "WebFetch": "fetch", "WebSearch": "fetch", "Agent": "agent", "Task": "agent",
}  # fmt: skip
# Keys of payloads in this shape that other clients send. Some of them run the hooks of its settings files.
FOREIGN = frozenset((
    "timestamp", "turn_id", "cursor_version", "hookEventName", "client_type", "clineVersion", "agent_action_name",
    "toolName", "toolCall", "matcher_context",
))  # fmt: skip
PATHS = ("file_path", "notebook_path")
PROJECT_ENV = "CLAUDE_PROJECT_DIR"
ENDS_LOOP = True  # it can be told to end the loop of the agent (on_exhausted: stop)
# The events at which the launcher answers for a Python that died, and the keys of that answer.
STATIC = {
    "PostToolUse": "block",
    "PostToolUseFailure": "block",
    "PostToolBatch": "context",
    "PreToolUse": "guard",
    "Stop": "stop",
    "SubagentStop": "stop",
}


def find_kind(tool: str) -> str:
    return "mcp" if tool.startswith("mcp__") else KINDS.get(tool, "other")


def recognises(payload: dict[str, Any]) -> bool:
    """Whether a payload is one of Claude Code's, and surely of nobody else's."""
    event = payload.get("hook_event_name")
    return isinstance(event, str) and (event in KNOWN or event in HANDLED) and FOREIGN.isdisjoint(payload)


def parse(payload: dict[str, Any]) -> ToolCall | None:
    """The call that a payload tells of; None for an event that is known and not judged.
    Raises PayloadError for a shape the client does not send."""
    event = payload.get("hook_event_name")
    if event in KNOWN:
        return None
    if event not in HANDLED:
        raise PayloadError(f"the event {str(event)[:60]!r} is not one that Claude Code is known to send")
    tool, args = payload.get("tool_name"), payload.get("tool_input", {})
    if not isinstance(tool, str) or not tool:
        raise PayloadError(f"the {event} payload names no tool_name")
    if not isinstance(args, dict):
        raise PayloadError(f"tool_input of {tool[:60]} is not an object")
    cwd = resolve_folder(payload.get("cwd"))
    failed = event == "PostToolUseFailure"
    answer = payload.get("tool_response", payload.get("tool_output", ABSENT))
    if failed and answer is ABSENT:
        answer = payload.get("error", ABSENT)
    result, text, is_error = read(answer)
    about: dict[str, Any] = answer if isinstance(answer, dict) else {}
    background = bool(about.get("backgroundTaskId") or about.get("isAsync")) and not failed
    unfinished = background or about.get("interrupted") is True or bool(payload.get("is_interrupt"))
    unfinished = unfinished or bool(about.get("timedOutAfterMs") and not failed)
    duration = payload.get("duration_ms")
    what = find_kind(tool)
    return ToolCall(
        harness=NAME,
        event=event,
        tool=tool,
        kinds=frozenset((what,)),
        args=(plain_args := add_path(args)),
        added=tuple(name for name in plain_args if name not in args),
        files=list_files(tool, what, args, about, cwd),
        result=ABSENT if failed else result,
        is_error=is_error,
        text=text,
        reported=UNKNOWN if unfinished else FAILURE if failed else SUCCESS,
        exit_code=find_exit_code(what, failed, about, text) if not background else None,
        cwd=cwd,
        start_cwd=find_start_folder(what, args, cwd),
        session=str(payload.get("session_id", "")),
        call_id=str(payload.get("tool_use_id", "")),
        agent=str(payload.get("agent_id", "")),
        turn=str(payload.get("prompt_id", "")),
        duration=duration / 1000 if isinstance(duration, (int, float)) and duration >= 0 else None,
        background=background,
        response=answer,
    )


def parse_before(payload: dict[str, Any]) -> ToolCall | None:
    """The call that is about to be made; None for any other event. Its cwd is the folder in which it starts."""
    return payloads.announce(parse, payload, BEFORE)


REFUSED = "<tool_use_error>"
# The launcher starts nothing for an event that does not hold this text: the event comes after every batch.
ONLY = {"PostToolBatch": REFUSED}


def parse_refused(payload: dict[str, Any]) -> tuple[ToolCall, ...]:
    """The calls of a batch that the client refused before they ran (an edit whose text is not there, a file
    that is missing): no other event tells of them. Each is an attempt that failed and said so."""
    rows = payload.get("tool_calls") if payload.get("hook_event_name") == "PostToolBatch" else None
    marks = ("session_id", "cwd", "agent_id", "prompt_id")
    shared: dict[str, Any] = {key: payload[key] for key in marks if key in payload}
    calls: list[ToolCall] = []
    for item in rows if isinstance(rows, list) else ():
        said = item.get("tool_response") if isinstance(item, dict) else None
        if not isinstance(said, str) or not said.startswith(REFUSED):
            continue
        call = parse({**shared, "hook_event_name": "PostToolUseFailure", "tool_name": item.get("tool_name"),
                      "tool_input": item.get("tool_input"), "tool_use_id": item.get("tool_use_id"),
                      "error": said.removeprefix(REFUSED).removesuffix("</tool_use_error>")})  # fmt: skip
        if call is not None:
            calls.append(call)
    return tuple(calls)


hold, refuse = payloads.hold, payloads.refuse


def parse_stop(payload: dict[str, Any]) -> Stop | None:
    """The stop that a payload announces; None for any other event."""
    return payloads.parse_stop(NAME, payload, "prompt_id")


# Tools whose answers say that a background task has ended.
WATCHES = ("TaskOutput", "TaskStop")


def list_ended_tasks(call: ToolCall) -> dict[str, int | None]:
    """The background tasks that have ended by this call's answer, each with its exit code (None: not said)."""
    answer = call.response
    if call.tool not in WATCHES or not isinstance(answer, dict):
        return {}
    if call.tool == "TaskStop":
        return {str(answer["task_id"]): None} if answer.get("task_id") else {}
    task = answer.get("task")
    if not isinstance(task, dict) or task.get("status") not in ("completed", "failed", "killed"):
        return {}
    code = task.get("exitCode")
    return {str(task.get("task_id", "")): code if isinstance(code, int) and not isinstance(code, bool) else None}


def add_path(args: dict[str, Any]) -> dict[str, Any]:
    """The arguments as sent, with `path` beside the client's own name for it."""
    if "path" in args:
        return args
    return next(({**args, "path": args[name]} for name in PATHS if isinstance(args.get(name), str)), args)


def list_files(
    tool: str, what: str, args: dict[str, Any], about: dict[str, Any], cwd: str | None
) -> tuple[File, ...]:
    path = next((args[name] for name in PATHS if isinstance(args.get(name), str)), None)
    if what not in ("write", "edit") or not path:
        return ()
    before = about.get("originalFile", about.get("original_file"))
    content = args.get("content") if tool == "Write" else None
    action = "add" if about.get("type") == "create" else "update"
    return (
        File(
            resolve_path(path, cwd),
            action,
            content if isinstance(content, str) else None,
            before if isinstance(before, str) else None,
        ),
    )


def find_start_folder(what: str, args: dict[str, Any], cwd: str | None) -> str | None:
    """The folder in which the command started. The payload's cwd is the one after it, and follows `cd`."""
    command = args.get("command")
    if what != "shell" or not isinstance(command, str) or cwd is None:
        return cwd
    if not any(word in command for word in ("cd", "pushd", "popd", "eval", "source", ". ")):
        return cwd
    from truecall_py.shell.commands import changes_directory

    return None if changes_directory(command) else cwd


def find_exit_code(what: str, failed: bool, about: dict[str, Any], text: str | None) -> int | None:
    """The client gives no exit code: 0 is known only from a plain success, n from the failure's own words."""
    if what != "shell":
        return None
    if failed:
        head, _, rest = (text or "").partition("Exit code ")
        digits = rest.split("\n", 1)[0].strip()
        return int(digits) or None if not head and digits.isascii() and digits.isdigit() else None
    unsure = ("backgroundTaskId", "timedOutAfterMs", "returnCodeInterpretation")
    if "stdout" not in about or about.get("interrupted") is not False or any(about.get(name) for name in unsure):
        return None
    return 0


def replace_output(call: ToolCall, text: str) -> Any:
    """The tool's output with `text` in place of its claim, in the complete shape that the client accepts;
    None where there is none that can carry a text."""
    answer = call.response
    block = [{"type": "text", "text": text}]
    if "mcp" in call.kinds:
        return block
    if call.tool == "Bash" and isinstance(answer, dict) and "stdout" in answer:
        kept = {key: value for key, value in answer.items() if not key.startswith("persistedOutput")}
        return {**kept, "stdout": text, "stderr": "", "isImage": False}
    if call.tool == "Agent" and isinstance(answer, dict) and isinstance(answer.get("content"), list):
        return {**answer, "content": block}
    return None


def ask(event: str, reason: str, notices: tuple[str, ...]) -> Reply:
    """The answer that leaves a call to the person; where there is none, the client itself refuses it."""
    return payloads.refuse(event, reason, notices, "ask")


def render(event: str, call: ToolCall | None, correction: Correction | None, notices: tuple[str, ...]) -> Reply:
    """The answer in the client's dialect: nothing at all when all is well. `call` is None where the payload
    could not be read."""
    answer: dict[str, Any] = {"systemMessage": "\n".join(notices)} if notices else {}
    if correction is not None and correction.ends:
        answer["continue"] = False  # the reason is lost with it: the person reads the notice
        answer["stopReason"] = correction.text
    elif correction is not None and event == "PostToolBatch":
        # Here a block would end the turn, told to nobody.
        answer["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": correction.text}
    elif correction is not None:
        answer["decision"] = "block"
        answer["reason"] = correction.text
        replaces = call and correction.replace and event == "PostToolUse"
        output = replace_output(call, correction.text) if call and replaces else None
        if output is not None:
            answer["hookSpecificOutput"] = {"hookEventName": event, "updatedToolOutput": output}
    return Reply(dumps(answer) if answer else "")
