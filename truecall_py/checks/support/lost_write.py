"""Signatures of loss: how a file looks when what was sent to it did not arrive. Any other difference may be
the work of a formatter, and is passed over: a file that was written must never be called lost."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.core.types import ToolCall

IMPORTS = (b"import ", b"from ", b"use ", b"using ", b"#include ", b"require ")
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + bytes(range(0x80, 0x100))


def split_lines(data: bytes) -> bytes:
    """Line ends made one: clients show LF for files that hold CRLF. A byte order mark does not count."""
    return data.replace(b"\r\n", b"\n").removeprefix(b"\xef\xbb\xbf")


def has_same_letters(left: bytes, right: bytes) -> bool:
    """Whether a formatter that moves, spaces and quotes could turn one text into the other."""
    return all(left.count(letter) == right.count(letter) for letter in (bytes((code,)) for code in LETTERS))


def is_import_only(sent: bytes, held: bytes) -> bool:
    """Whether all that is missing are whole lines that import something: a formatter removes unused ones."""
    kept: dict[bytes, int] = {}
    for line in held.split(b"\n"):
        kept[line.strip()] = kept.get(line.strip(), 0) + 1
    missing = []
    for line in map(bytes.strip, sent.split(b"\n")):
        if kept.get(line, 0):
            kept[line] -= 1
        else:
            missing.append(line)
    return all(line.startswith(IMPORTS) or not any(letter in LETTERS for letter in line) for line in missing)


def explain_loss(sent: str, before: str | None, held: bytes) -> str:
    """How the content `held` shows that `sent` was lost, or ""."""
    wanted, found = split_lines(sent.encode("utf-8", "surrogatepass")), split_lines(held)
    # What a formatter may do is none: other spacing, quotes and punctuation, no unused imports.
    if found.strip() == wanted.strip() or has_same_letters(found, wanted) or is_import_only(wanted, found):
        return ""
    if not found.strip():
        return "is empty" if not held else "holds nothing but white space"
    if before is not None and found == split_lines(before.encode("utf-8", "surrogatepass")):
        return "is as it was before the call"
    if wanted.startswith(found.rstrip()):
        return f"ends after {len(held)} of {len(wanted)} bytes, in the middle of what was sent"
    return ""


def find_content_before(path: str, call: ToolCall) -> str | None:
    """What the call itself says was at `path` before it."""
    return next((file.before for file in call.files if file.path == path), None)
