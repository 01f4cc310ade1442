"""`truecall convert`: the ancestor's JSON contracts become ours, and nothing it let pass goes on passing in silence."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from truecall_py.authoring import convert
from truecall_py.authoring.convert import convert_file
from truecall_py.contract_files import loader
from truecall_py.core.errors import UsageError


def of(*contracts: Any) -> convert.Conversion:
    return convert_file(json.dumps(list(contracts)).encode(), "old.json")


def one(post: Any, tool: str = "mcp__a__b", **more: Any) -> tuple[dict[str, Any], str]:
    """(the new contract, everything that is said of it); an empty map where it was left out."""
    found = of({"tool": tool, "post": post, **more})
    entries = yaml.safe_load(found.text).get("contracts") or [{}]
    assert loader.find_problems(found.text.encode(), "new.yaml") == [] or not found.count
    return entries[0], "\n".join(note.words for note in found.notes)


def test_a_file_of_contracts(project: Any) -> None:
    """The whole way: JSON in, YAML on standard output that lints and judges, words on standard error, exit code."""
    old = [
        {"tool": "mcp__notes__save_note", "timeoutMs": 5000,
         "post": {"check": "file_exists", "path": "notes/{{args.title}}.md", "minSize": 1, "contains": "{{args.body}}"}},
        {"tool": "mcp__mail__send", "post": {"check": "result", "path": "id"}},
    ]  # fmt: skip
    project.write("old.json", json.dumps({"contracts": old}))
    done = project.command("convert", "old.json")
    assert done.returncode == 1 and "left out: contract 2" in done.stderr and "1 contract converted" in done.stderr
    assert "# contract 2: left out" in done.stdout
    project.write("truecall.yaml", done.stdout)
    assert project.command("lint").returncode == 0
    project.write("lie.json", json.dumps(project.mcp()))
    assert project.command("verify", "lie.json").returncode == 1
    project.write("notes/a.md", "hello")
    assert project.command("verify", "--require-match", "lie.json").returncode == 0
    project.write("old.json", json.dumps(old[:1]))
    assert project.command("convert", "old.json").returncode == 0
    assert project.command("convert", "-", stdin=None, input=json.dumps(old[0])).returncode == 0


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"contracts": {}}', b"3", b'{"contracts": []}', b"\xff"])
def test_a_file_of_another_kind_is_wrong_usage(data: bytes) -> None:
    """No contract is made of what holds none."""
    with pytest.raises(UsageError):
        convert_file(data, "old.json")


@pytest.mark.parametrize(("post", "made"), [
    ({"check": "file_exists", "path": "/tmp/a", "minSize": 10}, {"file_exists": {"path": "/tmp/a", "min_size": 10}}),
    ({"check": "file_exists", "path": "${input.file_path}"}, {"file_exists": {"path": "{{args.file_path}}"}}),
    ({"check": "file_exists", "path": "a/{{ result.items[0].name }}"},
     {"file_exists": {"path": "{{project}}/a/{{result.items.0.name}}"}}),
    ({"check": "http", "url": "http://localhost:1/a", "expectStatus": 204},
     {"http_status": {"url": "http://localhost:1/a", "status": 204}}),
    ({"check": "http", "url": "http://localhost:1/{{args.id}}", "status": "200", "bodyContains": "ok"},
     {"http_status": {"url": "http://localhost:1/{{args.id}}", "status": 200, "body": {"contains": "ok"}}}),
    ({"check": "http", "url": "http://localhost:1/a"}, {"http_status": {"url": "http://localhost:1/a", "status": "2xx"}}),
    ({"check": "shell", "command": "npm test"}, {"command": {"run": ["npm", "test"], "cwd": "{{project}}"}}),
    ({"check": "shell", "command": "test -f '{{args.path}}'"},
     {"command": {"run": ["test", "-f", "{{args.path}}"], "cwd": "{{project}}"}}),
    ({"check": "shell", "command": "a | b", "exitCode": 1},
     {"command": {"run": ["sh", "-c", "a | b"], "exit": 1, "cwd": "{{project}}"}}),
    ({"check": "result", "path": "items[0].id", "equals": "{{args.id}}"},
     {"result": {"path": "items.0.id", "equals": "{{args.id}}"}}),
    ({"check": "result", "path": "$.ok", "equals": True}, {"result": {"path": "ok", "equals": True}}),
    ({"check": "result", "equals": None}, {"result": {"equals": None}}),
    ({"check": "schema", "schema": {"required": ["id"]}}, {"schema": {"schema": {"required": ["id"]}}}),
    ({"check": "schema", "schema": "schemas/a.json"}, {"schema": {"file": "schemas/a.json"}}),
])  # fmt: skip
def test_a_check_has_its_counterpart(post: dict[str, Any], made: dict[str, Any]) -> None:
    """Each kind of check, with templates in either spelling."""
    assert one(post)[0]["post"] == made


@pytest.mark.parametrize(("post", "why"), [
    ({"check": "result", "path": "id"}, "asserts nothing"),
    ({"check": "schema", "schema": {}}, "says nothing"),
    ({"check": "schema", "schema": True}, "says nothing"),
    ({"check": "schema", "schema": {"type": 3}}, "TC214"),
    ({"check": "shell", "command": "cat {{args.path}} | grep x"}, "part of a shell script"),
    ({"check": "shell", "command": "echo \"$(cat {{args.path}})\""}, "part of a shell script"),
    ({"check": "shell", "command": "{{args.tool}} --version"}, "part of a shell script"),
    ({"check": "shell", "command": "cd {{args.dir}}"}, "part of a shell script"),
    ({"check": "shell", "command": "A={{args.x}} make"}, "part of a shell script"),
    ({"check": "shell", "command": "make", "stdoutMatches": "{{args.x}}"}, "never becomes part of a pattern"),
    ({"check": "shell", "command": "make", "stdoutMatches": "(a+)+$"}, "exponential"),
    ({"check": "shell", "command": "make", "stdoutMatches": ".*"}, "every text"),
    ({"check": "shell", "command": "make", "stdoutMatches": "\\p{L}"}, "regular expression of Python"),
    ({"check": "shell", "command": ""}, "command"),
    ({"check": "http", "url": "http://{{args.host}}/a", "status": 200}, "TC211"),
    ({"check": "http", "url": "ftp://a/b", "status": 200}, "TC106"),
    ({"check": "http", "url": "http://a/b", "method": "POST"}, "changes something"),
    ({"check": "http", "url": "http://a/b", "status": "fine"}, "TC"),
    ({"check": "file_exists"}, "no path"),
    ({"check": "file_exists", "path": 3}, "no text"),
    ({"check": "file_exists", "path": "{{path}}"}, "names nothing that a call has"),
    ({"check": "file_exists", "path": "a", "contains": ""}, "empty"),
    ({"check": "file_exists", "path": "a", "minSize": "1"}, "bytes"),
    ({"check": "database", "table": "a"}, "no counterpart"),
    ("file_exists", "no object"),
    (None, "no object"),
])  # fmt: skip
def test_what_means_nothing_or_something_else_is_left_out_and_said(post: Any, why: str) -> None:
    """No contract is made, its JSON stands in a comment, and the reason is told."""
    found = of({"tool": "mcp__a__b", "post": post})
    assert found.count == 0 and any(note.lost for note in found.notes)
    assert why in " ".join(note.words for note in found.notes), found.notes
    assert why.split()[0] in found.text and all(line.startswith("#") or line.strip().startswith("#") or line == "version: 1" for line in found.text.splitlines())


@pytest.mark.parametrize(("post", "more", "words"), [
    ({"check": "file_exists", "path": "a"}, {}, "a folder no longer counts"),
    ({"check": "file_exists", "path": "a"}, {}, "folder of the contract file"),
    ({"check": "file_exists", "path": "/a", "minSize": 0}, {}, "minSize 0 asserts nothing"),
    ({"check": "http", "url": "http://localhost/"}, {}, "asserted nothing"),
    ({"check": "shell", "command": "make", "stdoutMatches": "ok"}, {}, "exit code did not count"),
    ({"check": "shell", "command": "make", "stdoutMatches": "^ok$"}, {}, "last line break"),
    ({"check": "shell", "command": "a && b"}, {}, "a shell script"),
    ({"check": "result", "path": "a", "equals": 1}, {"severity": "high"}, "'severity'"),
    ({"check": "result", "path": "a", "equals": 1, "soft": True}, {}, "'soft'"),
    ({"check": "result", "path": "a", "equals": 1}, {"timeoutMs": 90000}, "cut to 20000"),
    ({"check": "result", "path": "a", "equals": 1}, {"timeoutMs": "5s"}, "no number of milliseconds"),
])  # fmt: skip
def test_what_changes_is_said(post: dict[str, Any], more: dict[str, Any], words: str) -> None:
    """A contract that is made, with a comment about what is not as it was."""
    made, said = one(post, **more)
    assert made["post"] and words in said


def test_one_check_that_cannot_be_converted_does_not_take_the_others() -> None:
    """The rest is kept, and the loss counts: exit code 1."""
    made, said = one([{"check": "nope"}, {"check": "result", "path": "id", "exists": True}])
    assert made["post"] == {"result": {"path": "id", "exists": True}} and "check 1 left out" in said


@pytest.mark.parametrize("key", ["when", "if", "args"])
def test_a_condition_that_is_not_understood_leaves_the_contract_out(key: str) -> None:
    """Without it, the contract would be about more calls than was meant."""
    made, said = one({"check": "result", "path": "id", "exists": True}, **{key: {"a": 1}})
    assert made == {} and "condition" in said


@pytest.mark.parametrize(("given", "made"), [
    ("Write|Edit", ["Write", "Edit"]), ("mcp__a__.*", "mcp__a__*"), ("^Bash$", "Bash"), (["A", "B"], ["A", "B"]),
    ("(a)", None), ("", None), (3, None), ("a,b", None),
])  # fmt: skip
def test_tools(given: Any, made: Any) -> None:
    """Names, alternatives and simple patterns; what is no glob is left out."""
    found = of({"tool": given, "post": {"check": "result", "path": "id", "exists": True}})
    entries = yaml.safe_load(found.text).get("contracts")
    assert (entries[0]["tool"] if entries else None) == made


def test_ids_are_unique_and_the_regex_of_javascript_is_translated() -> None:
    """Two contracts of one tool; named groups and flags."""
    post = {"check": "shell", "command": "make", "stdoutMatches": "/(?<n>\\d+) OK/i"}
    found = of({"tool": "Bash", "post": post}, {"tool": "Bash", "post": post})
    entries = yaml.safe_load(found.text)["contracts"]
    assert [entry["id"] for entry in entries] == ["bash", "bash-2"]
    assert entries[0]["post"]["command"]["stdout"] == {"matches": "(?i)(?P<n>\\d+) OK"}


NAMES = st.sampled_from(["check", "path", "url", "command", "status", "equals", "contains", "schema", "minSize", "stdoutMatches", "tool", "post", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 700) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12)
    | st.sampled_from(["file_exists", "http", "shell", "result", "schema", "a/{{args.x}}", "http://localhost/{{args.x}}", "ls {{args.x}}", "^a$"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5), max_leaves=10,
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(st.lists(JSON | st.fixed_dictionaries({"tool": JSON, "post": JSON}) | st.fixed_dictionaries({
    "tool": st.just("mcp__a__b"), "post": st.dictionaries(NAMES, JSON, max_size=4).map(lambda d: {"check": "result", **d})}),
    min_size=1, max_size=3))  # fmt: skip
def test_whatever_comes_in_what_comes_out_lints(contracts: list[Any]) -> None:
    """Any JSON gives a conversion without an exception, and one that `lint` has no word about."""
    try:
        data = json.dumps(contracts).encode()
        found = convert_file(data, "old.json")
    except UsageError:
        return
    if found.count:
        assert loader.find_problems(found.text.encode(), "new.yaml") == [], found.text
    assert found.count + sum("left out" in note.words and "check" not in note.words.split("left out")[0] for note in found.notes) >= len(contracts)


def test_a_check_without_its_name_is_said_to_lack_it() -> None:
    """Not that a check of the name None has no counterpart; and nothing is to be trusted of no contract at all."""
    made = of({"tool": "mcp__a__b", "post": [{"fileExists": "x"}]})
    assert made.count == 0 and any("it does not say which `check` it is" in note.words for note in made.notes)


def test_a_file_that_is_not_there_is_no_payload(project: Any) -> None:
    """`convert` takes a file of contracts, and its error says so."""
    done = project.command("convert", "none.json")
    assert done.returncode == 2 and "none.json: cannot read the file of contracts" in done.stderr
