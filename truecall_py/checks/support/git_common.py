"""What the parts of the check `git` have in common: each field is a Part that words it, looks, and compares.
Decides no outcome: `git` puts the findings together."""

from __future__ import annotations

from truecall_py.core.errors import Unverified
from truecall_py.core.record import record
from truecall_py.core.types import ABSENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from truecall_py.core.types import ToolCall
    from truecall_py.world.git import Repository
    from truecall_py.world.world import World


@record(frozen=True)
class Look:
    """One look: what was asked (`params`, resolved), of which repository, about which call."""

    params: dict[str, Any]
    repository: Repository
    world: World
    call: ToolCall


@record(frozen=True)
class Finding:
    """What one field found: whether it holds, in words, and the effect (types.NEW, OLD, or ""). `blank`: it does not
    hold because there was nothing of that name, which proves nothing about the opposite."""

    holds: bool
    found: str
    effect: str = ""
    blank: bool = False


@record(frozen=True)
class Part:
    """One field: `words(params)` is what is expected; `seen(look)` the fact as a JSON value, also before the call;
    `judged(look, was)` the Finding, where `was` is what `seen` told before the call (ABSENT: nothing)."""

    words: Callable[[dict[str, Any]], str]
    seen: Callable[[Look], Any]
    judged: Callable[[Look, Any], Finding]


def raise_unproven(look: Look, was: Any, found: str) -> None:
    """Raises Unverified where something is not there, and nobody saw whether it was before the call."""
    if was is ABSENT and look.params.get("vacuous") != "ok":
        raise Unverified(f"{found}, but nothing proves that there was before", "harness")


def shorten(commit: str) -> str:
    """An id as people write it."""
    return commit[:9] if commit else "nothing"


def list_lines(items: list[str], most: int = 4) -> str:
    """A few of the items, and how many more there are."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more
