"""Makes text safe to show and to store: escapes hidden characters and client markup, and masks secrets. Does not
change what a check compares."""

from __future__ import annotations

from truecall_py.core.secret_patterns import MASK, find_secrets, is_ordinary, is_secret_name, names_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Characters that change the order in which text is read, or hide it (Unicode TR 36), and line separators.
HIDDEN = frozenset(
    [*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0x061C, 0x180E]
)


MAX_ARGV = 200  # of a list that may be a command's


def mask_secrets(text: str) -> str:
    """Returns `text` with known token shapes, private keys, passwords in URLs and commands, and values of secret
    names masked."""
    out = []
    at = 0
    for start, end in find_secrets(text):
        if end > at:
            out += [text[at : max(at, start)], MASK]
            at = end
    return "".join(out) + text[at:]


def mask_value(value: Any, name: str = "") -> Any:
    """Returns a JSON value with all text in it masked, by its shape and by the key that holds it. `name` is that key,
    or ""."""
    if isinstance(value, dict):
        masked = {key: mask_value(item, key if is_secret_name(key) else name) for key, item in value.items()}
        secret_name = next((value[key] for key in ("name", "key", "header") if isinstance(value.get(key), str)), "")
        if "value" in value and is_secret_name(secret_name):  # a pair, as lists of variables and of headers hold them
            masked["value"] = mask_value(value["value"], secret_name)
        return masked
    if isinstance(value, list):
        befores = ["", *value]
        items = [
            mask_value(item, before if is_secret_option(before) else name)
            for before, item in zip(befores, value)  # noqa: B905 - `befores` has one more
        ]
        argv = items == value and 1 < len(value) < MAX_ARGV and all(isinstance(item, str) for item in value)
        return [value[0], MASK] if argv and MASK in mask_secrets(" ".join(value)) else items
    if value is None or isinstance(value, bool):
        return value
    if is_secret_name(name) and str(value) and not (str(value).isdigit() and names_count(name)):
        kept = isinstance(value, str) and (is_ordinary(value, name.lower()) or value.startswith("--"))
        return value if kept else MASK
    return mask_secrets(value) if isinstance(value, str) else value


def is_secret_option(word: Any) -> bool:
    """Tells whether a word of an argv is an option whose value is a secret."""
    return isinstance(word, str) and word.startswith("--") and is_secret_name(word)


def escape_hidden(text: str) -> str:
    """Returns `text` with control, bidirectional and invisible characters written as escapes, and `<` of markup such
    as `</system-reminder>` as `&lt;`. Newlines and tabs stay."""
    out = []
    for index, character in enumerate(text):
        number = ord(character)
        if character in "\n\t":
            out.append(character)
        elif number < 0x20 or 0x7F <= number < 0xA0:
            out.append(f"\\x{number:02x}")
        elif number in HIDDEN or 0xD800 <= number < 0xE000 or 0xE0000 <= number < 0xE0080:
            out.append(f"\\u{number:04x}")
        elif character == "<" and (text[index + 1 : index + 2].isalpha() or text[index + 1 : index + 2] in "/!?"):
            out.append("&lt;" if text[index + 1 : index + 2] else "<")
        else:
            out.append(character)
    return "".join(out)


def shorten(text: str, limit: int) -> str:
    """Returns `text`, cut in the middle to at most `limit` bytes of UTF-8."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    mark = f" [... {len(data) - limit} bytes left out ...] "
    keep = max(0, limit - len(mark)) // 2
    return data[:keep].decode("utf-8", "ignore") + mark + data[len(data) - keep :].decode("utf-8", "ignore")


def quote(text: str, limit: int) -> str:
    """Returns untrusted `text` on one line, masked and escaped, in about `limit` bytes. On one line it cannot pass
    for an order of truecall's."""
    return escape_hidden(shorten(mask_secrets(cut_window(text, limit)), limit)).replace("\n", "\\n")


def cut_window(text: str, limit: int) -> str:
    """Returns both ends of a long text, wide enough to mask a secret before `shorten` cuts the middle out."""
    return text if len(text) <= 8 * limit else text[: 4 * limit] + text[-4 * limit :]
