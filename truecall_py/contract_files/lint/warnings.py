"""Lint rules with advice: what in an accepted contract file probably is a mistake. One function per code. They never
make a file unusable."""

from __future__ import annotations

import re
import warnings

from truecall_py.checks import load_check
from truecall_py.contract_files.fields import parse_duration
from truecall_py.contract_files.formats import FORMATS
from truecall_py.contract_files.lint import walk
from truecall_py.contract_files.lint.guards import EFFECTS
from truecall_py.contract_files.lint.redos import is_slow
from truecall_py.contract_files.lint.subject import parse_parts
from truecall_py.contracts import template
from truecall_py.core.glob import matches_glob
from truecall_py.core.types import DEADLINE, STOP_DEADLINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from truecall_py.contract_files.lint.subject import Rule, Subject
    from truecall_py.contract_files.yaml_reader import Path
    from truecall_py.core.types import Problem

# The tools of the supported clients that run commands. All others have no exit code.
WITH_EXIT_CODE = ("Bash", "PowerShell", "bash", "powershell", "run_shell_command", "run_commands")
# Parts of a regular expression that no tool name contains and no glob knows.
EXPRESSION = re.compile(r"\.\*|\.\+|[|^$\\()\[\]]")


def matches_everything(pattern: str) -> bool:
    """Whether a regular expression matches the empty text, and so every text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # An anchored pattern such as ^$ matches the empty text, but not every text.
            return re.search(pattern, "") is not None and re.search(pattern, "\x01\n\x01") is not None
    except (re.error, RecursionError, OverflowError):
        return False


def find_always_true(subject: Subject) -> Iterator[Problem]:
    """TC310."""
    for site in subject.sites:
        name, value = site.field.name, site.value
        here = f"`{name}`"
        if name == "contains" and value == "":
            yield subject.report("TC310", site.path, f"{here} of an empty text is always true")
        elif name == "not_contains" and value == "":
            yield subject.report("TC310", site.path, f"{here} of an empty text is never true", "name a text")
        elif site.field.kind == "pattern" and isinstance(value, str) and matches_everything(value):
            yield subject.report(
                "TC310", site.path, f"{here} matches every text, because it matches the empty text"
            )
        elif name == "at_least" and value == 0 and "length" in (site.subject, site.path[-2]):
            yield subject.report("TC310", site.path, "every length is at least 0")
    for _, check in subject.checks:
        for field, (trivial, why, hint) in getattr(load_check(check.name), "TRIVIAL", {}).items():
            if check.params.get(field) == trivial:
                yield subject.report("TC310", (*check.path, field), why, hint)


def find_no_exit_code(subject: Subject) -> Iterator[Problem]:
    """TC311."""
    for path, entry in subject.entries:
        about = [name for key in ("tool", "kind") for _, name in walk.list_items(entry.get(key, []), path)]
        without = [
            name for name in about
            if name != "shell" and not any(matches_glob(name, tool) for tool in WITH_EXIT_CODE)
        ]  # fmt: skip
        if not without:
            continue
        asked: list[Path] = [(*path, "when", name) for name in entry.get("when", {}) if name == "exit_code"]
        for owner, check in subject.checks:
            field, value = getattr(load_check(check.name), "EXIT_CODE_FIELD", ("", None))
            if owner == path and field in check.params and check.params[field] == value:
                asked.append((*check.path, field))
        for place in asked:
            yield subject.report("TC311", place, f"{without[0]} has no exit code in any client")


def find_beyond_deadline(subject: Subject) -> Iterator[Problem]:
    """TC312."""
    at_stop = [path for path, entry in subject.entries if entry.get("event") == "stop"]
    for site in subject.sites:
        deadline = STOP_DEADLINE if site.path[:2] in at_stop else DEADLINE
        if site.field.kind == "duration" and site.owner == "contract" and parse_duration(site.value) > deadline:
            words = f"`{site.field.name}` is {site.value}, but the hook ends after {deadline:g}s"
            yield subject.report("TC312", site.path, words)


def find_slow_regex(subject: Subject) -> Iterator[Problem]:
    """TC313."""
    for site, path, text in walk.list_expressions(subject.sites):
        if is_slow(text):
            yield subject.report("TC313", path, f"`{site.field.name}` may take exponential time on some texts")


def find_call_decides(subject: Subject) -> Iterator[Problem]:
    """TC314."""
    for site in subject.sites:
        if not site.templated:
            continue
        for path, text in walk.list_texts(site.value, site.path):
            parts = parse_parts(text)
            if not parts or text.strip() == "":
                continue
            whole = len(template.parse(text)) == 1
            root = parts[0].path.partition(".")[0]
            if site.field.kind == "path" and whole and root in ("result", "text"):
                yield subject.report("TC314", path, "the answer of the tool alone decides which file is checked")
            elif site.field.kind == "argv" and path[-1] == 0 and any(part.path != "project" for part in parts):
                yield subject.report("TC314", path, "a value of the call decides which program is run",
                                   "name the program, and pass the value as an argument")  # fmt: skip
            elif site.field.name == "env" and any(part.path != "project" for part in parts):
                yield subject.report("TC314", path, "a value of the call enters the environment of a program",
                                   "pass it as an argument: a variable such as PATH changes what runs")  # fmt: skip


def find_regex_on_command(subject: Subject) -> Iterator[Problem]:
    """TC315."""
    for site in subject.sites:
        parsed = (*site.path[:-1], "runs") in subject.document.keys
        inside = site.path[2:4] == ("when", "args.command") and not parsed
        if inside and site.field.name in ("matches", "contains"):
            yield subject.report("TC315", site.path,
                                 f"`{site.field.name}` on a command also sees quotes and comments")


def find_every_command(subject: Subject) -> Iterator[Problem]:
    """TC316."""
    for path, entry in subject.entries:
        if entry.get("event") == "stop":  # judged once, at the stop
            continue
        if "shell" in [kind for _, kind in walk.list_items(entry.get("kind"), path)] and "when" not in entry:
            yield subject.report("TC316", (*path, "kind"), "without `when`, this is judged after every shell command")


def list_tool_names(subject: Subject) -> Iterator[tuple[Path, str]]:
    """Return every tool name of the file, with its path."""
    for site in subject.sites:
        if site.owner == "contract" and site.field.name == "tool":
            yield from walk.list_items(site.value, site.path)


def find_comma_in_tool(subject: Subject) -> Iterator[Problem]:
    """TC317."""
    for path, name in list_tool_names(subject):
        if "," in name:
            listed = ", ".join(filter(None, map(str.strip, name.split(","))))
            yield subject.report("TC317", path, f"the comma is part of the name {name}", f"write [{listed}]")


def find_regex_in_tool(subject: Subject) -> Iterator[Problem]:
    """TC318."""
    for path, name in list_tool_names(subject):
        if EXPRESSION.search(name):
            bare = name.strip("^$").replace(".*", "*").replace(".+", "?*")
            choices = bare.strip("()").split("|")
            hint = f"write [{', '.join(choices)}]" if len(choices) > 1 else f'write "{bare}"'
            plain = not re.search(r"[|^$\\()\[\]]", "".join(choices))
            yield subject.report("TC318", path, f"{name} looks like a regular expression, but is a glob",
                               hint if plain else "* is any text, ? any character")  # fmt: skip


def find_idle_every(subject: Subject) -> Iterator[Problem]:
    """TC319."""
    for path, entry in subject.entries:
        if "every" in entry and "within" not in entry and "stable_for" not in entry:
            yield subject.report(
                "TC319", (*path, "every"), "there is only one probe, so there is no pause", key=True
            )


def find_unknown_format(subject: Subject) -> Iterator[Problem]:
    """TC321."""
    for site in subject.sites:
        if site.field.kind == "json-schema" and isinstance(site.value, dict):
            for where, name in list_formats(site.value, site.path):
                if name not in FORMATS:
                    yield subject.report("TC321", where,
                                       f"truecall does not assert the format {name}: every text passes",
                                       f"write a pattern, or one of the formats {', '.join(FORMATS)}")  # fmt: skip


def list_formats(schema: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Return every `format` of a schema and of the schemas inside it, with its path. A property named format is not
    one."""
    if isinstance(schema, list):
        for at, each in enumerate(schema):
            yield from list_formats(each, (*path, at))
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        if key == "format" and isinstance(value, str):
            yield (*path, key), value
        elif key in ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"):
            for name, each in value.items() if isinstance(value, dict) else ():
                yield from list_formats(each, (*path, key, name))
        elif key not in ("const", "enum", "default", "examples"):
            yield from list_formats(value, (*path, key))


ADVICE: tuple[tuple[str, Rule], ...] = (
    ("TC310", find_always_true),
    ("TC311", find_no_exit_code),
    ("TC312", find_beyond_deadline),
    ("TC313", find_slow_regex),
    ("TC314", find_call_decides),
    ("TC315", find_regex_on_command),
    ("TC316", find_every_command),
    ("TC317", find_comma_in_tool),
    ("TC318", find_regex_in_tool),
    ("TC319", find_idle_every),
    ("TC321", find_unknown_format),
    *EFFECTS,
)
