"""The three possible ends of a probe, as a check writes them."""

from __future__ import annotations

from truecall_py.core.types import ABSENT, NEW, OLD, REFUTED, UNVERIFIED, VERIFIED, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def verified(expected: str, found: str, effect: str = "") -> Outcome:
    """Return the outcome of a check that holds; `effect` is types.NEW or OLD if a snapshot decides."""
    return Outcome("", VERIFIED, expected, found, effect=effect)


def compare_effect(earlier: Any, now: Any) -> str:
    """Return the effect that two readings of the same fact show, the first from before the call (ABSENT: none)."""
    return "" if earlier is ABSENT else OLD if earlier == now else NEW


def refuted(expected: str, found: str, candidates: tuple[str, ...] = (), blank: bool = False) -> Outcome:
    """Return the outcome of a check that does not hold. `candidates` are the nearest existing things. `blank`: there
    was nothing to compare."""
    return Outcome("", REFUTED, expected, found, "", candidates, blank=blank)


def unverified(expected: str, why: str, cause: str, candidates: tuple[str, ...] = ()) -> Outcome:
    """Return the outcome of a check without a verdict, because of `why`; `cause` is one of types.CAUSES."""
    return Outcome("", UNVERIFIED, expected, why, cause, candidates)
