"""Signatures of loss: how a file looks when what was sent to it did not arrive. Any other difference may be
the work of a formatter, and is passed over: a file that was written must never be called lost."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.types import ToolCall

LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def lines_of(data: bytes) -> bytes:
    """Line ends made one: clients show LF for files that hold CRLF. A byte order mark does not count."""
    return data.replace(b"\r\n", b"\n").removeprefix(b"\xef\xbb\xbf")


def same_letters(left: bytes, right: bytes) -> bool:
    """Whether a formatter that moves, spaces and quotes could turn one text into the other."""
    return all(left.count(letter) == right.count(letter) for letter in (bytes((code,)) for code in LETTERS))


def loss(sent: str, before: str | None, held: bytes) -> str:
    """How the content `held` shows that `sent` was lost, or ""."""
    wanted, found = lines_of(sent.encode("utf-8", "surrogatepass")), lines_of(held)
    if found.strip() == wanted.strip():
        return ""
    if not found.strip():
        return "is empty" if not held else "holds nothing but white space"
    if before is not None:
        old = lines_of(before.encode("utf-8", "surrogatepass"))
        if found == old and not same_letters(old, wanted):
            return "is as it was before the call"
    if wanted.startswith(found.rstrip()) and found.strip():
        return f"ends after {len(held)} of {len(wanted)} bytes, in the middle of what was sent"
    return ""


def before(path: str, call: ToolCall) -> str | None:
    """What the call itself says was at `path` before it."""
    return next((file.before for file in call.files if file.path == path), None)
