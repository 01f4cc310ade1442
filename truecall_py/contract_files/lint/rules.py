"""Lint rules about the meaning of a contract file: one function per code. They report errors; `warnings` has the
advice. They never look at the machine, except for the names of the packs."""

from __future__ import annotations

import os
import re
import warnings

from truecall_py.checks import load_check
from truecall_py.contract_files.argv import find_script
from truecall_py.contract_files.fields import parse_duration
from truecall_py.contract_files.lint import walk
from truecall_py.contract_files.lint.guards import BEFORE
from truecall_py.contract_files.lint.receipts import SETTLING
from truecall_py.contract_files.lint.structure import find_near
from truecall_py.contract_files.lint.subject import parse_parts
from truecall_py.contract_files.lint.timing import TIMING
from truecall_py.contracts import template
from truecall_py.contracts.facts import ROOTS
from truecall_py.core import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from truecall_py.contract_files.lint.subject import Rule, Subject
    from truecall_py.contract_files.yaml_reader import Path
    from truecall_py.core.types import Problem

# Free text for people; templates in it are not filled in.
FREE = ("description", "remedy", "examples")
# Names of a call that have no parts, and the parts of a file.
PLAIN = (
    "text", "tool", "kind", "reported", "exit_code", "is_error", "cwd", "start_cwd", "project", "session",
    "duration",
)  # fmt: skip
OF_FILE = ("path", "action", "content", "before")
CAPTURE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?:\.\.\.)?\}")


def find_malformed_template(subject: Subject) -> Iterator[Problem]:
    """TC201."""
    for site, path, text in subject.list_texts():
        if site.templated and template.OPEN in text:
            try:
                template.parse(text)
            except ValueError as error:
                yield subject.report("TC201", path, f"the template is malformed: {error}")


def find_template_not_filled(subject: Subject) -> Iterator[Problem]:
    """TC202."""
    for site, path, text in subject.list_texts():
        if template.OPEN in text and not site.templated and site.field.name not in FREE:
            pattern = site.field.kind in walk.EXPRESSIONS or site.field.name == "runs"
            why = "a value of the call never becomes part of a pattern; use contains" if pattern else ""
            yield subject.report("TC202", path, f"`{site.field.name}` takes no templates", why)
    whole = {path for path, _ in subject.entries}
    for path in subject.document.keys:
        if template.OPEN in str(path[-1]) and path[:2] in whole:
            yield subject.report("TC202", path, "a key takes no templates", key=True)


def explain_unknown_name(path: str, match: bool) -> tuple[str, str] | None:
    """Return (what is wrong with a dotted name of a call, how to fix it), None for a known name."""
    root, *rest = path.split(".")
    roots = [name for name in ROOTS if match or name != "match"]
    if root not in roots:
        meant = find_near(root, roots)
        return (
            f"a call has no `{root}`",
            f"did you mean `{meant}`?" if meant else f"a call has {', '.join(roots)}",
        )
    if root in PLAIN and rest:
        return f"`{root}` is one value and has no `{rest[0]}`", f"write {root}"
    if root == "file" and rest and (rest[0] not in OF_FILE or len(rest) > 1):
        return f"a file has no `{'.'.join(rest)}`", f"a file has {', '.join(OF_FILE)}"
    if root == "match" and len(rest) != 1:
        return f"`{path}` names no capture", "write match.NAME"
    if "" in rest:
        return f"`{path}` is not a dotted name", "write it as args.title"
    return None


def find_unknown_template_name(subject: Subject) -> Iterator[Problem]:
    """TC203."""
    for path, part in subject.list_parts():
        wrong = explain_unknown_name(part.path, True)
        if wrong:
            yield subject.report("TC203", path, wrong[0], wrong[1])


def find_unknown_when_name(subject: Subject) -> Iterator[Problem]:
    """TC204."""
    for path, entry in subject.entries:
        for name in entry.get("when", {}):
            wrong = explain_unknown_name(name, False)
            if wrong and template.OPEN not in name:
                yield subject.report("TC204", (*path, "when", name), wrong[0], wrong[1], key=True)


def list_captures(entry: dict[str, Any]) -> set[str]:
    """Return the names that every `runs` pattern of a contract captures. `directory` is always among them."""
    found: set[str] = set()
    for matcher in entry.get("when", {}).values():
        given = matcher.get("runs") if isinstance(matcher, dict) else None
        patterns = [text for _, text in walk.list_items(given, ()) if isinstance(text, str)]
        if patterns:
            found.update(set.intersection(*(set(CAPTURE.findall(text)) for text in patterns)), ("directory",))
    return found


def find_not_captured(subject: Subject) -> Iterator[Problem]:
    """TC205."""
    captured = {path: list_captures(entry) for path, entry in subject.entries}
    for path, part in subject.list_parts():
        root, _, name = part.path.partition(".")
        if path[:2] not in captured or root != "match" or not name or "." in name:
            continue
        if path[2:3] == ("when",):
            yield subject.report("TC205", path, "`match` has no value in `when`, which captures it",
                               "use it in `post` or `pre`")
        elif name not in captured[path[:2]]:
            yield subject.report("TC205", path, f"no `runs` pattern in `when` captures {{{name}}}")


def find_malformed_regex(subject: Subject) -> Iterator[Problem]:
    """TC206."""
    for _, path, text in walk.list_expressions(subject.sites):
        if template.OPEN not in text:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # a pattern that a later Python reads differently still compiles
                    re.compile(text)
            except (re.error, RecursionError, OverflowError) as error:
                yield subject.report("TC206", path, f"the regular expression does not compile: {error}")


def find_malformed_runs(subject: Subject) -> Iterator[Problem]:
    """TC207."""
    for site in subject.sites:
        if site.field.name != "runs":
            continue
        from truecall_py.shell.runs import check_pattern

        for path, pattern in walk.list_items(site.value, site.path):
            wrong = None if template.OPEN in pattern else check_pattern(pattern)
            if wrong:
                yield subject.report("TC207", path, f"the pattern cannot be used: {wrong}")


def find_runs_elsewhere(subject: Subject) -> Iterator[Problem]:
    """TC208."""
    for site in subject.sites:
        if site.field.name == "runs" and site.path[2:] != ("when", "args.command", "runs"):
            yield subject.report("TC208", site.path, "`runs` works only on `args.command` in `when`", key=True)


def find_duplicate_id(subject: Subject) -> Iterator[Problem]:
    """TC209."""
    first: dict[str, Path] = {}
    for path, entry in walk.list_contracts(subject.document.data):
        name = entry.get("id")
        if not isinstance(name, str):
            continue
        if name in first:
            line = subject.document.place(first[name])[0]
            yield subject.report("TC209", (*path, "id"), f"the contract in line {line} already has the id {name}")
        first.setdefault(name, (*path, "id"))


def find_zero_duration(subject: Subject) -> Iterator[Problem]:
    """TC210."""
    for site in subject.sites:
        if site.field.kind in ("duration", "period") and parse_duration(site.value) == 0:
            yield subject.report("TC210", site.path, f"`{site.field.name}` is zero")


def find_template_in_host(subject: Subject) -> Iterator[Problem]:
    """TC211."""
    for site in subject.sites:
        if site.field.kind != "url" or not parse_parts(site.value):
            continue
        if template.forms_authority(template.parse(site.value)):
            yield subject.report(
                "TC211", site.path, "a value of the call would form the scheme, host or port of the URL"
            )


def find_template_in_script(subject: Subject) -> Iterator[Problem]:
    """TC212."""
    for site in subject.sites:
        if site.field.kind != "argv":
            continue
        at = find_script(site.value)
        if at is not None and template.OPEN in site.value[at]:
            yield subject.report("TC212", (*site.path, at), "a value of the call would become part of a script")


def list_packs() -> list[str]:
    """Return the names of the packs that come with truecall."""
    try:
        return sorted(name[:-5] for name in os.listdir(paths.find_packs_folder()) if name.endswith(".yaml"))
    except OSError:
        return []


def find_unknown_pack(subject: Subject) -> Iterator[Problem]:
    """TC213."""
    known = list_packs()
    for site in subject.sites:
        if site.field.kind != "use":
            continue
        for path, name in walk.list_items(site.value, site.path):
            if name not in known:
                meant = find_near(name, known)
                hint = f"did you mean {meant}?" if meant else f"packs of truecall: {', '.join(known) or 'none'}"
                yield subject.report("TC213", path, f"there is no pack {name}", hint)


def find_malformed_schema(subject: Subject) -> Iterator[Problem]:
    """TC214."""
    import jsonschema

    for site in subject.sites:
        if site.field.kind == "json-schema" and not isinstance(site.value, str):
            dialect = site.value.get("$schema", "") if isinstance(site.value, dict) else ""
            if not isinstance(dialect, str):
                yield subject.report("TC214", (*site.path, "$schema"), "`$schema` must be text")
                continue
            kind = jsonschema.validators.validator_for(site.value, jsonschema.Draft202012Validator)
            try:
                kind.check_schema(site.value)
            except (jsonschema.SchemaError, RecursionError) as error:
                path = (*site.path, *getattr(error, "absolute_path", ()))
                yield subject.report(
                    "TC214", path, f"this is not a JSON Schema: {getattr(error, 'message', error)}"[:200]
                )


def find_exclusive_fields(subject: Subject) -> Iterator[Problem]:
    """TC216."""
    for _, check in subject.checks:
        given = [name for name in getattr(load_check(check.name), "EXCLUSIVE", ()) if name in check.params]
        if len(given) > 1:
            words = f"`{check.name}` has both {given[0]} and {given[1]}, which exclude each other"
            yield subject.report("TC216", (*check.path, given[1]), words, key=True)


def find_malformed_function(subject: Subject) -> Iterator[Problem]:
    """TC217."""
    for site in subject.sites:
        if site.field.kind == "function":
            file, _, name = site.value.rpartition(":")
            if not file.endswith(".py") or not name.isidentifier():
                yield subject.report("TC217", site.path, f"{site.value} does not name a file and a function in it")


RULES: tuple[tuple[str, Rule], ...] = (
    ("TC201", find_malformed_template),
    ("TC202", find_template_not_filled),
    ("TC203", find_unknown_template_name),
    ("TC204", find_unknown_when_name),
    ("TC205", find_not_captured),
    ("TC206", find_malformed_regex),
    ("TC207", find_malformed_runs),
    ("TC208", find_runs_elsewhere),
    ("TC209", find_duplicate_id),
    ("TC210", find_zero_duration),
    ("TC211", find_template_in_host),
    ("TC212", find_template_in_script),
    ("TC213", find_unknown_pack),
    ("TC214", find_malformed_schema),
    ("TC216", find_exclusive_fields),
    ("TC217", find_malformed_function),
    *TIMING,
    *SETTLING,
    *BEFORE,
)
