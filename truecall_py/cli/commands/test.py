"""`truecall test`: runs the examples in contract files, and compares each verdict with the expected one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

import click

from truecall_py.authoring import examples
from truecall_py.authoring.examples import Ran, Subject
from truecall_py.cli import payload_files
from truecall_py.cli.commands import lint
from truecall_py.cli.output import examples as test_report
from truecall_py.cli.output.progress import track
from truecall_py.contract_files.lint import rules
from truecall_py.contracts.model import FILE_NAME
from truecall_py.core import paths as places
from truecall_py.core.errors import ContractError, UsageError

ENDINGS = (".yaml", ".yml")


@click.command("test")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--pack", "packs", metavar="NAME", multiple=True, help="A shipped pack; repeatable.")
@click.option("--contract", "only", metavar="ID", multiple=True, help="Only this contract; repeatable.")
@click.option("--require", is_flag=True, help="Fail if a contract has no examples.")
@click.option("--format", "form", type=click.Choice(list(test_report.FORMS)), default="text", show_default=True)
def test(paths: tuple[str, ...], packs: tuple[str, ...], only: tuple[str, ...], require: bool, form: str) -> int:
    """Runs the examples in contract files and compares their verdicts with the expected ones.

    PATH is a contract file or a folder of them; default: every truecall.yaml from here upward. Each example runs in a
    sandbox: a temporary folder with its own home, judged by its own contract only. http_status asks the pages of the
    example instead of the network. Waiting (within, stable_for) is cut to one second.

    Examples run commands: their `setup` lines, and those of the contracts' checks. Read a file that is not yours
    before you test it.

    Exit codes: 0 all examples passed, 1 one failed or none ran, 2 wrong usage, 3 a contract file cannot be used.
    """
    files = list(
        dict.fromkeys([*find_contract_files(paths or (() if packs else find_upward())), *map(find_pack_file, packs)])
    )
    subjects, broken = read(files)
    if only:
        subjects = select_subjects(subjects, only)
    count = sum(len(subject.examples) for subject in subjects) if form == "text" else 0
    runs = ((subject, result) for subject in subjects for result in examples.run(subject))
    results = list(track(runs, "testing", count))
    click.echo(test_report.FORMS[form](subjects, results, require), nl=False, color=test_report.find_colour_mode())
    for error in broken:
        click.echo(f"truecall: {describe_problems(error)}", err=True)
    return find_exit_code(subjects, results, require, bool(broken))


def find_exit_code(
    subjects: Sequence[Subject], results: Sequence[tuple[Subject, Ran]], require: bool, broken: bool
) -> int:
    """The exit code for these results."""
    if broken:
        return 3
    bare = require and any(not subject.examples for subject in subjects)
    return 1 if bare or not results or not all(result.holds for _, result in results) else 0


# -- what is tested --------------------------------------------------------------------------------------


def find_upward() -> tuple[str, ...]:
    """Every truecall.yaml from here upward. Raises UsageError where there is none."""
    files = tuple(map(os.path.relpath, payload_files.iterate_upward(os.getcwd())))
    if not files:
        what = f"there is no {FILE_NAME} here or in a folder above"
        raise UsageError(what, os.getcwd(), "give a contract file or a --pack, or create one with: truecall init")
    return files


def find_contract_files(paths: Iterable[str]) -> Iterator[str]:
    """The contract files at these paths. Raises UsageError."""
    for path in paths:
        if os.path.isfile(path):
            yield path
        elif os.path.isfile(os.path.join(path, FILE_NAME)):
            yield os.path.join(path, FILE_NAME)
        elif os.path.isdir(path):
            names = [name for name in sorted(os.listdir(path)) if name.endswith(ENDINGS)]
            if not names:
                raise UsageError("this folder has no contract file", path, "give a folder of *.yaml files")
            yield from (os.path.join(path, name) for name in names)
        else:
            raise UsageError("there is no such contract file or folder", path, "give one that exists, or a --pack")


def find_pack_file(name: str) -> str:
    """The file of a shipped pack. Raises UsageError."""
    if name not in rules.list_packs():
        raise UsageError(f"there is no pack {name!r}", do=f"choose one of: {', '.join(rules.list_packs())}")
    path = os.path.join(places.find_packs_folder(), f"{name}.yaml")
    near = os.path.relpath(path)
    return path if near.startswith("..") else near


def read(files: Iterable[str]) -> tuple[list[Subject], list[ContractError]]:
    subjects: list[Subject] = []
    broken: list[ContractError] = []
    for path in files:
        try:
            subjects += examples.list_subjects(path)
        except ContractError as error:
            broken.append(error)
    return subjects, broken


def select_subjects(subjects: Sequence[Subject], only: Sequence[str]) -> list[Subject]:
    known = [subject.id for subject in subjects]
    for name in only:
        if name not in known:
            raise UsageError(f"there is no contract {name!r} in these files", do=f"choose one of: {', '.join(known)}")
    return [subject for subject in subjects if subject.id in only]


def describe_problems(error: ContractError) -> str:
    """The problems of a file, each with its place and its fix."""
    return "\n".join(
        f"{lint.locate_problem(error.path, problem)}: {lint.name_problem(problem)}\n  -> {problem.hint}"
        for problem in error.problems
    )
