"""`truecall lint`: what is wrong with contract files, for people, editors and CI. Accepts a file exactly when
the hook would; never changes one and never decides whether it is trusted."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

import click

from truecall_py.contract_files.lint import codes
from truecall_py.contract_files.loader import find_problems
from truecall_py.contract_files.yaml_reader import LARGEST
from truecall_py.contracts.model import FILE_NAME
from truecall_py.core.errors import UsageError
from truecall_py.core.plural import count
from truecall_py.core.types import Problem
from truecall_py.core.version import __version__

Findings = Sequence[tuple[str, Problem]]

# Names that somebody meant to be the contract file, in small letters.
NEARLY = ("truecall.yml", ".truecall.yaml", ".truecall.yml", "truecall.yaml", "truecall.json", "truecalls.yaml")
# Folders of other people's files.
SKIPPED = (".git", ".hg", "node_modules", ".venv", "__pycache__")


@click.command("lint")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--format", "form", type=click.Choice(["text", "json", "sarif", "github"]), default="text",
              show_default=True, help="The format of the findings.")  # fmt: skip
def lint(paths: tuple[str, ...], form: str) -> None:
    """Check contract files.

    PATH is a contract file, or a folder in which every truecall.yaml is checked; default: the truecall.yaml of the
    current folder. `truecall rule CODE` explains the code of a finding.

    Exit codes: 0 no file has an error, 1 a file has an error, 2 there is no file to check.
    """
    files, findings = gather_files(paths or (FILE_NAME,))
    problems: list[tuple[str, Problem]] = list(findings)
    for path in files:
        problems += [(path, problem) for problem in find_problems(read(path), path)]
    FORMATS[form](problems)
    if form == "text":
        click.echo(render_summary(len(files), problems), err=True)
        if problems:
            click.echo("`truecall rule CODE` explains a code.", err=True)
    if any(problem.severity == "error" for _, problem in problems):
        click.get_current_context().exit(1)


def gather_files(paths: Sequence[str]) -> tuple[list[str], list[tuple[str, Problem]]]:
    """The files to check, each once, and the findings about names. Raises UsageError."""
    files: list[str] = []
    nearly: list[tuple[str, Problem]] = []
    for path in paths:
        if os.path.isdir(path):
            names = list(find_files_below(path))
            files += [name for name in names if os.path.basename(name) == FILE_NAME]
            nearly += [(name, find_misnamed(name)) for name in names if os.path.basename(name) != FILE_NAME]
            if not names:
                raise UsageError(f"there is no {FILE_NAME} in this folder or below it", path, "truecall init")
        elif os.path.isfile(path):
            files.append(path)
        else:
            why = "is not a regular file" if os.path.lexists(path) else "does not exist"
            beside = [name for name in NEARLY if os.path.isfile(os.path.join(os.path.dirname(path), name))]
            hint = f"rename {beside[0]} to {FILE_NAME}" if beside and os.path.basename(path) == FILE_NAME else ""
            hint = hint or "name an existing file or folder, or run: truecall init"
            raise UsageError(f"the contract file {why}", path, hint)
    return list(dict.fromkeys(files)), nearly


def find_files_below(folder: str) -> Iterator[str]:
    """Every contract file, and every file that nearly has its name."""
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(names):
            if name == FILE_NAME or name.lower() in NEARLY:
                yield os.path.normpath(os.path.join(here, name))


def find_misnamed(path: str) -> Problem:
    return codes.make_problem("TC301", (1, 1), f"truecall does not read {os.path.basename(path)}",
                         f"rename it to {FILE_NAME}")


def read(path: str) -> bytes:
    """A little more than the loader takes, so that it can say so."""
    try:
        with open(path, "rb") as stream:
            return stream.read(LARGEST + 1)
    except OSError as error:
        what = f"the contract file cannot be read: {error.strerror}"
        raise UsageError(what, path, "check its permissions") from None


def render_summary(files: int, found: Findings) -> str:
    errors = sum(problem.severity == "error" for _, problem in found)
    warned = len(found) - errors
    return f"{count(files, 'file')} checked: {count(errors, 'error')}, {count(warned, 'warning')}"


# -- formats ---------------------------------------------------------------------------------------------


def print_text(found: Findings) -> None:
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        print_coloured(found)
        return
    for path, problem in found:
        click.echo(f"{locate_problem(path, problem)}: {name_problem(problem)}\n  -> {problem.hint}")


def locate_problem(path: str, problem: Problem) -> str:
    return f"{codes.escape_control(path)}:{problem.line}:{problem.column}"


def name_problem(problem: Problem) -> str:
    mark = "" if problem.severity == "error" else f"{problem.severity}: "
    return f"{problem.code} {mark}{problem.message}"


def print_coloured(found: Findings) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for path, problem in found:
        colour = "red" if problem.severity == "error" else "yellow"
        console.print(Text.assemble(
            (locate_problem(path, problem), "bold"), ": ", (problem.code, colour),
            name_problem(problem)[len(problem.code) :],
        ))  # fmt: skip
        console.print(Text(f"  -> {problem.hint}", "dim"))


def print_json(found: Findings) -> None:
    click.echo(json.dumps([
        {"path": path, "line": problem.line, "column": problem.column, "code": problem.code,
         "severity": problem.severity, "message": problem.message, "hint": problem.hint}
        for path, problem in found
    ], indent=2))  # fmt: skip


def print_sarif(found: Findings) -> None:
    order = [entry.code for entry in codes.CODES]
    rules = [
        {"id": entry.code, "shortDescription": {"text": entry.summary}, "help": {"text": entry.fix},
         "defaultConfiguration": {"level": entry.severity}}
        for entry in codes.CODES
    ]  # fmt: skip
    results = [
        {"ruleId": problem.code, "ruleIndex": order.index(problem.code), "level": problem.severity,
         "message": {"text": f"{problem.message}\n{problem.hint}"},
         "locations": [{"physicalLocation": {
             "artifactLocation": {"uri": make_uri(path)},
             "region": {"startLine": problem.line, "startColumn": problem.column}}}]}
        for path, problem in found
    ]  # fmt: skip
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "truecall", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    click.echo(json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2))


def make_uri(path: str) -> str:
    path = quote(os.fsencode(path))
    return f"file://{path}" if path.startswith("/") else path


def print_github(found: Findings) -> None:
    """Workflow commands; what is quoted from a file can neither end one nor begin another."""
    for path, problem in found:
        values = {"file": path, "line": problem.line, "col": problem.column, "title": f"truecall {problem.code}"}
        fields = ",".join(f"{name}={escape_github(str(value), ':,')}" for name, value in values.items())
        message = escape_github(f"{problem.message}\n-> {problem.hint}")
        click.echo(f"::{problem.severity} {fields}::{message}")


def escape_github(text: str, more: str = "") -> str:
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


FORMATS: dict[str, Callable[[Findings], None]] = {
    "text": print_text, "json": print_json, "sarif": print_sarif, "github": print_github
}
