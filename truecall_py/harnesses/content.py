"""What a tool answered, whatever its shape: structured result, text and failure flag. Decodes JSON once,
never twice, and takes nothing for structure that is not strict JSON."""

from __future__ import annotations

from truecall_py.types import ABSENT
from truecall_py.wire import Refused, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DECODED = 8 * 1024 * 1024  # characters of text that are decoded as JSON


def decoded(text: str) -> Any:
    """The object or list that the text is, ABSENT where it is none."""
    head = text[:64].lstrip()
    if not head.startswith(("{", "[")) or len(text) > DECODED:
        return ABSENT
    try:
        return loads(text)
    except Refused:
        return ABSENT


def is_block(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("type"), str)


def blocks(items: list[Any]) -> tuple[Any, str]:
    """(result, text) of content blocks: the result is the one text block that is JSON. Where several are,
    none is *the* result."""
    texts = [item["text"] for item in items if is_block(item) and isinstance(item.get("text"), str)]
    values = [value for value in map(decoded, texts) if value is not ABSENT]
    return (values[0] if len(values) == 1 else ABSENT), "\n".join(texts)


def flag(answer: dict[str, Any]) -> bool | None:
    """MCP's failure flag in either spelling, None where there is none."""
    for name in ("isError", "is_error"):
        if isinstance(answer.get(name), bool):
            return bool(answer[name])
    return None


def read(answer: Any) -> tuple[Any, str | None, bool | None]:
    """(structured result or ABSENT, text or None, failure flag or None) of a tool's answer. The text of an
    object that is no MCP result is left to `facts`, which makes it only when it is asked for."""
    if answer is ABSENT or answer is None:
        return ABSENT, None, None
    if isinstance(answer, str):
        return decoded(answer), answer, None
    if isinstance(answer, list):
        if answer and not all(map(is_block, answer)):
            return answer, None, None
        result, text = blocks(answer)
        return result, text, None
    if isinstance(answer, dict):
        content = answer.get("content")
        if isinstance(content, list) and all(map(is_block, content)):
            result, text = blocks(content)
            if isinstance(answer.get("structuredContent"), (dict, list)):
                result = answer["structuredContent"]
            elif "isError" not in answer and len(answer) > 2:
                result = answer  # a built-in's own object that happens to hold content blocks
            return result, text, flag(answer)
        return answer, None, flag(answer)
    return ABSENT, str(answer).lower() if isinstance(answer, bool) else str(answer), None


def leaves(value: Any) -> str:
    """All the text in a value, in order, a line each."""
    found: list[str] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            pending.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            pending.extend(reversed(item))
    return "\n".join(found)
