"""Elements of HTML and SVG. The only place where text becomes markup: everything that is not Markup is escaped. Never
makes a script, an attribute that runs code, or a link to another page."""

from __future__ import annotations

import html
import unicodedata

from truecall_py.core.redaction import escape_hidden, shorten

LONGEST = 1200  # bytes of one text; the ledger keeps a third of that
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
    """Text that goes to the page unescaped. Only this module makes it."""

    __slots__ = ()


def escape_text(value: object, most: int = LONGEST) -> Markup:
    """A text of any origin: cut in the middle, control, bidirectional and invisible characters written out (a half of
    a surrogate pair too), and every character escaped that could be more than text."""
    plain = str(value)
    if len(plain) > most // 4:
        plain = shorten(plain, most)
    if not (plain.isascii() and plain.isprintable()):
        # Escaping disarms a tag and keeps it readable, so `harmless` must not see `<` with the text after it.
        plain = "<".join(escape_hidden(piece) for piece in limit_marks(plain).split("<"))
    return Markup(html.escape(plain))


def limit_marks(plain: str) -> str:
    """The text with at most MARKS combining marks on a letter: more would cover the lines around it."""
    html: list[str] = []
    run = 0
    for character in plain + " ":
        if unicodedata.category(character) in ("Mn", "Me"):
            run += 1
        else:
            if run > MARKS:
                html.append(f"[{run - MARKS} marks]")
            run = 0
        if run <= MARKS:
            html.append(character)
    return "".join(html[:-1])


def join(*parts: object, between: str = "") -> Markup:
    """Joins the parts: Markup as it is, anything else as text; None is left out."""
    return Markup(
        escape_text(between).join(
            part if isinstance(part, Markup) else escape_text(part) for part in parts if part is not None
        )
    )


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. Of attributes, `_` at the end is dropped and `_` inside is `-`; those that are None or "" are left
    out. Raises ValueError for an element, an attribute or a link that has no place on the page."""
    if name not in TAGS:
        raise ValueError(f"this element is not allowed: {name}")
    written = ""
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is None or value == "":
            continue
        if key not in ATTRIBUTES or (key == "href" and not str(value).startswith("#")):
            raise ValueError(f"this attribute is not allowed: {key}={value!r}")
        written += f' {key}="{escape_text(value)}"'
    if name in VOID and not children:
        return Markup(f"<{name}{written}>" if name == "meta" else f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def style(css: str) -> Markup:
    """The style sheet, unescaped. Raises ValueError if it could end its element."""
    if "<" in css:
        raise ValueError("a style sheet must not hold markup")
    return Markup(f"<style>{css}</style>")


def section(name: str, title: str, *children: object) -> Markup:
    """A section of the page under its heading; `name` is the heading's id."""
    return tag("section", tag("h2", title, id=name), *children, aria_labelledby=name)


def render_data(value: object, most: int = LONGEST) -> Markup:
    """A value of unknown origin inside a sentence, as code and with its text direction isolated."""
    return tag("bdi", tag("code", escape_text(value, most)))


def render_table(caption: str, head: tuple[str, ...], rows: list[tuple[object, ...]], class_: str = "") -> Markup:
    """A table in its own scrolling box; the first cell of each row is its header."""
    body = [tag("tr", tag("th", first, scope="row"), *(tag("td", text) for text in rest)) for first, *rest in rows]
    top = tag("tr", *(tag("th", title, scope="col") for title in head))
    markup = tag("table", tag("caption", caption), tag("thead", top), tag("tbody", *body), class_=class_)
    return tag("div", markup, class_="wide", tabindex="0", role="region", aria_label=caption)
