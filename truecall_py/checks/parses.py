"""parses: a file is valid in its language. It tests only the syntax, runs nothing of the file, and accepts whatever
the usual readers of the file accept."""

from __future__ import annotations

import stat as modes

from truecall_py.checks import LOGIC
from truecall_py.checks.file_exists import build_mark, name_file_type
from truecall_py.checks.support.env_and_ini import Malformed
from truecall_py.checks.support.file_formats import WORDS, decode, find_format, parse_json
from truecall_py.checks.support.nearest_names import find_nearest
from truecall_py.checks.support.outcomes import compare_effect, refuted, verified
from truecall_py.contracts.field import field
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.world.world import World

NAME = "parses"
SUMMARY = "A file parses as JSON, YAML, TOML or Python (syntax only; Python by the contract's interpreter)."
STAGE = LOGIC
FAILURE_CLASS = "compile"
COST = 2.3
FIELDS = (
    field("path", "path", "The file, relative to the folder in which the call started.", required=True,
          templated=True),
    field("as", "choice", "The language; default: by the file name (tsconfig.json and similar may have comments).",
          choices=("json", "jsonc", "yaml", "toml", "python")),
    field("still", "boolean", "true: it still parses; a file that did not parse before the call is unverified."),
)  # fmt: skip
ASSERTS = ()
ONLY_AFTER = {"still": ()}
WORKER = "truecall_py.worker.documents"
EXAMPLES = (
    {
        "title": "the settings are JSON",
        "files": {"settings.json": '{"port": 80}\n'},
        "check": {"path": "settings.json"},
        "verdict": "verified",
    },
    {
        "title": "a bracket is missing",
        "files": {"app.py": "print((1, 2)\n"},
        "check": {"path": "app.py"},
        "verdict": "refuted",
    },
    {
        "title": "a template of CloudFormation, with tags of its own",
        "files": {"stack.yaml": "Name: !Ref Bucket\n"},
        "check": {"path": "stack.yaml"},
        "verdict": "verified",
    },
    {
        "title": "a change broke the file",
        "before": {"files": {"settings.json": '{"port": 80}\n'}},
        "files": {"settings.json": '{"port": 80,\n'},
        "check": {"path": "settings.json", "still": True},
        "verdict": "refuted",
    },
    {
        "title": "the file was broken before the call",
        "before": {"files": {"settings.json": '{"port": 80,\n'}},
        "files": {"settings.json": '{"port": 80, "host": 1\n'},
        "check": {"path": "settings.json", "still": True},
        "verdict": "unverified",
    },
)

LANGUAGES = ("json", "jsonc", "yaml", "toml", "python")
# Signs of a template from which another program makes the real file: Jinja, Go templates, ERB.
MARKS = (b"{{", b"{%", b"<%")


def find_language(params: dict[str, Any]) -> str:
    return str(params.get("as") or find_format(params["path"]))


def expect(params: dict[str, Any]) -> str:
    still = ", as it did before the call" if params.get("still") else ""
    return f"{params['path']} parses as {WORDS.get(find_language(params), 'what its name says')}{still}"


def take_snapshot(params: dict[str, Any], call: ToolCall, world: World) -> list[int] | None:
    """Return the mark of the file before the call, None without one; with `still`, also 1 or 0: whether it parses."""
    path = world.resolve(params["path"])
    found = world.stat(path)
    if found is None:
        return None
    if not params.get("still"):
        return build_mark(found)
    return [*build_mark(found), int(not find_error(world.read(path), path, params, world))]


def needs_snapshot(params: dict[str, Any]) -> bool:
    return bool(params.get("still"))


def find_error(data: bytes, path: str, params: dict[str, Any], world: World) -> str:
    """Return the syntax error of the data, "" if it is valid. Raises Unverified."""
    try:
        parse(data, find_language(params), path, "as" in params, world)
    except Malformed as why:
        return str(why)
    return ""


def check_parsed_before(params: dict[str, Any], call: ToolCall, path: str, world: World) -> bool:
    """Whether the file parsed before the call, by the snapshot or by its client. Raises Unverified."""
    earlier = world.earlier(NAME, params)
    if earlier is not ABSENT:
        return bool(earlier and earlier[-1])
    text = next((file.before for file in call.files if file.path == path and file.before is not None), None)
    if text is None:
        raise Unverified("nothing tells whether it parsed before the call", "harness")
    return not find_error(text.encode("utf-8", "surrogatepass"), path, params, world)


def guess_other_language(data: bytes, kind: str) -> str:
    """Return what an invalid file may be, other than broken, if only its name says its language; "" for nothing."""
    plain = data.replace(b"${{", b"")  # GitHub's expressions are inside texts
    lines = [line.strip() for line in plain.split(b"\n")]
    if kind == "python":  # nested braces are common in Python
        if b"{%" in plain or any(line.startswith(b"{{") for line in lines):
            return "a template"
        return "Python 2" if any(line.startswith((b"print ", b"exec ")) for line in lines) else ""
    if any(mark in plain for mark in MARKS):
        return "a template"
    texts = [line for line in lines if line]
    if kind == "json" and len(texts) > 1 and all(line[:1] in b"{[" and line[-1:] in b"}]" for line in texts):
        return "one JSON value a line"
    return ""


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    expected = expect(params)
    kind = find_language(params)
    if kind not in LANGUAGES:
        raise Unverified(f"the name {params['path']} does not say what language it is in; say `as`", "contract")
    path = world.resolve(params["path"])
    found = world.stat(path)
    if found is None:
        return refuted(expected, f"nothing at {path}", find_nearest(path, world), True)
    if not modes.S_ISREG(found.st_mode):
        return refuted(expected, f"{name_file_type(found.st_mode)} at {path}", blank=True)
    data = world.read(path)
    why = find_error(data, path, params, world)
    if why:
        what = "is empty, and" if not data.strip() else ""
        told = " ".join(filter(None, (path, what, f"is not {WORDS[kind]}: {why}")))
        else_ = "" if "as" in params else guess_other_language(data, kind)
        if else_:
            raise Unverified(f"{told}; but it may be {else_} (say `as` if it is not)", "contract")
        if params.get("still") and world.earlier(NAME, params) is None:
            return refuted(expected, f"{told}; and it is new: nothing was there before the call")
        if params.get("still") and not check_parsed_before(params, call, path, world):
            raise Unverified(f"{told}; and it did not parse before the call either", "contract")
        return refuted(expected, told)
    earlier = world.earlier(NAME, params)
    effect = compare_effect(earlier[: len(build_mark(found))] if earlier else earlier, build_mark(found))
    return verified(expected, f"{path}, {found.st_size} bytes, parses as {WORDS[kind]}", effect)


def parse(data: bytes, kind: str, path: str, given: bool, world: World) -> None:
    """Raise Malformed for invalid data, Unverified if that is unknown."""
    if kind in ("json", "jsonc"):
        parse_json(decode(data, kind), kind, path, given)
        return
    job: dict[str, object] = {"do": "parse", "as": kind, "project": world.project}
    if kind == "python":
        if len(data) > 8_000_000:
            raise Unverified(f"{path} has {len(data)} bytes and is not parsed", "probe")
        job["source"] = data.decode("latin-1")  # the file may name its encoding
    else:
        job["text"] = decode(data, kind)
    answer = world.slow(job)
    if answer["error"]:
        raise Malformed(str(answer["error"]), int(str(answer["line"])), int(str(answer["column"])))
