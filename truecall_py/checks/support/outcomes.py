"""The three ways a look at the world can end, as a check writes them. Decides nothing."""

from __future__ import annotations

from truecall_py.core.types import ABSENT, NEW, OLD, REFUTED, UNVERIFIED, VERIFIED, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def verified(expected: str, found: str, effect: str = "") -> Outcome:
    """The check ran and held; `effect` is one of types.NEW and OLD where a snapshot tells."""
    return Outcome("", VERIFIED, expected, found, effect=effect)


def compare_effect(earlier: Any, now: Any) -> str:
    """The effect that two readings of the same fact show, the first one from before the call (ABSENT: there
    is none)."""
    return "" if earlier is ABSENT else OLD if earlier == now else NEW


def refuted(expected: str, found: str, candidates: tuple[str, ...] = (), blank: bool = False) -> Outcome:
    """The check ran and did not hold; `candidates` are the nearest things that do exist; `blank`: there was
    nothing that could have been compared."""
    return Outcome("", REFUTED, expected, found, "", candidates, blank=blank)


def unverified(expected: str, why: str, cause: str, candidates: tuple[str, ...] = ()) -> Outcome:
    """No verdict, because of `why`; `cause` is one of types.CAUSES."""
    return Outcome("", UNVERIFIED, expected, why, cause, candidates)
