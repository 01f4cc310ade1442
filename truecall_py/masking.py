"""Secrets and markup made harmless in what is shown to an agent or a person. Loses letters, never meaning;
never changes what a check compares."""

from __future__ import annotations

TOKEN_STARTS = (
    "sk-", "sk_live_", "sk_test_", "rk_live_", "pk_live_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_",
    "glpat-", "xoxb-", "xoxp-", "xoxa-", "xoxs-", "xapp-", "AKIA", "ASIA", "AIza", "ya29.", "eyJ", "npm_", "pypi-",
    "hf_", "dop_v1_", "SG.", "shpat_",
)  # fmt: skip
SECRET_NAMES = (
    "password", "passwd", "secret", "token", "apikey", "api_key", "api-key", "access_key", "private_key",
    "authorization", "credential", "client_secret", "cookie",
)  # fmt: skip
SCHEMES = ("Bearer", "bearer", "Basic", "basic", "token", "=")
MASK = "[masked]"
TOKEN_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+/=~")
# Characters that change the order in which text is read, or hide it (Unicode TR 36), and line separators.
HIDDEN = frozenset(
    [*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0x061C, 0x180E]
)


def words(text: str) -> list[tuple[bool, str]]:
    """`text` cut into runs of token letters (True) and of everything else (False)."""
    runs: list[tuple[bool, str]] = []
    start = 0
    for index in range(1, len(text) + 1):
        if index == len(text) or (text[index] in TOKEN_LETTERS) != (text[start] in TOKEN_LETTERS):
            runs.append((text[start] in TOKEN_LETTERS, text[start:index]))
            start = index
    return runs


def is_token(word: str) -> bool:
    return len(word) >= 16 and word.startswith(TOKEN_STARTS)


def names_secret(word: str) -> bool:
    low = word.lower().rstrip("=")
    return any(low.endswith(name) for name in SECRET_NAMES)


def masked(text: str) -> str:
    """`text` with well-known token shapes, private keys and the values of secret-sounding names masked."""
    if "PRIVATE KEY-----" in text:
        text = without_keys(text)
    out: list[str] = []
    named = armed = False  # a secret-sounding name was seen; and then : or =, so that its value comes next
    for is_word, run in words(text):
        if not is_word:
            between = run.strip(" \t\"'\\")
            armed = named and (armed or between == ":") and between in ("", ":")
            named = named and between in ("", ":")
            out.append(run)
            continue
        name, equals, value = run.partition("=")
        if is_token(run) or (armed and run not in SCHEMES):
            out.append(MASK)
            named = armed = False
        elif equals and value and (names_secret(name) or is_token(value)):
            out.append(f"{name}={MASK}")
        else:
            armed = armed or (named and run == "=")
            named = armed or names_secret(run)
            armed = armed or (named and run.endswith("="))
            out.append(run)
    return "".join(out)


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
    """`text` of unknown origin, made fit to be quoted as data, in about `limit` bytes."""
    return harmless(shortened(masked(window(text, limit)), limit))


def window(text: str, limit: int) -> str:
    """The ends of a long text, wide enough that a secret is masked whole before the middle is cut out."""
    return text if len(text) <= 8 * limit else text[: 4 * limit] + text[-4 * limit :]
