"""The output of `truecall test`: text, JSON or JUnit."""

from __future__ import annotations

import json
import os
import shutil
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import click

from truecall_py.authoring.examples import Ran, Subject
from truecall_py.cli.output.junit import Case, render_suite
from truecall_py.core.plural import count
from truecall_py.core.redaction import escape_hidden, quote
from truecall_py.core.types import Verdict

Results = Sequence[tuple[Subject, Ran]]

WIDEST = 100
LABEL = 9  # the width of `expected` and a blank


def find_colour_mode() -> bool | None:
    """click's `color`: False if NO_COLOR is set, otherwise None (as the terminal supports)."""
    return False if os.environ.get("NO_COLOR") else None


def render_text(subjects: Sequence[Subject], results: Results, require: bool) -> str:
    lines: list[str] = []
    path = ""
    for subject in subjects:
        if subject.path != path:
            path = subject.path
            lines.append(click.style(escape_hidden(path), bold=True))
        own = [result for owner, result in results if owner is subject]
        lines.append(render_headline(subject, own, require))
        for result in own:
            if not result.holds:
                lines += render_failure(subject, result)
    lines.append(click.style(render_summary(subjects, results), bold=True))
    if not results:
        lines.append("  -> add `examples:` to a contract, or run those of a pack with: truecall test --pack files")
    return "\n".join(lines) + "\n"


def render_headline(subject: Subject, results: Sequence[Ran], require: bool) -> str:
    held = sum(result.holds for result in results)
    if not results:
        mark, colour, words = ("FAIL", "red", "no examples") if require else ("-", "yellow", "no examples")
    elif held == len(results):
        mark, colour, words = "ok", "green", count(held, "example")
    else:
        mark, colour, words = "FAIL", "red", f"{held} of {count(len(results), 'example')} passed"
    return f"  {click.style(f'{mark:<4}', fg=colour)} {subject.id}  {click.style(words, dim=True)}"


def render_failure(subject: Subject, result: Ran) -> list[str]:
    """The lines about an example that failed."""
    where = f"{escape_hidden(subject.path)}:{result.example.line}"
    lines = [f"       {where}: {click.style(escape_hidden(result.example.title), bold=True)}"]
    if result.trouble:
        return [*lines, *render_labelled("error", result.trouble)]
    lines += render_labelled("expected", result.wanted)
    lines += render_labelled("got", result.state)
    for verdict in result.verdicts:
        lines.extend(list_checks(verdict))
    return lines


def list_checks(verdict: Verdict) -> list[str]:
    lines = []
    for outcome in verdict.outcomes:
        words = "because" if outcome.state == "unverified" else "found"
        subject = f" of {verdict.subject}" if verdict.subject else ""
        lines += render_labelled("check", f"{outcome.check}{subject}: {outcome.state}")
        lines += render_labelled("expects", outcome.expected)
        lines += render_labelled(words, outcome.found)
    return lines


def render_labelled(label: str, words: str) -> list[str]:
    """`label words`, wrapped to the width of the terminal."""
    width = min(shutil.get_terminal_size((80, 24)).columns, WIDEST)
    indent = " " * (9 + LABEL)
    clean = quote(shorten_paths(words), 600)
    folded = textwrap.wrap(clean, max(width, 40), initial_indent=indent, subsequent_indent=indent) or [indent]
    folded[0] = f"         {click.style(f'{label:<{LABEL}}', dim=True)}{folded[0].lstrip()}"
    return folded


def shorten_paths(words: str) -> str:
    """The phrase without the path of the temporary folder, which is gone."""
    import re
    import tempfile

    root = re.escape(os.path.realpath(tempfile.gettempdir()))
    return re.sub(rf"{root}/truecall-test-[a-z0-9_]+/(world|home)", lambda found: f"@{found[1].upper()}@", words)


def render_summary(subjects: Sequence[Subject], results: Results) -> str:
    held = sum(result.holds for _, result in results)
    words = [f"{held} passed"] if results else ["nothing ran"]
    if len(results) > held:
        words.append(f"{len(results) - held} failed")
    bare = sum(not subject.examples for subject in subjects)
    more = f"; {count(bare, 'contract')} without examples" if bare else ""
    return f"{count(len(subjects), 'contract')}, {count(len(results), 'example')}: {', '.join(words)}{more}"


def make_plain(result: Ran) -> dict[str, Any]:
    return {
        "title": result.example.title, "line": result.example.line, "holds": result.holds,
        "expected": result.wanted, "got": result.state or None, "trouble": result.trouble or None,
        "checks": [
            {
                "check": outcome.check, "verdict": outcome.state, "cause": outcome.cause or None,
                "expected": quote(shorten_paths(outcome.expected), 2000),
                "found": quote(shorten_paths(outcome.found), 2000),
            }
            for verdict in result.verdicts
            for outcome in verdict.outcomes
        ],
    }  # fmt: skip


def render_json(subjects: Sequence[Subject], results: Results, require: bool) -> str:
    found = [
        {
            "contract": subject.id, "path": subject.path, "line": subject.line,
            "examples": [make_plain(result) for owner, result in results if owner is subject],
        }
        for subject in subjects
    ]  # fmt: skip
    return json.dumps(found, indent=2, ensure_ascii=True) + "\n"


def render_junit(subjects: Sequence[Subject], results: Results, require: bool) -> str:
    """One test case per example; a contract without examples is skipped, or a failure with --require."""
    cases = []
    for subject in subjects:
        rows = [(result.example.title, *classify_result(result)) for owner, result in results if owner is subject]
        bare = ("no examples", "failure" if require else "skipped", "the contract has no examples")
        for title, sort, words in rows or [bare]:
            cases.append(Case(subject.id, title, sort, words, {"file": subject.path}))
    return render_suite("truecall test", cases)


def classify_result(result: Ran) -> tuple[str, str]:
    """The kind ("" | failure | error) and the text of an example's test case."""
    if result.holds:
        return "", ""
    if result.trouble:
        return "error", escape_hidden(result.trouble)
    found = [f"{outcome.check}: {quote(shorten_paths(outcome.found), 600)}" for verdict in result.verdicts
             for outcome in verdict.outcomes]  # fmt: skip
    return "failure", "; ".join([f"expected {result.wanted}, got {result.state}", *found])


FORMS: dict[str, Callable[[Sequence[Subject], Results, bool], str]] = {
    "text": render_text, "json": render_json, "junit": render_junit
}
