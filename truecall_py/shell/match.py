"""Lays a Pattern of `runs` over the words of one command. It must never call a word matched that the program may
have read as something else, and never capture one that the parser does not know."""

from __future__ import annotations

from truecall_py.shell.later_effects import split_path
from truecall_py.shell.unwrap import WRAPPERS, base_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from truecall_py.shell.lexer import Simple
    from truecall_py.shell.pattern import Pattern

# What is written there is kept nowhere.
_NOWHERE = ("/dev/", "/proc/", "//")


def capture_redirections(form: Pattern, simple: Simple) -> dict[str, str] | None:
    """What the pattern captures of the redirections of a command; None: they are not those that it describes."""
    captures: dict[str, str] = {}
    if form.redirected:
        sign, name = form.redirected
        output = find_output(simple)
        if output is None or output[0] != sign:
            return None
        captures[name] = output[1]
    if form.text:
        text = find_document(simple)
        if text is None:
            return None
        captures[form.text] = text
    return captures


def find_output(simple: Simple) -> tuple[str, str] | None:
    """Where the standard output of a command goes, as (">" or ">>", file); None where that is no file, or it is
    not known which."""
    redirect = None
    for operator, target in simple.redirections:
        kind = operator.lstrip("0123456789")
        number = operator[: len(operator) - len(kind)].lstrip("0")
        if operator[0] == "{" or (number or "1" if kind[0] in ">&" else number) != "1":
            continue
        copies = kind == ">&" and (operator != kind or target is None or target[:1] in tuple("0123456789-"))
        if redirect or copies or kind[0] == "<" or not target or target.startswith(_NOWHERE):
            return None
        redirect = (">>" if kind.endswith(">>") else ">", target)
    return redirect


def find_document(simple: Simple) -> str | None:
    """The text of the here-document that is the only input of a command, where the shell takes it is."""
    texts = [(operator, target) for operator, target in simple.redirections if "<" in operator]
    if len(texts) != 1 or texts[0][0] not in ("<<", "<<-"):
        return None
    return texts[0][1]


def match_words(
    form: Pattern, argv: list[str | None], dropped: list[str | None], captured: dict[str, str]
) -> list[dict[str, str]] | None:
    """What the pattern captures of the words of a command, one dict for each operand; None: it does not match.
    `dropped` are the words of sudo, env and the like before it, `captured` is what was found beside its words."""
    if _is_refused(form, argv, dropped):
        return None
    many: list[dict[str, str]] = []
    words = _take_options(form, argv, captured, many)
    if words is None or not form.needed <= {*captured, *(form.every for _ in many)}:
        return None
    at = 0
    ended = False
    for position, (kind, value) in enumerate(form.words):
        if kind == "word":
            word = words[at] if at < len(words) else None
            if at == 0 and word is not None and not form.folder:
                word = base_name(word)
            if word is None or not _matches_glob(value, word):
                return None
            ended = ended or word == "--"
            at += 1
            continue
        stop = at + 1 if kind == "one" else len(words) - (len(form.words) - position - 1)
        taken = 0
        while at < len(words) and (at < stop or not taken):
            word = words[at]
            at += 1
            if word == "--" and not ended:
                ended, stop = True, stop + (kind == "one")
                continue
            if not word or (word.startswith("-") and not ended):
                return None
            taken += 1
            if kind == "one":
                captured["".join(value)] = word
                break
            many.append({"".join(value): word})
        if not taken:
            return None
    if at < len(words) and words[at:] != ["--"] and not form.rest:
        return None
    if _operands_cross(form, captured, many):
        return None
    found = [captured | binding for binding in many] or [captured]
    return [binding for binding in found if _compose_captures(form, binding)] or None


def _operands_cross(form: Pattern, captured: dict[str, str], many: list[dict[str, str]]) -> bool:
    """Whether the way to one operand may lead through another: `mv link link/new` takes it away."""
    single = [captured["".join(value)] for kind, value in form.words if kind == "one"]
    if not single or len(single) + len(many) < 2:
        return False
    ways = [split_path(word) for word in single]
    others = [split_path(word) for binding in many for word in binding.values()]
    if any(way == other for way in ways for other in others):
        return True
    return any(is_below(way, other) or is_below(other, way) for way in ways for other in others + ways)


def is_below(path: tuple[str, list[str]], other: tuple[str, list[str]]) -> bool:
    """Whether a path lies below another, or may: of an absolute and a relative one only the names tell."""
    (kind, parts), (other_kind, above) = path, other
    if kind != other_kind:
        return bool(above) and above[-1] in parts[:-1]
    return 0 < len(above) < len(parts) and parts[: len(above)] == above


def _take_options(
    form: Pattern, argv: list[str | None], captured: dict[str, str], many: list[dict[str, str]]
) -> list[str | None] | None:
    """The words but for those options that may stand anywhere, whose values are captured (in `many` those of the one
    that may be there more than once); None where a value is not known, or stands there twice."""
    if not form.short and not form.long:
        return argv
    words = argv[:1]
    at = 1
    while at < len(argv):
        word = argv[at]
        at += 1
        if word == "--":
            return words + argv[at - 1 :]
        if word is None or len(word) < 2 or word[0] != "-":
            words.append(word)
            continue
        name, value = _read_option(form, word)
        if name is None and value is None:
            words.append(word)
        elif name is not None:
            if value is None:
                if at == len(argv):
                    return None
                value = argv[at]
                at += 1
            if value is None or (name and (value in ("", "-") or name in captured)):
                return None
            if name and name == form.every:
                many.append({name: value})
            elif name:
                captured[name] = value
    return words


def _read_option(form: Pattern, word: str) -> tuple[str | None, str | None]:
    """What an option of the pattern is in this word: (None, None) nothing, (None, "") without a value, (name,
    value) with one, (name, None) with one in the next word."""
    if word.startswith("--"):
        option, equals, value = word.partition("=")
        if option not in form.long or (equals and form.long[option] is None):
            return None, None
        name = form.long[option]
        return (None, "") if name in (None, "?") else (name, value if equals else None)
    for at in range(1, len(word)):
        if word[at] not in form.short:
            return None, None
        name = form.short[word[at]]
        if name == "?":
            break
        if name is not None:
            return name, word[at + 1 :] or None
    return None, ""


def _compose_captures(form: Pattern, capture: dict[str, str]) -> bool:
    """Adds what is made of a capture; False where a path has no last part that is a name."""
    for name, pieces in form.made:
        text = ""
        for piece in pieces:
            if isinstance(piece, str):
                text = text.rstrip("/") + piece if piece[0] == "/" and text else text + piece
                continue
            value = capture[piece[0]]
            if text.endswith("/"):
                value = value.rstrip("/").rpartition("/")[2]
                if value in ("", ".", ".."):
                    return False
            text += value
        capture[name] = text
    return True


def _is_refused(form: Pattern, argv: list[str | None], dropped: list[str | None]) -> bool:
    """True for a word that must not be there, or may be, and for a call that only asks for help."""
    for no in form.forbidden:
        if no in WRAPPERS:
            if any(word is None or base_name(word) == no for word in dropped):
                return True
            continue
        if None in argv:
            return True
        for word in argv[1:]:
            if word is None or word == no:
                return True
            if no.startswith("--") and len(word) > 2 and no.startswith(word.partition("=")[0]):
                return True  # programs take a long option also when it is cut short
            if len(no) == 2 and no[0] == "-" and word[:1] == "-" and word[:2] != "--" and no[1] in word:
                return True
    return "--help" in argv and not any("".join(value) == "--help" for _, value in form.words)


def _matches_glob(glob: Iterable[str], word: str) -> bool:
    parts = list(glob)
    at, part, star, mark = 0, 0, -1, 0
    while at < len(word):
        if part < len(parts) and (parts[part] == "??" or parts[part] == word[at]):
            at, part = at + 1, part + 1
        elif part < len(parts) and parts[part] == "**":
            star, mark = part, at
            part += 1
        elif star >= 0:
            mark += 1
            at, part = mark, star + 1
        else:
            return False
    return all(rest == "**" for rest in parts[part:])
