"""What the ledger tells of operations: things that must be done once, and of which only a receipt says that they are.
Counts; asks nobody, and takes nothing for done."""

from __future__ import annotations

from truecall_py.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from truecall_py.ledger import Event


@record(frozen=True)
class Operations:
    """How many operations there were; how many of them were done, or asked for, more than once (`duplicates`); how
    many were neither settled nor given up when their deadline had passed (`overdue`)."""

    count: int = 0
    duplicates: int = 0
    overdue: int = 0

    def __add__(self, other: Operations) -> Operations:
        """The sum over sessions."""
        return Operations(
            self.count + other.count, self.duplicates + other.duplicates, self.overdue + other.overdue
        )  # fmt: skip


def of(events: Iterable[Event], now: float) -> Operations:
    """The operations of one session, by its events in the order in which they were written; `now`, in seconds since
    the epoch, is what deadlines are compared with."""
    # No contract can declare an operation yet, so that no event tells of one.
    return Operations()
