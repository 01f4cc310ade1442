"""The loader: what it accepts, what it compiles, and what it says about the rest."""

from __future__ import annotations

import copy
import json
import os
import random
import re
import time
from typing import Any

import jsonschema
import pytest
from support.project import DATA

from truecall_py.contract_files import loader
from truecall_py.contract_files.json_schema import build_schema
from truecall_py.contract_files.lint import codes, rules
from truecall_py.contract_files.lint.redos import is_slow
from truecall_py.contract_files.lint.rules import RULES
from truecall_py.contract_files.lint.subject import Subject
from truecall_py.contract_files.lint.warnings import ADVICE
from truecall_py.contract_files.yaml_reader import parse
from truecall_py.core import paths
from truecall_py.core.errors import ContractError

HEAD = "version: 1\ncontracts:\n"
POST = "    post: {file_exists: {path: a.txt}}\n"
# Codes that no example file can show: a size, a name, and a broken installation.
NO_EXAMPLE = {"TC215", "TC301", "TC302", "TC303"}


def examples(folder: str) -> list[str]:
    return sorted(os.listdir(os.path.join(DATA, folder)))


def bytes_of(folder: str, name: str) -> bytes:
    with open(os.path.join(DATA, folder, name), "rb") as stream:
        return stream.read()


def contract(body: str, target: str = "    tool: save\n") -> bytes:
    return f"{HEAD}  - id: a\n{target}{body}".encode()


def compiled(body: str, target: str = "    tool: save\n") -> dict[str, Any]:
    return loader.load(contract(body, target), "truecall.yaml").contracts[0]


def said(data: bytes) -> list[str]:
    return [f"{p.line}:{p.column}: {p.code} {p.message} -> {p.hint}" for p in loader.find_problems(data, "x")]


# -- examples --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", examples("contracts_bad"))
def test_bad_example(name: str) -> None:
    """A bad example yields exactly the findings that its first comments name, and load agrees with lint."""
    data = bytes_of("contracts_bad", name)
    expected = re.findall(r"^# (\d+:\d+: TC\d+)$", data.decode("utf-8", "replace"), re.MULTILINE)
    found = loader.find_problems(data, name)
    assert [f"{p.line}:{p.column}: {p.code}" for p in found] == expected
    assert expected and {p.code for p in found} == {name[:5]}
    if any(p.severity == "error" for p in found):
        with pytest.raises(ContractError) as caught:
            loader.load(data, name)
        assert list(caught.value.problems) == found
    else:
        assert loader.load(data, name).warnings == found


@pytest.mark.parametrize("name", examples("contracts_good"))
def test_good_example(name: str) -> None:
    """A good example loads without a word, and its compiled form is plain JSON."""
    data = bytes_of("contracts_good", name)
    assert loader.find_problems(data, name) == []
    loaded = loader.load(data, name)
    assert loaded.contracts
    assert json.loads(json.dumps(loaded.contracts, allow_nan=False)) == loaded.contracts


def test_every_code_has_an_example() -> None:
    """Every code of the table has a bad example, and every example shows a code of the table."""
    shown = {name[:5] for name in examples("contracts_bad")}
    assert shown == {entry.code for entry in codes.CODES} - NO_EXAMPLE


def test_every_rule_has_its_code() -> None:
    """Each rule reports under its own code only, and each code of meaning or advice has one rule."""
    ruled = [code for code, _ in (*RULES, *ADVICE)]
    wanted = [entry.code for entry in codes.CODES if entry.code[:3] in ("TC2", "TC3")]
    assert sorted(ruled) == sorted(set(wanted) - NO_EXAMPLE)
    for name in examples("contracts_bad"):
        document = parse(bytes_of("contracts_bad", name))
        if document.complete and not document.problems:
            structure = loader.Structure(document)
            structure.examine()
            subject = Subject(document, structure.paths)
            for code, rule in (*RULES, *ADVICE):
                assert {p.code for p in rule(subject)} <= {code}


@pytest.mark.parametrize("name", rules.list_packs())
def test_shipped_pack(name: str) -> None:
    """A shipped pack has no problem, alone or used."""
    with open(os.path.join(paths.find_packs_folder(), f"{name}.yaml"), "rb") as stream:
        assert said(stream.read()) == []
    loaded = loader.load(f"version: 1\nuse: [{name}]\ncontracts: []\n".encode(), "x")
    assert all(plain["pack"] == name for plain in loaded.contracts)


# -- what is said ----------------------------------------------------------------------------------------

GOLDEN = [
    (contract("    post: {file_exists: {path: a.txt, contain: hello}}\n"),
     "5:39: TC101 `file_exists` has no key `contain` -> did you mean `contains`?"),
    (contract("    post: {fileExists: {path: a.txt}}\n"),
     "5:12: TC114 `fileExists` is not a check -> did you mean `file_exists`?"),
    (contract("    post:\n      file_exists: {path: a}\n      command: {run: [b]}\n"),
     "6:7: TC107 one map contains 2 checks: file_exists, command -> "
     "write a list with one check per entry: [{file_exists: ...}, {command: ...}]"),
    (contract("    post:\n      - file_exists:\n        path: a.txt\n"),
     "6:9: TC107 the fields of `file_exists` are beside it, not inside it -> "
     "indent them below it: {file_exists: {path: ...}}"),
    (contract("    post: {file_exists: {contains: hello}}\n"),
     "5:25: TC103 `file_exists` has no `path` -> "
     "add `path`: The path, relative to the folder where the call started."),
    (contract('    post: {file_exists: {path: a.txt, min_size: "3"}}\n'),
     '5:49: TC104 `min_size` must be a whole number, 0 or more, not the text "3" -> remove the quotes: 3'),
    (contract("    post: {file_exists: {path: a.txt, contains: 42}}\n"),
     '5:49: TC104 `contains` must be text, not the number 42 -> quote it: "42"'),
    (contract("    post: {result: {path: ok, equals: no}}\n"),
     '5:39: TC012 YAML readers disagree on the meaning of no -> write "no" if it is text, or false'),
    (contract("    post: {file_exists: {path: a.txt, mode: 0755}}\n"),
     '5:45: TC013 YAML readers disagree on the number 0755 -> '
     'write "0755" if it is text, or 755 if it is a number'),
    (b"version: 1\ncontracts:\n\t- id: a\n",
     "3:1: TC005 a tab is used where YAML allows only spaces -> indent with spaces"),
    (contract(POST) + b"---\nversion: 1\n",
     "6:1: TC006 a second document begins here, but a contract file is one document -> Keep one document and remove the second `---`."),
    (contract("    description: !!str 5\n" + POST),
     "5:18: TC007 the tag !!str is not allowed -> remove it; quotes make a value text"),
    (contract(POST, "    tool: *save\n"),
     '4:11: TC008 the alias *save is not allowed -> write the value out; if *save is text, quote it: "*save"'),
    (contract("    post: {file_exists: {path: {{project}}/a.md}}\n"),
     '5:32: TC015 a value that begins with {{ must be quoted -> write "{{project}}/a.md"'),
    (contract(POST + "    within: 10\n"),
     "6:13: TC104 `within` must be a duration with its unit: 250ms, 5s or 2m, not the number 10 -> "
     "write 10s or 10ms"),
    (contract("    post: {command: {run: npm run build}}\n"),
     '5:27: TC104 `run` must be a list of words, never one shell string, not the text "npm run build" -> '
     "write [npm, run, build]"),
    (contract(POST, "    tools: save\n"), "4:5: TC101 a contract has no key `tools` -> did you mean `tool`?"),
    (b"", "1:1: TC108 the file is empty -> begin with `version: 1` and `contracts:`"),
    (b"- a\n", "1:1: TC104 the file must be a map with version, use, mode, contracts, policy, not a list -> "
     "write a map with version, use, mode, contracts, policy"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "expected"), GOLDEN)
def test_message(data: bytes, expected: str) -> None:
    """A typical mistake is answered by one sentence with its place, and the way out."""
    assert said(data) == [expected]


def test_all_problems_at_once() -> None:
    """Every problem of a file is reported, of its structure and of its meaning, in file order."""
    data = contract('    post: {file_exists: {path: "{{arg.x}}", min_size: -1}}\n    within: 0s\n') + b"mod: x\n"
    with pytest.raises(ContractError) as caught:
        loader.load(data, "truecall.yaml")
    assert [p.code for p in caught.value.problems] == ["TC203", "TC112", "TC210", "TC101"]
    assert str(caught.value).startswith("truecall.yaml:5:32: ")


def test_escapes_are_shown_as_text() -> None:
    """What a message quotes from a file cannot move a terminal's cursor."""
    (text,) = said(contract('    "\\e[2J": 1\n' + POST))
    assert "\x1b" not in text and "\\x1b[2J" in text


# -- the text --------------------------------------------------------------------------------------------


def test_bom_and_line_ends() -> None:
    """A BOM and CRLF change neither values nor places."""
    data = bytes_of("contracts_good", "whole.yaml")
    plain = loader.load(data, "x")
    assert loader.load(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"), "x") == plain
    assert loader.load(data.replace(b"\n", b"\r"), "x") == plain
    bad = contract("    post: {result: {path: ok, equals: no}}\n")
    assert said(b"\xef\xbb\xbf" + bad.replace(b"\n", b"\r\n")) == said(bad)


@pytest.mark.parametrize(("text", "value"), [
    ("0", 0), ("-12", -12), ("1.5", 1.5), ("-0.25", -0.25), ("1.0", 1.0), ("true", True), ("false", False),
    ("null", None), ("1.2.3", "1.2.3"), ("2xx", "2xx"), ("10s", "10s"), ("v1", "v1"),
    ("8080:80", "8080:80"), ("'1'", "1"), ('"no"', "no"), ("none", "none"), ("+", "+"), ("1-2", "1-2"),
    (str(2**63 - 1), 2**63 - 1),
])  # fmt: skip
def test_plain_values(text: str, value: object) -> None:
    """Only true, false, null, decimal integers and canonical floats are not text."""
    found = compiled(f"    post: {{result: {{path: x, equals: {text}}}}}\n")["post"][0]["params"]["equals"]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(("text", "code"), [
    *((word, "TC012") for word in ("yes", "Yes", "NO", "on", "Off", "y", "N", "True", "FALSE", "Null", "~", "=")),
    *((word, "TC013") for word in (
        "010", "-0", "+1", "0o17", "0x1F", "0b11", "1_000", "1:30", "1:30:59.5", "1.10", "1.", ".5", "1e3", "1.5E+3",
        ".inf", "-.INF", ".nan", "1.00", "00", "-0.0", "9" * 20, "1.0000000000000000001", "08", "1_0.5")),
    *((word, "TC014") for word in ("2024-05-01", "2024-5-1", "2024-05-01T10:00:00Z", "2024-05-01 10:00:00")),
    ("<<", "TC009"),
])  # fmt: skip
def test_doubtful_values(text: str, code: str) -> None:
    """A plain value that YAML readers take differently is refused, alone, and is fine in the quotes shown."""
    body = "    post: {{result: {{path: x, equals: {}}}}}\n"
    (only,) = loader.find_problems(contract(body.format(text)), "x")
    assert only.code == code and f'"{text}"' in only.hint
    assert said(contract(body.format(f'"{text}"'))) == []


def test_no_traceback_and_no_delay_for_bombs() -> None:
    """A recursion bomb, an expansion bomb and a large file are refused quickly, with a place."""
    steps = (f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)},*{chr(97 + n)}]\n" for n in range(20))
    laughs = "a: &a [x,x]\n" + "".join(steps)
    bombs = {
        "brackets": b"[" * 900_000,
        "braces": b"{a: " * 200_000,
        "dashes": b"- " * 400_000,
        "laughs": laughs.encode(),
        "large": b"version: 1\n" + b"#" * 10_000_000,
        "values": b"[" + b"1," * 400_000 + b"1]",
        "binary": bytes(range(256)) * 1000,
        "nots": b"version: 1\ncontracts: [{id: a, tool: t, post: " + b"{not: " * 57 + b"{file_exists: {path: a}}"
        + b"}" * 57 + b"}]\n",
        "lengths": b"version: 1\ncontracts: [{id: a, tool: t, post: {result: {length: " + b"{length: " * 55 + b"3"
        + b"}" * 57 + b"}]\n",
    }  # fmt: skip
    for name, data in bombs.items():
        start = time.process_time()
        found = loader.find_problems(data, "x")
        assert time.process_time() - start < 20, name
        assert name in ("nots", "lengths") or any(p.severity == "error" for p in found), name


@pytest.mark.parametrize("data", [
    b"\xff\xfe" + "version: 1".encode("utf-16-le"), b"a: \x00", b"%", b"? ", b": :", b"&", b"*", b"!", b"'", b'"\\x',
    b"[", b"}", b"--- ---", b"...", b"- - -\n -", b"|", b"a: |9", b"%YAML 9.9\n---\na", b"%TAG ! x\n---\n!a b",
    b"*a : b", b"? *a\n: b", b"&a : b", b"!!int : b", b"{[a]: b}", b"{? }", b"[? a]", b"a: *b\nc: *b\n",
])  # fmt: skip
def test_broken_yaml(data: bytes) -> None:
    """Whatever the bytes, there are problems with places inside the file, and no exception."""
    found = loader.find_problems(data, "x")
    assert found
    assert all(p.line >= 1 and p.column >= 1 and p.message and p.hint for p in found)


def test_random_bytes() -> None:
    """Good files with random damage never raise anything but ContractError, and lint agrees with load."""
    dice = random.Random(7)
    texts = [bytes_of("contracts_good", name) for name in examples("contracts_good")]
    for _ in range(400):
        data = bytearray(dice.choice(texts))
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(data))
            data[at : at + dice.randint(0, 3)] = dice.choice(
                [
                    b"{{",
                    b"}",
                    b"\t",
                    b"&a ",
                    b"*a",
                    b"!x ",
                    b": ",
                    b"\n",
                    b"- ",
                    b"'",
                    b'"',
                    b"[",
                    b"#",
                    b"\xc3",
                    b"null",
                ]
            )
        errors = [p for p in loader.find_problems(bytes(data), "x") if p.severity == "error"]
        try:
            loader.load(bytes(data), "x")
            assert not errors
        except ContractError as error:
            assert errors == list(error.problems)


# -- one validator ---------------------------------------------------------------------------------------


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    for key, item in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        found += paths_in(item, (*path, key))
    return found


def at(data: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        data = data[part]
    return data


VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 3, 200, 1.0, 2.5, "", "x", "2xx", "10s", "0s", "1", "a b", "{{args.x}}", "{{x",
    "0644", "http://h/", [], {}, [1], ["x"], [[]], {"x": 1}, {"equals": 1}, {"file_exists": {"path": "a"}},
    "write", "GET", [{"file_exists": {"path": "a"}}], {"git": {}}, {"length": {"at_least": "{{args.x}}"}},
    {"not": {"x": {}}}, "a\n",
)  # fmt: skip
NAMES = ("x", "pre", "tool", "kind", "post", "path", "equals", "length", "runs", "event", "exit", "status", "not",
         "all_of", "git", "file_exists", "use", "policy", "schema", "python")  # fmt: skip


def mutant(data: Any, dice: random.Random) -> Any:
    data = copy.deepcopy(data)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        path = dice.choice(paths_in(data))
        if not path:
            continue
        holder, last = at(data, path[:-1]), path[-1]
        action = dice.choice(("drop", "rename", "add", "replace", "replace", "wrap", "unwrap", "swap", "double"))
        if action == "drop":
            del holder[last]
        elif action == "rename" and isinstance(holder, dict):
            holder[dice.choice((*NAMES, str(last) + "s", str(last)[:-1]))] = holder.pop(last)
        elif action == "add" and isinstance(holder[last], dict):
            holder[last][dice.choice(NAMES)] = copy.deepcopy(dice.choice(VALUES))
        elif action == "replace":
            holder[last] = copy.deepcopy(dice.choice(VALUES))
        elif action == "wrap":
            holder[last] = [holder[last]]
        elif action == "unwrap" and isinstance(holder[last], list) and holder[last]:
            holder[last] = holder[last][0]
        elif action == "swap":
            other = dice.choice(paths_in(data))
            holder[last] = copy.deepcopy(at(data, other))
        elif action == "double" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
    return data


def test_the_schema_is_the_only_validator() -> None:
    """For thousands of mutants, the loader has a structural problem exactly where the printed schema has an
    error; everything else it reports is one of the codes of text, meaning and advice."""
    validator = jsonschema.Draft202012Validator(json.loads(json.dumps(build_schema())))
    dice = random.Random(20)
    texts = [parse(bytes_of("contracts_good", name)).data for name in examples("contracts_good")]
    texts += [
        data for data in (parse(bytes_of("contracts_bad", name)).data for name in examples("contracts_bad")) if data
    ]
    accepted = refused = 0
    for _ in range(4000):
        data = mutant(dice.choice(texts), dice)
        written = json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")
        document = parse(written)
        if document.problems:
            continue
        assert document.data == data
        structural = [p for p in loader.find_problems(written, "x") if p.code.startswith("TC1") or p.code == "TC017"]
        assert bool(structural) is not validator.is_valid(data), (data, structural)
        accepted, refused = accepted + (not structural), refused + bool(structural)
    assert accepted + refused >= 3000
    assert min(accepted, refused) > 300


# -- what is compiled ------------------------------------------------------------------------------------


def test_compiled_form() -> None:
    """Defaults are filled in, one-or-list is a list, matchers are maps, durations are seconds."""
    plain = compiled(
        "    kind: write\n    when: {args.a: 1, args.b: [1], args.c: {length: 2}}\n"
        "    post:\n"
        "      not: {any_of: [{result: {path: x, length: 3}}, {command: {run: [a], stdout: b, exit: 2}}]}\n"
        "    within: 250ms\n    timeout: 2m\n"
    )
    assert plain == {
        "id": "a", "line": 3, "tool": ["save"], "kind": ["write"], "mode": "enforce",
        "when": {"args.a": {"equals": 1}, "args.b": {"equals": [1]}, "args.c": {"length": {"equals": 2}}},
        "post": [{"check": "not", "params": {"check": "any_of", "params": [
            {"check": "result", "params": {"path": "x", "of": "result", "length": {"equals": 3}}},
            {"check": "command", "params": {"run": ["a"], "stdout": {"equals": "b"}, "exit": [2]}},
        ]}}],
        "within": 0.25, "timeout": 120.0, "every": 0.25,
    }  # fmt: skip


def test_files_and_captures_are_marked() -> None:
    """`per_file` and `captures` say what the contract is judged once for each of."""
    assert "per_file" not in compiled(POST) and "captures" not in compiled(POST)
    assert compiled('    post: {file_exists: {path: "{{file.path}}"}}\n')["per_file"] is True
    assert compiled("    when: {file.action: add}\n" + POST)["per_file"] is True
    body = '    when: {args.command: {runs: "rm {path}"}}\n    post: {not: {file_exists: {path: "{{match.path}}"}}}\n'
    assert compiled(body)["captures"] is True


def test_mode_of_file_and_contract() -> None:
    """A contract's own mode counts, else its file's; a file that observes makes its packs observe."""
    data = b"mode: observe\n" + contract(POST) + b"  - id: b\n    tool: t\n    mode: enforce\n" + POST.encode()
    assert [plain["mode"] for plain in loader.load(data, "x").contracts] == ["observe", "enforce"]


def test_code_files() -> None:
    """The code that a contract names is listed; a file without a folder as ./name: scripts, programs, schemas, Python files."""
    data = contract(
        "    post:\n"
        '      - command: {run: [python3, -I, "{{project}}/checks/a.py", "{{args.x}}"]}\n'
        "      - command: {run: [./probe, x]}\n"
        '      - command: {run: ["{{project}}/other"]}\n'
        "      - command: {run: [node, -e, code]}\n"
        "      - command: {run: [/usr/bin/env, A=1, bash, -x, b.sh]}\n"
        "      - not: {custom: {python: 'checks/n.py:saved'}}\n"
        "      - schema: {schema: s.json}\n"
        "      - command: {run: [python3, -m, pytest]}\n"
    )
    assert loader.load(data, "x").code_files == [
        ("a", name)
        for name in (
            "python3",
            "checks/a.py",
            "./probe",
            "./other",
            "node",
            "/usr/bin/env",
            "bash",
            "./b.sh",
            "checks/n.py",
            "./s.json",
        )
    ]


@pytest.fixture
def packs(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(paths, "find_packs_folder", lambda: str(tmp_path))
    return tmp_path


def test_packs_follow_the_file(packs: Any) -> None:
    """A pack's contracts follow the file's own, which replace those with the same id."""
    (packs / "p.yaml").write_bytes(contract(POST) + b"  - id: b\n    tool: t\n    mode: enforce\n" + POST.encode())
    loaded = loader.load(b"use: p\nmode: observe\n" + contract(POST), "x")
    assert [(plain["id"], plain.get("pack"), plain["mode"]) for plain in loaded.contracts] == [
        ("a", None, "observe"), ("b", "p", "observe"),
    ]  # fmt: skip
    assert loaded.contracts[1]["source"] == "pack p" and loaded.use == ["p"]


def test_an_enforcing_file_does_not_harden_a_pack(packs: Any) -> None:
    """A pack that only observes goes on doing so in a file that enforces."""
    (packs / "p.yaml").write_bytes(b"mode: observe\n" + contract(POST))
    assert loader.load(b"version: 1\nmode: enforce\nuse: [p]\ncontracts: []\n", "x").contracts[0]["mode"] == "observe"


@pytest.mark.parametrize("text", [b"version: 1\nuse: [p]\ncontracts: []\n", b"version: 2\ncontracts: []\n", b"\xff"])
def test_a_broken_pack_is_an_error(packs: Any, text: bytes) -> None:
    """A pack that cannot be used is an error of the file that uses it, in lint and load alike."""
    (packs / "p.yaml").write_bytes(text)
    data = b"version: 1\nuse: [p]\ncontracts: []\n"
    assert [p.code for p in loader.find_problems(data, "x")] == ["TC215"]
    with pytest.raises(ContractError):
        loader.load(data, "x")


@pytest.mark.parametrize(("pattern", "slow"), [
    ("(a+)+", True), ("(a*)*b", True), (r"(\w+\s?)+$", True),
    ("(a+|b)+", True), ("(x?(a+))+", True), ("(.*)*", True), ("((ab)+)+", True),
    (r"(\d+\.)*\d+", False), (r"^[a-z]+(-[a-z]+)*$", False), ("(a|b)*", False), ("a+b+", False), ("(a{1,3})+", False),
    ("(?:x+y)+", False), ("(", False), (r"(\s*,\s*)+", True), ("[^,]+(,[^,]+)*", False),
])  # fmt: skip
def test_hazard(pattern: str, slow: bool) -> None:
    """A repetition that the same text can go through in several ways is a hazard; others are not."""
    assert is_slow(pattern) is slow


@pytest.mark.parametrize(("argv", "found"), [
    ('[sh, -c, "x {{args.a}}"]', True), ('[bash, -o, pipefail, -ec, "{{args.a}}"]', True),
    ('[timeout, "5", /bin/zsh, -lc, "{{args.a}}"]', True), ('[python3.12, -I, -c, "print({{args.a}})"]', True),
    ('[python3, "-cprint({{args.a}})"]', True), ('[node, --eval, "{{args.a}}"]', True),
    ('[perl, -ne, "{{args.a}}"]', True), ('[sh, -c, "test -e $1", sh, "{{args.a}}"]', False),
    ('[sh, script.sh, -c, "{{args.a}}"]', False), ('[python3, -m, x, -c, "{{args.a}}"]', False),
    ('[grep, -c, "{{args.a}}", file]', False), ('[git, -c, a=b, log, --, "{{args.a}}"]', False),
])  # fmt: skip
def test_template_in_a_script(argv: str, found: bool) -> None:
    """A template in the code that an interpreter gets on its command line is an error; as an argument it is not."""
    errors = [p.code for p in loader.find_problems(contract(f"    post: {{command: {{run: {argv}}}}}\n"), "x")]
    assert errors == (["TC212"] if found else [])
