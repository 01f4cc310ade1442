"""The look before a call: which facts its contracts name, and what they are now. Never judges, never speaks,
and never keeps a call from being made."""

from __future__ import annotations

from truecall_py.checks import load_check
from truecall_py.contracts.facts import Facts
from truecall_py.contracts.model import COMBINATORS
from truecall_py.contracts.template import fill_fields
from truecall_py.core.errors import Unverified
from truecall_py.judging.engine import enter_application, find_applications, make_world
from truecall_py.judging.polling import is_about
from truecall_py.world.snapshots import key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from truecall_py.contracts.model import Contract
    from truecall_py.core.types import ToolCall
    from truecall_py.judging.engine import Moment

TIME_LIMIT = 5.0  # seconds for all looks before one call


def read_facts(contracts: Sequence[Contract], call: ToolCall, moment: Moment) -> dict[str, Any] | None:
    """Every fact that the contracts name, as it is now; what cannot be seen is left out. None where none of them
    can apply to this call."""
    facts: dict[str, Any] = {}
    any_applies = False
    for contract in contracts:
        world = make_world(contract, call, moment)
        try:
            applying = find_applications(contract, call, world, before=True)
        except Unverified:
            continue  # the call has not the argument that the condition needs; told after it
        for application in applying if not isinstance(applying, str) else ():
            any_applies = True
            here = enter_application(world, application)
            scope = Facts(call, here, application.file, application.match)
            for item in contract.plain["post"]:
                if application.file is None or is_about(item, application.file, contract):
                    facts.update(read_check_facts(item, call, scope))
    return facts if any_applies else None


def read_check_facts(item: dict[str, Any], call: ToolCall, scope: Facts) -> Iterator[tuple[str, Any]]:
    """(key, fact) of one check, or of every check in a combinator."""
    name, params = item["check"], item["params"]
    if name in COMBINATORS:
        for other in params if isinstance(params, list) else [params]:
            yield from read_check_facts(other, call, scope)
        return
    check = load_check(name)
    if not hasattr(check, "take_snapshot"):
        return
    try:
        params = fill_fields(check.FIELDS, params, scope)
        yield key(name, scope.world.base, params), check.take_snapshot(params, call, scope.world)
    except (Unverified, OSError, ValueError, TypeError):
        return
