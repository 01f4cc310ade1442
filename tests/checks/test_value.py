"""value: a value in a file, and all the ways in which there is none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.check_outcome import outcome

from truecall_py.checks.support import env_and_ini, file_formats, key_path
from truecall_py.contracts.template import quote_key, resolve
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT
from truecall_py.worker.documents import read_value


@pytest.fixture
def check(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def asked(params, before=(), after=(), **more):
        return outcome(tmp_path, "value", params, before, after, **more)

    return asked


DATA = {
    "a": {"b": 1, "c.d": 2, "e]": 3, 'f"': 4}, "items": [{"name": "web", "port": 80}, {"name": "a.b", "port": 81}],
    "0": "zero", "flags": [{"on": True, "n": 7}], "empty": [], "none": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("a.b", [1]),
        ('a."c.d"', [2]),
        ('a["c.d"]', [2]),
        ("a[c.d]", [2]),
        ('a."e]"', [3]),
        ('a."f\\""', [4]),
        ("items[0].port", [80]),
        ("items.1.port", [81]),
        ("items[name=web].port", [80]),
        ('items[name="a.b"].port', [81]),
        ("items[name=a.b].port", [81]),
        ("items[port=81].name", ["a.b"]),
        ("flags[on=true].n", [7]),
        ("items[*].port", [80, 81]),
        ("a[*]", [1, 2, 3, 4]),
        ("0", ["zero"]),
        ("none", [None]),
        ("empty[*].x", []),
        ("items[2].port", [ABSENT]),
        ("items[name=x].port", [ABSENT]),
        ("a.b.c", [ABSENT]),
        ("a.b[*]", [ABSENT]),
        ("items.-1", [ABSENT]),
    ],
)
def test_a_path_names_values(path, values):
    """Names, positions, elements by a key, every element; quotes make a name of anything."""
    assert [held for _, held in key_path.select_values(DATA, key_path.parse(path))] == values


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", "a[", "a[]", "a]", "a[b=]", 'a."b', 'a."b\\', "a[*", "a[0]b"])
def test_what_is_no_path(path):
    """A path that is malformed is the contract's doing."""
    with pytest.raises(Unverified) as told:
        key_path.parse(path)
    assert told.value.cause == "contract"


@given(st.text(max_size=10))
def test_a_value_of_the_call_is_one_name(text):
    """Whatever a value of the call holds, it is one name in the path that it is put into."""
    assert key_path.parse(f"a.{quote_key(text)}.b")[1] == (key_path.NAME, text, "")
    assert key_path.parse(f"a[name={quote_key(text)}]")[1] == (key_path.WHERE, "name", text)


def test_templates_in_a_path(check):
    """A value with dots and brackets does not lead to another place."""

    class Scope:
        def get(self, path):
            return "x.y[*]"

    assert resolve("a.{{args.n}}.b", Scope(), "key") == 'a."x.y[*]".b'
    files = {"a.json": json.dumps({"a": {"x.y": 1, "x": {"y": 2}}})}
    assert check({"file": "a.json", "path": "a.{{args.n}}", "is": 1}, {}, files, args={"n": "x.y"}).state == "verified"


@pytest.mark.parametrize(
    ("name", "text", "params", "verdict", "words"),
    [
        ("a.json", '{"a": 1}', {"path": "a", "is": 1}, "verified", ""),
        ("a.json", '{"a": 1}', {"path": "a", "is": "1"}, "refuted", "is 1"),
        ("a.json", '{"a": 1}', {"is": {"equals": {"a": 1}}}, "verified", ""),
        ("a.json", '{"a": 1}', {"path": "b", "is": 1}, "refuted", "the file has a"),
        ("a.json", '{"a": {"x": 1, "y": 2}}', {"path": "a.z", "is": 1}, "refuted", "a has x, y"),
        ("a.json", '{"a": 1}', {"path": "b", "is": {"exists": False}}, "verified", "not there"),
        ("a.json", '{"a": 1}', {"path": "b", "is": {"not_equals": 3}}, "refuted", "nothing at b"),
        ("a.json", '{"a": 1}', {"path": "a", "is": {"exists": False}}, "refuted", ""),
        ("a.json", '{"a": [1, 2]}', {"path": "a", "each": True, "is": {"at_least": 1}}, "verified", "all 2"),
        ("a.json", '{"a": [1, 0]}', {"path": "a", "each": True, "is": {"at_least": 1}}, "refuted", "a[1]"),
        ("a.json", '{"a": []}', {"path": "a", "each": True, "is": {"at_least": 1}}, "unverified", "there is none"),
        ("a.json", '{"a": []}', {"path": "a[*].x", "is": {"exists": False}}, "unverified", "there is none"),
        ("a.json", '{"a": [{"x": 1}, {}]}', {"path": "a[*].x", "is": {"at_least": 1}}, "refuted", "nothing at a[1].x"),
        ("a.json", '{"a": 1, "b": {"c": 1}}', {"path": "a", "same_as": "b.c"}, "verified", ""),
        ("a.json", '{"a": 1, "b": {"c": 2}}', {"path": "a", "same_as": "b.c"}, "refuted", ""),
        ("a.json", '{"a": 1}', {"path": "a", "same_as": "b"}, "unverified", "nothing at b"),
        ("a.json", '{"a": 1', {"path": "a", "is": 1}, "refuted", "is not JSON: Expecting ',' delimiter (line 1, column 8)"),
        ("a.json", "", {"path": "a", "is": 1}, "refuted", "is not JSON"),
        ("a.json", '{"a": 1, "a": 2}', {"path": "a", "is": 2}, "unverified", "twice"),
        ("a.json", '{"a": NaN}', {"path": "a", "is": 2}, "unverified", "NaN"),
        ("a.json", '// x\n{"a": 1}', {"path": "a", "is": 1}, "unverified", "comment"),
        ("a.json", '// x\n{"a": 1}', {"path": "a", "is": 1, "format": "json"}, "refuted", "comment"),
        ("a.json", '// x\n{"a": 1,}', {"path": "a", "is": 1, "format": "jsonc"}, "verified", ""),
        ("package.json", '// x\n{"a": 1,}', {"path": "a", "is": 1}, "refuted", "comment"),
        ("tsconfig.build.json", '{"a": "// no", /* x */ "b": ",]"}', {"path": "a", "is": "// no"}, "verified", ""),
        (".vscode/settings.json", '{"a": 1, // x\n}', {"path": "a", "is": 1}, "verified", ""),
        ("a.unknown", "a=1", {"path": "a", "is": 1}, "unverified", "say `format`"),
        ("a.yaml", "a:\n  - b: 1\n", {"path": "a[0].b", "is": 1}, "verified", ""),
        ("a.yaml", "a: yes\nb: 1\n", {"path": "b", "is": 1}, "verified", ""),
        ("a.yaml", "a: yes\n", {"path": "a", "is": True}, "unverified", "readers of YAML differ"),
        ("a.yaml", "a: 'yes'\n", {"path": "a", "is": "yes"}, "verified", ""),
        ("a.yaml", "a: 012\n", {"path": "a", "is": 12}, "unverified", "differ"),
        ("a.yaml", "a: 2024-01-02\n", {"path": "a", "is": "2024-01-02"}, "verified", ""),
        ("a.yaml", "on: push\n", {"path": "on", "is": "push"}, "verified", ""),
        ("a.yaml", "a: !Ref x\nb: 1\n", {"path": "a", "is": "x"}, "unverified", "!Ref"),
        ("a.yaml", "a: !Ref x\nb: 1\n", {"path": "b", "is": 1}, "verified", ""),
        ("a.yaml", "x: &x {p: 1}\na:\n  <<: *x\n  q: 2\n", {"path": "a", "is": {"equals": {"q": 2, "p": 1}}}, "verified", ""),
        ("a.yaml", "a: 1\na: 2\n", {"path": "a", "is": 2}, "unverified", "twice"),
        ("a.yaml", "kind: A\n---\nkind: B\nn: 2\n", {"path": "[kind=B].n", "is": 2}, "verified", ""),
        ("a.yaml", "---\na: 1\n---\n# nothing\n", {"path": "a", "is": 1}, "verified", ""),
        ("a.yaml", "", {"path": "a", "is": 1}, "refuted", "nothing at a"),
        ("a.yaml", "a: [1\n", {"path": "a", "is": 1}, "refuted", "is not YAML"),
        ("a.yaml", "a: &a [*a]\n", {"path": "a", "is": 1}, "unverified", ""),
        ("a.toml", "[a]\nb = 1\n", {"path": "a.b", "is": 1}, "verified", ""),
        ("a.toml", "[a]\nd = 2024-01-02\n", {"path": "a.d", "is": "2024-01-02"}, "verified", ""),
        ("a.toml", "[a\n", {"path": "a.b", "is": 1}, "refuted", "is not TOML"),
        (".env", "PORT=3000\n", {"path": "PORT", "is": "3000"}, "verified", ""),
        (".env.local", "PORT=3000\n", {"path": "PORT", "is": 3000}, "verified", ""),
        (".env", "PORT=3000\n", {"path": "PORT", "is": {"at_least": 4000}}, "refuted", ""),
        (".env", "DEBUG=true\n", {"path": "DEBUG", "is": True}, "verified", ""),
        (".env", "PORT=3000\n", {"path": "HOST", "is": "x"}, "refuted", "nothing at HOST"),
        (".env", "URL=$HOST/x\n", {"path": "URL", "is": "/x"}, "unverified", "differ"),
        (".env", "KEY: x\nA=1\n", {"path": "A", "is": "1"}, "unverified", "not read as .env"),
        ("denormalized.json", "{} // x", {"is": {"equals": {}}}, "unverified", "comment"),
        ("setup.cfg", "[tool:pytest]\naddopts = -q\n", {"path": '"tool:pytest".addopts', "is": "-q"}, "verified", ""),
        ("a.ini", "[a]\nb = 1\n", {"path": "a.b", "is": 2}, "refuted", ""),
    ],
)
def test_a_value_in_a_file(check, name, text, params, verdict, words):
    """Each format, each operator's edge, and what the readers of a format do not agree on."""
    found = check({"file": name, **params}, {}, {name: text})
    assert found.state == verdict and words in found.found, found


@pytest.mark.parametrize(
    ("before", "after", "matcher", "verdict"),
    [
        (1, 2, {"increased_by": 1}, "verified"),
        (1, 3, {"increased_by": 1}, "refuted"),
        (1, 1, {"changed": True}, "refuted"),
        (1, 2, {"changed": True}, "verified"),
        (1, 2, {"changed": False}, "refuted"),
        (1, 1, {"changed": False}, "verified"),
        (1, None, {"increased_by": 0}, "verified"),
        (None, 2, {"changed": True}, "verified"),
    ],
)
def test_differences_to_before_the_call(check, before, after, matcher, verdict):
    """increased_by and changed compare with the value in the snapshot, also where there was no file."""
    files = {"a.json": json.dumps({"n": before})} if before is not None else {}
    written = {"a.json": json.dumps({"n": after})} if after is not None else {}
    found = check({"file": "a.json", "path": "n", "is": matcher}, files, written)
    assert found.state == verdict, found


def test_without_a_look_before(check):
    """A difference cannot be told, and a value that was there before and is there now proves nothing."""
    files = {"a.json": '{"n": 1}'}
    assert check({"file": "a.json", "path": "n", "is": {"changed": True}}, files, looked=False).cause == "harness"
    assert check({"file": "a.json", "path": "n", "is": 1}, files).cause == "vacuous"
    assert check({"file": "b.json", "path": "n", "is": 1}, files).state == "refuted"


ENV = r"""
# a comment
A=1
export B = two words # and a comment
C="a\nb" # x
D='single $x'
E=
F="two
lines"
G=a#b
H=`x`
I="$x"
J
K="a\qb"
A=2
"""


def test_an_env_file_is_read_with_care():
    """Quotes, export, comments and texts over several lines; where readers differ there is no value."""
    found = env_and_ini.parse_env(ENV)
    doubtful = {name for name, value in found.items() if isinstance(value, dict)}
    assert doubtful == set("GHIJK")
    assert {name: value for name, value in found.items() if name not in doubtful} == {
        "A": "2", "B": "two words", "C": "a\nb", "D": "single $x", "E": "", "F": "two\nlines",
    }  # fmt: skip
    for text in ('A="open', "a b=1", "=1", "1A=2"):
        with pytest.raises(env_and_ini.Malformed):
            env_and_ini.parse_env(text)


INI = """
top = 1
[a]
; comment
b = 1
c: 2
d = x ; y
e = "q"
long =
    one
    two
f
[ b ]
\tx = 1
\ty = 2
b = 3
b = 4
"""


def test_an_ini_file_is_read_with_care():
    """Sections, both marks, values over several lines; where readers differ there is no value."""
    found = env_and_ini.parse_ini(INI)
    assert found["top"] == "1"
    assert (found["a"]["b"], found["a"]["c"], found["a"]["long"]) == ("1", "2", "\none\ntwo")
    assert all(isinstance(found["a"][name], dict) for name in "def")
    assert (found["b"]["x"], found["b"]["y"]) == ("1", "2") and isinstance(found["b"]["b"], dict)
    for text in ("[a\nb=1", "[a] x\n", "= 1"):
        with pytest.raises(env_and_ini.Malformed):
            env_and_ini.parse_ini(text)


def test_bombs_are_refused():
    """Aliases count as often as they are used, and depth is bounded."""
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n"
    for left, right in zip("bcdefgh", "abcdefg", strict=True):
        bomb += f"{left}: &{left} [{','.join(['*' + right] * 9)}]\n"
    for text in (bomb, "[" * 400 + "]" * 400, "a: &a\n  b: *a\n"):
        with pytest.raises(Unverified):
            read_value({"as": "yaml", "text": text})
    with pytest.raises(Unverified):
        read_value({"as": "toml", "text": "a = " + "[" * 5000 + "]" * 5000})


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(alphabet='a/*",]}\\\n #', max_size=8),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='a/*"', max_size=3), inner, max_size=3)))  # fmt: skip
def test_comments_are_taken_out_of_json_and_nothing_else(value):
    """JSON without comments stays as it is; with comments and commas put in it means the same."""
    plain = json.dumps(value, indent=1)
    assert file_formats.strip_comments(plain) == plain
    commented = "\n".join(line if line.count('"') % 2 else line + " // , ] x" for line in plain.split("\n"))
    assert json.loads(file_formats.strip_comments(commented)) == value


@pytest.mark.parametrize(
    ("params", "before", "after", "verdict"),
    [
        ({"path": "a", "is": 1}, '{"a": 1}', '{"a": 1, "b": 2}', "unverified"),
        ({"path": "a", "is": 1}, '{"a": 0}', '{"a": 1}', "verified"),
        ({"path": "a", "is": 1}, '{"a": ', '{"a": 1}', "verified"),
        ({"path": "a", "is": 1}, None, '{"a": 1}', "verified"),
        ({"path": "typo", "is": {"exists": False}}, '{"a": 1}', '{"a": 2}', "unverified"),
        ({"path": "a", "is": {"exists": False}}, '{"a": 1}', '{"b": 1}', "verified"),
        ({"path": "a", "is": {"changed": True}}, '{"a": 1}', '{"a": 2}', "verified"),
        ({"path": "a", "is": {"changed": False}}, '{"a": 1}', '{"a": 1, "b": 2}', "verified"),
        ({"path": "*", "is": {"exists": True}, "each": True}, "{}", "{}", "refuted"),
    ],
)
def test_a_value_that_was_so_before_proves_nothing(check, params, before, after, verdict):
    """It is the value asked for that must have changed, not the file around it; unless it was to stay as it is."""
    found = check({"file": "a.json", **params}, {"a.json": before} if before else {}, {"a.json": after})
    assert found.state == verdict, found


@pytest.mark.parametrize(
    ("text", "path", "wanted", "verdict"),
    [
        ("[s]\nkey = 1\n", "s.key", "1", "verified"),
        ("[s]\nkey = 1\n", "s.Key", "1", "unverified"),
        ("[s]\nkey = 1\n", "S.key", "1", "unverified"),
        ("[s]\nkey = 1\nKey = 2\n", "s.key", "1", "unverified"),
        ("[DEFAULT]\nkey = 1\n[s]\na = 1\n", "s.key", "1", "unverified"),
        ("[DEFAULT]\nkey = 1\n[s]\na = 1\n", "s.key", {"exists": False}, "unverified"),
        ("[DEFAULT]\nkey = 1\n[s]\na = 1\n", "s.b", "1", "refuted"),
        ("root = true\n[root]\nk = 1\n", "root.k", "1", "unverified"),
        ("root = true\n[root]\nk = 1\n", "root.k", {"exists": True}, "unverified"),
        ("root = true\n[*.py]\nk = 1\n", "root", "true", "verified"),
        ("[s]\na = 1\n  2\n", "s.a", "1\n2", "verified"),
        ("[s]\na = 1\n  2 # x\n", "s.a", "1\n2", "unverified"),
    ],
)
def test_where_readers_of_ini_differ_there_is_no_verdict(check, text, path, wanted, verdict):
    """Case, the section DEFAULT, and a name that is a key and a section: no verdict instead of a refusal."""
    assert check({"file": "a.ini", "path": path, "is": wanted}, {}, {"a.ini": text}).state == verdict


def test_flat_files_are_read_in_linear_time():
    """A quote that is never closed and a value of very many lines cost no more than their length."""
    from time import process_time

    began = process_time()
    with pytest.raises(env_and_ini.Malformed):
        env_and_ini.parse_env('A="' + "x\n" * 200_000)
    assert env_and_ini.parse_env('A="' + "x\n" * 100_000 + '"\nB=1\n')["B"] == "1"
    assert len(env_and_ini.parse_ini("[s]\na = 1\n" + "  x\n" * 200_000)["s"]["a"]) == 400_001
    assert process_time() - began < 5
