"""The pieces of a shell text: reserved words, operators, and what has an end of its own, such as parameters,
arithmetic, `$'...'`, backticks, here-documents. Functions of a text and a place in it; they must raise
`UnsureError` for every piece whose end, or whose effect on what follows, is not certain."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# How far the rest of the line can still be trusted: as written, only if all ended well, not at all.
CALM, WARY, LOST = 0, 1, 2

_OPERATORS = (
    (";;&", "<<-", "<<<", "&>>"),
    (";;", ";&", "&&", "||", "|&", "<<", ">>", "<&", ">&", "<>", ">|", "&>"),
    (";", "&", "|", "<", ">", "(", ")"),
)
CLOSERS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}"))
OPENERS = frozenset(("if", "while", "until", "for", "select", "case", "{", "[[", "function"))
# What a closer needs to find open, and what it leaves open instead (None: nothing, the compound is over).
CLOSING: dict[str, tuple[tuple[str, ...], str | None]] = {
    "then": (("if",), "then"),
    "elif": (("then",), "if"),
    "else": (("then",), "else"),
    "fi": (("then", "else"), None),
    "do": (("while",), "do"),
    "done": (("do",), None),
    "esac": (("case",), None),
    "}": (("{",), None),
}
_COMPARISONS = frozenset(
    ("=", "==", "!=", "=~", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef")
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
_ESCAPES |= {"E": "\x1b", "\\": "\\", "'": "'", '"': '"', "?": "?"}


class UnsureError(Exception):
    """The command cannot be read with certainty. Never leaves `shell`."""


def give_up() -> NoReturn:
    raise UnsureError


def find_operator(text: str, at: int) -> str:
    """Return the longest operator at a place."""
    return next(found for width in _OPERATORS for found in width if text.startswith(found, at))


def is_descriptor(word: str) -> bool:
    """True for what may stand before a redirection: `2>`, `{name}>`."""
    name = word[1:-1]
    return (word.isascii() and word.isdigit()) or (word == "{" + name + "}" and name.isidentifier())


def skip_blanks(text: str, at: int) -> int:
    """Return the place after blanks and tabs."""
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    return at


def skip_name(text: str, at: int) -> int:
    """Return the place after a variable name."""
    while at < len(text) and text[at].isascii() and (text[at].isalnum() or text[at] == "_"):
        at += 1
    return at


def read_parameter(text: str, at: int) -> tuple[int, int]:
    """Past the name in `${name...`; what may go wrong with the operator that follows."""
    end, risk = at, CALM
    if text[at : at + 1] in ("!", "#") and text[at + 1 : at + 2] not in ("}", ""):
        risk = LOST if text[at] == "!" else CALM
        end = at + 1
    start = end
    end = skip_name(text, end)
    if end == start:
        if text[end : end + 1] not in tuple("@*#?$!-"):
            give_up()
        end += 1
    if text[end : end + 3] in ("[@]", "[*]"):
        end += 3
    following = text[end : end + 1]
    if following not in tuple("}:#%/^,+-=?"):
        give_up()
    if following == "?" or text.startswith(":?", end):
        risk = max(risk, WARY)
    elif following == ":" and text[end + 1 : end + 2] not in tuple("-+="):
        risk = LOST  # offsets are arithmetic
    return end, risk


def skip_arithmetic(text: str, at: int) -> int:
    """The place after the `))` that ends it."""
    depth = 0
    for end in range(at, len(text)):
        char = text[end]
        if char in "'\"`\\\n" or (char == "$" and text.startswith("(", end + 1)):
            break
        if char == "(":
            depth += 1
        elif char == ")":
            if not depth:
                if text.startswith("))", end):
                    return end + 2
                break
            depth -= 1
    return give_up()


def read_ansi_string(text: str, at: int) -> tuple[int, str | None]:
    """What `$'...'` stands for, and the place after it."""
    out: list[str] = []
    unknown = False
    while True:
        char = text[at : at + 1]
        if not char:
            give_up()
        at += 1
        if char == "'":
            break
        if char != "\\":
            out.append(char)
            continue
        escape = text[at : at + 1]
        at += 1
        if escape in _ESCAPES:
            out.append(_ESCAPES[escape])
            continue
        digits, base = ("01234567", 8) if escape in tuple("01234567") else ("0123456789abcdefABCDEF", 16)
        width = {"x": 2, "u": 4, "U": 8}.get(escape, 3 if base == 8 else 0)
        start = at - 1 if base == 8 else at
        end = start
        while end < start + width and end < len(text) and text[end] in digits:
            end += 1
        code = int(text[start:end], base) if end > start else 0
        if 0 < code < 128:
            out.append(chr(code))
        else:
            unknown = True
        at = end if width else at
    return at, None if unknown else "".join(out)


def find_backtick(text: str, at: int) -> int:
    """The place of the backtick that ends what begins at this one."""
    end = at + 1
    while True:
        while text[end : end + 1] not in ("`", "\\", ""):
            end += 1
        if end >= len(text):
            give_up()
        if text[end] == "`":
            return end
        end += 2


def read_document(text: str, at: int, delimiter: str, quoted: bool, strip: bool) -> tuple[int, str]:
    """The text of a here-document that begins at this place, and the place after it."""
    lines: list[str] = []
    held = ""
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        at = end + 1
        if strip:
            line = line.lstrip("\t")
        line, held = held + line, ""
        if not quoted and (len(line) - len(line.rstrip("\\"))) % 2:
            if len(line) > 10_000:
                give_up()
            held = line[:-1]
        elif line == delimiter:
            return at, "".join(lines)
        else:
            lines.append(line + "\n")
    return give_up()


def check_condition(terms: list[str]) -> None:
    """The common forms inside `[[ ]]`; a mistake there is a syntax error for the whole line."""
    if terms[:1] == ["!"]:
        terms = terms[1:]
    option = bool(terms) and terms[0].startswith("-")
    if len(terms) == 1 and not option:
        return
    if len(terms) == 2 and option and len(terms[0]) == 2 and terms[0][1] in "abcdefghkprstuvwxzGLNOSnoR":
        return
    if len(terms) == 3 and terms[1] in _COMPARISONS and not option and terms[2] not in _COMPARISONS:
        return
    give_up()
