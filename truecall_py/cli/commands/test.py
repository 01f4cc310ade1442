"""`truecall test`: runs the examples that contracts carry. Decides nothing about a verdict: it compares the one that
came with the one that was written."""

from __future__ import annotations

import os
import sys

import click

from truecall_py.authoring import examples
from truecall_py.authoring.examples import Ran, Subject
from truecall_py.cli.commands import lint
from truecall_py.cli.output import examples as test_report
from truecall_py.contract_files.lint import rules
from truecall_py.contracts.model import FILE_NAME
from truecall_py.core import paths as places
from truecall_py.core.errors import ContractError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MANY = 10  # examples from which on a person who waits sees a bar
ENDINGS = (".yaml", ".yml")


@click.command("test")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--pack", "packs", metavar="NAME", multiple=True, help="A shipped pack; may be repeated.")
@click.option("--contract", "only", metavar="ID", multiple=True, help="Only this contract; may be repeated.")
@click.option("--require", is_flag=True, help="A contract without examples is a failure.")
@click.option("--format", "form", type=click.Choice(list(test_report.FORMS)), default="text", show_default=True)
def test(paths: tuple[str, ...], packs: tuple[str, ...], only: tuple[str, ...], require: bool, form: str) -> int:
    """Runs the examples of contracts: small worlds, calls, and the verdicts that must come of them.

    PATH is a contract file or a folder of them; default: every truecall.yaml from here upward. Each example is
    judged by its own contract alone, in a temporary folder with a home of its own; the URLs of http_status are
    asked of the example's own pages, and waiting (within, stable_for) is cut to a second.

    Running examples runs commands: their `setup` lines, and what the contracts' checks run. As with a test suite,
    look at a file before you test one that is not yours.

    Exit codes: 0 all as written, 1 one is not, or none was run, 2 wrong usage, 3 a contract file cannot be used.
    """
    files = list(dict.fromkeys([*found(paths or (() if packs else upward())), *map(pack_file, packs)]))
    subjects, broken = read(files)
    if only:
        subjects = chosen(subjects, only)
    count = sum(len(subject.examples) for subject in subjects)
    results = list(progress(ran(subjects), count, form))
    click.echo(test_report.FORMS[form](subjects, results, require), nl=False, color=test_report.colours())
    for error in broken:
        click.echo(f"truecall: {cannot(error)}", err=True)
    return exit_code(subjects, results, require, bool(broken))


def exit_code(
    subjects: Sequence[Subject], results: Sequence[tuple[Subject, Ran]], require: bool, broken: bool
) -> int:
    """The one place where results become an exit code."""
    if broken:
        return 3
    bare = require and any(not subject.examples for subject in subjects)
    return 1 if bare or not results or not all(result.holds for _, result in results) else 0


# -- what is tested --------------------------------------------------------------------------------------


def upward() -> tuple[str, ...]:
    """Every truecall.yaml from here upward. Raises UsageError where there is none."""
    every, folder = [], os.getcwd()
    while True:
        path = os.path.join(folder, FILE_NAME)
        if os.path.exists(path):
            every.append(os.path.relpath(path))
        if folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    if not every:
        what = f"no {FILE_NAME} here or in any folder above"
        raise UsageError(what, os.getcwd(), "name a contract file, or a --pack; truecall init writes a first one")
    return tuple(every)


def found(paths: Iterable[str]) -> Iterator[str]:
    """The contract files that are named. Raises UsageError."""
    for path in paths:
        if os.path.isfile(path):
            yield path
        elif os.path.isfile(os.path.join(path, FILE_NAME)):
            yield os.path.join(path, FILE_NAME)
        elif os.path.isdir(path):
            names = [name for name in sorted(os.listdir(path)) if name.endswith(ENDINGS)]
            if not names:
                raise UsageError("there is no contract file in this folder", path, "name a folder of *.yaml files")
            yield from (os.path.join(path, name) for name in names)
        else:
            raise UsageError("there is no such contract file or folder", path, "truecall test --help")


def pack_file(name: str) -> str:
    """The file of a shipped pack. Raises UsageError."""
    if name not in rules.packs():
        raise UsageError(f"there is no pack {name!r}", do=f"packs: {', '.join(rules.packs())}")
    path = os.path.join(places.contracts(), f"{name}.yaml")
    near = os.path.relpath(path)
    return path if near.startswith("..") else near


def read(files: Iterable[str]) -> tuple[list[Subject], list[ContractError]]:
    subjects: list[Subject] = []
    broken: list[ContractError] = []
    for path in files:
        try:
            subjects += examples.subjects(path)
        except ContractError as error:
            broken.append(error)
    return subjects, broken


def chosen(subjects: Sequence[Subject], only: Sequence[str]) -> list[Subject]:
    known = [subject.id for subject in subjects]
    for name in only:
        if name not in known:
            raise UsageError(f"there is no contract {name!r} in these files", do=f"contracts: {', '.join(known)}")
    return [subject for subject in subjects if subject.id in only]


def cannot(error: ContractError) -> str:
    """Every problem of a file, a place and a way out each."""
    return "\n".join(
        f"{lint.where(error.path, each)}: {lint.named(each)}\n  -> {each.hint}" for each in error.problems
    )


# -- the run ---------------------------------------------------------------------------------------------


def ran(subjects: Iterable[Subject]) -> Iterator[tuple[Subject, Ran]]:
    for subject in subjects:
        for result in examples.run(subject):
            yield subject, result


def progress(results: Iterator[tuple[Subject, Ran]], count: int, form: str) -> Iterator[tuple[Subject, Ran]]:
    """The results, with a bar on standard error where a person waits for many."""
    if count < MANY or form != "text" or not sys.stderr.isatty():
        yield from results
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(results, "testing", total=count, console=Console(stderr=True), transient=True)
