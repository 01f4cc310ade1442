"""Turns the bytes of a contract file into compiled contracts, or into the list of its problems. Never used by the
hook, never decides whether a file is trusted, and never loads half of a file."""

from __future__ import annotations

import os

from truecall_py.contract_files.compiler import compile_contract, fill_alternatives, list_code_files
from truecall_py.contract_files.lint import walk
from truecall_py.contract_files.lint.codes import make_problem
from truecall_py.contract_files.lint.rules import RULES
from truecall_py.contract_files.lint.structure import Structure
from truecall_py.contract_files.lint.subject import Subject
from truecall_py.contract_files.lint.warnings import ADVICE
from truecall_py.contract_files.yaml_reader import Document, parse
from truecall_py.core import paths
from truecall_py.core.errors import ContractError
from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.core.types import Problem


@record(frozen=True)
class LoadedFile:
    """A contract file without errors. `contracts` are compiled: those of the file, then those of its packs.
    `code_files` are (contract id, path as written), for the trust store to pin."""

    contracts: list[dict[str, Any]]
    warnings: list[Problem]
    use: list[str]
    mode: str
    code_files: list[tuple[str, str]]
    policy: dict[str, Any]


def load(data: bytes, path: str) -> LoadedFile:
    """Return the compiled file; `path` is only for messages. Raises ContractError with every problem."""
    document, problems = examine(data)
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise ContractError(path, errors)
    text: dict[str, Any] = document.data
    mode = text.get("mode", "enforce")
    use = [name for _, name in walk.list_items(text.get("use", []), ())]
    contracts, pinned = compile_own(document, mode)
    taken = {plain["id"] for plain in contracts}
    for name in use:
        for plain, files in load_pack(name, text.get("mode"), document, path):
            if plain["id"] not in taken:
                taken.add(plain["id"])
                contracts.append(plain)
                pinned.extend((plain["id"], file) for file in files)
    fill_alternatives(contracts)
    return LoadedFile(contracts, [problem for problem in problems if problem.severity != "error"], use, mode, pinned,
                  text.get("policy", {}))  # fmt: skip


def find_problems(data: bytes, path: str) -> list[Problem]:
    """Return the errors and warnings in file order. Never raises. The list has no error exactly if `load` accepts the
    file."""
    problems = examine(data)[1]
    if not any(problem.severity == "error" for problem in problems):
        try:
            load(data, path)
        except ContractError as error:
            problems = sorted([*problems, *error.problems], key=sort_key)
    return problems


def sort_key(found: Problem) -> tuple[int, int, str, str]:
    return found.line, found.column, found.code, found.message


def examine(data: bytes) -> tuple[Document, list[Problem]]:
    """Return the document, and the problems of its text, structure and meaning in file order."""
    document = parse(data)
    problems = list(document.problems)
    if document.complete:
        structure = Structure(document)
        structure.examine()
        problems += structure.problems
        subject = Subject(document, structure.paths)
        for _, rule in (*RULES, *ADVICE):
            problems += rule(subject)
    return document, sorted(set(problems), key=sort_key)


def compile_own(document: Document, mode: str) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the compiled contracts of the file itself, and the code that they name."""
    contracts: list[dict[str, Any]] = []
    pinned: list[tuple[str, str]] = []
    for path, entry in walk.list_contracts(document.data):
        contracts.append(compile_contract(entry, document.place(path)[0], mode))
        pinned.extend((entry["id"], file) for file in list_code_files(entry))
    return contracts, pinned


def load_pack(name: str, mode: str | None, user: Document, path: str) -> list[tuple[dict[str, Any], list[str]]]:
    """Return the compiled contracts of a pack. `mode: observe` of the using file also applies to them. Its `enforce`
    is only a default, so a pack that observes stays so. Raises ContractError."""
    place = user.place(("use",))
    file = os.path.join(paths.find_packs_folder(), f"{name}.yaml")
    try:
        with open(file, "rb") as stream:
            data = stream.read()
    except OSError as error:
        words = f"the pack {name} cannot be read: {error.strerror}"
        raise ContractError(path, [make_problem("TC215", place, words)]) from None
    document, problems = examine(data)
    errors = [problem for problem in problems if problem.severity == "error"]
    if not errors and "use" in document.data:
        errors = [make_problem("TC215", document.place(("use",), True), "a pack cannot use packs")]
    if errors:
        first = errors[0]
        words = f"the pack {name} cannot be used: line {first.line}: {first.code} {first.message}"
        raise ContractError(path, [make_problem("TC215", place, words)])
    made = []
    for at, entry in walk.list_contracts(document.data):
        plain = compile_contract(entry, document.place(at)[0], document.data.get("mode", "enforce"))
        if mode == "observe":
            plain["mode"] = mode
        plain["pack"], plain["source"] = name, f"pack {name}"
        made.append((plain, list_code_files(entry)))
    return made
