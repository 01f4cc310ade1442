"""How a call ended, by a record of a Codex rollout. Seen with 0.144.6 and 0.171.0: a record of the end for patches,
MCP calls and commands; else the line that Codex itself writes above a command's output."""

from __future__ import annotations

from truecall_py.clients.call_outcomes import RUNNING, Fate, cut_words, number
from truecall_py.clients.codex.exit_codes import STATUSES
from truecall_py.clients.payload import parse_number
from truecall_py.core.types import FAILURE, SUCCESS, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

SUCCESS_IS_END = True  # nothing of a call goes on once its success is recorded
# How Codex' own answer begins where a call was never made; a command's output stands below a header. Seen with
# 0.144.6 and 0.171.0 are the first five (the fourth of a patch outside of the sandbox; the fifth of a command that
# asks to leave it, where nobody is asked). The others, of what the person rejects, are words of the program that were
# not seen in use yet.
NEVER_MADE = ("apply_patch verification failed", "Command blocked by PreToolUse hook",
              "Tool call blocked by PreToolUse hook", "patch rejected: ", "approval policy is Never; reject command",
              "patch rejected by user", "exec command rejected by user", "user rejected MCP tool call",
              "user cancelled MCP tool call")  # fmt: skip
# How it begins where a command could not be started, or its sandbox stopped it: then it may have begun.
NOT_RUN = ("exec_command failed: ", "exec_command failed for ")


def read_record(plain: dict[str, Any]) -> Iterator[tuple[str, Fate, bool]]:
    """(call, fate, whether it is the last word on it) of the call that a line of a rollout is about."""
    inside = plain.get("payload")
    if isinstance(inside, dict):
        yield from read_item(inside)


def read_item(inside: dict[str, Any]) -> Iterator[tuple[str, Fate, bool]]:
    """The same, by what the line holds."""
    kind, item = inside.get("type"), inside.get("item")
    if kind == "item_completed" and isinstance(item, dict):
        code = number(item.get("exit_code"))
        said = STATUSES.get(str(item.get("status", "")).lower(), UNKNOWN)
        said = said if code is None else SUCCESS if code == 0 else FAILURE
        yield str(item.get("id")), find_fate(said, code, cut_words(item.get("aggregated_output"))), True
    elif kind == "mcp_tool_call_end":
        result = inside.get("result")
        answer = result.get("Ok") if isinstance(result, dict) else None
        well = isinstance(answer, dict) and answer.get("isError") is not True
        yield str(inside.get("call_id")), Fate(SUCCESS if well else FAILURE), True
    elif kind == "patch_apply_end":
        done = inside.get("success")
        said = SUCCESS if done is True else FAILURE if done is False else UNKNOWN
        yield str(inside.get("call_id")), find_fate(said, None, cut_words(inside.get("stderr"))), True
    elif kind in ("function_call_output", "custom_tool_call_output"):
        yield str(inside.get("call_id")), read_output(inside.get("output")), False


def read_output(output: Any) -> Fate:
    """What Codex' own lines say of a call."""
    text = cut_words(output)
    if text.startswith((*NEVER_MADE, *NOT_RUN)):
        return find_fate(FAILURE, None, text)
    head, mark, rest = text.partition("\nOutput:\n")
    for line in head.split("\n") if mark else ():
        if line.startswith("Process running with session ID "):
            return Fate(RUNNING)
        if line.startswith("Process exited with code "):
            code = parse_number(line.removeprefix("Process exited with code "))
            return find_fate(UNKNOWN if code is None else SUCCESS if code == 0 else FAILURE, code, rest)
    return Fate(UNKNOWN, None, rest or text)


def find_fate(said: str, code: int | None, text: str) -> Fate:
    """The fate of a call with these words."""
    return Fate(said, code, text, said == FAILURE and text.startswith(NEVER_MADE))
