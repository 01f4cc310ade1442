"""The answer of a tool in Gemini CLI and in Qwen Code, its descendant: `llmContent` is a text, a part, or a list
of parts. Never looks at what the words say."""

from __future__ import annotations

from truecall_py.clients.payload import read_blocks, resolve_folder, resolve_path
from truecall_py.core.types import ABSENT, File

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PATHS = ("file_path", "notebook_path")
WRAP, END = "<untrusted_context>\n", "\n</untrusted_context>"


def unwrap_text(text: str) -> str:
    """The tool's own words, without the client's mark that they are not to be trusted."""
    if not text.startswith(WRAP):
        return text
    body, found, rest = text[len(WRAP) :].rpartition(END)
    return body.replace("&lt;/untrusted_context&gt;", "</untrusted_context>") + rest if found else text


def read(answer: Any) -> tuple[Any, str | None]:
    """(the one part that is JSON, or ABSENT; all the text, or None where there is no answer)."""
    content = answer.get("llmContent", ABSENT) if isinstance(answer, dict) else answer
    if content is ABSENT or content is None:
        return ABSENT, None
    found = []
    for item in content if isinstance(content, list) else [content]:
        text = item.get("text") if isinstance(item, dict) else item
        if isinstance(text, str):
            found.append({"type": "text", "text": unwrap_text(text)})
    return read_blocks(found)


def parse_shown_change(answer: Any) -> dict[str, Any]:
    """What the client shows of a change to a file: its path, the content before and after; else empty."""
    display = answer.get("returnDisplay") if isinstance(answer, dict) else None
    return display if isinstance(display, dict) else {}


def list_files(what: str, args: dict[str, Any], answer: Any, cwd: str | None) -> tuple[File, ...]:
    """The file that a write or an edit names, where the client itself says that it is."""
    given = next((args[name] for name in PATHS if isinstance(args.get(name), str)), "")
    if what not in ("write", "edit") or not given:
        return ()
    display = parse_shown_change(answer)
    path = resolve_folder(display.get("filePath")) or resolve_path(given, cwd)
    before, content = display.get("originalContent"), args.get("content") if what == "write" else None
    new = display.get("isNewFile", before == "") is True
    return (
        File(
            path,
            "add" if new else "update",
            content if isinstance(content, str) else None,
            before if isinstance(before, str) and not new else None,
        ),
    )
