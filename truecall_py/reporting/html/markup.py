"""Elements of HTML and SVG, made from words. The only place where a word becomes markup: whatever is not Markup
already is escaped, whoever calls. Never makes a script, an attribute that runs, or a link to anywhere but this
page."""

from __future__ import annotations

import html
import unicodedata

from truecall_py.core.redaction import harmless, shortened

LONGEST = 1200  # bytes of one text; a ledger keeps a third of that
MARKS = 6  # on one letter; no script needs more
VOID = frozenset(("meta", "rect", "line", "path"))
TAGS = VOID | frozenset((
    "html", "head", "title", "style", "body", "header", "main", "footer", "nav", "section", "article", "figure",
    "figcaption", "h1", "h2", "h3", "h4", "p", "ul", "ol", "li", "dl", "dt", "dd", "div", "span", "code", "bdi", "b",
    "time", "details", "summary", "table", "caption", "thead", "tbody", "tr", "th", "td", "a", "svg", "g", "desc",
))  # fmt: skip
ATTRIBUTES = frozenset((
    "lang", "charset", "name", "content", "http-equiv", "id", "class", "href", "scope", "role", "tabindex",
    "aria-label", "aria-labelledby", "aria-hidden", "x", "y", "x1", "x2", "y1", "y2", "width",
    "height", "d",
))  # fmt: skip


class Markup(str):
    """Text that may stand on the page as it is. Only this module makes it."""

    __slots__ = ()


def text(value: object, most: int = LONGEST) -> Markup:
    """A text of any origin: cut in the middle, control, bidirectional and invisible characters written out (a half of
    a surrogate pair too), and every character escaped that could be more than text."""
    plain = str(value)
    if len(plain) > most // 4:
        plain = shortened(plain, most)
    if not (plain.isascii() and plain.isprintable()):
        # A tag is disarmed by escaping, and stays readable so: `harmless` sees no `<` with what follows it.
        plain = "<".join(harmless(piece) for piece in flat(plain).split("<"))
    return Markup(html.escape(plain))


def flat(plain: str) -> str:
    """A text whose marks stay in their line: piled on one letter, they would be painted over what stands around."""
    made: list[str] = []
    run = 0
    for character in plain + " ":
        if unicodedata.category(character) in ("Mn", "Me"):
            run += 1
        else:
            if run > MARKS:
                made.append(f"[{run - MARKS} marks]")
            run = 0
        if run <= MARKS:
            made.append(character)
    return "".join(made[:-1])


def join(*parts: object, between: str = "") -> Markup:
    """Parts one after the other: Markup as it is, everything else as text; None is left out."""
    return Markup(
        text(between).join(each if isinstance(each, Markup) else text(each) for each in parts if each is not None)
    )


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. Of attributes, `_` at the end is dropped and `_` inside is `-`; those that are None or "" are left
    out. Raises ValueError for an element, an attribute or a link that has no place on the page."""
    if name not in TAGS:
        raise ValueError(f"no such element on the page: {name}")
    written = ""
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is None or value == "":
            continue
        if key not in ATTRIBUTES or (key == "href" and not str(value).startswith("#")):
            raise ValueError(f"no such attribute on the page: {key}={value!r}")
        written += f' {key}="{text(value)}"'
    if name in VOID and not children:
        return Markup(f"<{name}{written}>" if name == "meta" else f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def style(css: str) -> Markup:
    """Our own style sheet, which is no text of anybody's. Raises ValueError where it could end its element."""
    if "<" in css:
        raise ValueError("a style sheet holds no markup")
    return Markup(f"<style>{css}</style>")


def data(value: object, most: int = LONGEST) -> Markup:
    """A value of unknown origin inside a sentence: set apart, and its direction kept to itself."""
    return tag("bdi", tag("code", text(value, most)))


def table(caption: str, head: tuple[str, ...], rows: list[tuple[object, ...]], class_: str = "") -> Markup:
    """A table in a box of its own that scrolls by itself, the first cell of each row its header."""
    body = [
        tag("tr", tag("th", first, scope="row"), *(tag("td", each) for each in rest)) for first, *rest in rows
    ]  # fmt: skip
    top = tag("tr", *(tag("th", each, scope="col") for each in head))
    made = tag("table", tag("caption", caption), tag("thead", top), tag("tbody", *body), class_=class_)
    return tag("div", made, class_="wide", tabindex="0", role="region", aria_label=caption)
