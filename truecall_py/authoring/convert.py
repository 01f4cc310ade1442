"""The ancestor's JSON contracts as ours. What it let pass without a look does not pass silently: whatever has no
counterpart is said, and a contract that would assert something else than before is left out and said, too."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from truecall_py.authoring.append_contract import make_id
from truecall_py.authoring.convert_templates import (
    Refused,
    convert_command,
    convert_pattern,
    convert_template,
    has_template,
    place,
)
from truecall_py.contract_files import loader
from truecall_py.contract_files.lint import warnings
from truecall_py.contract_files.yaml_writer import write_comment, write_duration, write_flow
from truecall_py.contract_files.yaml_writer import write_entry as lines_of
from truecall_py.core.errors import UsageError
from truecall_py.core.fast_json import loads
from truecall_py.core.record import record

MAX_TIMEOUT = 20_000  # milliseconds that the hook may run
CONDITION_KEYS = ("when", "if", "match", "condition", "args", "only", "unless")
REMEDY_KEYS = ("message", "remedy", "hint", "correction")
MAX_SHOWN = 400  # characters of a contract that is left out
HEADER = (
    "converted by truecall convert: look at every comment, then truecall lint and truecall trust",
    "The ancestor always said re-run. Say for each contract whether the same call may be made again: "
    "repeat: safe, keyed or never.",
)


@record(frozen=True)
class Note:
    """Something to look at. `lost` says that less is asserted than the ancestor's file meant to."""

    where: str
    words: str
    lost: bool


@record(frozen=True)
class Conversion:
    """The text of the new file, and what must be looked at."""

    text: str
    count: int
    notes: tuple[Note, ...]


class Entry:
    """One contract on its way: its new map, the comments about it, and what was passed over."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.plain: dict[str, Any] = {}
        self.notes: list[Note] = []
        self.timeouts: list[Any] = []

    def say(self, words: str, lost: bool = False) -> None:
        if words and words not in [note.words for note in self.notes]:
            self.notes.append(Note(self.where, words, lost))

    def passed_over(self, given: dict[str, Any], known: tuple[str, ...], what: str) -> None:
        """Says which keys have no counterpart."""
        for key in given:
            if key not in known:
                self.say(f"{key!r} of {what} has no counterpart and is left out", True)


def convert_file(data: bytes, path: str) -> Conversion:
    """The conversion of a file. Raises UsageError for one that is not of the ancestor's form."""
    lines = [line for words in HEADER for line in write_comment(words, 0)]
    lines += ["version: 1", "contracts:"]
    taken: set[str] = set()
    notes: list[Note] = []
    count = 0
    for number, given in enumerate(read_entries(data, path), 1):
        entry = Entry(f"contract {number}")
        try:
            convert_contract(entry, given, taken)
            lines += write_contract(entry)
            taken.add(entry.plain["id"])
            count += 1
        except Refused as why:
            entry.say(f"left out: {why}", True)
            for note in entry.notes:
                lines += write_comment(f"{note.where}: {note.words}", 2)
            lines += write_comment(json.dumps(given, ensure_ascii=True)[:MAX_SHOWN], 2)
        notes += entry.notes
    if not count:
        lines.remove("contracts:")
    return Conversion("\n".join(lines) + "\n", count, tuple(notes))


def read_entries(data: bytes, path: str) -> list[Any]:
    try:
        found = loads(data.decode("utf-8-sig"))
    except ValueError as error:
        raise UsageError(f"the file is not JSON: {error}", path, "name a JSON file of contracts") from None
    if isinstance(found, dict):
        found = found.get("contracts", [found] if "tool" in found else None)
    if not isinstance(found, list) or not found:
        do = 'it takes a list of contracts, or {"contracts": [...]}'
        raise UsageError("there is no contract in this file", path, do)
    return found


def convert_contract(entry: Entry, given: Any, taken: set[str]) -> None:
    """Fills the new contract. Raises Refused where none can be made that means the same."""
    if not isinstance(given, dict):
        raise Refused("it is no object")
    narrowing = [key for key in CONDITION_KEYS if key in given]
    if narrowing:
        raise Refused(f"its condition {narrowing[0]!r} has no counterpart that is known; write it as `when`")
    tool = convert_tools(given.get("tool"))
    name = given.get("id") or given.get("name") or tool
    name = str(name[0] if isinstance(name, list) else name).lower().removeprefix("mcp__")
    entry.plain["id"] = make_id(name, taken, "contract")
    if isinstance(given.get("description"), str) and given["description"]:
        entry.plain["description"] = given["description"]
    entry.plain["tool"] = tool
    checks = given.get("post")
    found = []
    for number, check in enumerate(checks if isinstance(checks, list) else [checks], 1):
        try:
            found.append(convert_check(entry, check))
        except Refused as why:
            entry.say(f"check {number} left out: {why}", True)
    if not found:
        raise Refused("nothing of what it asserts could be converted")
    entry.plain["post"] = found
    convert_timeout(entry, [given.get("timeoutMs"), *entry.timeouts])
    remedy = next((given[key] for key in REMEDY_KEYS if isinstance(given.get(key), str) and given[key]), "")
    if remedy:
        entry.plain["remedy"] = remedy
    entry.passed_over(given, ("tool", "id", "name", "description", "post", "timeoutMs", *REMEDY_KEYS), "the contract")


def convert_tools(given: Any) -> Any:
    """The tool's name, or a list. Raises Refused for a pattern that is no glob."""
    names = given if isinstance(given, list) else given.split("|") if isinstance(given, str) else []
    found = []
    for each in names:
        if not isinstance(each, str) or not each.strip():
            raise Refused("it names no tool")
        name = each.strip().removeprefix("^").removesuffix("$").replace(".*", "*")
        if warnings.EXPRESSION.search(name) or "," in name:
            raise Refused(f"{each!r} is no name of a tool and no glob (* and ? are wild)")
        found.append(name)
    if not found:
        raise Refused("it names no tool")
    return found if len(found) > 1 else found[0]


def convert_timeout(entry: Entry, given: list[Any]) -> None:
    """The longest of the time-outs, as one look's."""
    real = [value for value in given if value is not None]
    good = [value for value in real if isinstance(value, int) and not isinstance(value, bool) and value > 0]
    if len(good) < len(real):
        entry.say("a timeoutMs that is no number of milliseconds is left out")
    if not good:
        return
    longest = max(good)
    if longest > MAX_TIMEOUT:
        entry.say(f"timeoutMs {longest} is cut to {MAX_TIMEOUT}: the hook ends after {MAX_TIMEOUT // 1000} s")
    entry.plain["timeout"] = write_duration(min(longest, MAX_TIMEOUT))


# -- checks ----------------------------------------------------------------------------------------------


def convert_check(entry: Entry, given: Any) -> dict[str, Any]:
    """One check. Raises Refused."""
    if not isinstance(given, dict):
        raise Refused("it is no object with `check`")
    kind = given.get("check")
    if kind is None:
        raise Refused("it does not say which `check` it is")
    if not isinstance(kind, str) or kind not in CHECKS:
        raise Refused(f"the check {str(kind)[:60]!r} has no counterpart")
    entry.timeouts.append(given.get("timeoutMs"))
    return CHECKS[kind](entry, {key: value for key, value in given.items() if key not in ("check", "timeoutMs")})


def convert_file_exists(entry: Entry, given: dict[str, Any]) -> dict[str, Any]:
    path, words = place(require_text(given, "path"))
    entry.say(words)
    params: dict[str, Any] = {"path": path}
    for theirs, ours in (("minSize", "min_size"), ("maxSize", "max_size")):
        if theirs in given:
            size = given[theirs]
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise Refused(f"{theirs} is no number of bytes")
            if (theirs, size) == ("minSize", 0):
                entry.say("minSize 0 asserts nothing and is left out")
            else:
                params[ours] = size
    if "contains" in given:
        params["contains"] = convert_template(require_text(given, "contains"))
    entry.say("a folder no longer counts as the file; if one is meant, add type: dir")
    entry.passed_over(given, ("path", "minSize", "maxSize", "contains"), "file_exists")
    return {"file_exists": params}


def convert_http(entry: Entry, given: dict[str, Any]) -> dict[str, Any]:
    params: dict[str, Any] = {"url": convert_template(require_text(given, "url"))}
    wanted = given.get("status", given.get("expectStatus"))
    if isinstance(wanted, str) and wanted.isascii() and wanted.isdigit():
        wanted = int(wanted)
    if wanted is not None:
        params["status"] = wanted
    method = str(given.get("method", "GET")).upper()
    if method not in ("GET", "HEAD"):
        raise Refused(f"the method {method} changes something; a look is GET or HEAD")
    if method != "GET":
        params["method"] = method
    if isinstance(given.get("headers"), dict) and given["headers"]:
        params["headers"] = {str(key): convert_template(str(value)) for key, value in given["headers"].items()}
    body = convert_matcher(entry, given, ("bodyContains", "contains"), ("bodyMatches", "matches"))
    if body:
        params["body"] = body
    if wanted is None and not body:
        entry.say("this http check asserted nothing, so that any answer passed; here a status of 2xx is asked")
        params["status"] = "2xx"
    known = ("url", "status", "expectStatus", "method", "headers", "bodyContains", "contains", "bodyMatches",
             "matches")  # fmt: skip
    entry.passed_over(given, known, "http")
    return {"http_status": params}


def convert_shell(entry: Entry, given: dict[str, Any]) -> dict[str, Any]:
    argv, words = convert_command(require_text(given, "command"))
    entry.say(words)
    params: dict[str, Any] = {"run": argv}
    code = given.get("exitCode", given.get("expectExit", given.get("exit")))
    if code is not None:
        params["exit"] = code
    stdout = convert_matcher(entry, given, ("stdoutContains",), ("stdoutMatches",))
    stderr = convert_matcher(entry, given, ("stderrContains",), ("stderrMatches",))
    if stdout:
        params["stdout"] = stdout
    if stderr:
        params["stderr"] = stderr
    if (stdout or stderr) and code is None:
        entry.say("its exit code did not count beside the output; here it must be 0 as well (or say exit: [0, 1])")
    where, words = place(require_text(given, "cwd")) if "cwd" in given else ("{{project}}", "")
    entry.say(words)
    params["cwd"] = where
    known = ("command", "exitCode", "expectExit", "exit", "cwd", "stdoutContains", "stdoutMatches", "stderrContains",
             "stderrMatches")  # fmt: skip
    entry.passed_over(given, known, "shell")
    return {"command": params}


def convert_result(entry: Entry, given: dict[str, Any]) -> dict[str, Any]:
    path = re.sub(r"\[(\d+)\]", r".\1", str(given.get("path") or "")).removeprefix("$").lstrip(".")
    params: dict[str, Any] = {"path": path} if path else {}
    asserted = dict(convert_matcher(entry, given, ("contains",), ("matches",)))
    pairs = {"equals": "equals", "notEquals": "not_equals", "oneOf": "one_of", "exists": "exists", "type": "type",
             "min": "at_least", "atLeast": "at_least", "max": "at_most", "atMost": "at_most"}  # fmt: skip
    for theirs, ours in pairs.items():
        if theirs in given:
            value = given[theirs]
            asserted[ours] = convert_template(value) if isinstance(value, str) and ours != "type" else value
    if not asserted:
        raise Refused("result asserts nothing: say equals, contains, matches or exists")
    entry.passed_over(given, ("path", "contains", "matches", *pairs), "result")
    return {"result": {**params, **asserted}}


def convert_schema(entry: Entry, given: dict[str, Any]) -> dict[str, Any]:
    rules = given.get("schema")
    entry.passed_over(given, ("schema", "path"), "schema")
    if not isinstance(rules, (dict, str)) or not rules:
        raise Refused("its schema says nothing")
    inside = {"path": given["path"]} if isinstance(given.get("path"), str) and given["path"] else {}
    return {"schema": {"file" if isinstance(rules, str) else "schema": rules, **inside}}


CHECKS: dict[Any, Callable[[Entry, dict[str, Any]], dict[str, Any]]] = {
    "file_exists": convert_file_exists, "http": convert_http, "shell": convert_shell, "result": convert_result,
    "schema": convert_schema,
}  # fmt: skip


def require_text(given: dict[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str) or not value:
        raise Refused(f"it has no {key}" if key not in given else f"{key} is no text, or an empty one")
    return value


def convert_matcher(
    entry: Entry, given: dict[str, Any], texts: tuple[str, ...], patterns: tuple[str, ...]
) -> dict[str, Any]:
    """The matcher of the keys that ask for a text or a pattern."""
    found: dict[str, Any] = {}
    for key in texts:
        if key in given:
            found["contains"] = (
                convert_template(require_text(given, key)) if isinstance(given[key], str) else given[key]
            )
    for key in patterns:
        if key in given:
            found["matches"], words = convert_pattern(given[key], key)
            entry.say(words)
    return found


# -- the new text ----------------------------------------------------------------------------------------


def write_contract(entry: Entry) -> list[str]:
    """The lines of a contract under its comments. Raises Refused where `lint` would have a word about it."""
    plain = dict(entry.plain)
    try:
        post = plain["post"]
        plain["post"] = post if len(post) > 1 else post[0]
        lines = lines_of(plain, 2)
        text = write_flow({"version": 1, "contracts": [plain]})
    except ValueError as error:
        raise Refused(str(error)) from None
    problems = loader.find_problems(text.encode(), "")
    if problems:
        raise Refused("; ".join(f"{problem.code} {problem.message} ({problem.hint})" for problem in problems[:2]))
    if has_template(text) and "result." in text:
        entry.say("a value that is null, an object or missing is could-not-verify here, never a text")
    return [line for note in entry.notes for line in write_comment(note.words, 2)] + lines
