"""The common parts of the check `git`. Each field is a Part that describes, probes and compares. `git` combines the
findings to an outcome."""

from __future__ import annotations

from truecall_py.core.errors import Unverified
from truecall_py.core.record import record
from truecall_py.core.types import ABSENT, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from truecall_py.world.git import Repository
    from truecall_py.world.world import World


@record(frozen=True)
class Look:
    """One probe: the resolved parameters, the repository, and the call."""

    params: dict[str, Any]
    repository: Repository
    world: World
    call: ToolCall


@record(frozen=True)
class Finding:
    """The result of one field: whether it holds, in words, and the effect (types.NEW, OLD or ""). `blank`: nothing of
    that name exists, which proves nothing about the opposite."""

    holds: bool
    found: str
    effect: str = ""
    blank: bool = False


@record(frozen=True)
class Part:
    """One field. `words(params)` is the expectation; `seen(look)` the fact as JSON data, also before the call;
    `judged(look, was)` the Finding, where `was` is the fact before the call (ABSENT: unknown)."""

    words: Callable[[dict[str, Any]], str]
    seen: Callable[[Look], Any]
    judged: Callable[[Look, Any], Finding]


def refuse_unproven(look: Look, was: Any, found: str) -> None:
    """Raise Unverified if something does not exist, and no snapshot says whether it did before the call."""
    if was is ABSENT and look.params.get("vacuous") != "ok":
        raise Unverified(f"{found}, but nothing proves that there was before", "harness")


def shorten(commit: str) -> str:
    """Return a short form of an id."""
    return commit[:9] if commit else "nothing"


def join_items(items: list[str], most: int = 4) -> str:
    """Return a few of the items, and the number of the others."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more
