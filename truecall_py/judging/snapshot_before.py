"""Takes the snapshot before a call: the facts that its contracts need, as they are now. Never judges and never
refuses."""

from __future__ import annotations

from truecall_py.checks import load_check
from truecall_py.contracts.facts import Facts
from truecall_py.contracts.model import COMBINATORS, Contract
from truecall_py.contracts.template import fill_fields
from truecall_py.core.errors import Unverified
from truecall_py.judging.engine import Moment, enter_application, find_applications, make_world
from truecall_py.judging.polling import is_about
from truecall_py.world.snapshots import make_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from truecall_py.core.types import ToolCall

TIME_LIMIT = 5.0  # seconds for the whole snapshot


def read_facts(contracts: Sequence[Contract], call: ToolCall, moment: Moment) -> dict[str, Any] | None:
    """Returns every fact that the contracts need, without those that cannot be read. None if no contract can apply to
    this call."""
    facts: dict[str, Any] = {}
    any_applies = False
    for contract in contracts:
        world = make_world(contract, call, moment)
        try:
            applying = find_applications(contract, call, world, before=True)
        except Unverified:
            continue  # the call lacks an argument of the condition; reported after the call
        for application in applying if not isinstance(applying, str) else ():
            any_applies = True
            here = enter_application(world, application)
            scope = Facts(call, here, application.file, application.match)
            for item in contract.plain["post"]:
                if application.file is None or is_about(item, application.file, contract):
                    facts.update(read_check_facts(item, call, scope))
    return facts if any_applies else None


def read_check_facts(item: dict[str, Any], call: ToolCall, scope: Facts) -> Iterator[tuple[str, Any]]:
    """Yields (key, fact) of one check, or of every check in a combinator."""
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
        yield make_key(name, scope.world.base, params), check.take_snapshot(params, call, scope.world)
    except (Unverified, OSError, ValueError, TypeError):
        return
