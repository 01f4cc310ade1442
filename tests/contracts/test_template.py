"""Templates: values of a call in paths, URLs, arguments and texts, and never more than values."""

from __future__ import annotations

from typing import Any

import pytest

from truecall_py.contracts.facts import value_at
from truecall_py.contracts.template import list_names, parse, resolve
from truecall_py.core.errors import Unverified

CALL: dict[str, Any] = {
    "args": {
        "a": "x y", "up": "../../etc/passwd", "abs": "/etc/passwd", "dash": "-rf", "n": 3, "yes": True, "none": None,
        "map": {"k": 1}, "list": [1], "nul": "a\0b", "empty": "", "tpl": "{{args.a}}", "dot": "./y", "tilde": "~/x",
        "url": "a/b?c#d&é",
    },
    "project": "/p", "file": {"path": "/p/a.txt"},
}  # fmt: skip


class Scope:
    def get(self, path: str) -> Any:
        return value_at(CALL, path)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("plain", "text", "plain"),
        ("{{args.a}}!", "text", "x y!"),
        ("{{ args.a }}", "text", "x y"),
        ("{{args.n}}", "value", 3),
        ("{{args.n}}", "text", "3"),
        ("n={{args.n}} {{args.yes}}", "text", "n=3 true"),
        ("{{args.map}}", "value", {"k": 1}),
        ("{{args.none}}", "value", None),
        ("{{args.list.0}}", "value", 1),
        ('{{args.nothing | default: "d"}}', "text", "d"),
        ('{{args.a | default: "d"}}', "text", "x y"),
        ("{{args.tpl}}", "text", "{{args.a}}"),
        ("{{args.abs}}", "path", "/etc/passwd"),
        ("{{project}}/notes/{{args.a}}.md", "path", "/p/notes/x y.md"),
        ("{{project}}/{{args.dot}}", "path", "/p/./y"),
        ("{{file.path}}.bak", "path", "/p/a.txt.bak"),
        ("http://h/{{args.url}}", "url", "http://h/a%2Fb%3Fc%23d%26%C3%A9"),
        ("http://h/q?x={{args.a}}", "url", "http://h/q?x=x%20y"),
        (["git", "show", "{{args.a}}"], "argv", ["git", "show", "x y"]),
        (["rm", "--", "{{args.dash}}"], "argv", ["rm", "--", "-rf"]),
        (["x", "--name={{args.dash}}"], "argv", ["x", "--name=-rf"]),
        ({"equals": "{{args.n}}"}, "matcher", {"equals": 3}),
    ],
)
def test_a_template_becomes_the_value(text: Any, kind: str, value: Any) -> None:
    """A template is filled in once, by the rules of the field that it stands in."""
    assert resolve(text, Scope(), kind) == value


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{{args.nothing}}", "text"),
        ("{{args.none}}", "text"),
        ("x{{args.map}}", "text"),
        ("{{args.list}}", "path"),
        ("{{args.empty}}", "path"),
        ("{{args.nul}}", "path"),
        ("{{project}}/{{args.up}}", "path"),
        ("{{project}}/{{args.abs}}", "path"),
        ("{{args.abs}}.bak", "path"),
        ("{{project}}/{{file.path}}", "path"),
        ("{{project}}/{{args.tilde}}", "path"),
        ("notes/{{args.up}}.md", "path"),
        ("{{project}}/.{{args.dot}}", "path"),
        ("{{args.a}}://h/", "url"),
        ("http://{{args.a}}/", "url"),
        ("http://h:{{args.n}}/", "url"),
        ("{{args.a}}", "url"),
        ("http://h{{args.a}}/", "url"),
        (["rm", "{{args.dash}}"], "argv"),
        (["echo", "{{args.nul}}"], "argv"),
        ("{{args.a", "text"),
        ("{{}}", "text"),
        ("{{args..a}}", "text"),
        ("{{args.a | upper}}", "text"),
    ],
)
def test_what_may_not_be_filled_in_is_no_verdict(text: Any, kind: str) -> None:
    """A missing value, a value of the wrong type or in a place it may not form is never guessed at."""
    with pytest.raises(Unverified):
        resolve(text, Scope(), kind)


def test_names_finds_every_template_however_deep() -> None:
    """Lint and loader learn which facts a check uses from one function."""
    assert list_names({"a": ["{{x.y}}", {"b": 'z{{q}}{{r | default: "1"}}'}], "c": 3}) == {"x.y", "q", "r"}


@pytest.mark.parametrize("text", ["{{a}}", "x{{a}}y{{b}}z", "plain", ""])
def test_parse_keeps_every_literal_piece(text: str) -> None:
    """Literal text and templates together are the text again."""
    assert "".join(piece if isinstance(piece, str) else f"{{{{{piece.path}}}}}" for piece in parse(text)) == text
