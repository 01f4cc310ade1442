"""Transcripts of Claude Code, as seen with 2.1.197 and 2.1.332: a line for each block, `tool_use` and `tool_result`
with the tool's own object beside it; sub-agents in files of their own (`subagents/agent-*.jsonl`, without that
object) or, before, in the same file (`isSidechain`). Makes payloads of them, and reads no payload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from truecall_py.clients.claude_code import hook as harness
from truecall_py.clients.payload import find_text
from truecall_py.clients.transcripts import MANY, NO_ANSWER, REPLACED, Lines, Made, Said, join_words
from truecall_py.core.errors import PayloadError
from truecall_py.core.record import record
from truecall_py.core.types import ABSENT, ToolCall

# Lines that tell of no call and of no message.
OTHERS = frozenset((
    "queue-operation", "attachment", "atis-latch", "api-request-shape", "api-request-blob", "api-request",
    "tools-used", "last-prompt", "cost-state", "mode", "permission-mode", "summary", "system", "progress",
    "file-history-snapshot", "custom-title", "agent-name", "pr-link",
))  # fmt: skip


def fits(plain: dict[str, Any]) -> bool:
    """Whether a line is one of Claude Code's."""
    kind = plain.get("type")
    return kind in OTHERS or (kind in ("user", "assistant") and "sessionId" in plain and not has_parts(plain))


def has_parts(plain: dict[str, Any]) -> bool:
    """Whether it is a line of Qwen Code, whose messages have parts."""
    message = plain.get("message")
    return isinstance(message, dict) and "parts" in message


@record(frozen=True)
class Asked:
    """A call that waits for its answer: `about` is what every payload of it holds, `cwd` the folder it began in."""

    line: int
    about: dict[str, Any]
    cwd: str | None


class Turn:
    """One agent's turn so far: `message` is its last one, None while a call came after it."""

    def __init__(self, number: str) -> None:
        self.number, self.line = number, 0
        self.message: str | None = None
        self.id: object = None
        self.whole = True
        self.about: dict[str, Any] = {}


class Reader:
    """Reads the lines of one transcript, one after the other. `heads` are how truecall's corrections begin."""

    def __init__(self, lines: Lines, heads: tuple[str, ...]) -> None:
        self.lines, self.heads = lines, heads
        self.asked: dict[str, Asked] = {}
        self.turns: dict[str, Turn] = {}

    def line(self, plain: dict[str, Any]) -> Iterator[Made | Said]:
        kind = plain.get("type")
        if kind not in ("user", "assistant"):
            if kind not in OTHERS:
                self.lines.stranger(kind)
            return
        message = plain.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, (str, list)):
            self.lines.damage(f"a line of the {kind} without a message")
            return
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks = [block for block in blocks if isinstance(block, dict)]
        agent = str(plain.get("agentId") or ("sidechain" if plain.get("isSidechain") is True else ""))
        if kind == "assistant":
            yield from self.spoke(plain, agent, blocks)
        else:
            yield from self.heard(plain, agent, blocks)

    def spoke(self, plain: dict[str, Any], agent: str, blocks: list[dict[str, Any]]) -> Iterator[Made | Said]:
        """A line of the model's: what it says, and which calls it makes."""
        turn = self.turns.setdefault(agent, Turn(""))
        for block in blocks:
            if block.get("type") == "tool_use":
                turn.message = None
                yield from self.asks(plain, agent, turn, block)
            elif block.get("type") == "text" and isinstance(block.get("text"), str):
                one = plain["message"].get("id")
                before = f"{turn.message}\n" if turn.message and one and one == turn.id else ""
                turn.message, turn.id, turn.line = before + block["text"], one, self.lines.number
                turn.about = share_fields(plain, agent, turn.number)

    def asks(self, plain: dict[str, Any], agent: str, turn: Turn, block: dict[str, Any]) -> Iterator[Made | Said]:
        name = str(block.get("id") or "")
        about = {**share_fields(plain, agent, turn.number), "tool_name": block.get("name"),
                 "tool_input": block.get("input", {}), "tool_use_id": name}  # fmt: skip
        cwd = plain.get("cwd")
        if name in self.asked:
            self.lines.damage(f"the call {name[:60]} is made twice")
        self.asked[name] = Asked(self.lines.number, about, cwd if isinstance(cwd, str) else None)
        if len(self.asked) > MANY:
            yield from self.unanswered(next(iter(self.asked)))

    def heard(self, plain: dict[str, Any], agent: str, blocks: list[dict[str, Any]]) -> Iterator[Made | Said]:
        """A line of the user's: a prompt, which ends the turn before it, or the answers to calls."""
        results = [block for block in blocks if block.get("type") == "tool_result"]
        if not results:
            yield from self.closed(agent)
            old = self.turns.get(agent)
            number = str(plain.get("promptId") or plain.get("uuid") or "")
            if old is None or old.number != number:
                self.turns[agent] = Turn(number)
        for block in results:
            name = str(block.get("tool_use_id") or "")
            request = self.asked.pop(name, None)
            if request is None:
                self.lines.damage(f"an answer to the call {name[:60]}, which is not in this transcript")
                self.turns.setdefault(agent, Turn("")).whole = False
                continue
            own = plain.get("toolUseResult", ABSENT) if len(results) == 1 else ABSENT
            yield from self.made(request, plain, block, own)

    def made(self, asked: Asked, plain: dict[str, Any], block: dict[str, Any], own: Any) -> Iterator[Made]:
        """The call with its answer, as a hook would have been told of it."""
        content = block.get("content")
        about = {**asked.about, "cwd": plain.get("cwd")}
        try:
            if block.get("is_error") is True:
                call = make_failed(about, join_words(content))
            else:
                answer = content if own is ABSENT else own
                call = harness.parse({**about, "hook_event_name": "PostToolUse", "tool_response": answer})
        except PayloadError as error:
            self.lines.damage(error.what, asked.line)
            return
        if call is None:
            return
        start = asked.cwd if call.start_cwd is None else call.start_cwd
        call = ToolCall(**{**call.__dict__, "start_cwd": start, "turn": str(asked.about["prompt_id"])})
        said = find_text(call) or ""
        yield Made(self.lines.number, call, REPLACED if said.startswith(self.heads) else "")

    def unanswered(self, name: str) -> Iterator[Made]:
        request = self.asked.pop(name)
        try:
            call = harness.parse_before({**request.about, "cwd": request.cwd, "hook_event_name": harness.BEFORE})
        except PayloadError as error:
            self.lines.damage(error.what, request.line)
            return
        if call is not None:
            yield Made(request.line, call, NO_ANSWER)

    def closed(self, agent: str) -> Iterator[Said]:
        """The end of a turn, if its agent said something last."""
        turn = self.turns.get(agent)
        if turn is None or turn.message is None:
            return
        message, turn.message = turn.message, None
        event = "SubagentStop" if agent else "Stop"
        stop = harness.parse_stop({**turn.about, "hook_event_name": event, "last_assistant_message": message})
        if stop is not None:
            waits = any(request.about.get("agent_id", "") == agent for request in self.asked.values())
            yield Said(turn.line, stop, turn.whole and not waits)

    def end(self) -> Iterator[Made | Said]:
        for agent in list(self.turns):
            yield from self.closed(agent)
        for name in list(self.asked):
            yield from self.unanswered(name)


def share_fields(plain: dict[str, Any], agent: str, turn: str) -> dict[str, Any]:
    """What all payloads of one agent's turn hold."""
    about = {"session_id": plain.get("sessionId"), "cwd": plain.get("cwd"), "prompt_id": turn}
    return {**about, "agent_id": agent} if agent else about


def make_failed(about: dict[str, Any], said: str) -> ToolCall | None:
    """A call that the client, or the tool itself, says has failed."""
    if said.startswith(harness.REFUSED):
        batch = {**about, "hook_event_name": "PostToolBatch", "tool_calls": [{**about, "tool_response": said}]}
        return next(iter(harness.parse_refused(batch)), None)
    return harness.parse({**about, "hook_event_name": "PostToolUseFailure", "error": said})
