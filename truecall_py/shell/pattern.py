"""The patterns of the matcher `runs`: a text becomes a Pattern, or the words that explain to its author why it
cannot. It must never take a notation that it does not know for one that it does; `runs` documents them."""

from __future__ import annotations

from truecall_py.shell.unwrap import WRAPPERS

_METACHARACTERS = frozenset(";&|<>()$\\`\n")
# These stand by themselves in a pattern, after its words.
_SIGNS = frozenset((">", ">>", "<<", "&&"))
DIRECTORY = "directory"  # set in a capture by `runs`
_PROGRAM = "a pattern begins with the name of a program"

_compiled: dict[str, Pattern | str] = {}


class Pattern:
    """`words` are ("word", glob), ("one", name), ("all", name); `short` and `long` the options that may stand
    anywhere, with the name that captures their value ("": it is passed over, None: they have none); `needed` the
    names of values that must be there; `made` is (name, pieces), a piece being text or a name in a list. An option
    named "?" has a value in its own word or none."""

    __slots__ = (
        "ended", "every", "folder", "forbidden", "long", "made", "names", "needed", "redirected", "rest", "short",
        "text", "words",
    )  # fmt: skip

    def __init__(self) -> None:
        self.words: list[tuple[str, str | list[str]]] = []
        self.short: dict[str, str | None] = {}
        self.long: dict[str, str | None] = {}
        self.needed: set[str] = set()
        self.forbidden: list[str] = []
        self.names: list[str] = []
        self.made: list[tuple[str, list[str | list[str]]]] = []
        self.redirected: tuple[str, str] | None = None  # (">" or ">>", name)
        self.text = ""  # the name that captures a here-document
        self.ended = False  # `&&`
        self.every = ""  # the name that captures the value of an option as often as it is there
        self.rest = False
        self.folder = False

    @property
    def program(self) -> str:
        """The first word as it was written, "" where any program will do."""
        return "".join(self.words[0][1]) if self.words else ""


def compile_pattern(text: str) -> Pattern | str:
    """The pattern in parts, or what is wrong with it."""
    compiled = _compiled.get(text)
    if compiled is None:
        compiled = _compiled[text] = _parse_pattern(text)
    return compiled


def _parse_pattern(text: str) -> Pattern | str:
    """Parse a pattern; return it, or the error as a sentence."""
    words = _split_words(text)
    if isinstance(words, str):
        return words
    form = Pattern()
    wrong = _take_signs(form, words)
    position = 0
    while not wrong and position < len(words):
        wrong = _add_word(form, *words[position], last=position == len(words) - 1)
        position += 1
    if wrong:
        return wrong
    if form.words[:1] and form.words[0][0] != "word":
        return _PROGRAM
    if not form.words and not (form.rest and form.redirected):
        return _PROGRAM
    if form.program in WRAPPERS:
        return f"{form.program} is dropped before matching: begin with the program that it starts"
    for name, pieces in form.made:
        missing = [word for piece in pieces if isinstance(piece, list) for word in piece if word not in form.names]
        if missing:
            return f"{{{name}}} is made of {{{missing[0]}}}, which nothing captures"
    form.folder = "/" in form.program
    return form


def _split_words(pattern: str) -> list[tuple[str, list[str]]] | str:
    """Words as (text if nothing in it was quoted else "", characters; the wild ones are "**" and "??")."""
    words: list[tuple[str, list[str]]] = []
    glob: list[str] | None = None
    text, quote, quoted = "", "", False
    for char in pattern + " ":
        if quote:
            if char == quote:
                quote = ""
            elif glob is not None:
                glob.append(char)
        elif char in " \t":
            if glob is not None:
                words.append(("" if quoted else text, glob))
            glob, text, quoted = None, "", False
        else:
            glob = [] if glob is None else glob
            if char in "'\"":
                quote, quoted = char, True
            else:
                text += char
                glob.append(char * 2 if char in "*?" else char)
    if quote:
        return f"the quote {quote} is not closed"
    for bare, _ in words:
        if bare not in _SIGNS:
            for char in bare:
                if char in _METACHARACTERS:
                    return f"{char!r} cannot match outside quotes: a pattern is for the words of one command"
    return words or "the pattern is empty"


def _take_signs(form: Pattern, words: list[tuple[str, list[str]]]) -> str | None:
    """Takes what follows the words off their end: where the output goes, the here-document, `&&`."""
    if words[-1][0] == "&&":
        form.ended = True
        words.pop()
    while len(words) > 1 and words[-2][0] in (">", ">>", "<<"):
        name = words[-1][0]
        sign = words[-2][0]
        del words[-2:]
        wrong = _add_name(form, name)
        if wrong or name.endswith("...}"):
            return wrong or f"{sign} {name}: it is one file"
        if sign == "<<" and not form.text:
            form.text = name[1:-1]
        elif sign != "<<" and form.redirected is None:
            form.redirected = (sign, name[1:-1])
        else:
            return f"{sign} stands there twice"
    if any(bare in _SIGNS for bare, _ in words):
        return "after the words of a command come `> {file}` or `>> {file}`, `<< {text}`, and last `&&`"
    return None


def _add_name(form: Pattern, bare: str, again: bool = False) -> str | None:
    """Notes a capture; what is wrong with it, if anything."""
    name = bare[1:-1].removesuffix("...")
    if not bare.startswith("{") or not bare.endswith("}") or "{" in name or "}" in name:
        return f"{bare}: a capture is a whole word, {{name}} or {{name...}}; quote literal braces"
    if not name.isascii() or not name.replace("-", "_").isidentifier():
        return f"{bare}: a name is letters, digits, _ and -, and begins with a letter"
    if name == DIRECTORY or (name in form.names and not again):
        return f"{bare}: the name is {'reserved' if name == DIRECTORY else 'used twice'}"
    form.names.append(name)
    return None


def _add_word(form: Pattern, bare: str, glob: list[str], last: bool) -> str | None:
    """Adds one word to the form; what is wrong with it, if anything."""
    if bare == "*" and last:
        form.rest = True
        if not form.words and not form.redirected:
            return _PROGRAM
        return "only single words may follow {name...}" if _is_open_ended(form) else None
    if bare.startswith("!") and len(bare) > 1:
        form.forbidden.append(bare[1:])
        return None
    if bare.startswith("["):
        return _add_option(form, bare)
    if bare.startswith("{") and "}=" in bare:
        return _add_composed(form, bare)
    if "{" not in bare and "}" not in bare:
        form.words.append(("word", glob))
        return None
    many = bare.endswith("...}")
    if many and (_is_open_ended(form) or form.every):
        return "only single words may follow {name...}"
    wrong = _add_name(form, bare)
    form.words.append(("all" if many else "one", form.names[-1] if not wrong else ""))
    return wrong


def _is_open_ended(form: Pattern) -> bool:
    return any(kind == "all" for kind, _ in form.words)


def _add_option(form: Pattern, bare: str) -> str | None:
    """`[-pv]`, `[--name]`; with a value `[-m=]`, `[--mode=]`, or in the same word only `[-p=?]`; with one to capture
    `[-o={file}]`, or every time `[-e={text...}]`."""
    options, equals, value = bare[1:-1].partition("=")
    formed = bare.endswith("]") and len(options) > 1 and options[0] == "-" and options != "--"
    alone = len(options) == 2 or options[1:2] == "-"
    if not formed or (equals and not alone) or (value and value != "?" and value[0] != "{"):
        return f"{bare}: write [-pv] or [--name], [-m=] with a value, or quote it if it is meant as a word"
    name: str | None = value if value == "?" else value[1:-1].removesuffix("...") if value else "" if equals else None
    if value and name and value != "?":
        wrong = _add_name(form, value, again=name in form.needed)
        if value.endswith("...}"):
            wrong = wrong or _set_repeated(form, name)
        if wrong:
            return wrong
        form.needed.add(name)
    if options.startswith("--"):
        form.long[options] = name
    else:
        form.short |= dict.fromkeys(options[1:], name)
    return None


def _set_repeated(form: Pattern, name: str) -> str | None:
    """Notes the option whose every value is captured; what is wrong with it, if anything."""
    if _is_open_ended(form) or form.every not in ("", name):
        return "only one {name...} may stand there"
    form.every = name
    return None


def _add_composed(form: Pattern, bare: str) -> str | None:
    """`{inside}={target}/{source}`: a name for what is made of other captures."""
    word, _, recipe = bare.partition("=")
    wrong = _add_name(form, word)
    pieces: list[str | list[str]] = []
    while recipe and not wrong:
        literal, brace, recipe = recipe.partition("{")
        if literal:
            pieces.append(literal)
        if brace:
            name, closed, recipe = recipe.partition("}")
            pieces.append([name])
            wrong = None if closed else f"{bare}: a brace is not closed"
    form.made.append((word[1:-1], pieces))
    return wrong or (None if any(isinstance(piece, list) for piece in pieces) else f"{bare}: it is made of nothing")
