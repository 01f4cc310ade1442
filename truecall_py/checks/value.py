"""value: a value in a file is right. A missing value is never right, and an empty list proves nothing about its
elements."""

from __future__ import annotations

import stat as modes

from truecall_py.checks import LOGIC
from truecall_py.checks.file_exists import build_mark, name_file_type
from truecall_py.checks.support import key_path
from truecall_py.checks.support.env_and_ini import Malformed, find_elsewhere
from truecall_py.checks.support.file_formats import WORDS, explain_doubt, find_format, read_value
from truecall_py.checks.support.key_path import ALL, parse, select_values, suggest_name
from truecall_py.checks.support.nearest_names import find_nearest
from truecall_py.checks.support.outcomes import compare_effect, refuted, verified
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import (
    as_number,
    describe,
    has_delta,
    matches,
    quote_value,
    refuse_unreachable,
)
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, OLD, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from truecall_py.world.world import World

NAME = "value"
SUMMARY = "A value in a JSON, YAML, TOML, .env or INI file, or of each of its elements, is as expected."
STAGE = LOGIC
FAILURE_CLASS = ""
COST = 2.3
FIELDS = (
    field("file", "path", "The file, relative to the folder in which the call started.", required=True,
          templated=True),
    field("path", "key", "The path in the file: `server.port`, `items[0]`, `items[name=web].port`, `items[*].port` "
          "(every one), `\"a.b\".c`; default: the whole file. Several YAML documents are a list.", templated=True),
    field("is", "matcher", "The expected value (increased_by and changed work). Values of .env and INI files are "
          "texts; a number or boolean is compared as written.", templated=True),
    field("same_as", "key", "Another path in the same file with the same value.", templated=True),
    field("each", "boolean", "true: every element of the list or map at the path; an empty one proves nothing."),
    field("format", "choice", "The format; default: by the file name.",
          choices=("json", "jsonc", "yaml", "toml", "env", "ini")),
)  # fmt: skip
ASSERTS = ("is", "same_as")
WORKER = "truecall_py.worker.documents"
EXAMPLES = (
    {
        "title": "the version was raised",
        "files": {"package.json": '{"name": "app", "version": "1.3.0"}\n'},
        "check": {"file": "package.json", "path": "version", "is": "1.3.0"},
        "verdict": "verified",
    },
    {
        "title": "one service has another port",
        "files": {"compose.json": '{"services": [{"name": "web", "port": 80}, {"name": "api", "port": 81}]}\n'},
        "check": {"file": "compose.json", "path": "services[name=api].port", "is": 8081},
        "verdict": "refuted",
    },
    {
        "title": "every job has a timeout, but the list has no jobs",
        "files": {"jobs.json": '{"jobs": []}\n'},
        "check": {"file": "jobs.json", "path": "jobs[*].timeout", "is": {"at_least": 1}},
        "verdict": "unverified",
    },
    {
        "title": "the counter went up by one",
        "before": {"files": {"state.json": '{"runs": 4}\n'}},
        "files": {"state.json": '{"runs": 5}\n'},
        "check": {"file": "state.json", "path": "runs", "is": {"increased_by": 1}},
        "verdict": "verified",
    },
)

TEXTS = ("env", "ini")


def describe_subject(params: dict[str, Any]) -> str:
    path = params.get("path") or "the whole"
    return f"{'every element of ' if params.get('each') else ''}{path} of {params['file']}"


def expect(params: dict[str, Any]) -> str:
    words = [describe(params["is"])] if params.get("is") else []
    words += [f"is the same as {params['same_as']}"] if params.get("same_as") else []
    return f"{describe_subject(params)} {' and '.join(words)}"


def needs_snapshot(params: dict[str, Any]) -> bool:
    return has_delta(params.get("is"))


def take_snapshot(params: dict[str, Any], call: ToolCall, world: World) -> dict[str, Any] | None:
    """Return the mark of the file before the call, and a digest of the values; if the contract compares them, the
    values at each place (a place alone: no value). None without a file."""
    path = world.resolve(params["file"])
    found = world.stat(path)
    if found is None:
        return None
    told: dict[str, Any] = {"mark": build_mark(found)}
    try:
        values = to_rows(select_values(read_document(params, path, world), parse_steps(params)))
    except (Malformed, Unverified):
        if has_delta(params.get("is")):
            raise
        return told
    return {**told, "values": values} if has_delta(params.get("is")) else {**told,
                                                                                      "digest": digest_rows(values)}


def to_rows(values: list[tuple[str, Any]]) -> list[list[Any]]:
    """Return the values as JSON data."""
    return [[place] if held is ABSENT else [place, held] for place, held in values]


def digest_rows(values: list[list[Any]]) -> str:
    from truecall_py.core.fast_json import dumps
    from truecall_py.core.hashing import sha256

    return sha256(dumps(values).encode())


def find_effect(earlier: Any, found: os.stat_result, values: list[tuple[str, Any]]) -> str:
    """Return whether the call can have brought these values; if they were not read before it, whether it can have
    brought the file."""
    if not earlier:
        return compare_effect(earlier, build_mark(found))
    if "digest" in earlier:
        return compare_effect(earlier["digest"], digest_rows(to_rows(values)))
    return compare_effect(earlier["mark"], build_mark(found))


def parse_steps(params: dict[str, Any]) -> Any:
    steps = parse(params["path"]) if params.get("path") else []
    return [*steps, (ALL, "", "")] if params.get("each") else steps


def read_document(params: dict[str, Any], path: str, world: World) -> Any:
    """Return the value of the whole file. Raises Malformed or Unverified."""
    return read_value(world.read(path), choose_format(params, path), path, bool(params.get("format")), world)


def choose_format(params: dict[str, Any], path: str) -> str:
    kind = params.get("format") or find_format(path)
    if kind not in WORDS or kind == "python":
        raise Unverified(f"the name {path} does not say what format it has; say `format`", "contract")
    return str(kind)


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    expected = expect(params)
    path = world.resolve(params["file"])
    found = world.stat(path)
    if found is None:
        return refuted(expected, f"nothing at {path}", find_nearest(path, world), True)
    if not modes.S_ISREG(found.st_mode):
        return refuted(expected, f"{name_file_type(found.st_mode)} at {path}", blank=True)
    steps = parse_steps(params)
    try:
        whole = read_document(params, path, world)
    except Malformed as why:
        return refuted(expected, f"{path} is not {WORDS[choose_format(params, path)]}: {why}", blank=True)
    values = select_values(whole, steps)
    if not values:
        raise Unverified(f"{describe_subject(params)}: there is none, and so nothing that could be right or wrong",
                         "vacuous")
    by_name = all(kind == key_path.NAME for kind, _, _ in steps)
    if by_name and values[0][1] is ABSENT and choose_format(params, path) == "ini":
        others = find_elsewhere(whole, [key for _, key, _ in steps])
        if others:
            raise Unverified(f"there is nothing at {values[0][0]} in {path}; but {others}", "probe")
    earlier = world.earlier(NAME, params)
    matcher = {**params.get("is", {}), **build_same_as_matcher(params, whole)}
    texts = choose_format(params, path) in TEXTS
    if by_name:
        refuse_unreachable(matcher, values[0][1], whole, [key for _, key, _ in steps])
    wrong, unsure = judge_values(matcher, values, list_values_before(earlier), texts, world)
    if wrong:
        place, held = wrong[0]
        if held is ABSENT:
            hint = suggest_name(whole, steps)
            return refuted(expected, f"there is nothing at {place} in {path}{'; ' if hint else ''}{hint}", blank=True)
        more = f", and {len(wrong) - 1} more of {len(values)}" if len(wrong) > 1 else ""
        what = f"{place or 'the whole'} of {path} is {quote_value(held)}{more}"
        if has_delta(matcher) and not world.alone(NAME, params):
            raise Unverified(f"{what}, but another call about it ran at the same time", "probe")
        return refuted(expected, what)
    if unsure:
        raise unsure
    held = values[0][1]
    what = "not there" if held is ABSENT else quote_value(held)
    what += f" (all {len(values)})" if names_many(steps) and held is not ABSENT else ""
    told = f"{describe_subject(params)} is {what}"
    effect = find_effect(earlier, found, values)
    # The contract may require that nothing changed.
    still = matcher.get("changed") is False or matcher.get("increased_by") == 0
    return verified(expected, told, "" if still and effect == OLD else effect)


def names_many(steps: Any) -> bool:
    return any(kind == ALL for kind, _, _ in steps)


def build_same_as_matcher(params: dict[str, Any], whole: Any) -> dict[str, Any]:
    """Return the matcher of `same_as`. Raises Unverified unless its path names exactly one value."""
    if not params.get("same_as"):
        return {}
    held = select_values(whole, parse(params["same_as"]))
    if len(held) != 1 or held[0][1] is ABSENT:
        what = "nothing" if not held or held[0][1] is ABSENT else f"{len(held)} values"
        raise Unverified(f"there is {what} at {params['same_as']} that it could be the same as", "tool")
    why = explain_doubt(held[0][1])
    if why or "equals" in params.get("is", {}):
        raise Unverified(why or "same_as and a value that it must equal do not go together", "contract")
    return {"equals": held[0][1]}


def list_values_before(earlier: Any) -> dict[str, Any] | None:
    """Return the values before the call by place, None without a snapshot."""
    if earlier is ABSENT or (earlier is not None and "values" not in earlier):
        return None
    return {item[0]: item[1] if len(item) > 1 else ABSENT for item in (earlier or {"values": ()})["values"]}


def judge_values(
    matcher: dict[str, Any], values: list[tuple[str, Any]], then: dict[str, Any] | None, texts: bool, world: World
) -> tuple[list[tuple[str, Any]], Unverified | None]:
    """Return (the wrong values, why one of the others is unverified)."""
    wrong: list[tuple[str, Any]] = []
    unsure = None
    certain = set(matcher) <= {"exists"}
    for place, held in values:
        was = None if then is None else (convert_text(then.get(place, ABSENT), matcher, texts),)
        why = "" if certain else explain_doubt(held) or (explain_doubt(was[0]) if was and has_delta(matcher) else "")
        if why:
            unsure = unsure or Unverified(f"{place}: {why}", "probe")
        elif held is ABSENT and not set(matcher) <= {"exists", "changed"}:
            wrong.append((place, held))
        else:
            try:
                if not matches(matcher, convert_text(held, matcher, texts), world, before=was):
                    wrong.append((place, held))
            except Unverified as trouble:
                unsure = unsure or trouble
    return wrong, unsure


def convert_text(held: Any, matcher: dict[str, Any], texts: bool) -> Any:
    """Return a text of a format that has only texts as the number or boolean that it is compared with."""
    if not texts or not isinstance(held, str):
        return held
    wanted = [matcher[name] for name in ("equals", "not_equals") if name in matcher] + list(matcher.get("one_of", ()))
    if any(isinstance(each, bool) for each in wanted) and held in ("true", "false"):
        return held == "true"
    numeric = any(name in matcher for name in ("at_least", "at_most", "increased_by"))
    if not numeric and not any(as_number(each) is not None for each in wanted):
        return held
    digits = held.removeprefix("-").replace(".", "", 1)
    if not digits.isascii() or not digits.isdigit() or len(held) > 30:
        return held
    return float(held) if "." in held else int(held)
