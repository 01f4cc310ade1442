"""Secrets and markup made harmless in what is shown to an agent or a person, and secrets in what is stored. Loses
letters, never meaning; never changes what a check compares."""

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
    """`text` with well-known token shapes, private keys, passwords in URLs and commands and the values of
    secret-sounding names masked."""
    out = []
    at = 0
    for start, end in find_secrets(text):
        if end > at:
            out += [text[at : max(at, start)], MASK]
            at = end
    return "".join(out) + text[at:]


def mask_value(value: Any, name: str = "") -> Any:
    """A JSON value with every text in it masked: by its own shape, and by the name of the key under which it stands.
    `name` is that key, "" where it says nothing."""
    if isinstance(value, dict):
        found = {key: mask_value(each, key if is_secret_name(key) else name) for key, each in value.items()}
        told = next((value[key] for key in ("name", "key", "header") if isinstance(value.get(key), str)), "")
        if "value" in value and is_secret_name(told):  # a pair, as lists of variables and of headers hold them
            found["value"] = mask_value(value["value"], told)
        return found
    if isinstance(value, list):
        befores = ["", *value]
        rows = [
            mask_value(item, before if is_secret_option(before) else name)
            for before, item in zip(befores, value)  # noqa: B905 - `befores` has one more
        ]
        argv = rows == value and 1 < len(value) < MAX_ARGV and all(isinstance(each, str) for each in value)
        return [value[0], MASK] if argv and MASK in mask_secrets(" ".join(value)) else rows
    if value is None or isinstance(value, bool):
        return value
    if is_secret_name(name) and str(value) and not (str(value).isdigit() and names_count(name)):
        kept = isinstance(value, str) and (is_ordinary(value, name.lower()) or value.startswith("--"))
        return value if kept else MASK
    return mask_secrets(value) if isinstance(value, str) else value


def is_secret_option(word: Any) -> bool:
    return isinstance(word, str) and word.startswith("--") and is_secret_name(word)


def escape_hidden(text: str) -> str:
    """`text` with control, bidirectional and invisible characters written out, and markup that a client might
    take for its own (`</system-reminder>`) disarmed. New lines and tabs stay."""
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
    """`text` cut in the middle to at most `limit` bytes of UTF-8."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    mark = f" [... {len(data) - limit} bytes left out ...] "
    keep = max(0, limit - len(mark)) // 2
    return data[:keep].decode("utf-8", "ignore") + mark + data[len(data) - keep :].decode("utf-8", "ignore")


def quote(text: str, limit: int) -> str:
    """`text` of unknown origin, made fit to be quoted as data, on one line, in about `limit` bytes: a value
    that begins a line of its own could pass for an order of ours."""
    return escape_hidden(shorten(mask_secrets(cut_window(text, limit)), limit)).replace("\n", "\\n")


def cut_window(text: str, limit: int) -> str:
    """The ends of a long text, wide enough that a secret is masked whole before the middle is cut out."""
    return text if len(text) <= 8 * limit else text[: 4 * limit] + text[-4 * limit :]
