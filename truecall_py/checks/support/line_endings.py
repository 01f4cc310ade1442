"""Describes the bytes of a text file: line ends, encoding, byte order mark. Compares two descriptions. An ambiguous
sign is never taken for either meaning."""

from __future__ import annotations

from truecall_py.core.errors import Unverified

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGEST = 1_000_000  # bytes of a content that is kept whole
BOMS = (("UTF-8", b"\xef\xbb\xbf"), ("UTF-16LE", b"\xff\xfe"), ("UTF-16BE", b"\xfe\xff"))
MARK = b"\xef\xbf\xbd"  # U+FFFD, what a reader puts in place of bytes that it could not decode


def read_facts(data: bytes, whole: bool) -> dict[str, Any]:
    """Return the facts of a content; with `whole` also the content, one character per byte, up to LARGEST."""
    from truecall_py.core.hashing import sha256

    crlf = data.count(b"\r\n")
    told = {
        "size": len(data), "sha256": sha256(data), "crlf": crlf, "lf": data.count(b"\n") - crlf,
        "cr": data.count(b"\r") - crlf, "doubled": data.count(b"\r\r\n"),
        "bom": find_bom(data), "utf8": is_utf8(data), "ascii": data.isascii(),
        "marks": data.count(MARK), "nul": data.count(0),
    }  # fmt: skip
    return {**told, "text": data.decode("latin-1")} if whole and len(data) <= LARGEST else told


def find_bom(data: bytes) -> str:
    """Return the name of the byte order mark, or ""."""
    return next((name for name, mark in BOMS if data.startswith(mark)), "")


def is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def is_utf16(told: dict[str, Any]) -> bool:
    return str(told["bom"]).startswith("UTF-16")


def read_view(told: dict[str, Any]) -> str:
    """Return a content for comparison: without its byte order mark, line ends unified, one character per byte
    (UTF-16: per code unit). Raises Unverified if it was not kept, or is broken UTF-16."""
    if "text" not in told:
        raise Unverified(f"the content has more than {LARGEST} bytes and is not compared", "probe")
    text = str(told["text"])
    if is_utf16(told):
        try:
            text = text[2:].encode("latin-1").decode("utf-16-le" if told["bom"] == "UTF-16LE" else "utf-16-be")
        except UnicodeDecodeError:
            raise Unverified("the file begins like UTF-16 and cannot be read as such", "world") from None
    elif told["bom"]:
        text = text[3:]
    return text.replace("\r\n", "\n")


def make_readable(line: str) -> str:
    """Return a piece of a view for people."""
    try:
        return line.encode("latin-1").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return line  # of UTF-16: characters already


def find_style(told: dict[str, Any]) -> str:
    """Return LF, CRLF, CR, mixed, or "" for at most one line."""
    if told["crlf"] and told["lf"]:
        return "mixed"
    return "CRLF" if told["crlf"] else "LF" if told["lf"] else "CR" if told["cr"] else ""


def compare_endings(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Return how the line ends changed, or "". Raises Unverified."""
    if is_utf16(before) or is_utf16(now):
        raise Unverified("line ends of UTF-16 are not looked at", "probe")
    if now["doubled"] > before["doubled"]:
        return f"ends {now['doubled'] - before['doubled']} lines with CR CR LF: each line end was written twice"
    was, is_ = find_style(before), find_style(now)
    alone = [told["cr"] if told["crlf"] or told["lf"] else 0 for told in (before, now)]
    if alone[0] != alone[1] and "CR" not in (was, is_):
        raise Unverified(f"{alone[1]} carriage returns stand alone in it, and {alone[0]} did before", "probe")
    if was == is_ != "mixed" or not was or not is_:
        return "" if is_ != "mixed" else "mixes LF and CRLF"
    if was == "mixed":
        if (before["crlf"], before["lf"]) == (now["crlf"], now["lf"]):
            return ""
        raise Unverified("the file mixed LF and CRLF before the call, so what was kept cannot be told", "probe")
    if is_ == "mixed":
        odd, name = (now["crlf"], "CRLF") if was == "LF" else (now["lf"], "LF")
        return f"ends {odd} of {now['crlf'] + now['lf']} lines with {name}, where all ended with {was}"
    return f"ends its lines with {is_}, where all ended with {was}"


def compare_encoding(before: dict[str, Any], now: dict[str, Any], sent: str | None, rest: list[str] | None) -> str:
    """Return how the encoding changed, or "". `sent` is all text that the call sent (None: unknown), `rest` the
    untouched pieces of the content before. Raises Unverified."""
    if not before["size"] or not now["size"]:
        raise Unverified("the file is empty, or was, so there is no encoding to keep", "vacuous")
    if before["bom"] != now["bom"]:
        lost = f"lost its byte order mark ({before['bom']})"
        return f"begins with a byte order mark ({now['bom']}), and did not before" if now["bom"] else lost
    if is_utf16(before):
        read_view(now)
        return ""
    if bool(before["nul"]) is not bool(now["nul"]):
        raise Unverified("it holds NUL bytes now and did not, or did; it may be UTF-16 without a mark", "probe")
    if before["utf8"]:
        return compare_utf8(before, now, sent)
    new = now["marks"] - before["marks"]
    if new > 0:
        return f"holds {new} U+FFFD ({MARK.hex(' ')}) that it did not hold before: bytes that are not UTF-8 were lost"
    if now["utf8"]:
        if now["ascii"]:
            raise Unverified("every byte that was not ASCII is gone, so its encoding cannot be told", "probe")
        return "was not UTF-8 before, and is now: it was written in another encoding"
    if "text" not in before or "text" not in now:
        raise Unverified(f"the file is larger than {LARGEST} bytes and not UTF-8, and is not compared", "probe")
    stretches = [before["text"]] if rest is None else rest
    found, at = select_high_bytes(now["text"]), 0
    for stretch in map(select_high_bytes, stretches):
        place = found.find(stretch, at)
        if place < 0:
            if rest is None:
                raise Unverified("bytes that are not ASCII changed, and which the call meant is not known", "probe")
            return "is not UTF-8, and lost bytes outside of the edits, or had them changed"
        at = place + len(stretch)
    return ""


def compare_utf8(before: dict[str, Any], now: dict[str, Any], sent: str | None) -> str:
    if not now["utf8"]:
        if before["ascii"]:
            raise Unverified("it was plain ASCII, which every encoding begins with, and is not UTF-8 now", "probe")
        return "is no longer UTF-8"
    new = now["marks"] - before["marks"]
    if new > 0:
        if sent is None or "\ufffd" in sent:
            raise Unverified(f"it holds {new} more U+FFFD, and whether the call meant that is not known", "probe")
        return f"holds {new} U+FFFD that it did not hold before: characters were lost"
    return ""


def select_high_bytes(text: str) -> str:
    return "".join(character for character in text if character >= "\x80")
