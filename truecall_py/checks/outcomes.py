"""The three ways a look at the world can end, as a check writes them. Decides nothing."""

from __future__ import annotations

from truecall_py.types import REFUTED, UNVERIFIED, VERIFIED, Outcome


def verified(expected: str, found: str) -> Outcome:
    """The check ran and held."""
    return Outcome("", VERIFIED, expected, found)


def refuted(expected: str, found: str, candidates: tuple[str, ...] = (), blank: bool = False) -> Outcome:
    """The check ran and did not hold; `candidates` are the nearest things that do exist; `blank`: there was
    nothing that could have been compared."""
    return Outcome("", REFUTED, expected, found, "", candidates, blank=blank)


def unverified(expected: str, why: str, cause: str, candidates: tuple[str, ...] = ()) -> Outcome:
    """No verdict, because of `why`; `cause` is one of types.CAUSES."""
    return Outcome("", UNVERIFIED, expected, why, cause, candidates)
