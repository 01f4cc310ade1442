"""OpenCode: how the payloads of its plugin are read and how it is answered. Seen with the real client
(1.18.33), which has no hook on standard input: hooks/opencode.ts calls the launcher."""

from __future__ import annotations

from truecall_py.clients import apply_patch
from truecall_py.clients import payload as payloads
from truecall_py.core.errors import PayloadError
from truecall_py.core.fast_json import dumps
from truecall_py.core.types import ABSENT, SUCCESS, UNKNOWN, Correction, File, Reply, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


NAME = "opencode"
HANDLED = ("tool.execute.after",)
KNOWN: frozenset[str] = frozenset()  # the plugin tells of nothing else
# Captured: bash and write. The others are the names in the client's own program.
KINDS = {
    "bash": "shell", "write": "write", "edit": "edit", "read": "read", "grep": "read", "glob": "read",
    "list_mcp_resources": "read", "list_mcp_resource_templates": "read", "read_mcp_resource": "read",
    "webfetch": "fetch", "websearch": "fetch", "task": "agent",
}  # fmt: skip
PROJECT_ENV = ""  # the plugin starts the command in the project's folder
STATIC = {"tool.execute.after": "append"}


def recognises(payload: dict[str, Any]) -> bool:
    """Whether a payload is one of OpenCode's: the arguments of a plugin's callback."""
    asks = payload.get("input")
    return not isinstance(payload.get("hook_event_name"), str) and isinstance(asks, dict) and "callID" in asks


def parse(payload: dict[str, Any]) -> ToolCall | None:
    """The call that the plugin's callback was told of: its two arguments, and the project's folder.
    Raises PayloadError for a shape the plugin does not send."""
    asks, answer = payload.get("input"), payload.get("output")
    if not isinstance(asks, dict):
        raise PayloadError("the payload holds no input of tool.execute.after")
    tool, args = payloads.parse_request(HANDLED[0], asks.get("tool"), asks.get("args", {}))
    about: dict[str, Any] = answer if isinstance(answer, dict) else {}
    meta: dict[str, Any] = about["metadata"] if isinstance(about.get("metadata"), dict) else {}
    cwd = payloads.resolve_folder(payload.get("cwd"))
    # The client's own tools answer with a text; an MCP server's with its list of blocks, whatever the tool's name.
    mcp = "output" not in about and isinstance(about.get("content"), list)
    if mcp or not isinstance(about.get("output"), str):
        result, text, is_error = payloads.read(answer)
    else:
        text, is_error = about["output"], None
        result = answer if tool in KINDS else payloads.decode_json(text)
    changed = files(tool, args, meta, cwd)
    kinds = frozenset(("mcp" if mcp else KINDS.get(tool, "other"),))
    if tool == "apply_patch" and not mcp:
        kinds = apply_patch.classify_patch(changed)
    shell = "shell" in kinds
    code = meta.get("exit") if shell else None
    code = code if isinstance(code, int) and not isinstance(code, bool) else None
    start = args.get("workdir")
    return ToolCall(
        harness=NAME,
        event=HANDLED[0],
        tool=tool,
        kinds=kinds,
        args=payloads.add_neutral_names(args, path="filePath"),
        files=() if mcp else changed,
        result=result,
        is_error=is_error,
        text=text,
        # The model is never told a command's exit code: a failure that it cannot see was not reported to it.
        reported=SUCCESS if about and (not shell or code == 0) else UNKNOWN,
        exit_code=code,
        cwd=cwd,
        start_cwd=payloads.resolve_path(start, cwd) if shell and isinstance(start, str) and start else cwd,
        session=str(asks.get("sessionID", "")),
        call_id=str(asks.get("callID", "")),
        response=ABSENT if answer is None else answer,
    )


def files(tool: str, args: dict[str, Any], meta: dict[str, Any], cwd: str | None) -> tuple[File, ...]:
    if tool == "apply_patch":
        return apply_patch.list_files(str(args.get("patchText", "")), cwd)
    given = args.get("filePath")
    if KINDS.get(tool) not in ("write", "edit") or not isinstance(given, str) or not given:
        return ()
    content = args.get("content") if tool == "write" else None
    path = payloads.resolve_folder(meta.get("filepath")) or payloads.resolve_path(given, cwd)
    action = "add" if meta.get("exists") is False else "update"
    return (File(path, action, content if isinstance(content, str) else None),)


def render(event: str, call: ToolCall | None, correction: Correction | None, notices: tuple[str, ...]) -> Reply:
    """The answer that the plugin puts where the model reads it. There is no field for the person."""
    if correction is None:
        return Reply()
    return Reply(dumps({"output" if correction.replace else "append": correction.text}))
