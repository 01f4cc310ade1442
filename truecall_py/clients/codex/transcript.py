"""Rollouts of Codex, as seen with 0.144.6 and 0.171.0: a `function_call` and its output, and beside them the record
of how it ended (`item_completed`, `mcp_tool_call_end`, `patch_apply_end`), which is all that there is of a call
that a script of code mode made. Makes payloads of them, and reads no payload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from truecall_py.clients.call_outcomes import RUNNING, Fate
from truecall_py.clients.codex import hook as harness
from truecall_py.clients.codex.call_outcomes import read_item, read_output
from truecall_py.clients.transcripts import MANY, NO_ANSWER, REPLACED, Lines, Made, Said, join_words
from truecall_py.core.errors import PayloadError
from truecall_py.core.fast_json import JsonError, loads
from truecall_py.core.record import record
from truecall_py.core.types import FAILURE, UNKNOWN, ToolCall

KINDS = frozenset((
    "session_meta", "response_item", "event_msg", "turn_context", "world_state", "token_usage_record", "compacted",
    "inter_agent_communication",
))  # fmt: skip
ASKS = ("function_call", "custom_tool_call", "local_shell_call")
ANSWERS = ("function_call_output", "custom_tool_call_output")
ENDS = ("item_completed", "mcp_tool_call_end", "patch_apply_end")
SHELLS = ("exec_command", "shell", "shell_command", "local_shell", "container.exec")
SCRIPT = "exec"  # code mode: a script that makes calls, and is none
NESTED = "exec-"  # how the ids of a script's calls begin
SILENT = ("write_stdin", "tool_search", "wait")  # of which no hook is ever told


def fits(plain: dict[str, Any]) -> bool:
    """Whether a line is one of Codex'."""
    return plain.get("type") in KINDS and isinstance(plain.get("payload"), dict)


@record(frozen=True)
class Asked:
    """A call that waits for its answer: its tool and arguments as a hook is told them, and where it starts."""

    line: int
    tool: str
    args: dict[str, Any]
    cwd: object


class Reader:
    """Reads the lines of one rollout, one after the other. `heads` are how truecall's corrections begin."""

    def __init__(self, lines: Lines, heads: tuple[str, ...]) -> None:
        self.lines, self.heads = lines, heads
        self.asked: dict[str, Asked] = {}
        self.ended: dict[str, dict[str, Any]] = {}  # how calls ended that wait for their answer
        self.scripts: dict[str, bool] = {}  # of code mode that run: whether a call of it was recorded
        self.session = self.agent = self.turn = ""
        self.cwd: object = None
        self.message: str | None = None
        self.at = 0
        self.whole = True

    def line(self, plain: dict[str, Any]) -> Iterator[Made | Said]:
        kind, inside = plain.get("type"), plain.get("payload")
        if kind not in KINDS:
            self.lines.stranger(kind)
            return
        if not isinstance(inside, dict):
            self.lines.damage(f"a {kind} without a payload")
            return
        if kind == "session_meta":
            own = str(inside.get("id") or "")
            self.session = self.session or str(inside.get("session_id") or own)
            self.agent = own if own != self.session and not self.agent else self.agent
            self.cwd = inside.get("cwd")
        elif kind == "turn_context":
            self.cwd = inside.get("cwd", self.cwd)
            yield from self.begins(inside)
        elif kind == "response_item":
            yield from self.item(inside)
        elif kind == "event_msg":
            yield from self.event(inside)

    def item(self, inside: dict[str, Any]) -> Iterator[Made | Said]:
        """What was sent to the model, or came from it."""
        kind, name = inside.get("type"), str(inside.get("call_id") or inside.get("id") or "")
        if kind in ASKS:
            self.message = None
            yield from self.asks(name, inside)
        elif kind in ANSWERS:
            yield from self.answered(name, inside.get("output"))
        elif kind == "message" and inside.get("role") == "assistant":
            self.message, self.at = join_words(inside.get("content")), self.lines.number

    def event(self, inside: dict[str, Any]) -> Iterator[Made | Said]:
        kind = inside.get("type")
        if kind == "task_started":
            yield from self.begins(inside)
        elif kind == "turn_aborted":
            self.message = None
        elif kind == "task_complete":
            last = inside.get("last_agent_message")
            if isinstance(last, str):
                self.message, self.at = last, self.lines.number
            yield from self.closed()
        elif kind in ENDS:
            yield from self.ends(inside)

    def begins(self, inside: dict[str, Any]) -> Iterator[Said]:
        """A turn begins, if it is not the one that runs."""
        turn = str(inside.get("turn_id") or "")
        if turn and turn != self.turn:
            yield from self.closed()
            self.turn, self.whole = turn, True

    def asks(self, name: str, inside: dict[str, Any]) -> Iterator[Made]:
        tool = str(inside.get("name") or inside.get("type") or "")
        if tool == SCRIPT and inside.get("type") == "custom_tool_call":
            self.scripts[name] = False
            return
        if tool in SILENT:
            return
        given = inside.get("arguments", inside.get("input", inside.get("action")))
        args: Any = given
        if inside.get("type") == "function_call":
            try:
                args = loads(given) if isinstance(given, str) else given
            except JsonError as why:
                self.lines.damage(f"the arguments of {tool[:60]} are not JSON: {why}")
                self.whole = False
                return
        elif not isinstance(given, dict):
            args = {"command": given}
        if not isinstance(args, dict):
            self.lines.damage(f"the arguments of {tool[:60]} are not an object")
            self.whole = False
            return
        space = str(inside.get("namespace") or "")
        if tool.removeprefix("local_") in SHELLS or tool == "local_shell_call":
            folder = args.get("workdir") or args.get("working_directory")
            self.asked[name] = Asked(
                self.lines.number, "Bash", {"command": find_command(args)}, resolve_below(folder, self.cwd)
            )
        else:
            if tool == "apply_patch" and "command" not in args:
                args = {"command": args.get("input", args.get("patch"))}
            full = f"{space}__{tool}" if space.startswith("mcp__") else space + tool
            self.asked[name] = Asked(self.lines.number, full, args, self.cwd)
        if len(self.asked) > MANY:
            yield from self.unanswered(next(iter(self.asked)))

    def ends(self, inside: dict[str, Any]) -> Iterator[Made]:
        """The record of how a call ended. That of one that nobody asked for by itself is a call of a script's."""
        item = inside.get("item")
        name = str((item.get("id") if isinstance(item, dict) else inside.get("call_id")) or "")
        if name in self.asked:
            self.ended[name] = inside
            return
        found = parse_record(inside)
        if found is None or not (self.scripts or name.startswith(NESTED)):
            return
        self.scripts = dict.fromkeys(self.scripts, True)
        tool, args, folder, answer = found
        fate = next((fate for _, fate, _ in read_item(inside)), Fate(UNKNOWN))
        yield from self.made(name, Asked(self.lines.number, tool, args, folder or self.cwd), answer, fate)

    def answered(self, name: str, output: Any) -> Iterator[Made]:
        if name in self.scripts:
            if not self.scripts.pop(name):
                self.lines.scripts += 1
                self.whole = False
            return
        request, ended = self.asked.pop(name, None), self.ended.pop(name, None)
        if request is None:
            return  # of a tool of which no hook is told
        said = join_text(output)
        fate = read_output(said)
        answer: Any = output
        if ended is not None:
            fate = next((fate for _, fate, _ in read_item(ended)), fate)
        if said.startswith(self.heads):
            found = parse_record(ended or {})
            if found is None or found[3] is None:
                yield from self.made(name, request, said, fate, REPLACED)
                return
            answer = found[3]
        elif request.tool.startswith("mcp__"):
            found = parse_record(ended or {})
            answer = found[3] if found and found[3] is not None else parse_blocks(output)
        elif request.tool == "Bash":
            answer = said.partition("\nOutput:\n")[2] if "\nOutput:\n" in said else said
        elif request.tool == "apply_patch":
            answer = said
        yield from self.made(name, request, answer, fate)

    def made(self, name: str, asked: Asked, answer: Any, fate: Fate, trouble: str = "") -> Iterator[Made]:
        """The call with its answer, as a hook would have been told of it; how it ended is what the rollout says."""
        try:
            about = {**self.payload(name, asked), "tool_response": answer}
            call = harness.parse({**about, "hook_event_name": "PostToolUse"})
        except PayloadError as error:
            self.lines.damage(error.what, asked.line)
            self.whole = False
            return
        if call is None:
            return
        more: dict[str, Any] = {}
        if fate.said == RUNNING:
            more = {"background": True, "reported": UNKNOWN}
        elif "shell" in call.kinds:
            more = {"exit_code": fate.code, "reported": fate.said}
        elif fate.said == FAILURE:
            more = {"reported": FAILURE}
        call = harness.unwrap_call(ToolCall(**{**call.__dict__, **more}))
        yield Made(self.lines.number, call, trouble)

    def payload(self, name: str, asked: Asked) -> dict[str, Any]:
        about: dict[str, Any] = {"session_id": self.session, "turn_id": self.turn, "cwd": asked.cwd,
                                 "tool_name": asked.tool, "tool_input": asked.args, "tool_use_id": name}  # fmt: skip
        return {**about, "agent_id": self.agent} if self.agent else about

    def unanswered(self, name: str) -> Iterator[Made]:
        request = self.asked.pop(name)
        self.ended.pop(name, None)
        try:
            call = harness.parse_before({**self.payload(name, request), "hook_event_name": harness.BEFORE})
        except PayloadError as error:
            self.lines.damage(error.what, request.line)
            return
        if call is not None:
            yield Made(request.line, call, NO_ANSWER)

    def closed(self) -> Iterator[Said]:
        """The end of a turn, if the agent said something last."""
        if self.message is None:
            return
        message, self.message = self.message, None
        event = "SubagentStop" if self.agent else "Stop"
        about = {"session_id": self.session, "turn_id": self.turn, "agent_id": self.agent, "cwd": self.cwd}
        stop = harness.parse_stop({**about, "hook_event_name": event, "last_assistant_message": message})
        if stop is not None:
            yield Said(self.at, stop, self.whole and not self.asked)

    def end(self) -> Iterator[Made | Said]:
        yield from self.closed()
        for name in list(self.asked):
            yield from self.unanswered(name)


def find_command(args: dict[str, Any]) -> Any:
    """The command line of a shell tool's arguments, in any of their forms."""
    given = args.get("cmd", args.get("command"))
    if not isinstance(given, list):
        return given
    if len(given) == 3 and given[1] in ("-c", "-lc"):
        return given[2]
    import shlex

    return shlex.join(map(str, given))


def resolve_below(folder: object, base: object) -> object:
    """A folder that the model names, against the session's."""
    if not isinstance(folder, str) or not folder:
        return base
    return folder if folder.startswith("/") else f"{base}/{folder}" if isinstance(base, str) else None


def join_text(output: Any) -> str:
    """The text that the model read as an output."""
    if isinstance(output, dict):
        output = output.get("content", output.get("body"))
    return join_words(output)


def parse_blocks(output: Any) -> Any:
    """An MCP answer by the output alone: the blocks below the header of 0.144.6, or those behind the first."""
    if isinstance(output, list):
        return [{**block, "type": "text"} for block in output[1:] if isinstance(block, dict)]
    head, mark, rest = join_text(output).partition("Output:\n")
    try:
        return loads(rest) if mark and head.startswith("Wall time") else join_text(output)
    except JsonError:
        return rest


def parse_record(inside: dict[str, Any]) -> tuple[str, dict[str, Any], str | None, Any] | None:
    """(tool, arguments, folder, answer) of a call by the record of its end; None where that is of no call."""
    item = inside.get("item")
    if inside.get("type") == "mcp_tool_call_end":
        asks, result = inside.get("invocation"), inside.get("result")
        answer = (result.get("Ok") or result.get("Err")) if isinstance(result, dict) else None
        return None if not isinstance(asks, dict) else (*parse_mcp(asks), None, answer)
    if inside.get("type") == "patch_apply_end":
        return "apply_patch", {"command": patch(inside.get("changes"))}, None, join_words(inside.get("stdout"))
    if not isinstance(item, dict):
        return None
    if item.get("type") == "CommandExecution":
        where = item.get("cwd")
        folder = unquote(where.removeprefix("file://")) if isinstance(where, str) else None
        return "Bash", {"command": find_command(item)}, folder, item.get("aggregated_output")
    if item.get("type") == "McpToolCall":
        return (*parse_mcp(item), None, item.get("result") or item.get("error"))
    if item.get("type") == "FileChange":
        return "apply_patch", {"command": patch(item.get("changes"))}, None, item.get("stdout")
    return None


def parse_mcp(asks: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    args = asks.get("arguments")
    return f"mcp__{asks.get('server')}__{asks.get('tool')}", args if isinstance(args, dict) else {}


def patch(changes: Any) -> str:
    """A patch that changes what the record says was changed."""
    lines = ["*** Begin Patch"]
    for path, change in changes.items() if isinstance(changes, dict) else ():
        kind = change.get("type") if isinstance(change, dict) else None
        if kind == "add":
            body = str(change.get("content", "")).removesuffix("\n").split("\n")
            lines += [f"*** Add File: {path}", *(f"+{line}" for line in body)]
        elif kind == "delete":
            lines.append(f"*** Delete File: {path}")
        else:
            moved = change.get("move_path") if isinstance(change, dict) else None
            lines += [f"*** Update File: {path}", *([f"*** Move to: {moved}"] if moved else [])]
    return "\n".join([*lines, "*** End Patch", ""])
