"""Finds secrets in text by token shape, by the name before a value and by a command's options. Returns positions and
changes nothing. Hashes and file names are not secrets."""

from __future__ import annotations

TOKEN_STARTS = (
    "sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "whsec_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_",
    "github_pat_", "glpat-", "glrt-", "gldt-", "glptt-", "glcbt-", "glft-", "gloas-", "xoxa-", "xoxb-", "xoxe-",
    "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxe.xox", "xapp-", "hooks.slack.com/services/", "AIza", "GOCSPX-", "ya29.",
    "eyJ", "dop_v1_", "shpat_", "dckr_pat_", "AGE-SECRET-KEY-", "lin_api_", "tskey-", "sbp_", "PMAK-", "ATATT",
)  # fmt: skip
# Words begin so, too: only what has a digit in it is a token.
COMMON_STARTS = ("sk-", "npm_", "pypi-", "hf_", "SG.", "gsk_", "xai-", "Bearer ", "bearer ")
AWS, AWS_LENGTH = ("AKIA", "ASIA", "ABIA", "ACCA"), 20  # key ids: upper-case letters and digits, so many of them
SECRET_NAMES = (
    "password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "api_key", "api-key", "access_key",
    "access-key", "accesskey", "private_key", "privatekey", "authorization", "credential", "cookie", "x-auth",
    "signature", "sig", "_pass", "-pass",
)  # fmt: skip
COUNTED = ("token", "_pass", "-pass")  # a number behind these is a number of them
TAILS = ("s_key", "_access_key", "_key_base", "_key", "-key", "key", "_value", "value", "s")  # secret_key, tokens
SCHEMES = ("Bearer", "bearer", "Basic", "basic", "token")
ENDS = " \t\n,;&|)}]>\"'`"
MASK = "[masked]"  # what stands in a secret's place
WORD = "_masked_"  # the same as a plain word of a command, which brackets are not
MASKS = (MASK, MASK[:-1], MASK[1:-1])  # what an earlier masking left, as far as it is taken for a value
NEAR = 2000  # letters in which what belongs together is looked for
SHORT = 300  # the same of a command's options
TOKEN_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+/=~")
# What stands behind the name of a secret in a program or a schema, and is none.
WORDS = frozenset(("str", "string", "text", "bytes", "int", "integer", "number", "float", "bool", "boolean", "any",
                   "none", "null", "nil", "true", "false", "undefined", "optional"))  # fmt: skip
LOOKED_UP = ("${", "$(", "{{", "%(", "process.env", "os.environ", "os.getenv", "getenv", "<your", "env.")
# How a check says what a value is: `DB_PASSWORD of /app/.env is "..."`.
PHRASES = (" is not ", " is one of ", " is ", " was ", " equals ", " contains ", " does not contain ", " matches ")
# Options that take a password: (option, whether it is attached, whether it is the next word, programs).
PASSING = (
    (" -p", True, False, ("mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump", "psql")),
    (" -p", True, True, ("sshpass", "mongo", "mongosh", "mongodump", "mongorestore")),
    (" -p", False, True, ("login",)),
    (" -P", True, True, ("sqlcmd", "zip", "unzip")),
    (" -a", False, True, ("redis-cli",)),
    (" -w", False, True, ("ldapsearch", "ldapmodify", "ldapadd")),
    (" pass:", True, False, ("openssl",)),
)


def find_secrets(text: str) -> list[tuple[int, int]]:
    """Returns (begin, end) of every secret in `text`, sorted; they may overlap."""
    secrets = [
        *find_private_keys(text), *find_url_passwords(text), *find_option_passwords(text),
        *find_named_values(text), *find_tokens(text),
    ]  # fmt: skip
    return sorted((begin, end) for begin, end in secrets if text[begin:end] not in MASKS)


def is_secret_name(name: str) -> bool:
    """Tells whether the value of a key with this name is a secret."""
    low = name.lower()
    for secret_name in SECRET_NAMES:
        at = low.rfind(secret_name)
        if at >= 0 and find_name_end(low, at + len(secret_name)) == len(low):
            return True
    return False


def names_count(name: str) -> bool:
    return any(each in name.lower() for each in COUNTED)


def find_name_end(low: str, end: int) -> int:
    """Returns the end of a name whose secret-sounding part ends at `end`."""
    return end + next((len(each) for each in TAILS if low.startswith(each, end)), 0)


def find_private_keys(text: str) -> list[tuple[int, int]]:
    """Finds private keys, whole or cut at either end."""
    positions = []
    at = text.find("PRIVATE KEY")
    while at >= 0:
        begin = text.rfind("-----", max(0, at - 40), at)
        if begin >= 0 and text.startswith("-----BEGIN", begin):
            end = text.find("-----END", at)
            close = text.find("-----", end + 8) + 5 if end >= 0 else 0
            positions.append((begin, close if close > 4 else len(text)))
            at = positions[-1][1]
        elif begin >= 0 and text.startswith("-----END", begin) and not (positions and positions[-1][1] > begin):
            positions.append((text.rfind("-----", 0, begin) + 5 if "-----" in text[:begin] else 0, begin))
        at = text.find("PRIVATE KEY", at + 1)
    return positions


def find_url_passwords(text: str) -> list[tuple[int, int]]:
    """Finds passwords in URLs (scheme://user:password@host) and in `curl -u user:password`."""
    positions = []
    at = text.find("://")
    while at >= 0:
        end = find_end(text, at + 3, ENDS + "/?#")
        sign = text.rfind("@", at + 3, end)
        colon = text.find(":", at + 3, sign) if sign >= 0 else -1
        if colon >= 0:
            positions.append((colon + 1, sign))
        elif sign - at > 22:  # no name is so long: a token alone
            positions.append((at + 3, sign))
        at = text.find("://", end)
    for option in (" -u", " --user", " --proxy-user", " -U"):
        at = text.find(option)
        while at >= 0:
            start = skip_letters(text, at + len(option), " \t=\"'\\")
            end = find_end(text, start, ENDS)
            colon = text.find(":", start, end)
            password = text[colon + 1 : end]
            if colon >= 0 and not password.isdigit() and find_program(text, at, ("curl", "http", "https")):
                positions.append((colon + 1, end))
            at = text.find(option, at + 1)
    return positions


def find_option_passwords(text: str) -> list[tuple[int, int]]:
    """Finds passwords that a command takes by an option without a telling name (PASSING)."""
    positions = []
    for option, attached, apart, names in PASSING:
        at = text.find(option)
        while at >= 0:
            start = at + len(option)
            blank = text[start : start + 1] in (" ", "")
            start = skip_letters(text, start) if apart or not blank else start
            end = find_end(text, start, ENDS)
            if (apart if blank else attached) and end > start:
                here = find_program(text, at, names)
                port = here == "psql" and text[start:end].isdigit()
                if here and not port and not text[start:end].startswith(("$", "-")):
                    positions.append((start, end))
            at = text.find(option, at + 1)
    return positions


def find_program(text: str, at: int, names: tuple[str, ...]) -> str:
    """Returns the one of `names` that is a word of the command around position `at`, or ""."""
    begin = max(max(0, at - SHORT), *(text.rfind(stop, max(0, at - SHORT), at) + 1 for stop in ";|&\n("))
    for name in names:
        here = text.find(name, begin, at)
        while here >= 0:
            around = text[here - 1 : here] + text[here + len(name) : here + len(name) + 1]
            if not any(letter.isalnum() or letter in "-_" for letter in around):
                return name
            here = text.find(name, here + 1, at)
    return ""


def find_end(text: str, start: int, stops: str) -> int:
    """Returns the position of the first of `stops` from `start` on, or the end of the text."""
    end = start
    while end < len(text) and text[end] not in stops:
        end += 1
    return end


def find_named_values(text: str) -> list[tuple[int, int]]:
    """Finds the values of secret names: after : or =, as the word after --password, or in a check's phrase."""
    low = text.lower()
    positions = []
    for name in SECRET_NAMES:
        at = low.find(name)
        while at >= 0:
            end = find_name_end(low, at + len(name))
            if not (end < len(text) and (text[end].isalnum() or text[end] in "_-")):  # else token_count and its like
                place = find_value(text, at, end)
                # A cookie goes on behind its semicolons.
                if place and name == "cookie":
                    place = place[0], find_end(text, place[0], "\n\"'")
                if place and not (name in COUNTED and text[place[0] : place[1]].isdigit()):
                    positions.append(place)
                quotes = find_quoted_values(text, end, name in COUNTED)
                positions += quotes
                end = max(end, place[1] if place else 0, quotes[-1][1] if quotes else 0)
            at = low.find(name, end)
    return positions


def find_value(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Returns (begin, end) of the value that belongs to the name at start:end, or None."""
    at = skip_letters(text, end)
    option = text[max(0, start - 2) : start] == "--" or text[max(0, start - 1) : start + 1] == "--"
    if text[end : end + 1] == ">":  # <password>...</password>
        close = find_end(text, end, "<")
        return (end + 1, close) if text.startswith("</", close) and close > end + 1 else None
    colon = text[at : at + 1] == ":"
    if text[at : at + 1] in (":", "="):
        at = skip_letters(text, skip_letters(text, at + 1, "=>"), " \t")
    elif not (option and at < len(text) and text[end : end + 1] in (" ", "\"", "'", ",")):
        return None
    at = skip_letters(text, at, " \t,") if option else at
    if text.startswith(("\\\"", "\\'"), at):  # in a text that is quoted itself
        return strip_scheme(text, at + 2, find_closing_quote(text, at + 2, text[at : at + 2]))
    if text[at : at + 1] in ("\"", "'"):
        return strip_scheme(text, at + 1, find_closing_quote(text, at + 1, text[at]))
    if text.startswith(MASK, at):
        return None
    if text[at : at + 1] in ("[", "{"):
        return at + 1, find_end(text, at, "]" if text[at] == "[" else "}")
    if text[at : at + 1] in ("|", ">") and colon:
        return find_block(text, at)
    own = begins_line(text, start)
    end = find_end(text, at, " \t\n\"'" if colon and own else ENDS)
    if text[at:end] in SCHEMES:  # the secret is the word behind it
        end = find_end(text, skip_letters(text, end, " "), ENDS)
    return None if is_ordinary(text[at:end], text[start:end].lower()) else strip_scheme(text, at, end)


def is_ordinary(value: str, name: str) -> bool:
    """Tells whether the value after a secret name is no secret: a type, a reference, a folder."""
    word = value.rstrip("?;,.!").lower()
    if word in WORDS or value.startswith(LOOKED_UP) or (value[:1] in ("/", "~") and name.startswith("pwd")):
        return True
    return value[:1] == "$" and len(value) > 1 and value[1:].replace("_", "").isalnum() and value[1:].isupper()


def begins_line(text: str, start: int) -> bool:
    """Tells whether the key that ends in this name is first on its line."""
    while start and (text[start - 1].isalnum() or text[start - 1] in "_-."):
        start -= 1
    while start and text[start - 1] in " \t":
        start -= 1
    return start == 0 or text[start - 1] == "\n"


def find_block(text: str, at: int) -> tuple[int, int] | None:
    """Returns (begin, end) of a YAML block scalar whose indicator is at `at`, or None."""
    line = text.find("\n", at)
    if line < 0 or text[at:line].strip("|>+-0123456789 \t\r"):
        return None
    begin = end = line + 1
    while end < len(text):
        stop = text.find("\n", end)
        stop = len(text) if stop < 0 else stop
        if text[end:stop].strip() and text[end] not in " \t":
            break
        end = stop + 1
    return (begin, min(end, len(text))) if min(end, len(text)) > begin else None


def find_closing_quote(text: str, at: int, quote: str) -> int:
    """Returns the position of the quote that closes the string at `at`, or the end of the text."""
    while True:
        end = text.find(quote, at)
        if end < 0:
            return len(text)
        if len(quote) == 2 or text[end - 1] != "\\" or end == at:
            return end
        at = end + 1


def find_quoted_values(text: str, at: int, counted: bool) -> list[tuple[int, int]]:
    """Finds the values that a check's phrase quotes after the name that ends at `at`, on the same line."""
    line = text.find("\n", at, at + NEAR)
    line = min(len(text), at + NEAR) if line < 0 else line
    if text.startswith(" of ", at):
        candidates = [(place, phrase) for phrase in PHRASES if (place := text.find(phrase, at, line)) >= 0]
        at, phrase = min(candidates, key=lambda pair: (pair[0], -len(pair[1])), default=(line, ""))
    else:
        phrase = next((each for each in PHRASES if text.startswith(each, at)), "")
    at += len(phrase)
    if not phrase or (text[at : at + 1] not in ("\"", "[") and not text[at : at + 1].isdigit()):
        return []
    if text[at].isdigit():
        return [] if counted else [(at, find_end(text, at, ENDS))]
    positions = []
    while (begin := text.find("\"", at, line)) >= 0:
        at = find_closing_quote(text, begin + 1, "\"")
        if at > begin + 1 and text[begin + 1 : at] != MASK:
            positions.append((begin + 1, at))
        at += 1
    return positions


def strip_scheme(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Returns (start, end) without a leading `Bearer` or similar; None if nothing remains."""
    for word in SCHEMES:
        if text.startswith(f"{word} ", start):
            start += len(word) + 1
    return (start, end) if end > start and text[start:end] != MASK else None


def skip_letters(text: str, at: int, letters: str = " \t\"'\\") -> int:
    while at < len(text) and text[at] in letters:
        at += 1
    return at


def find_tokens(text: str) -> list[tuple[int, int]]:
    """Finds words that are secrets by their shape."""
    positions = []
    for start in (*TOKEN_STARTS, *COMMON_STARTS, *AWS):
        at = text.find(start)
        while at >= 0:
            begin = end = at + (len(start) if start.endswith(" ") else 0)
            if at == 0 or not text[at - 1].isalnum():
                while end < len(text) and text[end] in TOKEN_LETTERS:
                    end += 1
                if end - begin >= 16 and is_token(start, text[begin:end]):
                    positions.append((begin, end))
            at = text.find(start, max(at + 1, end))
    return positions


def is_token(start: str, word: str) -> bool:
    """Tells whether a word with a known start has the shape of a token."""
    if start in AWS:
        return word[:AWS_LENGTH].isalnum() and word[:AWS_LENGTH].isupper() and not word[AWS_LENGTH:][:1].isalnum()
    return start not in COMMON_STARTS or any(letter.isdigit() for letter in word)
