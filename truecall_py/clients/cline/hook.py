"""Cline: how its hook payloads are read and how it is answered. Seen with the real client (3.0.65)."""

from __future__ import annotations

from truecall_py.clients import apply_patch
from truecall_py.clients import payload as payloads
from truecall_py.core.errors import PayloadError
from truecall_py.core.fast_json import dumps
from truecall_py.core.types import ABSENT, Correction, File, Reply, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


NAME = "cline"
HANDLED = ("PostToolUse",)  # as the client's folder of hooks calls it; the payload says tool_result
KNOWN = frozenset((
    "agent_start", "agent_resume", "agent_abort", "agent_end", "agent_error", "tool_call", "prompt_submit",
    "session_shutdown", "TaskStart", "TaskResume", "TaskCancel", "TaskComplete", "TaskError", "PreToolUse",
    "UserPromptSubmit", "PreCompact", "SessionShutdown",
))  # fmt: skip
# Captured: editor, run_commands and read_files. The others are the names in the client's own program. An MCP tool is
# named after its server, notes__save_note (seen); no tool of the client's own has two underscores.
KINDS = {
    "run_commands": "shell", "read_files": "read", "search_codebase": "read", "fetch_web_content": "fetch",
    "web_search": "fetch", "spawn_agent": "agent",
}  # fmt: skip
CODE = "Command exited with code "
UNJOINED = ("cd", "pushd", "popd", "<<", "\\")  # what a command could do to the one below it
PROJECT_ENV = ""
# Exit code 2 is ignored.
STATIC = {"PostToolUse": "modification"}


def recognises(payload: dict[str, Any]) -> bool:
    """Whether a payload is one of Cline's."""
    return "clineVersion" in payload and "hookName" in payload


def parse(payload: dict[str, Any]) -> ToolCall | None:
    """The call that a payload tells of; None for an event that is known and not judged.
    Raises PayloadError for a shape the client does not send."""
    event, record = payload.get("hookName"), payload.get("tool_result")
    if event in KNOWN:
        return None
    if event != "tool_result" or not isinstance(record, dict):
        raise PayloadError(f"the hook {str(event)[:60]!r} is not one that Cline's command line is known to call")
    given = record.get("input", {})
    # A model may send the list, or the one text, in the place of the object.
    tool, args = payloads.parse_request(
        event, record.get("name"), {"input": given} if isinstance(given, (str, list)) else given
    )
    answer = record.get("output", ABSENT)
    rows = [row for row in (answer if isinstance(answer, list) else [answer]) if is_row(row)]
    result, text, is_error = payloads.read(answer)
    if rows:
        result, text = answer, "\n".join(map(words, rows))
    kind = "mcp" if "__" in tool else KINDS.get(tool, "other")
    cwd = payloads.resolve_folder(root(payload))
    changed = files(tool, args, cwd)
    kinds = frozenset((kind,))
    if tool == "editor":
        kinds = frozenset(("write" if creates(args) else "edit",))
    elif tool == "apply_patch":
        kinds = apply_patch.classify_patch(changed)
    shell = kind == "shell"
    report = payload.get("postToolUse")
    # One event for everything: MCP's flag is the server's own word to the model, and no claim of success.
    failed = bool(record.get("error")) or is_error is True or any(not row["success"] for row in rows)
    failed = failed or (isinstance(report, dict) and report.get("success") is False)
    code = exit_code(rows) if shell else None
    duration = record.get("durationMs")
    with_content = payloads.add_neutral_names(args, content="new_text")
    return ToolCall(
        harness=NAME,
        event=HANDLED[0],
        tool=tool,
        kinds=kinds,
        args=command(args) if shell else with_content if "write" in kinds else args,
        files=changed,
        result=result,
        is_error=is_error,
        text=text,
        reported=payloads.find_claim(shell, failed, code),
        exit_code=code,
        cwd=cwd,
        start_cwd=cwd,
        session=str(payload.get("taskId", "")),
        call_id=str(record.get("id", "")),
        agent=str(payload.get("agent_id", "")) if payload.get("parent_agent_id") else "",
        duration=duration / 1000 if isinstance(duration, (int, float)) and duration >= 0 else None,
        response=answer,
    )


def root(payload: dict[str, Any]) -> Any:
    about, roots = payload.get("workspaceInfo"), payload.get("workspaceRoots")
    if isinstance(about, dict) and about.get("rootPath"):
        return about["rootPath"]
    return roots[0] if isinstance(roots, list) and roots else None


def is_row(item: Any) -> bool:
    """Whether it is the result of one operation: a call may hold several."""
    return isinstance(item, dict) and isinstance(item.get("success"), bool)


def words(row: dict[str, Any]) -> str:
    return payloads.read(row.get("result"))[1] or str(row.get("error") or "")


def exit_code(rows: list[dict[str, Any]]) -> int | None:
    """0 where every command ended well; the code of the one that did not, where there is no other."""
    if rows and all(row["success"] for row in rows):
        return 0
    error = rows[0].get("error") if len(rows) == 1 else None
    if not isinstance(error, str) or not error.startswith(CODE):
        return None
    return payloads.parse_number(error.removeprefix(CODE))


def command(args: dict[str, Any]) -> dict[str, Any]:
    """The arguments with `command` beside them. The client starts all commands of a call at once, each in the
    project's folder: they become lines of one only where none can mean something for the next."""
    given = args.get("commands", args.get("input", args.get("command")))
    lines = [line(item) for item in (given if isinstance(given, list) else [given])]
    if not lines or not all(lines) or (len(lines) > 1 and any(word in line for line in lines for word in UNJOINED)):
        return args
    return {**args, "command": "\n".join(lines)}


def line(item: Any) -> str:
    """One command as a shell would be given it."""
    if isinstance(item, dict) and isinstance(item.get("command"), str):
        more = item.get("args")
        words = map(str, more if isinstance(more, list) else ())
        return " ".join([item["command"], *map(payloads.quote_word, words)])
    return item if isinstance(item, str) else ""


def creates(args: dict[str, Any]) -> bool:
    """Whether the editor is asked for a whole new file; it refuses to do so to one that is there."""
    return args.get("old_text") is None and args.get("insert_line") is None


def files(tool: str, args: dict[str, Any], cwd: str | None) -> tuple[File, ...]:
    if tool == "apply_patch":
        return apply_patch.list_files(str(args.get("input", "")), cwd)
    path = args.get("path")
    if tool != "editor" or not isinstance(path, str) or not path:
        return ()
    new, content = creates(args), args.get("new_text")
    whole_text = content if new and isinstance(content, str) else None
    return (File(payloads.resolve_path(path, cwd), "add" if new else "update", whole_text),)


def render(event: str, call: ToolCall | None, correction: Correction | None, notices: tuple[str, ...]) -> Reply:
    """The answer in the client's dialect: nothing at all when all is well. The output always stays (`cancel` would
    end the whole run), and there is no field for the person."""
    if correction is None:
        return Reply()
    return Reply(dumps({"cancel": False, "contextModification": correction.text}))
