"""Secrets and markup made harmless in what is shown to an agent or a person. Loses letters, never meaning;
never changes what a check compares."""

from __future__ import annotations

TOKEN_STARTS = (
    "sk-", "sk_live_", "sk_test_", "rk_live_", "pk_live_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_",
    "glpat-", "xoxb-", "xoxp-", "xoxa-", "xoxs-", "xapp-", "AKIA", "ASIA", "AIza", "ya29.", "eyJ", "npm_", "pypi-",
    "hf_", "dop_v1_", "SG.", "shpat_", "whsec_", "dckr_pat_", "glrt-", "hooks.slack.com/services/",
)  # fmt: skip
SECRET_NAMES = (
    "password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "api_key", "api-key", "access_key",
    "access-key", "accesskey", "private_key", "authorization", "credential", "cookie", "x-auth", "signature", "sig",
)  # fmt: skip
TAILS = ("s_key", "_access_key", "_key_base", "_key", "-key", "key", "_value", "s")  # secret_key, tokens: ...
SCHEMES = ("Bearer", "bearer", "Basic", "basic", "token")
ENDS = " \t\n,;&|)}]>\"'`"
MASK = "[masked]"
TOKEN_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+/=~")
# Characters that change the order in which text is read, or hide it (Unicode TR 36), and line separators.
HIDDEN = frozenset(
    [*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0x061C, 0x180E]
)


def masked(text: str) -> str:
    """`text` with well-known token shapes, private keys, passwords in URLs and the values of secret-sounding
    names masked."""
    if "PRIVATE KEY-----" in text:
        text = without_keys(text)
    hidden = [*userinfo(text), *values(text), *tokens(text)]
    out = []
    at = 0
    for start, end in sorted(hidden):
        if end > at:
            out += [text[at : max(at, start)], MASK]
            at = end
    return "".join(out) + text[at:]


def userinfo(text: str) -> list[tuple[int, int]]:
    """Where passwords stand in URLs (scheme://user:password@host) and in `-u user:password`."""
    found = []
    at = text.find("://")
    while at >= 0:
        end = until(text, at + 3, ENDS + "/?#")
        sign = text.rfind("@", at + 3, end)
        colon = text.find(":", at + 3, sign) if sign >= 0 else -1
        if colon >= 0:
            found.append((colon + 1, sign))
        at = text.find("://", at + 3)
    for option in (" -u ", " --user "):
        at = text.find(option)
        while at >= 0:
            end = until(text, at + len(option), ENDS)
            colon = text.find(":", at + len(option), end)
            if colon >= 0:
                found.append((colon + 1, end))
            at = text.find(option, at + 1)
    return found


def until(text: str, start: int, stops: str) -> int:
    """The place of the first of `stops` from `start` on, or the end."""
    end = start
    while end < len(text) and text[end] not in stops:
        end += 1
    return end


def values(text: str) -> list[tuple[int, int]]:
    """Where the values of secret-sounding names stand: after : or =, or as the word after --password."""
    low = text.lower()
    found = []
    for name in SECRET_NAMES:
        at = low.find(name)
        while at >= 0:
            place = value_of(text, low, at, at + len(name))
            # A count of tokens is no token; a cookie goes on behind its semicolons.
            if place and name == "cookie":
                place = place[0], until(text, place[0], "\n\"'")
            if place and not (name == "token" and text[place[0] : place[1]].isdigit()):
                found.append(place)
            at = low.find(name, at + len(name))
    return found


def value_of(text: str, low: str, start: int, end: int) -> tuple[int, int] | None:
    """The place of the value that belongs to the name at start:end, None where none does."""
    end += next((len(tail) for tail in TAILS if low.startswith(tail, end)), 0)
    if end < len(text) and (text[end].isalnum() or text[end] in "_-"):
        return None  # a longer word, such as token_count
    at = skip(text, end)
    option = start >= 2 and text[start - 2 : start] == "--"
    if at < len(text) and text[at] in ":=":
        at = skip(text, at + 1, " \t")
    elif not (option and at < len(text) and text[end : end + 1] in (" ", "\"", "'", ",")):
        return None
    while at < len(text) and text[at] in " \t\\,":
        at += 1
    quote = text[at] if at < len(text) and text[at] in "\"'" else ""
    if text[at : at + 1] == "[":
        return at + 1, until(text, at, "]")
    if quote:
        close = until(text, at + 1, quote)
        backslash = close - 1 if text[close - 1 : close] == "\\" else close
        return scheme(text, at + 1, backslash)
    end = until(text, at, ENDS)
    if text[at:end] in SCHEMES:  # the secret is the word behind it
        end = until(text, skip(text, end, " "), ENDS)
    return scheme(text, at, end)


def scheme(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The place without a leading `Bearer` or its like, None where nothing is left."""
    for word in SCHEMES:
        if text.startswith(f"{word} ", start):
            start += len(word) + 1
    return (start, end) if end > start else None


def skip(text: str, at: int, letters: str = " \t\"'\\") -> int:
    while at < len(text) and text[at] in letters:
        at += 1
    return at


def tokens(text: str) -> list[tuple[int, int]]:
    """Where words stand that are secrets by their own shape."""
    found = []
    for start in TOKEN_STARTS:
        at = text.find(start)
        while at >= 0:
            end = at
            while end < len(text) and text[end] in TOKEN_LETTERS:
                end += 1
            if end - at >= 16 and (at == 0 or not text[at - 1].isalnum()):
                found.append((at, end))
            at = text.find(start, at + 1)
    return found


def without_keys(text: str) -> str:
    head, _, rest = text.partition("-----BEGIN")
    end = rest.find("-----END")
    tail = rest[end:].partition("KEY-----")[2] if end >= 0 else ""
    return f"{head}{MASK}{without_keys(tail) if 'PRIVATE KEY-----' in tail else tail}"


def harmless(text: str) -> str:
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


def shortened(text: str, limit: int) -> str:
    """`text` cut in the middle to at most `limit` bytes of UTF-8."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    mark = f" [... {len(data) - limit} bytes left out ...] "
    keep = max(0, limit - len(mark)) // 2
    return data[:keep].decode("utf-8", "ignore") + mark + data[len(data) - keep :].decode("utf-8", "ignore")


def quoted(text: str, limit: int) -> str:
    """`text` of unknown origin, made fit to be quoted as data, on one line, in about `limit` bytes: a value
    that begins a line of its own could pass for an order of ours."""
    return harmless(shortened(masked(window(text, limit)), limit)).replace("\n", "\\n")


def window(text: str, limit: int) -> str:
    """The ends of a long text, wide enough that a secret is masked whole before the middle is cut out."""
    return text if len(text) <= 8 * limit else text[: 4 * limit] + text[-4 * limit :]
