"""Lists the places of a contract file where a declared field has a value, in file order. It skips values of the wrong
shape, which `structure` reports."""

from __future__ import annotations

from truecall_py.checks import NAMES, load_check
from truecall_py.contract_files import fields as contract_fields
from truecall_py.contracts import matchers, model
from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from truecall_py.contracts.field import Field

    Path = tuple[str | int, ...]

EXPRESSIONS = ("pattern", "patterns")  # the kinds of fields that contain regular expressions
OPERATORS = {field.name: field for field in matchers.FIELDS}


@record(frozen=True)
class Site:
    """One value. `owner` is the owner of its field: file, contract, receipt, matcher or the name of the check.
    `templated` says whether templates are filled in. `subject` is the value that a matcher compares: the path in
    `when`, or the field of a check."""

    path: Path
    field: Field
    value: Any
    owner: str
    templated: bool
    subject: str = ""


@record(frozen=True)
class Check:
    """One check of a contract, with the path of its parameters."""

    path: Path
    name: str
    params: dict[str, Any]


def list_contracts(data: Any) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Return the contracts of a file, with their paths."""
    found = data.get("contracts") if isinstance(data, dict) else None
    for index, entry in enumerate(found if isinstance(found, list) else ()):
        if isinstance(entry, dict):
            yield ("contracts", index), entry


def list_items(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Return the entries of a list, or the one value that replaces a list of one."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield (*path, index), item
    else:
        yield path, value


def list_checks_in(value: Any, path: Path) -> Iterator[Check]:
    """Return every check below `post` or a combinator."""
    for here, item in list_items(value, path):
        for name, params in item.items() if isinstance(item, dict) else ():
            below = (*here, name)
            if name in model.COMBINATORS:
                yield from list_checks_in(params, below)
            elif name in NAMES and isinstance(params, dict):
                yield Check(below, name, params)


def find_source(entry: dict[str, Any], path: Path) -> Iterator[Check]:
    """Return the look-up of a contract's receipt."""
    receipt = entry.get("receipt")
    if isinstance(receipt, dict):
        yield from list_checks_in(receipt.get("from"), (*path, "receipt", "from"))


def list_checks(entry: dict[str, Any], path: Path = ()) -> Iterator[Check]:
    """Return every check of a contract: after the call, before it, and the look-up of its receipt."""
    for name in ("post", "pre"):
        yield from list_checks_in(entry.get(name), (*path, name))
    yield from find_source(entry, path)


def list_sites(data: Any) -> Iterator[Site]:
    """Return the places of a whole file."""
    if isinstance(data, dict):
        yield from list_map_sites(data, (), contract_fields.FILE_FIELDS, "file")
        for path, entry in list_contracts(data):
            yield from list_contract_sites(entry, path)


def list_contract_sites(entry: dict[str, Any], path: Path) -> Iterator[Site]:
    """Return the places of one contract."""
    yield from list_map_sites(entry, path, contract_fields.FIELDS, "contract")
    if isinstance(entry.get("receipt"), dict):
        yield from list_map_sites(entry["receipt"], (*path, "receipt"), contract_fields.RECEIPT_FIELDS, "receipt")
    for check in list_checks(entry, path):
        yield from list_map_sites(check.params, check.path, load_check(check.name).FIELDS, check.name)


def list_map_sites(value: dict[str, Any], path: Path, fields: Sequence[Field], owner: str) -> Iterator[Site]:
    """Return the places of the fields of one map."""
    for field in fields:
        if field.name not in value or field.kind in ("contracts", "checks", "check", "receipt", "source"):
            continue
        here, held = (*path, field.name), value[field.name]
        # The engine resolves conditions itself, whatever the field says.
        templated = field.templated or (field.name == "when" and owner == "contract")
        if field.kind == "matchers" and isinstance(held, dict):
            for name, matcher in held.items():
                yield from list_matcher_sites(matcher, (*here, name), templated, name)
        elif field.kind == "matcher" or (field.kind == "operand" and isinstance(held, dict)):
            yield from list_matcher_sites(held, here, templated, field.name)
        else:
            yield Site(here, field, held, owner, templated)


def list_matcher_sites(value: Any, path: Path, templated: bool, subject: str) -> Iterator[Site]:
    """Return the places of the operators of one matcher."""
    if not isinstance(value, dict):
        yield Site(path, OPERATORS["equals"], value, "matcher", templated, subject)
        return
    for name, held in value.items():
        operator = OPERATORS.get(name)
        if operator is None:
            continue
        if operator.kind == "operand" and isinstance(held, dict):
            yield from list_matcher_sites(held, (*path, name), templated, subject)
        else:
            yield Site((*path, name), operator, held, "matcher", templated and operator.templated, subject)


def list_expressions(sites: Iterable[Site]) -> Iterator[tuple[Site, Path, str]]:
    """Return every regular expression at these places, with its path."""
    for site in sites:
        for path, text in list_items(site.value, site.path) if site.field.kind in EXPRESSIONS else ():
            if isinstance(text, str):
                yield site, path, text


def list_texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Return every text in a value, without the keys of maps."""
    pending = [(path, value)]
    while pending:
        here, item = pending.pop()
        if isinstance(item, str):
            yield here, item
        elif isinstance(item, list):
            pending.extend(((*here, index), each) for index, each in enumerate(item))
        elif isinstance(item, dict):
            pending.extend(((*here, key), each) for key, each in item.items())
