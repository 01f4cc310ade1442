"""A client is its folder and one name: a toy one is added to a copy of this tree, and every command works with it. What
its folder lacks is named, with the file that it belongs into."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from truecall_py import clients
from truecall_py.clients import interface
from truecall_py.core.paths import PACKAGE

ROOT = os.path.dirname(PACKAGE)
COPIED = ("truecall_py", "hooks", "contracts", "install", "docs", ".claude-plugin", ".codex-plugin", "bench")
TOY = {
    "__init__.py": '"""A toy."""\n',
    "hook.py": '''\
"""Toy: how its payloads are read and how it is answered."""

from __future__ import annotations

from typing import Any

from truecall_py.clients.payload import decode_json, parse_request
from truecall_py.core.fast_json import dumps
from truecall_py.core.types import SUCCESS, Correction, Reply, ToolCall

NAME = "toy"
HANDLED = ("toolDone",)
KNOWN = frozenset(("toyStarted",))
STATIC = {"toolDone": "top context"}
PROJECT_ENV = ""


def recognises(payload: dict[str, Any]) -> bool:
    return "toyTool" in payload


def parse(payload: dict[str, Any]) -> ToolCall:
    tool, args = parse_request("toolDone", payload.get("toyTool"), payload.get("toyArgs", {}))
    folder, text = payload.get("toyFolder"), str(payload.get("toyAnswer"))
    return ToolCall(
        harness=NAME, event="toolDone", tool=tool, kinds=frozenset(("other",)), args=args, files=(),
        result=decode_json(text), text=text, reported=SUCCESS, cwd=folder, start_cwd=folder,
        session=str(payload.get("toySession", "")), call_id=str(payload.get("toyCall", "")), response=text,
    )


def render(event: str, call: ToolCall | None, correction: Correction | None, notices: tuple[str, ...]) -> Reply:
    return Reply() if correction is None else Reply(dumps({"additionalContext": correction.text}))
''',
    "registration.py": '''\
"""Toy: where and how it is told of a hook."""

from __future__ import annotations

from truecall_py.clients.registration import Registration

REGISTRATION = Registration(
    name="toy",
    client="Toy",
    events=("toolDone",),
    home=("TOY_HOME", "", ".toy"),
    user="settings.json",
    project=".toy/settings.json",
    example="install/toy.json",
    executable="toy-client",
    marks=(".toy", "TOY.md"),
    agent_variables=("TOY_AGENT",),
    off=(("toyHooksOff", True),),
)
''',
    "samples.py": '''\
"""Payloads of Toy that truecall makes itself."""

from __future__ import annotations

from typing import Any

from truecall_py.clients.samples import CALL, SAID, TOOL


def build_self_test(event: str, folder: str) -> dict[str, Any]:
    return {"toyTool": TOOL, "toyArgs": {}, "toyAnswer": SAID, "toyFolder": folder, "toyCall": CALL}
''',
    "transcript.py": '''\
"""Transcripts of Toy: a payload a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from truecall_py.clients.toy.hook import parse
from truecall_py.clients.transcripts import Lines, Made


def fits(plain: dict[str, Any]) -> bool:
    return "toyTool" in plain


class Reader:
    def __init__(self, lines: Lines, heads: tuple[str, ...]) -> None:
        self.lines = lines

    def line(self, plain: dict[str, Any]) -> Iterator[Made]:
        yield Made(self.lines.number, parse(plain))

    def end(self) -> Iterator[Made]:
        return iter(())
''',
}
EACH = """version: 1
contracts:
  - id: answered
    tool: save_note
    post: {result: {path: ok, equals: true}}
"""


class Copy:
    """A copy of the tree with the toy in it, a project, and a person's home."""

    def __init__(self, root: str) -> None:
        self.root, self.project, self.home = root, os.path.join(root, "project"), os.path.join(root, "home")
        for name in COPIED:
            if os.path.isdir(os.path.join(ROOT, name)):
                shutil.copytree(os.path.join(ROOT, name), os.path.join(root, name), ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(os.path.join(ROOT, "README.md"), root)
        self.folder = os.path.join(root, "truecall_py", "clients", "toy")
        self.restore()
        table = os.path.join(root, "truecall_py", "clients", "__init__.py")
        with open(table, encoding="utf-8") as file:
            text = file.read()
        assert text.count('"cline")') == 1
        with open(table, "w", encoding="utf-8") as file:
            file.write(text.replace('"cline")', '"cline", "toy")'))
        for folder in (self.project, self.home, os.path.join(self.project, ".toy")):
            os.mkdir(folder)
        self.write(os.path.join(self.project, "truecall.yaml"), EACH)

    def restore(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        os.mkdir(self.folder)
        for name, text in TOY.items():
            self.write(os.path.join(self.folder, name), text)

    def write(self, path: str, text: str) -> str:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def python(self, *argv: str, given: str = "", cwd: str = "") -> Any:
        env = {"HOME": self.home, "PATH": "/usr/bin:/bin", "PYTHONPATH": self.root, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([sys.executable, *argv], cwd=cwd or self.root, env=env, input=given, capture_output=True,
                              text=True, timeout=120)  # fmt: skip

    def truecall(self, *argv: str, code: int = 0) -> str:
        done = self.python("-m", "truecall_py", *argv, cwd=self.project)
        assert done.returncode == code, done
        return str(done.stdout)

    def faults(self) -> list[str]:
        code = "from truecall_py.clients import interface; print(*interface.find_faults('toy'), sep='\\n')"
        done = self.python("-c", code)
        assert done.returncode == 0, done
        return [line for line in done.stdout.splitlines() if line]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: Any) -> Copy:
    return Copy(os.path.realpath(tmp_path_factory.mktemp("copy")))


@pytest.fixture
def toy(copy: Copy) -> Iterator[Copy]:
    yield copy
    copy.restore()


PAYLOAD = {"toyTool": "save_note", "toyArgs": {"name": "a"}, "toyAnswer": '{"ok": false}', "toyCall": "c1", "toySession": "s1"}


def test_a_toy_client_works_in_every_command(toy: Copy) -> None:
    """Its folder and one name are enough: the generated files, init, install, doctor, the hook by its registered
    command, verify, explain, replay and uninstall."""
    done = toy.python("install/generate")
    assert done.returncode == 0, done
    assert os.path.exists(os.path.join(toy.root, "install", "toy.json"))

    out = toy.truecall("init", "--yes", "--person")
    assert "clients: toy" in out and "toy: registered in" in out
    settings = os.path.join(toy.home, ".toy", "settings.json")
    with open(settings, encoding="utf-8") as file:
        line = json.load(file)["hooks"]["toolDone"][0]["hooks"][0]["command"]
    assert "toy toolDone" in line and toy.root in line
    assert "toy: nothing to change" in toy.truecall("install", "toy")
    assert "or toy" in toy.truecall("install", "--help").replace("\n", " ")

    found = json.loads(toy.truecall("doctor", "toy", "--format", "json"))
    assert not [each for each in found if each["level"] == "error"]
    assert any("told of a contract that was broken" in each["what"] or "as Toy reads it" in each["what"] for each in found)

    payload = json.dumps({**PAYLOAD, "toyFolder": toy.project})
    env = {"HOME": toy.home, "PATH": "/usr/bin:/bin"}
    answer = subprocess.run(["/bin/sh", "-c", line], cwd=toy.project, env=env, input=payload, capture_output=True, text=True,
                            timeout=60)  # fmt: skip
    assert answer.returncode == 0 and "answered" in json.loads(answer.stdout)["additionalContext"], answer

    path = toy.write(os.path.join(toy.root, "payload.json"), payload)
    assert "answered" in toy.truecall("verify", path, code=1)
    assert "toy toolDone" in toy.truecall("explain", path)
    lines = toy.write(os.path.join(toy.root, "t.jsonl"), f"{payload}\n")
    assert '"answered"' in toy.truecall("replay", lines, "--json", "--jobs", "1", code=1)

    assert "toy: removed from" in toy.truecall("uninstall", "toy")
    assert not os.path.exists(settings)
    off = toy.truecall("doctor", "toy", code=1)
    assert "truecall install toy" in off


@pytest.mark.parametrize("name", clients.NAMES)
def test_the_folder_of_every_client_is_whole(name: str) -> None:
    """Nothing that clients/interface.py asks for is missing."""
    assert not list(interface.find_faults(name))


def cut(toy: Copy, part: interface.Part) -> str:
    """Takes what defines one name out of a module of the toy's; that file, as it is named."""
    path = os.path.join(toy.folder, f"{part.module}.py")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    lines = text.split("\n")
    for node in ast.parse(text).body:
        names = [each.id for each in node.targets if isinstance(each, ast.Name)] if isinstance(node, ast.Assign) else [
            getattr(node, "name", "")]  # fmt: skip
        if part.name in names:
            lines[node.lineno - 1 : node.end_lineno] = []
            break
    else:
        raise AssertionError(f"{part.name} is not in the toy")
    toy.write(path, "\n".join(lines))
    return f"truecall_py/clients/toy/{part.module}.py"


@pytest.mark.parametrize("part", interface.REQUIRED, ids=lambda part: f"{part.module}.{part.name}")
def test_a_part_that_is_left_out_is_named(toy: Copy, part: interface.Part) -> None:
    """With the file that it belongs into, and what it is; the generator writes nothing then."""
    file = cut(toy, part)
    assert any(fault.startswith(f"{file}: ") and part.name in fault for fault in toy.faults()), toy.faults()


@pytest.mark.parametrize("module", sorted({part.module for part in interface.REQUIRED}))
def test_a_module_that_is_left_out_is_named(toy: Copy, module: str) -> None:
    """Each of its parts, with the file; the generator ends with 1 and says it, too."""
    os.unlink(os.path.join(toy.folder, f"{module}.py"))
    said = toy.faults()
    for part in interface.REQUIRED:
        file = f"truecall_py/clients/toy/{module}.py"
        assert part.module != module or f"{file}: {part.name} is missing ({part.what})" in said
    done = toy.python("install/generate")
    assert done.returncode == 1 and said[0] in done.stderr, done


@pytest.mark.parametrize("module, field", [
    *[("registration", field) for field in ("name", "client", "events", "home", "user", "project", "example")],
    *[("registration", field) for field in ("executable", "marks", "agent_variables")],
])  # fmt: skip
def test_a_field_that_is_left_out_is_named(toy: Copy, module: str, field: str) -> None:
    """A record without one of its fields is no record: the field and the file are named."""
    kept = [line for line in TOY[f"{module}.py"].split("\n") if not line.startswith(f"    {field}=")]
    toy.write(os.path.join(toy.folder, f"{module}.py"), "\n".join(kept))
    said = toy.faults()
    assert any(each.startswith(f"truecall_py/clients/toy/{module}.py: ") and f"missing {field}" in each for each in said), said


@pytest.mark.parametrize("old, new, words", [
    ('KNOWN = frozenset(("toyStarted",))', 'KNOWN = frozenset(("toolDone",))', "toolDone is in HANDLED and in KNOWN"),
    ('STATIC = {"toolDone": "top context"}', "STATIC = {}", "STATIC has no toolDone"),
    ('NAME = "toy"', 'NAME = "toys"', "NAME is 'toys', not 'toy'"),
    ('NAME = "toy"', 'NAME = "toy"\nBEFORE = "toyStarted"', "parse_before is missing, which BEFORE needs beside it"),
    ('HANDLED = ("toolDone",)', 'HANDLED = ["toolDone"]', "HANDLED is no tuple"),
    ('HANDLED = ("toolDone",)', 'HANDLED = ("toolOver",)', "toolDone is in neither HANDLED nor KNOWN"),
])  # fmt: skip
def test_parts_that_do_not_fit_together_are_named(toy: Copy, old: str, new: str, words: str) -> None:
    """What is there and does not fit to the rest, in the words of the file."""
    assert old in TOY["hook.py"]
    toy.write(os.path.join(toy.folder, "hook.py"), TOY["hook.py"].replace(old, new))
    assert any(words in fault for fault in toy.faults()), toy.faults()


@pytest.mark.parametrize("module, text, missing", [
    ("doctor", "def read_environment(project, given):\n    return {}, ()\n", "wrap_command is missing"),
    ("doctor", "find_switches = ()\n", "find_switches is no function"),
    ("call_outcomes", "SUCCESS_IS_END = True\n", "read_record is missing"),
])  # fmt: skip
def test_an_optional_module_holds_all_of_its_parts(toy: Copy, module: str, text: str, missing: str) -> None:
    """One that is there and lacks a part is no module that may be missing."""
    toy.write(os.path.join(toy.folder, f"{module}.py"), f'"""A part of the toy."""\n{text}')
    assert [each for each in toy.faults() if f"{module}.py: {missing}" in each]
