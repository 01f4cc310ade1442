"""The payloads of one call in the form of every client."""

from __future__ import annotations

from support.project import SESSION
from truecall_py import clients

FIVE = tuple(name for name in clients.NAMES if name not in ("claude-code", "codex"))
SHELLS = {"gemini-cli": "run_shell_command", "qwen-code": "run_shell_command", "copilot-cli": "bash",
          "opencode": "bash", "cline": "run_commands"}  # fmt: skip


def sent(project, harness, tool, args, answer, **more):
    """The payload of a call that a client tells of, in its own shape."""
    base = {"session_id": SESSION, "cwd": project.root, "timestamp": "2026-11-29T17:41:45.356Z"}
    if harness == "gemini-cli":
        plain = {**base, "transcript_path": "/x", "hook_event_name": "AfterTool", "tool_name": tool,
                 "tool_input": args, "tool_response": answer}  # fmt: skip
        if tool.startswith("mcp_"):
            plain["mcp_context"] = {"server_name": "notes", "tool_name": "save_note"}
    elif harness == "qwen-code":
        plain = {**base, "transcript_path": "/x", "hook_event_name": "PostToolUse", "permission_mode": "yolo",
                 "tool_name": tool, "tool_input": args, "tool_response": answer, "tool_use_id": "toolu_1",
                 "tool_call_id": "call_1", "duration_ms": 19}  # fmt: skip
    elif harness == "copilot-cli":
        plain = {"sessionId": SESSION, "timestamp": 1795974400935, "cwd": project.root, "toolName": tool,
                 "toolArgs": args, "toolResult": answer}  # fmt: skip
    elif harness == "opencode":
        asks = {"tool": tool, "sessionID": SESSION, "callID": "call_1", "args": args}
        plain = {"input": asks, "output": answer, "cwd": project.root}
    else:
        record = {"id": "call_1", "name": tool, "input": args, "output": answer, "durationMs": 31}
        plain = {"clineVersion": "", "taskId": SESSION, "workspaceRoots": [project.root], "hookName": "tool_result",
                 "workspaceInfo": {"rootPath": project.root}, "agent_id": "agent_1", "parent_agent_id": None,
                 "tool_result": record, "postToolUse": {"toolName": tool, "success": True}}  # fmt: skip
    return {name: value for name, value in {**plain, **more}.items() if value is not None}


def ran(project, harness, code=0, command="make dist", out="built dist.tar"):
    """A command that ended with `code`, as each client says so: always by the event of a success but Qwen's."""
    if harness in ("claude-code", "codex"):
        return project.bash(command, harness, stdout=out)
    args = {"commands": [command]} if harness == "cline" else {"command": command}
    more = {}
    if harness == "gemini-cli":
        closing = (f"Exit Code: {code}\n" if code else "") + "Process Group PGID: 32"
        text = f"<untrusted_context>\nOutput: {out}\n{closing}\n</untrusted_context>"
        answer = {"llmContent": text, "returnDisplay": out}
    elif harness == "qwen-code":
        text = (
            f"Command: {command}\nDirectory: (root)\nOutput: {out}\nError: (none)\nExit Code: {code}\n"
            "Signal: (none)\nProcess Group PGID: 32"
        )
        answer = {"llmContent": text, "returnDisplay": out}
        if code:
            more = {"hook_event_name": "PostToolUseFailure", "error": text, "tool_response": None}
    elif harness == "copilot-cli":
        answer = {"resultType": "success", "textResultForLlm": f"{out}\n<shellId: 0 completed with exit code {code}>"}
    elif harness == "opencode":
        answer = {"title": command, "metadata": {"output": out, "exit": code, "truncated": False}, "output": out}
    else:
        row = {"query": command, "result": out, "success": not code}
        answer = [{**row, "error": f"Command exited with code {code}"} if code else row]
    return sent(project, harness, SHELLS[harness], args, answer, **more)
