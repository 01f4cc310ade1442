"""Recognises a lost write by its signatures. Any other difference may come from a formatter and is ignored: a file
that was written must never count as lost."""

from __future__ import annotations

from truecall_py.core.types import ToolCall

IMPORTS = (b"import ", b"from ", b"use ", b"using ", b"#include ", b"require ")
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + bytes(range(0x80, 0x100))


def unify_lines(data: bytes) -> bytes:
    """Return the text with unified line ends, because clients report LF for files with CRLF. A byte order mark is
    ignored."""
    return data.replace(b"\r\n", b"\n").removeprefix(b"\xef\xbb\xbf")


def has_same_letters(left: bytes, right: bytes) -> bool:
    """Whether a formatter that moves, spaces and quotes could turn one text into the other."""
    return all(left.count(letter) == right.count(letter) for letter in (bytes((code,)) for code in LETTERS))


def is_import_only(sent: bytes, held: bytes) -> bool:
    """Whether only whole import lines are missing: a formatter removes unused imports."""
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
    """Return how the content `held` shows that `sent` was lost, or ""."""
    wanted, found = unify_lines(sent.encode("utf-8", "surrogatepass")), unify_lines(held)
    # A formatter may change spacing, quotes and punctuation, and remove unused imports. That is no loss.
    if found.strip() == wanted.strip() or has_same_letters(found, wanted) or is_import_only(wanted, found):
        return ""
    if not found.strip():
        return "is empty" if not held else "holds nothing but white space"
    if before is not None and found == unify_lines(before.encode("utf-8", "surrogatepass")):
        return "is as it was before the call"
    if wanted.startswith(found.rstrip()):
        return f"ends after {len(held)} of {len(wanted)} bytes, in the middle of what was sent"
    return ""


def find_content_before(path: str, call: ToolCall) -> str | None:
    """Return what the call itself reports as the content of `path` before it."""
    return next((file.before for file in call.files if file.path == path), None)
